"""Constants and `F.name`, which no type checker sees: a wrong one is an error when the design or the call is made."""

import enum
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    CountOf,
    DesignError,
    Entity,
    Expires,
    F,
    Index,
    InvalidValue,
    Item,
    Items,
    Keys,
    OpenEnum,
    ProofError,
    Query,
    Table,
    Unique,
    View,
    collection,
    connect,
    fan_out,
    get,
    pattern,
    prove,
    query,
)
from partita.design.condition_checks import fits_type
from partita.design.entities import EntityMeta

AT = datetime(2025, 1, 1, tzinfo=UTC)


class Status(enum.StrEnum):
    OPEN = "OPEN"
    SHUT = "SHUT"


class Tier(OpenEnum):
    FREE = "FREE"


class Address(msgspec.Struct):
    city: str
    street: str | None = None


shop = Table("shop", pk="PK", sk="SK", indexes=(Index("ByStatus", "statusPK", "statusSK"),))


class Order(Entity, table=shop, key=("CUSTOMER#{customer}", "ORDER#{number:4}")):
    customer: str
    number: int
    status: Status = Status.OPEN
    at: datetime = AT
    price: Decimal = Decimal(1)
    tags: set[str] = msgspec.field(default_factory=set[str])
    note: str | None = None
    ship_to: Address | None = None
    extra: dict[str, int] = msgspec.field(default_factory=dict[str, int])

    by_status = Keys("ByStatus", "STATUS#{status}", "{at}")


prove("shop", shop)


def proof_of(read: Callable[[], Any]) -> str:
    """The error of a pattern with this body."""

    def broken() -> Any:
        return read()

    try:
        pattern(broken)
        with pytest.raises(DesignError) as error:
            prove("broken", shop)
        return str(error.value)
    except DesignError as error:
        return str(error)
    finally:
        shop.patterns.clear()


WRONG_READS: dict[str, Callable[[], Any]] = {
    "'OPEN' is str, but Order.status is Status; write a value of Status": lambda: Order.by_status.query("OPEN"),
    "5 is int, but Order.customer is str; write a value of str": lambda: query(Order, 5),
    "None is NoneType, but Order.customer is str; write a value of str": lambda: query(Order, None),
    "'1' is str, but Order.number is int; write a value of int": lambda: get(Order, "c", "1"),
    "'x' is str, but Order.number is int; write a value of int": lambda: query(Order, "c").since("x"),
    "True is bool, but Order.number is int; write a value of int": lambda: query(Order, "c").until(True),
    "1.5 is float, but Order.number is int; write a value of int": lambda: query(Order, "c").between(1, 1.5),
    "12345 cannot be written as 'number': 12345 does not fit {:4} in the key; give it as an argument, or a value of "
    "its type": lambda: query(Order, "c").since(12345),
    "its range begins at 5 and ends before it, at 1; exchange the bounds": lambda: query(Order, "c").between(5, 1),
    "'SHUT' is str, but Order.status is Status; write a value of Status ": lambda: Order.by_status.query(
        fan_out([Status.OPEN, "SHUT"], 2)
    ),
    "2 values, but its fan_out allows at most 1; raise the limit, or remove values": lambda: Order.by_status.query(
        fan_out(list(Status), 1)
    ),
    "fan_out takes a list, not 'abc'; write fan_out([...], limit)": lambda: query(Order, fan_out("abc", 3)),
}


@pytest.mark.parametrize("said", WRONG_READS)
def test_constant_of_another_type_is_rejected_at_load(said: str) -> None:
    assert proof_of(WRONG_READS[said]) == f"broken: {said.strip()}"


@pytest.mark.parametrize("read", [query(Order, "c"), query(Order, "c").where(F.price > 1)])
def test_none_is_not_a_filter(read: Query[Order]) -> None:
    with pytest.raises(DesignError, match=r"^Order: None is not a condition; write one with F"):
        read.where(None)  # type: ignore[arg-type]


def declared_with(**parameters: Any) -> str:
    """The error of a pattern by customer and number with these parameters: a type, or a type and a default."""

    def orders(customer: Any, number: Any) -> Any:
        return query(Order, customer).since(number)

    typed = {name: each if isinstance(each, tuple) else (each,) for name, each in parameters.items()}
    orders.__annotations__ = {name: each[0] for name, each in typed.items()}
    orders.__defaults__ = tuple(each[1] for each in typed.values() if len(each) == 2)
    with pytest.raises(DesignError) as error:
        pattern(orders)
    return str(error.value)


def test_parameter_that_may_be_none_where_a_key_cannot_is_rejected() -> None:
    cannot = "which cannot be None here"
    assert declared_with(customer=str | None, number=int) == (
        f"orders: 'customer' is declared str | None, but it fills Order.customer, {cannot}; write customer: str"
    )
    assert declared_with(customer=str, number=int | None) == (
        f"orders: 'number' is declared int | None, but it fills Order.number, {cannot}; write number: int"
    )


def test_default_of_a_parameter_has_the_type_of_its_part() -> None:
    assert declared_with(customer=str, number=(int, "1")) == (
        "orders.number: '1' is str, but Order.number is int; write a value of int"
    )
    assert declared_with(customer=str, number=(int, None)) == (
        "orders.number: None is NoneType, but Order.number is int; write a value of int"
    )


def test_parameter_that_filters_an_optional_attribute_may_be_none() -> None:
    def noted(customer: str, note: str | None = None) -> Items[Order]:
        return query(Order, customer).where(F.note == note)

    try:
        pattern(noted)
        prove("noted", shop)
    finally:
        shop.patterns.clear()


def test_order_of_an_unknown_attribute_names_those_there_are() -> None:
    assert proof_of(lambda: query(Order, "c").smallest_first("numbr")) == (
        "broken: it declares the order of 'numbr', which Order does not have; its attributes are customer, number, "
        "status, at, price, tags, note, ship_to, extra"
    )


def test_beginning_of_a_part_that_has_no_order_leads_to_a_fan_out() -> None:
    t = Table("logs", pk="PK", sk="SK")

    class Log(Entity, table=t, key=("DEVICE#{device}", "{status}#{at}")):
        device: str
        status: Status
        at: datetime

    @pattern
    def begun(device: str, status: Status) -> Items[Log]:
        return query(Log, device).starts_with(status)

    with pytest.raises(DesignError) as error:
        prove("logs", t)
    assert str(error.value) == (
        "begun: 'status' is not text, and has no beginning; read several values: query(..., fan_out([...], limit))"
    )


def test_index_without_the_ttl_says_what_it_is_for() -> None:
    t = Table("sessions", pk="session_id", ttl="ttl", indexes=(Index("ByUser", "user", project="KEYS_ONLY"),))

    class SessionKey(View):
        session_id: str
        user: str

        of_user = Keys("ByUser")

    class Session(SessionKey, Entity, table=t):
        expires_at: datetime

        kept = Expires("expires_at")

    @pattern(SessionKey.of_user)
    def sessions(user: str) -> Items[SessionKey]: ...

    with pytest.raises(DesignError) as error:
        prove("sessions", t)
    assert str(error.value) == (
        "sessions: index 'ByUser' does not project ttl, by which expired items are hidden; add it to the projection"
    )


WRONG_FILTERS: dict[str, Any] = {
    "'SHUT' is str, but Order.status is Status; write a value of Status": F.status == "SHUT",
    "5 is int, but Order.note is str; write a value of str": F.note != 5,
    "'x' is str, but Order.price is Decimal; write a value of Decimal": F.price < "x",
    "None is NoneType, but Order.price is Decimal; write a value of Decimal": F.price == None,  # noqa: E711
    "None is NoneType, but Order.note is str; write a value of str": F.note > None,
    "5 is int, but an element of Order.tags is str; write a value of str": F.tags.contains(5),
    "6 is int, but Order.note is str; write a value of str": F.note.starts_with(6),  # type: ignore[arg-type]
    "'OPEN' is str, but Order.status is Status; write a value of Status": F.status.is_in(Status.SHUT, "OPEN"),
    "7 is int, but Order.ship_to.city is str; write a value of str": F.ship_to.city == 7,
    "'8' is str, but Order.extra.boxes is int; write a value of int": F.extra.boxes == "8",
    "Order has no attribute 'statsu'; the attributes are customer, number, status, at, price, tags, note, ship_to, "
    "extra": F.statsu == Status.OPEN,
    "Order has no attribute 'nope'; the attributes are customer, number, status, at, price, tags, note, ship_to, "
    "extra": ~F.nope.exists(),
    "Order has no attribute 'prise'; the attributes are customer, number, status, at, price, tags, note, ship_to, "
    "extra": (F.price > 1) & (F.price < F.prise),
    "Order.ship_to is Address, which has no member 'town'; its members are city, street": F.ship_to.town == "x",
    "Order.note is str, which has no member 'city'; compare it as a whole": F.note.city == "x",
    "'text' is not a condition; write one with F, such as F.name == value": "text",
}


@pytest.mark.parametrize("at", [AT, date(2025, 1, 1), datetime(2025, 1, 1)])
def test_time_in_a_body_is_rejected_since_it_would_never_change(at: Any) -> None:
    wrong = "its body gives a time for Order.at, which stays as it was when the pattern was declared"
    assert proof_of(lambda: Order.by_status.query(Status.OPEN).since(at)) == (
        f"broken: {wrong}; take it as a parameter: at: datetime"
    )


@pytest.mark.parametrize("said", WRONG_FILTERS)
def test_filter_by_a_wrong_name_or_constant_is_rejected_at_load(said: str) -> None:
    assert proof_of(lambda: query(Order, "c").where(WRONG_FILTERS[said])) == f"broken: {said}"


@pytest.mark.parametrize(
    "read",
    [
        lambda: query(Order, "c").between(1, 1),
        lambda: Order.by_status.query(fan_out(list(Status), 2)),
        lambda: query(Order, "c").where((F.price > 1) & (F.note == None) & (F.ship_to != None)),  # noqa: E711
        lambda: query(Order, "c").where(F.tags.contains("a") | F.ship_to.street.exists() | (F.extra.boxes == 1)),
        lambda: query(Order, "c").where(F.ship_to.street == None),  # noqa: E711
        lambda: query(Order, "c").where(F.tags == set()),
        lambda: query(Order, "c").where(F.note.starts_with("a") & F.status.is_in(Status.OPEN)),
    ],
)
def test_constants_of_their_types_are_proven(read: Callable[[], Query[Order]]) -> None:
    def right() -> Any:
        return read()

    pattern(right)
    try:
        prove("right", shop)
    finally:
        shop.patterns.clear()


def test_parameter_of_a_filter_has_the_type_of_its_attribute() -> None:
    with pytest.raises(DesignError, match=r"'note' is declared int, but it fills Order.note, which is .*str"):

        @pattern
        def noted(customer: str, note: int) -> Items[Order]:
            return query(Order, customer).where(F.note == note)


def _entity(body: Callable[[], dict[str, Any]], **annotations: Any) -> Any:
    table = Table("things", pk="PK", sk="SK", ttl="ttl", indexes=(Index("Other", "oPK", "oSK"),))
    return lambda: EntityMeta(
        "Thing",
        (Entity,),
        {"__annotations__": {"thing": str, "status": Status, "at": datetime, **annotations}, **body()},
        table=table,
        key=("THING#{thing}", "THING"),
    )


@pytest.mark.parametrize(
    "declared",
    [
        lambda when: Keys("Other", "S#{status}", "{thing}", when=when),
        lambda when: Unique("status", when=when),
        lambda when: Expires("at", when=when),
    ],
    ids=["keys", "unique", "expires"],
)
@pytest.mark.parametrize(
    ("when", "said"),
    [
        (F.status == "OPEN", "'OPEN' is str, but Thing.status is Status"),
        (F.state == Status.OPEN, "Thing has no attribute 'state'"),
        (F.at > datetime(2025, 1, 1), "is a time without a zone, but Thing.at is datetime"),
    ],
    ids=["text for an enum", "misspelt", "no zone"],
)
def test_condition_of_a_declaration_is_checked_with_its_class(declared: Any, when: Any, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        _entity(lambda: {"declared": declared(when)})()


def test_condition_of_a_counter_is_checked_with_the_design() -> None:
    table = Table("things", pk="PK", sk="SK")

    class Box(Entity, table=table, key=("BOX#{box}", "BOX")):
        box: str
        open_things: Annotated[int, CountOf(lambda: Thing, when=F.status == "OPEN")] = 0

    class Thing(Entity, table=table, key=("BOX#{box}", "THING#{thing}")):
        box: str
        thing: str
        status: Status = Status.OPEN

    with pytest.raises(DesignError, match=r"^Box.open_things: 'OPEN' is str, but Thing.status is Status"):
        prove("things", table)


@pattern
def order(customer: str, number: int) -> Item[Order]: ...


design = prove("shop", shop)


@pytest.mark.parametrize(
    ("when", "error", "said"),
    [
        (F.statsu == Status.OPEN, DesignError, "a condition names 'statsu', which is not stored"),
        (F.status == "OPEN", InvalidValue, "Order.status: expected `Status`, got `str`"),
        (F.number == True, InvalidValue, "Order.number: expected `int`, got `bool`"),  # noqa: E712
        (F.note == 5, InvalidValue, "Order.note: 5 is not text"),
        (F.ship_to.town == "x", DesignError, "Order.ship_to is Address, which has no member 'town'"),
    ],
)
def test_condition_of_a_call_is_checked_before_anything_is_sent(when: Any, error: type[Exception], said: str) -> None:
    sent: list[Any] = []
    with connect("memory:", design, on_call=[sent.append]) as db:
        db.create_tables()
        sent.clear()
        with pytest.raises(error, match=said):
            db.create(Order(customer="c", number=1), when=when)
        with pytest.raises(error, match=said):
            db.delete(order("c", 1), when=when)
        assert sent == []


def test_misspelt_condition_of_a_change_is_an_error_before_its_block() -> None:
    with connect("memory:", design) as db:
        db.create_tables()
        entered = False
        with pytest.raises(DesignError, match="Order has no attribute 'statsu'"):  # noqa: SIM117 - the inner one fails
            with db.change(order("c", 1), when=F.statsu == Status.OPEN):
                entered = True
        assert not entered


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        (1, int, True),
        (True, int, False),
        (1, bool, False),
        (1, float, True),
        (1.5, Decimal, False),
        (Status.OPEN, str, False),
        (Tier("GOLD"), Tier, True),
        ("FREE", Tier, False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (None, str, False),
        (None, str | None, True),
        (AT, date, False),
        ([1], list[int], True),
        (["a"], list[int], False),
        ("ab", list[str], False),
        ({"a"}, set[str], True),
        (["a"], set[str], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        (Address("x"), Address, True),
        (b"x", bytes, True),
        (object(), Any, True),
        (1, int | str, True),
        (1.5, int | str, False),
    ],
)
def test_fits_type(value: Any, kind: Any, fits: bool) -> None:
    assert fits_type(value, kind) is fits


stock = Table("stock", pk="PK", sk="SK")


class Part(Entity, table=stock, key=("SHOP#{shop}", "{number:3}#{variant?}")):
    shop: str
    number: int
    variant: str | None = None
    size: int = 0


class Visit(Entity, table=stock, key=("SHOP#{shop}", "VISIT#{at:day}")):
    shop: str
    at: datetime


def default_of_another_type(shop: str = 5) -> Items[Part]:  # type: ignore[assignment]
    return query(Part, shop)


def default_that_does_not_fit(shop: str, number: int = 1000) -> Items[Part]: ...


def default_of_a_shorter_list(shops: Sequence[str] = ("a", 1)) -> Items[Part]:  # type: ignore[assignment]
    return query(Part, fan_out(shops, 3))


def default_none_of_a_bound(shop: str, most: int = None) -> Items[Part]:  # type: ignore[assignment]  # noqa: RUF013
    return query(Part, shop).until(most)


def empty_default(shop: str = "") -> Items[Part]: ...


def default_in_a_filter(shop: str, size: int = "1") -> Items[Part]:  # type: ignore[assignment]
    return query(Part, shop).where(F.size == size)


def optional_partition(shop: str | None) -> Items[Part]: ...


def optional_bound(shop: str, most: int | None) -> Items[Part]:
    return query(Part, shop).until(most)


def another_entity(shop: str) -> Items[Visit]:
    return query(Part, shop)  # type: ignore[arg-type]


def one_of_two(shop: str) -> Items[Visit]:
    return collection(Part, Visit)(shop)  # type: ignore[return-value]


def a_get_for_items(shop: str) -> Items[Part]:
    return get(Part, shop, 1, None)  # type: ignore[return-value]


def a_query_for_an_item(shop: str) -> Item[Part]:
    return query(Part, shop)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (default_of_another_type, "default_of_another_type.shop: 5 is int, but Part.shop is str"),
        (
            default_that_does_not_fit,
            "default_that_does_not_fit.number: the default 1000 cannot be in the key: 1000 does not fit {:3}",
        ),
        (default_of_a_shorter_list, "default_of_a_shorter_list.shops: 1 is int, but Part.shop is str"),
        (default_none_of_a_bound, "default_none_of_a_bound.most: None is NoneType, but Part.number is int"),
        (empty_default, "empty_default.shop: the default '' cannot be in the key: empty text cannot be part of a key"),
        (default_in_a_filter, "default_in_a_filter.size: '1' is str, but Part.size is int"),
        (
            optional_partition,
            "optional_partition: 'shop' is declared str | None, but it fills Part.shop, which cannot be None here",
        ),
        (
            optional_bound,
            "optional_bound: 'most' is declared int | None, but it fills Part.number, which cannot be None here",
        ),
        (another_entity, "another_entity: its body reads Items[Part], but the return type differs"),
        (one_of_two, "one_of_two: its body reads Items[Part | Visit], but the return type differs"),
        (a_get_for_items, "a_get_for_items: its body reads Item[Part], but the return type differs"),
        (a_query_for_an_item, "a_query_for_an_item: its body reads Items[Part], but the return type differs"),
    ],
)
def test_signature_that_no_call_could_keep_is_rejected(function: Callable[..., Any], error: str) -> None:
    with pytest.raises(DesignError) as rejected:
        pattern(function)
    assert str(rejected.value).startswith(error)


def with_defaults(shop: str = "a", number: int = 1, variant: str | None = None) -> Items[Part]: ...


def of_a_day(shop: str, day: date = date(2025, 1, 1)) -> Items[Visit]:
    return query(Visit, shop, day)


def of_shops(shops: Sequence[str] = ("a", "b"), size: int = 0) -> Items[Part]:
    return query(Part, fan_out(shops, 3)).where(F.size == size)


def of_any_entity(shop: str) -> Items[Entity]:
    return collection(Part, Visit)(shop)


def without_return_type(shop: str):  # type: ignore[no-untyped-def]
    return query(Part, shop)


@pytest.mark.parametrize("function", [with_defaults, of_a_day, of_shops, of_any_entity, without_return_type])
def test_signature_with_values_of_its_types_is_accepted(function: Callable[..., Any]) -> None:
    assert isinstance(pattern(function).name, str)


@pytest.mark.parametrize(("kind", "form"), [(str, "{label}"), (int, "{label:+10}")])
def test_order_of_a_plain_text_leads_to_a_form_of_its_type(kind: type, form: str) -> None:
    plain = Table("plain", pk="PK", sk="SK")
    body = {"__annotations__": {"owner": str, "label": kind}, "__module__": __name__}
    entity: Any = EntityMeta("Thing", (Entity,), body, table=plain, key=("OWNER#{owner}", "{label:plain}"))

    def things(owner: str) -> Any:
        return query(entity, owner).smallest_first("label")

    pattern(things)
    with pytest.raises(DesignError) as error:
        prove("plain", plain)
    assert str(error.value) == (f"things: the texts of 'label' do not sort as its values do; write {form} in the key")


names = Table("names", pk="PK", sk="name")


class Named(Entity, table=names, key=("OWNER#{owner}", None)):
    owner: str
    name: str


def test_bounds_of_a_plain_key_are_compared_as_they_are_stored() -> None:
    decomposed = "e\u0301"  # it sorts before z, and é behind it
    with connect("memory:", names) as db:
        db.create_tables()
        with pytest.raises(ProofError, match="and ends before it, at 'z'; exchange the bounds"):
            db(query(Named, "o").between(decomposed, "z")).first(1)
        assert db(query(Named, "o").between("z", decomposed)).first(1) == []


def test_bound_in_the_wrong_order_names_the_argument_that_is_wrong() -> None:
    def names_from(owner: str, high: str) -> Items[Named]:
        return query(Named, owner).between("m", high)

    from_m = pattern(names_from)
    with connect("memory:", prove("names", names)) as db:
        db.create_tables()
        with pytest.raises(InvalidValue) as error:
            db(from_m("o", "a")).first(1)
    assert str(error.value) == "names_from.high: it must not be before 'm'"

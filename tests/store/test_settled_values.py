"""Settled values: keys, guards, shards and answers have the form in which a value is read back."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AUTO,
    Compressed,
    CreatedAt,
    Entity,
    Index,
    InKey,
    InvalidValue,
    Item,
    Keys,
    NotUnique,
    OpenEnum,
    Store,
    SumOf,
    Table,
    Unique,
    UpdatedAt,
    Version,
    get,
    pattern,
    query,
)
from partita.dynamodb.requests import GetItem
from tests.store.declared import BY_TEXT, opened, stored, table


class Between:
    """A backend that lets another writer act once, after the first read."""

    def __init__(self, backend: Any, act: Any) -> None:
        self._backend = backend
        self._acts = [act]

    def call(self, request: Any, /) -> Any:
        reply = self._backend.call(request)
        if isinstance(request, GetItem) and self._acts:
            self._acts.pop()()
        return reply


def test_index_key_has_the_stored_spelling_whatever_the_caller_writes() -> None:
    things = table(BY_TEXT)

    class User(Entity, table=things, key=("USER#{mail:fold}", "USER")):
        mail: str
        state: str = "new"
        listed = Keys("GSI1", "STATE#{state}", "{mail}")

    @pattern
    def user(mail: str) -> Item[User]: ...

    db = opened(things)
    db.create(User(mail="Ana@x"))
    with db.change(user("ANA@X")) as draft:
        draft.state = "old"
    (item,) = stored(db)
    assert (item["mail"], item["GSI1PK"], item["GSI1SK"]) == ("Ana@x", "STATE#old", "Ana@x")


def test_index_key_has_the_stored_time_whatever_time_of_the_day_is_asked_for() -> None:
    things = table(BY_TEXT)

    class Visit(Entity, table=things, key=("PLACE#{place}", "{at:day}")):
        place: str
        at: datetime
        state: str = "new"
        listed = Keys("GSI1", "STATE#{state}", "{at}")

    @pattern
    def visit(place: str, at: datetime) -> Item[Visit]: ...

    db = opened(things)
    db.create(Visit(place="p", at=datetime(2025, 1, 1, 8, tzinfo=UTC)))
    with db.change(visit("p", datetime(2025, 1, 1, 9, tzinfo=UTC))) as draft:
        draft.state = "old"
    (item,) = stored(db)
    assert item["GSI1SK"] == item["at"]


def test_value_that_the_key_holds_in_part_is_read_again_after_another_writer() -> None:
    things = table(BY_TEXT)

    class User(Entity, table=things, key=("USER#{mail:fold}", "USER")):
        mail: str
        state: str = "new"
        place: str = "p"
        listed = Keys("GSI1", "STATE#{state}", "{mail}#{place}")

    @pattern
    def user(mail: str) -> Item[User]: ...

    db = opened(things)
    db.create(User(mail="ana@x"))

    def spell_otherwise() -> None:
        with db.change(user("ana@x")) as draft:
            draft.mail = "Ana@X"

    late = Store(Between(db.backend, spell_otherwise), db.design, sleep=lambda _: None)
    with late.change(user("ana@x")) as draft:
        draft.state = "old"
    (item,) = stored(db)
    assert (item["mail"], item["GSI1SK"]) == ("Ana@X", "Ana@X#p")


def test_put_returns_what_is_stored() -> None:
    things = table()

    class User(Entity, table=things, key=("USER#{mail:fold}", "USER")):
        mail: str
        version: Annotated[int, Version()] = 0

    @pattern
    def user(mail: str) -> Item[User]: ...

    db = opened(things)
    db.create(User(mail="ana@x"))
    answer = db.put(User(mail="ANA@X"))
    assert answer == User(mail="ANA@X", version=2) == db.one(user("ana@x"))


@pytest.mark.parametrize("given", ["2", "2.0", "2.00", "20E-1"])
def test_equal_decimals_are_one_unique_value_in_one_shard(given: str) -> None:
    things = table(BY_TEXT)

    class Price(Entity, table=things, key=("PRICE#{name}", "PRICE")):
        name: str
        amount: Annotated[Decimal, Unique()]
        sharded = Keys("GSI1", "SHARD#{amount:shard(64)}", "{name}")

    @pattern
    def price(name: str) -> Item[Price]: ...

    db = opened(things)
    db.create(Price(name="stepped", amount=Decimal("1.50")))
    with db.change(price("stepped")) as draft:
        draft.amount += Decimal("0.50")
    with pytest.raises(NotUnique):
        db.create(Price(name="other", amount=Decimal(given)))
    shard = next(item["GSI1PK"] for item in stored(db) if "GSI1PK" in item)
    db.delete(price("stepped"))
    db.create(Price(name="other", amount=Decimal(given)))
    assert next(item["GSI1PK"] for item in stored(db) if "GSI1PK" in item) == shard


def test_decimal_in_the_key_alone_keeps_its_shard_and_frees_its_guard() -> None:
    things = table(BY_TEXT)

    class Rate(Entity, table=things, key=("RATE#{name}", "{amount:+3.2}")):
        name: str
        amount: Annotated[Decimal, InKey(), Unique()]
        text: str = ""
        note: str = ""
        sharded = Keys("GSI1", "SHARD#{amount:shard(64)}", "{text}#{note}")

    @pattern
    def rate(name: str, amount: Decimal) -> Item[Rate]: ...

    db = opened(things)
    db.create(Rate(name="a", amount=Decimal(1), text="a", note="a"))
    before = next(item["GSI1PK"] for item in stored(db) if "GSI1PK" in item)
    with db.change(rate("a", Decimal("1.00"))) as draft:
        draft.text = "b"
    assert next(item["GSI1PK"] for item in stored(db) if "GSI1PK" in item) == before
    db.delete(rate("a", Decimal(1)))
    assert stored(db) == []


def test_sum_of_floats_is_stored() -> None:
    things = table()

    class Basket(Entity, table=things, key=("BASKET#{basket_id}", "BASKET")):
        basket_id: str
        total: Annotated[float, SumOf(lambda: Line, "price")] = 0.0

    class Line(Entity, table=things, key=("LINE#{line_id}", "LINE")):
        line_id: str
        basket_id: str
        price: Annotated[float, msgspec.Meta(ge=0)]

    @pattern
    def basket(basket_id: str) -> Item[Basket]: ...

    db = opened(things)
    db.create(Basket(basket_id="b"))
    for number in range(3):
        db.create(Line(line_id=str(number), basket_id="b", price=0.1))
    assert db.one(basket("b")).total == pytest.approx(0.3)


def test_text_in_a_key_is_stored_composed() -> None:
    things = table()

    class Place(Entity, table=things, key=("PLACE#{name}", "PLACE")):
        name: str
        text: str = ""

    @pattern
    def place(name: str) -> Item[Place]: ...

    db = opened(things)
    made = db.create(Place(name="caf\u0065\u0301", text="\u0065\u0301"))
    assert made == Place(name="caf\u00e9", text="\u0065\u0301") == db.one(place("caf\u00e9"))


def test_plain_key_may_be_assigned_the_value_that_it_has() -> None:
    people = Table("things", pk="name")

    class Person(Entity, table=people):
        name: str
        age: int = 0

    @pattern
    def person(name: str) -> Item[Person]: ...

    db = opened(people)
    db.create(Person(name="ann"))
    with db.change(person("ann")) as draft:
        draft.name = "ann"
        draft.age = 2
    assert db.one(person("ann")) == Person(name="ann", age=2)


def test_empty_optional_set_is_none_as_it_is_read_back() -> None:
    things = table()

    class Page(Entity, table=things, key=("PAGE#{name}", "PAGE")):
        name: str
        tags: set[str] | None = None

    @pattern
    def page(name: str) -> Item[Page]: ...

    db = opened(things)
    assert db.create(Page(name="p", tags=set())) == Page(name="p") == db.one(page("p"))


def test_put_of_an_entity_of_automatic_fields_returns_what_is_stored() -> None:
    things = table()

    class Visit(Entity, table=things, key=("VISIT#{visit_id}", "VISIT")):
        visit_id: str
        first: Annotated[datetime, CreatedAt()] = AUTO
        last: Annotated[datetime, UpdatedAt()] = AUTO
        version: Annotated[int, Version()] = 0

    @pattern
    def visit(visit_id: str) -> Item[Visit]: ...

    db = opened(things)
    created = db.create(Visit(visit_id="v"))
    assert db.put(Visit(visit_id="v")) == created == db.one(visit("v"))


class Reading(msgspec.Struct):
    value: float | None = None


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    "value",
    [
        NAN,
        -INFINITY,
        [NAN],
        {"a": {"b": [1.0, INFINITY]}},
        Reading(NAN),
        {"a": Reading(INFINITY)},
        Decimal("NaN"),
        (NAN,),
    ],
    ids=repr,
)
def test_compressed_value_that_json_cannot_hold_is_rejected(value: Any) -> None:
    things = table()

    class Report(Entity, table=things, key=("REPORT#{report_id}", "REPORT")):
        report_id: str
        content: Annotated[Any, Compressed()] = None
        readings: Annotated[list[Reading], Compressed()] = msgspec.field(default_factory=list)
        numbers: Annotated[list[float | None], Compressed()] = msgspec.field(default_factory=list)

    @pattern
    def report(report_id: str) -> Item[Report]: ...

    db = opened(things)
    whole = db.create(
        Report(report_id="r", content={"text": "NaN, Infinity and null", "none": None}, numbers=[None, 1.5])
    )
    wrong: dict[str, Any] = {"content": value, "readings": [Reading(1), Reading(NAN)], "numbers": [None, INFINITY]}
    for name, held in wrong.items():
        with pytest.raises(InvalidValue, match=rf"^Report\.{name}: .*not a number that DynamoDB stores"):
            db.create(Report(report_id="s", **{name: held}))
        with pytest.raises(InvalidValue, match=rf"^Report\.{name}: "), db.change(report("r")) as draft:
            setattr(draft, name, held)
        with pytest.raises(InvalidValue, match=rf"^Report\.{name}: "):
            db.update(report("r"), lambda each, name=name, held=held: setattr(each, name, held))  # type: ignore[misc]
    assert db.one(report("r")) == whole
    assert len(stored(db)) == 1


class Loose(msgspec.Struct):
    value: Any


class Counted(msgspec.Struct):
    value: Any = 5


class Blank(msgspec.Struct):
    value: Any = None


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"required": None}, "required: it"),
        ({"counted": None}, "counted: it"),
        ({"packed": None}, "packed: it"),
        ({"inner": Loose(None)}, "inner: its member 'value'"),
        ({"members": [Counted(None)]}, "members: its member 'value'"),
    ],
)
def test_none_in_an_untyped_value_that_would_be_read_as_something_else_is_rejected(
    wrong: dict[str, Any], place: str
) -> None:
    things = table()

    class Thing(Entity, table=things, key=("THING#{thing_id}", "THING")):
        thing_id: str
        required: Any
        counted: Any = 0
        packed: Annotated[Any, Compressed()] = 1
        inner: Loose | None = None
        members: list[Counted] = msgspec.field(default_factory=list[Counted])

    @pattern
    def thing(thing_id: str) -> Item[Thing]: ...

    db = opened(things)
    message = rf"Thing\.{place} may not be None"
    right = Thing(thing_id="1", required=1)
    unreadable = msgspec.structs.replace(right, **wrong)
    with pytest.raises(InvalidValue, match=message):
        db.create(unreadable)
    with pytest.raises(InvalidValue, match=message):
        db.put_many([unreadable])
    assert not stored(db)
    written = db.create(right)
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidValue, match=message), db.change(thing("1")) as draft:
        setattr(draft, name, value)
    assert db.one(thing("1")) == written


def test_untyped_value_with_the_default_none_can_be_set_and_removed() -> None:
    things = table()

    class Thing(Entity, table=things, key=("THING#{thing_id}", "THING")):
        thing_id: str
        extra: Any = None
        packed: Annotated[Any, Compressed()] = None
        inner: Blank = msgspec.field(default_factory=Blank)

    @pattern
    def thing(thing_id: str) -> Item[Thing]: ...

    db = opened(things)
    first = db.create(Thing(thing_id="1", extra=1, packed=[2], inner=Blank("x")))
    assert db.one(thing("1")) == first
    with db.change(thing("1")) as draft:
        draft.extra = draft.packed = None
        draft.inner = Blank(None)
    assert db.one(thing("1")) == Thing(thing_id="1")
    assert set(stored(db)[0]) == {"PK", "SK", "thing_id", "inner"}


def test_absent_set_has_the_type_of_its_attribute() -> None:
    things = table()

    class Thing(Entity, table=things, key=("THING#{thing_id}", "THING")):
        thing_id: str
        marks: frozenset[str]
        tags: set[str]

    @pattern
    def thing(thing_id: str) -> Item[Thing]: ...

    db = opened(things)
    written = db.create(Thing(thing_id="1", marks=frozenset(), tags=set()))
    read = db.one(thing("1"))
    assert read == written
    assert [type(read.marks), type(read.tags)] == [frozenset, set]


class Tier(OpenEnum):
    FREE = "free"


def test_text_of_an_open_enum_in_a_key_is_stored_composed() -> None:
    things = table(Index("ByTier", "tier"))

    class Thing(Entity, table=things, key=("THING#{thing_id}", "{tier}")):
        thing_id: str
        tier: Annotated[Tier, InKey()]

    class Plan(Entity, table=things, key=("PLAN#{plan_id}", "{level:plain}")):
        plan_id: str
        level: Tier
        tier: Tier
        by_tier = Keys("ByTier")

    decomposed, composed = Tier("e\u0301"), Tier("\u00e9")
    db = opened(things)
    thing = db.create(Thing(thing_id="1", tier=decomposed))
    assert thing == Thing(thing_id="1", tier=composed) == db.one(get(Thing, "1", decomposed))
    plan = db.create(Plan(plan_id="1", level=decomposed, tier=decomposed))
    assert plan == Plan(plan_id="1", level=composed, tier=composed) == db.one(get(Plan, "1", composed))
    for asked in (decomposed, composed):
        assert list(db(query(Thing, "1", asked))) == [thing]
        assert list(db(query(Plan, "1", asked))) == list(db(Plan.by_tier.query(asked))) == [plan]
        with db.change(get(Plan, "1", asked)) as draft:
            draft.tier = asked
    assert [(each["SK"], each.get("tier")) for each in stored(db)] == [("\u00e9", "\u00e9"), ("\u00e9", None)]
    assert db.put(Plan(plan_id="1", level=decomposed, tier=Tier.FREE)).level == composed
    assert len(stored(db)) == 2

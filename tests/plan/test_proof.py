"""The proof: a design that cannot be proven from its declarations is rejected, with the reason and the way out."""

import enum
import types
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    CountOf,
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    Items,
    Keys,
    OpenEnum,
    Ordered,
    Owns,
    ProofError,
    Query,
    References,
    SumOf,
    Table,
    Unique,
    View,
    collection,
    get,
    pattern,
    prove,
    query,
)
from partita.design.models import model_of
from partita.plan import prove_read
from tests.timing import shortest


class Size(str, enum.Enum):
    BIG = "big"
    SMALL = "small"


class Tier(OpenEnum):
    FREE = "FREE"


def table(*indexes: Index, **settings: Any) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=indexes, **settings)


def proof_of(*tables: Table) -> str:
    with pytest.raises(DesignError) as refusal:
        prove("test", *tables)
    return str(refusal.value)


# foreign entities in a range -------------------------------------------------------------------------------------


def test_another_entity_in_the_range_is_rejected() -> None:
    t = table()

    class Order(Entity, table=t, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
        customer_id: str
        order_id: str

    class Line(Entity, table=t, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}#LINE#{number:4}")):
        customer_id: str
        order_id: str
        number: int

    @pattern
    def orders(customer_id: str) -> Items[Order]: ...

    assert proof_of(t) == (
        "orders: Line (CUSTOMER#{customer_id}, ORDER#{order_id}#LINE#{number:4}) can lie in the range of "
        "Order (CUSTOMER#{customer_id}, ORDER#{order_id}): PK 'CUSTOMER#a', SK 'ORDER#a#LINE#1111'; "
        "return Line too with collection(...), or give it another constant in its key"
    )


def test_a_filter_that_drops_another_entity_leaves_the_range_to_its_own() -> None:
    t = table(Index("ByHouse", "house", "at"))

    class Visit(Entity, table=t, key=("VISIT#{house}", "{at}")):
        house: str
        at: datetime
        guest: str

        of_house = Keys("ByHouse")

    class House(Entity, table=t, key=("HOUSE#{house}", "HOUSE")):
        house: str
        at: datetime

    read = Visit.of_house.query("h1").newest_first()
    with pytest.raises(ProofError, match=r"House .* can lie in the range"):
        prove_read(read.read)
    with pytest.raises(ProofError, match=r"House .* can lie in the range"):
        prove_read(read.where(F.guest != "nobody").read)
    proof = prove_read(read.where(F.guest.exists()).read)
    assert "the filter drops every House in the range" in proof.sentences


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (("USER#{a}", "ORDER#{b}"), ("USER#{a}", "ORDERITEM#{b}")),
        (("USER#{a}", "ORDER#{b}"), ("USERS#{a}", "ORDER#{b}")),
        (("USER#{a}", "{b}"), ("USER#{a}#X", "{b}")),
        (("{a}", "USER"), ("RESULT#{a}", "USER#{b}")),
        (("SIZE#{size}", "{b}"), ("SIZE#huge", "{b}")),
        (("USER#{a}", "v{b}"), ("USER#{a}", "w{b}")),
    ],
)
def test_keys_that_cannot_be_equal_are_accepted(mine: tuple[str, str], theirs: tuple[str, str]) -> None:
    t = table()

    class Mine(Entity, table=t, key=mine):
        a: str
        b: str
        size: Size

    class Theirs(Entity, table=t, key=theirs):
        a: str
        b: str
        size: Size

    prove("test", t)
    first = Mine.__model__.key.fields[0]
    assert prove_read(query(Mine, Size.BIG if first == "size" else "x").read).requests == 1


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (("USER#{a}", "X"), ("USER#{b}", "X")),
        (("USER#{a}", "{b}"), ("USER#{a}", "ORDER")),
        (("{a}", "X"), ("b", "X")),
        (("SIZE#{size}", "X"), ("SIZE#big", "X")),
        (("TIER#{tier}", "X"), ("TIER#{a}", "X")),
        (("{n:4}", "X"), ("{a}", "X")),
    ],
)
def test_two_entities_whose_keys_can_be_equal_are_rejected(mine: tuple[str, str], theirs: tuple[str, str]) -> None:
    t = table()

    class Mine(Entity, table=t, key=mine):
        a: str
        b: str
        n: int
        size: Size
        tier: Tier

    class Theirs(Entity, table=t, key=theirs):
        a: str
        b: str
        n: int
        size: Size
        tier: Tier

    said = proof_of(t)
    assert said.startswith(
        f"Mine and Theirs: Mine ({', '.join(mine)}) and Theirs ({', '.join(theirs)}) can have the same key: PK "
    )
    assert said.endswith("; give one of them another constant")


def test_bounds_of_numbers_tell_keys_apart_and_an_example_is_in_them() -> None:
    def declare(low: int, high: int) -> Table:
        shared = table()

        class Visit(Entity, table=shared, key=("DAY#{day}", "ENTRY#{number}")):
            day: str
            number: Annotated[int, Ordered(100, 499)]

        class Order(Entity, table=shared, key=("DAY#{day}", "ENTRY#{number}")):
            day: str
            number: Annotated[int, Ordered(low, high)]

        return shared

    prove("test", declare(500, 999))
    assert "can have the same key: PK 'DAY#a', SK 'ENTRY#481'; " in proof_of(declare(480, 999))


def test_an_entity_that_fills_an_index_unasked_is_found() -> None:
    """A history item with `userid` would show up as a check."""
    t = table(Index("ByUser", "userid", "PK"))

    class Check(Entity, table=t, key=("{check_id}", "CHECK")):
        check_id: str
        userid: str
        of_user = Keys("ByUser")

    class Result(Entity, table=t, key=("RESULT#{check_id}", "{at}")):
        check_id: str
        at: datetime
        userid: str

    @pattern(Check.of_user)
    def checks_of(userid: str) -> Items[Check]: ...

    assert proof_of(t).startswith(
        "checks_of: Result (<userid>, RESULT#{check_id}) can lie in the range of Check.ByUser"
    )


def test_constants_of_a_plain_index_key_tell_entities_apart() -> None:
    t = table(Index("ByType", "entity_type", "created_at"))

    class User(Entity, table=t, key=("USER#{user_id}", "PROFILE")):
        user_id: str
        entity_type: Literal["USER"] = "USER"
        created_at: datetime
        listed = Keys("ByType")

    class Place(Entity, table=t, key=("PLACE#{place_id}", "METADATA")):
        place_id: str
        entity_type: Literal["PLACE"] = "PLACE"
        created_at: datetime
        listed = Keys("ByType")

    @pattern
    def users_between(since: datetime, until: datetime) -> Items[User]:
        return User.listed.query("USER").between(since, until).newest_first()

    prove("test", t)


# partition, order, projection --------------------------------------------------------------------------------------


def test_read_without_its_whole_partition_key_is_rejected() -> None:
    t = table()

    class Vote(Entity, table=t, key=("VOTE#{user_id}#{target_id}", "VOTE")):
        user_id: str
        target_id: str

    @pattern
    def votes_of(user_id: str) -> Items[Vote]: ...

    assert proof_of(t) == (
        "votes_of: the partition key of Vote needs 'target_id'; pass a value for every part of the "
        "partition key; without it the read would be a Scan"
    )


def ordered(make: Callable[[Any], Query[Any]]) -> str:
    t = table()

    class Row(Entity, table=t, key=("ROW#{row_id}", "{size}#{at}")):
        row_id: str
        size: Size
        at: datetime

    with pytest.raises(ProofError) as refusal:
        prove_read(make(Row).read)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda row: query(row, "1").newest_first(),
            ("Row: it declares newest first, but the key sorts by 'size'; put the time first in the sort key"),
        ),
        (
            lambda row: query(row, "1").smallest_first("at"),
            (
                "Row: it declares the order of 'at', but the key sorts by 'size' first; put {at} "
                "before {size} in the sort key"
            ),
        ),
        (
            lambda row: query(row, "1").smallest_first("size"),
            "Row: the texts of 'size' do not sort as its values do; rank it: {size:ranked}",
        ),
        (
            lambda row: query(row, "1", Size.BIG, datetime(2025, 1, 1, tzinfo=UTC)).newest_first(),
            (
                "Row: it declares an order, but no sort part is left to order by; pass fewer values, or "
                "leave the order out"
            ),
        ),
    ],
)
def test_order_that_the_key_does_not_have_is_rejected(make: Callable[[Any], Query[Any]], said: str) -> None:
    assert ordered(make) == said


def test_entities_that_share_the_first_free_part_are_read_in_its_order() -> None:
    t = table(Index("GSI1", "GSI1PK", "GSI1SK"))

    class Letter(Entity, table=t, key=("LETTER#{letter_id}", "LETTER")):
        letter_id: str
        writer: str
        at: datetime
        written = Keys("GSI1", "WRITER#{writer}", "SENT#{at}#{letter_id}")

    class Card(Entity, table=t, key=("CARD#{card_id}", "CARD")):
        card_id: str
        writer: str
        at: datetime
        written = Keys("GSI1", "WRITER#{writer}", "SENT#{at}#{card_id}")

    class Parcel(Entity, table=t, key=("PARCEL#{parcel_id}", "PARCEL")):
        parcel_id: str
        writer: str
        packed = Keys("GSI1", "WRITER#{writer}", "PACKED#{parcel_id}")

    class Note(Entity, table=t, key=("NOTE#{note_id}", "NOTE")):
        note_id: str
        writer: str
        pinned = Keys("GSI1", "BOARD#{writer}", "A#{note_id}")

    class Pin(Entity, table=t, key=("PIN#{pin_id}", "PIN")):
        pin_id: str
        writer: str
        pinned = Keys("GSI1", "BOARD#{writer}", "B#{pin_id}")

    assert not prove_read(collection(Letter.written, Card.written)("ann").newest_first().read).forward
    with pytest.raises(ProofError, match=r"Card .* can lie in the range of Letter"):
        prove_read(collection(Letter.written, Parcel.packed)("ann").newest_first().read)
    with pytest.raises(ProofError, match="no sort part is left to order by"):
        prove_read(collection(Note.pinned, Pin.pinned)("ann").newest_first().read)


def test_parent_and_children_are_one_range_where_no_other_parent_lies_between() -> None:
    t = table()

    class Day(Entity, table=t, key=("CITY#{city}", "DAY#{at}")):
        city: str
        at: datetime

    class Shower(Entity, table=t, key=("CITY#{city}", "DAY#{at}#SHOWER#{number}")):
        city: str
        at: datetime
        number: str

    class Street(Entity, table=t, key=("CITY#{city}", "STREET#{name}")):
        city: str
        name: str

    class House(Entity, table=t, key=("CITY#{city}", "STREET#{name}#{number}")):
        city: str
        name: str
        number: str

    class Lane(Entity, table=t, key=("CITY#{city}", "LANE#{name:escaped}")):
        city: str
        name: str

    class Gate(Entity, table=t, key=("CITY#{city}", "LANE#{name}#{number}")):
        city: str
        name: str
        number: str

    assert prove_read(collection(Day, Shower)("Belém").read).requests == 1
    assert prove_read(collection(Day, Shower)("Belém", datetime(2025, 1, 1, tzinfo=UTC)).read).requests == 1
    assert prove_read(collection(Street, House)("Belém", "Rua").read).requests == 2
    assert prove_read(collection(Lane, Gate)("Belém", "Rua").read).requests == 1


def test_index_that_does_not_project_a_returned_attribute_is_rejected() -> None:
    class Short(View):
        name: str
        size: int
        by_name = Keys("ByName")

    t = table(Index("ByName", "name", project=(Short,)))

    class Row(Short, Entity, table=t, key=("ROW#{row_id}", "ROW")):
        row_id: str
        text: str

    @pattern(Short.by_name)
    def short(name: str) -> Items[Short]: ...

    prove("test", t)

    @pattern(Row.by_name)
    def whole(name: str) -> Items[Row]: ...

    assert proof_of(t) == (
        "whole: index 'ByName' does not project row_id, text; add them to the projection, or read a "
        "View of Row without them"
    )


def test_entities_of_different_partitions_cannot_be_read_together() -> None:
    t = table(Index("GSI1", "GSI1PK", "GSI1SK"))

    class A(Entity, table=t, key=("A#{a}", "A")):
        a: str
        listed = Keys("GSI1", "L#{a}", "A")

    class B(Entity, table=t, key=("B#{a}", "B")):
        a: str

    with pytest.raises(ProofError, match=r"^A and B: A and B are in different partitions; give them the same PK$"):
        prove_read(collection(A, B)("x").read)
    with pytest.raises(ProofError, match=r"^A and B: A.GSI1 and B are not in one table and index; put only entities"):
        prove_read(collection(A.listed, B)("x").read)


def test_range_over_entities_without_a_common_part_is_rejected() -> None:
    t = table()

    class A(Entity, table=t, key=("P#{p}", "A#{n:4}")):
        p: str
        n: int

    class B(Entity, table=t, key=("P#{p}", "B#{n:4}")):
        p: str
        n: int

    said = (
        "^A and B: its entities share no sort part to which the bounds could apply; "
        "read one entity, or leave the bounds out$"
    )
    with pytest.raises(ProofError, match=said):
        prove_read(collection(A, B)("x").between(1, 2).read)


def test_a_collection_reads_the_beginning_that_its_entities_share() -> None:
    t = table()

    class Comment(Entity, table=t, key=("POST#{post_id}", "COMMENT#{comment_id}#{at}")):
        post_id: str
        comment_id: str
        at: datetime

    class Reply(Entity, table=t, key=("POST#{post_id}", "COMMENT#{parent_id}#{reply_id}#{at}")):
        post_id: str
        parent_id: str
        reply_id: str
        at: datetime

    class Like(Entity, table=t, key=("POST#{post_id}", "LIKE#{user_id}")):
        post_id: str
        user_id: str

    @pattern
    def thread(post_id: str) -> Items[Comment | Reply]: ...
    @pattern
    def one_thread(post_id: str, comment_id: str) -> Items[Comment | Reply]: ...

    prove("test", t)


# the whole design --------------------------------------------------------------------------------------------------


def test_a_counter_needs_a_way_to_its_parent() -> None:
    t = table()

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        children: Annotated[int, CountOf(lambda: Child)] = 0

    class Child(Entity, table=t, key=("CHILD#{child_id}", "C")):
        child_id: str
        father: str

    assert proof_of(t) == (
        "Parent.children: Child has no attribute 'parent_id' that names its Parent; write "
        "via={'parent_id': <attribute of Child>}"
    )


@pytest.mark.parametrize(
    ("old", "other"),
    [
        (("PAGE#{page}", "X"), ("PAGE#{page}", "X")),
        (("PAGE#{page:plain}", "X"), ("PAGE#{page}#{line}", "X")),
        (("PAGE#{page}", "AT#{line:plain}"), ("PAGE#{page}", "AT#{line}#{page}")),
    ],
)
def test_old_key_cannot_be_a_key_of_another_entity(old: tuple[str, str], other: tuple[str, str]) -> None:
    t = table()

    class Page(Entity, table=t, key=("NEW#{page}", "{line}"), old_keys=[old]):
        page: str
        line: str

    class Line(Entity, table=t, key=other):
        page: str
        line: str

    said = proof_of(t)
    forms = f"an old key of Page ({', '.join(old)}) and Line ({', '.join(other)})"
    assert said.startswith(f"Page and Line: {forms} can have the same key: ")
    assert said.endswith("; give one of them another constant, or migrate the stored items and remove it from old_keys")


def test_old_keys_of_two_entities_never_meet() -> None:
    t = table()

    class Line(Entity, table=t, key=("LINE#{page}", "{line}"), old_keys=[("OLD#{page}", "{line:plain}")]):
        page: str
        line: str

    class Page(Entity, table=t, key=("PAGE#{page}", "{line:4}"), old_keys=[("OLD#{page}", "{line:plain}")]):
        page: str
        line: int

    assert proof_of(t).startswith(
        "Line and Page: an old key of Line (OLD#{page}, {line:plain}) and "
        "an old key of Page (OLD#{page}, {line:plain}) can have the same key: "
    )


@pytest.mark.parametrize(("today", "old"), [("{n:3,desc}", "{n:plain}"), ("{n:3}", "{n:3,desc}")])
def test_digits_of_an_old_key_cannot_be_another_number_today(today: str, old: str) -> None:
    t = table()

    class Score(Entity, table=t, key=("GAME#{game}", today), old_keys=[("GAME#{game}", old)]):
        game: str
        n: int

    assert proof_of(t) == (
        f"Score.n: '999' is one number in the key ({today}) and another in an old key ({old}): "
        "two items would have the same key; give one of them another constant, or write a sign ({n:+4,desc})"
    )


@pytest.mark.parametrize("today", ["{n:3}", "{n:+3,desc}", "V2#{n:3,desc}"])
def test_digits_of_an_old_key_may_be_the_same_number_today(today: str) -> None:
    t = table()

    class Score(Entity, table=t, key=("GAME#{game}", today), old_keys=[("GAME#{game}", "{n:plain}")]):
        game: str
        n: int

    prove("test", t)


def test_an_old_key_of_another_shape_is_proven_apart() -> None:
    t = table()

    class Page(Entity, table=t, key=("NEW#{page}", "X"), old_keys=[("PAGE#{page}", "X"), ("OLD#{page:plain}", "X")]):
        page: str

    class Line(Entity, table=t, key=("PAGE#{page}", "{number:4}"), old_keys=[("PAGE#{page}#{number:plain}", "X")]):
        page: str
        number: int

    prove("test", t)


SUMS = "sum int into int, and Decimal into Decimal"
ATTRIBUTES = "the attributes are parent_id, name, price, parts"
STALE = "'parts' of Child is itself a counter, so what it decides here would become stale; compute it in a service"


@pytest.mark.parametrize(
    ("counting", "said"),
    [
        (lambda child: SumOf(child, "size"), f"Child has no attribute 'size'; {ATTRIBUTES}"),
        (lambda child: SumOf(child, "name"), f"it is int, but Child.name, which it sums, is str; {SUMS}"),
        (lambda child: SumOf(child, "price"), f"it is int, but Child.price, which it sums, is Decimal; {SUMS}"),
        (lambda child: SumOf(child, "parts"), STALE),
        (lambda child: CountOf(child, when=F.parts > 0), STALE),
        (lambda child: CountOf(child, when=F.size > 0), f"Child has no attribute 'size'; {ATTRIBUTES}"),
    ],
)
def test_counter_must_fit_the_attributes_of_its_children(counting: Callable[[Any], Any], said: str) -> None:
    t = table()

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        kept: Annotated[int, counting(lambda: Child)] = 0

    class Part(Entity, table=t, key=("PART#{parent_id}", "PART#{name}")):
        parent_id: str
        name: str

    class Child(Entity, table=t, key=("PARENT#{parent_id}", "CHILD#{name}")):
        parent_id: str
        name: str
        price: Decimal
        parts: Annotated[int, CountOf(Part)] = 0

    assert proof_of(t) == f"Parent.kept: {said}"


CANCEL = "the 'amount' of several Entry items may sum to zero, and Account be deleted beside them"
COUNT = "count them too (Annotated[int, CountOf(lambda: Entry)]), or give Entry.amount msgspec.Meta(ge=0)"
OTHER = {"account_id": "other_id"}
SHOWN = F.note.exists()


@pytest.mark.parametrize(
    ("kind", "total", "others", "accepted"),
    [
        (int, {}, [], False),
        (Annotated[int, msgspec.Meta(le=5)], {}, [], False),
        (Annotated[int, msgspec.Meta(ge=-1)], {}, [], False),
        (Annotated[int, msgspec.Meta(ge=0)], {}, [], True),
        (Annotated[int, msgspec.Meta(gt=0)] | None, {}, [], True),
        (int, {}, [{}], True),
        (int, {}, [{"when": SHOWN}], False),
        (int, {"when": SHOWN}, [{"when": F.note.exists()}], True),
        (int, {"when": SHOWN}, [{"when": F.note.is_absent()}], False),
        (int, {"when": SHOWN}, [{}], True),
        (int, {}, [{"via": OTHER}], False),
        (int, {"via": OTHER}, [{}, {"via": OTHER}], True),
    ],
)
def test_sum_that_may_be_zero_beside_children_needs_a_count(
    kind: Any, total: dict[str, Any], others: list[dict[str, Any]], accepted: bool
) -> None:
    t = table()

    class Entry(Entity, table=t, key=("ENTRY#{entry_id}", "ENTRY")):
        entry_id: str
        account_id: str
        other_id: str
        amount: kind
        note: str | None = None

    counts = {f"count{at}": Annotated[int, CountOf(Entry, **each)] for at, each in enumerate(others)}
    hints = {"account_id": str, "total": Annotated[int, SumOf(Entry, "amount", **total)], **counts}
    body = {"__annotations__": hints, "total": 0, **dict.fromkeys(counts, 0)}
    types.new_class(
        "Account", (Entity,), {"table": t, "key": ("ACCOUNT#{account_id}", "ACCOUNT")}, lambda made: made.update(body)
    )
    if accepted:
        prove("test", t)
    else:
        assert proof_of(t) == f"Account.total: {CANCEL}; {COUNT}"


@pytest.mark.parametrize("counting", [CountOf, lambda child: SumOf(child, "size")])
def test_entity_that_counts_its_own_class_names_the_attribute_of_the_parent(counting: Callable[[Any], Any]) -> None:
    t = table()

    class Folder(Entity, table=t, key=("FOLDER#{folder_id}", "FOLDER")):
        folder_id: str
        size: Annotated[int, msgspec.Meta(ge=0)] = 0
        parent_id: Annotated[str | None, References(lambda: Folder)] = None
        inside: Annotated[int, counting(lambda: Folder)] = 0

    wrong = "every Folder would count itself: nothing says which attribute names its parent"
    assert proof_of(t) == f"Folder.inside: {wrong}; write via={{'folder_id': <attribute of Folder>}}"


def test_children_that_are_declared_before_need_no_lambda() -> None:
    t = table()

    class Child(Entity, table=t, key=("PARENT#{parent_id}", "CHILD#{name}")):
        parent_id: str
        name: str
        price: int

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        children: Annotated[int, CountOf(Child)] = 0
        worth: Annotated[Decimal, SumOf(Child, "price")] = Decimal(0)
        one = Owns(Child)
        several = Owns((Child,))

    class Friend(Entity, table=t, key=("FRIEND#{parent_id}", "F")):
        parent_id: Annotated[str, References(Parent)]

    assert len(prove("test", t).ownerships[model_of(Parent)]) == 2


def test_owner_counts_of_its_children_only_what_it_owns() -> None:
    t = table()

    class Child(Entity, table=t, key=("PARENT#{parent_id}", "CHILD#{name}")):
        parent_id: str
        name: str
        friend_id: str | None = None

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        friends: Annotated[int, CountOf(Child, via={"parent_id": "friend_id"})] = 0
        own = Owns(Child)

    assert proof_of(t) == (
        "Parent.friends: it counts every Child whose 'friend_id' names it, but owns those whose 'parent_id' does: "
        "others would refer to it after its deletion; count the owned ones, by the attributes of their key, or "
        "remove Owns"
    )


def test_guards_need_text_keys_and_their_own_attribute() -> None:
    numbered = Table("numbered", pk="number")

    class Thing(Entity, table=numbered):
        number: int
        name: Annotated[str, Unique()]

    assert proof_of(numbered) == "Thing: Unique needs a table with text keys; write key templates"
    sorted_by_number = Table("numbered", pk="PK", sk="number")

    class Sorted(Entity, table=sorted_by_number, key=("T#{name}", None)):
        number: int
        name: Annotated[str, Unique()]

    assert proof_of(sorted_by_number) == "Sorted: Unique needs a table with text keys; write key templates"
    t = table(Index("ByGuard", "guardOf"))

    class Other(Entity, table=t, key=("O#{name}", "O")):
        name: Annotated[str, Unique()]
        by_guard = Keys("ByGuard", "{name}")

    assert proof_of(t) == "things: an index key uses 'guardOf', an attribute of guards; rename that attribute"


def test_owned_children_must_be_found_from_their_parent() -> None:
    t = table()

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        all_of_it = Owns(lambda: Child)

    class Child(Entity, table=t, key=("CHILD#{child_id}", "C")):
        child_id: str

    assert proof_of(t) == (
        "Parent: it owns Child, whose key needs 'child_id'; write Owns(..., via={'child_id': <attribute of Parent>}), "
        "or, where Parent does not have it, delete Child in a service"
    )


def test_children_of_other_owners_are_not_owned() -> None:
    t = table()

    class Room(Entity, table=t, key=("HOUSE#{house}", "ROOM#{room}")):
        house: str
        room: str
        all_of_it = Owns(lambda: Chair)

    class Chair(Entity, table=t, key=("HOUSE#{house}", "CHAIR#{chair}")):
        house: str
        chair: str

    assert proof_of(t) == (
        "Room: it owns Chair, whose key does not hold 'room': deleting one Room would delete the "
        "children of others; begin the sort key of Chair with {room}, or map it with via={<part of "
        "Chair>: 'room'}"
    )


def test_a_form_that_loses_something_does_not_name_an_owner() -> None:
    t = table()

    class Day(Entity, table=t, key=("DAYS", "DAY#{at}")):
        at: datetime
        all_of_it = Owns(lambda: Entry)

    class Entry(Entity, table=t, key=("ENTRIES#{at:day}", "ENTRY#{number:4}")):
        at: datetime
        number: int

    assert proof_of(t).startswith("Day: it owns Entry, whose key does not hold 'at': ")


def test_a_day_that_the_owner_has_by_chance_does_not_find_its_children() -> None:
    t = table()

    class Club(Entity, table=t, key=("CLUB#{club}", "CLUB")):
        club: str
        at: datetime
        all_of_it = Owns(lambda: Game)

    class Game(Entity, table=t, key=("CLUB#{club}#{at:day}", "GAME#{at}")):
        club: str
        at: datetime

    assert proof_of(t) == (
        "Club: it owns Game, whose partition holds a form of 'at', which is not in the key of Club: "
        "children with another value would not be deleted; leave 'at' out of that partition, or "
        "delete Game in a service"
    )


@pytest.mark.parametrize(
    ("key", "via"),
    [
        (("HOUSE#{house}", "CHAIR#{room}#{chair}"), {}),
        (("HOUSE#{house}", "CHAIR#{place}#{chair}"), {"place": "room"}),
        (("ROOM#{room}", "CHAIR#{chair}"), {}),
        (("HOUSE#{house}#ROOM#{place}", "CHAIR#{room}"), {"place": "room"}),
    ],
)
def test_an_owner_is_named_by_the_key_of_its_children(key: tuple[str, str], via: dict[str, str]) -> None:
    t = table()

    class Room(Entity, table=t, key=("HOUSE#{house}", "ROOM#{room}")):
        house: str
        room: str
        all_of_it = Owns(lambda: Chair, via=via)

    class Chair(Entity, table=t, key=key):
        house: str
        room: str
        place: str
        chair: str

    prove("test", t)


def test_old_key_that_does_not_name_the_owner_is_rejected() -> None:
    t = table()

    class Room(Entity, table=t, key=("HOUSE#{house}", "ROOM#{room}")):
        house: str
        room: str
        all_of_it = Owns(lambda: Chair)

    class Chair(
        Entity, table=t, key=("HOUSE#{house}", "CHAIR#{room}#{n:4}"), old_keys=[("HOUSE#{house}", "CHAIR#{n:4}")]
    ):
        house: str
        room: str
        n: int

    assert proof_of(t).startswith("Room: it owns Chair, whose old key does not hold 'room': ")


def test_children_that_are_owned_must_be_alone_in_their_range() -> None:
    t = table()

    class Parent(Entity, table=t, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        all_of_it = Owns(lambda: Child)

    class Child(Entity, table=t, key=("PARENT#{parent_id}", "CHILD#{name}")):
        parent_id: str
        name: str

    class Toy(Entity, table=t, key=("PARENT#{parent_id}", "CHILD#{name}#{toy}")):
        parent_id: str
        name: str
        toy: str

    assert proof_of(t).startswith(
        "Parent owns Child: Toy (PARENT#{parent_id}, CHILD#{name}#{toy}) can lie in the range"
    )


def test_referenced_table_must_be_in_the_design() -> None:
    one, other = table(), Table("other", pk="PK", sk="SK")

    class Child(Entity, table=other, key=("CHILD#{parent_id}", "C")):
        parent_id: str

    class Parent(Entity, table=one, key=("PARENT#{parent_id}", "P")):
        parent_id: str
        children: Annotated[int, CountOf(lambda: Child)] = 0

    assert proof_of(one) == (
        "Parent.children: it refers to Child, whose table 'other' is not in the design; pass that table to prove() too"
    )


def test_guards_and_entities_never_share_a_key() -> None:
    t = table()

    class Thing(Entity, table=t, key=("UNIQUE#{kind}#{name}#{value}", "{last}")):
        kind: str
        name: Annotated[str, Unique()]
        value: str
        last: str

    assert proof_of(t).startswith(
        "Thing and Thing: Thing (UNIQUE#{kind}#{name}#{value}, {last}) and a guard of Thing (UNIQUE#Thing#name#...) "
        "can have the same key: "
    )


def test_two_entities_of_one_name_cannot_share_guards() -> None:
    t = table()

    def declare(prefix: str) -> None:
        class Thing(Entity, table=t, key=(f"{prefix}#{{name}}", "X")):
            name: Annotated[str, Unique()]

    declare("A")
    declare("B")
    assert (
        proof_of(t)
        == "Thing: two entities with Unique have this name, and would share their guards; rename one of them"
    )


def test_an_index_attribute_has_one_type() -> None:
    t = table(Index("ByScore", "score"))

    class A(Entity, table=t, key=("A#{a}", "A")):
        a: str
        score: int
        by_score = Keys("ByScore")

    class B(Entity, table=t, key=("B#{a}", "B")):
        a: str
        score: str

    assert proof_of(t) == (
        "B.score: 'score' is an index key of type N, but it is stored as S; rename one of the two attributes"
    )


def test_index_without_entities_is_rejected() -> None:
    t = table(Index("GSI1", "GSI1PK"))

    class A(Entity, table=t, key=("A#{a}", "A")):
        a: str

    assert proof_of(t) == (
        "Index GSI1: no entity of table 'things' has the key attribute 'GSI1PK'; declare Keys for it "
        "on an entity, or remove the index"
    )


def test_two_patterns_of_one_name_are_rejected() -> None:
    t = table()

    class A(Entity, table=t, key=("A#{a}", "A")):
        a: str

    def declare(function_name: str) -> None:
        def read(a: str) -> Any:
            return get(A, a)

        read.__name__ = function_name
        pattern(read)

    declare("one")
    declare("one")
    assert proof_of(t) == "one: two patterns have this name; rename one of them"


def declare_query(source: Any, name: str) -> None:
    def read(a: str) -> Any:
        return query(source, a)

    read.__name__ = name
    pattern(read)


def test_fifty_entities_and_two_hundred_patterns_are_proven_within_a_second() -> None:
    t = table(*(Index(f"GSI{n}", f"GSI{n}PK", f"GSI{n}SK") for n in range(1, 4)))
    for number in range(50):

        class Thing(Entity, table=t, key=(f"E{number}#{{a}}", f"E{number}#{{at}}#{{b}}")):
            a: str
            b: str
            at: datetime
            one = Keys("GSI1", f"E{number}#{{b}}", "{at}")
            two = Keys("GSI2", f"E{number}#{{a}}", "{at}#{b}")
            three = Keys("GSI3", f"E{number}#{{a}}", "{b}")

        for source, name in ((Thing, "own"), (Thing.one, "one"), (Thing.two, "two"), (Thing.three, "three")):
            declare_query(source, f"e{number}_{name}")
    assert shortest(lambda: prove("large", t), 0.9) < 1.0
    design = prove("large", t)
    assert (len(design.models), len(design.patterns)) == (50, 200)


def test_filter_on_a_key_text_does_not_drop_an_entity_with_such_keys() -> None:
    t = table(Index("GSI1", "GSI1PK"))

    class Step(Entity, table=t, key=("C#{customer}", "ORDER#{order}#{number:2}")):
        customer: Annotated[str, InKey()]
        order: Annotated[str, InKey()]
        number: Annotated[int, InKey()]
        everything = Keys("GSI1", "ALL")

    class Line(Entity, table=t, key=("C#{customer}", "ORDER#{order}#LINE#{line}")):
        customer: Annotated[str, InKey()]
        order: Annotated[str, InKey()]
        line: Annotated[str, InKey()]
        everything = Keys("GSI1", "ALL")

    with pytest.raises(ProofError, match=r"Line \(ALL\) can lie in the range of Step.GSI1"):
        prove_read(Step.everything.query().where(F.order == "o1").read)

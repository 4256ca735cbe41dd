"""Values, items and arguments that DynamoDB would reject: our errors name the attribute."""

import base64
import enum
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    Compressed,
    Entity,
    Expires,
    F,
    Index,
    InvalidTransition,
    InvalidValue,
    Item,
    Items,
    Keys,
    Store,
    StoredItemInvalid,
    Table,
    Transitions,
    Unique,
    connect,
    fan_out,
    pattern,
    prove,
)
from partita.design.models import model_of
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import ValidationException
from partita.errors import PartitaError
from tests.store.faults import Faulty


class State(str, enum.Enum):
    NEW = "new"
    OLD = "old"


files = Table(
    "files", pk="PK", sk="SK", ttl="ttl", indexes=(Index("ByOwner", "OwnerPK", "OwnerSK"), Index("ByPlace", "place"))
)


class Paper(Entity, table=files, key=("PAPER#{paper}", "PAPER")):
    paper: str
    text: str = "t"
    owner: str | None = None
    rank: str = "r"
    place: str | None = None
    code: Annotated[Decimal | None, Unique()] = None
    count: int = 0
    tags: set[str] = msgspec.field(default_factory=set)
    names: dict[str, str] = msgspec.field(default_factory=dict)
    anything: Any = None
    lines: Annotated[list[str], Compressed()] = msgspec.field(default_factory=list)
    state: Annotated[State | None, Transitions({State.NEW: [State.OLD], State.OLD: [None]})] = None
    at: datetime | None = None

    owned = Keys("ByOwner", "OWNER#{owner}", "{rank}")
    placed = Keys("ByPlace")
    gone = Expires("at", after=timedelta(days=1))
    once = Unique("owner", "text")


class Line(
    Entity,
    table=files,
    key=("LINES", "LINE#{number:+6}#{flag}"),
    old_keys=[("LINES", "LINE#{number:plain}#{flag:plain}")],
):
    number: int
    flag: bool
    note: str = ""


@pattern
def paper(paper: str) -> Item[Paper]: ...
@pattern
def line(number: int, flag: bool) -> Item[Line]: ...
@pattern
def lines() -> Items[Line]: ...


@pattern
def of_owners(owners: Sequence[str]) -> Items[Paper]:
    return Paper.owned.query(fan_out(owners, 3))


others = Table("others", pk="PK", sk="SK")


class Other(Entity, table=others, key=("OTHER#{name}", "OTHER")):
    name: str


design = prove("files", files)
LAST = datetime.max.replace(tzinfo=UTC)


@pytest.fixture
def db() -> Store:
    store = Store(connect("memory:"), design)
    store.create_tables()
    return store


def stored(db: Store, sort: str = "PAPER", **item: Any) -> None:
    key = {"PK": {"S": "PAPER#1"}, "SK": {"S": sort}, "paper": {"S": "1"}}
    db.backend.call(wire.PutItem(table_name="files", item=key | item))


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


PAPERS: dict[str, dict[str, Any]] = {
    "text: it contains a lone surrogate and is not valid Unicode": {"text": "\ud800"},
    "paper: it contains a lone surrogate and is not valid Unicode": {"paper": "\ud800"},
    "tags: it contains a lone surrogate and is not valid Unicode": {"tags": {"\ud800"}},
    "names: it contains a lone surrogate and is not valid Unicode": {"names": {"\ud800": "a"}},
    "names: the name of a map's member cannot be empty": {"names": {"": "a"}},
    "anything: the name of a map's member cannot be empty": {"anything": {"": 1}},
    "anything: a set must contain only texts, only numbers or only bytes": {"anything": {1, "a"}},
    "anything: it is nested deeper than the 32 levels that DynamoDB allows": {"anything": nested(31)},
    "anything: it is nested too deeply": {"anything": nested(3000)},
    "OwnerPK: the key is longer than 2048 bytes": {"owner": "é" * 1024},
    "OwnerSK: the key is longer than 1024 bytes": {"owner": "a", "rank": "x" * 1025},
    "place: the key is longer than 2048 bytes": {"place": "x" * 2049},
    "at: it expires after the year 9999": {"at": LAST},
}


@pytest.mark.parametrize("said", PAPERS)
def test_value_that_cannot_be_stored_is_rejected_with_its_attribute(db: Store, said: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        db.create(Paper(**{"paper": "1", **PAPERS[said]}))
    assert str(refusal.value) == f"Paper.{said}"


def test_deepest_allowed_nesting_is_stored(db: Store) -> None:
    db.create(Paper(paper="1", anything=nested(30)))
    assert db.one(paper("1")).anything == nested(30)


BROKEN: dict[str, dict[str, Any]] = {
    "date value out of range": {"at": {"S": "9999-12-31T23:59:59-05:00"}},
    "it is not compressed JSON": {"lines": {"B": base64.b64encode(b"rubbish").decode()}},
}


@pytest.mark.parametrize("said", BROKEN)
def test_item_that_cannot_be_decoded_is_named(db: Store, said: str) -> None:
    stored(db, **BROKEN[said])
    with pytest.raises(StoredItemInvalid, match=f"^Paper PAPER#1 PAPER cannot be read as it is stored: {said}"):
        db(paper("1"))
    assert list(db.scan(Paper)) == []
    assert [said in each for each in db.adopt().refused] == [True]


READS: dict[str, Callable[[Store], Any]] = {
    "Paper.paper: 1 is not text": lambda db: db.delete(paper(1)),  # type: ignore[arg-type]
    "paper.paper: expected `str`, got `int`": lambda db: db(paper(1)),  # type: ignore[arg-type]
    "paper.paper: expected `str`, got `NoneType`": lambda db: db(paper(None)),  # type: ignore[arg-type]
    "paper.paper: it contains a lone surrogate and is not valid Unicode": lambda db: db(paper("\ud800")),
    "Paper.PK: the key is longer than 2048 bytes": lambda db: db(paper("x" * 2048)),
    "line.number: expected `int`, got `str`": lambda db: db(line("1", True)),  # type: ignore[arg-type]
    "line.number: expected `int`, got `bool`": lambda db: db(line(True, True)),
    "line.flag: expected `bool`, got `int`": lambda db: db(line(1, 1)),  # type: ignore[arg-type]
    "paper: the pattern itself is not a read; call it, paper(paper)": lambda db: db.one(paper),  # type: ignore[arg-type]
    "paper: missing a required argument: 'paper'; write paper(paper)": lambda db: db(paper()),  # type: ignore[call-arg]
    "paper: too many positional arguments; write paper(paper)": lambda db: db(paper("1", "2")),  # type: ignore[call-arg]
    "lines: it reads several items, not one; declare a pattern -> Item[...]": lambda db: db.one(lines()),  # type: ignore[arg-type]
    "first: count is -1; pass the number of items": lambda db: db(lines()).first(-1),
    "Paper.count: 'a' is not a number": lambda db: db.delete(paper("1"), when=F.count == "a"),
    "Paper.text: 5 is not text": lambda db: db.delete(paper("1"), when=F.text == 5),
    "Paper: True is not a condition; write one with F, such as F.name == value": lambda db: db.delete(
        paper("1"),
        when=True,  # type: ignore[call-overload]
    ),
    "Paper.once: 1 values for 2 fields; pass owner, text": lambda db: db.find_by_unique(Paper, "once", "a"),
    "Other: it is not in design 'files'; pass its table 'others' to prove() too": lambda db: db.put_many(
        [Other(name="a")]
    ),
}


@pytest.mark.parametrize("said", READS)
def test_invalid_argument_is_rejected_with_a_sentence(db: Store, said: str) -> None:
    db.create(Paper(paper="1"))
    with pytest.raises(PartitaError) as refusal:
        READS[said](db)
    assert str(refusal.value) == said


@pytest.mark.parametrize("owners", [["x" * 2048], ["a", "é" * 1024]])
def test_key_of_a_query_that_is_too_long_is_named(db: Store, owners: list[str]) -> None:
    def refuse(request: Any, call: Any) -> Any:
        raise ValidationException("Size of hashkey has exceeded the maximum size limit of2048 bytes")

    strict = Store(Faulty(db.backend, wire.Query, refuse), design)
    with pytest.raises(InvalidValue) as error:
        strict(of_owners(owners)).first(1)
    assert str(error.value) == "Paper.OwnerPK: the key is longer than 2048 bytes"


def test_query_that_the_backend_rejects_for_another_reason_keeps_its_error(db: Store) -> None:
    def refuse(request: Any, call: Any) -> Any:
        raise ValidationException("no such index")

    strict = Store(Faulty(db.backend, wire.Query, refuse), design)
    with pytest.raises(ValidationException, match="no such index"):
        strict(of_owners(["a"])).first(1)


def test_first_zero_items_are_none(db: Store) -> None:
    db.create(Line(number=1, flag=True))
    assert db(lines()).first(0) == []


def test_entity_is_found_by_an_equal_unique_value(db: Store) -> None:
    db.create(Paper(paper="1", code=Decimal("1.5")))
    found = db.find_by_unique(Paper, "code", Decimal("1.50"))
    assert found is not None
    assert found.paper == "1"


def test_guard_without_an_owner_is_reported(db: Store) -> None:
    guard = {"PK": {"S": "UNIQUE#Paper#code#2"}, "SK": {"S": "UNIQUE"}}
    db.backend.call(wire.PutItem(table_name="files", item=guard))
    with pytest.raises(StoredItemInvalid, match=r"UNIQUE cannot be read .*: the guard has no owner$"):
        db.find_by_unique(Paper, "code", Decimal(2))


def test_transition_may_lead_to_none(db: Store) -> None:
    db.create(Paper(paper="1", state=State.OLD))
    db.create(Paper(paper="2", state=State.NEW))
    with db.change(paper("1")) as draft:
        draft.state = None
    assert db.one(paper("1")).state is None
    with pytest.raises(InvalidTransition), db.change(paper("2")) as draft:
        draft.state = None


@pytest.mark.parametrize("absent", [F.owner == None, F.owner.is_in(None, "b"), F.tags == set()])  # noqa: E711
def test_none_is_compared_as_it_is_stored(db: Store, absent: Any) -> None:
    db.create(Paper(paper="1"))
    db.create(Paper(paper="2", owner="a", tags={"x"}))
    with db.change(paper("1"), when=absent) as draft:
        draft.count = 1
    with db.change(paper("2"), when=~absent) as draft:
        draft.count = 1
    assert [db.one(paper(each)).count for each in ("1", "2")] == [1, 1]


def test_value_that_is_not_none_is_present(db: Store) -> None:
    db.create(Paper(paper="1"))
    db.create(Paper(paper="2", owner="a"))
    assert db.delete(paper("2"), when=F.owner != None) is not None  # noqa: E711
    with pytest.raises(PartitaError, match="the condition does not hold"):
        db.delete(paper("1"), when=F.owner != None)  # noqa: E711


@pytest.mark.parametrize(
    ("given", "read"), [(1.0, 1), (Decimal("1.50"), Decimal("1.5")), ([1.0, {"a": 2.0}], [1, {"a": 2}])]
)
def test_number_of_an_open_type_is_returned_as_it_is_read(db: Store, given: Any, read: Any) -> None:
    made = db.create(Paper(paper="1", anything=given))
    assert repr(made.anything) == repr(db.one(paper("1")).anything) == repr(read)


def test_true_and_one_differ_in_an_open_type() -> None:
    same = model_of(Paper).attributes["anything"].codec.same
    assert not same({"on": [1]}, {"on": [True]})
    assert same({"on": [True]}, {"on": [True]})
    assert not same(None, 0)


def test_get_many_finds_items_under_old_keys(db: Store) -> None:
    db.create(Line(number=2, flag=True))
    old: Any = {"PK": {"S": "LINES"}, "SK": {"S": "LINE#7#True"}, "number": {"N": "7"}, "flag": {"BOOL": True}}
    db.backend.call(wire.PutItem(table_name="files", item=old))
    wanted = [line(7, True), line(2, True), line(9, True)]
    assert db.get_many(wanted) == [Line(number=7, flag=True), Line(number=2, flag=True), None]
    assert db.get_many(wanted)[0] == db(line(7, True))

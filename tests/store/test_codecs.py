"""Values of every type are read back equal, through bytes and through dicts."""

import enum
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import Compressed, Entity, InKey, OpenEnum, StoredAs, StoredItemInvalid, Table
from partita.design.models import model_of
from partita.plan.items import item_of, validate_entity, values_of
from partita.store.decoding import decoder_of


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Rank(enum.IntEnum):
    ONE = 1
    TWO = 2


class Kind(OpenEnum):
    A = "a"


class Inner(msgspec.Struct, kw_only=True):
    deep_name: str
    amount: Decimal | None = None
    tags: set[str] = msgspec.field(default_factory=set)


class Outer(msgspec.Struct, kw_only=True):
    inner_one: Inner
    many: list[Inner] = msgspec.field(default_factory=list)


UserId = NewType("UserId", str)
table = Table("things", pk="PK", sk="SK", naming="camel")


class Thing(Entity, table=table, key=("THING#{thing_id}", "{at}#{number:+6}")):
    thing_id: Annotated[str, InKey()]
    at: Annotated[datetime, InKey()]
    number: Annotated[int, InKey()]
    user_id: UserId = UserId("u")
    exact: Annotated[str | None, StoredAs("Exact-Name")] = None
    flag: bool = False
    whole: int = 0
    real: float = 0.0
    precise: Decimal = Decimal(0)
    blob: bytes = b""
    moment: datetime | None = None
    day: date | None = None
    uuid: UUID | None = None
    colour: Colour = Colour.RED
    rank: Rank | None = None
    kind: Kind | None = None
    word: Literal["x", "y"] = "x"
    texts: set[str] = msgspec.field(default_factory=set)
    colours: frozenset[Colour] = frozenset()
    numbers: set[int] = msgspec.field(default_factory=set)
    precises: set[Decimal] = msgspec.field(default_factory=set)
    blobs: set[bytes] = msgspec.field(default_factory=set)
    listed: list[int | None] = msgspec.field(default_factory=list)
    tupled: tuple[str, ...] = ()
    mapped: dict[str, list[Decimal]] = msgspec.field(default_factory=dict)
    outer: Outer | None = None
    zipped: Annotated[dict[str, list[int]], Compressed()] = msgspec.field(default_factory=dict)
    anything: Any = None
    open_map: dict[str, Any] = msgspec.field(default_factory=dict)


texts = st.text(max_size=5)
names = st.text(min_size=1, max_size=5)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
decimals = st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-6))
inners = st.builds(Inner, deep_name=texts, amount=st.none() | decimals, tags=st.sets(texts, max_size=2))
open_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
things = st.builds(
    Thing,
    thing_id=st.text(min_size=1, max_size=5).map(lambda text: text.encode("utf-8", "ignore").decode() or "x"),
    at=moments,
    number=st.integers(-999_999, 999_999),
    user_id=texts.map(UserId),
    exact=st.none() | texts,
    flag=st.booleans(),
    whole=st.integers(-(10**30), 10**30),
    real=st.floats(-1e100, 1e100).map(lambda value: float(f"{value:.12g}")).filter(lambda value: abs(value) > 1e-100),
    precise=decimals,
    blob=st.binary(max_size=5),
    moment=st.none() | moments,
    day=st.none() | st.dates(),
    uuid=st.none() | st.uuids(),
    colour=st.sampled_from(Colour),
    rank=st.none() | st.sampled_from(Rank),
    kind=st.none() | st.sampled_from([Kind.A, Kind("other")]),
    word=st.sampled_from(["x", "y"]),
    texts=st.sets(texts, max_size=3),
    colours=st.frozensets(st.sampled_from(Colour)),
    numbers=st.sets(st.integers(-99, 99), max_size=3),
    precises=st.sets(decimals, max_size=3),
    blobs=st.sets(st.binary(max_size=2), max_size=2),
    listed=st.lists(st.none() | st.integers(-9, 9), max_size=3),
    tupled=st.lists(texts, max_size=2).map(tuple),
    mapped=st.dictionaries(names, st.lists(decimals, max_size=2), max_size=2),
    outer=st.none() | st.builds(Outer, inner_one=inners, many=st.lists(inners, max_size=2)),
    zipped=st.dictionaries(names, st.lists(st.integers(0, 9), max_size=2), max_size=2),
    anything=open_values,
    open_map=st.dictionaries(names, open_values, max_size=2),
)


@given(things)
def test_entity_is_read_back_as_it_was_written(made: Thing) -> None:
    model = model_of(Thing)
    thing = validate_entity(model, made)
    item = item_of(model, values_of(model, thing))
    assert decoder_of(model)(msgspec.json.encode(item)) == _normal(made)
    assert decoder_of(model).from_item(item) == _normal(made)


def _normal(thing: Thing) -> Thing:
    """Text in keys is read back in its composed form."""
    from unicodedata import normalize

    return msgspec.structs.replace(thing, thing_id=normalize("NFC", thing.thing_id))


def test_names_on_disk_reach_into_nested_structs() -> None:
    model = model_of(Thing)
    inner = Inner(deep_name="x")
    thing = Thing(thing_id="t", at=datetime(2025, 1, 1, tzinfo=UTC), number=1, outer=Outer(inner_one=inner))
    item = item_of(model, values_of(model, thing))
    assert item["outer"] == {"M": {"innerOne": {"M": {"deepName": {"S": "x"}}}, "many": {"L": []}}}
    assert "Exact-Name" not in item
    assert "texts" not in item


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("colour", {"S": "green"}, "colour: 'green' is not one of its values"),
        ("whole", {"S": "1"}, "whole is not stored as N"),
        ("moment", {"N": "1"}, "moment is not stored as S"),
        ("texts", {"L": []}, "texts is not stored as SS"),
        ("outer", {"S": "in"}, "outer is not stored as M"),
        ("SK", {"S": "soon"}, "the key 'THING#t soon' is not a key of Thing"),
    ],
)
def test_value_that_does_not_fit_is_named(name: str, value: dict[str, str], said: str) -> None:
    model = model_of(Thing)
    thing = Thing(thing_id="t", at=datetime(2025, 1, 1, tzinfo=UTC), number=1)
    item = {**item_of(model, values_of(model, thing)), name: value}
    with pytest.raises(StoredItemInvalid) as refusal:
        decoder_of(model)(msgspec.json.encode(item))
    assert str(refusal.value).endswith(said)


def test_null_is_read_as_absent() -> None:
    model = model_of(Thing)
    thing = Thing(thing_id="t", at=datetime(2025, 1, 1, tzinfo=UTC), number=1)
    item = item_of(model, values_of(model, thing))
    members = [member for member in model.members if member.may_be_missing and member.field != "anything"]
    null = {**item, **{member.name: {"NULL": True} for member in members}}
    absent = {name: value for name, value in item.items() if name not in {member.name for member in members}}
    assert decoder_of(model)(msgspec.json.encode(null)) == decoder_of(model)(msgspec.json.encode(absent))

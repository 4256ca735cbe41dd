"""Every value of a wrong type in every argument of every kind of pattern is an error that names the argument."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
import pytest

from partita import (
    AsyncStore,
    ConfigurationError,
    DesignError,
    Entity,
    F,
    Index,
    InvalidValue,
    Item,
    Items,
    Keys,
    Store,
    Table,
    connect,
    fan_out,
    pattern,
    prove,
    query,
)


class Color(Enum):
    RED = "red"


table = Table("sorts", "PK", "SK", indexes=(Index("ByNumber", "number", "price"), Index("ByData", "data")))


class Sort(Entity, table=table, key=("SORT#{text}", "{word}#{n:4}#{m:+6.2}#{at}#{day}#{color}#{serial}#{flag}#{end?}")):
    text: str
    word: str
    n: int
    m: Decimal
    at: datetime
    day: date
    color: Color
    serial: UUID
    flag: bool
    end: str | None = None
    number: int = 0
    price: Decimal = Decimal(0)
    data: bytes = b"x"
    tags: set[str] = msgspec.field(default_factory=set)

    by_number = Keys("ByNumber")
    by_data = Keys("ByData")


class Shard(Entity, table=table, key=("SHARD#{name:shard(4)}", "{at:month}#{at}")):
    name: str
    at: datetime


@pattern
def one(
    text: str,
    word: str,
    n: int,
    m: Decimal,
    at: datetime,
    day: date,
    color: Color,
    serial: UUID,
    flag: bool,
    end: str | None,
) -> Item[Sort]: ...
@pattern
def some(text: str, word: str, n: int, m: Decimal, at: datetime, day: date, color: Color) -> Items[Sort]: ...
@pattern
def words(text: str, low: str, high: str) -> Items[Sort]:
    return query(Sort, text).since(low).before(high)


@pattern
def prefixed(text: str, low: str) -> Items[Sort]:
    return query(Sort, text).starts_with(low)


@pattern
def numbers(text: str, word: str, low: int, high: int) -> Items[Sort]:
    return query(Sort, text, word).above(low).until(high)


@pattern
def times(text: str, word: str, n: int, m: Decimal, low: datetime, high: datetime) -> Items[Sort]:
    return query(Sort, text, word, n, m).between(low, high)


@pattern
def days(text: str, word: str, n: int, m: Decimal, at: datetime, low: date, high: date) -> Items[Sort]:
    return query(Sort, text, word, n, m, at).since(low).until(high)


@pattern
def by_number(number: int, low: Decimal) -> Items[Sort]:
    return Sort.by_number.query(number).above(low)


@pattern
def by_data(data: bytes) -> Items[Sort]:
    return Sort.by_data.query(data)


@pattern
def filtered(text: str, price: Decimal, data: bytes, tag: str, size: int) -> Items[Sort]:
    wanted = (F.price <= price) | (F.data > data) | F.tags.contains(tag) | (F.tags.size() <= size)
    return query(Sort, text).where(wanted)


@pattern
def listed(texts: Sequence[str], word: str) -> Items[Sort]:
    return query(Sort, fan_out(texts, limit=5), word)


@pattern
def months(shard: int, of: Sequence[date]) -> Items[Shard]:
    return query(Shard, shard, fan_out(of, limit=5))


design = prove("sorts", table)
AT, DAY = datetime(2025, 1, 1, tzinfo=UTC), date(2025, 1, 1)
VALUES: dict[Any, Any] = {
    str: "s",
    int: 1,
    Decimal: Decimal(1),
    datetime: AT,
    date: DAY,
    Color: Color.RED,
    UUID: UUID(int=1),
    bool: True,
    bytes: b"x",
    str | None: None,
    Sequence[str]: ["s"],
    Sequence[date]: [DAY],
}
NUMBERS: list[Any] = [5, 1.5, Decimal("1.5")]
WRONG: list[Any] = [
    *(None, True, "x", b"x", [], ["x"], [5], [None], {"a": 1}, {1}, object(), int, lambda: 0, F.text, float("nan")),
    *(datetime(2025, 1, 1), AT, DAY, time(1), timedelta(1), UUID(int=1), Color.RED, *NUMBERS, Decimal("NaN"), "\ud800"),
]
PYTHON_WORDS = re.compile(
    "has no attribute|not supported|unsupported|not iterable|not callable|unhashable|convert NaN|true nor false"
)


def fits(kind: Any, value: Any) -> bool:
    """Whether the value may be passed for a parameter of the type: also a time for its day, and any number."""
    if kind in (Sequence[str], Sequence[date]):
        element = str if kind == Sequence[str] else date
        return isinstance(value, list | set) and all(fits(element, each) for each in value)
    if kind in (int, Decimal):
        return any(value is each for each in NUMBERS)
    if kind is datetime:
        return value is AT
    if kind is str:
        return isinstance(value, str) and value == "x"
    return isinstance(value, kind)


@pytest.fixture(scope="module")
def db() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as opened:
        opened.create_tables()
        yield opened


CASES = [(each, at) for each in table.patterns for at in range(len(each.signature.parameters))]


@pytest.mark.parametrize(("of", "at"), CASES, ids=[f"{each.name}-{at}" for each, at in CASES])
def test_wrong_type_of_an_argument_is_an_error_that_names_it(db: Store, of: Any, at: int) -> None:
    parameters = list(of.signature.parameters.values())
    good = [VALUES[each.annotation] for each in parameters]
    for wrong in WRONG:
        if fits(parameters[at].annotation, wrong) or (of.name, parameters[at].name) == ("months", "shard"):
            continue
        call = of(*good[:at], wrong, *good[at + 1 :])
        with pytest.raises(InvalidValue) as raised:
            _ = db.get(call) if of is one else list(db(call))
        assert raised.value.argument == parameters[at].name, wrong
        assert parameters[at].name in str(raised.value)
        assert not PYTHON_WORDS.search(str(raised.value))


@pytest.mark.parametrize("values", ["text", b"bytes", {"a": 1}])
def test_text_is_not_taken_as_a_list_of_its_characters(db: Store, values: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^listed\.texts: expected `list`, got `(str|bytes|dict)`$"):
        list(db(listed(values, "w")))


@pytest.mark.parametrize("shard", [-1, 4, True, None, [1]])
def test_number_that_is_no_shard_is_an_error(db: Store, shard: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^months\.shard: "):
        list(db(months(shard, [DAY])))


def test_membership_in_an_attribute_is_an_error_that_says_what_to_write() -> None:
    asks: list[Callable[[], Any]] = [lambda: "a" in F.tags, lambda: list(F.tags)]
    for ask in asks:
        with pytest.raises(DesignError) as raised:
            ask()
        assert str(raised.value) == "F.tags: it is an attribute, not a list; write F.name.contains(value)"


def test_empty_beginning_is_an_error_that_says_what_to_write(db: Store) -> None:
    said = r"^prefixed\.low: every value begins with an empty text; read without starts_with$"
    with pytest.raises(InvalidValue, match=said):
        list(db(prefixed("text", "")))


def test_results_that_have_not_been_read_are_neither_true_nor_false(db: Store) -> None:
    """An `if db(orders(...))` would always have been true."""
    for results in (db(words("t", "a", "b")), AsyncStore(db.backend, db.design)(words("t", "a", "b"))):
        with pytest.raises(ConfigurationError, match=r"neither true nor false.*one\(\) is None"):
            bool(results)

"""A range between any two values holds exactly the values between them, at the edges of every type too."""

import enum
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import DesignError, Entity, Index, InvalidValue, Items, Keys, Store, Table, pattern, query
from tests.store.declared import opened

LAST = "\U0010ffff"


class Size(enum.Enum):
    SMALL = "z"
    MEDIUM = "m\U0010ffff\U0010ffff"
    LARGE = "a"


Word = Literal["a", "a\U0010ffff\U0010ffffb", "b", "c\ue000"]
TEXTS = ["\0", "\0\0", "\1", " ", "#", "$", "$S", "a", "a\0", "a ", "a#", "a$", "aa", f"a{LAST}", f"a{LAST}{LAST}", "b"]
TEXTS += ["\ud7ff", "\ue000", "a\ud7ff", "a\ue000", LAST, LAST * 2, "0", "Z"]
LONGEST = [LAST * 256, LAST * 255 + "\uffff\x7f", *("a" * 1023 + each for each in "ab\x7f"), "a" * 1022 + "\u07ff"]
BYTES = [b"\0", b"\0\0", b"a", b"a\0", b"a\xff", b"a\xff\xff", b"b", b"\xff", b"\xff" * 1024, b"a" * 1024]
BYTES += [b"a" * 1023 + b"\xff", b"a" * 1022 + b"b"]
LEAST = Decimal("1E-130")
NUMBERS = [Decimal(0), LEAST, LEAST * 2, Decimal("1." + "0" * 36 + "1E-130"), Decimal("9." + "9" * 37 + "E+125")]
NUMBERS += [
    Decimal(1),
    Decimal("1." + "0" * 36 + "1"),
    Decimal("0." + "9" * 38),
    Decimal("9" * 38),
    Decimal("9.9E+125"),
]
NUMBERS += [each.copy_negate() for each in NUMBERS if each]
CENTS = [Decimal(each).scaleb(-2) for each in (-99999, -99998, -1, 0, 1, 99998, 99999)]
FIRST, FINAL = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
TIMES = [FIRST, FIRST + MICROSECOND, FIRST + SECOND, FINAL, FINAL - MICROSECOND, FINAL - SECOND]
TIMES += [datetime(2025, 1, 1, tzinfo=UTC) + MICROSECOND * n for n in (-1, 0, 1, 999_999, 1_000_000)]
DAYS = [date.min, date.min + timedelta(1), date(2025, 1, 1), date.max - timedelta(1), date.max]
UUIDS = [UUID(int=each) for each in (0, 1, 15, 16, 2**128 - 1, 2**128 - 2)]

# Each type with its values in the parts of keys that it can have; `None` is a sort key that is the attribute itself.
FORMS: list[tuple[Any, list[Any], list[str | None]]] = [
    (str, [*TEXTS, *LONGEST], [None]),
    (str, TEXTS, ["{value}", "X#{value}", "X{value}#{n:2}", "{value}#Z", f"{LAST}#{{value}}", "\ud7ff{value}"]),
    (Word, ["a", f"a{LAST}{LAST}b", "b", "c\ue000"], ["{value}", "X#{value}", "X#{value}#{n:2}"]),
    (bytes, BYTES, [None]),
    (Decimal, NUMBERS, [None]),
    (Decimal, CENTS, ["{value:+3.2}", "X#{value:+3.2,desc}#{n:2}"]),
    (int, [0, 1, 98, 99], ["{value:2}", "{value:2,desc}#{n:2}", None]),
    (datetime, TIMES, ["{value}", "X{value:desc}#{n:2}", None]),
    (date, DAYS, ["{value}", "X{value:desc}#{n:2}", None]),
    (UUID, UUIDS, ["{value}", "X#{value}#{n:2}"]),
    (Size, list(Size), ["{value:ranked}", "X#{value:ranked,desc}#{n:2}"]),
    (bool, [False, True], ["{value}", "{value:desc}#{n:2}"]),
]
CASES = [(kind, values, key) for kind, values, keys in FORMS for key in keys]
METHODS = [(low, high) for low in ("since", "after", "") for high in ("until", "before", "") if low or high]


class Stored(NamedTuple):
    db: Store
    reads: dict[tuple[str, str], Any]


@cache
def stored(at: int) -> Stored:
    """A store with one item of each value, and the patterns of its ranges."""
    kind, values, key = CASES[at]
    index = Index("ByValue", "group", "value")
    things = Table("things", "PK", "SK", indexes=(index,) if key is None else ())

    class Thing(Entity, table=things, key=("THINGS", "{id}" if key is None else key)):
        id: str
        value: kind  # type: ignore[valid-type]
        group: str = "g"
        n: int = 1
        if key is None:
            by_value = Keys("ByValue")

    things_read = Items[Thing]
    readable: Any = Thing.by_value.query("g") if key is None else query(Thing)

    def declared(low_method: str, high_method: str) -> Any:
        def both(low: Any, high: Any) -> Any:
            return getattr(getattr(readable, low_method)(low), high_method)(high)

        def one(bound: Any) -> Any:
            return getattr(readable, low_method or high_method)(bound)

        both.__annotations__ = {"low": kind, "high": kind, "return": things_read}
        one.__annotations__ = {"bound": kind, "return": things_read}
        return pattern(both if low_method and high_method else one)

    db = opened(things)
    for number, value in enumerate(values):
        db.create(Thing(id=str(number), value=value))
    return Stored(db, {methods: declared(*methods) for methods in METHODS})


def rank(value: Any) -> Any:
    return list(Size).index(value) if isinstance(value, Size) else getattr(value, "int", value)


def is_inside(methods: tuple[str, str], value: Any, low: Any, high: Any) -> bool:
    above: bool = {"since": low <= value, "after": low < value, "": True}[methods[0]]
    below: bool = {"until": value <= high, "before": value < high, "": True}[methods[1]]
    return above and below


@pytest.mark.parametrize("at", range(len(CASES)), ids=[f"{kind}-{key}" for kind, _, key in CASES])
@given(data=st.data())
def test_a_range_holds_exactly_the_values_between_its_ends(at: int, data: st.DataObject) -> None:
    values = CASES[at][1]
    ends = (data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values)))
    low, high = map(rank, ends)
    for methods, reads in stored(at).reads.items():
        wanted = sorted(rank(each) for each in values if is_inside(methods, rank(each), low, high))
        is_strict = "after" in methods or "before" in methods
        given_ends = [end for end, method in zip(ends, methods, strict=True) if method]
        if len(given_ends) == 2 and (low > high or (low == high and is_strict)):
            with pytest.raises(InvalidValue, match=r"low: it must (not )?be (before|after) high"):
                list(stored(at).db(reads(*given_ends)))
        else:
            found = sorted(rank(each.value) for each in stored(at).db(reads(*given_ends)))
            assert found == wanted, (methods, ends)


def test_constant_bounds_that_enclose_nothing_are_refused() -> None:
    things = Table("things", "PK", "SK")

    class Thing(Entity, table=things, key=("THINGS", "{n:2}")):
        n: int

    for bounds, wrong in (
        (query(Thing).after(5).before(5), "nothing is in a range from 5 to 5"),
        (query(Thing).since(5).before(5), "nothing is in a range from 5 to 5"),
        (query(Thing).since(6).until(5), "begins at 6 and ends before it, at 5"),
    ):
        with pytest.raises(DesignError, match=wrong):
            list(opened(things)(bounds))

"""Keys: every form can be read back, two values never share a text, and text order is value order."""

import enum
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.design.key_parts import DescendingPart, KeyPart, NumberPart, RankedEnumPart, ShardPart, TextPart, TimePart
from partita.design.key_templates import Ordered, PartType, Template, plain_pattern, template
from partita.errors import DesignError


class Level(str, enum.Enum):
    HIGH = "high"
    MIDDLE = "mid#dle"
    LOW = "low"


TYPES = {
    "name": PartType(str),
    "other": PartType(str),
    "count": PartType(int),
    "bounded": PartType(int, Ordered(-999, 999)),
    "positive": PartType(int, Ordered(0, 50)),
    "price": PartType(Decimal, Ordered(Decimal("-999.99"), Decimal("999.99"), places=2)),
    "amount": PartType(Decimal),
    "at": PartType(datetime),
    "day": PartType(date),
    "level": PartType(Level),
    "flag": PartType(bool),
    "ratio": PartType(float),
    "blob": PartType(bytes),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(lambda text: normalize("NFC", text))
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
numbers = st.integers(-999, 999)
prices = st.integers(-99999, 99999).map(lambda cents: Decimal(cents).scaleb(-2))

FORMS: dict[str, tuple[KeyPart, st.SearchStrategy[Any]]] = {
    "text at the end": (TextPart(), texts),
    "text in the middle": (TextPart(full=True), texts),
    "signed integers": (NumberPart(3, signed=True), numbers),
    "signed decimals": (NumberPart(3, 2, True, Decimal), prices),
    "times": (TimePart(), times),
    "ranked": (RankedEnumPart(Level), st.sampled_from(Level)),
}


def key(source: str, *, sorts: bool = True) -> Template:
    return template("Thing.SK", source, TYPES, sorts=sorts)


@pytest.mark.parametrize("name", FORMS)
def test_written_value_is_read_back(name: str) -> None:
    form, values = FORMS[name]

    @given(values)
    def law(value: Any) -> None:
        assert form.read(form.write(value)) == value
        assert "#" not in form.write(value)

    law()


def rank(value: Any) -> Any:
    return list(Level).index(value) if isinstance(value, Level) else value


@pytest.mark.parametrize("name", FORMS)
def test_text_order_is_value_order(name: str) -> None:
    form, values = FORMS[name]

    @given(values, values)
    def law(one: Any, other: Any) -> None:
        assert (form.write(one) < form.write(other)) == (rank(one) < rank(other))

    law()


@given(texts, texts, texts, texts)
def test_a_longer_key_sorts_by_its_first_part_first(one: str, two: str, other: str, another: str) -> None:
    made = key("{name}#{other}")
    mine = made.format("", {"name": one, "other": two}) or ""
    theirs = made.format("", {"name": other, "other": another}) or ""
    assert (mine < theirs) == ((one, two) < (other, another))


@given(texts, texts)
def test_two_values_never_share_a_key(one: str, other: str) -> None:
    made = key("A#{name}#{other}", sorts=False)
    keys = {made.format("", {"name": one, "other": other}), made.format("", {"name": other, "other": one})}
    assert len(keys) == (1 if one == other else 2)


@pytest.mark.parametrize(
    ("form", "values"),
    [(NumberPart(3, signed=True), numbers), (TimePart(), times), (NumberPart(3, 2, True, Decimal), prices)],
)
def test_descending_text_falls_as_values_rise(form: KeyPart, values: st.SearchStrategy[Any]) -> None:
    falling = DescendingPart(form)

    @given(values, values)
    def law(one: Any, other: Any) -> None:
        assert (falling.write(one) > falling.write(other)) == (one < other)
        assert falling.read(falling.write(one)) == one

    law()


@given(st.data())
def test_language_of_a_number_is_its_texts_and_no_other(data: st.DataObject) -> None:
    digits, places, signed = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 1)), data.draw(st.booleans())
    most = 10 ** (digits + places) - 1
    ends = data.draw(st.lists(st.integers(-most if signed else 0, most), min_size=2, max_size=2).map(sorted))
    low, high = (Decimal(end).scaleb(-places) for end in ends) if data.draw(st.booleans()) else (None, None)
    form = NumberPart(digits, places, signed, Decimal, low, high)
    numerals = ["".join(each) for each in product("0123456789", repeat=digits + places)]
    every = [sign + each for sign in (("p", "n") if signed else ("",)) for each in numerals]
    assert [each for each in every if each in form.language] == [each for each in every if form.matches(each)]
    falling = DescendingPart(form)
    assert [each for each in every if each in falling.language] == [each for each in every if falling.matches(each)]


def test_bounds_without_a_number_are_rejected() -> None:
    with pytest.raises(DesignError, match=r"Ordered\(5, 1\): no number is in these bounds; write the smaller one"):
        Ordered(5, 1)


@given(texts, times, numbers, st.sampled_from(Level), prices)
def test_key_parses_to_its_parts(name: str, at: datetime, bounded: int, level: Level, price: Decimal) -> None:
    made = key("X#{name}#{at:desc}#{bounded}#{level:ranked}#v{price:desc}")
    parts = {"name": name, "at": at, "bounded": bounded, "level": level, "price": price}
    assert made.parse(made.format("", parts) or "") == parts


segments = st.sampled_from(["A", "v1.0", "{name}", "u-{name}", "{other}", "({other}", "{name:fold}", "{bounded}"])
sources = st.lists(segments, min_size=1, max_size=4).map("#".join)
characters_of_keys = st.text(st.sampled_from("aAv1.0u-(#$ \0p"), min_size=1, max_size=12)


@st.composite
def key_texts(draw: st.DrawFn) -> tuple[list[Template], list[str]]:
    """A key of one or two attributes, and texts that may be its texts."""
    templates = [key(each) for each in draw(st.lists(sources, min_size=1, max_size=2))]
    ids = st.text(st.sampled_from("aAu1"), min_size=1, max_size=2) | characters_of_keys
    row = {"name": draw(ids), "other": draw(ids), "bounded": 7}
    found = [each.format("", row) or "" for each in templates]
    return templates, [draw(characters_of_keys) if draw(st.integers(0, 5)) == 0 else each for each in found]


@given(key_texts())
def test_plain_key_has_the_values_that_parsing_it_finds(example: tuple[list[Template], list[str]]) -> None:
    templates, found = example
    pattern = plain_pattern(templates)
    forms = [part.form for each in templates for part in each.parts]
    assert (pattern is not None) == all(isinstance(form, TextPart) and form.lossless for form in forms)
    plain = None if pattern is None else pattern.fullmatch("\0".join(found))
    parsed = [each.parse(text) for each, text in zip(templates, found, strict=True)]
    pairs = [pair for each in parsed for pair in (each or {}).items()]
    is_key = None not in parsed and all(dict(pairs)[name] == value for name, value in pairs)
    if plain is not None:
        assert is_key
        assert plain.groupdict() == dict(pairs)
    elif pattern is not None and is_key:
        assert not all(value.isascii() and value.isalnum() for _, value in pairs)


def test_constant_with_a_zero_makes_no_pattern() -> None:
    """The texts `a#` and `X` + zero + `b` would be taken for `a#` + zero + `X` and `b`."""
    assert plain_pattern([key("{other}#X"), key("{name}")]) is not None
    assert plain_pattern([key("{other}#\0X"), key("{name}")]) is None


@pytest.mark.parametrize(
    ("source", "values", "text"),
    [
        ("USER#{name}", {"name": "a#b$c d"}, "USER#a$Sb$Tc d"),
        ("{name}#X", {"name": "a b"}, "a$Pb#X"),
        ("{bounded}", {"bounded": -12}, "n987"),
        ("{bounded}", {"bounded": 12}, "p012"),
        ("{positive}", {"positive": 7}, "07"),
        ("SCORE#{count:+10}", {"count": 42}, "SCORE#p0000000042"),
        ("SCORE#{count:+010d}", {"count": -1}, "SCORE#n9999999998"),
        ("{count:4}", {"count": 7}, "0007"),
        ("{amount:+8.2}", {"amount": Decimal("1.5")}, "p0000000150"),
        ("{at}", {"at": datetime(2025, 1, 2, 3, 4, 5, 6, UTC)}, "2025-01-02T03:04:05.000006Z"),
        ("DATE#{at:day}", {"at": datetime(2025, 1, 2, 3, tzinfo=UTC)}, "DATE#2025-01-02"),
        ("{at:month}", {"at": datetime(2025, 1, 2, 3, tzinfo=UTC)}, "2025-01"),
        ("{at:year}", {"at": datetime(2025, 1, 2, 3, tzinfo=UTC)}, "2025"),
        ("HOUR#{at:hour}", {"at": datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)}, "HOUR#2025-01-02T03"),
        ("{at:hour,desc}", {"at": datetime(2025, 1, 2, 3, tzinfo=UTC)}, "7974-98-97T96"),
        (
            "{at:minute}",
            {"at": datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=-1)))},
            "2025-01-02T04:04",
        ),
        ("{day:year}", {"day": date(2025, 1, 2)}, "2025"),
        ("{day}", {"day": date(2025, 1, 2)}, "2025-01-02"),
        ("{level}", {"level": Level.MIDDLE}, "mid$Sdle"),
        ("{level:ranked}", {"level": Level.LOW}, "2-low"),
        ("{level:ranked,desc}", {"level": Level.LOW}, "0-low"),
        ("{name:fold}", {"name": "STRASSE"}, "strasse"),
        ("{flag}", {"flag": True}, "1"),
        ("CONSTANT", {}, "CONSTANT"),
    ],
)
def test_forms_as_they_are_on_disk(source: str, values: dict[str, Any], text: str) -> None:
    assert key(source).format("Thing", values) == text


def test_key_with_an_absent_part_is_absent() -> None:
    assert key("A#{name}").format("Thing", {"name": None}) is None


def test_a_shard_is_stable_and_within_its_count() -> None:
    assert {ShardPart(8).write(f"c_{number}") for number in range(100)} == {str(shard) for shard in range(8)}
    assert ShardPart(8).write("c_1") == ShardPart(8).write("c_1")


@pytest.mark.parametrize("text", ["B#x", "A#x#y", "A", "A#", "A#p12"])
def test_a_key_of_another_form_is_not_parsed(text: str) -> None:
    assert key("A#{bounded}").parse(text) is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "A#{count}",
            ("Thing.SK: 'count' is a number in a text key; "
            "write {count:+10} for ten digits with a sign, or Annotated[int, Ordered(-999, 999)], "
            "or {count:plain} where the order does not matter"),
        ),
        (
            "A#{amount}",
            ("Thing.SK: 'amount' is a number in a text key; "
            "write {amount:+8.2} for eight digits with a sign and two places"),
        ),
        (
            "A#{nobody}",
            f"Thing.SK: 'A#{{nobody}}' names the unknown attribute 'nobody'; the attributes are {', '.join(TYPES)}",
        ),
        ("{name}{other}", (
            "Thing.SK: '{name}{other}' in '{name}{other}' is not a constant, a part, or a constant and a "
            "part; separate parts by '#': {one}#{two}"
        )),
        ("A$#{name}", "Thing.SK: 'A$' contains '$', the escape character of values in keys; use another character"),
        ("{name:desc}", (
            "Thing.SK: 'name' has no fixed width, so it cannot be descending; use newest_first() in the "
            "query, or rank an enum with :ranked"
        )),
        ("{name:ranked}", (
            "Thing.SK: {name:ranked} is not a form of str; write {name} or {name:fold} or {name:shard(8)}"
        )),
        ("{day:hour}", (
            "Thing.SK: {day:hour} is not a form of date; write {day} or {day:year} or {day:month} or {day:day} or "
            "{day:shard(8)}"
        )),
        ("{at:week}", (
            "Thing.SK: {at:week} is not a form of datetime; write {at} or {at:year} or {at:month} or {at:day} or "
            "{at:hour} or {at:minute} or {at:shard(8)}"
        )),
        ("{at:day,month}", "Thing.SK: {at:day,month} names several forms; keep one of them, perhaps with ',desc'"),
        ("{blob}", (
            "Thing.SK: 'blob' is bytes, which cannot be part of a text key; use text, an int, a Decimal, a time, a "
            "date, an enum or a bool"
        )),
        ("{ratio}", (
            "Thing.SK: 'ratio' is float, which cannot be part of a text key; use text, an int, a Decimal, a time, "
            "a date, an enum or a bool"
        )),
    ],
)  # fmt: skip
def test_invalid_template_is_rejected_with_a_suggestion(source: str, said: str) -> None:
    with pytest.raises(DesignError) as refusal:
        key(source)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("form", "value", "said"),
    [
        (NumberPart(3), 1000, "1000 does not fit {:3} in the key"),
        (NumberPart(3), -1, "-1 does not fit {:3} in the key"),
        (NumberPart(3, 2, True, Decimal), Decimal("1.001"), "1.001 does not fit {:+3.2} in the key"),
        (TextPart(), "", "empty text cannot be part of a key"),
        (RankedEnumPart(Level), "top", "'top' is not a valid Level"),
    ],
)
def test_value_that_does_not_fit_is_rejected(form: KeyPart, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        form.write(value)


def test_all_signed_numbers_of_two_digits_sort_by_value() -> None:
    made: Callable[[int], str] = NumberPart(2, signed=True).write
    assert sorted(range(-99, 100), key=made) == list(range(-99, 100))

"""Separators other than `#`: keys stay distinct, ranges exact, and an order that they cannot keep is rejected."""

import enum
import string
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partita import (
    DesignError,
    Entity,
    Index,
    InKey,
    Items,
    Keys,
    OpenEnum,
    ProofError,
    Table,
    Unique,
    collection,
    pattern,
    prove,
    query,
)
from partita.describe.explain import explain_read
from partita.design.key_parts import TextPart
from partita.design.models import Model, model_of
from partita.design.reads import EntityKey, Read, SortRange
from partita.design.separators import Separator, separator_of
from partita.plan import prove_read
from partita.plan.effects import guard_key
from partita.plan.item_compiler import compiled_item
from partita.plan.items import item_of, key_of
from partita.plan.range_conditions import key_conditions
from partita.plan.stored_keys import meeting, table_keys

pytestmark = pytest.mark.slow


SEPARATORS = [each for each in string.punctuation if each not in "{}\\"]
KEEPING = [each for each in SEPARATORS if each < "/"]


class Size(str, enum.Enum):
    BIG = "b-i.g"
    SMALL = "s"


class Mood(OpenEnum):
    GOOD = "good"


def table(separator: str, *indexes: Index) -> Table:
    return Table("things", pk="PK", sk="SK", separator=separator, indexes=indexes)


# texts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("separator", "value", "text"),
    [
        ("#", "a#b$c", "a$Sb$Tc"),
        ("|", "a|b}c", "a}Sb}Tc"),
        ("/", "v1.0/x", "v1.S0.Tx"),
        ("_", "user_1", "user`S1"),
        (":", "a:b;c", "a;Sb;Tc"),
        ("@", "a@b?", "a?Tb?S"),
        ("~", "~}", "}T}S"),
        ("-", "a-b.c", "a.]b.^c"),
    ],
)
def test_separator_in_a_value_is_escaped(separator: str, value: str, text: str) -> None:
    part = TextPart(separator=separator_of("T", separator))
    assert part.write(value) == text
    assert part.read(text) == value
    assert text in part.language


@given(st.sampled_from(SEPARATORS), st.text(min_size=1), st.text(min_size=1), st.booleans())
def test_escaped_texts_are_distinct_and_sort_as_the_values_do(separator: str, one: str, other: str, full: bool) -> None:
    part = TextPart(full, separator=separator_of("T", separator))
    a, b = part.write(one), part.write(other)
    assert separator not in a
    assert a in part.language
    assert part.matches(a)
    assert (a < b) == (part.read(a) < part.read(b))
    if separator in KEEPING and full:
        assert (a + separator < b + separator) == (part.read(a) < part.read(b))


@given(st.sampled_from(SEPARATORS), st.text(string.punctuation + "aS0 ", min_size=1, max_size=4))
def test_language_has_no_text_that_cannot_be_written(separator: str, text: str) -> None:
    part = TextPart(separator=separator_of("T", separator))
    assert (text in part.language) == part.matches(text)


# declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["", "##", "a", "0", " ", "{", "é", 7])
def test_character_that_cannot_separate_is_rejected(separator: Any) -> None:
    with pytest.raises(DesignError, match="cannot separate the segments of a key; use one of !"):
        table(separator)


def time_with_colons() -> None:
    class Thing(Entity, table=table(":"), key=("T", "{at}")):
        at: datetime


def dashes_in_a_uuid() -> None:
    class Thing(Entity, table=table("-"), key=("T", "{id}")):
        id: UUID


def escaped_text() -> None:
    class Thing(Entity, table=table("|"), key=("T", "{a:escaped}|{b}")):
        a: str
        b: str


def escape_character() -> None:
    class Thing(Entity, table=table("/"), key=("v1.0/{a}", "T")):
        a: str


def parts_without_a_separator() -> None:
    class Thing(Entity, table=table("|"), key=("{a}#{b}", "T")):
        a: str
        b: str


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            time_with_colons,
            (
                "Thing.SK: 'at' is written with ':', the separator: '1111-11-11T11:11:11.111111Z'; "
                "use another separator, such as '#'"
            ),
        ),
        (
            dashes_in_a_uuid,
            (
                "Thing.SK: 'id' is written with '-', the separator: '11111111-1111-1111-1111-111111111111'; "
                "use another separator, such as '#'"
            ),
        ),
        (
            escaped_text,
            (
                "Thing.SK: {a:escaped} cannot keep the order of text in front of '|'; "
                "leave ':escaped' out, or use a separator below the digits, such as '#'"
            ),
        ),
        (
            escape_character,
            "Thing.PK: 'v1.0' contains '.', the escape character of values in keys; use another character",
        ),
        (
            parts_without_a_separator,
            (
                "Thing.PK: '{a}#{b}' in '{a}#{b}' is not a constant, a part, or a constant and a part; "
                "separate parts by '|': {one}|{two}"
            ),
        ),
    ],
)
def test_template_that_the_separator_does_not_suit_is_rejected(declare: Callable[[], None], message: str) -> None:
    with pytest.raises(DesignError) as refusal:
        declare()
    assert str(refusal.value) == message


def test_separator_inside_braces_does_not_divide() -> None:
    class Thing(Entity, table=table("_"), key=("T_{thing_id}", "{created_at:+4,desc}_{member_of?}")):
        thing_id: str
        created_at: Annotated[int, InKey()]
        member_of: Annotated[str | None, InKey()] = None

    values = {"thing_id": "a_b", "created_at": 7, "member_of": None}
    assert key_of(model_of(Thing), values) == {"PK": {"S": "T_a`Sb"}, "SK": {"S": "n9992"}}
    assert key_of(model_of(Thing), values | {"member_of": "x"})["SK"] == {"S": "n9992_x"}


# ranges and orders ----------------------------------------------------------------------------------------------


def declare_users(separator: str) -> Any:
    class User(
        Entity,
        table=table(separator, Index("GSI1", "GSI1PK", "GSI1SK")),
        key=("ORG%{org}".replace("%", separator), "USER%{name}%{number:3}".replace("%", separator)),
    ):
        org: str
        name: str
        number: int
        by_number = Keys("GSI1", "ORG", "{number:3}%{name}".replace("%", separator))

    return User


def test_order_of_text_in_front_of_a_high_separator_is_rejected() -> None:
    users = declare_users("|")
    message = (
        "User: 'name' loses its order, since the key goes on after it and 'aa' sorts before 'a|'; "
        "put it last, or use a separator below the digits, such as '#'"
    )
    whole = query(users, "o")
    for refused in (whole.smallest_first("name"), whole.since("a"), whole.until("a")):
        with pytest.raises(ProofError) as refusal:
            prove_read(refused.read)
        assert str(refusal.value) == message


@pytest.mark.parametrize("separator", KEEPING)
def test_order_of_text_in_front_of_a_low_separator_is_proven(separator: str) -> None:
    users = declare_users(separator)
    prove_read(query(users, "o").smallest_first("name").read)
    prove_read(query(users, "o").between("a", "b").read)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_other_orders_are_proven_with_every_separator(separator: str) -> None:
    users = declare_users(separator)
    prove_read(query(users, "o", "ann").largest_first("number").read)
    prove_read(users.by_number.query().smallest_first("number").read)
    prove_read(users.by_number.query(7).smallest_first("name").read)


def test_explanation_shows_the_separator() -> None:
    class Note(Entity, table=table("|"), key=("USER|{user}", "NOTE|{at}|{note}")):
        user: str
        at: datetime
        note: str

    @pattern
    def notes(user: str) -> Items[Note]: ...

    assert "PK = USER|<user> and SK begins with NOTE|" in explain_read(notes.read)


def test_parent_and_children_are_two_ranges_in_front_of_a_high_separator() -> None:
    t = table("|")

    class Order(Entity, table=t, key=("C|{customer}", "ORDER|{order}")):
        customer: str
        order: str

    class Line(Entity, table=t, key=("C|{customer}", "ORDER|{order}|LINE|{line:2}")):
        customer: str
        order: str
        line: int

    proof = prove_read(collection(Order, Line)("c", "o").read)
    assert proof.requests == 2
    assert any("the parent by one Query and its children by another" in each for each in proof.sentences)


def test_guards_are_apart_from_the_keys_of_other_separators() -> None:
    t = table("|")

    class User(Entity, table=t, key=("UNIQUE|{name}", "UNIQUE")):
        name: str
        email: Annotated[str, Unique()]

    prove("users", t)
    unique = model_of(User).uniques[0]
    assert guard_key(model_of(User), unique, {"email": "a#b|c"})["PK"] == {"S": "UNIQUE#User#email#a$Sb|c"}


# the same, tried ------------------------------------------------------------------------------------------------

PIECES = ["A", "B", "{a}", "{b}", "{n:2}", "{n:+2}", "{size}", "v{a}", "{mood}", "{kind}", "{m?:2}", "{flag}"]
separators = st.sampled_from([each for each in SEPARATORS if each not in "-."])
templates = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).filter(lambda each: "{m?:2}" not in each[:-1])
words = st.text("AB#|$}/.!: v1{~", min_size=1, max_size=3)
rows = st.fixed_dictionaries(
    {
        "a": words,
        "b": words,
        "n": st.integers(0, 12),
        "m": st.none() | st.integers(0, 12),
        "size": st.sampled_from(Size),
        "mood": words.map(Mood),
        "kind": st.sampled_from(["x", "x|y", "x#", "x/"]),
        "flag": st.booleans(),
    }
)


def declared(separator: str, sort: list[str]) -> Model:
    assume(sort != ["{m?:2}"])
    t = Table("things", pk="PK", sk="SK", separator=separator)

    class Thing(Entity, table=t, key=("P", separator.join(sort))):
        a: str
        b: str
        n: int
        m: int | None = None
        size: Size
        mood: Mood
        kind: Literal["x", "x|y", "x#", "x/"]
        flag: bool

    return model_of(Thing)


def holds(read: Read, text: str) -> bool:
    return all(_holds(each.operator, each.values, text) for each in _conditions(read) if each.attribute.name == "SK")


def _conditions(read: Read) -> Any:
    return key_conditions(prove_read(read).range, lambda value: value)


def _holds(operator: str, values: tuple[str, ...], text: str) -> bool:
    low = values[0]
    if operator == "begins_with":
        return text.startswith(low)
    if operator == "between":
        return low.encode() <= text.encode() <= values[1].encode()
    return {"=": text == low, ">=": text.encode() >= low.encode(), "<=": text.encode() <= low.encode()}[operator]


@given(separators, templates, rows)
def test_key_is_parsed_into_the_values_that_it_was_made_of(separator: str, sort: list[str], row: Any) -> None:
    model = declared(separator, sort)
    template = model.key.sort[0].template
    assert template is not None
    text = key_of(model, row)["SK"]["S"]
    assert text in template.language
    assert template.parse(text) == {part.field: row[str(part.field)] for part in template.parts}
    assert compiled_item(model, row) == item_of(model, row)


@given(separators, templates, templates, rows, rows)
def test_equal_keys_were_said_to_meet(separator: str, one: list[str], other: list[str], mine: Any, theirs: Any) -> None:
    a, b = declared(separator, one), declared(separator, other)
    if key_of(a, mine) == key_of(b, theirs):
        assert meeting(table_keys(a)[0].domains, table_keys(b)[0].domains) is not None


@given(separators, templates, rows, rows)
def test_range_holds_exactly_the_items_with_the_given_parts(
    separator: str, sort: list[str], one: Any, other: Any
) -> None:
    model = declared(separator, sort)
    template = model.key.sort[0].template
    assert template is not None
    fields = [str(part.field) for part in template.parts]
    assume(len(set(fields)) == len(fields))
    for count in range(len(fields) + 1):
        read = Read((EntityKey(model, model.key),), tuple(one[field] for field in fields[:count]))
        if prove_read(read).requests == 1:  # with two ranges there are two conditions
            alike = all(one[field] == other[field] for field in fields[:count])
            assert holds(read, key_of(model, other)["SK"]["S"]) == alike


@given(separators, st.sampled_from([["{a}"], ["A", "{b}"], ["{n:2}", "{a}"], ["{a}", "{n:2}"]]), rows, rows, rows)
def test_bounds_hold_exactly_the_values_between_them_or_are_rejected(
    separator: str, sort: list[str], row: Any, low: Any, high: Any
) -> None:
    model = declared(separator, sort)
    field = model.key.sort[0].fields[0]
    bottom, top = sorted((low[field], high[field]))
    for bounds in (SortRange(bottom, top), SortRange(bottom), SortRange(None, top)):
        read = Read((EntityKey(model, model.key),), (), bounds=bounds)
        try:
            found = holds(read, key_of(model, row)["SK"]["S"])
        except ProofError:
            assert separator not in KEEPING
            assert sort[0] == "{a}"
            assert len(sort) > 1
            continue
        value = row[field]
        assert found == ((bounds.low is None or bounds.low <= value) and (bounds.high is None or value <= bounds.high))


def test_separators_have_a_neighbour_to_escape_with() -> None:
    for each in SEPARATORS:
        separator = Separator(each)
        assert separator.escape in string.punctuation
        assert abs(ord(separator.escape) - ord(each)) == 1
        assert separator.keeps_order == (each in KEEPING)

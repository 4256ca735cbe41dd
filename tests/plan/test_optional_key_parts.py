"""A key that may end before its last part: `TEAM#{team}#{member?}`."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import (
    CountOf,
    DesignError,
    Entity,
    Index,
    InKey,
    InvalidValue,
    Item,
    Items,
    Keys,
    Owns,
    ProofError,
    Table,
    collection,
    get,
    pattern,
    prove,
    query,
)
from partita.describe.explain import explain, explain_read
from partita.design.models import Model, model_of
from partita.design.reads import EntityKey, Read, SortRange
from partita.plan import prove_read
from partita.plan.item_compiler import compiled_item
from partita.plan.items import item_of, key_of, old_keys
from partita.plan.range_conditions import key_conditions
from partita.plan.read_requests import get_key, plan_of
from partita.plan.stored_keys import meeting, table_keys

pytestmark = pytest.mark.slow


def table(*indexes: Index) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=indexes)


class Seat(
    Entity,
    table=table(Index("GSI1", "GSI1PK", "GSI1SK")),
    key=("ORG#{org}", "TEAM#{team}#{member?}"),
):
    org: str
    team: str
    member: Annotated[str | None, InKey()] = None
    floor: int | None = None

    by_team = Keys("GSI1", "TEAM#{team}", "{org}#F{floor?:3}")


def sort_key(**values: Any) -> str:
    return str(key_of(model_of(Seat), {"org": "acme", "team": "red", "member": None, **values})["SK"]["S"])


# the text of a key ----------------------------------------------------------------------------------------------


def test_key_ends_before_a_part_that_is_none() -> None:
    assert sort_key() == "TEAM#red"
    assert sort_key(member="ann") == "TEAM#red#ann"


def test_index_key_ends_before_a_part_that_is_none_as_well() -> None:
    values = {"org": "acme", "team": "red", "member": "ann", "floor": None}
    item = item_of(model_of(Seat), values)
    assert (item["GSI1PK"], item["GSI1SK"]) == ({"S": "TEAM#red"}, {"S": "acme"})
    assert item_of(model_of(Seat), values | {"floor": 7})["GSI1SK"] == {"S": "acme#F007"}


@given(st.text("a#$ !é", min_size=1, max_size=4), st.none() | st.text("a#$ !é", min_size=1, max_size=4), st.booleans())
def test_no_value_has_the_key_of_none(team: str, member: str | None, has_floor: bool) -> None:
    model = model_of(Seat)
    values = {"org": "o", "team": team, "member": member, "floor": 1 if has_floor else None}
    item = item_of(model, values)
    assert compiled_item(model, values) == item
    template = model.key.sort[0].template
    assert template is not None
    assert template.parse(item["SK"]["S"]) == {"team": item["team"]["S"], "member": member}
    assert item["SK"]["S"] in template.language
    assert (item["SK"]["S"] == sort_key(team=team)) == (member is None)


def test_key_of_none_is_none_of_a_foreign_form_s_keys() -> None:
    template = model_of(Seat).key.sort[0].template
    assert template is not None
    assert template.parse("TEAM#red", foreign=True) == {"team": "red", "member": None}
    assert template.parse("TEAM#red#", foreign=True) is None
    assert template.parse("TEAM") is None


def test_get_takes_none_and_writes_the_shorter_key() -> None:
    @pattern
    def seat(org: str, team: str, member: str | None) -> Item[Seat]: ...

    plan = plan_of(seat.read)
    assert get_key(plan, ("acme", "red", None)) == {"PK": {"S": "ORG#acme"}, "SK": {"S": "TEAM#red"}}
    assert get_key(plan, ("acme", "red", "ann"))["SK"] == {"S": "TEAM#red#ann"}
    assert get_key(plan_of(get(Seat, "acme", "red", None).read), ())["SK"] == {"S": "TEAM#red"}
    with pytest.raises(InvalidValue) as refusal:
        get_key(plan, ("acme", None, None))
    assert refusal.value.argument == "team"


def test_parameter_with_a_default_may_be_left_out() -> None:
    @pattern
    def seat(org: str, team: str, member: str | None = None) -> Item[Seat]: ...

    call: Any = seat("acme", "red")
    assert get_key(plan_of(call.read), call.arguments)["SK"] == {"S": "TEAM#red"}


def test_other_time_formats_of_a_key_leave_out_an_absent_time() -> None:
    class Visit(Entity, table=table(), key=("P#{page}", "VISIT#{at}#{until?}")):
        page: str
        at: datetime
        until: datetime | None = None

    at = datetime(2025, 1, 1, tzinfo=UTC)
    texts = [each["SK"]["S"] for each in old_keys(model_of(Visit), {"page": "p", "at": at, "until": None})]
    assert texts[0] == "VISIT#2025-01-01T00:00:00Z"
    texts = [each["SK"]["S"] for each in old_keys(model_of(Visit), {"page": "p", "at": at, "until": at})]
    assert texts[0] == "VISIT#2025-01-01T00:00:00Z#2025-01-01T00:00:00Z"


# declarations ---------------------------------------------------------------------------------------------------


def behind_the_form() -> None:
    class Thing(Entity, table=table(), key=("ORG#{org}", "THING#{a:4?}")):
        org: str
        a: int | None = None


def in_the_middle() -> None:
    class Thing(Entity, table=table(), key=("P", "{a?}#{b}")):
        a: str | None = None
        b: str


def in_the_partition() -> None:
    class Thing(Entity, table=table(), key=("P#{a?}", "{b}")):
        a: str | None = None
        b: str


def alone() -> None:
    class Thing(Entity, table=table(), key=("P", "{a?}")):
        a: str | None = None


def never_none() -> None:
    class Thing(Entity, table=table(), key=("P", "T#{a?:fold}")):
        a: str


def ambiguous_reference() -> None:
    t = table()

    class Team(Entity, table=t, key=("ORG#{org}", "TEAM#{team?}")):
        org: str
        team: str | None = None
        members: Annotated[int, CountOf(lambda: Member)] = 0

    class Member(Entity, table=t, key=("MEMBER#{member}", "MEMBER")):
        member: str
        org: str
        team: str | None = None

    prove("test", t)


def owner_without_the_part() -> None:
    t = table()

    class Team(Entity, table=t, key=("ORG#{org}", "TEAM#{team?}")):
        org: str
        team: str | None = None
        notes = Owns(lambda: Note)

    class Note(Entity, table=t, key=("NOTES#{org}", "{team}#{at}")):
        org: str
        team: str
        at: datetime

    prove("test", t)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (in_the_middle, "Thing.SK: '{a?}' is optional, but a key can only end before its last part; write {a}"),
        (in_the_partition, "Thing.PK: '{a?}' is optional, but a key can only end before its last part; write {a}"),
        (behind_the_form, "Thing.SK: in {a:4?} the ? is behind the form; write {a?:4}"),
        (
            alone,
            (
                "Thing.SK: without 'a' the key would be empty, which DynamoDB rejects; "
                "write a constant in front of it: ITEM#{a?}"
            ),
        ),
        (never_none, "Thing.SK: '{a?:fold}' is optional, but 'a' is never None; write {a:fold}, or a: str | None"),
        (
            ambiguous_reference,
            (
                "Team.members: 'team' may be missing in the key of Team, so None in Member.team is ambiguous; "
                "remove `| None` from Member.team, or write {team} without `?`"
            ),
        ),
        (
            owner_without_the_part,
            (
                "Team: it owns Note, whose key needs 'team', which may be None in the key of Team; "
                "delete Note in a service, or make 'team' a part that is always there: {team}"
            ),
        ),
    ],
)
def test_optional_part_that_cannot_work_is_rejected(declare: Callable[[], None], message: str) -> None:
    with pytest.raises(DesignError) as refusal:
        declare()
    assert str(refusal.value) == message


def test_entity_at_the_shorter_key_is_rejected() -> None:
    t = table()

    class Team(Entity, table=t, key=("ORG#{org}", "TEAM#{team}")):
        org: str
        team: str

    class Member(Entity, table=t, key=("ORG#{org}", "TEAM#{team}#{member?}")):
        org: str
        team: str
        member: str | None = None

    with pytest.raises(DesignError, match=r"can have the same key: PK 'ORG#a', SK 'TEAM#a'"):
        prove("test", t)


# ranges ---------------------------------------------------------------------------------------------------------


def conditions(read: Read) -> list[tuple[str, tuple[Any, ...]]]:
    return [(each.operator, each.values) for each in key_conditions(prove_read(read).range, lambda value: value)][1:]


def test_query_without_the_part_reads_keys_with_and_without_it() -> None:
    assert conditions(query(Seat, "acme", "red").read) == [("between", ("TEAM#red", "TEAM#red$"))]
    assert conditions(query(Seat, "acme").read) == [("begins_with", ("TEAM#",))]


def test_query_with_none_reads_the_shorter_key_alone() -> None:
    assert conditions(query(Seat, "acme", "red", None).read) == [("=", ("TEAM#red",))]


def test_range_of_the_part_leaves_out_keys_without_it() -> None:
    assert conditions(query(Seat, "acme", "red").since("b").read) == [("between", ("TEAM#red#b", "TEAM#red$"))]
    assert conditions(query(Seat, "acme", "red").until("b").read) == [("between", ("TEAM#red#", "TEAM#red#b"))]


def test_part_behind_one_constant_may_be_absent() -> None:
    class Setting(Entity, table=table(), key=("ORG#{org}", "SETTING#{name?}")):
        org: str
        name: str | None = None

    assert conditions(query(Setting, "acme").read) == [("between", ("SETTING", "SETTING$"))]


def test_entity_between_the_shorter_key_and_the_others_is_found() -> None:
    t = table()

    class Setting(Entity, table=t, key=("ORG#{org}", "SETTING#{name?}")):
        org: str
        name: str | None = None

    class Other(Entity, table=t, key=("ORG#{org}", "SETTING!{name}")):
        org: str
        name: str

    with pytest.raises(ProofError, match="can lie in the range"):
        prove_read(query(Setting, "acme").read)


def test_collection_reads_both_kinds_of_keys() -> None:
    t = table()

    class Team(Entity, table=t, key=("ORG#{org}", "TEAM#{team}#{lead?}")):
        org: str
        team: str
        lead: str | None = None

    class Task(Entity, table=t, key=("ORG#{org}", "TEAM#{team}#TASK#{task}")):
        org: str
        team: str
        task: str

    assert conditions(collection(Team, Task)("acme", "red").read) == [("between", ("TEAM#red", "TEAM#red$"))]
    with pytest.raises(ProofError, match="'lead' cannot be part of the key condition"):
        prove_read(collection(Team, Task)("acme", "red", "ann").read)


def test_explanation_says_what_becomes_of_keys_without_the_part() -> None:
    @pattern
    def seat(org: str, team: str, member: str | None) -> Item[Seat]: ...
    @pattern(query(Seat).largest_first("member"))
    def seats(org: str, team: str) -> Items[Seat]: ...

    assert "where member is None, the key ends before it" in explain_read(seat.read)
    text = explain_read(seats.read)
    assert "SK is TEAM#<team>, or begins with TEAM#<team>#, in reverse order" in text
    assert "items of Seat without member are in the range as well" in text
    assert "largest first by member: the order of the key, after which come items without it" in text
    assert "PK = ORG#acme and SK = TEAM#red\n" in explain(query(Seat, "acme", "red", None))
    bounded = prove_read(query(Seat, "acme", "red").since("b").read)
    assert "items of Seat without member are not in the range" in bounded.sentences


# the same, tried ------------------------------------------------------------------------------------------------

PARTS = ["{a}", "{a:fold}", "{n:2}", "{n:+2,desc}", "{d}", "v{a}"]
LAST = ["{b?}", "{m?:2}", "{m?:+2,desc}", "{e?}", "w{b?}", "{b?:plain}", "{e?:month}"]
leads = st.lists(st.sampled_from(["A", *PARTS]), min_size=1, max_size=2, unique_by=lambda part: part.strip("v{}")[0])
shapes = st.tuples(leads, st.sampled_from(LAST)).map(lambda each: "#".join([*each[0], each[1]]))
words = st.text("aAB#$ !v1", min_size=1, max_size=3)
rows = st.fixed_dictionaries(
    {
        "a": words,
        "n": st.integers(0, 12),
        "d": st.integers(1, 3).map(lambda day: date(2025, 1, day)),
        "b": st.none() | words,
        "m": st.none() | st.integers(0, 12),
        "e": st.none() | st.integers(1, 3).map(lambda day: date(2025, 1, day)),
    }
)

opened = st.tuples(st.booleans(), st.booleans())


def declared(sort: str) -> Model:
    class Thing(Entity, table=table(), key=("P", sort)):
        a: str
        n: int
        d: date
        b: str | None = None
        m: int | None = None
        e: date | None = None

    return model_of(Thing)


def holds(read: Read, text: str) -> bool:
    return all(holds_value(*each, text) for each in conditions_of(read))


def conditions_of(read: Read) -> list[tuple[str, tuple[str, ...]]]:
    found = prove_read(read).range
    every = list(key_conditions(found, lambda value: value))
    return [(each.operator, each.values) for each in every if each.attribute.name == "SK"]


def holds_value(operator: str, values: tuple[str, ...], text: str) -> bool:
    low = values[0]
    if operator == "begins_with":
        return text.startswith(low)
    if operator == "between":
        return low.encode() <= text.encode() <= values[1].encode()
    return {"=": text == low, ">=": text.encode() >= low.encode(), "<=": text.encode() <= low.encode()}[operator]


@given(shapes, rows, rows)
def test_items_lie_in_their_own_range_whatever_is_given(sort: str, one: Any, other: Any) -> None:
    model = declared(sort)
    template = model.key.sort[0].template
    assert template is not None
    parts = list(template.parts)
    for count in range(len(parts) + 1):
        given_values = tuple(one[part.field] for part in parts[:count])
        if any(value is None for value in given_values[:-1]):
            continue
        read = Read((EntityKey(model, model.key),), given_values)
        if prove_read(read).requests > 1:
            continue  # two ranges, of which `holds` binds neither
        alike = all(
            (other[part.field] is None) == (value is None)
            and (value is None or part.form.write(value) == part.form.write(other[part.field]))  # type: ignore[union-attr]
            for part, value in zip(parts, given_values, strict=False)
        )
        assert holds(read, key_of(model, other)["SK"]["S"]) == alike


@given(shapes, shapes, rows, rows)
def test_equal_keys_of_two_templates_were_said_to_meet(one: str, other: str, mine: Any, theirs: Any) -> None:
    a, b = declared(one), declared(other)
    if key_of(a, mine) == key_of(b, theirs):
        assert meeting(table_keys(a)[0].domains, table_keys(b)[0].domains) is not None


bounded = st.sampled_from(["A#{a}#{b?}", "A#{m?:+2,desc}", "A#{e?}", "{n:2}#{b?}"])


@given(bounded, st.lists(rows, max_size=6), rows, rows, opened)
def test_bounds_hold_exactly_the_values_between_them(
    sort: str, stored: Any, low: Any, high: Any, opens: tuple[bool, bool]
) -> None:
    model = declared(sort)
    given_values = ("a",) if "{a}" in sort else ()
    field = model.key.sort[0].fields[len(given_values)]
    for bottom, top in ((low[field], high[field]), (low[field], None), (None, high[field])):
        if (bottom is None and top is None) or (bottom is not None and top is not None and bottom >= top):
            continue
        bounds = SortRange(low=bottom, high=top, low_open=opens[0], high_open=opens[1])
        read = Read((EntityKey(model, model.key),), given_values, bounds=bounds)
        for row in stored:
            value = row[field]
            expected = value is not None and (bottom is None or bottom <= value) and (top is None or value <= top)
            expected &= not (opens[0] and value == bottom) and not (opens[1] and value == top)
            assert holds(read, key_of(model, row | {"a": "a"})["SK"]["S"]) == expected

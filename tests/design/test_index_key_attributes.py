"""An attribute that is stored in an index key only: `InKey("GSI1SK")`."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest

from partita import (
    AUTO,
    CreatedAt,
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    Items,
    Keys,
    Limit,
    ProofError,
    Table,
    Transitions,
    Version,
    View,
    pattern,
    prove,
)
from partita.describe.design_page import page
from partita.plan import prove_read
from partita.plan.changes import ItemChange, plan_blind_change
from partita.plan.edits import Assign
from partita.plan.items import item_of


def table(*more: Index) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"), *more))


def unknown_key() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI2SK")]
        by_b = Keys("GSI1", "T", "{b}#{a}")


def no_index_key() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]


def conditional() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]
        on: bool = True
        by_b = Keys("GSI1", "T", "{b}#{a}", when=F.on == True)  # noqa: E712


def several() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]
        on: bool = True
        by_b = Keys("GSI1", "T", "{b}#{a}", when=F.on == True)  # noqa: E712
        otherwise = Keys("GSI1", "U", "{b}#{a}")


def optional_part() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]
        c: str | None = None
        by_b = Keys("GSI1", "T#{c}", "{b}#{a}")


def automatic_part() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1PK")]
        at: Annotated[datetime, CreatedAt()] = AUTO
        by_b = Keys("GSI1", "T#{b}", "{at}")


def lossy() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]
        by_b = Keys("GSI1", "T", "{b:fold}")


def not_in_it() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[str, InKey("GSI1SK")]
        by_b = Keys("GSI1", "T#{b}", "{a}")


def version() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[int, InKey("GSI1SK"), Version()] = 0
        by_b = Keys("GSI1", "T", "{b:4}")


def transitions() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[Literal["x", "y"], InKey("GSI1SK"), Transitions({"x": ["y"]})] = "x"
        by_b = Keys("GSI1", "T", "{b}#{a}")


def limited() -> None:
    class Thing(Entity, table=table(), key=("T#{a}", "T")):
        a: str
        b: Annotated[int, InKey("GSI1SK")] = 0
        by_b = Keys("GSI1", "T", "{b:4}")
        most = Limit(F.b <= 5)


MAY_LACK = "remove InKey, or use an index key that every item has"


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            unknown_key,
            (
                "it is stored in 'GSI2SK', but no template of Thing writes an index key of this name; "
                "name one of GSI1PK, GSI1SK"
            ),
        ),
        (
            no_index_key,
            "it is stored in 'GSI1SK', but no template of Thing writes an index key of this name; remove InKey",
        ),
        (
            conditional,
            f"it is stored in 'GSI1SK', which an item of Thing may lack: the Keys of GSI1 have a condition; {MAY_LACK}",
        ),
        (several, f"it is stored in 'GSI1SK', which an item of Thing may lack: GSI1 has several Keys; {MAY_LACK}"),
        (optional_part, f"it is stored in 'GSI1SK', which an item of Thing may lack: 'c' may be None; {MAY_LACK}"),
        (automatic_part, f"it is stored in 'GSI1PK', which an item of Thing may lack: 'at' may be AUTO; {MAY_LACK}"),
        (
            lossy,
            (
                "it is stored in 'GSI1SK', whose template does not hold its whole value; "
                "remove InKey, or write {b} in the template"
            ),
        ),
        (
            not_in_it,
            (
                "it is stored in 'GSI1SK', whose template does not hold its whole value; "
                "remove InKey, or write {b} in the template"
            ),
        ),
        (
            version,
            "it is stored in 'GSI1SK' only, so Version has no attribute to compare; remove InKey, so that it is stored",
        ),
        (
            transitions,
            (
                "it is stored in 'GSI1SK' only, so Transitions has no attribute to compare; "
                "remove InKey, so that it is stored"
            ),
        ),
    ],
)
def test_attribute_that_an_index_key_does_not_always_hold_is_rejected(
    declare: Callable[[], None], message: str
) -> None:
    with pytest.raises(DesignError) as refusal:
        declare()
    assert str(refusal.value) == f"Thing.b: {message}"


def test_limit_of_an_attribute_in_a_key_is_rejected() -> None:
    with pytest.raises(DesignError, match="a limit names 'b', which is stored in the key only"):
        limited()


tasks = table(Index("GSI2", "GSI2PK", project="KEYS_ONLY"))


class Task(
    Entity,
    table=tasks,
    key=("USER#{user}", "TASK#{task}"),
):
    user: Annotated[str, InKey()]
    task: Annotated[str, InKey()]
    state: Annotated[Literal["open", "done"], InKey("GSI1PK")] = "open"
    rank: Annotated[int, InKey("GSI1SK")] = 0
    owner: Annotated[str | None, InKey("GSI1SK")] = None
    team: str = "red"

    by_state = Keys("GSI1", "STATE#{state}", "{rank:3}#{task}#{owner?}")
    by_team = Keys("GSI2", "TEAM#{team}")


def test_attribute_is_written_in_the_index_key_only() -> None:
    values = {"user": "u", "task": "t", "state": "done", "rank": 7, "owner": "ann", "team": "red"}
    item: dict[str, Any] = item_of(Task.__model__, values)
    assert item["GSI1PK"] == {"S": "STATE#done"}
    assert item["GSI1SK"] == {"S": "007#t#ann"}
    assert set(item) == {"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "team"}


def test_change_of_the_whole_index_key_needs_no_read() -> None:
    design = prove("tasks", tasks)
    edits: Any = {"state": Assign("done"), "rank": Assign(8), "owner": Assign(None)}
    change = ItemChange(Task.__model__, {"user": "u", "task": "t"}, edits, datetime(2025, 1, 1, tzinfo=UTC))
    (action,) = plan_blind_change(design, change)
    assert set(action.steps) == {"GSI1PK", "GSI1SK"}


def test_index_that_does_not_project_the_other_index_key_is_rejected() -> None:
    with pytest.raises(ProofError, match="index 'GSI2' does not project team, GSI1PK, GSI1SK"):
        prove_read(Task.by_team.query("red").read)


def test_view_projects_the_index_key_that_holds_its_attribute() -> None:
    class Brief(View):
        thing: Annotated[str, InKey()]
        rank: Annotated[int, InKey("GSI1SK")]
        by_team = Keys("GSI2", "TEAM#{team}")

    t = table(Index("GSI2", "GSI2PK", project=(Brief,)))

    class Thing(Brief, Entity, table=t, key=("T#{thing}", "T")):
        team: str
        by_rank = Keys("GSI1", "T", "{rank:3}")

    @pattern(Brief.by_team)
    def briefs(team: str) -> Items[Brief]: ...

    prove("things", t)
    assert t.indexes[1].project == ("GSI1SK",)


def test_page_of_the_design_says_where_it_is_stored() -> None:
    assert "part of the index key GSI1SK" in page(prove("tasks", tasks), "")

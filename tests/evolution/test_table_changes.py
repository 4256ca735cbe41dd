"""Applying a design waits for tables and indexes: it says for what, not for ever, and goes on in the next run."""

from typing import Any

import msgspec
import pytest

from partita import Design, Entity, Index, Keys, MigrationBlocked, Store, Table, connect, prove
from partita.design.entities import EntityMeta
from partita.dynamodb.backend import Backend
from partita.dynamodb.exceptions import AccessDeniedException, LimitExceededException, ResourceInUseException
from partita.dynamodb.requests import (
    CreateTable,
    DescribeTable,
    UpdateContinuousBackups,
    UpdateTable,
    UpdateTimeToLive,
)
from partita.evolution import table_changes
from partita.evolution.apply import Progress, apply_design
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration
from partita.plan.table_definitions import differences
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled
from tests.evolution.test_programs import MonotonicClock


class SlowIndexes:
    """A backend whose new indexes are CREATING until they are released."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.is_released = False

    def call(self, request: Any) -> Any:
        reply = self._backend.call(request)
        if isinstance(request, DescribeTable) and not self.is_released and reply.table.global_secondary_indexes:
            indexes = [msgspec.structs.replace(each, index_status="CREATING") for each in _indexes(reply)]
            table = msgspec.structs.replace(reply.table, table_status="UPDATING", global_secondary_indexes=indexes)
            return msgspec.structs.replace(reply, table=table)
        return reply


def _indexes(reply: Any) -> list[Any]:
    return list(reply.table.global_secondary_indexes)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MonotonicClock:
    clock = MonotonicClock()
    monkeypatch.setattr(table_changes, "time", clock)
    return clock


def test_index_that_is_never_created_ends_the_application_with_an_error(clock: MonotonicClock) -> None:
    old, new, phases = first(), second(), []

    def note(progress: Progress) -> None:
        phases.append(progress.phase)

    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 2, 2)
        slow = SlowIndexes(backend)
        db = Store(slow, new.design, sleep=clock.wait)
        with pytest.raises(MigrationBlocked, match="index GSI1 of table shop is CREATING, after 60 seconds"):
            apply_design(db, progress=note, table_patience=60)
        assert phases[0] == "waiting: index GSI1 of table shop is CREATING"
        slow.is_released = True
        apply_design(db)
        assert not plan_migration(db).has_work
        assert len(list(db(new.by_status("OPEN")))) == 4


def test_plan_and_doctor_report_an_index_that_is_being_created_and_do_not_wait() -> None:
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 1, 1)
        apply_design(Store(backend, new.design))
        db = Store(SlowIndexes(backend), new.design, sleep=_never)
        assert plan_migration(db).tables == [
            "wait: index GSI1 of table shop is CREATING",
            "wait: table shop is UPDATING",
        ]
        assert diagnose(db).findings["tables"][0] == "index GSI1 of table shop is CREATING"


def _never(seconds: float) -> None:
    raise AssertionError("it waits")


@pytest.mark.parametrize("rejection", [ResourceInUseException, LimitExceededException])
def test_change_of_a_table_that_is_being_changed_is_sent_again(rejection: type[Exception]) -> None:
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 1, 1)
        rejections = iter([rejection("busy")] * 2)

        class Busy:
            def call(self, request: Any) -> Any:
                if isinstance(request, UpdateTable):
                    for each in rejections:
                        raise each
                return backend.call(request)

        done = apply_design(Store(Busy(), new.design, sleep=lambda _: None))
        assert done.tables == ["index GSI1 created"]


class NoTableChanges:
    """A backend with a role that may not change tables."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def call(self, request: Any) -> Any:
        if isinstance(request, CreateTable | UpdateTable | UpdateTimeToLive | UpdateContinuousBackups):
            raise AccessDeniedException(f"not authorized to perform: dynamodb:{type(request).__name__}")
        return self._backend.call(request)


def test_tables_that_other_tools_manage_need_no_permission_to_change_them() -> None:
    """CloudFormation or Terraform has created the index; the data still has to be brought to the design."""
    tables = [Table("kept", "PK", ttl="ttl", recovery_days=7, indexes=each) for each in ((), (Index("ByName", "N"),))]
    designs: list[Design] = []
    entities: list[Any] = []
    for table in tables:
        keys: dict[str, Any] = {"by_name": Keys("ByName", "{name}")} if table.indexes else {}
        body = {"__annotations__": {"name": str}, **keys}
        entities.append(EntityMeta("Kept", (Entity,), body, table=table, key="KEPT#{name}"))
        designs.append(prove("kept", table))
    old, new = designs
    with connect("memory:") as backend:
        db = Store(backend, old)
        db.create_tables()
        db.create(entities[0](name="a"))
        (missing,) = differences(tables[1], _described(backend))
        assert missing.request is not None
        backend.call(missing.request)
        restricted = Store(NoTableChanges(backend), new)
        assert plan_migration(restricted).tables == []
        assert apply_design(restricted).changed == 1
        assert not plan_migration(restricted).has_work


def _described(backend: Backend) -> Any:
    return backend.call(DescribeTable(table_name="kept")).table


def test_limit_of_a_table_is_an_error_and_no_endless_wait() -> None:
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 1, 1)

        class Full:
            def call(self, request: Any) -> Any:
                if isinstance(request, UpdateTable):
                    raise LimitExceededException("too many indexes")
                return backend.call(request)

        with pytest.raises(LimitExceededException, match="too many indexes"):
            apply_design(Store(Full(), new.design, sleep=lambda _: None))


def _scores(kind: type, *, local: bool, indexed: bool = True) -> Design:
    """A design of scores, with an index whose key is an attribute of some type."""
    table = Table("scores", "PK", "SK", indexes=(Index("ByScore", "PK", "score", local=local),) if indexed else ())
    body: dict[str, Any] = {"__annotations__": {"game": str, "player": str, "score": kind}}
    if indexed:
        body["by_score"] = Keys("ByScore", "{game}")
    EntityMeta("Score", (Entity,), body, table=table, key=("{game}", "{player}"))
    return prove("scores", table)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            _scores(str, local=False),
            _scores(int, local=False),
            "index ByScore has another key or projection; give the design's index another name",
        ),
        (
            _scores(int, local=True, indexed=False),
            _scores(int, local=True),
            "local index ByScore is missing; only a new table can have the design's, or write it with local=False",
        ),
        (
            _scores(str, local=True),
            _scores(int, local=True),
            (
                "local index ByScore has another key or projection; only a new table can have the design's, "
                "or write it with local=False"
            ),
        ),
    ],
)
def test_index_that_cannot_be_made_is_for_people_to_decide_about(before: Design, after: Design, sentence: str) -> None:
    with connect("memory:") as backend:
        Store(backend, before).create_tables()
        db = Store(backend, after)
        assert plan_migration(db).blocked == [sentence]
        assert [each.sentence for each in db.differences()] == [sentence]
        with pytest.raises(MigrationBlocked, match="ByScore"):
            apply_design(db)
        assert not plan_migration(Store(backend, before)).blocked


def test_new_table_beside_a_recorded_one_is_no_unrecorded_data() -> None:
    old = first()
    more = Table("more", "id")
    EntityMeta("More", (Entity,), {"__annotations__": {"name": str}}, table=more, key="{name}")
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 1, 1)
        plan = plan_migration(Store(backend, prove("both", *old.design.tables, more)))
        assert (plan.is_recorded, plan.tables) == (True, ["create table more"])


def test_table_that_another_process_creates_meanwhile_is_used() -> None:
    new = second()
    with connect("memory:") as backend:

        class Twice:
            def call(self, request: Any) -> Any:
                if isinstance(request, CreateTable) and request.table_name == "shop":
                    backend.call(request)
                return backend.call(request)

        assert apply_design(Store(Twice(), new.design, sleep=lambda _: None)).tables == []
        assert not plan_migration(Store(backend, new.design)).has_work

"""What is recorded about the designs of data, in a table of its own beside it.

TABLE#name  DESIGN             which design the data of a table satisfies, and the one that is being applied
            PROGRAM#id         a program that works on the table, until it expires

It is a table of its own, as that of jobs is: an item in the user's table would need a key of any type, and would be in
scans, exports, streams and indexes (docs/decisions/0028).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Annotated, Literal

import msgspec

from partita.design.entities import Entity
from partita.design.markers import Compressed, Expires
from partita.design.patterns import pattern
from partita.design.reads import Item, Items, query
from partita.design.tables import Table
from partita.dynamodb.exceptions import DynamoDBError, ResourceInUseException, ResourceNotFoundException
from partita.errors import DesignMismatch, DesignRecordInvalid, StoredItemInvalid, TableNotFound
from partita.plan.design import Design
from partita.plan.design_differences import fact_differences, lacks, moved_entities
from partita.plan.fingerprint import Facts, digest, table_facts
from partita.plan.proof.prove import prove
from partita.plan.table_definitions import create_table
from partita.store.context import StoreContext
from partita.store.entity_flows import EntityFlows
from partita.store.flows import Flow
from partita.store.reading import QueryPages, fetch_batch
from partita.store.retries import send_idempotent

table = Table("partita-designs", "PK", "SK", ttl="ttl", naming="camel")

State = Literal["public", "building", "backfilling", "cleaning"]
"""building: programs of both designs may work; backfilling: only those of the new one; cleaning: it is public."""


class DataDesign(Entity, table=table, key=("TABLE#{table}", "DESIGN")):
    """The design that the data of a table satisfies, as its facts; `target` is the one that is being applied to it.

    `number` counts the states. `counting` are the counters that are counted while it is backfilling, as
    Entity.attribute: before that, programs that do not know the marks may still write. `earlier` are digests of designs
    that the data satisfied before. `runner` is the process that applies the target, until `runner_until`. `is_first` if
    nothing was recorded before the target, so that programs may work that do not know of records yet. `abandoned` are,
    by entity, the attributes of index keys and TTLs that a design wrote which was rolled back.
    """

    table: str
    facts: Annotated[dict[str, str], Compressed()]
    state: State = "public"
    number: int = 0
    target: Annotated[dict[str, str] | None, Compressed()] = None
    build: str = ""
    counting: list[str] = msgspec.field(default_factory=list)
    earlier: list[str] = msgspec.field(default_factory=list)
    runner: str = ""
    runner_until: datetime | None = None
    is_first: bool = False
    abandoned: dict[str, set[str]] = msgspec.field(default_factory=dict)

    @property
    def wanted(self) -> Facts:
        """The facts of the design that is being applied, or of the one that the data satisfies."""
        return self.facts if self.target is None else self.target


class ProgramRecord(Entity, table=table, key=("TABLE#{table}", "PROGRAM#{program}")):
    """A program that works on a table; `number` is the state that all of its running operations know."""

    table: str
    program: str
    facts: Annotated[dict[str, str], Compressed()]
    number: int
    host: str
    process: int
    identity: str  # of the process, so that others on the same machine see at once that it has ended
    seen_at: datetime
    expires_at: datetime

    expiry = Expires("expires_at")


@pattern
def data_design(table: str) -> Item[DataDesign]: ...


@pattern(query(ProgramRecord))
def programs(table: str) -> Items[ProgramRecord]: ...


@pattern
def program_record(table: str, program: str) -> Item[ProgramRecord]: ...


@cache
def record_design() -> Design:
    """The design of the records."""
    return prove("partita-designs", table)


def record_context(context: StoreContext) -> StoreContext:
    """The context of flows on the records: the same clock and retries, without names and observers of the program's."""
    return StoreContext(record_design(), clock=context.clock, random=context.random, retries=context.retries)


def fetch_designs(context: StoreContext, tables: Sequence[str]) -> Flow[dict[str, DataDesign]]:
    """The recorded designs of tables, by their names on the backend; in one request."""
    calls = [data_design(name) for name in tables]
    try:
        with _records():
            found = yield from fetch_batch(record_context(context), calls, consistent=True)
    except TableNotFound:
        return {}
    return {each.table: each for each in found if each is not None}


@contextmanager
def _records() -> Iterator[None]:
    """A record that cannot be read is an error that says what to do."""
    try:
        yield
    except StoredItemInvalid as error:
        raise DesignRecordInvalid(error.entity, error.stored_key, error.reason, error.key) from error


def fetch_programs(context: StoreContext, tables: Sequence[str]) -> Flow[list[ProgramRecord]]:
    """The programs that work on tables, each once for each table."""
    found: list[ProgramRecord] = []
    try:
        for name in tables:
            pages: QueryPages[ProgramRecord] = QueryPages(record_context(context), programs(name), consistent=True)
            while not pages.is_done:
                with _records():
                    found += yield from pages.fetch()
    except TableNotFound:
        return []
    return found


def record_flows(context: StoreContext) -> EntityFlows:
    """Writes of records."""
    return EntityFlows(record_design(), record_context(context))


def create_record_table(context: StoreContext) -> Flow[None]:
    """Creates the table of the records, unless it exists; one who may not create tables can use it then."""
    from partita.store.table_setup import activate, active_table

    plain = record_context(context)
    try:
        yield from active_table(plain, table.name)
    except ResourceNotFoundException:
        pass
    else:
        return
    try:
        yield from send_idempotent(plain, create_table(table))
    except ResourceInUseException:
        return
    yield from activate(plain, table)


def record_public_design(context: StoreContext, design: Design, names: Iterable[str]) -> Flow[None]:
    """Records that the data of new tables satisfies a design; `names` are those of the design's tables."""
    flows = record_flows(context)
    for each in design.tables:
        if each.name not in names:
            continue
        record = DataDesign(table=context.table_name(each.name), facts=dict(table_facts(design, each)))
        try:
            yield from flows.put(record)
        except TableNotFound:
            yield from create_record_table(context)
            yield from flows.put(record)


def is_denied(error: DynamoDBError) -> bool:
    """Whether the credentials of the program do not allow a request."""
    return error.code in ("AccessDeniedException", "UnrecognizedClientException")


def are_compatible(one: Facts, other: Facts) -> bool:
    """Whether programs of two designs keep the data right for each other."""
    return one == other or not (lacks(one, other) or lacks(other, one))


def earlier_digests(record: DataDesign) -> list[str]:
    """The digests of earlier designs, with that of the present one."""
    return [*record.earlier, digest(record.facts)][-50:]


def check_records(design: str, facts: Mapping[str, Facts], records: Mapping[str, DataDesign]) -> None:
    """A DesignMismatch unless the data of every table satisfies the facts of a program, or is being brought there."""
    found: list[str] = []
    is_older = False
    for name, record in records.items():
        mine, allowed = facts[name], _designs_of_programs(record)
        if not any(are_compatible(mine, each) for each in allowed):
            found += mismatches(allowed[-1], mine)
            is_older = is_older or digest(mine) in record.earlier or record.state == "backfilling"
    found += _moves(facts, records)
    if found:
        raise DesignMismatch(design, found, is_older=is_older)


def _moves(facts: Mapping[str, Facts], records: Mapping[str, DataDesign]) -> list[str]:
    """The entities that a program has in another table than every design that programs may have now, in words."""
    in_use = [{name: _designs_of_programs(each)[at] for name, each in records.items()} for at in (0, -1)]
    moves = [[str(moved) for moved in moved_entities(each, facts)] for each in in_use]
    return min(moves, key=len)


def _designs_of_programs(record: DataDesign) -> list[Facts]:
    """The designs that programs may have now: the one that is applied, and the earlier one until it is backfilled."""
    return [record.wanted] if record.state == "backfilling" else [record.wanted, record.facts]


def mismatches(recorded: Facts, mine: Facts) -> list[str]:
    """The differences that matter between the design of data and another one, in words."""
    names = {each.fact for each in (*lacks(recorded, mine), *lacks(mine, recorded))}
    return [str(each) for each in fact_differences(recorded, mine) if each.fact in names]


def check_recorded_design(context: StoreContext, design: Design, of: Table) -> Flow[None]:
    """A DesignMismatch where the data of an existing table is recorded with a design that does not fit."""
    records = yield from fetch_designs(context, [context.table_name(of.name)])
    facts = {context.table_name(each.name): table_facts(design, each) for each in design.tables}
    check_records(design.name, facts, records)

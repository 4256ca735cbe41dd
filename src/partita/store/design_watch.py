"""A store that follows the state of its data: it checks the design, and records the program as long as it works.

Every few seconds the next operation first reads the recorded design of its tables, in one request. So a program knows
within that time that a design is being applied, and `partita apply` knows from the records which programs work on the
data with which design, and which state all of their running operations know. A program that did not check for longer
than its record is valid checks again before it does anything else.
"""

import os
import socket
import threading
from collections import Counter as Tally
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from partita.dynamodb.exceptions import DynamoDBError
from partita.errors import PartitaError, StoreError, TableNotFound
from partita.plan.design import CounterBuild, DataState, Design
from partita.plan.fingerprint import Facts, table_facts
from partita.process_identity import this_process
from partita.store import log
from partita.store.context import StoreContext
from partita.store.design_records import (
    DataDesign,
    ProgramRecord,
    check_records,
    fetch_designs,
    is_denied,
    program_record,
    record_flows,
)
from partita.store.design_records import table as record_table
from partita.store.flows import Flow
from partita.store.readiness import attributes_not_stored_yet, unready_parts
from partita.store.searching import check_vector_indexes
from partita.store.unrecorded_data import compare_unrecorded_data

R = TypeVar("R")

CHECK_EVERY = timedelta(seconds=10)
"""How long a program works before it reads the state of its data again."""

VALID_FOR = timedelta(seconds=60)
"""A program whose record does not change for as long has ended, or checks before it does anything else."""

FORGOTTEN_AFTER = timedelta(days=1)
"""When the record of a program that did not delete it is deleted; a program is seen whose clock is behind by less."""


class DesignWatch:
    """The state of the data that a store works on, as the program knows it."""

    def __init__(self, design: Design, context: StoreContext, *, read_only: bool = False) -> None:
        self._design = design
        self._context = context
        self._read_only = read_only
        self._facts = {context.table_name(each.name): table_facts(design, each) for each in design.tables}
        self._program = f"{socket.gethostname()[:40]}-{os.getpid()}-{context.token()[:8]}"
        self._checked_at: datetime | None = None
        self._recorded_at: datetime | None = None
        self._recorded_number = -1
        self._number = 0
        self._running: Tally[int] = Tally()
        self._lock = threading.Lock()
        self._knows_indexes = False
        self._knows_data = False
        self._is_denied = False

    def followed(self, flow: Flow[R]) -> Flow[R]:
        """Runs an operation of the store, after a check where one is due."""
        now = self._context.clock()
        if self._is_due(now):
            yield from self.check(now)
        with self._lock:
            number = self._number
            self._running[number] += 1
        try:
            return (yield from flow)
        finally:
            with self._lock:
                self._running[number] -= 1

    def _is_due(self, now: datetime) -> bool:
        last = self._checked_at
        if last is None or self._recorded_at is None or not last <= now < last + CHECK_EVERY:
            return True
        return self._recorded_number < self._known_number() and not self._read_only

    def check(self, now: datetime | None = None) -> Flow[None]:
        """Records the program, reads the designs of the data, and compares; DesignMismatch where they do not fit.

        A StoreError, too, where a search needs a vector index and the backend has none.
        The record comes first: either `partita apply` sees it, or the program sees the state that apply has set.
        """
        if now is not None:
            yield from self._record(now)
        records = yield from self._fetch_records()
        try:
            self._adopt(records)
            if not self._knows_indexes:
                checked = check_vector_indexes(self._context, self._design, read_only=self._read_only)
                self._knows_indexes = yield from checked
        except StoreError:
            yield from self.leave()
            raise
        if not self._knows_data:
            self._knows_data = yield from compare_unrecorded_data(self._context, self._design, records)
        if now is not None:
            self._checked_at = now
            yield from self._record(now)

    def _fetch_records(self) -> Flow[dict[str, DataDesign]]:
        """The recorded designs; none, with a warning, where the program may not read them."""
        try:
            return (yield from fetch_designs(self._context, list(self._facts)))
        except DynamoDBError as error:
            if not is_denied(error):
                raise
            if not self._is_denied:
                log.unreadable_records(record_table.name, list(self._facts))
            self._is_denied = True
            return {}

    def _adopt(self, records: dict[str, DataDesign]) -> None:
        """Takes over the state of the data, or raises a DesignMismatch."""
        if not self._read_only:
            check_records(self._design.name, self._facts, records)
        names = {self._context.table_name(each.name): each.name for each in self._design.tables}
        facts = {names[name]: record.facts for name, record in records.items()}
        builds = [each for each in records.values() if each.counting and each.state == "backfilling"]
        build = None
        if builds:
            pairs = frozenset(_pair(name) for each in builds for name in each.counting)
            build = CounterBuild(builds[0].build, pairs)
        is_shared = any(each.state == "building" for each in records.values())
        unwritten = attributes_not_stored_yet(self._design, facts) if is_shared else {}
        state = DataState(build, unready_parts(self._design, facts, is_shared=is_shared), unwritten)
        with self._lock:
            self._number = max((each.number for each in records.values()), default=0)
            self._design.data.build, self._design.data.unready = state.build, state.unready
            self._design.data.unwritten = state.unwritten

    def _known_number(self) -> int:
        """The oldest state that a running operation knows."""
        with self._lock:
            running = [number for number, count in self._running.items() if count > 0]
            return min([*running, self._number])

    def _record(self, now: datetime) -> Flow[None]:
        """Records the program, or renews its record; not where nothing is recorded, or it may not write."""
        if self._read_only:
            self._recorded_at = now
            return
        number = self._known_number()
        last = self._recorded_at
        if last is not None and number == self._recorded_number and last <= now < last + VALID_FOR / 2:
            return
        try:
            for name, facts in self._facts.items():
                yield from record_flows(self._context).put(self._own_record(name, facts, number, now))
        except TableNotFound:
            pass  # nobody has applied a design here
        except DynamoDBError as error:
            if not is_denied(error):
                raise
        self._recorded_at, self._recorded_number = now, number

    def _own_record(self, table: str, facts: Facts, number: int, now: datetime) -> ProgramRecord:
        return ProgramRecord(
            table=table,
            program=self._program,
            facts=dict(facts),
            number=number,
            host=socket.gethostname(),
            process=os.getpid(),
            identity=this_process(),
            seen_at=now,
            expires_at=now + FORGOTTEN_AFTER,
        )

    def leave(self) -> Flow[None]:
        """Deletes the record of the program, which ends."""
        if self._recorded_at is None or self._read_only:
            return
        self._recorded_at = None
        try:
            for name in self._facts:
                yield from record_flows(self._context).delete(program_record(name, self._program), None)
        except (PartitaError, OSError):
            return  # it expires soon


def own_design(design: Design) -> Design:
    """The design with a state of its own."""
    return msgspec.structs.replace(design, data=DataState())


def _pair(name: str) -> tuple[str, str]:
    entity, _, attribute = name.partition(".")
    return entity, attribute

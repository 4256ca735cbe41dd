"""The store: a design at work on a backend.

db = connect("memory:", shop)
db.create(Order(...))
db(orders_to_ship(Status.OPEN)).first(20)
with db.change(order("c1", at, "o1")) as draft:
    draft.status = Status.SHIPPED
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar, overload

from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query
from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.values import Item
from partita.errors import RetriesExhausted
from partita.plan.design import Design
from partita.plan.read_requests import plan_of
from partita.plan.schema import Difference
from partita.store.adoption import Adoption, adopt
from partita.store.base_store import BaseStore, not_found
from partita.store.drafts import Draft
from partita.store.execution import ATTEMPTS
from partita.store.flows import Flow, run
from partita.store.reading import Page, fetch_batch, fetch_one, fetch_page
from partita.store.results import Results
from partita.store.retries import SentRequest
from partita.store.scanning import scan_page, scanned_tables
from partita.store.table_setup import create_tables, table_differences
from partita.store.transactions import Transaction

E = TypeVar("E")
N = TypeVar("N", bound=Entity)
R = TypeVar("R")


class Store(BaseStore):
    """Typed reads and writes of a design's entities; keys, indexes, counters and uniqueness stay consistent.

    `connect(address, design)` opens one; the class itself is for a backend that is open already.

    clock       The time, as a function that returns an aware datetime; default: the machine's.
    sleep       Waits some seconds before a retry; a test may replace it.
    random      A number from 0 to 1 for the jitter of retries; a test may replace it.
    retries     How often a request is sent again after throttling or a lost connection.
    secret      Signs cursors, so that clients cannot make their own.
    on_call     Functions that are called with each `SentRequest`.
    """

    def __init__(
        self,
        backend: Backend,
        design: Design | Table,
        *tables: Table,
        clock: Callable[[], datetime] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] | None = None,
        retries: int = 8,
        secret: bytes | None = None,
        on_call: Sequence[Callable[[SentRequest], None]] = (),
    ) -> None:
        super().__init__(design, tables, clock, random, retries, secret, on_call)
        self.backend = backend
        self._sleep = sleep

    def close(self) -> None:
        """Closes the backend, if it can be closed."""
        close: Callable[[], None] | None = getattr(self.backend, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, flow: Flow[R]) -> R:
        return run(flow, self.backend, self._sleep)

    @overload
    def __call__(self, call: Get[E], *, consistent: bool = ...) -> E | None: ...
    @overload
    def __call__(self, call: Query[E], *, consistent: bool = ...) -> Results[E]: ...
    def __call__(self, call: Get[E] | Query[E], *, consistent: bool = False) -> E | Results[E] | None:
        """Runs a pattern: a get gives the entity or None, a query its results, which can be iterated or paged."""
        if isinstance(call, Get):
            return run(fetch_one(self.context, call, consistent=consistent), self.backend, self._sleep)

        def page(size: int | None, cursor: str | None) -> Page[E]:
            return self._run(fetch_page(self.context, call, size=size, cursor=cursor, consistent=consistent))

        return Results(page)

    def get(self, call: Get[E], *, consistent: bool = False) -> E | None:
        """The entity, or None."""
        return self._run(fetch_one(self.context, call, consistent=consistent))

    def one(self, call: Get[E], *, consistent: bool = False) -> E:
        """The entity, or NotFound."""
        found = self.get(call, consistent=consistent)
        if found is None:
            raise not_found(call)
        return found

    def get_many(self, calls: Sequence[Get[E]]) -> list[E | None]:
        """The entities of many gets, read in batches, in the order of the calls."""
        return self._run(fetch_batch(self.context, calls))

    def create(self, entity: E, *, when: Condition | None = None) -> E:
        """Stores a new entity and returns it as it was stored; AlreadyExists if its key is in use."""
        return self._run(self._flows.create(entity, when))

    def put(self, entity: E) -> E:
        """Creates the entity, or replaces the stored one."""
        return self._run(self._flows.put(entity))

    def replace(self, entity: Any) -> None:
        """Makes the stored entity equal to this one; VersionConflict if its version has changed."""
        self._run(self._flows.replace(entity))

    @contextmanager
    def change(
        self, call: Get[E], *, when: Condition | None = None, version: int | None = None, system_change: bool = False
    ) -> Iterator[E]:
        """A draft of the entity; the edits made in the block are one write at its end.

        `system_change=True` leaves the update time and the version as they are.
        """
        draft: Any = Draft(plan_of(call.read).model)
        yield draft
        self._run(self._flows.change(call, draft, when, version, system_change))

    def update(self, call: Get[E], edit: Callable[[E], None]) -> E:
        """Reads the entity, lets `edit` change it and writes the difference; again if it changed meanwhile."""
        return self._run(self._flows.update(call, edit))

    @overload
    def delete(self, what: Get[E], *, when: Condition | None = ...) -> E | None: ...
    @overload
    def delete(self, what: N, *, when: Condition | None = ...) -> N | None: ...
    def delete(self, what: Any, *, when: Condition | None = None) -> Any:
        """Deletes an entity, by its get or itself, with everything that it owns; returns the deleted entity."""
        return self._run(self._flows.delete(what, when))

    def put_many(self, entities: Sequence[Any]) -> None:
        """Puts entities without invariants, in batches."""
        self._run(self._flows.put_many(entities))

    def delete_many(self, calls: Sequence[Get[Any]]) -> None:
        """Deletes entities without invariants, in batches."""
        self._run(self._flows.delete_many(calls))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Collects the writes of the block and sends them at its end, all or nothing."""
        transaction = Transaction(self.context, self.design)
        yield transaction
        self._run(transaction.flow())

    def retrying(self, entity: str) -> Iterator[int]:
        """Attempts of a read followed by a conditional write, with a pause between them; RetriesExhausted at the end.

        for _ in db.retrying("Seat"):
            seat = db.one(a_seat("12A"), consistent=True)
            ...
            try:
                with db.transaction() as transaction: ...
                return
            except ConditionFailed:
                continue
        """
        for attempt in range(ATTEMPTS):
            yield attempt
            self._sleep(self.context.pause(min(attempt, self.context.retries)).seconds)
        raise RetriesExhausted(entity, ATTEMPTS)

    def find_by_unique(self, entity: type[E], unique: str, *values: Any) -> E | None:
        """The entity that has a unique value, or None."""
        return self._run(self._flows.find_by_unique(entity, unique, *values))

    def release_unique(self, entity: type[Any], unique: str, *values: Any) -> None:
        """Frees a value that `Unique(keep_after_delete=True)` has kept."""
        self._run(self._flows.release_unique(entity, unique, *values))

    def adopt(self, progress: Callable[[Adoption], None] | None = None) -> Adoption:
        """Rewrites items that other code stored as the design stores them: keys, guards, counters."""
        return self._run(adopt(self.context, self.design, progress))

    def scan(self, *entities: type[E]) -> Iterator[E]:
        """Every stored entity of these classes, by scanning their tables: for jobs, not for requests.

        An item that cannot be decoded is left out; `adopt` reports it.
        """
        for table, wanted in scanned_tables(self.design, entities).items():
            start: Item | None = None
            while True:
                found, start = self._run(scan_page(self.context, table, wanted, start))
                yield from found
                if start is None:
                    break

    def create_tables(self) -> list[Difference]:
        """Creates the design's tables; returns what differs in an existing table and cannot be changed."""
        return self._run(create_tables(self.context, self.design))

    def differences(self) -> list[Difference]:
        """What differs between the design and the tables that exist."""
        return self._run(table_differences(self.context, self.design))

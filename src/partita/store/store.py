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
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, overload

from partita.describe.explain import explain
from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query
from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.values import Item
from partita.errors import NotFound, RetriesExhausted
from partita.plan.design import Design
from partita.plan.proof.prove import prove
from partita.plan.read_requests import key_values, plan_of
from partita.plan.schema import Difference
from partita.store.adoption import Adoption, adopt
from partita.store.drafts import Draft
from partita.store.entity_flows import EntityFlows
from partita.store.execution import ATTEMPTS
from partita.store.flows import Flow, run
from partita.store.reading import Page, fetch_batch, fetch_one, fetch_page
from partita.store.results import Results
from partita.store.retries import CapacityMeter, SentRequest, StoreContext
from partita.store.scanning import scan_page, scanned_tables
from partita.store.table_setup import create_tables, table_differences
from partita.store.transactions import Transaction

E = TypeVar("E")
N = TypeVar("N", bound=Entity)
R = TypeVar("R")


def proven(design: Design | Table, *more: Table) -> Design:
    """A proven design; tables alone are proven here."""
    return design if isinstance(design, Design) else prove(design.name, design, *more)


class Store:
    """Typed reads and writes; every key, index, counter and uniqueness promise of the design is kept.

    `clock`, `sleep` and `chance` may be given for tests; `on_call` hears of every request; `secret` signs cursors.
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
        self.design = proven(design, *tables)
        self.backend = backend
        self.context = context_of(clock, random, retries, secret, on_call)
        self._sleep = sleep
        self._flows = EntityFlows(self.design, self.context)

    def now(self) -> datetime:
        """The current time, by the store's clock."""
        return self.context.clock()

    def close(self) -> None:
        """Closes the backend, where it is one that can be closed."""
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
        """Run a pattern: a get answers with the entity or None, a query with `Results`."""
        if isinstance(call, Get):
            return run(fetch_one(self.context, call, consistent=consistent), self.backend, self._sleep)

        def page(size: int | None, cursor: str | None) -> Page[E]:
            return self._run(fetch_page(self.context, call, size=size, cursor=cursor, consistent=consistent))

        return Results(page)

    def one(self, call: Get[E], *, consistent: bool = False) -> E:
        """The entity, or NotFound."""
        found = self._run(fetch_one(self.context, call, consistent=consistent))
        if found is None:
            raise missing(call)
        return found

    def get_many(self, calls: Sequence[Get[E]]) -> list[E | None]:
        """Many gets in batches, answered in their order."""
        return self._run(fetch_batch(self.context, calls))

    def create(self, entity: E, *, when: Condition | None = None) -> E:
        """Store a new entity; answers with it as it was stored."""
        return self._run(self._flows.create(entity, when))

    def put(self, entity: E) -> E:
        """Create it, or replace what is there."""
        return self._run(self._flows.put(entity))

    def replace(self, entity: Any) -> None:
        """Make the stored entity equal to this one, unless its version has moved."""
        self._run(self._flows.replace(entity))

    @contextmanager
    def change(
        self, call: Get[E], *, when: Condition | None = None, version: int | None = None, system_change: bool = False
    ) -> Iterator[E]:
        """A draft; what is done to it inside the block is one write at its end.

        `quietly` for a machine's change: the update time and the version stay.
        """
        draft: Any = Draft(plan_of(call.read).model)
        yield draft
        self._run(self._flows.change(call, draft, when, version, system_change))

    def update(self, call: Get[E], edit: Callable[[E], None]) -> E:
        """Read the entity, let `edit` change it, write the difference; again when somebody was faster."""
        return self._run(self._flows.update(call, edit))

    @overload
    def delete(self, what: Get[E], *, when: Condition | None = ...) -> E | None: ...
    @overload
    def delete(self, what: N, *, when: Condition | None = ...) -> N | None: ...
    def delete(self, what: Any, *, when: Condition | None = None) -> Any:
        """Delete by key or entity, with all that it owns; answers with what it was."""
        return self._run(self._flows.delete(what, when))

    def put_many(self, entities: Sequence[Any]) -> None:
        self._run(self._flows.put_many(entities))

    def delete_many(self, calls: Sequence[Get[Any]]) -> None:
        self._run(self._flows.delete_many(calls))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Writes of the block, all or nothing."""
        transaction = Transaction(self.context, self.design)
        yield transaction
        self._run(transaction.flow())

    def retrying(self, entity: str) -> Iterator[int]:
        """For what is read, decided and then written under conditions: again, after a pause, until the caller leaves.

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
        """Who holds a unique value."""
        return self._run(self._flows.find_by_unique(entity, unique, *values))

    def release_unique(self, entity: type[Any], unique: str, *values: Any) -> None:
        self._run(self._flows.release_unique(entity, unique, *values))

    def adopt(self, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
        """Bring what other code stored to what the design says: old keys, missing guards, wrong counters."""
        return self._run(adopt(self.context, self.design, progress))

    def scan(self, *entities: type[E]) -> Iterator[E]:
        """All that is stored of these entities, by scanning their tables: for jobs, not for requests.

        What cannot be read is left out; `adopt` names it.
        """
        for table, wanted in scanned_tables(self.design, entities).items():
            start: Item | None = None
            while True:
                found, start = self._run(scan_page(self.context, table, wanted, start))
                yield from found
                if start is None:
                    break

    def create_tables(self) -> list[Difference]:
        """Make the design's tables; answers with what an existing table has otherwise and cannot change."""
        return self._run(create_tables(self.context, self.design))

    def differences(self) -> list[Difference]:
        return self._run(table_differences(self.context, self.design))

    @contextmanager
    def measure(self) -> Iterator[CapacityMeter]:
        """Capacity used inside the block."""
        meter = CapacityMeter()
        self.context.meters.append(meter)
        try:
            yield meter
        finally:
            self.context.meters.remove(meter)

    def decode_item(self, table: str, item: Item) -> Any:
        """The entity that an item is, for streams, exports and scans; None for guards and what is of no entity."""
        return self._flows.decode_item(table, item)

    def explain(self, call: Get[Any] | Query[Any], item_bytes: int = 1024) -> str:
        """What the read sends and costs, and why it is right."""
        return explain(call, item_bytes)

    def explain_create(self, entity: Any) -> str:
        """What creating the entity would do to which items, under which conditions, for how many units."""
        return self._flows.explain_create(entity)

    def explain_change(self, call: Get[E], edit: Callable[[E], None]) -> str:
        """What a change would do, or what it would have to read first; `edit` is given the draft."""
        draft: Any = Draft(plan_of(call.read).model)
        edit(draft)
        return self._flows.explain_change(call, draft)


def context_of(
    clock: Callable[[], datetime] | None,
    random: Callable[[], float] | None,
    retries: int,
    secret: bytes | None,
    on_call: Sequence[Callable[[SentRequest], None]],
) -> StoreContext:
    context = StoreContext(retries=retries, secret=secret, on_call=tuple(on_call))
    if clock is not None:
        context = replace(context, clock=clock)
    return context if random is None else replace(context, random=random)


def missing(call: Get[Any]) -> NotFound:
    plan = plan_of(call.read)
    return NotFound(plan.model.name, key_values(plan, call.arguments))

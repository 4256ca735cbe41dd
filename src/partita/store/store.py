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
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import msgspec

from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query, VectorSearch
from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.values import Item
from partita.errors import StoredItemInvalid
from partita.plan.design import Design
from partita.plan.read_requests import get_plan, query_plan
from partita.plan.table_definitions import Difference
from partita.store.arguments import check_change, check_eventual, check_function, check_text
from partita.store.base_store import BaseStore, not_found
from partita.store.drafts import Draft
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow, run
from partita.store.observation import SentRequest
from partita.store.reading import Decode, Page, QueryPages, fetch_batch, fetch_one, fetch_page, fetch_raw_page
from partita.store.results import Results, StartPages
from partita.store.searching import SearchResult, fetch_nearest
from partita.store.settings import SyncStoreSettings
from partita.store.table_names import TableNaming
from partita.store.table_setup import create_tables, table_differences
from partita.store.transactions import Transaction

if TYPE_CHECKING:
    from typing import Unpack

    from opentelemetry.trace import Tracer

    from partita.store.adoption import Adoption
    from partita.store.scanning import TableScan

E = TypeVar("E")
N = TypeVar("N", bound=Entity)
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class Store(BaseStore):
    """Typed reads and writes of a design's entities; keys, indexes, counters and uniqueness stay consistent.

    `connect(address, design)` opens one; the class itself is for a backend that is open already.

    clock       The time, as a function that returns an aware datetime; default: the machine's.
    sleep       Waits some seconds before a retry; a test may replace it.
    random      A number from 0 to 1 for the jitter of retries; a test may replace it.
    retries     How often a request is sent again after throttling or a lost connection.
    cursor_keys Keys that sign cursors, each of at least 16 bytes; the first one signs, all are accepted, so that a key
                can be replaced. Default: the key that an engine stores with its data. A remote database has none:
                without this setting, the first cursor there is a ConfigurationError.
    table_names The names of the design's tables on this backend, as a mapping or a function of the design's name.
    on_call     Functions that are called with each `SentRequest`.
    on_unreadable
                A function that is called with the `StoredItemInvalid` of each item that cannot be decoded in a list or
                a batch, which then goes on without the item. Default: the error is raised.
    slow_call_seconds
                A request that takes as long is logged as a warning of `partita.store`.
    tracer      An OpenTelemetry tracer, or True for the one of the global provider.
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
        cursor_keys: Sequence[bytes] | None = None,
        table_names: TableNaming | None = None,
        on_call: Sequence[Callable[[SentRequest], None]] = (),
        on_unreadable: Callable[[StoredItemInvalid], None] | None = None,
        slow_call_seconds: float | None = None,
        tracer: "Tracer | Literal[True] | None" = None,
    ) -> None:
        super().__init__(
            backend,
            design,
            tables,
            clock=clock,
            random=random,
            retries=retries,
            cursor_keys=cursor_keys,
            table_names=table_names,
            on_call=on_call,
            on_unreadable=on_unreadable,
            slow_call_seconds=slow_call_seconds,
            tracer=tracer,
        )
        self.backend = backend
        self._sleep = sleep

    def with_settings(self, **settings: "Unpack[SyncStoreSettings]") -> "Store":
        """A store of the same design on the same backend, with some settings changed; closing one closes both."""
        changed: dict[str, Any] = {"sleep": self._sleep, **self._settings, **settings}
        other = Store(self.backend, self.design, **changed)
        other.watch = self.watch
        return other

    def close(self) -> None:
        """Closes the backend, if it can be closed."""
        if self.watch is not None:
            run(self.watch.leave(), self.backend, self._sleep)
        close: Callable[[], None] | None = getattr(self.backend, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, flow: Flow[R], operation: str, target: Any = None) -> R:
        if self.watch is not None:
            flow = self.watch.followed(flow)
        if self._tracing is not None:
            flow = self._tracing.operation(operation, target, flow)
        return run(flow, self.backend, self._sleep)

    @overload
    def __call__(self, call: Get[E], *, consistent: bool = ...) -> E | None: ...
    @overload
    def __call__(self, call: Query[E], *, consistent: bool = ...) -> Results[E]: ...
    @overload
    def __call__(self, call: VectorSearch[E]) -> list[SearchResult[E]]: ...
    def __call__(self, call: Any, *, consistent: bool = False) -> Any:
        """Runs a pattern.

        A get gives the entity or None, a query its results, which can be iterated or paged, and a search of a vector
        index a list of results with their scores.
        """
        if isinstance(call, VectorSearch):
            check_eventual(call, consistent)
            return self._run(fetch_nearest(self.context, call), "search", call)
        if isinstance(call, Get):
            return self._run(fetch_one(self.context, call, consistent=consistent), "get", call)
        query_plan(call)
        start: StartPages[Any] = partial(QueryPages, self.context, call, consistent=consistent)
        return Results(start, lambda flow: self._run(flow, "query", call))

    def get(self, call: Get[E], *, consistent: bool = False) -> E | None:
        """The entity, or None."""
        return self._run(fetch_one(self.context, call, consistent=consistent), "get", call)

    def one(self, call: Get[E], *, consistent: bool = False) -> E:
        """The entity, or NotFound."""
        found = self.get(call, consistent=consistent)
        if found is None:
            raise not_found(call)
        return found

    def read(self, call: Get[Any], decode: Decode[R], *, consistent: bool = False) -> R | None:
        """The result of `decode` on the bytes of an item; None if the item does not exist.

        `decode` receives the bytes, which are DynamoDB JSON, and the current second since 1970.
        """
        check_function("read", "decode", decode)
        flow: Flow[R | None] = fetch_one(self.context, call, consistent=consistent, decode=decode)
        return self._run(flow, "get", call)

    @overload
    def read_page(
        self, call: Query[Any], decode: None = ..., *, size: int | None = ..., cursor: str | None = ...
    ) -> Page[msgspec.Raw]: ...
    @overload
    def read_page(
        self, call: Query[Any], decode: Decode[R], *, size: int | None = ..., cursor: str | None = ...
    ) -> Page[R]: ...
    def read_page(
        self,
        call: Query[Any],
        decode: Decode[Any] | None = None,
        *,
        size: int | None = None,
        cursor: str | None = None,
    ) -> Page[Any]:
        """A page of what `decode` makes of a query's items; without `decode`, of their bytes, expired ones included."""
        flow: Flow[Page[Any]]
        if decode is None:
            flow = fetch_raw_page(self.context, call, size=size, cursor=cursor)
        else:
            flow = fetch_page(self.context, call, size=size, cursor=cursor, decode=decode)
        return self._run(flow, "query", call)

    def get_many(self, calls: Sequence[Get[E]], *, consistent: bool = False) -> list[E | None]:
        """The entities of many gets, read in batches, in the order of the calls.

        `consistent=True` reads each item as it is now; `transact_get` reads all of them as they are at one moment.
        """
        return self._run(fetch_batch(self.context, calls, consistent=consistent), "get_many")

    @overload
    def transact_get(self, a: Get[A], /) -> tuple[A | None]: ...
    @overload
    def transact_get(self, a: Get[A], b: Get[B], /) -> tuple[A | None, B | None]: ...
    @overload
    def transact_get(self, a: Get[A], b: Get[B], c: Get[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    def transact_get(
        self, a: Get[A], b: Get[B], c: Get[C], d: Get[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    def transact_get(self, *calls: Get[E]) -> tuple[E | None, ...]: ...
    def transact_get(self, *calls: Get[Any]) -> tuple[Any, ...]:
        """The entities of at most 100 gets as they are at one moment (TransactGetItems), None for those that are not.

        It costs two units where a strongly consistent get costs one, and as much for each old key of the entities.
        """
        from partita.store.transact_get import fetch_together

        return self._run(fetch_together(self.context, calls), "transact_get")

    def create(self, entity: N, *, when: Condition | None = None) -> N:
        """Stores a new entity and returns it as it was stored; AlreadyExists if its key is in use."""
        return self._run(self._flows.create(entity, when), "create", entity)

    def put(self, entity: N) -> N:
        """Creates the entity, or replaces the stored one."""
        return self._run(self._flows.put(entity), "put", entity)

    def replace(self, entity: Entity) -> None:
        """Makes the stored entity equal to this one; VersionConflict if its version has changed."""
        self._run(self._flows.replace(entity), "replace", entity)

    @contextmanager
    def change(
        self,
        call: Get[E],
        *,
        when: Condition | None = None,
        version: int | None = None,
        system_change: bool = False,
        create: bool = False,
    ) -> Iterator[E]:
        """A draft of the entity; the edits made in the block are one write at its end.

        `system_change=True` leaves the update time and the version as they are. `create=True` creates the entity where
        it does not exist, from its key and the defaults of its attributes: a counter begins with its first `+= 1`.
        """
        model = get_plan(call).model
        check_change(model, when, version, system_change, create)
        draft: Any = Draft(model)
        yield draft
        self._run(self._flows.change(call, draft, when, version, system_change, create), "change", call)

    def update(self, call: Get[E], edit: Callable[[E], None]) -> E:
        """Reads the entity, lets `edit` change it and writes the difference; again if it changed meanwhile.

        Returns the entity as it was written.
        """
        return self._run(self._flows.update(call, edit), "update", call)

    @overload
    def delete(
        self, what: Get[E], *, when: Condition | None = ..., check: Callable[[E], None] | None = ...
    ) -> E | None: ...
    @overload
    def delete(self, what: N, *, when: Condition | None = ..., check: Callable[[N], None] | None = ...) -> N | None: ...
    def delete(self, what: Any, *, when: Condition | None = None, check: Callable[[Any], None] | None = None) -> Any:
        """Deletes an entity, by its get or itself, with everything that it owns; returns the deleted entity.

        `check` receives the stored entity first and may raise; the entity is deleted only as `check` has seen it.
        """
        return self._run(self._flows.delete(what, when, check), "delete", what)

    def put_many(self, entities: Sequence[Entity]) -> None:
        """Puts entities without invariants, in batches."""
        self._run(self._flows.put_many(entities), "put_many")

    def delete_many(self, calls: Sequence[Get[Any]]) -> None:
        """Deletes entities without invariants, in batches."""
        self._run(self._flows.delete_many(calls), "delete_many")

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Collects the writes of the block and sends them at its end, all or nothing."""
        transaction = Transaction(self.context, self.design)
        yield transaction
        self._run(transaction.flow(), "transaction")

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
        check_text("retrying", "entity", entity)
        for attempt in range(ATTEMPTS):
            yield attempt
            self._sleep(pause_after_conflict(self.context, entity, attempt).seconds)
        raise retries_exhausted(entity)

    def find_by_unique(self, entity: type[N], unique: str, *values: Any) -> N | None:
        """The entity that has a unique value, or None."""
        return self._run(self._flows.find_by_unique(entity, unique, *values), "find_by_unique", entity)

    def release_unique(self, entity: type[Any], unique: str, *values: Any) -> None:
        """Frees a value that `Unique(keep_after_delete=True)` has kept."""
        self._run(self._flows.release_unique(entity, unique, *values), "release_unique", entity)

    def adopt(self, progress: "Callable[[Adoption], None] | None" = None) -> "Adoption":
        """Rewrites items that other code stored as the design stores them: keys, guards, counters."""
        from partita.store.adoption import adopt

        return self._run(adopt(self.context, self.design, progress), "adopt")

    def scan(self, *entities: type[N], where: Condition | None = None) -> Iterator[N]:
        """Every stored entity of these classes, by scanning their tables: for jobs, not for requests.

        `where` is evaluated by DynamoDB, on stored attributes: what it drops is read and billed, but not sent. An item
        that cannot be decoded is left out; `adopt` reports it.
        """
        from partita.store.scanning import scans

        return self._scan(scans(self.design, entities, where))

    def _scan(self, scans: "list[TableScan]") -> Iterator[Any]:
        from partita.store.scanning import scan_page

        for each in scans:
            start: Item | None = None
            while True:
                found, start = self._run(scan_page(self.context, each, start), "scan", each.table.name)
                yield from found
                if start is None:
                    break

    def create_tables(self) -> list[Difference]:
        """Creates the design's tables; returns what differs in an existing table and cannot be changed."""
        return self._run(create_tables(self.context, self.design), "create_tables")

    def _check_design(self) -> None:
        """A DesignMismatch if the data is recorded with a design that does not fit this one."""
        from partita.store.design_watch import DesignWatch

        watch = self.watch or DesignWatch(self.design, self.context)
        run(watch.check(), self.backend, self._sleep)

    def differences(self) -> list[Difference]:
        """The differences between the design and the existing tables."""
        return self._run(table_differences(self.context, self.design), "differences")

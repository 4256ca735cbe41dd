"""The store for async code: the same flows behind `await`, `async with` and `async for`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import msgspec

from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query, VectorSearch
from partita.design.tables import Table
from partita.dynamodb.backend import AsyncBackend, Backend
from partita.dynamodb.values import Item
from partita.errors import StoredItemInvalid
from partita.plan.design import Design
from partita.plan.read_requests import get_plan, query_plan
from partita.plan.table_definitions import Difference
from partita.store.arguments import check_change, check_eventual, check_function, check_text
from partita.store.base_store import BaseStore, not_found
from partita.store.drafts import Draft
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow, run_async
from partita.store.observation import SentRequest
from partita.store.reading import Decode, Page, QueryPages, fetch_batch, fetch_one, fetch_page, fetch_raw_page
from partita.store.results import AsyncResults, StartPages
from partita.store.searching import SearchResult, fetch_nearest
from partita.store.settings import AsyncStoreSettings
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


class AsyncStore(BaseStore):
    """`Store` for async code: the same methods, awaited, over an async backend or a sync one that never waits.

    `connect_async(address, design)` opens one; the class itself is for a backend that is open already. The settings are
    those of `Store`, and `sleep` is awaited.
    """

    def __init__(
        self,
        backend: AsyncBackend | Backend,
        design: Design | Table,
        *tables: Table,
        clock: Callable[[], datetime] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
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

    def with_settings(self, **settings: "Unpack[AsyncStoreSettings]") -> "AsyncStore":
        """A store of the same design on the same backend, with some settings changed; closing one closes both."""
        changed: dict[str, Any] = {"sleep": self._sleep, **self._settings, **settings}
        other = AsyncStore(self.backend, self.design, **changed)
        other.watch = self.watch
        return other

    async def close(self) -> None:
        """Closes the backend, if it can be closed."""
        if self.watch is not None:
            await run_async(self.watch.leave(), self.backend, self._sleep)
        close: Callable[[], Awaitable[None] | None] | None = getattr(self.backend, "close", None)
        closing = None if close is None else close()
        if closing is not None:
            await closing

    async def __aenter__(self) -> "AsyncStore":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[R], operation: str, target: Any = None) -> R:
        if self._tracing is not None:
            flow = self._tracing.operation(operation, target, flow)
        return await run_async(flow, self.backend, self._sleep)

    @overload
    def __call__(self, call: Get[E], *, consistent: bool = ...) -> Awaitable[E | None]: ...
    @overload
    def __call__(self, call: Query[E], *, consistent: bool = ...) -> AsyncResults[E]: ...
    @overload
    def __call__(self, call: VectorSearch[E]) -> Awaitable[list[SearchResult[E]]]: ...
    def __call__(self, call: Any, *, consistent: bool = False) -> Any:
        """Runs a pattern.

        A get gives the entity or None, a query its results, which can be iterated or paged, and a search of a vector
        index a list of results with their scores.
        """
        if isinstance(call, VectorSearch):
            check_eventual(call, consistent)
            return self._run(fetch_nearest(self.context, call), "search", call)
        if isinstance(call, Get):
            return self.get(call, consistent=consistent)
        query_plan(call)
        start: StartPages[Any] = partial(QueryPages, self.context, call, consistent=consistent)
        return AsyncResults(start, lambda flow: self._run(flow, "query", call))

    async def get(self, call: Get[E], *, consistent: bool = False) -> E | None:
        """The entity, or None."""
        return await self._run(fetch_one(self.context, call, consistent=consistent), "get", call)

    async def one(self, call: Get[E], *, consistent: bool = False) -> E:
        """The entity, or NotFound."""
        found = await self.get(call, consistent=consistent)
        if found is None:
            raise not_found(call)
        return found

    async def read(self, call: Get[Any], decode: Decode[R], *, consistent: bool = False) -> R | None:
        """The result of `decode` on the bytes of an item; None if the item does not exist.

        `decode` receives the bytes, which are DynamoDB JSON, and the current second since 1970.
        """
        check_function("read", "decode", decode)
        flow: Flow[R | None] = fetch_one(self.context, call, consistent=consistent, decode=decode)
        return await self._run(flow, "get", call)

    @overload
    async def read_page(
        self, call: Query[Any], decode: None = ..., *, size: int | None = ..., cursor: str | None = ...
    ) -> Page[msgspec.Raw]: ...
    @overload
    async def read_page(
        self, call: Query[Any], decode: Decode[R], *, size: int | None = ..., cursor: str | None = ...
    ) -> Page[R]: ...
    async def read_page(
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
        return await self._run(flow, "query", call)

    async def get_many(self, calls: Sequence[Get[E]], *, consistent: bool = False) -> list[E | None]:
        """The entities of many gets, read in batches, in the order of the calls.

        `consistent=True` reads each item as it is now; `transact_get` reads all of them as they are at one moment.
        """
        return await self._run(fetch_batch(self.context, calls, consistent=consistent), "get_many")

    @overload
    async def transact_get(self, a: Get[A], /) -> tuple[A | None]: ...
    @overload
    async def transact_get(self, a: Get[A], b: Get[B], /) -> tuple[A | None, B | None]: ...
    @overload
    async def transact_get(self, a: Get[A], b: Get[B], c: Get[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def transact_get(
        self, a: Get[A], b: Get[B], c: Get[C], d: Get[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def transact_get(self, *calls: Get[E]) -> tuple[E | None, ...]: ...
    async def transact_get(self, *calls: Get[Any]) -> tuple[Any, ...]:
        """The entities of at most 100 gets as they are at one moment (TransactGetItems), None for those that are not.

        It costs two units where a strongly consistent get costs one, and as much for each old key of the entities.
        """
        from partita.store.transact_get import fetch_together

        return await self._run(fetch_together(self.context, calls), "transact_get")

    async def create(self, entity: N, *, when: Condition | None = None) -> N:
        """Stores a new entity and returns it as it was stored; AlreadyExists if its key is in use."""
        return await self._run(self._flows.create(entity, when), "create", entity)

    async def put(self, entity: N) -> N:
        """Creates the entity, or replaces the stored one."""
        return await self._run(self._flows.put(entity), "put", entity)

    async def replace(self, entity: Entity) -> None:
        """Makes the stored entity equal to this one; VersionConflict if its version has changed."""
        await self._run(self._flows.replace(entity), "replace", entity)

    @asynccontextmanager
    async def change(
        self,
        call: Get[E],
        *,
        when: Condition | None = None,
        version: int | None = None,
        system_change: bool = False,
        create: bool = False,
    ) -> AsyncIterator[E]:
        """A draft of the entity; the edits made in the block are one write at its end.

        `system_change=True` leaves the update time and the version as they are. `create=True` creates the entity where
        it does not exist, from its key and the defaults of its attributes: a counter begins with its first `+= 1`.
        """
        model = get_plan(call).model
        check_change(model, when, version, system_change, create)
        draft: Any = Draft(model)
        yield draft
        await self._run(self._flows.change(call, draft, when, version, system_change, create), "change", call)

    async def update(self, call: Get[E], edit: Callable[[E], None]) -> E:
        """Reads the entity, lets `edit` change it and writes the difference; again if it changed meanwhile.

        Returns the entity as it was written.
        """
        return await self._run(self._flows.update(call, edit), "update", call)

    @overload
    async def delete(
        self, what: Get[E], *, when: Condition | None = ..., check: Callable[[E], None] | None = ...
    ) -> E | None: ...
    @overload
    async def delete(
        self, what: N, *, when: Condition | None = ..., check: Callable[[N], None] | None = ...
    ) -> N | None: ...
    async def delete(
        self, what: Any, *, when: Condition | None = None, check: Callable[[Any], None] | None = None
    ) -> Any:
        """Deletes an entity, by its get or itself, with everything that it owns; returns the deleted entity.

        `check` receives the stored entity first and may raise; the entity is deleted only as `check` has seen it.
        """
        return await self._run(self._flows.delete(what, when, check), "delete", what)

    async def put_many(self, entities: Sequence[Entity]) -> None:
        """Puts entities without invariants, in batches."""
        await self._run(self._flows.put_many(entities), "put_many")

    async def delete_many(self, calls: Sequence[Get[Any]]) -> None:
        """Deletes entities without invariants, in batches."""
        await self._run(self._flows.delete_many(calls), "delete_many")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Collects the writes of the block and sends them at its end, all or nothing."""
        transaction = Transaction(self.context, self.design)
        yield transaction
        await self._run(transaction.flow(), "transaction")

    async def retrying(self, entity: str) -> AsyncIterator[int]:
        """Attempts of a read followed by a conditional write, with a pause between them; RetriesExhausted at the end.

        async for _ in db.retrying("Seat"):
            seat = await db.one(a_seat("12A"), consistent=True)
            ...
            try:
                async with db.transaction() as transaction: ...
                return
            except ConditionFailed:
                continue
        """
        check_text("retrying", "entity", entity)
        for attempt in range(ATTEMPTS):
            yield attempt
            await self._sleep(pause_after_conflict(self.context, entity, attempt).seconds)
        raise retries_exhausted(entity)

    async def find_by_unique(self, entity: type[N], unique: str, *values: Any) -> N | None:
        """The entity that has a unique value, or None."""
        return await self._run(self._flows.find_by_unique(entity, unique, *values), "find_by_unique", entity)

    async def release_unique(self, entity: type[Any], unique: str, *values: Any) -> None:
        """Frees a value that `Unique(keep_after_delete=True)` has kept."""
        await self._run(self._flows.release_unique(entity, unique, *values), "release_unique", entity)

    async def adopt(self, progress: "Callable[[Adoption], None] | None" = None) -> "Adoption":
        """Rewrites items that other code stored as the design stores them: keys, guards, counters."""
        from partita.store.adoption import adopt

        return await self._run(adopt(self.context, self.design, progress), "adopt")

    def scan(self, *entities: type[N], where: Condition | None = None) -> AsyncIterator[N]:
        """Every stored entity of these classes, by scanning their tables: for jobs, not for requests.

        `where` is evaluated by DynamoDB, on stored attributes: what it drops is read and billed, but not sent. An item
        that cannot be decoded is left out; `adopt` reports it.
        """
        from partita.store.scanning import scans

        return self._scan(scans(self.design, entities, where))

    async def _scan(self, scans: "list[TableScan]") -> AsyncIterator[Any]:
        from partita.store.scanning import scan_page

        for each in scans:
            start: Item | None = None
            while True:
                found, start = await self._run(scan_page(self.context, each, start), "scan", each.table.name)
                for entity in found:
                    yield entity
                if start is None:
                    break

    async def create_tables(self) -> list[Difference]:
        """Creates the design's tables; returns what differs in an existing table and cannot be changed."""
        return await self._run(create_tables(self.context, self.design), "create_tables")

    async def _check_design(self) -> None:
        """A DesignMismatch if the data is recorded with a design that does not fit this one."""
        from partita.store.design_watch import DesignWatch

        watch = self.watch or DesignWatch(self.design, self.context)
        await run_async(watch.check(), self.backend, self._sleep)

    async def differences(self) -> list[Difference]:
        """The differences between the design and the existing tables."""
        return await self._run(table_differences(self.context, self.design), "differences")

"""The store, awaited: the same flows behind `await` and `async with`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, TypeVar, overload

from partita.describe.explain import explain
from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query
from partita.design.tables import Table
from partita.dynamodb.backend import AsyncBackend, Backend
from partita.dynamodb.values import Item
from partita.errors import RetriesExhausted
from partita.plan.design import Design
from partita.plan.read_requests import plan_of
from partita.plan.schema import Difference
from partita.store.adoption import Adoption, adopt
from partita.store.drafts import Draft
from partita.store.entity_flows import EntityFlows
from partita.store.execution import ATTEMPTS
from partita.store.flows import Flow, run_async
from partita.store.reading import Page, fetch_batch, fetch_one, fetch_page
from partita.store.results import AsyncResults
from partita.store.retries import CapacityMeter, SentRequest
from partita.store.scanning import scan_page, scanned_tables
from partita.store.store import context_of, missing, proven
from partita.store.table_setup import create_tables, table_differences
from partita.store.transactions import Transaction

E = TypeVar("E")
N = TypeVar("N", bound=Entity)
R = TypeVar("R")


class AsyncStore:
    """`Store` for async code, over an async backend or a sync one that answers at once."""

    def __init__(
        self,
        backend: AsyncBackend | Backend,
        design: Design | Table,
        *tables: Table,
        clock: Callable[[], datetime] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
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

    async def close(self) -> None:
        """Closes the backend, where it is one that can be closed."""
        close: Callable[[], Awaitable[None] | None] | None = getattr(self.backend, "close", None)
        closing = None if close is None else close()
        if closing is not None:
            await closing

    async def __aenter__(self) -> "AsyncStore":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[R]) -> R:
        return await run_async(flow, self.backend, self._sleep)

    async def get(self, call: Get[E], *, consistent: bool = False) -> E | None:
        return await self._run(fetch_one(self.context, call, consistent=consistent))

    @overload
    def __call__(self, call: Get[E], *, consistent: bool = ...) -> Awaitable[E | None]: ...
    @overload
    def __call__(self, call: Query[E], *, consistent: bool = ...) -> AsyncResults[E]: ...
    def __call__(self, call: Get[E] | Query[E], *, consistent: bool = False) -> Awaitable[E | None] | AsyncResults[E]:
        """Run a pattern: await a get, iterate or page a query."""
        if isinstance(call, Get):
            return self.get(call, consistent=consistent)

        async def page(size: int | None, cursor: str | None) -> Page[E]:
            return await self._run(fetch_page(self.context, call, size=size, cursor=cursor, consistent=consistent))

        return AsyncResults(page)

    async def one(self, call: Get[E], *, consistent: bool = False) -> E:
        found = await self.get(call, consistent=consistent)
        if found is None:
            raise missing(call)
        return found

    async def get_many(self, calls: Sequence[Get[E]]) -> list[E | None]:
        return await self._run(fetch_batch(self.context, calls))

    async def create(self, entity: E, *, when: Condition | None = None) -> E:
        return await self._run(self._flows.create(entity, when))

    async def put(self, entity: E) -> E:
        return await self._run(self._flows.put(entity))

    async def replace(self, entity: Any) -> None:
        await self._run(self._flows.replace(entity))

    @asynccontextmanager
    async def change(
        self, call: Get[E], *, when: Condition | None = None, version: int | None = None, system_change: bool = False
    ) -> AsyncIterator[E]:
        draft: Any = Draft(plan_of(call.read).model)
        yield draft
        await self._run(self._flows.change(call, draft, when, version, system_change))

    async def update(self, call: Get[E], edit: Callable[[E], None]) -> E:
        return await self._run(self._flows.update(call, edit))

    @overload
    async def delete(self, what: Get[E], *, when: Condition | None = ...) -> E | None: ...
    @overload
    async def delete(self, what: N, *, when: Condition | None = ...) -> N | None: ...
    async def delete(self, what: Any, *, when: Condition | None = None) -> Any:
        return await self._run(self._flows.delete(what, when))

    async def put_many(self, entities: Sequence[Any]) -> None:
        await self._run(self._flows.put_many(entities))

    async def delete_many(self, calls: Sequence[Get[Any]]) -> None:
        await self._run(self._flows.delete_many(calls))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        transaction = Transaction(self.context, self.design)
        yield transaction
        await self._run(transaction.flow())

    async def retrying(self, entity: str) -> AsyncIterator[int]:
        for attempt in range(ATTEMPTS):
            yield attempt
            await self._sleep(self.context.pause(min(attempt, self.context.retries)).seconds)
        raise RetriesExhausted(entity, ATTEMPTS)

    async def find_by_unique(self, entity: type[E], unique: str, *values: Any) -> E | None:
        return await self._run(self._flows.find_by_unique(entity, unique, *values))

    async def release_unique(self, entity: type[Any], unique: str, *values: Any) -> None:
        await self._run(self._flows.release_unique(entity, unique, *values))

    async def adopt(self, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
        return await self._run(adopt(self.context, self.design, progress))

    async def scan(self, *entities: type[E]) -> AsyncIterator[E]:
        for table, wanted in scanned_tables(self.design, entities).items():
            start: Item | None = None
            while True:
                found, start = await self._run(scan_page(self.context, table, wanted, start))
                for each in found:
                    yield each
                if start is None:
                    break

    async def create_tables(self) -> list[Difference]:
        return await self._run(create_tables(self.context, self.design))

    async def differences(self) -> list[Difference]:
        return await self._run(table_differences(self.context, self.design))

    @contextmanager
    def measure(self) -> Iterator[CapacityMeter]:
        """Capacity used inside the block, by whatever task."""
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
        return explain(call, item_bytes)

    def explain_create(self, entity: Any) -> str:
        return self._flows.explain_create(entity)

    def explain_change(self, call: Get[E], edit: Callable[[E], None]) -> str:
        draft: Any = Draft(plan_of(call.read).model)
        edit(draft)
        return self._flows.explain_change(call, draft)

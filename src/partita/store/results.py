"""The results of a query: pages on demand, or an iteration over all of them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from partita.store.reading import Page

E = TypeVar("E")
NextPage = Callable[[int | None, str | None], Page[E]]
NextPageAsync = Callable[[int | None, str | None], Awaitable[Page[E]]]


class Results(Generic[E]):
    """Iterate to read every page; `page`, `first` and `one` read no more than they return."""

    def __init__(self, next_page: NextPage[E]) -> None:
        self._next = next_page

    def page(self, size: int | None = None, cursor: str | None = None) -> Page[E]:
        """One page; pass its cursor for the next."""
        return self._next(size, cursor)

    def first(self, count: int) -> list[E]:
        """The first items, at most `count`."""
        return self._next(count, None).items if count else []

    def one(self) -> E | None:
        """The first item, or None."""
        return next(iter(self.first(1)), None)

    def __iter__(self) -> Iterator[E]:
        cursor: str | None = None
        while True:
            page = self._next(None, cursor)
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return


class AsyncResults(Generic[E]):
    """The same, awaited."""

    def __init__(self, next_page: NextPageAsync[E]) -> None:
        self._next = next_page

    async def page(self, size: int | None = None, cursor: str | None = None) -> Page[E]:
        """One page; pass its cursor for the next."""
        return await self._next(size, cursor)

    async def first(self, count: int) -> list[E]:
        """The first items, at most `count`."""
        return (await self._next(count, None)).items if count else []

    async def one(self) -> E | None:
        """The first item, or None."""
        return next(iter(await self.first(1)), None)

    async def __aiter__(self) -> AsyncIterator[E]:
        cursor: str | None = None
        while True:
            page = await self._next(None, cursor)
            for item in page.items:
                yield item
            cursor = page.cursor
            if cursor is None:
                return

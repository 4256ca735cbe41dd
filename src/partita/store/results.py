"""The results of a query: pages on demand, or an iteration over all of them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

from partita.errors import ConfigurationError
from partita.store.arguments import check_count
from partita.store.flows import Flow
from partita.store.reading import Page, QueryPages

E = TypeVar("E")
StartPages = Callable[[str | None], QueryPages[E]]
Run = Callable[[Flow[Any]], Any]
RunAsync = Callable[[Flow[Any]], Awaitable[Any]]


class _Unread:
    """Results that have not been read yet, so that nobody knows whether there are any."""

    def __bool__(self) -> bool:
        wrong = "the results of a query are neither true nor false, since they have not been read"
        raise ConfigurationError(f"{wrong}; write `one() is None` for whether there are none")


class Results(_Unread, Generic[E]):
    """Iterate to read every page; `page`, `first` and `one` read no more than they return."""

    def __init__(self, start: StartPages[E], run: Run) -> None:
        self._start = start
        self._run = run

    def page(self, size: int | None = None, cursor: str | None = None) -> Page[E]:
        """One page; pass its cursor for the next."""
        pages = self._start(cursor)
        return Page(self._run(pages.fetch(size)), pages.cursor())

    def first(self, count: int) -> list[E]:
        """The first items, at most `count`."""
        check_count("first", "count", count)
        found: list[E] = self._run(self._start(None).fetch(count)) if count else []
        return found

    def one(self) -> E | None:
        """The first item, or None."""
        return next(iter(self.first(1)), None)

    def __iter__(self) -> Iterator[E]:
        pages = self._start(None)
        while not pages.is_done:
            yield from self._run(pages.fetch())


class AsyncResults(_Unread, Generic[E]):
    """The same, awaited."""

    def __init__(self, start: StartPages[E], run: RunAsync) -> None:
        self._start = start
        self._run = run

    async def page(self, size: int | None = None, cursor: str | None = None) -> Page[E]:
        """One page; pass its cursor for the next."""
        pages = self._start(cursor)
        return Page(await self._run(pages.fetch(size)), pages.cursor())

    async def first(self, count: int) -> list[E]:
        """The first items, at most `count`."""
        check_count("first", "count", count)
        found: list[E] = await self._run(self._start(None).fetch(count)) if count else []
        return found

    async def one(self) -> E | None:
        """The first item, or None."""
        return next(iter(await self.first(1)), None)

    async def __aiter__(self) -> AsyncIterator[E]:
        pages = self._start(None)
        while not pages.is_done:
            for item in await self._run(pages.fetch()):
                yield item

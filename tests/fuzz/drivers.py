"""The sync and the async store behind one face, so that each write and read can be done by either."""

from collections.abc import Callable
from typing import Any

from partita import AsyncStore, Store
from tests.fuzz.conditions import Condition
from tests.fuzz.designs import EntitySpec
from tests.fuzz.patterns import Loaded
from tests.fuzz.write_spec import Values, Write


class Driver:
    """Writes and reads of a loaded design by a sync store."""

    def __init__(self, loaded: Loaded, backend: Any, clock: Callable[[], Any]) -> None:
        self.loaded = loaded
        self.settings: dict[str, Any] = {"clock": clock, "random": lambda: 0.5, "cursor_keys": [b"0123456789abcdef"]}
        self.store = Store(backend, loaded.design, sleep=lambda _: None, **self.settings)

    def get(self, entity: EntitySpec, values: Values) -> Any:
        return self.loaded.names["get"](self.loaded.cls(entity), *(values[name] for name in entity.key.fields))

    def made(self, write: Write) -> Any:
        version = {"version": write.version} if write.kind == "replace" and write.version is not None else {}
        return self.loaded.cls(write.entity)(**write.values, **version)

    def condition(self, wanted: Condition | None) -> Any:
        return None if wanted is None else eval(wanted.text, self.loaded.names)  # noqa: S307

    def change(self, write: Write) -> dict[str, Any]:
        return {"when": self.condition(write.when), "version": write.version, "create": write.create}

    def write(self, write: Write) -> Any:
        """Does it; the result is that of the store."""
        store, kind = self.store, write.kind
        when = self.condition(write.when)
        if kind == "create":
            return store.create(self.made(write), when=when)
        if kind in ("put", "replace"):
            return getattr(store, kind)(self.made(write))
        if kind == "delete":
            return store.delete(self.get(write.entity, write.key), when=when)
        if kind == "change":
            with store.change(self.get(write.entity, write.key), **self.change(write)) as draft:
                edit(draft, write)
            return None
        if kind == "update":
            return store.update(self.get(write.entity, write.key), lambda entity: edit(entity, write))
        if kind == "put_many":
            return store.put_many([self.made(each) for each in write.parts])
        if kind == "delete_many":
            return store.delete_many([self.get(each.entity, each.key) for each in write.parts])
        if kind == "release":
            return store.release_unique(self.loaded.cls(write.entity), "u0", *write.values.values())
        with store.transaction() as transaction:
            for each in write.parts:
                self.add(transaction, each)
        return None

    def add(self, transaction: Any, write: Write) -> None:
        when = self.condition(write.when)
        if write.kind in ("create", "put"):
            getattr(transaction, write.kind)(self.made(write))
        elif write.kind == "delete":
            transaction.delete(self.get(write.entity, write.key), when=when)
        elif write.kind == "check":
            transaction.check(self.get(write.entity, write.key), when)
        else:
            draft = transaction.change(self.get(write.entity, write.key), **self.change(write))
            edit(draft, write)

    def one(self, call: Any) -> Any:
        return self.store(call)

    def all(self, call: Any) -> list[Any]:
        return list(self.store(call))

    def page(self, call: Any, size: int, cursor: str | None) -> Any:
        return self.store(call).page(size, cursor)

    def nearest(self, call: Any) -> list[Any]:
        found: list[Any] = self.store(call)
        return found


class AsyncDriver(Driver):
    """The same by an async store, on an event loop of its own."""

    def __init__(self, loaded: Loaded, backend: Any, clock: Callable[[], Any]) -> None:
        super().__init__(loaded, backend, clock)
        self.awaited = AsyncStore(backend, loaded.design, sleep=_no_sleep, **self.settings)

    def write(self, write: Write) -> Any:
        return _run(self._write(write))

    async def _write(self, write: Write) -> Any:
        store, kind = self.awaited, write.kind
        when = self.condition(write.when)
        if kind == "create":
            return await store.create(self.made(write), when=when)
        if kind in ("put", "replace"):
            return await getattr(store, kind)(self.made(write))
        if kind == "delete":
            return await store.delete(self.get(write.entity, write.key), when=when)
        if kind == "change":
            async with store.change(self.get(write.entity, write.key), **self.change(write)) as draft:
                edit(draft, write)
            return None
        if kind == "update":
            return await store.update(self.get(write.entity, write.key), lambda entity: edit(entity, write))
        if kind == "put_many":
            return await store.put_many([self.made(each) for each in write.parts])
        if kind == "delete_many":
            return await store.delete_many([self.get(each.entity, each.key) for each in write.parts])
        if kind == "release":
            return await store.release_unique(self.loaded.cls(write.entity), "u0", *write.values.values())
        async with store.transaction() as transaction:
            for each in write.parts:
                self.add(transaction, each)
        return None

    def one(self, call: Any) -> Any:
        return _run(self.awaited.get(call))

    def all(self, call: Any) -> list[Any]:
        async def collected() -> list[Any]:
            return [each async for each in self.awaited(call)]

        found: list[Any] = _run(collected())
        return found

    def page(self, call: Any, size: int, cursor: str | None) -> Any:
        return _run(self.awaited(call).page(size, cursor))

    def nearest(self, call: Any) -> list[Any]:
        found: list[Any] = _run(self.awaited(call))
        return found


def edit(draft: Any, write: Write) -> None:
    """Assigns the values of a change, and adds its step."""
    for name, value in write.values.items():
        setattr(draft, name, value)
    for name, amount in write.steps.items():
        setattr(draft, name, getattr(draft, name) + amount)


async def _no_sleep(_: float) -> None:
    return None


def _run(awaitable: Any) -> Any:
    """The result of a coroutine that never waits, since the backend answers at once."""
    try:
        awaitable.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the store waits for something")

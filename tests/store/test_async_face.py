"""The sync and the async store have the same methods: names, parameters, annotations and docstrings."""

import inspect
import re
from collections.abc import Callable
from typing import Any, get_overloads

import pytest

from partita import AsyncStore, Store, connect, connect_async
from partita.store.results import AsyncResults, Results

SYNC_WORDS = {
    "AsyncBackend | Backend": "Backend",
    "AsyncStoreSettings": "SyncSettings",
    "SyncStoreSettings": "SyncSettings",
    "async for ": "for ",
    "async with ": "with ",
    "await ": "",
    "AsyncIterator": "Iterator",
    "AsyncResults": "Results",
    "AsyncStore": "Store",
}


def sync_words(text: str) -> str:
    """A text about the async store in the words of the sync one: an awaited result is a result."""
    text = text.replace("typing.", "").replace("collections.abc.", "").replace("partita.dynamodb.backend.", "")
    for asynchronous, synchronous in SYNC_WORDS.items():
        text = text.replace(asynchronous, synchronous)
    return re.sub(r"Awaitable\[((?:[^\[\]]|\[[^\]]*\])*)\]", r"\1", text)


def public_methods(cls: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(cls) if not name.startswith("_")}


def described(function: Callable[..., Any]) -> list[str]:
    """Everything that a caller sees of a function; the default of `sleep` differs on purpose."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(default=inspect.Parameter.empty) if each.name == "sleep" else each
        for each in signature.parameters.values()
    ]
    returned = str(signature.return_annotation).replace("<class '", "").replace("'>", "")
    return [sync_words(str(each)) for each in parameters] + [
        "-> " + sync_words(returned),
        sync_words(inspect.getdoc(function) or ""),
    ]


FACES = [(Store, AsyncStore), (Results, AsyncResults)]
METHODS = [
    pytest.param(sync, asynchronous, name, id=f"{sync.__name__}.{name}")
    for sync, asynchronous in FACES
    for name in sorted({*public_methods(sync), *public_methods(asynchronous), "__init__"})
]


@pytest.mark.parametrize(("sync", "asynchronous", "name"), METHODS)
def test_method_is_the_same_on_both_faces(sync: type, asynchronous: type, name: str) -> None:
    one, other = getattr(sync, name), getattr(asynchronous, name)
    if name == "__init__" and sync is Results:
        return  # each takes a function that reads a page in its own way
    assert described(one) == described(other)
    assert [described(each) for each in get_overloads(one)] == [described(each) for each in get_overloads(other)]
    if not name.startswith("_"):
        assert inspect.getdoc(one), "a public method has a docstring"


def test_call_is_the_same_on_both_faces() -> None:
    """An async get is awaited and an async query is not, so the overloads are compared."""
    one, other = Store.__call__, AsyncStore.__call__
    assert [described(each) for each in get_overloads(one)] == [described(each) for each in get_overloads(other)]
    assert inspect.getdoc(one) == inspect.getdoc(other)


def test_method_that_sends_is_awaited_and_one_that_does_not_is_shared() -> None:
    for name, method in public_methods(Store).items():
        other = getattr(AsyncStore, name)
        inner = inspect.unwrap(other)
        awaited = inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner)
        returns_iterator = name == "scan"  # which checks its condition before it is iterated
        assert method is other or awaited or returns_iterator or name == "with_settings", name


def test_connect_takes_the_same_on_both_faces() -> None:
    one, other = inspect.signature(connect).parameters, inspect.signature(connect_async).parameters
    assert list(one) == list(other)


def test_difference_between_the_faces_is_found() -> None:
    """The comparison finds another name, another default, another type and another docstring."""

    def one(self: Any, count: int = 1) -> "list[int]":
        """Some."""
        raise NotImplementedError

    async def same(self: Any, count: int = 1) -> "list[int]":
        """Some."""
        raise NotImplementedError

    async def renamed(self: Any, size: int = 1) -> "list[int]":
        """Some."""
        raise NotImplementedError

    async def other_default(self: Any, count: int = 2) -> "list[int]":
        """Some."""
        raise NotImplementedError

    async def other_type(self: Any, count: int = 1) -> "list[str]":
        """Some."""
        raise NotImplementedError

    async def other_words(self: Any, count: int = 1) -> "list[int]":
        """Others."""
        raise NotImplementedError

    assert described(one) == described(same)
    for different in (renamed, other_default, other_type, other_words):
        assert described(one) != described(different)

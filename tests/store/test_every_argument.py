"""Every argument of every public method, one after the other, with values of other types: an error of ours names it.

The methods and their parameters are found by introspection. A method that is added needs a line in `CALLS`, and a
parameter whose type is checked nowhere fails here. Python's own TypeError for a missing, unknown or surplus argument
is left as it is: it names the method and the argument (test_arguments.py).
"""

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from partita import AsyncStore, F, HandlerTransaction, PartitaError, Store, Transaction, connect
from partita.consumers.consumer_store import ConsumerStore
from partita.dynamodb.exceptions import DynamoDBError
from partita.store.results import AsyncResults, Results
from tests.store.test_arguments import (
    AT,
    Box,
    Sheet,
    Shelf,
    Stranger,
    a_box,
    a_sheet,
    awaited,
    blocked,
    box,
    completed,
    db_state,
    design,
    raw,
    sheet,
    sheets,
)

GET, QUERY = a_box("b"), sheets("b")
CALLS: dict[str, tuple[Any, ...]] = {
    "__call__": (QUERY,),
    "adopt": (),
    "change": (GET,),
    "check": (GET, F.weight == 1),
    "create": (box(box="new"),),
    "cursor_position": ("list", "cursor"),
    "decode_item": ("archive", {"PK": {"S": "BOX#b"}, "SK": {"S": "BOX"}}),
    "delete": (a_box("none"),),
    "delete_many": ([a_sheet("b", AT, "none")],),
    "explain": (GET,),
    "explain_change": (GET, lambda draft: None),
    "explain_create": (box(),),
    "explain_scan": (Box,),
    "find": (QUERY,),
    "find_by_unique": (Box, "label", "l"),
    "first": (1,),
    "get": (GET,),
    "get_many": ([GET],),
    "one": (GET,),
    "page": (),
    "put": (sheet(),),
    "put_many": ([sheet()],),
    "read": (GET, raw),
    "read_page": (QUERY,),
    "release_unique": (Box, "label", "x"),
    "replace": (box(),),
    "retrying": ("Box",),
    "scan": (Box,),
    "sign_cursor": ("list", "position"),
    "table_name": ("archive",),
    "transact_get": (GET,),
    "update": (GET, lambda entity: None),
}
WITHOUT_ARGUMENTS = {"close", "commit", "create_tables", "differences", "flow", "measure", "now", "transaction"}
INTERNAL = {"commit_as_owner", "ended", "include"}
SETTINGS = {"with_settings"}  # each setting has its rule: tests/store/test_arguments.py, tests/test_connect.py

VALUES = [5, -1, 1.5, True, None, "x", "", b"x", [], [5], {}, {"a": 1}, object(), int, Box]
VALUES += [datetime(2025, 1, 1), Stranger(name="s"), GET, QUERY, box(), lambda: None]
FUNCTIONS = {"decode", "edit", "check", "progress"}  # a wrong function raises what it raises
TEXTS = {("entity", "retrying"), ("name", "sign_cursor"), ("position", "sign_cursor"), ("name", "cursor_position")}
TEXTS |= {("values", "find_by_unique"), ("values", "release_unique")}


BOTH = {"__call__", "explain"}
LISTS = {"find", "read_page"}


def is_right(method: str, parameter: inspect.Parameter, value: Any) -> bool:
    """Whether the value is of a type that the parameter has; most of them write nothing, or nothing new."""
    name = parameter.name
    if value is None:
        return parameter.default is None
    if name in FUNCTIONS:
        return callable(value)
    if (name, method) in TEXTS:
        return isinstance(value, str)
    kinds: dict[str, Callable[[Any], bool]] = {
        "consistent": lambda value: value is True,
        "system_change": lambda value: value is True,
        "create": lambda value: value is True,
        "fenced": lambda value: value is True,
        "call": lambda value: value in ((GET, QUERY) if method in BOTH else (QUERY if method in LISTS else GET,)),
        "calls": lambda value: value is GET if method == "transact_get" else value == [],
        "entities": lambda value: value is Box if "scan" in method else value == [],
        "what": lambda value: value is GET or isinstance(value, Box),
        "entity": lambda value: isinstance(value, Box) or (value is Box and "unique" in method),
        "version": lambda value: type(value) is int,
        "item_bytes": lambda value: type(value) is int and value > 0,
        "size": lambda value: type(value) is int and value > 0,
        "count": lambda value: type(value) is int and value > 0,
        "limit": lambda value: type(value) is int and value > 0,
        "seen": lambda value: isinstance(value, Box),
    }
    return name in kinds and kinds[name](value)


def parameters(method: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(method).parameters.values() if each.name != "self"]


def public_methods(kind: type[Any]) -> list[str]:
    found = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    return [*found, "__call__"] if "__call__" in vars(kind) else found


def arguments(method: str, changed: inspect.Parameter, value: Any, every: list[inspect.Parameter]) -> Any:
    """The arguments of a right call with one of them replaced."""
    positional = [each.name for each in every if each.kind is each.POSITIONAL_OR_KEYWORD]
    given = list(CALLS[method])
    if changed.kind is changed.VAR_POSITIONAL:
        return [*given[: len(positional)], value], {}
    if changed.kind is changed.KEYWORD_ONLY or positional.index(changed.name) >= len(given):
        return given, {changed.name: value}
    return [value if each == changed.name else old for each, old in zip(positional, given, strict=False)], {}


CLASSES = [Store, AsyncStore, Transaction, HandlerTransaction, Results, AsyncResults]


@pytest.fixture
def backend() -> Iterator[Any]:
    with connect("memory:", maintain=False) as opened:
        db = Store(opened, design)
        db.create_tables()
        db.create(Shelf(shelf="s"))
        db.create(Box(box="b", shelf="s", weight=1, label="l"))
        db.create(Sheet(box="b", at=AT, sheet="1"))
        yield opened


def made(kind: type[Any], backend: Any) -> Any:
    db: Any = (AsyncStore if kind in (AsyncStore, AsyncResults) else Store)(backend, design)
    if kind is Transaction:
        return Transaction(db.context, design)
    if kind is HandlerTransaction:
        return HandlerTransaction(ConsumerStore(db))
    return db(QUERY) if kind in (Results, AsyncResults) else db


def outcome(kind: type[Any], backend: Any, method: str, args: list[Any], options: dict[str, Any]) -> Any:
    """The error of the call; None where it succeeds."""

    def act(target: Any, _: Any) -> Any:
        found = getattr(target, method)(*args, **options)
        if isinstance(found, Results | AsyncResults):
            return found.page()
        return blocked(found, lambda _: None) if kind in (Store, AsyncStore) and method == "change" else found

    try:
        (awaited if kind in (AsyncStore, AsyncResults) else completed)(act, made(kind, backend), None)
    except Exception as error:  # noqa: BLE001 - any that is not ours is the fault that is looked for
        return error
    return None


def fault(error: Exception | None, parameter: str, value: Any) -> str | None:
    """The reason why an error is not one that names the argument; None where it is."""
    if not isinstance(error, PartitaError) or isinstance(error, DynamoDBError):
        return f"{type(error).__name__}: {error}"
    message = str(error)
    name = parameter.removesuffix("s")
    if name in message.lower() or shown(value) in message or (name == "value" and "Box.label" in message):
        return None
    return f"unnamed: {message}"


def shown(value: Any) -> str:
    """The value as a message names it: a call by its pattern, a class by its name, others as they are."""
    if value in (GET, QUERY):
        return "a_box" if value is GET else "sheets"
    if value is int or isinstance(value, Stranger):
        return "int" if value is int else "Stranger"
    return repr(value[0] if value == [5] else value)


@pytest.mark.parametrize("kind", CLASSES)
def test_argument_of_a_wrong_type_is_named(kind: type[Any], backend: Any) -> None:
    before = db_state(backend)
    faults = []
    for method in public_methods(kind):
        every = parameters(getattr(kind, method))
        for parameter in every if method not in SETTINGS | INTERNAL else ():
            for value in VALUES:
                if not is_right(method, parameter, value):
                    args, options = arguments(method, parameter, value, every)
                    wrong = fault(outcome(kind, backend, method, args, options), parameter.name, value)
                    if wrong is not None:
                        faults.append(f"{method}({parameter.name}={value!r}): {wrong}")
    assert not faults, "\n".join(faults)
    assert db_state(backend) == before


@pytest.mark.parametrize("kind", CLASSES)
def test_every_public_method_is_known_here(kind: type[Any]) -> None:
    with_arguments = {name for name in public_methods(kind) if parameters(getattr(kind, name))}
    assert with_arguments <= CALLS.keys() | SETTINGS | INTERNAL
    assert set(public_methods(kind)) - with_arguments <= WITHOUT_ARGUMENTS | INTERNAL | {"one"}

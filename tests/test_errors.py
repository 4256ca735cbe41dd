"""The tree of errors: whatever Partita raises is a PartitaError, is exported, and survives a copy."""

import ast
import builtins
import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import pytest

import partita
from partita import (
    Entity,
    F,
    Item,
    Items,
    PartitaError,
    Store,
    Table,
    Transitions,
    Unique,
    connect,
    pattern,
    prove,
)
from partita import errors as tree
from partita.dynamodb import exceptions
from partita.errors import Fault
from partita.plan import races
from partita.rest.problems import Problem
from partita.validation import FaultyValue

SOURCE = Path(partita.__file__).parent

# Signals of Python's own protocols, and of values that a caller one level up turns into an InvalidValue.
PROTOCOL = {"AttributeError", "NotImplementedError", "AssertionError", "StopIteration", "SystemExit"}
CAUGHT_WITHIN: dict[str, set[str]] = {
    "design/codecs.py": {"ValueError"},
    "design/json_codec.py": {"TypeError"},  # how a hook of msgspec's says no
    "design/own_rules.py": {"_Unknown"},
    "design/pydantic_bridge.py": {"TypeError"},  # how a serializer of pydantic's says no
    "design/key_parts.py": {"ValueError"},
    "design/untyped_values.py": {"ValueError"},
    "design/vector_values.py": {"ValueError"},
    "engine/buckets.py": {"BucketMissing"},  # these three become the failure of an export or import, or a count
    "engine/bulk_puts.py": {"InvalidRecord"},
    "engine/data_formats.py": {"UnreadableObject", "EOFError"},  # the second as gzip's
    "engine/imports.py": {"InvalidRecord"},
    "engine/ion_text.py": {"InvalidRecord", "UnreadableObject"},
    "jobs/cron.py": {"ValueError"},
    "plan/item_compiler.py": {"ValueError"},
    "plan/items.py": {"ValueError", "_ReservedText"},
    "rest/auth/dev_issuer.py": {"ValueError"},
    "rest/auth/jwks.py": {"ValueError", "HTTPError", "TimeoutError"},
    "store/decoding.py": {"ValueError"},
    "store/retries.py": {"PerhapsApplied"},
    "plan/adjacent_values.py": {"EmptyRange"},
    "dynamodb/serialization_errors.py": {"_NullMember"},
    "plan/range_conditions.py": {"EmptyPrefix"},
    "plan/proof/satisfiable.py": {"_TooManySteps"},
    "plan/read_requests.py": {"EmptyRange"},
    "recovery/moving.py": {"_TooSlow"},
    "engine/constraints.py": {"_NotRemembered"},
    "cli/evolve.py": {"KeyboardInterrupt"},  # with what goes on afterwards, which cli/main.py prints
    "studio/edit_pages.py": {"Redirect"},  # studio_app.py answers these
    "studio/health_page.py": {"Redirect"},
    "studio/history_page.py": {"Redirect"},
    "studio/overview.py": {"Redirect"},
    "studio/search_tabs.py": {"Redirect"},
    "studio/studio_app.py": {"_Rejected"},
    "studio/transfer_pages.py": {"DownloadBroken"},  # streaming.py breaks the response off
    "studio/json_input.py": {"NotJson"},  # each page says what it wanted
    "studio/markup.py": {"ValueError"},  # markup that the page's policy would block: a fault in a page of ours
}


def raised() -> Iterator[tuple[str, str, int]]:
    """(file, name, line) of every `raise Name(...)` in the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(called, ast.Name):
                    yield str(path.relative_to(SOURCE)), called.id, node.lineno


def class_named(file: str, name: str) -> Any:
    module = import_module(".".join(["partita", *Path(file).with_suffix("").parts]).removesuffix(".__init__"))
    return getattr(module, name, None) or getattr(builtins, name, None)


def test_every_class_that_is_raised_is_a_partita_error() -> None:
    others = []
    for file, name, line in raised():
        kind = class_named(file, name)
        if not inspect.isclass(kind) or issubclass(kind, PartitaError | FaultyValue):
            continue
        if name not in PROTOCOL and name not in CAUGHT_WITHIN.get(file, ()):
            others.append(f"{file}:{line}: {name}")
    assert others == []


def test_every_error_is_exported_but_those_that_never_leave() -> None:
    internal = {tree.SpaceMissing}
    found = {each for each in vars(tree).values() if inspect.isclass(each) and issubclass(each, PartitaError)}
    assert {each.__name__ for each in found - internal} == set(tree.__all__)
    assert set(tree.__all__) <= set(partita.__all__)
    assert partita.DynamoDBError is exceptions.DynamoDBError


def test_tree_at_the_top_shows_every_error() -> None:
    shown = tree.__doc__ or ""
    for name in (*tree.__all__, "SpaceMissing", "DynamoDBError"):
        assert f" {name} " in shown or shown.count(f"{name}\n") == 1, name


KEY = {"customer_id": "c1"}
ERRORS: list[tuple[PartitaError, str]] = [
    (tree.ConfigurationError("use memory:"), "use memory:"),
    (
        tree.DesignError("Order.at", "is not a time", "write at: datetime"),
        "Order.at: is not a time; write at: datetime",
    ),
    (tree.ProofError("orders", "reads two ranges"), "orders: reads two ranges"),
    (tree.TransferFailed("S3NoSuchBucket", "no such bucket"), "S3NoSuchBucket: no such bucket"),
    (
        tree.UnknownAttribute("Order", "colour", ("order_id", "at")),
        "Order has no attribute 'colour'; its attributes are order_id, at",
    ),
    (tree.InvalidValue("Order", "is too large", "lines", 3, "price"), "Order.lines[3].price: is too large"),
    (tree.InvalidValue("orders", "is empty", argument="status", value=""), "orders.status: is empty"),
    (
        tree.TableNotFound("shop"),
        "table 'shop' does not exist; create the tables of the design with db.create_tables()",
    ),
    (tree.NotFound("Customer", KEY), "Customer c1 does not exist"),
    (tree.NotFound("Settings", {}), "Settings does not exist"),
    (
        tree.NotFound("Note", {"at": datetime(2025, 1, 31, 12, tzinfo=UTC), "number": 7}),
        "Note 2025-01-31T12:00:00Z, 7 does not exist",
    ),
    (tree.AlreadyExists("Customer", KEY), "Customer c1 already exists"),
    (tree.NotUnique("Customer", "email", {"email": "a@b"}), "Customer.email: 'a@b' is taken"),
    (
        tree.ReferenceMissing("Order", "Customer", KEY, "customer_id"),
        "Order refers to Customer c1, which does not exist",
    ),
    (
        tree.LimitReached("Customer", KEY, "orders", "<=", "most"),
        "Customer c1: the write would exceed the limit orders <= most",
    ),
    (
        tree.InvalidTransition("Order", "status", "OPEN", "SHIPPED"),
        "Order.status: cannot change from 'SHIPPED' to 'OPEN'",
    ),
    (tree.InvalidTransition("Order", "status", "SHIPPED", new=True), "Order.status: cannot start as 'SHIPPED'"),
    (tree.ConditionFailed("Customer", KEY), "Customer c1: the condition does not hold"),
    (tree.VersionConflict("Customer", KEY, 3), "Customer c1 is no longer at version 3; read it again"),
    (tree.InvalidTransaction("101 items"), "101 items"),
    (
        tree.RetriesExhausted("Customer", 30),
        "Customer: gave up after 30 conflicting writes; nothing was written",
    ),
    (
        tree.OutcomeUnknown("Customer"),
        "Customer: the reply was lost, so the write may have been applied; read before writing again",
    ),
    (
        tree.StoredItemInvalid("Customer", {"PK": "CUSTOMER#c1"}, "name is missing", KEY),
        "Customer CUSTOMER#c1 cannot be read as it is stored: name is missing",
    ),
    (tree.InvalidCursor("orders", "it is too old"), "invalid cursor for orders: it is too old"),
    (tree.StorageError("disk full"), "disk full"),
    (tree.StorageBusy("x.db", 5), "x.db: another process kept the write lock for more than 5 seconds"),
    (
        tree.OlderFileInUse("x.db", 5),
        (
            "x.db has the format of an older version of Partita, and another process has it open; end all programs "
            "that use it, then open it again"
        ),
    ),
    (
        tree.UsedAfterFork("x.db"),
        "x.db was opened before this process was forked; open it after the fork, or start the process with 'spawn'",
    ),
    (
        tree.CorruptRow("x.db", "s1", b"\1"),
        "x.db: the row 01 of s1 is damaged: it does not match its checksum; run `partita verify x.db`",
    ),
    (
        tree.FileReplaced("x.db"),
        "x.db: the file was deleted, replaced or truncated while it was open; close it and open it again",
    ),
    (
        tree.NoReply("http://x", "refused", perhaps_executed=False),
        "http://x: refused; the request was not executed",
    ),
    (tree.MissingExtra("partita serve", ("rest",), "uvicorn"), ""),
    (exceptions.ConditionalCheckFailedException({"PK": {"S": "x"}}), "The conditional request failed"),
    (exceptions.TransactionCanceledException([{"Code": "None"}]), ""),
    (races.NothingToTake("Customer", ("t", "k")), "Customer: changed by another writer since it was read"),
    (Problem(404, "not-found", "there is nothing here"), "there is nothing here"),
]


@pytest.mark.parametrize(("error", "sentence"), ERRORS, ids=lambda each: type(each).__name__)
def test_error_is_one_sentence_made_from_its_facts(error: PartitaError, sentence: str) -> None:
    assert str(error) == sentence or not sentence
    assert type(error).__name__ in repr(error)


@pytest.mark.parametrize("error", [error for error, _ in ERRORS], ids=lambda each: type(each).__name__)
def test_error_survives_copying_and_pickling(error: PartitaError) -> None:
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own
        assert type(twin) is type(error)
        assert (str(twin), vars(twin), twin.args) == (str(error), vars(error), error.args)


@pytest.mark.parametrize(
    "error",
    [exceptions.ItemTooLarge(), exceptions.ConditionalCheckFailedException({"PK": {"S": "x"}})],
    ids=lambda each: type(each).__name__,
)
def test_error_in_other_words_keeps_its_class_and_facts(error: exceptions.DynamoDBError) -> None:
    other = error.with_message("other words")
    assert (type(other), str(other), other.message) == (type(error), "other words", "other words")
    assert vars(other) == vars(error) | {"message": "other words"}


def test_fault_travels_with_its_error() -> None:
    error = tree.InvalidValue("Order", "is missing", "at", fault=Fault("missing"))
    assert pickle.loads(pickle.dumps(error)).fault == Fault("missing")  # noqa: S301 - our own


# Misuse, as people do it -------------------------------------------------------------------------------------------

shop = Table("shop", pk="PK", sk="SK")


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    email: Annotated[str | None, Unique()] = None
    points: int = 0
    state: Annotated[str, Transitions({"new": ["old"], "old": []})] = "new"


@pattern
def customer(customer_id: str) -> Item[Customer]: ...
@pattern
def customers(customer_id: str) -> Items[Customer]: ...


design = prove("shop", shop)


def _draft(db: Store, **values: Any) -> None:
    with db.change(customer("c1")) as draft:
        for name, value in values.items():
            setattr(draft, name, value)


def _versioned(db: Store) -> None:
    with db.change(customer("c1"), version=1) as draft:
        draft.points = 1


MISUSES: dict[str, Callable[[Store], Any]] = {
    "wrong type": lambda db: db.create(Customer(customer_id=1)),  # type: ignore[arg-type]
    "empty key": lambda db: db(customer("")),
    "None as a key": lambda db: db(customer(None)),  # type: ignore[arg-type]
    "unknown attribute": lambda db: _draft(db, colour="red"),
    "wrong value of a draft": lambda db: _draft(db, points="many"),
    "None in a draft": lambda db: _draft(db, points=None),
    "forbidden transition": lambda db: _draft(db, state="new!"),
    "a query where a get is wanted": lambda db: db.one(customers("c1")),  # type: ignore[arg-type]
    "and of two conditions": lambda db: db.delete(customer("c1"), when=(F.points == 1) and (F.points == 2)),
    "text in place of a condition": lambda db: db.delete(customer("c1"), when="points = 1"),  # type: ignore[call-overload]
    "a condition on what is not there": lambda db: db.delete(customer("c1"), when=F.colour == "red"),
    "an attribute that is not unique": lambda db: db.find_by_unique(Customer, "points", 1),
    "no such item": lambda db: db.one(customer("nobody")),
    "created twice": lambda db: db.create(Customer(customer_id="c1")),
    "no such version": _versioned,
    "a negative page": lambda db: db(customers("c1")).page(-1),
    "an invalid cursor": lambda db: db(customers("c1")).page(1, "rubbish"),
    "an item of no table": lambda db: db.decode_item("nowhere", {}),
    "a batch with promises": lambda db: db.put_many([Customer(customer_id="c2", email="a@b")]),
    "no entity": lambda db: db.create(cast("Any", "text")),
    "an entity of another design": lambda db: db.create(_stranger()),
    "a bad address": lambda db: connect("ftp://there"),
}


def _stranger() -> Entity:
    other = Table("other", pk="PK")

    class Stranger(Entity, table=other, key=("{name}",)):
        name: str

    return Stranger(name="x")


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_a_partita_error(misuse: str) -> None:
    db = Store(connect("memory:"), design)
    db.create_tables()
    db.create(Customer(customer_id="c1"))
    with pytest.raises(PartitaError):
        MISUSES[misuse](db)

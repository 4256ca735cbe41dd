"""Every public method of both stores with arguments that cannot work: the caller gets an error that names the argument.

It is ours, or the TypeError of Python's own check of a signature.

A method that is added without a line in `TABLE` fails a test here.
"""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AsyncStore,
    CountOf,
    DesignError,
    Entity,
    F,
    InvalidTransaction,
    InvalidValue,
    Item,
    Items,
    PartitaError,
    Store,
    SumOf,
    Table,
    Transaction,
    Unique,
    UnknownAttribute,
    Version,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.exceptions import DynamoDBError
from partita.errors import ConfigurationError

archive = Table("archive", pk="PK", sk="SK")


class Shelf(Entity, table=archive, key=("SHELF#{shelf}", "SHELF")):
    shelf: str
    boxes: Annotated[int, CountOf(lambda: Box)] = 0
    weight: Annotated[int, SumOf(lambda: Box, "weight")] = 0


class Box(Entity, table=archive, key=("BOX#{box}", "BOX")):
    box: str
    shelf: str | None = None
    weight: int = 0
    label: Annotated[str | None, Unique()] = None
    version: Annotated[int, Version()] = 0


class Sheet(Entity, table=archive, key=("BOX#{box}", "SHEET#{at}#{sheet}")):
    box: str
    at: datetime
    sheet: str
    text: str = ""
    number: int = 0


AT = datetime(2025, 1, 1, tzinfo=UTC)


@pattern
def a_box(box: str) -> Item[Box]: ...
@pattern
def a_shelf(shelf: str) -> Item[Shelf]: ...
@pattern
def a_sheet(box: str, at: datetime, sheet: str) -> Item[Sheet]: ...
@pattern
def sheets(box: str) -> Items[Sheet]: ...


class Stranger(Entity, table=Table("elsewhere", pk="name")):
    name: str


design = prove("archive", archive)
LONG = "x" * 3000


def box(**values: Any) -> Box:
    return Box(**{"box": "b", **values})


def sheet(**values: Any) -> Sheet:
    return Sheet(**{"box": "b", "at": AT, "sheet": "s", **values})


def get_box(value: Any) -> Any:
    return a_box(value)


def get_sheet(at: Any, name: Any) -> Any:
    return a_sheet("b", at, name)


def list_sheets(value: Any) -> Any:
    return sheets(value)


NO_CALLS = [1, None, "box", a_box, sheets, Box, object()]
NO_KEYS = [get_box(5), get_box(None), get_box(""), get_sheet("now", "s"), get_sheet(datetime(2025, 1, 1), "s")]
LONG_KEYS = [get_box(LONG), get_sheet(AT, LONG)]
NO_GETS = [*NO_CALLS, box(), sheets("b"), *NO_KEYS]
NO_QUERIES = [*NO_CALLS, a_box("b"), list_sheets(5), list_sheets(""), list_sheets(None)]
NO_LISTS = [1, None, object(), a_box("b")]
NO_ENTITIES = [
    *(1, None, "box", Box, object(), {"box": "b"}, [Box(box="b")], Stranger(name="s")),
    *(box(box=5), box(box=None), box(box=""), box(box=LONG)),
]
NO_VALUES = [
    *(box(weight="w"), box(label=5), sheet(at="now"), sheet(number=10**40 + 1), sheet(number=Decimal("1.5"))),
    *(sheet(text="\ud800"), sheet(text=None)),
]
TOO_LARGE = [sheet(text="x" * 500_000)]
NO_CLASSES = [1, None, "Box", int, Stranger]
NO_SIZES = [-1, 1.5, "2", True, [1], object()]
NO_CURSORS = [5, 0, False, "", "cursor", b"", b"cursor", [], ["x"], object()]
NO_VERSIONS = ["1", 1.5, True, object()]
NO_UNIQUES = [("label",), ("label", 5), ("label", LONG), ("label", "a", "b"), ("lable", "x"), (5, "x"), (None, "x")]
NO_FUNCTIONS = [None, 5, "x"]
NO_EDITS = [("weight", "x"), ("version", 5), ("box", None), ("box", LONG), ("label", 5)]
NO_ITEMS = [
    *((5, {}), ("archive", 5), ("archive", {}), ("archive", {"PK": 5}), ("nowhere", {})),
    ("archive", {"PK": {"S": "BOX#b"}, "SK": {"S": "BOX"}, "weight": 5}),
    ("archive", {"PK": {}, "SK": {"S": "BOX"}}),
]
NO_TABLES = [5, None, Box, ["archive"]]
NO_SETTINGS = [{"retries": -1}, {"retries": "x"}, {"clock": 5}, {"cursor_keys": "x"}, {"nothing": 1}]


def nested(levels: int) -> Any:
    """Conditions one inside the other: no `&` or `|` can be joined with the next."""
    found: Any = F.weight == 0
    for level in range(levels):
        found = (F.weight == level) | found if level % 2 else (F.weight == level) & found
    return found


def joined(terms: int) -> Any:
    found: Any = F.weight == 0
    for term in range(terms):
        found = found | (F.weight == term)
    return found


NO_CONDITIONS = [
    *(1, "x", True, F, F.weight, F.wieght == 1, F.weight == "x", F.weight.starts_with("x"), F.weight.is_in("x")),
    *(nested(60), nested(2000), joined(310), joined(2000), joined(290)),
]


def changed(
    db: Any, call: Any, edit: Callable[[Any], None] = lambda draft: setattr(draft, "weight", 2), **kw: Any
) -> Any:
    return blocked(db.change(call, **kw), edit)


def transacted(db: Any, act: Callable[[Transaction], Any]) -> Any:
    return blocked(db.transaction(), act)


def blocked(block: Any, act: Callable[[Any], Any]) -> Any:
    """Enters the block of a sync or an async store and acts inside it."""
    if isinstance(block, AbstractContextManager):
        with block as inside:
            return act(inside)

    async def run() -> Any:
        async with block as inside:
            return act(inside)

    return run()


def raw(item: Any, _: int | None) -> Any:
    return item


def edited(edit: tuple[str, Any]) -> Callable[[Any], None]:
    return lambda entity: setattr(entity, *edit)


Act = Callable[[Any, Any], Any]
GOOD = a_box("b")
TABLE: list[tuple[list[Any], list[tuple[str, Act]]]] = [
    (
        [*NO_GETS, *LONG_KEYS],
        [
            ("get", lambda db, call: db.get(call)),
            ("one", lambda db, call: db.one(call)),
            ("read", lambda db, call: db.read(call, raw)),
            ("get_many", lambda db, call: db.get_many([call])),
            ("get_many", lambda db, call: db.get_many([GOOD, call], consistent=True)),
            ("transact_get", lambda db, call: db.transact_get(call)),
            ("transact_get", lambda db, call: db.transact_get(GOOD, call)),
            ("change", changed),
            ("change", lambda db, call: changed(db, call, create=True)),
            ("update", lambda db, call: db.update(call, lambda entity: None)),
            ("delete_many", lambda db, call: db.delete_many([call])),
            ("transaction", lambda db, call: transacted(db, lambda t: t.change(call))),
            ("transaction", lambda db, call: transacted(db, lambda t: t.check(call, F.weight == 1))),
        ],
    ),
    ([*NO_CALLS, *NO_KEYS], [("explain", lambda db, call: db.explain(call))]),
    (NO_GETS, [("explain_change", lambda db, call: db.explain_change(call, lambda draft: None))]),
    (
        [*NO_CALLS, sheets("b"), *NO_KEYS, *LONG_KEYS],
        [
            ("delete", lambda db, call: db.delete(call)),
            ("transaction", lambda db, call: transacted(db, lambda t: t.delete(call))),
        ],
    ),
    (
        NO_LISTS,
        [
            ("get_many", lambda db, calls: db.get_many(calls)),
            ("put_many", lambda db, entities: db.put_many(entities)),
            ("delete_many", lambda db, calls: db.delete_many(calls)),
        ],
    ),
    ([*NO_CALLS, list_sheets(5), list_sheets("")], [("__call__", lambda db, call: db(call).page(2))]),
    (NO_KEYS, [("__call__", lambda db, call: db(call))]),
    (
        NO_QUERIES,
        [
            ("read_page", lambda db, call: db.read_page(call)),
            ("read_page", lambda db, call: db.read_page(call, raw)),
        ],
    ),
    (
        NO_SIZES,
        [
            ("__call__", lambda db, size: db(sheets("b")).page(size)),
            ("__call__", lambda db, size: db(sheets("b")).first(size)),
            ("read_page", lambda db, size: db.read_page(sheets("b"), size=size)),
        ],
    ),
    ([None], [("__call__", lambda db, count: db(sheets("b")).first(count))]),
    (
        NO_CURSORS,
        [
            ("__call__", lambda db, cursor: db(sheets("b")).page(2, cursor)),
            ("read_page", lambda db, cursor: db.read_page(sheets("b"), cursor=cursor)),
        ],
    ),
    (
        [*NO_ENTITIES, a_box("b"), *NO_VALUES, *TOO_LARGE],
        [
            ("create", lambda db, entity: db.create(entity)),
            ("put", lambda db, entity: db.put(entity)),
            ("replace", lambda db, entity: db.replace(entity)),
            ("put_many", lambda db, entity: db.put_many([entity])),
            ("transaction", lambda db, entity: transacted(db, lambda t: t.create(entity))),
            ("transaction", lambda db, entity: transacted(db, lambda t: t.put(entity))),
        ],
    ),
    ([*NO_ENTITIES, a_box("b"), *NO_VALUES], [("explain_create", lambda db, entity: db.explain_create(entity))]),
    (
        NO_ENTITIES,
        [
            ("delete", lambda db, entity: db.delete(entity)),
            ("transaction", lambda db, entity: transacted(db, lambda t: t.delete(entity))),
        ],
    ),
    (
        NO_CONDITIONS,
        [
            ("create", lambda db, when: db.create(box(box="new"), when=when)),
            ("change", lambda db, when: changed(db, GOOD, when=when)),
            ("delete", lambda db, when: db.delete(GOOD, when=when)),
            ("scan", lambda db, where: db.scan(Box, where=where)),
            ("explain_scan", lambda db, where: db.explain_scan(Box, where=where)),
            ("transaction", lambda db, when: transacted(db, lambda t: t.change(GOOD, when=when))),
            ("transaction", lambda db, when: transacted(db, lambda t: t.delete(GOOD, when=when))),
            ("transaction", lambda db, when: transacted(db, lambda t: t.check(GOOD, when))),
        ],
    ),
    (
        NO_VERSIONS,
        [
            ("change", lambda db, version: changed(db, GOOD, version=version)),
            ("transaction", lambda db, version: transacted(db, lambda t: t.change(GOOD, version=version))),
        ],
    ),
    (
        NO_CLASSES,
        [
            ("find_by_unique", lambda db, entity: db.find_by_unique(entity, "label", "x")),
            ("release_unique", lambda db, entity: db.release_unique(entity, "label", "x")),
            ("scan", lambda db, entity: db.scan(entity)),
            ("explain_scan", lambda db, entity: db.explain_scan(entity)),
        ],
    ),
    (
        NO_UNIQUES,
        [
            ("find_by_unique", lambda db, values: db.find_by_unique(Box, *values)),
            ("release_unique", lambda db, values: db.release_unique(Box, *values)),
        ],
    ),
    ([()], [("scan", lambda db, none: db.scan(*none)), ("explain_scan", lambda db, none: db.explain_scan(*none))]),
    (
        NO_FUNCTIONS,
        [
            ("update", lambda db, edit: db.update(GOOD, edit)),
            ("explain_change", lambda db, edit: db.explain_change(GOOD, edit)),
        ],
    ),
    (
        [5, "x"],
        [
            ("adopt", lambda db, progress: db.adopt(progress)),
            ("delete", lambda db, check: db.delete(GOOD, check=check)),
            ("read", lambda db, decode: db.read(GOOD, decode)),
            ("read_page", lambda db, decode: db.read_page(sheets("b"), decode)),
        ],
    ),
    (
        NO_EDITS,
        [
            ("change", lambda db, edit: changed(db, GOOD, edited(edit))),
            ("update", lambda db, edit: db.update(GOOD, edited(edit))),
            ("transaction", lambda db, edit: transacted(db, lambda t: edited(edit)(t.change(GOOD)))),
        ],
    ),
    (NO_ITEMS, [("decode_item", lambda db, given: db.decode_item(*given))]),
    (
        [(5, "p"), (None, "p"), ("list", 5), ("list", None)],
        [("sign_cursor", lambda db, given: db.sign_cursor(*given))],
    ),
    (
        [(5, "c"), ("list", 5), ("list", None), ("list", "c"), ("list", "한국"), ("list", b"c")],
        [("cursor_position", lambda db, given: db.cursor_position(*given))],
    ),
    (NO_TABLES, [("table_name", lambda db, table: db.table_name(table))]),
    (NO_SETTINGS, [("with_settings", lambda db, settings: db.with_settings(**settings))]),
]
CASES = [(method, value, act) for values, acts in TABLE for value in values for method, act in acts]
METHODS = {method for method, _, _ in CASES}
WITHOUT_ARGUMENTS = {"close", "create_tables", "differences", "measure", "now"}
TAKES_ANY_NAME = {"retrying"}
SIGNATURE = re.compile(r"\w+\.\w+\(\) (missing \d+ required|takes|got an unexpected keyword argument)")


@pytest.fixture
def backend() -> Iterator[Any]:
    with connect("memory:", maintain=False) as opened:
        db = Store(opened, design)
        db.create_tables()
        db.create(Shelf(shelf="s"))
        db.create(Box(box="b", shelf="s", weight=1, label="l"))
        db.create(Sheet(box="b", at=AT, sheet="1"))
        db.create(Sheet(box="b", at=AT, sheet="2"))
        yield opened


def rejected(act: Callable[[], Any]) -> str | None:
    """How a call fails that ends in none of our errors; None where it does."""
    try:
        act()
    except DynamoDBError as error:
        return f"{type(error).__name__}: {error}"
    except PartitaError as error:
        return None if str(error) else f"{type(error).__name__} without a message"
    except TypeError as error:
        return None if SIGNATURE.match(str(error)) else f"TypeError: {error}"
    except Exception as error:  # noqa: BLE001 - any other is the fault that is looked for
        return f"{type(error).__name__}: {error}"
    return "accepted"


def completed(act: Act, db: Any, value: Any) -> None:
    """Calls a method of a sync store, and reads on what it returns lazily."""
    found = act(db, value)
    if isinstance(found, Iterator):
        list(found)


def awaited(act: Act, db: Any, value: Any) -> None:
    async def run() -> None:
        found = act(db, value)
        if inspect.isawaitable(found):
            await found
        elif isinstance(found, AsyncIterator):
            async for _ in found:
                pass

    asyncio.run(run())


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("kind", [Store, AsyncStore])
def test_bad_arguments_are_errors_that_say_so(kind: type[Any], method: str, backend: Any) -> None:
    db = kind(backend, design, sleep=lambda _: None)
    before = db_state(backend)
    run = completed if kind is Store else awaited
    found = ((value, rejected(lambda: run(act, db, value))) for name, value, act in CASES if name == method)  # noqa: B023
    wrong = [f"{str(value)[:80]}: {how[:200]}" for value, how in found if how is not None]
    assert not wrong, "\n".join(wrong)
    assert db_state(backend) == before


def db_state(backend: Any) -> list[Any]:
    db = Store(backend, design)
    return [*db.scan(Shelf), *db.scan(Box), *db.scan(Sheet)]


@pytest.mark.parametrize("kind", [Store, AsyncStore])
def test_every_public_method_has_its_bad_arguments(kind: type[Any]) -> None:
    public = {name for name, each in inspect.getmembers(kind, callable) if not name.startswith("_")}
    assert public - METHODS == WITHOUT_ARGUMENTS | TAKES_ANY_NAME


@pytest.mark.parametrize("kind", [Store, AsyncStore, Transaction])
def test_missing_and_unknown_arguments_are_errors_that_name_the_method(kind: type[Any], backend: Any) -> None:
    db = Store(backend, design)
    made = Transaction(db.context, design) if kind is Transaction else kind(backend, design)
    for name in (name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")):
        method = getattr(made, name)
        required = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty]
        calls: list[Callable[[], Any]] = [partial(method, nothing=1)]
        calls += [method] if any(each.kind is each.POSITIONAL_OR_KEYWORD for each in required) else []
        if name in ("with_settings", "flow"):
            continue
        for call in calls:
            with pytest.raises(TypeError, match=rf"\w+\.{name}\(\) (missing|got)"):
                call()


def test_iterator_is_taken_as_a_list(backend: Any) -> None:
    db = Store(backend, design)
    db.put_many(Sheet(box="b", at=AT, sheet=each) for each in "345")  # type: ignore[arg-type]
    calls: Any = (a_sheet("b", AT, each) for each in "12345")
    assert [getattr(each, "sheet", None) for each in db.get_many(calls)] == list("12345")
    db.delete_many(a_sheet("b", AT, each) for each in "12345")  # type: ignore[arg-type]
    assert list(db(sheets("b"))) == []


def message(act: Callable[[], Any], kind: type[PartitaError]) -> str:
    with pytest.raises(kind) as raised:
        act()
    return str(raised.value)


def test_messages_say_what_to_pass(backend: Any) -> None:
    db = Store(backend, design)
    passed = "pass the call of a pattern that returns"
    assert message(lambda: db.get(5), ConfigurationError) == f"5 is not a get; {passed} Item[...], or get(Entity, ...)"  # type: ignore[arg-type]
    assert message(lambda: db(5), ConfigurationError).startswith("5 is not a query; ")  # type: ignore[call-overload]
    assert message(lambda: db.get(sheets("b")), InvalidValue) == (  # type: ignore[arg-type]
        "sheets: it reads several items, not one; declare a pattern -> Item[...]"
    )
    assert message(lambda: db(sheets("b")).page("2"), InvalidValue) == (  # type: ignore[arg-type]
        "sheets: a page holds at least one item, not '2'"
    )
    assert message(lambda: db.put_many(5), ConfigurationError) == "put_many: 5 is not a list; pass a list of entities"  # type: ignore[arg-type]
    assert message(F.text.is_in, DesignError) == (
        "F.text.is_in: 0 values; DynamoDB takes 1 to 100; join several is_in(...) with |"
    )
    assert message(lambda: F.text.is_in(*range(150)), DesignError).startswith("F.text.is_in: 150 values; ")


def test_sum_that_dynamodb_cannot_store_names_the_attribute(backend: Any) -> None:
    db = Store(backend, design)
    first = a_sheet("b", AT, "1")
    with db.change(first) as draft:
        draft.number += 10**40
    with pytest.raises(InvalidValue, match=r"^Sheet\.number: the stored value plus 1 has more than the 38 digits"):
        changed(db, first, lambda draft: setattr(draft, "number", draft.number + 1))
    db.create(Box(box="heavy", shelf="s", weight=10**38 - 1))
    with pytest.raises(InvalidValue, match=r"^Shelf: one of the sums boxes \+ 1, weight \+ 5 has more than"):
        db.create(Box(box="light", shelf="s", weight=5))
    assert db.one(a_shelf("s")) == Shelf(shelf="s", boxes=2, weight=10**38)


def test_items_that_are_too_large_together_are_named(backend: Any) -> None:
    db = Store(backend, design)
    heavy = [Sheet(box="b", at=AT, sheet=f"large{at}", text="x" * 300_000) for at in range(20)]
    with pytest.raises(InvalidTransaction, match="larger than 4 MB together"):
        transacted(db, lambda transaction: [transaction.create(each) for each in heavy])
    small = [Sheet(box="b", at=AT, sheet=f"small{at}") for at in range(40)]
    large = Sheet(box="b", at=AT, sheet="large", text="x" * 500_000)
    with pytest.raises(InvalidValue, match=r"^Sheet\.text: it makes the item larger than the 400 KB of DynamoDB"):
        db.put_many([*small, large])
    assert len(list(db(sheets("b")))) == 2


def test_misspelt_condition_is_an_error_at_its_line_of_a_transaction(backend: Any) -> None:
    acts: list[Callable[[Transaction], Any]] = [
        lambda t: t.change(a_box("b"), when=F.wieght == 1),
        lambda t: t.delete(a_box("b"), when=F.wieght == 1),
        lambda t: t.check(a_box("b"), F.wieght == 1),
    ]
    with Store(backend, design).transaction() as transaction:
        for act in acts:
            with pytest.raises(DesignError, match="Box has no attribute 'wieght'"):
                act(transaction)


def test_many_joined_conditions_are_one_level() -> None:
    assert len(joined(200).terms) == 201
    assert msgspec.structs.asdict(joined(2))["terms"][2].value == 1


def test_unknown_attribute_of_a_draft_stays_an_attribute_error(backend: Any) -> None:
    with pytest.raises(UnknownAttribute):
        changed(Store(backend, design), a_box("b"), lambda draft: setattr(draft, "wieght", 1))

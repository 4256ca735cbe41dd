"""A design whose programs could not read what those of the earlier one have stored is not applied."""

import re
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import (
    CountOf,
    Design,
    DesignError,
    DesignMismatch,
    Entity,
    Index,
    Keys,
    MigrationBlocked,
    Store,
    StoredItemInvalid,
    Table,
    Unique,
    Was,
    connect,
    get,
    prove,
)
from partita.design.entities import EntityMeta
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import PutItem, Scan
from partita.evolution.apply import apply_design, roll_back
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration, plan_text
from partita.evolution.unreachable_items import has_constants
from partita.store.design_watch import own_design

KEY = ("B#{shelf}", "BOOK#{number:3}")


def books(key: Any = KEY, pk: str = "PK", more: Any = None, **attributes: Any) -> tuple[Design, Any]:
    """A version of a design of books, and its entity."""
    table = Table("books", pk, "SK")
    annotations = {"shelf": str, "number": int, **attributes}
    defaults = {name: None for name in attributes if name == "title"}
    body: dict[str, Any] = {"__annotations__": annotations, **defaults}
    made: Any = EntityMeta("Book", (Entity,), body, table=table, key=key, **(more or {}))
    return prove("books", table), made


def filled(backend: Backend) -> Store:
    design, book = books(title=str | None)
    db = Store(backend, design)
    db.create_tables()
    for number in range(3):
        db.create(book(shelf="a", number=number))
    return db


UNREACHABLE: dict[str, tuple[dict[str, Any], str]] = {
    "a key that is not among the old ones": (
        {"key": ("B#{shelf}", "B#{number:3}"), "title": str | None},
        (
            "3 items under the earlier key of Book, "
            "PK = B#{shelf} | SK = BOOK#{number:3} (number: number digits 3): "
            "name it in old_keys, so that they are moved"
        ),
    ),
    "another width": (
        {"key": ("B#{shelf}", "BOOK#{number:5}"), "title": str | None},
        (
            "3 items under the earlier key of Book, "
            "PK = B#{shelf} | SK = BOOK#{number:3} (number: number digits 3): "
            "name it in old_keys, so that they are moved"
        ),
    ),
    "an attribute that has to be there": (
        {"author": str, "title": str | None},
        (
            "3 items of Book cannot be read any more (author: is missing): "
            "give the attribute a default, or convert it with Was"
        ),
    ),
    "another type": (
        {"key": ("B#{shelf}", "BOOK#{number}"), "number": str, "title": str | None},
        (
            "3 items of Book cannot be read any more (number is not stored as S): "
            "give the attribute a default, or convert it with Was"
        ),
    ),
}


def parcels(kind: str) -> tuple[Design, Any]:
    """A version of a design of parcels: the earlier one, with an index, or with a unique code."""
    table = Table("parcels", "pk", "sk", indexes=(Index("by_code", "ipk", "isk"),) if kind == "index" else ())
    code = Annotated[str, Unique()] if kind == "unique" else str
    keys = {"by_code": Keys("by_code", "CODE#{code}", "{weight:3}")} if kind == "index" else {}
    body: dict[str, Any] = {"__annotations__": {"parcel": str, "code": code, "weight": int}, **keys}
    made: Any = EntityMeta("Parcel", (Entity,), body, table=table, key=("PARCEL#{parcel}", "PARCEL"))
    return prove("parcels", table), made


@pytest.mark.parametrize(
    ("kind", "values", "fault"),
    [
        ("index", {"code": "c", "weight": 5000}, "Parcel.weight: 5000 does not fit {:3} in the key"),
        ("index", {"code": "c" * 3000, "weight": 1}, "Parcel.ipk: the key is longer than 2048 bytes"),
        (
            "unique",
            {"code": "c" * 3000, "weight": 1},
            "Parcel.code: it is too long: the key of its guard exceeds 2048 bytes",
        ),
    ],
)
def test_value_that_does_not_fit_a_new_key_blocks_the_design(kind: str, values: dict[str, Any], fault: str) -> None:
    sentence = (
        f"1 item of Parcel with a value that does not fit ({fault}): change it with a program of the earlier design, "
        "give its part of the key more room, or leave such items out with when="
    )
    with connect("memory:") as backend:
        design, parcel = parcels("earlier")
        old = Store(backend, own_design(design))
        old.create_tables()
        old.create(parcel(parcel="wide", **values))
        old.create(parcel(parcel="usual", code="d", weight=1))
        new = Store(backend, own_design(parcels(kind)[0]), sleep=lambda _: None)
        assert plan_migration(new).blocked == [sentence]
        with pytest.raises(MigrationBlocked, match="1 item of Parcel with a value"):
            apply_design(new)
        old.delete(parcel(parcel="wide", **values))
        apply_design(new)
        assert not plan_migration(new).has_work


NARROWER = [
    (Decimal, int, Decimal(2), Decimal("1.5")),
    (str, Literal["open"], "open", "shut"),
    (float, int, 2.0, 1.5),
]


@pytest.mark.parametrize("name", UNREACHABLE)
def test_design_that_would_lose_items_is_blocked_before_anything_is_changed(name: str) -> None:
    changes, sentence = UNREACHABLE[name]
    design, _ = books(**changes)
    with connect("memory:") as backend:
        old = filled(backend)
        new = Store(backend, design)
        assert plan_migration(new).blocked == [sentence]
        with pytest.raises(MigrationBlocked) as blocked:
            apply_design(new)
        assert sentence in str(blocked.value)
        assert not plan_migration(old).has_work
        apply_design(old)  # nothing was begun: the earlier design is still the data's
        assert diagnose(old).findings == {}


@pytest.mark.parametrize(("before", "after", "fits", "other"), NARROWER)
def test_type_with_fewer_values_in_one_stored_form_lists_items_and_blocks_nothing(
    before: Any, after: Any, fits: Any, other: Any
) -> None:
    (earlier, old), (later, new) = books(value=before), books(value=after)
    with connect("memory:") as backend:
        writing, reading = Store(backend, earlier), Store(backend, later)
        writing.create_tables()
        writing.create(old(shelf="a", number=1, value=fits))
        writing.create(old(shelf="a", number=2, value=other))
        apply_design(writing)
        plan = plan_migration(reading)
        assert (plan.blocked, plan.unreadable) == ([], 1)
        assert "1 item that cannot be read; it stays as it is:\n  Book B#a BOOK#002: value" in plan_text(plan)
        assert [text.partition(":")[0] for text in apply_design(reading).unreadable] == ["Book B#a BOOK#002"]
        assert [each.number for each in reading.scan(new)] == [1]
        with pytest.raises(StoredItemInvalid):
            reading.get(get(new, "a", 2))


def test_items_that_the_earlier_design_did_not_explain_block_nothing() -> None:
    design, _ = books(("B#{shelf}", "B#{number:3}"), title=str | None, more={"old_keys": [KEY]})
    others, _ = books(("S#{shelf}", "B#{number:3}"), title=str | None)
    with connect("memory:") as backend:
        old = filled(backend)
        for key in (("OTHER", "x"), ("B#a", "x")):
            item = dict(zip(("PK", "SK"), ({"S": text} for text in key), strict=True))
            old.backend.call(PutItem(table_name="books", item=item))
        assert "3 items" in plan_migration(Store(backend, others)).blocked[0]
        done = apply_design(Store(backend, design))
        assert (sum(done.done.values()), sorted(done.unexplained)) == (3, ["B#a x", "OTHER x"])


def test_renamed_part_of_a_key_is_the_same_key() -> None:
    table = Table("books", "PK", "SK")

    class Book(Entity, table=table, key=("B#{rack}", "BOOK#{number:3}")):
        rack: Annotated[str, Was("shelf")]
        number: int
        title: str | None = None

    with connect("memory:") as backend:
        filled(backend)
        new = Store(backend, prove("books", table))
        assert plan_migration(new).blocked == []
        apply_design(new)
        assert {each.rack for each in new.scan(Book)} == {"a"}


def test_item_that_an_earlier_program_writes_meanwhile_blocks_and_can_be_rolled_back() -> None:
    design, _ = books(author=str, title=str | None)
    with connect("memory:") as backend:
        earlier, book = books(title=str | None)
        old = Store(backend, earlier)
        old.create_tables()

        class Writing:
            """A backend on which an earlier program writes after the application has looked at the items."""

            scans = 0

            def call(self, request: Any) -> Any:
                self.scans += isinstance(request, Scan)
                if self.scans == 2:
                    old.put(book(shelf="late", number=1))
                return backend.call(request)

        with pytest.raises(MigrationBlocked, match="1 item of Book cannot be read any more"):
            apply_design(Store(Writing(), design, sleep=lambda _: None))
        roll_back(Store(backend, design))
        assert [each.shelf for each in old.scan(book)] == ["late"]


def test_table_with_another_key_is_reported_and_not_read() -> None:
    design, _ = books(pk="id", title=str | None)
    with connect("memory:") as backend:
        filled(backend)
        db = Store(backend, design)
        sentence = "table books has another key; only a new table can have the design's"
        assert plan_migration(db).blocked == [sentence]
        assert diagnose(db).findings["tables"] == [f"books: {sentence}"]
        with pytest.raises(MigrationBlocked, match="another key"):
            apply_design(db)


def logs(separator: str, key: str, *old_keys: str, indexed: bool = False) -> tuple[Design, Any]:
    """A design of hosts in a table with a separator, and its entity."""
    table = Table("logs", "PK", separator=separator, indexes=(Index("ByName", "GSI1PK"),) if indexed else ())
    body: dict[str, Any] = {"__annotations__": {"host": str, "name": str}}
    body |= {"by_name": Keys("ByName", "{name}")} if indexed else {}
    made: Any = EntityMeta("Log", (Entity,), body, table=table, key=key, old_keys=[(each,) for each in old_keys])
    return prove("logs", table), made


HOSTS = ("ab", "a#b", "a|b", "a/b", "a $b")


@pytest.mark.parametrize(("old", "new"), [("#", "|"), ("|", "#"), ("|", "/")])
@pytest.mark.parametrize("template", ["{host}", "H_{host}", "H{separator}{host}"])
@pytest.mark.parametrize("part", [None, "{host}", "{host:plain}"])
def test_texts_under_another_separator_are_moved_or_block(
    old: str, new: str, template: str, part: str | None, tmp_path: Path
) -> None:
    """They are escaped otherwise, so the keys of some are others, though the design has the same template."""
    file = str(tmp_path / "logs.db")
    before, after = (template.replace("{separator}", each) for each in (old, new))
    design, log = logs(old, before)
    with connect(file, design) as db:
        db.create_tables()
        for host in HOSTS:
            db.create(log(host=host, name="x"))
    try:
        changed, log = logs(new, after, *([] if part is None else [before.replace("{host}", part)]))
    except DesignError:
        return  # an earlier key that is no other than the new one
    with pytest.raises(DesignMismatch, match="separator"):
        connect(file, changed)
    with connect(file) as backend:
        blocked = bool(plan_migration(Store(backend, changed)).blocked)
        with pytest.raises(MigrationBlocked, match="with :plain parts") if blocked else nullcontext():
            apply_design(Store(backend, changed))
    if not blocked:
        with connect(file, changed) as db:
            assert [host for host in HOSTS if db.get(get(log, host)) is None] == []


def test_texts_of_index_keys_under_another_separator_are_written_again() -> None:
    with connect("memory:") as backend:
        design, log = logs("#", "{host}", indexed=True)
        db = Store(backend, design)
        db.create_tables()
        db.create(log(host="x", name="a#b"))
        changed, log = logs("|", "{host}", indexed=True)
        apply_design(Store(backend, changed))
        assert [each.host for each in Store(backend, changed)(log.by_name.query("a#b"))] == ["x"]


def mall(*, is_split: bool) -> tuple[Design, Any, Any]:
    old, new = Table("mall", "PK", "SK"), Table("sales", "PK", "SK")

    class Order(Entity, table=new if is_split else old, key=("BUYER#{buyer}", "ORDER#{order}")):
        buyer: str
        order: str

    class Buyer(Entity, table=old, key=("BUYER#{buyer}", "BUYER")):
        buyer: str
        orders: Annotated[int, CountOf(Order)] = 0

    return prove("mall", old, *([new] if is_split else [])), Order, Buyer


def test_entity_in_another_table_is_not_lost(tmp_path: Path) -> None:
    file = str(tmp_path / "mall.db")
    design, order, buyer = mall(is_split=False)
    with connect(file, design) as db:
        db.create_tables()
        db.create(buyer(buyer="ann"))
        db.create(order(buyer="ann", order="1"))
    split, moved, _ = mall(is_split=True)
    sentence = "1 item of Order in table mall, and the design has it in table sales: copy and delete them"
    for _ in range(2):  # before and after the new table exists
        with pytest.raises(DesignMismatch, match="Order was in table mall, is in table sales"):
            connect(file, split)
        with connect(file) as backend:
            assert sentence in plan_migration(Store(backend, split)).blocked[0]
            with pytest.raises(MigrationBlocked, match=sentence):
                apply_design(Store(backend, split))
            with pytest.raises(DesignMismatch, match="is in table sales"):
                Store(backend, split).create_tables()
    with connect(file, design) as db:
        db.delete(get(order, "ann", "1"))
    with connect(file) as backend:
        apply_design(Store(backend, split))
    with connect(file, split) as db:
        db.create(moved(buyer="ann", order="2"))


@given(st.text("ab#", max_size=12), st.lists(st.text("ab#", max_size=3), min_size=1, max_size=4))
def test_constants_of_an_earlier_key_are_found_as_an_expression_finds_them(text: str, constants: list[str]) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, constants)), text, re.DOTALL) is not None
    assert has_constants(text, constants) == expected

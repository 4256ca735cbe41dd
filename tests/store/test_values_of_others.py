"""Items under old keys whose unique value another item holds: a move for another write leaves the value where it is.

Other code writes rows without guards, so a row can have a value that is held by another item. A deletion of such a row,
of its owner, or a write that needs it under its current key moves or deletes it; the guard stays with its holder.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    CountOf,
    Entity,
    F,
    Index,
    Item,
    Items,
    Keys,
    Limit,
    LimitReached,
    NotFound,
    NotUnique,
    Owns,
    PartitaError,
    ReferenceMissing,
    References,
    StillReferenced,
    Store,
    SumOf,
    Table,
    Unique,
    View,
    connect,
    pattern,
    prove,
    query,
)
from partita.dynamodb import requests as wire

shop = Table("shop", pk="PK", sk="SK", indexes=(Index("ByTitle", "ByTitlePK", "ByTitleSK"),))


class PaperTitle(View):
    desk: str
    paper: str
    title: str = "-"

    by_title = Keys("ByTitle", "TITLES#{desk}", "{title}#{paper}")


class Desk(
    Entity, table=shop, key=("DESK#{desk}", "DESK"), old_keys=[("D#{desk:plain}", "DESK"), ("E#{desk:plain}", "DESK")]
):
    desk: str
    title: str = "-"
    code: Annotated[str | None, Unique()] = None
    room: Annotated[str | None, References(lambda: Room)] = None

    owns = Owns(lambda: Paper)


class Paper(
    PaperTitle,
    Entity,
    table=shop,
    key=("DESK#{desk}#PAPERS", "PAPER#{paper}"),
    old_keys=[("DESK#{desk}#PAPERS", "OLD#{paper:plain}")],
):
    code: Annotated[str | None, Unique()] = None


class Room(Entity, table=shop, key=("ROOM#{room}", "ROOM"), old_keys=[("R#{room:plain}", "ROOM")]):
    room: str
    code: Annotated[str | None, Unique()] = None
    boxes: Annotated[int, CountOf(lambda: Box)] = 0
    weight: Annotated[int, SumOf(lambda: Box, "weight")] = 0
    most: int = 100

    enough = Limit(F.boxes <= F.most)


class Box(
    Entity, table=shop, key=("BOX#{box}", "BOX"), old_keys=[("B#{box:plain}", "BOX"), ("BOX#{box:plain}", "BOX")]
):
    box: str
    room: str | None = None
    weight: int = 0
    code: Annotated[str | None, Unique(when=F.weight < 10)] = None


@pattern
def a_desk(desk: str) -> Item[Desk]: ...
@pattern
def a_paper(desk: str, paper: str) -> Item[Paper]: ...
@pattern
def papers(desk: str) -> Items[Paper]:
    return query(Paper, desk)


@pattern(PaperTitle.by_title)
def titles(desk: str) -> Items[PaperTitle]: ...


@pattern
def a_room(room: str) -> Item[Room]: ...
@pattern
def a_box(box: str) -> Item[Box]: ...


design = prove("shop", shop)
Raw = dict[str, Any]
OLD: dict[type[Any], tuple[str, str]] = {
    Desk: ("D#{desk}", "DESK"),
    Paper: ("DESK#{desk}#PAPERS", "OLD#{paper}"),
    Room: ("R#{room}", "ROOM"),
    Box: ("BOX#{box}", "BOX"),
}


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design) as opened:
        opened.create_tables()
        yield opened


def put_foreign(db: Store, entity: type[Any], at: tuple[str, str] | None = None, **values: Any) -> None:
    """Stores a row under its old key as other code does: without a guard."""
    pk, sk = (each.format(**values) for each in at or OLD[entity])
    item: Raw = {"PK": {"S": pk}, "SK": {"S": sk}}
    item |= {name: {"N": str(value)} if type(value) is int else {"S": value} for name, value in values.items()}
    if entity is Paper:
        index_key = (f"TITLES#{values['desk']}", f"{values.get('title', '-')}#{values['paper']}")
        item |= {"ByTitlePK": {"S": index_key[0]}, "ByTitleSK": {"S": index_key[1]}}
    db.backend.call(wire.PutItem(table_name=db.table_name("shop"), item=item))


def put_guard(db: Store, entity: type[Any], at: tuple[str, str] | None = None, **values: Any) -> None:
    """Stores the guard of a row under its old key, as other code with guards does."""
    pk, sk = (each.format(**values) for each in at or OLD[entity])
    owner = {"guardOf": {"M": {"PK": {"S": pk}, "SK": {"S": sk}}}}
    key = {"PK": {"S": f"UNIQUE#{entity.__name__}#code#{values['code']}"}, "SK": {"S": "UNIQUE"}}
    db.backend.call(wire.PutItem(table_name=db.table_name("shop"), item=key | owner))


def rows(db: Store) -> dict[str, Raw]:
    found = db.backend.call(wire.Scan(table_name=db.table_name("shop"))).items or ()
    items: list[Raw] = [msgspec.json.decode(raw) for raw in found]
    return {f"{item['PK']['S']} {item['SK']['S']}": item for item in items}


def guards(db: Store) -> dict[str, Raw]:
    return {key: item for key, item in rows(db).items() if key.startswith("UNIQUE")}


HELD: dict[type[Any], Callable[[], Any]] = {
    Desk: lambda: Desk(desk="holder", code="c"),
    Paper: lambda: Paper(desk="holder", paper="holder", code="c"),
    Room: lambda: Room(room="holder", code="c"),
    Box: lambda: Box(box="holder", code="c"),
}
DELETED: dict[type[Any], tuple[Raw, Any]] = {
    Desk: ({"desk": "d"}, lambda: a_desk("d")),
    Paper: ({"desk": "d", "paper": "p"}, lambda: a_paper("d", "p")),
    Room: ({"room": "r"}, lambda: a_room("r")),
    Box: ({"box": "a$Sb"}, lambda: a_box("a$Sb")),
}


ALSO_AT: dict[type[Any], tuple[str, str]] = {
    Desk: ("E#d", "DESK"),
    Paper: ("DESK#d#PAPERS", "PAPER#p"),
    Room: ("ROOM#r", "ROOM"),
    Box: ("BOX#a$TSb", "BOX"),
}


@pytest.mark.parametrize("when", [None, F.code == "c"])
@pytest.mark.parametrize("is_copied", [False, True])
@pytest.mark.parametrize("entity", list(DELETED), ids=lambda each: each.__name__)
def test_deleted_row_leaves_the_value_of_another(db: Store, entity: type[Any], is_copied: bool, when: Any) -> None:
    db.create(HELD[entity]())
    before = rows(db)
    values, call = DELETED[entity]
    put_foreign(db, entity, **values, code="c")
    if is_copied:
        put_foreign(db, entity, ALSO_AT[entity], **values, code="c")
    deleted = db.delete(call(), when=when)
    assert deleted is not None
    assert deleted.code == "c"
    assert rows(db) == before
    assert db.delete(call()) is None


def test_owner_is_deleted_with_children_whose_values_others_hold(db: Store) -> None:
    db.create(HELD[Paper]())
    before = rows(db)
    db.create(Desk(desk="d"))
    for paper in ("p", "q"):
        put_foreign(db, Paper, desk="d", paper=paper, code="c")
    assert db.delete(a_desk("d")) == Desk(desk="d")
    assert rows(db) == before


def test_child_of_a_parent_whose_value_another_holds_is_counted(db: Store) -> None:
    db.create(HELD[Room]())
    before = guards(db)
    put_foreign(db, Room, room="r", code="c")
    db.create(Box(box="b", room="r", weight=3))
    room = db.one(a_room("r"))
    assert (room.code, room.boxes, room.weight) == ("c", 1, 3)
    db.create(Desk(desk="d", room="r"))
    assert guards(db) == before


def test_write_to_a_key_that_a_row_occupies_leaves_its_value_to_the_holder(db: Store) -> None:
    db.create(HELD[Box]())
    before = guards(db)
    put_foreign(db, Box, box="a$Sb", code="c")
    db.create(Box(box="a#b"))
    assert db.one(a_box("a$Sb")).code == "c"
    assert db.one(a_box("a#b")).code is None
    assert guards(db) == before


def test_moved_row_takes_a_value_that_is_free(db: Store) -> None:
    put_foreign(db, Room, room="r", code="c")
    db.create(Box(box="b", room="r"))
    with pytest.raises(NotUnique):
        db.create(Room(room="s", code="c"))


def test_guard_of_a_row_under_its_old_key_goes_with_it(db: Store) -> None:
    put_foreign(db, Desk, desk="d", code="c")
    put_guard(db, Desk, desk="d", code="c")
    db.delete(a_desk("d"))
    assert rows(db) == {}


class Row(msgspec.Struct):
    """What the model knows of an item: its values, and whether it is still under an old key."""

    values: Raw
    is_old: bool
    is_in_the_way: bool = False  # its old key is the current one of another item


KEYS: dict[type[Any], tuple[str, ...]] = {Desk: ("desk",), Paper: ("desk", "paper"), Room: ("room",), Box: ("box",)}
CALLS: dict[type[Any], Callable[..., Any]] = {Desk: a_desk, Paper: a_paper, Room: a_room, Box: a_box}
Place = tuple[type[Any], tuple[str, ...]]
OCCUPANT: Place = (Box, ("a$Sb",))
OCCUPIED: Place = (Box, ("a#b",))


class Model:
    """The items, the holders of unique values, and the counters, in plain Python."""

    def __init__(self) -> None:
        self.rows: dict[Place, Row] = {}
        self.holders: dict[tuple[type[Any], str], Place] = {}

    def code(self, place: Place, values: Raw | None) -> str | None:
        if values is None or (place[0] is Box and values["weight"] >= 10):
            return None
        code: str | None = values["code"]
        return code

    def boxes(self, room: str) -> list[Raw]:
        return [row.values for (kind, _), row in self.rows.items() if kind is Box and row.values["room"] == room]

    def write(self, place: Place, values: Raw | None) -> type[PartitaError] | None:
        """Puts, changes or deletes a row; the error of a write that is rejected, which changes nothing."""
        row = self.rows.get(place)
        occupant = self.rows.get(OCCUPANT)
        if place == OCCUPIED and values is not None and occupant is not None and occupant.is_in_the_way:
            self.move(OCCUPANT)
        old = None if row is None else row.values
        before, after = self.code(place, old), self.code(place, values)
        if row is not None and row.is_old and self.holders.get((place[0], before or "")) != place:
            before = None  # the guard of a row under an old key is its own only where it names the row
        taken = after is not None and after != before and (place[0], after) in self.holders
        error = NotUnique if taken else self.error_of_parents(place, old, values)
        if error is not None:
            return error
        if before is not None and before != after and self.holders.get((place[0], before)) == place:
            del self.holders[place[0], before]
        if after is not None and after != before:
            self.holders[place[0], after] = place
        if values is None:
            self.rows.pop(place, None)
        else:
            self.rows[place] = Row(values, is_old=False)
        return None

    def error_of_parents(self, place: Place, old: Raw | None, new: Raw | None) -> type[PartitaError] | None:
        room, was = (new or {}).get("room"), (old or {}).get("room")
        if place[0] is Room and new is None and self.boxes(place[1][0]):
            return StillReferenced
        if place[0] not in (Desk, Box) or room is None or room == was:
            return None
        parent = (Room, (room,))
        if parent not in self.rows:
            return ReferenceMissing
        self.move(parent)
        if place[0] is Box and len(self.boxes(room)) + 1 > self.rows[parent].values["most"]:
            return LimitReached
        return None

    def move(self, place: Place) -> None:
        """Moves a row to its current key for the write of another, with its unique value if that is free."""
        row = self.rows[place]
        code = self.code(place, row.values)
        if row.is_old and code is not None:
            self.holders.setdefault((place[0], code), place)
        row.is_old = row.is_in_the_way = False


class Shop:
    """Writes the same to a store and to the model."""

    def __init__(self, db: Store, random: Random) -> None:
        self.db, self.random, self.model = db, random, Model()

    def values_of(self, kind: type[Any], key: tuple[str, ...]) -> Raw:
        values: Raw = dict(zip(KEYS[kind], key, strict=True)) | {"code": self.random.choice(["c", "d", None])}
        if kind in (Desk, Box):
            values["room"] = self.random.choice(["r", "s", None])
        if kind in (Desk, Paper):
            values["title"] = self.random.choice("xy")
        if kind is Box:
            values["weight"] = self.random.choice([1, 20])
        if kind is Room:
            values["most"] = 2
        return values

    def place(self) -> Place:
        kind = self.random.choice([Desk, Paper, Room, Box])
        names = {"desk": "ab", "paper": "pq", "room": "rs", "box": ["a$Sb", "a#b", "x"]}
        return kind, tuple(self.random.choice(names[each]) for each in KEYS[kind])

    def put_as_other_code(self, place: Place) -> None:
        """A row without a guard; its room, if any, is as if it had been counted."""
        kind, key = place
        if place in self.model.rows:
            return
        values = self.values_of(kind, key) | ({"room": None} if kind in (Desk, Box) else {})
        occupies = place == OCCUPANT and OCCUPIED not in self.model.rows and self.random.random() < 0.5
        at = ("B#{box}", "BOX") if kind is Box and not occupies else None
        put_foreign(self.db, kind, at, **_given(values))
        self.model.rows[place] = Row(values, is_old=True, is_in_the_way=occupies)
        code = self.model.code(place, values)
        if code is not None and (kind, code) not in self.model.holders and self.random.random() < 0.5:
            put_guard(self.db, kind, at, **values)
            self.model.holders[kind, code] = place

    def step(self) -> None:
        place = self.place()
        kind, key = place
        row, call = self.model.rows.get(place), CALLS[kind](*key)
        kinds = ["foreign", "create", "put", "change", "update", "replace", "delete", "delete when"]
        act = self.random.choice(kinds)
        values = self.values_of(kind, key)
        if act == "foreign":
            return self.put_as_other_code(place)
        expected: type[PartitaError] | None
        if act in ("delete", "delete when"):
            when = F.code == values["code"] if act == "delete when" else None
            if when is not None and (None if row is None else row.values["code"]) != values["code"]:
                expected = ConditionFailed
            else:
                expected = self.delete(place)
            self.compare(lambda: self.db.delete(call, when=when), expected, (act, place))
        elif act == "create" and row is not None:
            self.compare(lambda: self.db.create(kind(**values)), AlreadyExists, (act, place))
        elif act in ("create", "put"):
            expected = self.model.write(place, values)
            write = self.db.create if act == "create" else self.db.put
            self.compare(lambda: write(kind(**values)), expected, (act, place, values))
        elif row is None:
            self.compare(lambda: self.db.update(call, lambda found: None), NotFound, (act, place))
        else:
            self.edit(act, place, row, values)
        return None

    def edit(self, act: str, place: Place, row: Row, values: Raw) -> None:
        kind, call = place[0], CALLS[place[0]](*place[1])
        names = [name for name in values if name not in KEYS[kind]]
        edited = {name: values[name] for name in self.random.sample(names, self.random.randint(1, len(names)))}
        is_sent = act != "update" or row.values != row.values | edited
        expected = self.model.write(place, row.values | edited) if is_sent else None

        def change() -> None:
            with self.db.change(call) as draft:
                assign(draft)

        def assign(found: Any) -> None:
            for name, value in edited.items():
                setattr(found, name, value)

        def replace() -> None:
            found = self.db.one(call)
            assign(found)
            self.db.replace(found)

        acts = {"change": change, "update": lambda: self.db.update(call, assign), "replace": replace}
        self.compare(acts[act], expected, (act, place, edited))

    def delete(self, place: Place) -> type[PartitaError] | None:
        exists = place in self.model.rows
        error = self.model.write(place, None)
        if exists and error is None and place[0] is Desk:
            for child in [each for each in self.model.rows if each[0] is Paper and each[1][0] == place[1][0]]:
                self.model.write(child, None)
        return error

    def compare(self, write: Callable[[], object], expected: type[PartitaError] | None, what: object) -> None:
        error: type[PartitaError] | None = None
        try:
            write()
        except PartitaError as raised:
            error = type(raised)
        assert error is expected, what

    def check(self) -> None:
        """Every read of the store agrees with the model."""
        rows = self.model.rows
        for kind, keys in KEYS.items():
            stored = {tuple(getattr(each, name) for name in keys): each for each in self.db.scan(kind)}
            assert stored.keys() == {key for held, key in rows if held is kind}
            for key, entity in stored.items():
                assert entity == self.db.get(CALLS[kind](*key))
                assert {name: getattr(entity, name) for name in rows[kind, key].values} == rows[kind, key].values
            for code in "cd":
                holder = self.db.find_by_unique(kind, "code", code)
                wanted = self.model.holders.get((kind, code))
                assert (None if holder is None else (kind, tuple(getattr(holder, name) for name in keys))) == wanted
        for (kind, key), row in rows.items():
            if kind is Room:
                room, boxes = self.db.one(a_room(*key)), self.model.boxes(*key)
                assert (room.boxes, room.weight) == (len(boxes), sum(each["weight"] for each in boxes)), row
        for desk in "ab":
            listed = sorted(each[1][1] for each in rows if each[0] is Paper and each[1][0] == desk)
            assert sorted(each.paper for each in self.db(papers(desk))) == listed
            assert sorted(each.paper for each in self.db(titles(desk))) == listed


def _given(values: Raw) -> Raw:
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize("seed", range(60))
def test_random_writes_agree_with_a_model_in_plain_python(db: Store, seed: int) -> None:
    shop = Shop(db, Random(seed))
    for _ in range(40):
        shop.step()
        shop.check()

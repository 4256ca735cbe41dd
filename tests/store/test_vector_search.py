"""Searches of vector indexes by a design: what they find, on every backend, and the errors of wrong values."""

import asyncio
import math
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Annotated, Any

import pytest

from partita import (
    AsyncStore,
    Dimensions,
    Entity,
    InvalidValue,
    Keys,
    Nearest,
    SearchResult,
    Store,
    StoreError,
    Table,
    Vector,
    VectorIndex,
    VectorSearch,
    connect,
    pattern,
    prove,
)
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import UnknownOperationException, ValidationException
from partita.dynamodb.shapes import DeleteIndexAction, VectorIndexUpdate
from partita.engine.engine import Engine
from partita.plan.design import Design
from partita.storage.memory import MemoryStorage
from partita.store.design_watch import DesignWatch
from tests.store.parts_design import (
    DIMENSIONS,
    LATER,
    Need,
    Note,
    Part,
    PartName,
    Status,
    design,
    need,
    needs_everywhere,
    part,
    similar,
    similar_names,
    similar_of_size,
    similar_parts,
    similar_red,
)

RIGHT = [1.0, 0.0, 0.0, 0.0]
UP = [0.0, 1.0, 0.0, 0.0]


class WithoutVectorIndexes:
    """A backend that ignores vector indexes, as some of DynamoDB's emulators do."""

    def __init__(self) -> None:
        self.engine = Engine(MemoryStorage(), maintain=False)
        self.cursor_key = self.engine.cursor_key
        self.scans = 0

    def call(self, request: Any) -> Any:
        if isinstance(request, wire.SearchVectors):
            raise UnknownOperationException
        if isinstance(request, wire.CreateTable) and request.vector_indexes:
            raise ValidationException("Number of attributes in KeySchema does not exactly match")
        if isinstance(request, wire.Scan):
            self.scans += 1
            request.limit = 7
        return self.engine.call(request)

    def close(self) -> None:
        self.engine.close()


@pytest.fixture(params=["memory", "file", "scan"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "scan":
        store = Store(WithoutVectorIndexes(), design)
    else:
        store = connect("memory:" if request.param == "memory" else str(tmp_path / "parts.db"), design)
    with store:
        unsupported = [each.sentence for each in store.create_tables()]
        assert unsupported == (["table parts: this backend has no vector indexes"] if request.param == "scan" else [])
        yield store


@pytest.fixture
def memory() -> Iterator[Store]:
    with connect("memory:", design) as store:
        store.create_tables()
        yield store


def a_part(part_id: str, embedding: Vector | None, **more: Any) -> Part:
    return Part(**{"part_id": part_id, "category": "brakes", "name": f"part {part_id}", "embedding": embedding, **more})


def ids(found: list[SearchResult[Part]]) -> list[str]:
    return [each.item.part_id for each in found]


def test_nearest_items_come_first_with_their_scores(db: Store) -> None:
    for part_id, vector in (("far", [-1.0, 0.0, 0.0, 0.0]), ("near", [3.0, 0.1, 0.0, 0.0]), ("side", UP)):
        db.create(a_part(part_id, vector))
    found = db(similar_parts(RIGHT, "brakes"))
    assert [(each.item.part_id, round(each.score, 4)) for each in found] == [("near", 0.0006), ("side", 1), ("far", 2)]
    assert found[0].item == db.one(part("near"))
    assert db(similar_parts(RIGHT, "wheels")) == []


def test_only_the_declared_number_is_returned(db: Store) -> None:
    for number in range(5):
        db.create(a_part(str(number), [1.0, number / 10, 0.0, 0.0]))
    assert ids(db(similar_parts(RIGHT, "brakes"))) == ["0", "1", "2"]


def test_filters_limit_the_search(db: Store) -> None:
    db.create(a_part("small", RIGHT, size=1, color="red"))
    db.create(a_part("large", RIGHT, size=2))
    assert ids(db(similar_of_size("brakes", 2, RIGHT))) == ["large"]
    assert ids(db(similar_of_size("brakes", 3, RIGHT))) == []
    assert ids(db(similar_red(RIGHT, "brakes"))) == ["small"]


def test_items_of_other_entities_are_not_found_unless_they_are_returned(db: Store) -> None:
    db.create(a_part("1", RIGHT))
    db.create(Need(need_id="2", category="brakes", embedding=RIGHT))
    db.create(Note(note_id="3", category="brakes"))
    assert ids(db(similar_parts(RIGHT, "brakes"))) == ["1"]
    assert {type(each.item) for each in db(similar(RIGHT, "brakes"))} == {Part, Need}
    assert [each.item.need_id for each in db(needs_everywhere(RIGHT))] == ["2"]


def test_view_is_returned_without_the_other_attributes(db: Store) -> None:
    db.create(a_part("1", [0.0, 3.0, 4.0, 0.0]))
    (found,) = db(similar_names([0.0, 0.0, 0.0, 0.0], "brakes"))
    assert found == SearchResult(PartName(part_id="1", category="brakes", name="part 1"), 5.0)


def test_item_leaves_the_index_when_its_condition_no_longer_holds(db: Store) -> None:
    db.create(a_part("1", RIGHT))
    with db.change(part("1")) as draft:
        draft.status = Status.RETIRED
    assert db(similar_parts(RIGHT, "brakes")) == []
    assert len(db(similar_names(RIGHT, "brakes"))) == 1
    with db.change(part("1")) as draft:
        draft.status = Status.ACTIVE
        draft.category = "wheels"
    assert db(similar_parts(RIGHT, "brakes")) == []
    assert ids(db(similar_parts(RIGHT, "wheels"))) == ["1"]
    with db.change(part("1")) as draft:
        draft.embedding = None
    assert db(similar_parts(RIGHT, "wheels")) == []
    assert db(similar_names(RIGHT, "wheels")) == []
    with db.change(part("1")) as draft:
        draft.embedding = UP
    assert [each.score for each in db(similar_parts(UP, "wheels"))] == [0]
    db.delete(part("1"))
    assert db(similar_parts(UP, "wheels")) == []


def test_expired_items_are_not_returned(db: Store) -> None:
    db.create(a_part("lives", RIGHT, expires_at=LATER))
    db.create(a_part("expired", RIGHT, expires_at=datetime(2020, 1, 1, tzinfo=UTC)))
    assert ids(db(similar_parts(RIGHT, "brakes"))) == ["lives"]


def test_vector_is_read_back_as_it_was_stored(db: Store) -> None:
    given = [0.1, 1 / 3, 1e-30, -123456.789]
    created = db.create(a_part("1", given))
    assert created.embedding == [0.1, 0.33333334, 1e-30, -123456.79]
    assert db.one(part("1")) == created
    assert db(similar_parts(given, "brakes"))[0].item == created


WRONG_VECTORS: dict[str, tuple[Any, str]] = {
    "short": ([1.0, 2.0], "the vector has 2 numbers; use one of 4 dimensions"),
    "empty": ([], "the vector is empty; use one of 4 dimensions"),
    "nan": ([1.0, math.nan, 0.0, 0.0], "the vector has nan at 1; use finite numbers"),
    "inf": ([1.0, 0.0, 0.0, -math.inf], "the vector has -inf at 3; use finite numbers"),
    "large": ([1e39, 0.0, 0.0, 0.0], "the vector has 1e+39 at 0; use 32-bit floats"),
}


@pytest.mark.parametrize("case", WRONG_VECTORS)
def test_wrong_vector_is_an_error_at_the_call(memory: Store, case: str) -> None:
    vector, message = WRONG_VECTORS[case]
    with pytest.raises(InvalidValue) as search:
        memory(similar_parts(vector, "brakes"))
    assert str(search.value) == f"similar_parts.embedding: {message}"
    with pytest.raises(InvalidValue) as write:
        memory.create(a_part("1", vector))
    assert str(write.value) == f"Part.embedding: {message}"
    memory.create(a_part("1", RIGHT))
    with pytest.raises(InvalidValue, match="the vector"), memory.change(part("1")) as draft:
        draft.embedding = vector
    assert memory.one(part("1")).embedding == RIGHT


WRONG_ARGUMENTS: list[tuple[Any, tuple[Any, ...], str]] = [
    (similar_parts, ("text", "brakes"), "similar_parts.embedding: a vector is a list of numbers, not str"),
    (similar_parts, (["a"] * 4, "brakes"), "similar_parts.embedding: the vector has 'a' at 0; use numbers"),
    (similar_parts, (None, "brakes"), "similar_parts.embedding: a vector is a list of numbers, not NoneType"),
    (similar_parts, (RIGHT, 5), "similar_parts.category: expected `str`, got `int`"),
    (similar_of_size, ("brakes", "x", RIGHT), "similar_of_size.size: expected `int`, got `str`"),
    (similar_of_size, ("brakes", None, RIGHT), "similar_of_size.size: expected `int`, got `NoneType`"),
]


@pytest.mark.parametrize(("search", "arguments", "message"), WRONG_ARGUMENTS)
def test_wrong_argument_is_named(memory: Store, search: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        memory(search(*arguments))
    assert str(error.value) == message


def test_array_of_numpy_is_a_vector(memory: Store) -> None:
    np = pytest.importorskip("numpy")
    memory.create(a_part("1", [float(each) for each in np.float32([0.1, 0.2, 0.3, 0.4])]))
    assert memory.one(part("1")).embedding == [0.1, 0.2, 0.3, 0.4]
    wanted: Any = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    assert ids(memory(similar_parts(wanted, "brakes"))) == ["1"]


def test_search_is_not_consistent_and_not_a_query(memory: Store) -> None:
    call: Any = similar_parts(RIGHT, "brakes")
    with pytest.raises(InvalidValue, match="eventually consistent"):
        memory(call, consistent=True)
    with pytest.raises(InvalidValue, match=r"searches a vector index; run it with db\(...\)"):
        memory.get(call)
    with pytest.raises(InvalidValue, match="searches a vector index"):
        memory.read_page(call)


def test_capacity_of_searches_is_metered(memory: Store) -> None:
    with memory.measure() as meter:
        memory(similar_parts(RIGHT, "brakes"))
    assert (meter.requests, meter.reads, meter.searched_bytes) == (1, 0.0, 1024.0)


def test_async_store_searches() -> None:
    async def run() -> list[str]:
        async with AsyncStore(Engine(MemoryStorage()), design) as db:
            await db.create_tables()
            await db.create(a_part("1", RIGHT))
            return ids(await db(similar_parts(RIGHT, "brakes")))

    assert asyncio.run(run()) == ["1"]


def test_scan_in_place_of_a_missing_index_is_bounded() -> None:
    backend = WithoutVectorIndexes()
    with Store(backend, design) as db:
        db.create_tables()
        db.put_many([Note(note_id=str(number), category="brakes") for number in range(60)])
        assert db(similar_parts(RIGHT, "brakes")) == []
        assert backend.scans == 9
        db.create(a_part("1", RIGHT))
        with pytest.raises(StoreError, match=r"more items than the scan in their place may read \(60\)"):
            db(similar_parts(RIGHT, "brakes"))


def test_backend_without_vector_indexes_is_named_by_a_search_that_declares_no_scan() -> None:
    with Store(WithoutVectorIndexes(), design) as db:
        db.create_tables()
        with pytest.raises(StoreError, match=r"this backend has no vector indexes; .*or_scan"):
            db(Part.by_meaning.nearest(3, embedding=RIGHT, category="brakes"))


things = Table("things", "PK", vector_indexes=(VectorIndex("ByIt", "it"),))
scanned = Table("scanned", "PK", vector_indexes=(VectorIndex("ByIt", "it"),))


class Thing(Entity, table=things, key=("{name}",)):
    name: str
    it: Annotated[Vector, Dimensions(2)] | None = None

    by_it = Keys("ByIt")


class Scanned(Entity, table=scanned, key=("{name}",)):
    name: str
    it: Annotated[Vector, Dimensions(2)] | None = None

    by_it = Keys("ByIt")


@pattern(Thing.by_it.nearest(1))
def nearest_thing(it: Vector) -> Nearest[Thing]: ...


@pattern(Scanned.by_it.nearest(1).or_scan(10))
def nearest_scanned(it: Vector) -> Nearest[Scanned]: ...


def watched(backend: WithoutVectorIndexes, design: Design, *, read_only: bool = False) -> Store:
    """A store as `connect` opens it."""
    db = Store(backend, design)
    db.watch = DesignWatch(db.design, db.context, read_only=read_only)
    return db


def test_backend_without_vector_indexes_is_an_error_of_every_operation_and_creates_nothing() -> None:
    backend = WithoutVectorIndexes()
    db = watched(backend, prove("things", things, scanned))
    for operation in (db.create_tables, db.create_tables, db.differences):
        with pytest.raises(StoreError, match=r"nearest_thing: this backend has no vector indexes; .*or_scan"):
            operation()
    assert backend.call(wire.ListTables()).table_names == []
    unwatched = Store(backend, prove("things", things))
    unwatched.create_tables()
    with pytest.raises(StoreError, match="no vector indexes"):
        db.create(Thing(name="1"))
    assert list(unwatched.scan(Thing)) == []
    reader = watched(backend, prove("things", things), read_only=True)
    assert list(reader.scan(Thing)) == []
    db.close()


def test_declared_scan_takes_the_place_of_vector_indexes() -> None:
    db = watched(WithoutVectorIndexes(), prove("scanned", scanned))
    db.create_tables()
    db.create(Scanned(name="1", it=[1.0, 0.0]))
    assert [each.item.name for each in db(nearest_scanned([1.0, 0.0]))] == ["1"]
    db.close()


def test_vector_index_that_is_only_missing_is_reported_once_and_can_be_created(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At connect for a file, and before the first request of a store over HTTP."""
    design = prove("things", things)
    path = str(tmp_path / "things.db")
    with connect(path, design) as db:
        db.create_tables()
        db.create(Thing(name="1", it=[1.0, 0.0]))
        db.backend.call(
            wire.UpdateTable(
                table_name="things",
                vector_index_updates=[VectorIndexUpdate(delete=DeleteIndexAction(index_name="ByIt"))],
            )
        )
    assert caplog.records == []
    with connect(path, design) as db:
        found = [each.getMessage() for each in caplog.records if "vector index" in each.getMessage()]
        assert len(found) == 1
        assert found[0].startswith("nearest_thing: table things has no vector index ByIt, so this search is an error;")
        assert db.create_tables() == []
        assert [each.item.name for each in db(nearest_thing([1.0, 0.0]))] == ["1"]


def test_missing_vector_index_is_created_and_filled(tmp_path: Path) -> None:
    with connect(str(tmp_path / "parts.db"), design) as db:
        db.create_tables()
        for number in range(30):
            db.create(a_part(str(number), [1.0, float(number), 0.0, 0.0]))
        db.backend.call(
            wire.UpdateTable(
                table_name="parts",
                vector_index_updates=[VectorIndexUpdate(delete=DeleteIndexAction(index_name="ByMeaning"))],
            )
        )
        assert [each.sentence for each in db.differences()] == ["vector index ByMeaning is missing"]
        assert db.create_tables() == []
        assert db.differences() == []
        assert ids(db(similar_parts(RIGHT, "brakes"))) == ["0", "1", "2"]


def exact_score(distance: str, query: Vector, stored: Vector) -> float:
    left, right = ([struct.unpack("<f", struct.pack("<f", each))[0] for each in one] for one in (query, stored))
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    if distance == "DOT_PRODUCT":
        return product
    if distance == "EUCLIDEAN":
        return math.dist(left, right)
    scale = math.hypot(*left) * math.hypot(*right)
    return 1 - product / scale if scale else 1.0


class Model:
    """What the database must have, and what its searches must find."""

    def __init__(self, db: Store, seed: int) -> None:
        self.db = db
        self.random = Random(seed)
        self.parts: dict[str, Part] = {}
        self.needs: dict[str, Need] = {}

    def vector(self) -> Vector:
        if self.random.random() < 0.1:
            return [0.0] * DIMENSIONS
        return [self.random.gauss(0, 1) for _ in range(DIMENSIONS)]

    def write(self) -> None:
        random, key = self.random, str(self.random.randrange(25))
        match random.randrange(6):
            case 0 | 1:
                vector = self.vector() if random.random() < 0.9 else None
                more = {"size": random.choice([1, 2]), "color": random.choice(["red", "grey"])}
                category, status = random.choice(["brakes", "wheels"]), random.choice(list(Status))
                self.parts[key] = self.db.put(a_part(key, vector, category=category, status=status, **more))
            case 2:
                self.needs[key] = self.db.put(Need(need_id=key, category="brakes", embedding=self.vector()))
            case 3 if key in self.parts:
                self.edit(key)
            case 4:
                self.db.delete(part(key))
                self.parts.pop(key, None)
            case _:
                with self.db.transaction() as transaction:
                    transaction.delete(need(key))
                    if key in self.parts:
                        transaction.change(part(key)).embedding = self.vector()
                    else:
                        transaction.create(a_part(key, self.vector()))
                self.needs.pop(key, None)
                self.parts[key] = self.db.one(part(key))

    def edit(self, key: str) -> None:
        with self.db.change(part(key)) as draft:
            match self.random.randrange(4):
                case 0:
                    draft.embedding = self.vector()
                case 1:
                    draft.embedding = None
                case 2:
                    draft.status = self.random.choice(list(Status))
                case _:
                    draft.category = self.random.choice(["brakes", "wheels"])
        self.parts[key] = self.db.one(part(key))

    def check(self) -> None:
        query, category, size = self.vector(), self.random.choice(["brakes", "wheels"]), self.random.choice([1, 2])
        mine = [each for each in self.parts.values() if each.embedding is not None]
        active = [each for each in mine if each.status is Status.ACTIVE and each.category == category]
        wanted = [each for each in self.needs.values() if each.category == category]
        self.compare("COSINE", query, active, 3, similar_parts(query, category))
        sized = [each for each in active if each.size == size]
        self.compare("COSINE", query, sized, 100, similar_of_size(category, size, query))
        red = [each for each in active if each.color == "red"]
        self.compare("COSINE", query, red, 100, similar_red(query, category))
        self.compare("COSINE", query, [*active, *wanted], 100, similar(query, category))
        self.compare("DOT_PRODUCT", query, list(self.needs.values()), 7, needs_everywhere(query))
        named = [each for each in mine if each.category == category]
        found = self.db(similar_names(query, category))
        self.scores("EUCLIDEAN", query, [each.embedding or [] for each in named], 5, [each.score for each in found])

    def compare(self, distance: str, query: Vector, every: list[Any], count: int, call: VectorSearch[Any]) -> None:
        found = self.db(call)
        assert all(each.item in every for each in found)
        assert len({id(each.item) for each in found}) == len(found)
        for each in found:
            assert each.score == pytest.approx(exact_score(distance, query, each.item.embedding), abs=1e-5)
        self.scores(distance, query, [each.embedding for each in every], count, [each.score for each in found])

    def scores(self, distance: str, query: Vector, vectors: list[Vector], count: int, found: list[float]) -> None:
        descending = distance == "DOT_PRODUCT"
        expected = sorted((exact_score(distance, query, each) for each in vectors), reverse=descending)[:count]
        assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_searches_equal_brute_force_after_random_writes(db: Store, seed: int) -> None:
    model = Model(db, seed)
    for step in range(120):
        model.write()
        if step % 6 == 5:
            model.check()

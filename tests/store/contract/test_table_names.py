"""Table names per stage: two stages of one design side by side on one backend, sync and async."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from partita import AsyncStore, Entity, Item, SentRequest, Store, Table, connect, pattern, prove
from partita.dynamodb.exceptions import ResourceNotFoundException
from partita.dynamodb.request_tables import tables_of
from partita.dynamodb.requests import BatchGetItem, BatchWriteItem, DeleteTable, ListTables, Scan
from partita.dynamodb.stream_shapes import ListStreams
from partita.errors import ConfigurationError
from partita.store.seeding import is_loaded, load
from tests.store.clocks import Clock
from tests.store.faults import Faulty, half_read, half_written
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, design, note, notes, work
from tests.store.test_async_store import story

STAGES = ("dev", "prod")


def stage_store(backend: Any, stage: str, **settings: Any) -> Store:
    return Store(backend, design, table_names=lambda name: f"{stage}-{name}", sleep=lambda _: None, **settings)


def dropped(backend: Any) -> Any:
    for stage in STAGES:
        try:
            backend.call(DeleteTable(table_name=f"{stage}-gallery"))
        except ResourceNotFoundException:
            continue
    return backend


def use_everything(db: Store) -> None:
    """Every kind of request that a store sends."""
    assert db.create_tables() == []
    assert db.create_tables() == []
    assert db.differences() == []
    db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
    db.create(Work(work_id="w1", artist_id="ann", title="one"))
    with db.transaction() as together:
        together.create(Work(work_id="w2", artist_id="ann", title="two"))
        together.change(work("w1")).title = "first"
    with db.change(work("w1")) as draft:
        draft.views += 1
    db.update(work("w2"), lambda each: setattr(each, "title", "second"))
    db.put_many([Note(artist_id="ann", number=number, text="") for number in range(30)])
    db.delete_many([note("ann", 29)])
    assert [each.number for each in db(notes("ann"))] == list(range(29))
    assert [each and each.number for each in db.get_many([note("ann", 3), note("ann", 29)])] == [3, None]
    assert db.find_by_unique(Artist, "named_once", "pt", "ann") == db.one(artist("ann"))
    assert db.one(artist("ann")).work_count == 2
    assert {each.work_id for each in db.scan(Work)} == {"w1", "w2"}
    done = db.adopt()
    assert (done.seen, done.rewritten, done.unknown, done.refused) == (32, 0, [], [])
    with db.measure() as used:
        db.delete(work("w2"))
    assert used.requests > 0


def test_two_stages_share_a_backend_and_no_item(backend: Any, clock: Clock) -> None:
    dropped(backend)
    sent: list[SentRequest] = []
    dev, prod = (stage_store(backend, stage, clock=clock, on_call=[sent.append]) for stage in STAGES)
    use_everything(dev)
    assert {name for each in sent for name in tables_of(each.request)} == {"dev-gallery"}
    prod.create_tables()
    assert prod(artist("ann")) is None
    assert list(prod.scan(Artist, Work, Note)) == []
    use_everything(prod)
    dev.delete(work("w1"))
    dev.delete(artist("ann"))
    assert prod.one(artist("ann")).work_count == 1
    assert {"dev-gallery", "prod-gallery"} <= set(backend.call(ListTables()).table_names or ())
    dropped(backend)


def test_async_stores_of_two_stages_share_a_backend() -> None:
    with connect("memory:", maintain=False) as backend:
        for stage in STAGES:
            asyncio.run(story(AsyncStore(backend, design, clock=Clock(), table_names={"gallery": f"{stage}-gallery"})))
        assert backend.call(ListTables()).table_names == ["dev-gallery", "partita-designs", "prod-gallery"]


def test_connect_takes_table_names(tmp_path: Any) -> None:
    file = tmp_path / "stages.db"
    for stage in STAGES:
        with connect(file, design, table_names={"gallery": f"{stage}-gallery"}) as db:
            db.create_tables()
            db.create(Artist(artist_id=stage, country="PT", handle=stage))
    for stage in STAGES:
        with connect(file, design, table_names={"gallery": f"{stage}-gallery"}) as db:
            assert [each.artist_id for each in db.scan(Artist)] == [stage]


@pytest.mark.parametrize(("request_class", "fault"), [(BatchWriteItem, half_written), (BatchGetItem, half_read)])
def test_unprocessed_part_of_a_batch_keeps_its_table(request_class: Any, fault: Callable[..., Any]) -> None:
    with connect("memory:", maintain=False) as backend:
        db = stage_store(Faulty(backend, request_class, fault, fault), "dev")
        db.create_tables()
        db.put_many([Note(artist_id="ann", number=number, text="") for number in range(30)])
        found = db.get_many([note("ann", number) for number in range(30)])
        assert [each and each.number for each in found] == list(range(30))


def test_item_of_a_stream_or_scan_is_decoded_under_both_names() -> None:
    with connect("memory:", maintain=False) as backend:
        db = stage_store(backend, "dev")
        db.create_tables()
        made = db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
        items = [msgspec.json.decode(raw) for raw in backend.call(Scan(table_name="dev-gallery")).items or ()]
        for name in ("dev-gallery", "gallery"):
            assert made in [db.decode_item(name, item) for item in items]
        assert (db.table_name("gallery"), db.table_name(design.tables[0])) == ("dev-gallery", "dev-gallery")


def test_explanations_and_differences_show_the_name_on_the_backend() -> None:
    with connect("memory:", maintain=False) as backend:
        db = stage_store(backend, "dev")
        (missing,) = db.differences()
        assert missing.sentence == "table dev-gallery is missing"
        assert missing.request is not None
        assert tables_of(missing.request) == ["dev-gallery"]
        explained = [
            db.explain(artist("ann")),
            db.explain_create(Artist(artist_id="ann", country="PT", handle="Ann")),
            db.explain_change(note("ann", 1), lambda draft: setattr(draft, "text", "new")),
        ]
        for text in explained:
            assert '"TableName": "dev-gallery"' in text
            assert '"gallery"' not in text


def test_stream_of_a_renamed_table_has_its_name() -> None:
    streamed = Table("notes", pk="id", stream="NEW_IMAGE")

    class Plain(Entity, table=streamed, key=("NOTE#{note_id}",)):
        note_id: str

    @pattern
    def plain(note_id: str) -> Item[Plain]: ...

    with connect("memory:", prove("notes", streamed), table_names={"notes": "dev-notes"}) as db:
        db.create_tables()
        streams = db.backend.call(ListStreams()).streams or []
        assert [stream.table_name for stream in streams] == ["dev-notes"]


def test_store_with_other_settings_keeps_its_table_names(clock: Clock) -> None:
    with connect("memory:", design, table_names={"gallery": "dev-gallery"}) as db:
        db.create_tables()
        later = db.with_settings(clock=clock)
        made = later.create(Artist(artist_id="ann", country="PT", handle="Ann"))
        assert made.updated_at == clock()
        assert later.table_name("gallery") == "dev-gallery"


def test_each_stage_has_its_own_progress_of_a_seed() -> None:
    steps = [[Note(artist_id="ann", number=1, text="")], [Note(artist_id="ann", number=2, text="")]]
    with connect("memory:", maintain=False) as backend:
        for stage in STAGES:
            db = stage_store(backend, stage)
            db.create_tables()
            assert not is_loaded(db, "demo", 2)
            assert (load(db, "demo", steps), load(db, "demo", steps)) == (2, 0)
            assert [each.number for each in db(notes("ann"))] == [1, 2]


two = Table("first", pk="id")
other = Table("second", pk="id")


class First(Entity, table=two, key=("FIRST#{first_id}",)):
    first_id: str


class Second(Entity, table=other, key=("SECOND#{second_id}",)):
    second_id: str


@pytest.mark.parametrize(
    ("naming", "said"),
    [
        ({"third": "x-third"}, "table_names: design 'both' has no table 'third'; it has first, second"),
        (
            {"first": "no spaces"},
            "table_names: 'no spaces' is not a valid name for table 'first'; use 3 to 255 of a-z, A-Z, 0-9, _ - .",
        ),
        (
            lambda name: "everything",
            "table_names: 'everything' is the name of tables 'first' and 'second'; give each its own",
        ),
        (
            {"first": "second", "second": "first"},
            "table_names: 'second' is the name of tables 'first' and 'second'; give each its own",
        ),
    ],
)
def test_invalid_table_names_are_rejected(naming: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused, connect("memory:") as backend:
        Store(backend, prove("both", two, other), table_names=naming)
    assert str(refused.value) == said

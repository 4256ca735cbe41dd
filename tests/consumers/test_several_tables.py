"""One consumer of the entities of several tables, in a worker and in Lambda."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita import ConfigurationError, Entity, Item, Store, Table, connect, pattern, prove
from partita.aws import lambda_handler
from partita.consumers import state
from partita.consumers.consumer import Consumer, Start
from partita.consumers.entity_changes import Change, Deleted
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.dynamodb.requests import DescribeTable
from partita.dynamodb.stream_shapes import DescribeStream, GetRecords, GetShardIterator
from partita.jobs import job_records
from partita.store.table_names import OWN_TABLES

people = Table("people", "PK", "SK", stream="NEW_AND_OLD_IMAGES")
places = Table("places", "id", stream="NEW_AND_OLD_IMAGES")
log = Table("log", "PK", "SK")


class Person(Entity, table=people, key=("PERSON#{name}", "PERSON")):
    name: str


class Place(Entity, table=places, key=("{name}",)):
    name: str


class Entry(Entity, table=log, key=("LOG#{name}", "ENTRY")):
    name: str
    count: int = 0


@pattern
def entry(name: str) -> Item[Entry]: ...


design = prove("map", people, places, log)


def entries(start: Start = "oldest") -> Consumer:
    consumer = Consumer("entries", start=start)

    @consumer.on(Person, Place)
    def note(change: Change[Person] | Change[Place], t: HandlerTransaction) -> None:
        found = change.before if isinstance(change, Deleted) else change.after
        t.change(entry(f"{type(found).__name__} {found.name}"), create=True).count += 1

    return consumer


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


def counts(db: Store) -> dict[str, int]:
    return {each.name: each.count for each in db.scan(Entry)}


def settle(db: Store, consumer: Consumer) -> None:
    runner = ConsumerRunner(db, consumer)
    runner.take_over()
    while runner.step():
        pass
    runner.close()


@pytest.mark.parametrize("start", ["oldest", "scan"])
def test_changes_of_every_table_are_handled_once(db: Store, start: Start) -> None:
    """Items of two tables with the same name are different ones."""
    for name in ("a", "b"):
        db.create(Person(name=name))
        db.create(Place(name=name))
        settle(db, entries(start))
    assert counts(db) == {"Person a": 1, "Person b": 1, "Place a": 1, "Place b": 1}
    found = list(Store(db.backend, state.design)(state.table_progresses("entries")))
    assert [each.table for each in found] == ["people", "places"]


def test_stages_whose_tables_a_mapping_names_have_consumers_of_their_own() -> None:
    with connect("memory:") as engine:
        for stage in ("dev", "prod"):
            names = {"people": f"{stage}-people", "places": f"{stage}-places", "log": f"{stage}-log"}
            with pytest.raises(ConfigurationError, match="add 'partita-consumers' to the mapping"):
                settle(Store(engine, design, table_names=names), entries())
            db = Store(engine, design, table_names=names | {"partita-consumers": f"{stage}-consumers"})
            db.create_tables()
            create_state_tables(db)
            db.create(Person(name=stage))
            settle(db, entries())
            assert db.one(entry(f"Person {stage}")).count == 1


def test_tables_of_consumers_and_jobs_are_those_that_a_mapping_may_name() -> None:
    assert (state.table.name, job_records.table.name) == OWN_TABLES
    with pytest.raises(ConfigurationError, match="has no table 'partita-consumer'"):
        connect("memory:", design, table_names={"partita-consumer": "mine"})


def test_function_in_lambda_takes_events_of_every_table(db: Store) -> None:
    db.create(Person(name="a"))
    db.create(Place(name="a"))
    handler = lambda_handler(entries(), db)
    for _ in range(2):
        for table in ("people", "places"):
            assert handler(event_of(db, table), None) == {"batchItemFailures": []}
    assert counts(db) == {"Person a": 1, "Place a": 1}


def event_of(db: Store, table: str) -> dict[str, Any]:
    """The records of a table's stream, as Lambda receives them."""
    described = db.backend.call(DescribeTable(table_name=table)).table
    arn = None if described is None else described.latest_stream_arn
    stream = db.backend.call(DescribeStream(stream_arn=arn)).stream_description
    assert stream is not None
    (shard,) = stream.shards or []
    start = GetShardIterator(stream_arn=arn, shard_id=shard.shard_id, shard_iterator_type="TRIM_HORIZON")
    reply = db.backend.call(GetRecords(shard_iterator=db.backend.call(start).shard_iterator))
    records = [msgspec.json.decode(msgspec.json.encode(each)) for each in reply.records or []]
    return {"Records": [{**each, "eventSourceARN": arn} for each in records]}

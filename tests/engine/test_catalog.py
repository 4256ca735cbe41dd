"""Readers and the writer have separate catalogues."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from partita.dynamodb import requests as q
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement
from partita.engine.engine import Engine
from partita.engine.writer import PendingWrite
from partita.storage.contract import StorageTransaction
from tests.engine.shorthand import open_engine


def _table(name: str) -> q.CreateTable:
    return q.CreateTable(
        table_name=name,
        attribute_definitions=[AttributeDefinition(attribute_name="id", attribute_type="S")],
        key_schema=[KeySchemaElement(attribute_name="id", key_type="HASH")],
        billing_mode="PAY_PER_REQUEST",
    )


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    address = "memory:" if request.param == "memory" else str(tmp_path / "data.db")
    with open_engine(address) as opened:
        yield opened


def test_refresh_by_a_reader_does_not_see_an_open_transaction(engine: Engine) -> None:
    """A table created in a commit exists for the next write of the same commit, even if readers run in between."""

    def reader_looks(txn: StorageTransaction) -> None:
        engine._context.catalog.invalidate()
        engine._context.catalog.tables = {}

    jobs = [
        engine.prepare(_table("notes")),
        reader_looks,
        engine.prepare(q.PutItem(table_name="notes", item={"id": {"S": "1"}})),
    ]
    for job in jobs:
        engine.writer.enqueue(PendingWrite(job))
    tickets = engine.writer.commit_queue()
    assert [ticket.error for ticket in tickets] == [None, None, None]
    assert engine.call(q.GetItem(table_name="notes", key={"id": {"S": "1"}})).item is not None


def test_readers_see_no_table_before_it_is_committed(engine: Engine) -> None:
    engine.writer.enqueue(PendingWrite(engine.prepare(_table("notes"))))
    group = engine.writer.open_group()
    assert group is not None
    assert "notes" not in engine._context.catalog.tables
    group.commit()
    assert "notes" in engine._context.catalog.tables

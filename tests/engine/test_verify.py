"""`verify` reports every inconsistency, and none in a consistent database."""

import sqlite3

import pytest

from partita.storage.contract import Row, Write
from tests.engine.tables import Bench, index, problems_of


@pytest.fixture
def filled(anywhere: Bench) -> Bench:
    anywhere.table(
        "notes",
        "pk:S sk:N",
        index("all", "g:S h:N", "ALL"),
        index("some", "h:N", "INCLUDE", "x"),
        local=(index("local", "pk:S l:S", "KEYS_ONLY"),),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    anywhere.ok(
        "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    for number in range(30):
        anywhere.put("notes", pk=f"p{number % 3}", sk=number, h=number, g=f"g{number % 2}", l="l", x="x", until=number)
    anywhere.put("notes", pk="large", sk=1, h=1, x="x" * 300_000)
    return anywhere


def problems(bench: Bench) -> list[str]:
    return problems_of(bench.engine)


def test_consistent_database_has_no_problems(filled: Bench) -> None:
    assert problems(filled) == []


@pytest.mark.parametrize("which", ["table", "all", "some", "local", "expiry"])
@pytest.mark.parametrize("damage", ["lost", "added", "changed"])
def test_damage_is_reported(filled: Bench, which: str, damage: str) -> None:
    context = filled.engine._context
    table = context.catalog.table_in_txn("notes")
    spaces = {name: each.space for name, each in table.indexes.items()}
    spaces |= {"table": table.space, "expiry": table.record.ttl_space or ""}
    space = spaces[which]
    key, weight, value = next(iter(context.storage.range(space, b"", None)))
    before = Row(weight, value)
    writes = {
        "lost": Write(space, key, before, None),
        "added": Write(space, key + b"\0", None, before),
        "changed": Write(space, key, before, Row(weight + 1, value)),
    }
    with context.storage.transaction() as txn:
        txn.apply([writes[damage]])
    assert problems(filled)


def test_wrong_total_is_reported(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    filed.put("notes", pk="a")
    connection = sqlite3.connect(filed.address)
    connection.execute("UPDATE spaces SET n = n + 1 WHERE n = 1 AND w > 0")
    connection.commit()
    connection.close()
    assert problems(filed) == ["notes: the stored totals are 2 rows of 3 bytes, the actual ones 1 of 3"]

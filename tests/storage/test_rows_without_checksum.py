"""A row whose length is damaged may have columns of other types, and no checksum at all."""

from pathlib import Path

import apsw

from tests.engine.shorthand import Embedded, Json, open_engine

CREATE: Json = {
    "TableName": "ttt",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def damage(path: Path) -> None:
    """Gives one row of the items the columns that SQLite reads where the length of a row is wrong."""
    for change in (
        "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')",
        "UPDATE s1 SET v = 2, c = NULL",
    ):
        connection = apsw.Connection(str(path))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute("PRAGMA writable_schema = ON")
        where = "name = 's1'" if "master" in change else "k = (SELECT k FROM s1 ORDER BY k LIMIT 1 OFFSET 1)"
        connection.execute(f"{change} WHERE {where}")
        connection.close()


def test_row_without_a_checksum_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    database = Embedded(open_engine(str(path)))
    assert database.ask("CreateTable", CREATE).error == ""
    for key in "abc":
        assert database.ask("PutItem", {"TableName": "ttt", "Item": {"pk": {"S": key}}}).error == ""
    database.engine.close()
    damage(path)
    database = Embedded(open_engine(str(path)))
    assert database.ask("Scan", {"TableName": "ttt"}).code == "InternalServerError"
    database.engine.close()

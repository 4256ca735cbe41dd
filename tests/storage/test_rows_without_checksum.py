"""A row whose length is damaged may have columns of other types, text that is not UTF-8, and no checksum at all."""

from pathlib import Path

import apsw
import pytest

from partita.cli.verify import verify
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


def filled(path: Path) -> None:
    database = Embedded(open_engine(str(path)))
    assert database.ask("CreateTable", CREATE).error == ""
    for key in "abc":
        assert database.ask("PutItem", {"TableName": "ttt", "Item": {"pk": {"S": key}}}).error == ""
    database.engine.close()


@pytest.mark.parametrize("column", ["k", "w", "v", "c"])
def test_text_that_is_not_utf8_is_reported_and_repaired(
    tmp_path: Path, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged.db"
    filled(path)
    connection = apsw.Connection(str(path))
    second = "(SELECT k FROM s1 ORDER BY k LIMIT 1 OFFSET 1)"
    connection.execute(f"UPDATE s1 SET {column} = CAST(x'ff41' AS TEXT) WHERE k = {second}")  # noqa: S608 - a column
    connection.close()
    database = Embedded(open_engine(str(path)))
    for operation in ("Scan", "PutItem", "GetItem"):
        of_key = {"PutItem": "Item", "GetItem": "Key"}.get(operation)
        several = [{of_key: {"pk": {"S": key}}} for key in "abc"] if of_key else [{}]
        codes = {database.ask(operation, {"TableName": "ttt", **each}).code for each in several}
        assert codes <= {"", "InternalServerError"}
        assert operation != "Scan" or codes == {"InternalServerError"}
    database.engine.close()
    with pytest.raises(SystemExit, match="1"):
        verify(path)
    assert "of s1 is damaged" in capsys.readouterr().out
    verify(path, repair=True)
    assert "ttt: a damaged item is moved to" in capsys.readouterr().out
    verify(path)


def test_bytes_that_became_text_are_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "damaged.db"
    filled(path)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE s1 SET v = CAST(v AS TEXT) WHERE k = (SELECT max(k) FROM s1)")
    connection.close()
    verify(path, repair=True)
    assert "ttt: an item at a damaged key is stored at its own key again" in capsys.readouterr().out
    database = Embedded(open_engine(str(path)))
    assert database.ask("Scan", {"TableName": "ttt"}).body["Count"] == 3
    database.engine.close()


def test_row_without_a_checksum_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    filled(path)
    damage(path)
    database = Embedded(open_engine(str(path)))
    assert database.ask("Scan", {"TableName": "ttt"}).code == "InternalServerError"
    database.engine.close()

"""`partita export data` and `partita import data`; boto3's waiters and the AWS CLI drive the same over HTTP."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from partita import Store, connect
from partita.cli.data_commands import export_data, import_data
from partita.dynamodb.exceptions import ResourceInUseException
from partita.dynamodb.requests import DescribeTimeToLive, ListTables
from partita.errors import ConfigurationError, RestorePointMissing, TransferFailed
from partita.recovery.data_files import Place, import_table
from tests.cli import ledger
from tests.cli.ledger import Entry
from tests.cli.test_backup import ENVIRONMENT, PARTITA
from tests.peers import started
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

WAIT = {"Delay": 1, "MaxAttempts": int(PATIENCE)}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Store]:
    with connect(tmp_path / "ledger.db", ledger.design) as db:
        db.create_tables()
        for number in range(30):
            db.create(Entry(entry_id=str(number), amount=number))
        yield db


def entries(path: Path) -> dict[str, int]:
    with connect(path, ledger.design) as db:
        return {each.entry_id: each.amount for each in db.scan(Entry)}


def test_exported_data_loads_into_a_new_file_with_the_settings_of_the_design(
    db: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on, copy, folder = str(tmp_path / "ledger.db"), str(tmp_path / "copy.db"), str(tmp_path / "exports")
    export_data("tests.cli.ledger", on=on, to=folder)
    printed = capsys.readouterr().out
    assert printed.startswith("ledger: 30 items in ")
    manifest = Path(printed.split(" s: ")[1].strip())
    assert json.loads(manifest.read_bytes())["itemCount"] == 30
    import_data("tests.cli.ledger", on=copy, source=folder)
    assert capsys.readouterr().out.startswith("ledger: 30 items in ")
    assert entries(Path(copy)) == entries(Path(on))
    with connect(Path(copy)) as backend:
        ttl = backend.call(DescribeTimeToLive(table_name="ledger")).time_to_live_description
        assert ttl is not None
        assert ttl.attribute_name == "ttl"
    with pytest.raises(ResourceInUseException, match="Table already exists: ledger"):
        import_data("tests.cli.ledger", on=copy, source=folder)
    db.put(Entry(entry_id="new", amount=1))
    export_data("tests.cli.ledger", on=on, to=folder, ion=True)
    import_data("tests.cli.ledger", on=copy, source=folder, add=True)
    assert capsys.readouterr().out.splitlines()[-1].startswith("ledger: 31 items in ")
    assert entries(Path(copy))["new"] == 1


def _exported(db: Store, tmp_path: Path) -> tuple[Path, Path]:
    """A folder with an export, and its data file."""
    export_data("tests.cli.ledger", on=str(tmp_path / "ledger.db"), to=str(tmp_path / "exports"))
    (data,) = (tmp_path / "exports").glob("AWSDynamoDB/*/data/*.json.gz")
    return data.parent.parent, data


def _cut(manifest: Path, data: Path) -> None:
    data.write_bytes(data.read_bytes()[:-20])


def _exchange(manifest: Path, data: Path) -> None:
    data.write_bytes(gzip.compress(b'{"Item":{"PK":{"S":"x"},"SK":{"S":"y"}}}\n'))


def _link(manifest: Path, data: Path) -> None:
    data.rename(manifest / "elsewhere.json.gz")
    data.symlink_to(manifest / "elsewhere.json.gz")


def _add(manifest: Path, data: Path) -> None:
    (data.parent / "more.json").write_text("{}")


def _empty_manifest(manifest: Path, data: Path) -> None:
    (manifest / "manifest-files.json").write_text("")


def _hostile_manifest(manifest: Path, data: Path) -> None:
    line = {"itemCount": 30, "md5Checksum": "x", "etag": "", "dataFileS3Key": "../../../../ledger.db"}
    (manifest / "manifest-files.json").write_text(json.dumps(line))
    (manifest / "manifest-files.md5").unlink()


def _garbage(manifest: Path, data: Path) -> None:
    (manifest / "manifest-summary.json").write_text("[]")
    (manifest / "manifest-summary.md5").unlink()


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (_cut, "json.gz does not match its checksum in manifest-files.json"),
        (_exchange, "json.gz does not match its checksum in manifest-files.json"),
        (lambda manifest, data: data.unlink(), "json.gz is missing"),
        (_link, "json.gz is missing"),
        (_add, "more.json is not in manifest-files.json"),
        (_empty_manifest, "manifest-files.json does not match manifest-files.md5"),
        (_hostile_manifest, "ledger.db is missing"),
        (_garbage, "manifest-summary.json is not a manifest: Expected `object`, got `array`"),
        (lambda manifest, data: (manifest / "manifest-files.json").unlink(), "manifest-files.json cannot be read"),
    ],
)
def test_export_that_is_not_as_it_was_written_is_refused_before_anything_is_imported(
    db: Store, tmp_path: Path, damage: Callable[[Path, Path], object], error: str
) -> None:
    damage(*_exported(db, tmp_path))
    copy = tmp_path / "copy.db"
    with pytest.raises(TransferFailed, match=f"{re.escape(error)}.*; nothing was imported"):
        import_data("tests.cli.ledger", on=str(copy), source=str(tmp_path / "exports"))
    with connect(copy) as backend:
        assert backend.call(ListTables()).table_names == []


def test_export_that_was_downloaded_without_its_prefix_is_imported(db: Store, tmp_path: Path) -> None:
    folder, _ = _exported(db, tmp_path)
    (tmp_path / "download" / "AWSDynamoDB").mkdir(parents=True)
    folder.rename(tmp_path / "download" / "AWSDynamoDB" / folder.name)
    import_data("tests.cli.ledger", on=str(tmp_path / "copy.db"), source=str(tmp_path / "download"))
    assert entries(tmp_path / "copy.db") == entries(tmp_path / "ledger.db")


def test_folder_of_one_export_is_imported(db: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its manifests were read as data."""
    folder, _ = _exported(db, tmp_path)
    import_data("tests.cli.ledger", on=str(tmp_path / "one.db"), source=str(folder))
    monkeypatch.chdir(folder)
    import_data("tests.cli.ledger", on=str(tmp_path / "two.db"), source="..")
    assert entries(tmp_path / "one.db") == entries(tmp_path / "two.db") == entries(tmp_path / "ledger.db")


def test_file_in_the_way_of_an_export_is_an_error(db: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for to in ("file", "file/exports"):
        with pytest.raises(ConfigurationError, match=f"{to}: the folder cannot be created: "):
            export_data("tests.cli.ledger", on=str(tmp_path / "ledger.db"), to=str(tmp_path / to))


def test_moment_that_cannot_be_exported_is_refused_with_those_that_can(db: Store, tmp_path: Path) -> None:
    on, to, early = str(tmp_path / "ledger.db"), str(tmp_path / "exports"), datetime(2020, 1, 1, tzinfo=UTC)
    reachable = "; there is any second from 20..-..-..T..:..:..Z to 20"
    with pytest.raises(RestorePointMissing, match=f"ledger: 2020-01-01T00:00:00Z cannot be exported .*{reachable}"):
        export_data("tests.cli.ledger", on=on, to=to, at=early)
    with pytest.raises(RestorePointMissing, match=f"ledger: 2020-01-01T00:00:00Z to now cannot .*{reachable}"):
        export_data("tests.cli.ledger", on=on, to=to, since=early)


def test_wrong_places_are_refused(db: Store, tmp_path: Path) -> None:
    on = str(tmp_path / "ledger.db")
    with pytest.raises(ConfigurationError, match="name a folder"):
        export_data("tests.cli.ledger", on=on, to="s3://b/p")
    with pytest.raises(ConfigurationError, match="no such folder"):
        import_data("tests.cli.ledger", on=on, source=str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match="the folder takes the place of a bucket"):
        export_data("tests.cli.ledger", on=on, to=str(tmp_path / "내보내기"))
    with pytest.raises(ConfigurationError, match="write s3://BUCKET/PREFIX"):
        export_data("tests.cli.ledger", on="http://127.0.0.1:1", to="x")


def test_folder_without_anything_to_import_is_refused(db: Store, tmp_path: Path) -> None:
    """A folder with a misspelt name gave an empty table, and manifests were taken for records."""
    (tmp_path / "empty" / "folder").mkdir(parents=True)
    summary = tmp_path / "increments" / "AWSDynamoDB" / "01800000000000-0a1b2c3d" / "manifest-summary.json"
    summary.parent.mkdir(parents=True)
    table = "arn:aws:dynamodb:us-east-1:000000000000:table/ledger"
    summary.write_text(json.dumps({"tableArn": table, "exportType": "INCREMENTAL_EXPORT"}))
    new = tmp_path / "new.db"
    for folder, words in (("empty", "empty has no files"), ("increments", "has incremental exports alone")):
        with pytest.raises(ConfigurationError, match=words):
            import_data("tests.cli.ledger", on=str(new), source=str(tmp_path / folder))
    assert not new.exists()


def test_failed_import_is_raised_with_its_code(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "x.json").write_text("garbage")
    with connect("memory:", buckets=tmp_path) as backend:
        db = Store(backend, ledger.design)
        with pytest.raises(TransferFailed, match="ItemValidationError: Some of the items"):
            import_table(db, ledger.ledger, Place("bucket"))


def test_import_with_invalid_records_has_the_settings_of_the_design(db: Store, tmp_path: Path) -> None:
    _files_with_an_invalid_line(tmp_path / "files", entry="a")
    with connect(tmp_path / "new.db", ledger.design, buckets=tmp_path) as copy:
        with pytest.raises(TransferFailed, match="ItemValidationError"):
            import_table(copy, ledger.ledger, Place("files"))
        assert [each.entry_id for each in copy.scan(Entry)] == ["a"]
        described = copy.backend.call(DescribeTimeToLive(table_name="ledger")).time_to_live_description
        expected = db.backend.call(DescribeTimeToLive(table_name="ledger")).time_to_live_description
        assert described == expected


def test_records_that_are_not_added_are_an_error(db: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _files_with_an_invalid_line(tmp_path / "files", entry="added")
    on = tmp_path / "ledger.db"
    with pytest.raises(TransferFailed, match="ledger: 1 of 2 records were not put; reported in files/reports/"):
        import_data("tests.cli.ledger", on=str(on), source=str(tmp_path / "files"), add=True)
    assert capsys.readouterr().out.startswith("ledger: 31 items in ")
    assert "added" in entries(on)


def _files_with_an_invalid_line(folder: Path, entry: str) -> None:
    folder.mkdir()
    item = {"PK": {"S": f"ENTRY#{entry}"}, "SK": {"S": "ENTRY"}, "entry_id": {"S": entry}, "amount": {"N": "1"}}
    (folder / "x.json").write_text(json.dumps({"Item": item}) + "\n" + json.dumps({"Item": {}}) + "\n")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("buckets")
    (folder / "team-data").mkdir()
    command = [*PARTITA, "engine", "--memory", "--buckets", str(folder)]
    with started(lambda port: [*command, "--port", str(port)]) as running:
        yield running.endpoint


@pytest.fixture
def client(endpoint: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )


def creation(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_waiters_of_boto3_follow_an_export_an_import_and_a_bulk_put(client: Any) -> None:
    client.create_table(**creation("notes"))
    client.update_continuous_backups(
        TableName="notes", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for number in range(5):
        client.put_item(TableName="notes", Item={"pk": {"S": str(number)}, "b": {"B": bytes([number])}})
    table = client.describe_table(TableName="notes")["Table"]["TableArn"]
    export = client.export_table_to_point_in_time(TableArn=table, S3Bucket="team-data")["ExportDescription"]
    client.get_waiter("export_completed").wait(ExportArn=export["ExportArn"], WaiterConfig=WAIT)
    done = client.describe_export(ExportArn=export["ExportArn"])["ExportDescription"]
    assert done["ItemCount"] == 5
    assert client.list_exports(TableArn=table)["ExportSummaries"][0]["ExportArn"] == export["ExportArn"]
    prefix = done["ExportManifest"].removesuffix("manifest-summary.json") + "data/"
    imported = client.import_table(
        S3BucketSource={"S3Bucket": "team-data", "S3KeyPrefix": prefix},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters=creation("copy"),
    )["ImportTableDescription"]
    client.get_waiter("import_completed").wait(ImportArn=imported["ImportArn"], WaiterConfig=WAIT)
    assert client.list_imports()["ImportSummaryList"][0]["ImportStatus"] == "COMPLETED"
    client.create_table(**creation("another"))
    bulk = client.start_bulk_put_items(
        TableName="another",
        InputS3Configuration={
            "S3Bucket": "team-data",
            "S3KeyPrefix": prefix,
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
        },
        OutputS3Configuration={"S3Bucket": "team-data", "OutputType": ["ERROR"]},
    )["BulkOperationDescription"]
    client.get_waiter("bulk_operation_completed").wait(BulkOperationArn=bulk["BulkOperationArn"], WaiterConfig=WAIT)
    copies = [client.scan(TableName=name)["Items"] for name in ("notes", "copy", "another")]
    assert copies[0] == copies[1] == copies[2]


def test_aws_cli_exports_and_describes(client: Any, endpoint: str) -> None:
    client.create_table(**creation("lines"))
    client.update_continuous_backups(
        TableName="lines", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    table = client.describe_table(TableName="lines")["Table"]["TableArn"]

    def aws(*arguments: str) -> Any:
        command = [sys.executable, "-m", "awscli", "dynamodb", *arguments, "--endpoint-url", endpoint]
        done = subprocess.run(
            [*command, "--region", "us-east-1"],
            env=ENVIRONMENT | {"AWS_EC2_METADATA_DISABLED": "true", "HOME": os.devnull},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return json.loads(done.stdout) if done.stdout else None

    export = aws("export-table-to-point-in-time", "--table-arn", table, "--s3-bucket", "team-data")
    arn = export["ExportDescription"]["ExportArn"]
    client.get_waiter("export_completed").wait(ExportArn=arn, WaiterConfig=WAIT)
    assert aws("describe-export", "--export-arn", arn)["ExportDescription"]["ExportStatus"] == "COMPLETED"

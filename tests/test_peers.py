"""The peers that other tests compare with start, answer and stop."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers import PEERS, Unavailable, call, create_table, expect, started
from tests.peers.fixtures import RunJavaScript
from tests.peers.javascript import JavaScriptError

pytestmark = pytest.mark.slow

TABLE: dict[str, Any] = {
    "TableName": "peers",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_peer_stores_and_returns_an_item(peer: str) -> None:
    create_table(peer, TABLE)
    item = {"pk": {"S": "a"}, "n": {"N": "1"}}
    expect(peer, "PutItem", {"TableName": "peers", "Item": item})
    assert expect(peer, "GetItem", {"TableName": "peers", "Key": {"pk": {"S": "a"}}}) == {"Item": item}


@pytest.mark.parametrize("name", sorted(PEERS))
def test_peer_reports_its_version(name: str) -> None:
    try:
        assert PEERS[name].version()
    except Unavailable as missing:
        pytest.skip(str(missing))


def test_peer_stops_when_its_block_is_left() -> None:
    with PEERS["moto"].started() as running:
        assert running.pid > 0
    with pytest.raises(OSError, match="refused"):
        call(running.endpoint, "ListTables", {})


def test_server_that_exits_is_reported_with_its_output() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(RuntimeError, match="no such thing"), started(lambda _: command):
        pass


def test_javascript_returns_the_sdk_response(javascript: RunJavaScript, dynalite: str) -> None:
    tables = "return (await client.send(new dynamodb.ListTablesCommand({}))).TableNames"
    assert isinstance(javascript(dynalite, tables), list)


def test_javascript_error_has_its_name(javascript: RunJavaScript, dynalite: str) -> None:
    missing = 'await documentClient.send(new documents.GetCommand({ TableName: "absent", Key: { pk: "a" } }))'
    with pytest.raises(JavaScriptError, match="ResourceNotFoundException"):
        javascript(dynalite, missing)


def test_no_skip_turns_a_skipped_test_into_a_failure(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text().replace(', "tests.peers.fixtures"', ""))
    pytester.makepyfile("import pytest\n\ndef test_absent() -> None:\n    pytest.skip('no java')\n")
    pytester.runpytest_inprocess("-p", "no:partita").assert_outcomes(skipped=1)
    strict = pytester.runpytest_inprocess("-p", "no:partita", "--no-skip")
    strict.assert_outcomes(failed=1)
    strict.stdout.fnmatch_lines(["*skipped, and --no-skip was given: Skipped: no java*"])

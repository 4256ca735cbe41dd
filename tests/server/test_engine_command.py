"""`partita engine` as a program: how it starts and stops, the arguments that it rejects, the bytes that it sends."""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import zlib
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.peers import Running, call, free_port, lists_tables, started, wait_until
from tests.server.conftest import engine_command
from tests.server.sockets import ask, connected, exchange, is_closed_by_server, read_reply, request
from tests.timing import PATIENCE, process_seconds

pytestmark = pytest.mark.slow

TABLE = {
    "TableName": "spoken",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(scope="module")
def spoken(server: Running) -> str:
    assert call(server.endpoint, "CreateTable", TABLE).status == 200
    item = {"pk": {"S": "large"}, "p": {"S": "lorem ipsum " * 1000}}
    assert call(server.endpoint, "PutItem", {"TableName": "spoken", "Item": item}).status == 200
    return server.endpoint


def get_large(endpoint: str, *headers: str) -> tuple[dict[str, str], bytes]:
    reply = ask(endpoint, "GetItem", {"TableName": "spoken", "Key": {"pk": {"S": "large"}}}, *headers)
    assert reply.status == 200
    return reply.headers, reply.body


@pytest.mark.parametrize("accepted", ["", "identity", "gzip", "gzip, deflate, br", "br, gzip;q=0.5"])
def test_checksum_is_of_the_sent_bytes(spoken: str, accepted: str) -> None:
    headers, body = get_large(spoken, *([f"Accept-Encoding: {accepted}"] if accepted else []))
    assert headers["x-amz-crc32"] == str(crc32(body))
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert ("gzip" in accepted) is (headers.get("content-encoding") == "gzip")
    plain = gzip.decompress(body) if "gzip" in accepted else body
    assert json.loads(plain)["Item"]["pk"] == {"S": "large"}


def test_reply_is_not_compressed_where_gzip_has_weight_zero(spoken: str) -> None:
    assert "content-encoding" not in get_large(spoken, "Accept-Encoding: br, gzip;q=0")[0]


def test_every_reply_has_a_unique_request_id(spoken: str) -> None:
    ids = {get_large(spoken)[0]["x-amzn-requestid"] for _ in range(20)}
    assert len(ids) == 20
    assert {len(each) for each in ids} == {52}


def test_gzip_request_is_decompressed(spoken: str) -> None:
    body = gzip.compress(json.dumps({"TableName": "spoken", "Key": {"pk": {"S": "large"}}}).encode())
    assert ask(spoken, "GetItem", body, "Content-Encoding: gzip").status == 200


def test_error_body_has_type_and_message(spoken: str) -> None:
    reply = ask(spoken, "GetItem", {"TableName": "none-such", "Key": {"pk": {"S": "a"}}})
    assert reply.status == 400
    assert json.loads(reply.body) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        "message": "Requested resource not found",
    }
    assert reply.headers["x-amz-crc32"] == str(crc32(reply.body))


@pytest.mark.parametrize("path", ["/", "/health"])
def test_health_check_is_answered(spoken: str, path: str) -> None:
    reply = exchange(spoken, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert (reply.status, reply.body) == (200, b"healthy: partita\n")


def test_connection_is_kept_alive(spoken: str) -> None:
    with connected(spoken) as connection:
        for _ in range(5):
            connection.sendall(request("ListTables", b"{}"))
            assert read_reply(connection).status == 200


# Starting ------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(part) for part in engine_command(*arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_engine_answers_within_half_a_second() -> None:
    """By the clock, or by processor time on a busy machine; the best of a few."""
    seconds = []
    for _ in range(15):
        with started(lambda port: engine_command("--memory", "--port", str(port))) as running:
            seconds.append(min(running.seconds, process_seconds(running.pid)))
        if seconds[-1] < 0.5:
            break
    assert min(seconds) < 0.5


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])  # noqa: S104
def test_public_address_is_rejected(host: str) -> None:
    done = run("--memory", "--host", host, "--port", str(free_port()))
    assert done.returncode == 2
    assert done.stderr.startswith(f"partita: --host {host}: anyone who can reach this address could read and write")
    assert "--public" in done.stderr
    assert done.stderr.count("\n") == 1


def test_public_address_is_served_with_the_public_flag() -> None:
    command = engine_command("--memory", "--host", "0.0.0.0", "--public", "--port")  # noqa: S104
    with started(lambda port: [*command, str(port)]) as running:
        assert call(running.endpoint, "ListTables", {}).status == 200


def test_port_in_use_is_reported_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("--memory", "--port", str(taken.getsockname()[1]))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "address already in use" in done.stderr.lower()
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "--data", "x.db"], "partita: --memory and --data exclude each other"),
        (["--data", "memory:"], "partita: --data memory: is not a file; leave --data out to keep the data in memory"),
        (["--data", "no/such/folder/x.db"], "partita: no/such/folder/x.db: cannot be opened"),
        (["--port", "70000"], "70000"),
        (["--durability", "none"], "none"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_invalid_arguments_are_explained(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("dear reader\n" * 1000)
    done = run("--data", str(file))
    assert done.returncode == 2
    assert done.stderr == f"partita: {file}: not a Partita database file; name another file\n"


# Stopping ------------------------------------------------------------------------------------------------------


@contextmanager
def running_engine(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Runs an engine that the test may stop."""
    port = free_port()
    process = subprocess.Popen(
        [str(part) for part in engine_command(*arguments, "--port", str(port))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or lists_tables(endpoint))
        assert process.poll() is None
        yield process, endpoint
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_engine_gracefully(how: signal.Signals, tmp_path: Path) -> None:
    data = tmp_path / "stopped.db"
    with running_engine("--data", str(data)) as (process, endpoint):
        assert call(endpoint, "CreateTable", TABLE).status == 200
        item = {"pk": {"S": "kept"}}
        assert call(endpoint, "PutItem", {"TableName": "spoken", "Item": item}).status == 200
        with connected(endpoint):  # an idle connection does not keep it running
            process.send_signal(how)
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode in (0, -how)
        assert b"Traceback" not in errors
    assert [file.name for file in tmp_path.iterdir()] == ["stopped.db"], "the log is folded into the file"
    with started(lambda port: engine_command("--data", str(data), "--port", str(port))) as running:
        answer = call(running.endpoint, "GetItem", {"TableName": "spoken", "Key": item})
        assert answer.body == {"Item": item}


def test_request_in_progress_is_answered_before_the_stop(tmp_path: Path) -> None:
    """The server has the headers when the signal comes, and gets the body when it accepts no more connections."""
    data = str(tmp_path / "ended.db")
    with running_engine("--data", data) as (process, endpoint):
        assert call(endpoint, "CreateTable", TABLE).status == 200
        body = json.dumps({"TableName": "spoken", "Item": {"pk": {"S": "late"}}}).encode()
        sent = request("PutItem", body, "Expect: 100-continue")
        with connected(endpoint) as connection:
            connection.sendall(sent[: -len(body)])
            assert connection.recv(1000).startswith(b"HTTP/1.1 100")
            process.send_signal(signal.SIGTERM)
            while _is_listening(endpoint):
                assert process.poll() is None
            connection.sendall(body)
            assert read_reply(connection).status == 200
        process.communicate(timeout=PATIENCE)
    with started(lambda port: engine_command("--data", data, "--port", str(port))) as running:
        answer = call(running.endpoint, "GetItem", {"TableName": "spoken", "Key": {"pk": {"S": "late"}}})
        assert answer.body == {"Item": {"pk": {"S": "late"}}}


def _is_listening(endpoint: str) -> bool:
    try:
        connected(endpoint).close()
    except OSError:
        return False
    return True


def test_each_request_at_the_stop_is_answered_or_not_started(tmp_path: Path) -> None:
    """An acknowledged write is stored, and no answer is cut off."""
    data = str(tmp_path / "many.db")
    with running_engine("--data", data) as (process, endpoint):
        assert call(endpoint, "CreateTable", TABLE).status == 200
        connections = []
        for number in range(50):
            connection = connected(endpoint)
            body = json.dumps({"TableName": "spoken", "Item": {"pk": {"S": str(number)}}}).encode()
            connection.sendall(request("PutItem", body))
            connections.append(connection)
        process.send_signal(signal.SIGTERM)
        replies = []
        for connection in connections:
            replies.append(read_reply(connection))
            connection.close()
        process.communicate(timeout=PATIENCE)
    assert {reply.status for reply in replies} <= {200, 0}
    with started(lambda port: engine_command("--data", data, "--port", str(port))) as running:
        there = {item["pk"]["S"] for item in call(running.endpoint, "Scan", {"TableName": "spoken"}).body["Items"]}
    assert {str(number) for number, reply in enumerate(replies) if reply.status == 200} <= there


def test_several_engines_share_a_file(tmp_path: Path) -> None:
    data = str(tmp_path / "shared.db")
    command = engine_command("--data", data, "--durability", "process", "--port")
    with started(lambda port: [*command, str(port)]) as one, started(lambda port: [*command, str(port)]) as two:
        assert call(one.endpoint, "CreateTable", TABLE).status == 200
        item = {"pk": {"S": "shared"}, "n": {"N": "1"}}
        assert call(two.endpoint, "PutItem", {"TableName": "spoken", "Item": item}).status == 200
        key = {"TableName": "spoken", "Key": {"pk": {"S": "shared"}}}
        assert call(one.endpoint, "GetItem", key).body == {"Item": item}
        assert call(one.endpoint, "DeleteTable", {"TableName": "spoken"}).status == 200
        assert call(two.endpoint, "GetItem", key).status == 400
        assert call(two.endpoint, "ListTables", {}).body == {"TableNames": []}
        assert call(two.endpoint, "CreateTable", TABLE).status == 200
        assert call(one.endpoint, "GetItem", key).body == {}


def test_python_m_partita_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "partita", "engine", "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert done.returncode == 0
    assert "--durability" in done.stdout


# Timeouts ------------------------------------------------------------------------------------------------------

IMPATIENT = (
    "import sys, partita.http.request_body as bodies, partita.server.fast_protocol as protocol\n"
    "bodies.BODY_SECONDS = 0.3\n"
    "protocol.REQUEST_SECONDS, protocol.IDLE_SECONDS, protocol.CHECK_SECONDS = 0.3, 0.6, 0.1\n"
    "from partita.cli.main import main\n"
    "sys.argv = ['partita', 'engine', '--memory', '--port', sys.argv[1]]\n"
    "main()\n"
)


@pytest.fixture(scope="module")
def impatient() -> Iterator[str]:
    """An engine with a hundredth of the usual timeouts."""
    with started(lambda port: [sys.executable, "-c", IMPATIENT, str(port)]) as running:
        yield running.endpoint


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST / HT",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n",
        request("ListTables", b"{}")[:-1],
        request("ListTables", b"{}", "Expect: 100-continue")[:-2],
        request("ListTables", gzip.compress(b"{}"), "Content-Encoding: gzip")[:-3],
        request("ListTables", b"{}"),
    ],
)
def test_connection_of_a_silent_client_is_closed(impatient: str, sent: bytes) -> None:
    with connected(impatient) as connection:
        connection.sendall(sent)
        assert is_closed_by_server(connection)
    wait_until(lambda: lists_tables(impatient))  # where the machine stands still, this client is a silent one too


# Encodings -----------------------------------------------------------------------------------------------------


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(body) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("deflate", zlib.compress(b"{}")),
        ("deflate", raw_deflate(b"{}")),
        ("GZIP", gzip.compress(b"{}", mtime=0)),
        ("x-gzip", gzip.compress(b"{}", mtime=0)),
        ("identity", b"{}"),
        ("deflate, gzip", gzip.compress(zlib.compress(b"{}"), mtime=0)),
        ("gzip, identity, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0)),
        ("deflate\r\nContent-Encoding: gzip", gzip.compress(zlib.compress(b"{}"), mtime=0)),
        ("gzip", gzip.compress(b"{}" + b" " * 5_000_000, mtime=0)),
        ("gzip", gzip.compress(b"{", mtime=0) + gzip.compress(b"}", mtime=0) + b"other bytes"),
    ],
)
def test_compressed_request_is_decompressed(spoken: str, encoding: str, body: bytes) -> None:
    assert ask(spoken, "ListTables", body, f"Content-Encoding: {encoding}").status == 200


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"{}"),
        ("deflate", b"{}"),
        ("gzip, deflate", gzip.compress(zlib.compress(b"{}"), mtime=0)),
        (", ".join(["gzip"] * 5), b"{}"),
        ("gzip", gzip.compress(b"{}", mtime=0) + gzip.compress(b"", mtime=0)[:-1]),
        ("gzip", gzip.compress(b"{}", mtime=0) + gzip.compress(b"", mtime=0) * 1000),
    ],
)
def test_body_of_another_encoding_is_rejected(spoken: str, encoding: str, body: bytes) -> None:
    reply = ask(spoken, "ListTables", body, f"Content-Encoding: {encoding}")
    assert (reply.status, reply.code) == (400, "SerializationException")


@pytest.mark.parametrize(
    "sent",
    [
        request("ListTables", b"{}"),
        request("Nothing", b"{}"),
        request("ListTables", b"{}", "Accept-Encoding: gzip"),
        request("ListTables", b"{}", "Origin: http://evil.example"),
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_every_reply_has_a_date(spoken: str, sent: bytes) -> None:
    assert parsedate_to_datetime(exchange(spoken, sent).headers["date"]).tzinfo is not None


@pytest.mark.parametrize(
    ("url", "host", "status"),
    [
        ("http://evil.example/", "localhost", 421),
        ("http://localhost@evil.example/", "localhost", 421),
        ("http://127.0.0.1:8000/", "evil.example", 200),
    ],
)
def test_host_in_a_whole_url_takes_the_place_of_the_header(spoken: str, url: str, host: str, status: int) -> None:
    sent = request("ListTables", b"{}").replace(b"POST / ", f"POST {url} ".encode(), 1)
    assert exchange(spoken, sent.replace(b"Host: localhost", f"Host: {host}".encode(), 1)).status == status


def test_request_of_a_disconnected_client_is_not_executed(spoken: str) -> None:
    """The part of the body that has arrived is valid JSON."""
    body = json.dumps({"TableName": "spoken", "Item": {"pk": {"S": "incomplete"}}}).encode() + b" " * 10
    for line in ("Accept-Encoding: gzip", "X-Other: y"):
        with connected(spoken) as connection:
            connection.sendall(request("PutItem", body, line)[:-5])
    for _ in range(3):
        key = {"TableName": "spoken", "Key": {"pk": {"S": "incomplete"}}}
        assert ask(spoken, "GetItem", key).body == b"{}"

"""`partita engine --credentials` and `--allow-origin`, over HTTP with the real client."""

import http.client
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from partita.cli.engine import engine
from partita.cli.serve import serve
from partita.errors import ConfigurationError
from partita.server.uvicorn_server import bind_socket, check_address, listen
from tests.peers.http import call
from tests.peers.process import started
from tests.timing import PATIENCE

SECRET = "a secret of some length"
ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = tmp_path_factory.mktemp("keys") / "keys.toml"
    keys.write_text(f'[keys.WRITES]\nsecret = "{SECRET}"\n[keys.READS]\nsecret = "{SECRET}"\nread_only = true\n')

    def command(port: int) -> list[str | Path]:
        options: list[str | Path] = ["--credentials", keys, "--allow-origin", ORIGIN, "--port", str(port)]
        return [sys.executable, "-m", "partita", "engine", *options]

    with started(command, answers=lambda url: call(url, "ListTables", {}).status == 400) as running:
        yield running.endpoint


def client(endpoint: str, key: str, secret: str = SECRET, **settings: Any) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}, **settings),
    )


def error_code(ask: Any) -> str:
    with pytest.raises(ClientError) as caught:
        ask()
    code: str = caught.value.response["Error"]["Code"]
    return code


def test_known_keys_are_accepted_and_others_rejected(endpoint: str) -> None:
    assert client(endpoint, "WRITES").list_tables()["TableNames"] is not None
    assert error_code(client(endpoint, "NOBODY").list_tables) == "UnrecognizedClientException"
    assert error_code(client(endpoint, "WRITES", "not the secret").list_tables) == "InvalidSignatureException"
    unsigned = call(endpoint, "ListTables", {})
    assert unsigned.body["__type"].endswith("#InvalidSignatureException")


def test_read_only_key_reads_and_cannot_write(endpoint: str) -> None:
    writer, reader = client(endpoint, "WRITES"), client(endpoint, "READS")
    table = {
        "TableName": "notes",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert error_code(lambda: reader.create_table(**table)) == "AccessDeniedException"
    writer.create_table(**table)
    writer.put_item(TableName="notes", Item={"pk": {"S": "a"}})
    assert reader.get_item(TableName="notes", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}
    assert error_code(lambda: reader.delete_item(TableName="notes", Key={"pk": {"S": "a"}})) == "AccessDeniedException"
    assert reader.execute_statement(Statement="SELECT * FROM notes")["Items"] == [{"pk": {"S": "a"}}]
    statement = "DELETE FROM notes WHERE pk = 'a'"
    assert error_code(lambda: reader.execute_statement(Statement=statement)) == "AccessDeniedException"


def test_read_only_key_searches_vectors(endpoint: str) -> None:
    writer, reader = client(endpoint, "WRITES"), client(endpoint, "READS")
    writer.create_table(
        TableName="vectors",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[
            {
                "IndexName": "nearest",
                "VectorAttribute": {"AttributeName": "embedding"},
                "Projection": {"ProjectionType": "ALL"},
                "Dimensions": 2,
                "DistanceFunction": "EUCLIDEAN",
            }
        ],
    )
    for key, number in (("near", "1"), ("far", "5")):
        vector = {"L": [{"N": number}, {"N": "0"}]}
        writer.put_item(TableName="vectors", Item={"pk": {"S": key}, "embedding": vector})
    origin = [{"N": "0"}, {"N": "0"}]
    found = reader.search_vectors(TableName="vectors", IndexName="nearest", SearchVector=origin, TopK=2)
    assert [(each["Item"]["pk"]["S"], each["Score"]) for each in found["SearchResults"]] == [("near", 1), ("far", 5)]


def asked(endpoint: str, method: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    url = urlsplit(endpoint)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE)
    connection.request(method, "/", headers=headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_named_origin_is_allowed(endpoint: str) -> None:
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-amz-target"}
    preflight = asked(endpoint, "OPTIONS", {"Origin": ORIGIN, **wanted})
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    assert preflight.headers["access-control-allow-headers"] == "x-amz-target"
    assert preflight.headers["access-control-allow-methods"] == "POST"
    assert asked(endpoint, "GET", {"Origin": ORIGIN}).headers["access-control-allow-origin"] == ORIGIN


def test_other_origin_is_not_allowed(endpoint: str) -> None:
    wanted = {"Access-Control-Request-Method": "POST"}
    preflight = asked(endpoint, "OPTIONS", {"Origin": "https://elsewhere.example", **wanted})
    assert preflight.status == 403
    assert "access-control-allow-origin" not in preflight.headers


def test_public_address_needs_the_public_flag() -> None:
    check_address("0.0.0.0", safe=True, advice="")  # noqa: S104 - what is tested
    with pytest.raises(ConfigurationError, match=r"not authenticated; add --credentials .*, or --public to allow that"):
        check_address("0.0.0.0", safe=False, advice="--public to allow that")  # noqa: S104 - what is tested


@pytest.mark.parametrize("command", [engine, serve])
def test_commands_reject_a_public_address_without_credentials(command: Callable[..., None]) -> None:
    with pytest.raises(ConfigurationError, match="add --credentials"):
        command(host="192.0.2.1")


def test_address_taken_after_bind_is_reported() -> None:
    with bind_socket("127.0.0.1", 0) as first, bind_socket("127.0.0.1", first.getsockname()[1]) as second:
        listen(first)
        with pytest.raises(ConfigurationError, match="Address already in use; choose another with --port"):
            listen(second)

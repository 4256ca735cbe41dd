"""The container's entry point needs credentials and host names in its environment, and gives both to the server."""

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from partita.cli.container import EVERY_ADDRESS, arguments
from partita.errors import ConfigurationError
from tests.peers.http import call
from tests.peers.process import started
from tests.timing import PATIENCE

SECRET = "a-secret-of-some-length"
COMPLETE = {"PARTITA_ACCESS_KEYS": f"AKIAEXAMPLE:{SECRET}", "PARTITA_ALLOWED_HOSTS": "db.example, localhost"}


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PARTITA_")}


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ([], ["engine", "--host", EVERY_ADDRESS, "--data", "/data/partita.db"]),
        (["engine", "--memory"], ["engine", "--memory", "--host", EVERY_ADDRESS]),
        (["engine", "--data=x.db"], ["engine", "--data=x.db", "--host", EVERY_ADDRESS]),
        (["serve", "shop:api"], ["serve", "shop:api", "--host", EVERY_ADDRESS, "--on", "/data/partita.db"]),
        (["serve", "--on", "memory:", "--host", "::"], ["serve", "--on", "memory:", "--host", "::"]),
        (["token", "ana"], ["token", "ana"]),
    ],
)
def test_command_line_goes_before_the_defaults(given: list[str], complete: list[str]) -> None:
    assert arguments(given, COMPLETE) == complete


@pytest.mark.parametrize("command", ["engine", "serve"])
@pytest.mark.parametrize("left_out", COMPLETE)
def test_incomplete_environment_is_an_error(command: str, left_out: str) -> None:
    for value in ({}, {left_out: ""}):
        incomplete = {name: text for name, text in COMPLETE.items() if name != left_out} | value
        with pytest.raises(ConfigurationError, match=rf"^the container does not start without .*{left_out}="):
            arguments([command], incomplete)


def test_file_of_credentials_is_enough() -> None:
    hosts = {"PARTITA_ALLOWED_HOSTS": "*"}
    assert arguments(["engine"], hosts | {"PARTITA_CREDENTIALS": "/run/secrets/keys.toml"})


def test_rest_alone_needs_no_credentials() -> None:
    assert "--no-dynamodb" in arguments(["serve", "--no-dynamodb"], {"PARTITA_ALLOWED_HOSTS": "api.example"})


def test_other_commands_and_help_need_no_environment() -> None:
    assert arguments(["prove", "blog"], {}) == ["prove", "blog"]
    assert arguments(["engine", "--help"], {}) == ["engine", "--help"]


@pytest.mark.slow
def test_container_without_environment_exits_and_says_why() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "partita.cli.container"], env=_clean(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "partita: the container does not start without credentials (PARTITA_ACCESS_KEYS=ID:SECRET, or "
        "PARTITA_CREDENTIALS=FILE) and the host names that clients use (PARTITA_ALLOWED_HOSTS=api.example.com) "
        "in its environment\n"
    )


@pytest.fixture(scope="module", params=["engine", "serve"])
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("container")
    options = {
        "engine": ["engine", "--data", str(folder / "x.db")],
        "serve": ["serve", "checks", "--on", str(folder / "x.db"), "--scale", "0.1"],
    }[request.param]
    command: list[str | Path] = [sys.executable, "-m", "partita.cli.container", *options, "--host", "127.0.0.1"]
    with started(
        lambda port: [*command, "--port", str(port)],
        answers=lambda url: call(url, "ListTables", {}).status == 400,
        environment=COMPLETE,
    ) as running:
        yield running.endpoint


@pytest.mark.slow
def test_signed_requests_are_answered_and_others_are_not(endpoint: str) -> None:
    def tables(secret: str, signature_version: Any = "v4") -> object:
        return boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="eu-west-1",
            aws_access_key_id="AKIAEXAMPLE",
            aws_secret_access_key=secret,
            config=Config(signature_version=signature_version),
        ).list_tables()

    assert tables(SECRET)
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        tables(SECRET + "!")
    with pytest.raises(ClientError, match="MissingAuthenticationToken"):
        tables(SECRET, UNSIGNED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("db.example", "/health", 200),
        ("10.0.0.1:8000", "/health", 200),
        ("evil.example", "/", 421),
        ("evil.example", "/api", 421),
        ("DB.example:8000", "/", 200),
    ],
)
def test_requests_for_other_hosts_are_not_answered(endpoint: str, host: str, path: str, status: int) -> None:
    at = urlsplit(endpoint)
    connection = http.client.HTTPConnection(str(at.hostname), at.port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Host": host})
    assert connection.getresponse().status == status
    connection.close()

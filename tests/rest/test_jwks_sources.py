"""Key sets in a file, or at the address where an issuer publishes them."""

import asyncio
import ipaddress
import json
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from partita.dynamodb.backend import Backend
from partita.errors import ConfigurationError
from partita.rest import Problem
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.auth.identity import Verifier
from partita.rest.auth.jwks import MAX_BYTES, MAX_REDIRECTS, UNKNOWN_KEY_RETRY_SECONDS, key_set_at
from tests.peers.process import free_port, started
from tests.rest import notes_api
from tests.rest.client import Client
from tests.rest.jwks_server import Publisher, publishing
from tests.rest.tokens import AUDIENCE, ISSUER, KEYS, bearer, jwk, signed
from tests.timing import PATIENCE

STALE = "the key set could not be reloaded, its last keys stay in use"
SERVE = (
    "import partita.rest.auth.jwks as jwks\n"
    f"jwks.TIMEOUT_SECONDS = {PATIENCE}\n"
    "from partita.cli.main import main\n"
    "main()\n"
)


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_a_minute(self) -> None:
        self.now += UNKNOWN_KEY_RETRY_SECONDS + 1


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.jwks.TIMEOUT_SECONDS", PATIENCE)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as running:
        yield running


def _rejection(source: str) -> str:
    with pytest.raises(ConfigurationError) as rejected:
        key_set_at(source)
    said = str(rejected.value)
    assert said.startswith(f"{source}: ")
    assert "\n" not in said
    return said


def _until_read() -> None:
    """Waits for the threads that read a key set."""
    for thread in threading.enumerate():
        if thread.name == "partita-key-set":
            thread.join(PATIENCE)


# A file


def test_file_is_reloaded_for_a_new_key(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [jwk("RS256")]}))
    verifier = Verifier(key_set_at(str(file), clock), ISSUER, AUDIENCE)
    file.write_text(json.dumps({"keys": [jwk("RS256"), jwk("ES256")]}))
    with pytest.raises(Problem, match="not in the key set"):
        verifier.caller(bearer(signed("ES256")))
    clock.pass_a_minute()
    assert verifier.caller(bearer(signed("ES256"))).id == "ana"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"keys": []}', '{"keys": 5}', '{"keys": [{"kty": "oct", "k": "AAAA", "kid": "x"}]}', "[" * 9999],
    ids=lambda text: text[:20],
)
def test_file_without_a_usable_key_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(text)
    assert _rejection(str(file))
    assert "the key set cannot be read" in _rejection(str(tmp_path / "absent"))


def test_file_that_becomes_invalid_is_logged_and_the_keys_stay(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [jwk("RS256")]}))
    verifier = Verifier(key_set_at(str(file), clock), ISSUER, AUDIENCE)
    file.write_text("[]")
    clock.pass_a_minute()
    with pytest.raises(Problem, match="cannot be looked up"):
        verifier.caller(bearer(signed("ES256")))
    assert f"{STALE}: {file}: not a JSON Web Key Set" in caplog.text
    assert verifier.caller(bearer(signed("RS256"))).id == "ana"


# An address, at the start


def test_published_keys_identify_the_caller(publisher: Publisher) -> None:
    verifier = Verifier(key_set_at(publisher.url), ISSUER, AUDIENCE)
    assert verifier.caller(bearer(signed("RS256"))).id == "ana"
    assert publisher.reads == 1


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://issuer.example/jwks.json", "plain http can be intercepted, and other keys put there; write https://"),
        ("http://127.0.0.1.issuer.example/", "write https://"),
        ("http://192.0.2.1/", "write https://"),
        ("ftp://localhost/jwks.json", "not the address of a key set; write https://HOST/PATH, or the name of a file"),
        ("file:///etc/keys.json", "not the address of a key set"),
        ("https://", "not the address of a key set"),
        ("https://[::1/", "not the address of a key set"),
        ("https://localhost:port/", "not the address of a key set"),
        ("https://ana:secret@localhost/", "not the address of a key set"),
        ("https://localhost/a b", "the key set cannot be read"),
    ],
)
def test_invalid_address_is_an_error_without_a_request(url: str, expected: str) -> None:
    assert expected in _rejection(url)


def test_unknown_host_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "Name or service not known" in _rejection("https://issuer.example/jwks.json")


def test_refused_connection_is_an_error() -> None:
    assert "Connection refused" in _rejection(f"http://127.0.0.1:{free_port()}/jwks.json")


@pytest.mark.parametrize(("status", "expected"), [(404, "404 Not Found"), (500, "500 "), (204, "204 "), (304, "304 ")])
def test_status_other_than_200_is_an_error(publisher: Publisher, status: int, expected: str) -> None:
    publisher.status = status
    assert f"the response is {expected}" in _rejection(publisher.url)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "the key set cannot be read"),
        (b"<html>", "the key set cannot be read"),
        (b"\xff\xfe\xfd", "the key set cannot be read"),
        (b"[" * 100_000, "the key set cannot be read"),
        (b"[]", "not a JSON Web Key Set"),
        (b'{"keys": []}', "not a JSON Web Key Set"),
        (b'{"keys": [{"kty": "oct", "k": "AAAA", "kid": "x"}]}', "no key with a `kid`"),
        (b" " * (MAX_BYTES + 1), "the response is larger than 1,048,576 bytes"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_response_that_is_not_a_key_set_is_an_error(publisher: Publisher, body: bytes, expected: str) -> None:
    publisher.body = body
    assert expected in _rejection(publisher.url)


def test_address_without_a_response_times_out(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.jwks.TIMEOUT_SECONDS", 0.1)
    publisher.hold()
    assert "no complete response within 0.1 seconds" in _rejection(publisher.url)


def test_endless_response_times_out(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.jwks.TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr("partita.rest.auth.jwks.MAX_BYTES", 1 << 40)
    assert "no complete response" in _rejection(publisher.url.replace("jwks.json", "endless"))


def test_redirect_is_followed(publisher: Publisher) -> None:
    publisher.location = "/jwks.json"
    assert list(key_set_at(publisher.url.replace("jwks.json", "redirected")).keys) == ["RS256"]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (None, f"more than {MAX_REDIRECTS} redirects"),
        ("http://issuer.example/", "it redirects to http://issuer.example/"),
        ("https://localhost/", "it redirects to https://localhost/"),
        ("file:///etc/passwd", "it redirects to file:///etc/passwd"),
        ("http://[", "the key set cannot be read"),
    ],
)
def test_redirect_to_an_invalid_address_is_an_error(publisher: Publisher, location: str | None, expected: str) -> None:
    publisher.location = location
    assert expected in _rejection(publisher.url.replace("jwks.json", "redirected"))


# An address, encrypted


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One file with a key and a self-signed certificate for localhost."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    key = KEYS["ES256"]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    unlocked = serialization.NoEncryption()
    file = tmp_path / "localhost.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unlocked)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


@pytest.fixture
def encrypted(certificate: Path) -> Iterator[Publisher]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with publishing(context) as running:
        yield running


def test_certificate_is_verified(encrypted: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "CERTIFICATE_VERIFY_FAILED" in _rejection(encrypted.url)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert list(key_set_at(encrypted.url).keys) == ["RS256"]


def test_redirect_from_https_to_http_is_an_error(
    encrypted: Publisher, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    encrypted.location = publisher.url
    assert f"it redirects to {publisher.url}" in _rejection(encrypted.url.replace("jwks.json", "redirected"))
    assert publisher.reads == 0


def test_loopback_address_bypasses_the_proxy(
    encrypted: Publisher, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert key_set_at(publisher.url).keys
    assert key_set_at(encrypted.url).keys


# An address, later


@pytest.fixture
def anonymous(backend: Backend, publisher: Publisher, clock: Clock) -> Iterator[Client]:
    """An anonymous client of a server that verifies tokens with published keys."""
    verifier = Verifier(key_set_at(publisher.url, clock), ISSUER, AUDIENCE)
    app = RestApplication([notes_api.api], backend, verifier=verifier, cursor_keys=[bytes(16)])
    with asyncio.Runner() as runner:
        yield Client(app, "/api/notes", LocalIssuer(), runner.get_loop())


def test_event_loop_serves_others_while_a_key_is_loaded(anonymous: Client, publisher: Publisher, clock: Clock) -> None:
    publisher.publish("RS256", "ES256")
    publisher.hold()
    clock.pass_a_minute()
    new, old = f"Bearer {signed('ES256')}", f"Bearer {signed('RS256')}"
    response = anonymous.post("/notes", {"noteId": "n1", "title": "t"}, authorization=new)
    assert (response.status, response.headers["retry-after"]) == (503, "1")
    assert response.json["detail"] == "the key that signed the token is being looked up"
    assert publisher.asked.wait(PATIENCE)
    assert anonymous.post("/notes", {"noteId": "n1", "title": "t"}, authorization=old).status == 201
    assert [anonymous.get("/notes/n1", authorization=each).status for each in (new, old)] == [503, 200]
    assert anonymous.get("/notes/n1").status == 200
    publisher.released.set()
    _until_read()
    assert anonymous.get("/notes/n1", authorization=new).status == 200
    assert publisher.reads == 2


def test_known_keys_stay_while_the_issuer_is_unreachable(
    anonymous: Client, publisher: Publisher, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    publisher.status = 500
    clock.pass_a_minute()
    assert anonymous.get("/search?words=x", authorization=f"Bearer {signed('ES256')}").status == 503
    _until_read()
    assert anonymous.get("/search?words=x", authorization=f"Bearer {signed('RS256')}").status == 200
    (line,) = caplog.messages
    assert line.startswith(f"{STALE}: {publisher.url}: the key set cannot be read")


def test_serve_command_verifies_with_published_keys(publisher: Publisher, tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, "-c", SERVE, "serve", "checks", "--on", tmp_path / "x.db", "--no-seed"]
    settings = ["--keys", publisher.url, "--issuer", ISSUER, "--audience", AUDIENCE]
    with started(lambda free: [*command, *settings, "--port", str(free)]) as running:
        assert _status(running.endpoint, signed("RS256")) == 404  # she is known, and has not registered
        assert _status(running.endpoint, signed("ES256")) == 401


def _status(endpoint: str, token: str) -> int:
    connection = HTTPConnection(urlsplit(endpoint).netloc, timeout=PATIENCE)
    connection.request("GET", "/api/checks/users/ana", headers={"Authorization": f"Bearer {token}"})
    status = connection.getresponse().status
    connection.close()
    return status

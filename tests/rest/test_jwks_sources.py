"""Key sets where operators have them: in a file, or at the address where an issuer publishes them."""

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
from tests.rest.jwks_server import PATIENCE, Publisher, publishing
from tests.rest.tokens import AUDIENCE, ISSUER, KEYS, bearer, jwk, signed

STALE = "the key set could not be reloaded, its last keys stay in use"
PARTITA = Path(sys.executable).with_name("partita")


class Clock:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_a_minute(self) -> None:
        self.now += UNKNOWN_KEY_RETRY_SECONDS + 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as running:
        yield running


def _refused(source: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        key_set_at(source)
    said = str(refused.value)
    assert said.startswith(f"{source}: ")
    assert "\n" not in said
    return said


def _until_read() -> None:
    """Waits for whoever is reading a key set."""
    for thread in threading.enumerate():
        if thread.name == "partita-key-set":
            thread.join(PATIENCE)


# A file


def test_file_is_read_again_for_a_new_key(tmp_path: Path, clock: Clock) -> None:
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
    assert _refused(str(file))
    assert "the key set cannot be read" in _refused(str(tmp_path / "absent"))


def test_file_that_breaks_later_is_told_to_the_log_and_the_keys_are_kept(
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


def test_published_keys_say_who_is_calling(publisher: Publisher) -> None:
    verifier = Verifier(key_set_at(publisher.url), ISSUER, AUDIENCE)
    assert verifier.caller(bearer(signed("RS256"))).id == "ana"
    assert publisher.reads == 1


@pytest.mark.parametrize(
    ("url", "told"),
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
def test_address_that_cannot_be_trusted_or_read_is_told_without_asking(url: str, told: str) -> None:
    assert told in _refused(url)


def test_host_that_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "Name or service not known" in _refused("https://issuer.example/jwks.json")


def test_nobody_at_the_address_is_told() -> None:
    assert "Connection refused" in _refused(f"http://127.0.0.1:{free_port()}/jwks.json")


@pytest.mark.parametrize(("status", "told"), [(404, "404 Not Found"), (500, "500 "), (204, "204 "), (304, "304 ")])
def test_answer_other_than_200_is_told(publisher: Publisher, status: int, told: str) -> None:
    publisher.status = status
    assert f"the response is {told}" in _refused(publisher.url)


@pytest.mark.parametrize(
    ("body", "told"),
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
def test_answer_that_is_no_key_set_is_told(publisher: Publisher, body: bytes, told: str) -> None:
    publisher.body = body
    assert told in _refused(publisher.url)


def test_silent_address_is_given_up(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.jwks.TIMEOUT_SECONDS", 0.1)
    publisher.hold()
    assert "no complete response within 0.1 seconds" in _refused(publisher.url)


def test_answer_without_an_end_is_given_up(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.jwks.TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr("partita.rest.auth.jwks.MAX_BYTES", 1 << 40)
    assert "no complete response" in _refused(publisher.url.replace("jwks.json", "endless"))


def test_redirect_is_followed(publisher: Publisher) -> None:
    publisher.location = "/jwks.json"
    assert list(key_set_at(publisher.url.replace("jwks.json", "redirected")).keys) == ["RS256"]


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (None, f"more than {MAX_REDIRECTS} redirects"),
        ("http://issuer.example/", "it redirects to http://issuer.example/"),
        ("https://localhost/", "it redirects to https://localhost/"),
        ("file:///etc/passwd", "it redirects to file:///etc/passwd"),
        ("http://[", "the key set cannot be read"),
    ],
)
def test_redirect_to_where_keys_could_not_be_read_at_first_is_told(
    publisher: Publisher, location: str | None, told: str
) -> None:
    publisher.location = location
    assert told in _refused(publisher.url.replace("jwks.json", "redirected"))


# An address, encrypted


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One file with a key and a certificate for localhost that nobody but itself has signed."""
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
    assert "CERTIFICATE_VERIFY_FAILED" in _refused(encrypted.url)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert list(key_set_at(encrypted.url).keys) == ["RS256"]


def test_encrypted_address_may_not_lead_to_a_plain_one(
    encrypted: Publisher, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    encrypted.location = publisher.url
    assert f"it redirects to {publisher.url}" in _refused(encrypted.url.replace("jwks.json", "redirected"))
    assert publisher.reads == 0


def test_what_is_on_this_machine_is_not_asked_of_a_proxy(
    encrypted: Publisher, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert key_set_at(publisher.url).keys
    assert key_set_at(encrypted.url).keys


# An address, later


@pytest.fixture
def nobody(backend: Backend, publisher: Publisher, clock: Clock) -> Iterator[Client]:
    """Somebody who asks a server that verifies with published keys."""
    verifier = Verifier(key_set_at(publisher.url, clock), ISSUER, AUDIENCE)
    app = RestApplication([notes_api.api], backend, verifier=verifier, cursor_keys=[bytes(16)])
    with asyncio.Runner() as runner:
        yield Client(app, "/api/notes", LocalIssuer(), runner.get_loop())


def test_loop_answers_others_while_a_key_is_looked_up(nobody: Client, publisher: Publisher, clock: Clock) -> None:
    publisher.publish("RS256", "ES256")
    publisher.hold()
    clock.pass_a_minute()
    new, old = f"Bearer {signed('ES256')}", f"Bearer {signed('RS256')}"
    told = nobody.post("/notes", {"noteId": "n1", "title": "t"}, authorization=new)
    assert (told.status, told.headers["retry-after"]) == (503, "1")
    assert told.json["detail"] == "the key that signed the token is being looked up"
    assert publisher.asked.wait(PATIENCE)
    assert nobody.post("/notes", {"noteId": "n1", "title": "t"}, authorization=old).status == 201
    assert [nobody.get("/notes/n1", authorization=each).status for each in (new, old)] == [503, 200]
    assert nobody.get("/notes/n1").status == 200
    publisher.released.set()
    _until_read()
    assert nobody.get("/notes/n1", authorization=new).status == 200
    assert publisher.reads == 2


def test_keys_that_were_known_are_kept_while_the_issuer_is_away(
    nobody: Client, publisher: Publisher, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    publisher.status = 500
    clock.pass_a_minute()
    assert nobody.get("/notes/n1/lines", authorization=f"Bearer {signed('ES256')}").status == 503
    _until_read()
    assert nobody.get("/notes/n1/lines", authorization=f"Bearer {signed('RS256')}").status == 200
    (line,) = caplog.messages
    assert line.startswith(f"{STALE}: {publisher.url}: the key set cannot be read")


def test_served_process_verifies_with_published_keys(publisher: Publisher, tmp_path: Path) -> None:
    command: list[str | Path] = [PARTITA, "serve", "checks", "--on", tmp_path / "x.db", "--no-seed"]
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

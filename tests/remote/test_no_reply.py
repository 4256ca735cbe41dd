"""Requests without a reply: the error has the endpoint, the reason, and whether the request may have been executed."""

import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from partita import connect
from partita.dynamodb.requests import ListTables
from partita.errors import NoReply
from partita.remote.credentials import UNSIGNED
from partita.remote.settings import RemoteSettings
from tests.peers import free_port, wait_until
from tests.remote.callers import Opened
from tests.remote.servers import answering, answering_until_silent, deaf, http_reply, own_certificate
from tests.timing import PATIENCE

NO_TABLES = b'{"TableNames":[]}'


def failure(opened: Opened, address: str, settings: RemoteSettings | None = None) -> NoReply:
    with opened(address, settings) as call, pytest.raises(NoReply) as failed:
        call(ListTables())
    return failed.value


def test_refused_connection_means_not_executed(opened: Opened) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    error = failure(opened, address)
    assert not error.perhaps_executed
    assert error.endpoint == address
    assert str(error).startswith(f"{address}: [Errno 111] Conn")
    assert str(error).endswith("; the request was not executed")


def test_unknown_host_means_not_executed(opened: Opened) -> None:
    error = failure(opened, "http://host.invalid:8000")
    assert not error.perhaps_executed
    assert "Name or service not known" in error.reason or "name resolution" in error.reason


def test_unaccepted_connection_means_not_executed(opened: Opened) -> None:
    with deaf() as server:
        error = failure(opened, server.http, RemoteSettings(connect_timeout=0.2, read_timeout=PATIENCE))
    assert (error.reason, error.perhaps_executed) == ("no connection within the timeout", False)


def test_missing_reply_means_perhaps_executed(opened: Opened) -> None:
    """On a connection that is open already: the time to connect counts too, and a slow machine might take it all."""
    settings = RemoteSettings(read_timeout=0.2)
    with answering_until_silent(http_reply(NO_TABLES)) as (server, silent), opened(server.http, settings) as call:

        def is_answered() -> bool:
            with suppress(NoReply):
                return call(ListTables()).table_names == []
            return False

        wait_until(is_answered)
        silent.set()
        server.heard.clear()
        with pytest.raises(NoReply) as failed:
            call(ListTables())
    assert str(failed.value) == f"{server.http}: no reply within the timeout; the request may have been executed"
    assert len(server.heard) == 1


def test_broken_connection_means_perhaps_executed(opened: Opened) -> None:
    with answering(b"") as server:
        error = failure(opened, server.http)
    assert error.perhaps_executed
    assert error.reason.startswith("the connection broke (")
    assert len(server.heard) == 1


def test_incomplete_reply_means_perhaps_executed(opened: Opened) -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{") as server:
        error = failure(opened, server.http)
    assert error.perhaps_executed
    assert error.reason.startswith("the connection broke (")


def test_reply_with_a_wrong_checksum_is_rejected(opened: Opened) -> None:
    with answering(http_reply(NO_TABLES, headers="x-amz-crc32: 1\r\n")) as server:
        error = failure(opened, server.http)
    assert (error.reason, error.perhaps_executed) == ("the reply is damaged (its CRC32 differs)", True)


def test_reply_that_is_not_dynamodbs_is_rejected(opened: Opened) -> None:
    with answering(http_reply(b"<html>welcome</html>")) as server:
        error = failure(opened, server.http)
    assert error.reason.startswith("the reply is not a DynamoDB reply (")


def test_closed_backend_raises_no_reply() -> None:
    backend = connect(f"http://127.0.0.1:{free_port()}")
    backend.close()
    with pytest.raises(NoReply, match="this backend is closed; the request was not executed"):
        backend.call(ListTables())


def test_no_request_is_sent_twice(opened: Opened) -> None:
    with answering(http_reply(b"", status="503 Service Unavailable")) as server:
        with opened(server.http, None) as call, pytest.raises(Exception, match="HTTP status 503"):
            call(ListTables())
        assert len(server.heard) == 1


def test_untrusted_certificate_is_rejected(opened: Opened, tmp_path: Path) -> None:
    context, _ = own_certificate(tmp_path)
    with answering(http_reply(NO_TABLES), context) as server:
        error = failure(opened, server.https, RemoteSettings(credentials=UNSIGNED))
        assert server.heard == []
    assert not error.perhaps_executed
    assert "CERTIFICATE_VERIFY_FAILED" in error.reason


def test_certificate_of_the_ca_bundle_is_trusted(opened: Opened, tmp_path: Path) -> None:
    context, certificate = own_certificate(tmp_path)
    settings = RemoteSettings(credentials=UNSIGNED, ca_bundle=str(certificate))
    with answering(http_reply(NO_TABLES), context) as server, opened(server.https, settings) as call:
        assert call(ListTables()).table_names == []


def test_proxy_of_the_environment_is_used(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(http_reply(b"", status="502 Bad Gateway")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.http)
        monkeypatch.setenv("https_proxy", proxy.http)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        error = failure(opened, "https://dynamodb.eu-west-1.amazonaws.com", RemoteSettings(credentials=UNSIGNED))
        assert proxy.heard[0].startswith(b"CONNECT dynamodb.eu-west-1.amazonaws.com:443 ")
    assert not error.perhaps_executed


def test_system_certificates_are_trusted_by_default() -> None:
    settings = RemoteSettings()
    trusted = settings.tls(settings.endpoint("https://example.com"))
    assert trusted is not None
    assert trusted.verify_mode is ssl.CERT_REQUIRED
    assert trusted.check_hostname

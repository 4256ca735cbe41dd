"""Messages reach people: in the log, at a webhook that can verify them, by e-mail; errors are one kind."""

import email
import email.policy
import logging
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import pytest

from partita import ConfigurationError
from partita_systems.delivery import (
    DeliveryError,
    LogDelivery,
    Message,
    SmtpDelivery,
    WebhookDelivery,
    delivery_from,
    signature,
)

MESSAGE = Message("m1", "ana@example.com", "배터리 available", "A part: 배터리", {"partId": "p1"})


@contextmanager
def running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Hook(BaseHTTPRequestHandler):
    status = 204
    received: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.received.append((dict(self.headers), body))
        self.send_response(self.status)
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def webhook(answer: int) -> Iterator[tuple[WebhookDelivery, list[tuple[dict[str, str], bytes]]]]:
    found: list[tuple[dict[str, str], bytes]] = []
    server = HTTPServer(("127.0.0.1", 0), type("Answering", (Hook,), {"status": answer, "received": found}))
    with running(server):
        yield WebhookDelivery(f"http://127.0.0.1:{server.server_port}/hook", b"secret", lambda: 1700000000), found


def test_webhook_gets_a_signed_message_with_its_id() -> None:
    with webhook(204) as (delivery, received):
        delivery.deliver(MESSAGE)
    ((headers, body),) = received
    assert msgspec.json.decode(body, type=Message) == MESSAGE
    assert headers["Idempotency-Key"] == "m1"
    assert headers["X-Partita-Signature"] == signature(b"secret", body, 1700000000)
    assert headers["X-Partita-Signature"] != signature(b"other", body, 1700000000)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_status_other_than_success_is_an_error(status: int) -> None:
    with webhook(status) as (delivery, received):
        with pytest.raises(DeliveryError, match=str(status)):
            delivery.deliver(MESSAGE)
        assert len(received) == 1  # a redirect is not followed


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_server_that_does_not_answer_is_an_error() -> None:
    port = closed_port()
    with pytest.raises(DeliveryError):
        WebhookDelivery(f"http://127.0.0.1:{port}/", b"secret").deliver(MESSAGE)
    with pytest.raises(DeliveryError, match=r"ana@example\.com"):
        SmtpDelivery("127.0.0.1", port, "checks@example.com").deliver(MESSAGE)


class Mailbox(socketserver.StreamRequestHandler):
    """A mail server that accepts everything."""

    mails: list[bytes]

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline():
            command = line.split()[0].upper()
            if command == b"DATA":
                self.wfile.write(b"354 go\r\n")
                mail = b""
                while (line := self.rfile.readline()) != b".\r\n":
                    mail += line
                self.mails.append(mail)
            self.wfile.write(b"250 ok\r\n" if command != b"QUIT" else b"221 bye\r\n")


def test_email_is_sent_with_its_id_and_any_text() -> None:
    mails: list[bytes] = []
    server = socketserver.TCPServer(("127.0.0.1", 0), type("Box", (Mailbox,), {"mails": mails}))
    with running(server):
        SmtpDelivery("127.0.0.1", server.server_address[1], "checks@example.com").deliver(MESSAGE)
    (mail,) = mails
    parsed = email.message_from_bytes(mail, policy=email.policy.default)
    assert (parsed["to"], parsed["subject"], parsed["message-id"]) == (
        "ana@example.com",
        "배터리 available",
        "<m1@partita>",
    )
    assert parsed.get_content().strip() == "A part: 배터리"


def test_subject_cannot_add_headers() -> None:
    mails: list[bytes] = []
    server = socketserver.TCPServer(("127.0.0.1", 0), type("Box", (Mailbox,), {"mails": mails}))
    with running(server):
        evil = msgspec.structs.replace(MESSAGE, subject="hi\r\nBcc: eve@example.com")
        SmtpDelivery("127.0.0.1", server.server_address[1], "checks@example.com").deliver(evil)
    assert email.message_from_bytes(mails[0], policy=email.policy.default)["bcc"] is None


def test_log_has_the_message(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "partita.delivery"):
        LogDelivery().deliver(MESSAGE)
    assert "ana@example.com: 배터리 available" in caplog.text


def test_settings_choose_the_delivery() -> None:
    assert isinstance(delivery_from({}), LogDelivery)
    hook = delivery_from({"PARTITA_DELIVERY": "https://hooks.example.com/x", "PARTITA_DELIVERY_SECRET": "s"})
    assert hook == WebhookDelivery("https://hooks.example.com/x", b"s")
    mail = delivery_from(
        {"PARTITA_DELIVERY": "smtp://us%40er:pa%3Ass@mail.example.com", "PARTITA_DELIVERY_FROM": "a@example.com"}
    )
    assert mail == SmtpDelivery("mail.example.com", 587, "a@example.com", "us@er", "pa:ss")
    assert "pa:ss" not in repr(mail)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"PARTITA_DELIVERY": "ftp://x"}, "PARTITA_DELIVERY"),
        ({"PARTITA_DELIVERY": "https://hooks.example.com"}, "PARTITA_DELIVERY_SECRET"),
        ({"PARTITA_DELIVERY": "smtp://mail.example.com"}, "PARTITA_DELIVERY_FROM"),
    ],
)
def test_incomplete_settings_are_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        delivery_from(settings)

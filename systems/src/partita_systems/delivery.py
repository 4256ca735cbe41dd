"""Delivery of messages to people: a port with three implementations, chosen by the environment.

| variable | value |
|---|---|
| `PARTITA_DELIVERY` | `log` (the default), `https://...` for a webhook, or `smtp[s]://user:password@host:port` |
| `PARTITA_DELIVERY_SECRET` | signs the requests to a webhook; required there |
| `PARTITA_DELIVERY_FROM` | the sender of e-mails; required for SMTP |

A message may be delivered more than once: its id is the same each time, as `Idempotency-Key` of a webhook and as
`Message-ID` of an e-mail, by which the receiver recognises it. An error is a `DeliveryError`: the caller tries again.
"""

import hashlib
import hmac
import logging
import os
import smtplib
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import cache
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from partita import ConfigurationError

SETTING, SECRET, SENDER = "PARTITA_DELIVERY", "PARTITA_DELIVERY_SECRET", "PARTITA_DELIVERY_FROM"
TIMEOUT_SECONDS = 10.0

_log = logging.getLogger("partita.delivery")


class DeliveryError(Exception):
    """A message was not delivered, or perhaps was."""


class Message(msgspec.Struct, frozen=True):
    """A message to one recipient; `to` is an address that the implementation understands."""

    id: str
    to: str
    subject: str
    text: str
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Delivery(Protocol):
    """Delivers messages, at least once each."""

    def deliver(self, message: Message) -> None: ...


class LogDelivery:
    """Writes messages to the log `partita.delivery`, at the level INFO."""

    def deliver(self, message: Message) -> None:
        _log.info("to %s: %s: %s", message.to, message.subject, message.text)


@dataclass(frozen=True)
class WebhookDelivery:
    """POSTs messages as JSON, with `X-Partita-Signature: t=<seconds>,v1=<HMAC-SHA256 of "seconds.body" in hex>`."""

    url: str
    secret: bytes = field(repr=False)
    timer: Callable[[], float] = time.time

    def deliver(self, message: Message) -> None:
        body = msgspec.json.encode(message)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": message.id,
            "X-Partita-Signature": signature(self.secret, body, int(self.timer())),
        }
        request = urllib.request.Request(self.url, body, headers, method="POST")  # noqa: S310 - set by the operator
        try:
            with _OPENER.open(request, timeout=TIMEOUT_SECONDS):
                pass
        except OSError as error:  # an HTTP status from 300 on is one, too
            raise DeliveryError(f"webhook {self.url}: {error}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """None: the status is an error, since a signed message goes to the address that was set."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def signature(secret: bytes, body: bytes, seconds: int) -> str:
    """The header that proves who sent a body, and when."""
    digest = hmac.new(secret, f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


@dataclass(frozen=True)
class SmtpDelivery:
    """Sends e-mails through a server, encrypted where it offers that."""

    host: str
    port: int
    sender: str
    user: str = ""
    password: str = field(default="", repr=False)
    is_tls: bool = False

    def deliver(self, message: Message) -> None:
        mail = EmailMessage()
        try:
            mail["From"], mail["To"], mail["Subject"] = self.sender, message.to, " ".join(message.subject.split())
            mail["Message-ID"] = f"<{message.id}@partita>"
            mail.set_content(message.text)
            with self._connected() as server:
                server.send_message(mail)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise DeliveryError(f"e-mail to {message.to}: {error}") from None

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.is_tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT_SECONDS, context=context)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=TIMEOUT_SECONDS)
        try:
            if not self.is_tls and server.has_extn("starttls"):
                server.starttls(context=context)
            if self.user:
                server.login(self.user, self.password)
        except BaseException:
            server.close()
            raise
        return server


@cache
def delivery() -> Delivery:
    """The delivery that the environment of this process names."""
    return delivery_from(os.environ)


def delivery_from(settings: Mapping[str, str]) -> Delivery:
    """The delivery that settings name; ConfigurationError where they are incomplete."""
    name = settings.get(SETTING, "log")
    if name == "log":
        return LogDelivery()
    parts = urlsplit(name)
    if parts.scheme in ("http", "https") and parts.hostname:
        secret = _required(settings, SECRET, "signs the requests to a webhook")
        return WebhookDelivery(name, secret.encode())
    if parts.scheme in ("smtp", "smtps") and parts.hostname:
        sender = _required(settings, SENDER, "is the sender of e-mails")
        is_tls = parts.scheme == "smtps"
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return SmtpDelivery(parts.hostname, parts.port or (465 if is_tls else 587), sender, user, password, is_tls)
    raise ConfigurationError(f"{SETTING} is not valid; use log, https://... or smtp://user:password@host:port")


def _required(settings: Mapping[str, str], name: str, why: str) -> str:
    value = settings.get(name, "")
    if not value:
        raise ConfigurationError(f"{SETTING} needs {name}, which {why}")
    return value

"""JSON requests to an engine in this process, or to any server, with the same form of answer."""

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

import msgspec

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import DynamoDBError
from partita.engine.engine import Engine
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import SqliteStorage
from tests.peers.http import HEADERS, target
from tests.timing import PATIENCE

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The reply's members, or the error's code, message and further members."""

    body: Json
    code: str = ""
    message: str = ""

    @classmethod
    def of_error(cls, body: Json) -> Self:
        rest = dict(body)
        code = rest.pop("__type", "").partition("#")[2]
        message = rest.pop("message", None) or rest.pop("Message", None) or ""
        return cls(rest, code, message)

    @property
    def error(self) -> str:
        """`Code: message`, or an empty string."""
        return f"{self.code}: {self.message}" if self.code else ""


def open_engine(address: str, clock: Callable[[], float] = time.time, buckets: Path | None = None) -> Engine:
    """Opens an engine in memory or on a file; the test runs the background work."""
    storage = MemoryStorage() if address == "memory:" else SqliteStorage(address, "process")
    return Engine(storage, clock=clock, maintain=False, buckets=buckets)


class DynamoDB(Protocol):
    """Answers DynamoDB's operations."""

    def ask(self, operation: str, body: Json) -> Answer: ...


class Embedded:
    """An engine in this process; unexpected errors are raised."""

    def __init__(self, engine: Engine | None = None) -> None:
        self.engine = engine or open_engine("memory:")

    def ask(self, operation: str, body: Json) -> Answer:
        try:
            reply = self.engine.call(decode_request(operation, json.dumps(body).encode()))
        except DynamoDBError as error:
            return Answer.of_error(json.loads(msgspec.json.encode(error.body())))
        return Answer(json.loads(msgspec.json.encode(reply)))


class Remote:
    """A server, over one connection."""

    def __init__(self, endpoint: str) -> None:
        url = urlsplit(endpoint)
        self._connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE)

    def ask(self, operation: str, body: Json) -> Answer:
        self._connection.request("POST", "/", json.dumps(body).encode(), HEADERS | {"X-Amz-Target": target(operation)})
        response = self._connection.getresponse()
        payload = json.loads(response.read() or b"{}")
        return Answer(payload) if response.status == 200 else Answer.of_error(payload)

    def close(self) -> None:
        self._connection.close()

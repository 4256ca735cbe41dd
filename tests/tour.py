"""Records which of Partita's functions a PutItem over HTTP calls, in the order of their first calls."""

import asyncio
import json
import sys
from types import FrameType
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from partita import connect
from partita.dynamodb.decode import decode_request
from partita.engine.async_engine import AsyncEngine
from partita.http.sources import AllowedSources
from partita.server.connections import Connections
from partita.server.dispatch import Dispatcher
from partita.server.fast_protocol import FastPath, FastPathProtocol
from partita.server.turns import Turns

TABLE = {
    "TableName": "notes",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "author")],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-author",
            "KeySchema": [{"AttributeName": "author", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
TTL = {"TableName": "notes", "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}}
PUT = {
    "TableName": "notes",
    "Item": {"id": {"S": "1"}, "author": {"S": "ana"}, "stars": {"N": "5.0"}, "ttl": {"N": "4102444800"}},
    "ConditionExpression": "attribute_not_exists(id) AND attribute_not_exists(tour)",  # no other test may cache it
}


class _Transport(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self, answered: "asyncio.Future[bytes]") -> None:
        super().__init__()
        self.answered = answered

    def write(self, data: Any) -> None:
        if not self.answered.done():
            self.answered.set_result(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        return None


def calls_of_a_put() -> list[str]:
    """The functions by their dotted names, each once."""
    return asyncio.run(_recorded())


async def _recorded() -> list[str]:
    engine = connect("memory:", maintain=False)
    engine.call(decode_request("CreateTable", json.dumps(TABLE).encode()))
    engine.call(decode_request("UpdateTimeToLive", json.dumps(TTL).encode()))
    backend = AsyncEngine(engine)
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    fast_path = FastPath(Dispatcher(backend), None, AllowedSources())
    state = ServerState()
    state.default_headers = [(b"date", b"Thu, 01 Jan 2026 00:00:00 GMT")]
    protocol = FastPathProtocol(
        fast_path, Connections(), Turns(), config=_config(), server_state=state, app_state={}, _loop=None
    )
    protocol.connection_made(_Transport(answered))
    condition = f"{PUT['ConditionExpression']}       "  # not in the process-wide cache, whatever ran before
    body = json.dumps(PUT | {"ConditionExpression": condition}).encode()
    head = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n"
    calls: dict[str, None] = {}

    def record(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("partita."):
            calls.setdefault(f"{module}.{frame.f_code.co_qualname}")

    sys.setprofile(record)
    try:
        protocol.data_received(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        reply = await answered
    finally:
        sys.setprofile(None)
        protocol.connection_lost(None)
        await backend.close()
    assert b" 200 OK" in reply, reply
    return list(calls)


def _config() -> Config:
    config = Config(app=None, ws="none", lifespan="off", log_config=None)  # type: ignore[arg-type]
    config.load()
    return config

"""A reply counts as a whole until its last byte is sent: its memory is freed only then."""

import asyncio
from typing import Any, cast

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from partita.http.asgi import Receive, Scope, Send
from partita.http.sources import AllowedSources
from partita.server.connections import Connections
from partita.server.dispatch import Dispatcher
from partita.server.fast_protocol import FastPath, FastPathProtocol
from partita.server.turns import Turns

REPLY = 1_000_000


class _Transport(asyncio.Transport):
    """Has sent all but `unsent` bytes of what is written to it."""

    unsent = 1

    def __init__(self) -> None:
        super().__init__()
        self.has_reply = asyncio.Event()

    def write(self, data: Any) -> None:
        if len(data) >= REPLY:
            self.has_reply.set()

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        return None


class _Dispatcher:
    def dispatch(self, *_: Any) -> tuple[int, bytes]:
        return 200, bytes(REPLY)


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"%d" % REPLY)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(REPLY)})


@pytest.mark.parametrize("more_header", ["", "Accept-Encoding: gzip\r\n"], ids=["fast path", "ASGI"])
def test_reply_counts_whole_until_it_is_sent(more_header: str) -> None:
    async def held() -> tuple[int, int]:
        state = ServerState()
        state.default_headers = [(b"date", b"Thu, 01 Jan 2026 00:00:00 GMT")]
        config = Config(cast("Any", _application), ws="none", lifespan="off", log_config=None)
        config.load()
        fast_path = FastPath(cast("Dispatcher", _Dispatcher()), None, AllowedSources())
        protocol = FastPathProtocol(
            fast_path, Connections(), Turns(), config=config, server_state=state, app_state={}, _loop=None
        )
        transport = _Transport()
        protocol.connection_made(transport)
        head = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.Scan\r\n"
        protocol.data_received(f"{head}{more_header}Content-Length: 2\r\n\r\n{{}}".encode())
        await transport.has_reply.wait()
        before = protocol.held_bytes()
        transport.unsent = 0
        after = protocol.held_bytes()
        protocol.connection_lost(None)
        return before, after

    before, after = asyncio.run(asyncio.wait_for(held(), 60))
    assert before >= REPLY
    assert after == 0

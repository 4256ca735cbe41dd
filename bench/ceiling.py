"""The least that an HTTP server can do, to show how much faster the load generator is than what it measures."""

import asyncio
import sys
from contextlib import AbstractContextManager
from typing import cast

import uvloop

from tests.peers.process import Running, started

REPLY = b'HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 17\r\n\r\n{"TableNames":[]}'


class _Always200(asyncio.Protocol):
    """Answers every piece that arrives as one request, which the load generator's requests are."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        if data.find(b"\r\n\r\n") >= 0:
            self._transport.write(REPLY)


async def serve(port: int) -> None:
    """Listens until the process ends."""
    server = await asyncio.get_running_loop().create_server(_Always200, "127.0.0.1", port)
    await server.serve_forever()


def always_200() -> AbstractContextManager[Running]:
    """The server, in a process of its own."""
    return started(lambda port: [sys.executable, "-m", "bench.ceiling", str(port)], answers=lambda _: True)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))

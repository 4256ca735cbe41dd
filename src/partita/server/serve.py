"""Runs the application on uvicorn: bounded connections, bounded waiting, a graceful stop."""

import ipaddress
from asyncio import TimerHandle
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from partita.errors import ConfigurationError
from partita.server.app import Application

MOST_CONNECTIONS = 1000
REQUEST_SECONDS = 30.0  # from a request's first byte to its last
IDLE_SECONDS = 75  # between requests on one connection
STOP_SECONDS = 10  # for requests under way when the server is told to stop


class _PatientProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, with an end to its patience: a client must say its request in time."""

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None:
            self._await_request()
        super().data_received(data)

    def on_message_complete(self) -> None:
        self._forget_deadline()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def check_address(host: str, public: bool) -> None:
    """Refuses to listen beyond this machine unless that was asked for by name."""
    if public:
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise ConfigurationError(
            f"--host {host}: anybody who can reach this address could read and write everything, since requests are "
            "not authenticated; say --public as well if that is what you want"
        )


def serve(application: Application, host: str, port: int) -> None:
    """Serves until interrupted; requests under way are answered first."""
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        http=_PatientProtocol,
        loop="uvloop",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=1024,
    )
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run()

"""Runs the application on uvicorn: bounded connections, bounded waiting, a graceful stop."""

import errno
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any

import uvicorn

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication
from partita.http.cors import Cors
from partita.http.file_addresses import FileAddresses
from partita.http.hosts import is_loopback
from partita.http.metrics_endpoint import MetricsEndpoint
from partita.http.sources import AllowedSources, SourceCheck
from partita.server.authorization import Authorizer
from partita.server.connections import Connections, raise_file_limit, return_freed_memory, trim_memory
from partita.server.dispatch import Dispatcher
from partita.server.fast_protocol import FastPath, FastPathProtocol, NonblockingRead
from partita.server.garbage_collection import freeze_loaded_objects
from partita.server.protocol_app import Application, BackgroundWork
from partita.server.turns import Turns

BACKLOG = 1024  # connections that wait to be accepted
DEFER_SECONDS = 5  # that the system keeps a connection whose client is silent
STOP_SECONDS = 10  # for requests in progress when the server is stopped


def check_address(host: str, *, safe: bool, advice: str) -> None:
    """Raises `ConfigurationError` for an address beyond this machine where that is not safe; `advice` says what is."""
    if not safe and not is_loopback(host):
        raise ConfigurationError(
            f"--host {host}: anyone who can reach this address could read and write everything, since DynamoDB "
            f"requests are not authenticated; add --credentials to authenticate them, or {advice}"
        )


def bind_socket(host: str, port: int) -> socket.socket:
    """Binds a socket to an address, so that an address in use is reported first; port 0 is any free one."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise _bind_error(f"--host {host} --port {port}", error) from None
    return listener


def listen(listener: socket.socket) -> None:
    """Accepts connections from here on; another process may have taken the address since the socket was bound."""
    if hasattr(socket, "TCP_DEFER_ACCEPT"):  # Linux: a connection is accepted when its client has sent something
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        raise _bind_error(f"--port {listener.getsockname()[1]}", error) from None


def _bind_error(where: str, error: OSError) -> ConfigurationError:
    advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
    return ConfigurationError(f"{where}: {error.strerror}{advice}")


class _ProtocolFactory:
    """Creates the protocol of each connection; the fast path is taken once the backend is open."""

    def __init__(self, create_fast_path: Callable[[Dispatcher], FastPath]) -> None:
        self._create_fast_path = create_fast_path
        self._fast_path: FastPath | None = None
        self._connections = Connections(trim_memory=trim_memory)
        self.turns = Turns()

    def on_open(self, dispatcher: Dispatcher) -> None:
        self._fast_path = self._create_fast_path(dispatcher)
        freeze_loaded_objects()

    def __call__(self, **settings: Any) -> FastPathProtocol:
        return FastPathProtocol(self._fast_path, self._connections, self.turns, **settings)


def serve(
    open_backend: Callable[[], Awaitable[OwnedAsyncBackend]],
    listener: socket.socket,
    rest: AsgiApplication | None = None,
    *,
    nonblocking_read: NonblockingRead | None = None,
    dynamodb: bool = True,
    authorizer: Authorizer | None = None,
    sources: AllowedSources,
    background: BackgroundWork = nullcontext,
    metrics: MetricsEndpoint | None = None,
    files: FileAddresses | None = None,
    studio: AsgiApplication | None = None,
) -> None:
    """Serves until interrupted, then answers the requests in progress. `rest` answers at and below `/api`.

    `nonblocking_read` answers GET requests to `rest` on the fast path, where they do not block. `background` is entered
    for as long as the server runs. `metrics` answers GET /metrics, and `studio` at and below `/studio`. `rest` answers
    for `files` as well. With an authorizer every DynamoDB request goes through ASGI, since the fast path does not
    verify signatures. Without `dynamodb` its protocol is not answered.
    """

    def fast_path(dispatcher: Dispatcher) -> FastPath:
        return FastPath(dispatcher if dynamodb and authorizer is None else None, nonblocking_read, sources)

    raise_file_limit()
    return_freed_memory()
    listen(listener)
    protocols = _ProtocolFactory(fast_path)
    application: AsgiApplication = Application(
        open_backend,
        protocols.on_open,
        rest,
        authorizer,
        background,
        turns=protocols.turns,
        dynamodb=dynamodb,
        metrics=metrics,
        files=files,
        studio=studio,
    )
    if sources.origins:
        application = Cors(application, sources.origins)
    application = SourceCheck(application, sources)
    config = uvicorn.Config(
        application,
        http=protocols,  # type: ignore[arg-type]  # uvicorn only calls it, with keywords
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])

"""Runs the application on uvicorn: bounded connections, bounded waiting, a graceful stop."""

import errno
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import uvicorn

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication
from partita.http.cors import Cors
from partita.http.hosts import AllowedHosts, is_loopback
from partita.server.authorization import Authorizer
from partita.server.dispatch import Dispatcher
from partita.server.fast_protocol import IDLE_SECONDS, FastPathProtocol, NonblockingRead
from partita.server.protocol_app import Application, BackgroundWork

MAX_CONNECTIONS = 1000
BACKLOG = 1024  # connections that wait to be accepted
STOP_SECONDS = 10  # for requests in progress when the server is stopped


def check_address(host: str, public: bool) -> None:
    """Raises `ConfigurationError` for an address beyond this machine, unless `public`."""
    if not public and not is_loopback(host):
        raise ConfigurationError(
            f"--host {host}: anyone who can reach this address could read and write everything, since DynamoDB "
            "requests are not authenticated; add --credentials to authenticate them, or --public to allow that"
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
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        raise _bind_error(f"--port {listener.getsockname()[1]}", error) from None


def _bind_error(where: str, error: OSError) -> ConfigurationError:
    advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
    return ConfigurationError(f"{where}: {error.strerror}{advice}")


class _ProtocolFactory:
    """Creates the protocol of each connection; the fast path is taken once the backend is open."""

    def __init__(self, nonblocking_read: NonblockingRead | None, *, fast_path: bool) -> None:
        self._nonblocking_read = nonblocking_read
        self._fast_path = fast_path
        self._dispatcher: Dispatcher | None = None

    def on_open(self, dispatcher: Dispatcher) -> None:
        if self._fast_path:
            self._dispatcher = dispatcher

    def __call__(self, **settings: Any) -> FastPathProtocol:
        return FastPathProtocol(self._dispatcher, self._nonblocking_read, **settings)


def serve(
    open_backend: Callable[[], Awaitable[OwnedAsyncBackend]],
    listener: socket.socket,
    rest: AsgiApplication | None = None,
    *,
    nonblocking_read: NonblockingRead | None = None,
    authorizer: Authorizer | None = None,
    origins: Sequence[str] = (),
    hosts: Sequence[str] = ("*",),
    background: BackgroundWork = nullcontext,
) -> None:
    """Serves until interrupted, then answers the requests in progress. `rest` answers at and below `/api`.

    `nonblocking_read` answers GET requests to `rest` on the fast path, where they do not block. `background` is entered
    for as long as the server runs. With an authorizer, CORS origins or a list of hosts every request goes through ASGI,
    since the fast path checks none of them.
    """
    listen(listener)
    any_host = "*" in hosts
    protocols = _ProtocolFactory(nonblocking_read, fast_path=authorizer is None and not origins and any_host)
    application: AsgiApplication = Application(open_backend, protocols.on_open, rest, authorizer, background)
    if origins:
        application = Cors(application, origins)
    if not any_host:
        application = AllowedHosts(application, hosts)
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
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])

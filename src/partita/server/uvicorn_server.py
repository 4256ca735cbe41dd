"""Runs the application on uvicorn: bounded connections, bounded waiting, a graceful stop."""

import errno
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress

import uvicorn

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.errors import ConfigurationError
from partita.http.cors import Cors
from partita.http.hosts import is_loopback
from partita.server.authorization import Authorizer
from partita.server.dispatch import Answers
from partita.server.fast_protocol import IDLE_SECONDS, FastPathProtocol, ReadAtOnce
from partita.server.protocol_app import Application, AsgiApplication, Meanwhile

MOST_CONNECTIONS = 1000
BACKLOG = 1024  # connections that wait to be accepted
STOP_SECONDS = 10  # for requests under way when the server is told to stop


def check_address(host: str, public: bool, *, instead: str = "") -> None:
    """Refuses to listen beyond this machine unless that was asked for by name, or by what the command has `instead`."""
    if not public and not is_loopback(host):
        advice = f"{instead}, or " if instead else ""
        raise ConfigurationError(
            f"--host {host}: anybody who can reach this address could read and write everything, since DynamoDB's "
            f"requests are not authenticated; {advice}say --public as well if that is what you want"
        )


def listening(host: str, port: int) -> socket.socket:
    """A socket at the address, so that one that is taken is told before anything else is done; port 0 is any."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        raise _refused(f"--host {host} --port {port}", error) from None
    return found


def listen(at: socket.socket) -> None:
    """From here on connections are taken in; another process may have been quicker since the socket was made."""
    try:
        at.listen(BACKLOG)
    except OSError as error:
        raise _refused(f"--port {at.getsockname()[1]}", error) from None


def _refused(where: str, error: OSError) -> ConfigurationError:
    advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
    return ConfigurationError(f"{where}: {error.strerror}{advice}")


def serve(
    open_backend: Callable[[], Awaitable[OwnedAsyncBackend]],
    at: socket.socket,
    rest: AsgiApplication | None = None,
    *,
    read_at_once: ReadAtOnce | None = None,
    guard: Authorizer | None = None,
    origins: Sequence[str] = (),
    meanwhile: Meanwhile = nullcontext,
) -> None:
    """Serves until interrupted; requests under way are answered first. `rest` answers at and below `/api`.

    Where its reads never wait, `read_at_once` is the short way to them. `meanwhile` lasts as long as it serves.

    With a guard, or for pages of other origins, every request takes the ASGI way: the fast lane looks at neither.
    """
    listen(at)
    lane = type("Lane", (FastPathProtocol,), {})  # its own class, since uvicorn makes the connections

    def opened(answers: Answers) -> None:
        if guard is None and not origins:
            lane.answers = answers  # type: ignore[attr-defined]
            lane.read_at_once = read_at_once and staticmethod(read_at_once)  # type: ignore[attr-defined]

    application: AsgiApplication = Application(open_backend, opened, rest, guard, meanwhile)
    config = uvicorn.Config(
        Cors(application, origins) if origins else application,
        http=lane,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[at])

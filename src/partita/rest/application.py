"""The REST application: APIs on a database, as an ASGI application that runs alone or mounted in another one.

    app = RestApplication([api], "shop.db", verifier=Verifier.from_jwks("https://..."))

A server such as uvicorn starts and stops it through ASGI's lifespan events. Starlette and FastAPI do not forward these
to an application that is mounted: there, the lifespan of the outer application enters `running()`.
"""

import asyncio
import logging
import multiprocessing
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from partita.connect import Address, connect
from partita.dynamodb.backend import Backend
from partita.errors import ConfigurationError
from partita.http.asgi import EVENT_STREAM, AsgiApplication, Receive, Scope, Send, split_path
from partita.http.cors import Cors
from partita.http.file_addresses import FileAddress, FileAddresses
from partita.http.request_body import header_map
from partita.http.sources import REST_APPLICATION, AllowedSources, SourceCheck
from partita.rest.api import Api
from partita.rest.auth.identity import Verifier, reject_tokens
from partita.rest.background_jobs import running_jobs
from partita.rest.file_responses import file_response
from partita.rest.idempotency import IdempotentRequests
from partita.rest.mounted_api import EmbeddedBackend, MountedApi
from partita.rest.problems import Problem
from partita.rest.request_handler import AsgiIo, ReadNonblocking, RequestHandler, RequestLine
from partita.rest.responses import Response, problem_response
from partita.rest.unreadable_items import UnreadableItems
from partita.store.store import Store

CURSOR_KEYS = "PARTITA_CURSOR_KEYS"

_log = logging.getLogger("partita.rest")


class RestApplication:
    """Serves each API under `/api/<name>`, with a list of them at `/api` and a page for browsers at `/`.

    apis             The APIs; each has its own design.
    data             The address of a database, an open backend, or a store. An address is opened when the application
                     starts and closed when it stops; a backend or a store belongs to the caller.
    verifier         Verifies bearer tokens; without it, every token is rejected.
    cursor_keys      Keys that sign cursors, as for `connect`. By default those of the environment variable
                     PARTITA_CURSOR_KEYS, separated by commas, or else the key in the database file. A remote database
                     has none, and processes that serve the same one have to share theirs.
    create_tables    Whether to create the tables that are missing when the database is opened, and the one for
                     requests with an Idempotency-Key, partita-requests, at the first of them.
    prefix           The path of the APIs in place of `/api`.
    allowed_hosts    The host names that requests may be sent to, besides those of this machine; `*` allows all. None
                     checks neither hosts nor origins, which is the default: it is up to the outer server.
                     `partita serve` checks both, against DNS rebinding.
    allowed_origins  With `allowed_hosts`: the origins whose pages may send requests, besides the application's own.
    beside_dynamodb  Whether DynamoDB's protocol is served on the same port, so that the page says so.
    beside_studio    Whether the studio is served at /studio on the same port, so that the page links to it.
    demo_token       For demo data on one's own machine: a token that the documentation pages offer to everyone who can
                     open them. Their forms then have ids that exist in the data.
    """

    def __init__(
        self,
        apis: Sequence[Api[Any]],
        data: "Address | Backend | Store",
        *,
        verifier: Verifier | None = None,
        cursor_keys: Sequence[bytes] | None = None,
        create_tables: bool = False,
        prefix: str = "/api",
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] = (),
        beside_dynamodb: bool = False,
        beside_studio: bool = False,
        demo_token: str | None = None,
    ) -> None:
        _check_paths(apis, prefix)
        self._apis = list(apis)
        self._authenticate = reject_tokens if verifier is None else verifier.caller
        self._cursor_keys = cursor_keys or cursor_keys_from_environment()
        self._create_tables = create_tables
        self._prefix = prefix.rstrip("/")
        self._beside_dynamodb = beside_dynamodb
        self._beside_studio = beside_studio
        self._demo_token = demo_token
        self._unreadable = UnreadableItems()
        self._address = data if isinstance(data, str | os.PathLike) else None
        self._handler = None if isinstance(data, str | os.PathLike) else self._mounted(_opened(data))
        self._is_running = False
        self.files = file_addresses(self._apis)
        self._answer = _checking_sources(self._respond, allowed_hosts, allowed_origins, self.files)

    @property
    def unreadable_items(self) -> Mapping[str, int]:
        """How often each item that cannot be decoded was left out of a list, by its description with its key."""
        return self._unreadable.counts

    @property
    def nonblocking_read(self) -> ReadNonblocking | None:
        """Responds to a GET or HEAD without waiting; None where reads may wait for a remote database."""
        handler = self._started()
        return handler.read_nonblocking if handler.nonblocking else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Opens the database, runs the background jobs while the context lasts, and closes the database."""
        if self._is_running:
            raise ConfigurationError("the REST application is running already; enter running() once")
        backend = await asyncio.to_thread(self._open) if self._address is not None else None
        self._is_running = True
        try:
            async with running_jobs(self._started().apis.values()):
                yield
        finally:
            self._is_running = False
            await asyncio.to_thread(self._started().close)
            if backend is not None:
                self._handler = None
                backend.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close"})

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        root, path = split_path(scope)
        line = RequestLine(scope["method"], path, scope["query_string"])
        scheme = scope.get("scheme", "http")
        headers = header_map(scope["headers"])
        handler = self._started()
        io = AsgiIo(receive, send)
        if (address := self.files.find(scope["headers"], path)) is not None:
            await io.respond(line, await handler.threads.read(self._file, address, scope))
            return
        wants_events = line.method == "GET" and EVENT_STREAM in headers.get(b"accept", b"")
        if wants_events and await handler.stream_events(line, headers, scope, io):
            return
        await io.respond(line, await handler.respond(line, headers, receive, root=root, scheme=scheme))

    def _file(self, address: FileAddress, scope: Scope) -> Response:
        """The response to a request for a file; an error is a response too."""
        root, path = split_path(scope)
        for mounted in self._started().apis.values():
            for place in mounted.api.file_places:
                if place.path == address.place:
                    try:
                        return file_response(mounted.service, place, address, scope, root, path)
                    except Exception:  # noqa: BLE001 - a client gets a response, the log gets the traceback
                        _log.exception("unexpected error at %s %s", address.place, path.decode("latin-1"))
        return problem_response(Problem(500, "internal", "the file could not be read")).with_length()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        phase = "startup"
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()
        except Exception as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
            raise  # uvicorn logs the message alone; a test client would wait for ever without it
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def _started(self) -> RequestHandler:
        if self._handler is None:
            raise ConfigurationError(
                "the REST application has not been started; an application that is mounted in another one is started "
                "by the outer one's lifespan: async with rest.running(): yield"
            )
        return self._handler

    def _open(self) -> Any:
        assert self._address is not None
        backend = connect(self._address)
        try:
            check_workers(backend)
            self._handler = self._mounted(backend)
        except BaseException:
            backend.close()
            raise
        return backend

    def _mounted(self, data: Backend | Store) -> RequestHandler:
        mounted = []
        for api in self._apis:
            db = data if isinstance(data, Store) else Store(data, api.design, cursor_keys=self._cursor_keys)
            if not db.context.cursor_keys and self._cursor_keys:
                db = db.with_settings(cursor_keys=self._cursor_keys)
            if db.context.on_unreadable is None:
                db = db.with_settings(on_unreadable=self._unreadable.report)
            if db.design is not api.design:
                raise ConfigurationError(f"the API {api.name!r} is of another design than the store; pass its backend")
            if not db.context.cursor_keys:
                raise ConfigurationError(
                    f"the lists of {api.name!r} have signed cursors, and this database has no key for them; pass "
                    f"cursor_keys=[...], or set {CURSOR_KEYS}"
                )
            if self._create_tables:
                create_tables(db)
            mounted.append(MountedApi(api, db, f"{self._prefix}/{api.name}", self._demo_token))
        backend = data.backend if isinstance(data, Store) else data
        is_embedded = isinstance(backend, EmbeddedBackend)
        idempotent = IdempotentRequests(backend, create_tables=self._create_tables or is_embedded)
        return RequestHandler(
            mounted,
            self._authenticate,
            self._prefix,
            idempotent,
            beside_dynamodb=self._beside_dynamodb,
            beside_studio=self._beside_studio,
        )


def file_addresses(apis: Sequence[Api[Any]]) -> FileAddresses:
    """Where the APIs publish files; each place and each domain belongs to one of them."""
    places: dict[str, frozenset[str]] = {}
    for place in (each for api in apis for each in api.file_places):
        taken = {domain for domains in places.values() for domain in domains}
        if place.path in places or not taken.isdisjoint(place.domains):
            raise ConfigurationError(f"two APIs publish files at {place.path}, or below one domain; serve them apart")
        places[place.path] = place.domains
    return FileAddresses(places)


def _checking_sources(
    respond: AsgiApplication, hosts: Sequence[str] | None, origins: Sequence[str], files: FileAddresses
) -> AsgiApplication:
    """The application, behind a check of hosts and origins where hosts are given."""
    if hosts is None:
        if origins:
            raise ConfigurationError("allowed_origins applies where hosts are checked; give allowed_hosts as well")
        return respond
    sources = AllowedSources(hosts, origins, REST_APPLICATION, files=files)
    return SourceCheck(Cors(respond, sources.origins), sources)


def _check_paths(apis: Sequence[Api[Any]], prefix: object) -> None:
    """Every API has a path of its own, which begins with a slash."""
    if not isinstance(prefix, str) or (prefix and not prefix.startswith("/")):
        raise ConfigurationError(f"prefix={prefix!r} is not valid; use a path that begins with /, or an empty text")
    names = [api.name for api in apis]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"two APIs are named {name!r}; rename one, or mount them in two applications")


def _opened(data: Any) -> Any:
    """The open backend or store that was passed."""
    backend = data.backend if isinstance(data, Store) else data
    if not hasattr(backend, "call"):
        raise ConfigurationError(f"{data!r} is not a database; pass an address, a backend of connect(), or a store")
    check_workers(backend)
    return data


def create_tables(db: Store) -> None:
    """Creates the tables of the store's design; an existing table that differs from it is an error."""
    differences = [each for each in db.create_tables() if not each.is_unsupported]
    if differences:
        listed = "; ".join(map(str, differences))
        raise ConfigurationError(f"{db.design.name}: the existing tables differ from the design: {listed}")


def cursor_keys_from_environment() -> list[bytes] | None:
    """The keys in the environment, separated by commas; None if there are none."""
    return [key.strip().encode() for key in os.environ.get(CURSOR_KEYS, "").split(",") if key.strip()] or None


def check_workers(backend: Any) -> None:
    """Rejects a database in memory that several worker processes of uvicorn cannot share."""
    workers = _uvicorn_workers()
    if workers > 1 and not getattr(backend, "waits_for_disk", True):
        raise ConfigurationError(
            f"memory: belongs to one process, and there are {workers} workers; use a file path, or one worker"
        )


def _uvicorn_workers() -> int:
    """How many worker processes uvicorn runs, of which this one is: it passes its Config to each as an argument."""
    arguments = getattr(multiprocessing.current_process(), "_kwargs", {})
    return getattr(arguments.get("config"), "workers", None) or 1

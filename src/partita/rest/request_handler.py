"""From a request to its response: finds the route, identifies the caller, runs the operation."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from partita.errors import PartitaError
from partita.http.asgi import Receive, Scope, Send
from partita.http.request_body import (
    MAX_ENCODINGS,
    BodyTooLarge,
    ClientDisconnected,
    UnknownEncoding,
    read_body,
)
from partita.rest.access import AccessDenied
from partita.rest.auth.identity import Caller
from partita.rest.etags import IfMatch, digest
from partita.rest.events.event_requests import EventStreams, last_event_id
from partita.rest.events.event_routes import caller_of_ticket
from partita.rest.events.event_stream import EventStream
from partita.rest.idempotency import HEADER, IdempotentRequests
from partita.rest.mounted_api import PARSED_ADDRESS_BYTES, CachedReply, MountedApi, ParsedAddress
from partita.rest.pages.home import api_list, home_page
from partita.rest.parsing import decoder_of, path_arguments, query_arguments
from partita.rest.problems import Problem
from partita.rest.request_threads import RequestThreads
from partita.rest.response_cache import Expiry
from partita.rest.responses import JSON, RequestHeaders, Response, conditional, problem_response, response_for
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.rest.visibility import may_see
from partita.store.store import Store

Authenticate = Callable[[bytes | None], Caller]  # the caller that an Authorization header names

MAX_BODY = 3 * 1024 * 1024  # an item of 400 KB, each of its bytes escaped as \u0061
READ_METHODS = ("GET", "HEAD")
HTML = b"text/html; charset=utf-8"
UTF8 = (b"utf-8", b"utf8", b'"utf-8"')

_FRESH = (b"cache-control", b"no-cache")
_log = logging.getLogger("partita.rest")
_NO_MATCH = IfMatch(None)


ReadNonblocking = Callable[[str, bytes, bytes, RequestHeaders], Response]
"""From method, path, query string and headers to a response; it neither waits nor raises."""


class RequestLine(NamedTuple):
    method: str
    path: bytes
    query: bytes


class AsgiIo(NamedTuple):
    """The channels of an ASGI request."""

    receive: Receive
    send: Send

    async def respond(self, line: RequestLine, response: Response) -> None:
        body = b"" if line.method == "HEAD" else response.body
        await self.send({"type": "http.response.start", "status": response.status, "headers": response.headers})
        await self.send({"type": "http.response.body", "body": body})


class RequestState:
    """A request and what is known of it so far; an error is described in the names of its route."""

    __slots__ = ("call", "headers", "line", "mounted", "root", "route")

    def __init__(self, line: RequestLine, headers: RequestHeaders, root: str) -> None:
        self.line = line
        self.headers = headers
        self.root = root
        self.mounted: MountedApi | None = None
        self.route: Route | None = None
        self.call: RouteCall | None = None

    def error_response(self, error: Exception) -> Response:
        if isinstance(error, AccessDenied) and self.route is not None:
            error = error.in_names(self.route.sent_name)
        if isinstance(error, Problem):
            return problem_response(error)
        problem = None
        if self.mounted is not None:
            problem = self.mounted.problem(error, self.route, self.call, matching=b"if-match" in self.headers)
        if problem is None:
            problem = Problem(500, "internal", "the request could not be answered")
        if problem.status == 500:
            _log_unexpected(self.line, error)
        return problem_response(problem)


def _log_unexpected(line: RequestLine, error: Exception) -> None:
    """Logs the message of our own errors, and the traceback of all others."""
    what, method, path = "unexpected error at %s %s: %s", line.method, line.path.decode("latin-1")
    _log.error(what, method, path, error, exc_info=None if isinstance(error, PartitaError) else error)


class RequestHandler:
    """The requests to several APIs, each below `prefix` under its own name.

    `root` is the path that the application is mounted at: paths come without it, and links begin with it.
    """

    def __init__(
        self,
        apis: Sequence[MountedApi],
        authenticate: Authenticate,
        prefix: str,
        idempotent: IdempotentRequests,
        *,
        beside_dynamodb: bool,
        beside_studio: bool,
    ) -> None:
        self.apis = {mounted.api.name: mounted for mounted in apis}
        self._authenticate = authenticate
        self._prefix = prefix
        self._idempotent = idempotent
        self._beside_dynamodb = beside_dynamodb
        self._beside_studio = beside_studio
        self._event_streams = EventStreams()
        self.threads = RequestThreads()
        self._home_paths = {b"/", prefix.encode(), f"{prefix}/".encode()}

    @property
    def nonblocking(self) -> bool:
        """Whether reads come from an embedded engine: then `read_nonblocking` may be used."""
        return all(mounted.recorded is not None for mounted in self.apis.values())

    async def respond(
        self, line: RequestLine, headers: RequestHeaders, receive: Receive, *, root: str, scheme: str
    ) -> Response:
        """The response to any request; an error is a response too."""
        if line.path in self._home_paths:
            return self._home(RequestState(line, headers, root), scheme)
        if line.method in READ_METHODS and self.nonblocking:
            return self.read_nonblocking(*line, headers, root)
        return await self._handle(RequestState(line, headers, root), receive)

    def read_nonblocking(
        self, method: str, path: bytes, query: bytes, headers: RequestHeaders, root: str = ""
    ) -> Response:
        """The response to a GET or HEAD, which on an embedded engine never waits; an error is a response too."""
        state = RequestState(RequestLine(method, path, query), headers, root)
        try:
            return self._handle_read(state).with_length()
        except Exception as error:  # noqa: BLE001 - a client gets a response, the log gets the traceback
            return state.error_response(error).with_length()

    async def stream_events(self, line: RequestLine, headers: RequestHeaders, scope: Scope, io: AsgiIo) -> bool:
        """Sends the events that a request asks for, or why not; false where its route has none."""
        state = RequestState(line, headers, "")
        stream = None
        try:
            opened = await self.threads.read(self._open_events, state)
            if opened is None:
                return False
            stream, caller = opened
            await self._event_streams.respond(stream, caller, scope, io.receive, io.send)
        except Exception as error:  # noqa: BLE001 - as above
            if stream is not None and stream.has_started:
                _log_unexpected(line, error)
            else:
                await io.respond(line, state.error_response(error).with_length())
        return True

    def _open_events(self, state: RequestState) -> tuple[EventStream, Caller] | None:
        mounted, tail = self._find_api(state)
        methods, values = mounted.find(tail) or ({}, [])
        route = methods.get("GET")
        if route is None or route.events is None:
            return None
        state.route = route
        in_path = path_arguments(route, values)
        in_query = query_arguments(route, state.line.query)
        ticket = in_query.get("ticket")
        if ticket is None:
            caller = self._authenticate(state.headers.get(b"authorization"))
        else:
            caller = caller_of_ticket(mounted.db, route.path, in_path, ticket)
        route.who.check_caller(caller, in_path)
        parsed = ParsedAddress(route, in_path, in_path | in_query)
        state.call = call = _route_call(mounted, mounted.db, parsed, caller, None, state.headers)
        since = last_event_id(state.headers, in_query)
        return self._event_streams.open(mounted, call, route.run, since), caller

    def close(self) -> None:
        """Ends the event streams, and waits for the threads of requests."""
        self._event_streams.close()
        self.threads.close()

    def _home(self, state: RequestState, scheme: str) -> Response:
        """A page for browsers at `/`, and the APIs as JSON at the prefix."""
        apis = [mounted.api for mounted in self.apis.values()]
        try:
            _check_read_method(state.line.method)
            if state.line.path == b"/" and (self._prefix or _accepts_html(state.headers)):
                host = state.headers.get(b"host", b"").decode("latin-1")
                address = f"{scheme}://{host}" if self._beside_dynamodb else None
                kind, body = (
                    HTML,
                    home_page(apis, state.root, self._prefix, address, studio=self._beside_studio).encode(),
                )
            else:
                kind, body = JSON, api_list(apis, state.root + self._prefix)
            headers = [(b"content-type", kind), _FRESH, (b"vary", b"accept")]  # at `/` other clients get no HTML
            return _conditional(Response(200, body, headers), state).with_length()
        except Problem as problem:
            return state.error_response(problem).with_length()

    async def _handle(self, state: RequestState, receive: Receive) -> Response:
        """The response to a request that may wait: a write, or any request to a remote backend."""
        line = state.line
        try:
            mounted, tail = self._find_api(state)
            page = _static_page(state, mounted, tail)
            if page is not None:
                return _conditional(page, state).with_length()
            parsed, caller = self._resolve(state, tail)
            route = parsed.route
            raw = b"" if route.body is None else await _read_body(receive, state.headers)
            body = None if route.body is None else decoder_of(route.body)(raw)
            state.call = call = _route_call(mounted, mounted.db, parsed, caller, body, state.headers)
            key = state.headers.get(HEADER) if route.method == "POST" else None
            if key is None:
                run_in_thread = self.threads.read if line.method in READ_METHODS else self.threads.write
                result = await run_in_thread(route.run, call)
                if line.method == "GET":
                    _note_read(mounted, route, result)
                return response_for(mounted, route, result, state.headers, state.root).with_length()

            def run() -> Response:
                return response_for(mounted, route, route.run(call), {}, state.root)

            owner, request = (mounted.api.name, caller.id or ""), (line.path, line.query, raw)
            return (await self.threads.write(self._idempotent.execute, key, owner, request, run)).with_length()
        except Exception as error:  # noqa: BLE001 - as above
            return state.error_response(error).with_length()

    def _handle_read(self, state: RequestState) -> Response:
        mounted, tail = self._find_api(state)
        page = _static_page(state, mounted, tail)
        if page is not None:
            return _conditional(page, state)
        recorded = mounted.recorded
        if recorded is None or state.line.method != "GET" or not recorded.is_of_this_thread():
            parsed, caller = self._resolve(state, tail)
            state.call = call = _route_call(mounted, mounted.db, parsed, caller, None, state.headers)
            result = parsed.route.run(call)
            if state.line.method == "GET":
                _note_read(mounted, parsed.route, result)
            return response_for(mounted, parsed.route, result, state.headers, state.root)
        version = recorded.version()
        cached = self._cached_reply(mounted, state, version)
        if cached is not None:
            _note_read(mounted, cached.route, cached.reply)
            return response_for(mounted, cached.route, cached.reply, state.headers, state.root)
        parsed, caller = self._resolve(state, tail)
        state.call = call = _route_call(mounted, recorded.db, parsed, caller, None, state.headers)
        recorded.take_reads()  # what an earlier request left that failed
        result = parsed.route.run(call)
        if isinstance(result, JsonReply) and result.cacheable and (reads := recorded.take_reads()).is_complete:
            cached = CachedReply(result, parsed.route, call.arguments, version, reads, call.expiry.second)
            mounted.reply_cache.put(state.line[1:], cached, len(result.body) + reads.size)
        _note_read(mounted, parsed.route, result)
        return response_for(mounted, parsed.route, result, state.headers, state.root)

    def _resolve(self, state: RequestState, tail: str) -> tuple[ParsedAddress, Caller]:
        """The route, its arguments and the caller; raises where the caller may not call the route."""
        mounted, line = state.mounted, state.line
        assert mounted is not None
        parsed = mounted.address_cache.get(line)
        if parsed is not None:
            state.route = parsed.route
            caller = self._authenticate(state.headers.get(b"authorization"))
            parsed.route.who.check_caller(caller, parsed.in_path)
            return parsed, caller
        state.route, values = _match_route(mounted, tail, line.method, state.root)
        caller = self._authenticate(state.headers.get(b"authorization"))
        parsed = _parse_address(state.route, values, caller, line.query)
        mounted.address_cache.put(line, parsed, PARSED_ADDRESS_BYTES + sum(map(len, line)))
        return parsed, caller

    def _cached_reply(self, mounted: MountedApi, state: RequestState, version: int) -> CachedReply | None:
        """The cached reply, if its data is unchanged, nothing has expired, and the caller may see it."""
        cached = mounted.reply_cache.get(state.line[1:])
        if cached is None or b"if-match" in state.headers or not cached.is_current(version):
            return None
        if cached.expires is not None and cached.expires <= mounted.db.context.clock().timestamp():
            return None
        state.route = cached.route
        caller = self._authenticate(state.headers.get(b"authorization"))
        cached.route.who.check_caller(caller, cached.arguments)
        return cached if may_see(caller, cached.route, cached.arguments, cached.reply) else None

    def _find_api(self, state: RequestState) -> tuple[MountedApi, str]:
        path, below = state.line.path.decode("latin-1"), f"{self._prefix}/"
        name, _, tail = path.removeprefix(below).partition("/") if path.startswith(below) else ("", "", "")
        state.mounted = mounted = self.apis.get(name)
        if mounted is None:
            here = f"{state.root}{self._prefix or '/'}"
            what = f"no API {name!r}" if name else f"nothing at {state.root}{path}"
            raise Problem(404, "not-found", f"there is {what}; {here} lists {', '.join(self.apis)}")
        return mounted, tail


def _note_read(mounted: MountedApi, route: Route, result: Any) -> None:
    """A GET was answered with an entity."""
    if route.on_read is not None and isinstance(result, JsonReply):
        route.on_read(mounted.service, result.entity)


def _parse_address(route: Route, values: list[str], caller: Caller, query: bytes) -> ParsedAddress:
    """The arguments of an address; the rule is checked before the query string, whose errors name parameters."""
    in_path = path_arguments(route, values)
    route.who.check_caller(caller, in_path)
    in_query = query_arguments(route, query) if route.in_query or query else {}
    return ParsedAddress(route, in_path, in_path | in_query)


def _route_call(
    mounted: MountedApi, db: Store, parsed: ParsedAddress, caller: Caller, body: Any, headers: RequestHeaders
) -> RouteCall:
    route = parsed.route
    if_match = _NO_MATCH
    if b"if-match" in headers:
        if not route.takes_if_match:
            raise Problem(400, "malformed", "If-Match cannot be checked here; leave it out", "If-Match")
        if_match = IfMatch(headers[b"if-match"].decode("latin-1"))
    arguments = dict(parsed.arguments)
    return RouteCall(db, mounted.service, mounted.item_cache, caller, arguments, body, if_match, Expiry())


def _static_page(state: RequestState, mounted: MountedApi, tail: str) -> Response | None:
    """The documentation page or the OpenAPI description of an API."""
    if tail not in ("docs", "openapi.json"):
        return None
    _check_read_method(state.line.method)
    pages = mounted.static_pages(state.root)
    if tail == "docs" and mounted.demo_token is not None and mounted.recorded is not None:
        kind, body = HTML, mounted.demo_page(state.root, mounted.demo_token)
    else:
        kind, body = (HTML, pages.docs_html) if tail == "docs" else (JSON, pages.openapi_json)
    return Response(200, body, [(b"content-type", kind), _FRESH])


def _conditional(page: Response, state: RequestState) -> Response:
    return conditional(page, digest(page.body), state.line.method, state.headers)


def _accepts_html(headers: RequestHeaders) -> bool:
    return b"text/html" in headers.get(b"accept", b"")


def _check_read_method(method: str) -> None:
    """Raises 405 unless the method reads."""
    if method not in ("GET", "HEAD"):
        raise Problem(405, "method-not-allowed", "allowed here: GET, HEAD", allow="GET, HEAD")


def _match_route(mounted: MountedApi, tail: str, method: str, root: str) -> tuple[Route, list[str]]:
    found = mounted.find(tail)
    if found is None:
        here = f"{root}{mounted.path}"
        raise Problem(404, "not-found", f"there is nothing at {here}/{tail}; see {here}/docs")
    methods, values = found
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        allow = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
        raise Problem(405, "method-not-allowed", f"allowed here: {allow}", allow=allow)
    return route, values


async def _read_body(receive: Receive, headers: RequestHeaders) -> bytes:
    kind, *settings = [each.strip().lower() for each in headers.get(b"content-type", JSON).split(b";")]
    charsets = [each.partition(b"=")[2] for each in settings if each.startswith(b"charset=")]
    if (kind != JSON and not kind.endswith(b"+json")) or any(each not in UTF8 for each in charsets):
        raise Problem(415, "unsupported-media-type", "the body must be application/json in UTF-8")
    try:
        return await read_body(receive, headers, MAX_BODY)
    except UnknownEncoding:
        detail = f"the body may be compressed with gzip or deflate, at most {MAX_ENCODINGS} times"
        raise Problem(415, "unsupported-media-type", detail) from None
    except BodyTooLarge:
        raise Problem(413, "too-large", f"a request body may have at most {MAX_BODY:,} bytes") from None
    except TimeoutError:
        raise Problem(408, "timeout", "the body did not arrive in time") from None
    except ClientDisconnected:
        raise Problem(400, "malformed", "the body is incomplete") from None  # nobody reads it

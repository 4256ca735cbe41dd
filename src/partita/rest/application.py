"""The REST application: finds the route, knows the caller, runs the operation, answers with JSON or a problem."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from partita.errors import PartitaError
from partita.http.request_body import BodyTooLarge, read_body
from partita.rest.auth.identity import Caller, Verifier
from partita.rest.etags import IfMatch, digest
from partita.rest.mounted_api import PARSED_SIZE, CachedReply, MountedApi, ParsedAddress
from partita.rest.pages.home import PATHS, entrance_page, systems_listed
from partita.rest.parsing import decoder_of, path_arguments, query_arguments
from partita.rest.problems import Problem
from partita.rest.responses import JSON, RequestHeaders, Response, conditional, refusal_of, response_for
from partita.rest.routes import JsonReply, Route, RouteCall

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LARGEST_BODY = 3 * 1024 * 1024  # an item of 400 KB, each of its bytes escaped as \u0061
HTML = b"text/html; charset=utf-8"
UTF8 = (b"utf-8", b"utf8", b'"utf-8"')

_FRESH = (b"cache-control", b"no-cache")
_log = logging.getLogger("partita.rest")
_NO_MATCH = IfMatch(None)


class RequestLine(NamedTuple):
    method: str
    path: bytes
    query: bytes


class RequestState:
    """A request, and how far it has got: what goes wrong is told in the words of its route."""

    __slots__ = ("address", "asked", "bound", "call", "route")

    def __init__(self, address: RequestLine, asked: RequestHeaders) -> None:
        self.address = address
        self.asked = asked
        self.bound: MountedApi | None = None
        self.route: Route | None = None
        self.call: RouteCall | None = None

    def refusal(self, error: Exception) -> Response:
        if isinstance(error, Problem):
            return refusal_of(error)
        problem = None
        if self.bound is not None:
            problem = self.bound.problem(error, self.route, self.call, matching=b"if-match" in self.asked)
        if problem is None:
            problem = Problem(500, "internal", "the request could not be answered")
        if problem.status == 500:
            _log_fault(self.address, error)
        return refusal_of(problem)


def _log_fault(address: RequestLine, error: Exception) -> None:
    """What Partita raises says in its own sentence what is wrong; of anything else the whole way is needed."""
    what, method, path = "an unexpected error at %s %s: %s", address.method, address.path.decode("latin-1")
    _log.error(what, method, path, error, exc_info=None if isinstance(error, PartitaError) else error)


class RestApplication:
    """Every bound API under `/api/<name>`; at `/api` and `/` the way to them."""

    def __init__(self, apis: list[MountedApi], verifier: Verifier) -> None:
        self._apis = {bound.api.name: bound for bound in apis}
        self._verifier = verifier

    @property
    def never_waits(self) -> bool:
        """Whether reads come from an embedded engine: then `answer_at_once` may be used."""
        return all(bound.version is not None for bound in self._apis.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = RequestLine(scope["method"], scope["raw_path"], scope["query_string"])
        asked: RequestHeaders = dict(scope["headers"])
        if address.path in PATHS:
            answer = self._entrance(RequestState(address, asked), scope.get("scheme", "http"))
        elif address.method in ("GET", "HEAD") and self.never_waits:
            answer = self.answer_at_once(*address, asked)
        else:
            answer = await self._answer_in_time(RequestState(address, asked), receive)
        body = b"" if address.method == "HEAD" else answer.body
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": body})

    def answer_at_once(self, method: str, path: bytes, query: bytes, asked: RequestHeaders) -> Response:
        """The answer to a GET or HEAD, which on an embedded engine never waits; whatever goes wrong is one, too."""
        asking = RequestState(RequestLine(method, path, query), asked)
        try:
            return self._read(asking).measured()
        except Exception as error:  # noqa: BLE001 - a client gets an answer, the log gets the traceback
            return asking.refusal(error).measured()

    def _entrance(self, asking: "RequestState", scheme: str) -> Response:
        """The page at `/`, or the list at `/api`."""
        apis = [bound.api for bound in self._apis.values()]
        try:
            _check_readable(asking.address.method)
            if asking.address.path == b"/":
                host = asking.asked.get(b"host", b"").decode("latin-1")
                kind, body = HTML, entrance_page(apis, scheme, host).encode()
            else:
                kind, body = JSON, systems_listed(apis)
            headers = [(b"content-type", kind), _FRESH, (b"vary", b"accept")]  # who takes no HTML gets another `/`
            return _given(Response(200, body, headers), asking).measured()
        except Problem as problem:
            return asking.refusal(problem).measured()

    async def _answer_in_time(self, asking: "RequestState", receive: Receive) -> Response:
        """The same for what may wait: a write, or whatever is kept elsewhere."""
        try:
            bound, tail = self._system(asking)
            page = _page(bound, tail, asking.address.method)
            if page is not None:
                return _given(page, asking).measured()
            parsed, caller = self._known(asking, tail)
            wanted = parsed.route.body
            body = None if wanted is None else decoder_of(wanted)(await _body(receive, asking.asked))
            asking.call = call = _call(bound, parsed, caller, body, asking.asked)
            result = await asyncio.to_thread(parsed.route.run, call)
            return response_for(bound, parsed.route, result, asking.asked).measured()
        except Exception as error:  # noqa: BLE001 - as above
            return asking.refusal(error).measured()

    def _read(self, asking: "RequestState") -> Response:
        bound, tail = self._system(asking)
        page = _page(bound, tail, asking.address.method)
        if page is not None:
            return _given(page, asking)
        version = bound.version() if bound.version is not None and asking.address.method == "GET" else None
        kept = self._kept(bound, asking, version)
        if kept is not None:
            return response_for(bound, kept.route, kept.reply, asking.asked)
        parsed, caller = self._known(asking, tail)
        asking.call = call = _call(bound, parsed, caller, None, asking.asked)
        result = parsed.route.run(call)
        if version is not None and isinstance(result, JsonReply) and result.fresh:
            kept = CachedReply(result, parsed.route, call.arguments, version)
            bound.replies.put(asking.address[1:], kept, len(result.body))
        return response_for(bound, parsed.route, result, asking.asked)

    def _known(self, asking: "RequestState", tail: str) -> tuple[ParsedAddress, Caller]:
        """What the address says, and who asks; raises where he may not even ask."""
        bound, address = asking.bound, asking.address
        assert bound is not None
        parsed = bound.parsed.get(address)
        if parsed is not None:
            asking.route = parsed.route
            caller = self._verifier.caller(asking.asked.get(b"authorization"))
            parsed.route.who.check_caller(caller, parsed.in_path)
            return parsed, caller
        asking.route, values = _routed(bound, tail, address.method)
        caller = self._verifier.caller(asking.asked.get(b"authorization"))
        parsed = _parsed(asking.route, values, caller, address.query)
        bound.parsed.put(address, parsed, PARSED_SIZE + sum(map(len, address)))
        return parsed, caller

    def _kept(self, bound: MountedApi, asking: "RequestState", version: int | None) -> CachedReply | None:
        """The reply of last time, if the data is what it was, nothing has expired, and the caller may have it."""
        kept = bound.replies.get(asking.address[1:])
        if kept is None or kept.version != version or b"if-match" in asking.asked:
            return None
        if kept.reply.expires is not None and kept.reply.expires <= bound.db.context.clock().timestamp():
            return None
        caller = self._verifier.caller(asking.asked.get(b"authorization"))
        kept.route.who.check_caller(caller, kept.arguments)
        kept.route.who.check(caller, kept.arguments, kept.reply.thing)
        return kept

    def _system(self, asking: "RequestState") -> tuple[MountedApi, str]:
        _, _, name, *rest = asking.address.path.decode("latin-1").split("/", 3)
        asking.bound = bound = self._apis.get(name)
        if bound is None:
            raise Problem(404, "not-found", f"there is no system {name!r}; /api lists {', '.join(self._apis)}")
        return bound, rest[0] if rest else ""


def _parsed(route: Route, values: list[str], caller: Caller, query: bytes) -> ParsedAddress:
    """What the address says, of which a caller who may not even ask is told nothing."""
    in_path = path_arguments(route, values)
    route.who.check_caller(caller, in_path)
    in_query = query_arguments(route, query) if route.in_query or query else {}
    return ParsedAddress(route, in_path, in_path | in_query)


def _call(bound: MountedApi, parsed: ParsedAddress, caller: Caller, body: Any, asked: RequestHeaders) -> RouteCall:
    route = parsed.route
    if_match = _NO_MATCH
    if b"if-match" in asked:
        if not route.takes_if_match:
            raise Problem(400, "malformed", "If-Match cannot be checked here; leave it out", "If-Match")
        if_match = IfMatch(asked[b"if-match"].decode("latin-1"))
    arguments = dict(parsed.arguments)
    return RouteCall(bound.db, bound.service, bound.memory, bound.pages, caller, arguments, body, if_match)


def _page(bound: MountedApi, tail: str, method: str) -> Response | None:
    """The two pages that every API has."""
    if tail not in ("docs", "openapi.json"):
        return None
    _check_readable(method)
    kind, body = (HTML, bound.page) if tail == "docs" else (JSON, bound.description)
    return Response(200, body, [(b"content-type", kind), _FRESH])


def _given(page: Response, asking: RequestState) -> Response:
    return conditional(page, digest(page.body), asking.address.method, asking.asked)


def _check_readable(method: str) -> None:
    """A page can be read, and nothing else."""
    if method not in ("GET", "HEAD"):
        raise Problem(405, "method-not-allowed", "here one can GET, HEAD", allow="GET, HEAD")


def _routed(bound: MountedApi, tail: str, method: str) -> tuple[Route, list[str]]:
    found = bound.find(tail)
    if found is None:
        raise Problem(404, "not-found", f"there is nothing at {bound.root}/{tail}; see {bound.root}/docs")
    methods, values = found
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        allow = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
        raise Problem(405, "method-not-allowed", f"here one can {allow}", allow=allow)
    return route, values


async def _body(receive: Receive, asked: RequestHeaders) -> bytes:
    kind, *settings = [each.strip().lower() for each in asked.get(b"content-type", JSON).split(b";")]
    charsets = [each.partition(b"=")[2] for each in settings if each.startswith(b"charset=")]
    if (kind != JSON and not kind.endswith(b"+json")) or any(each not in UTF8 for each in charsets):
        raise Problem(415, "unsupported-media-type", "the body must be application/json in UTF-8")
    if asked.get(b"content-encoding", b"identity") not in (b"identity", b"gzip"):
        raise Problem(415, "unsupported-media-type", "the body may be zipped by gzip alone")
    try:
        return await read_body(receive, asked, LARGEST_BODY)
    except BodyTooLarge:
        raise Problem(413, "too-large", f"a request may have {LARGEST_BODY:,} bytes") from None
    except TimeoutError:
        raise Problem(408, "malformed", "the body did not arrive in time") from None

"""The REST application: finds the route, knows the caller, runs the operation, answers with JSON or a problem."""

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from partita.rest.bound import PARSED_SIZE, BoundApi, Kept, Parsed
from partita.rest.entrance import PATHS, entrance_page, systems_listed
from partita.rest.identity import Caller, Verifier
from partita.rest.parsing import decoder_of, path_arguments, query_arguments
from partita.rest.problems import MEDIA_TYPE, Problem
from partita.rest.routes import Call, Reply, Route, placeholders, told_apart
from partita.rest.tags import ZIPPED, IfMatch, digest, entity_tag, none_match
from partita.server.bodies import BodyTooLarge, read_body
from partita.store.reading import Page

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Asked = dict[bytes, bytes]

LARGEST_BODY = 1024 * 1024
ZIP_FROM = 8 * 1024  # a smaller reply is sent sooner than it is zipped
JSON = b"application/json"
HTML = b"text/html; charset=utf-8"
UTF8 = (b"utf-8", b"utf8", b'"utf-8"')

_TYPED = (b"content-type", JSON)
_VARIES = (b"vary", b"accept-encoding, authorization")
_FRESH = (b"cache-control", b"no-cache")
_encode = msgspec.json.encode
_log = logging.getLogger("partita.rest")
_NO_MATCH = IfMatch(None)


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Headers


class RestApplication:
    """Every bound API under `/api/<name>`; at `/api` and `/` the way to them."""

    def __init__(self, apis: list[BoundApi], verifier: Verifier) -> None:
        self._apis = {bound.api.name: bound for bound in apis}
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked: Asked = dict(scope["headers"])
        answer = await self._answered(scope, receive, asked)
        body = b"" if scope["method"] == "HEAD" else answer.body
        if answer.status not in (204, 304):
            answer.headers.append((b"content-length", b"%d" % len(answer.body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, scope: Scope, receive: Receive, asked: Asked) -> Answer:
        """Never raises: a client gets an answer, the log gets the traceback."""
        bound: BoundApi | None = None
        route: Route | None = None
        try:
            if scope["raw_path"] in PATHS:
                return self._entrance(scope, asked)
            bound, tail = self._system(scope["raw_path"].decode("latin-1"))
            page = _page(bound, tail, scope["method"])
            if page is not None:
                return _conditional(page, digest(page.body), scope["method"], asked)
            version = None
            if bound.version is not None and scope["method"] == "GET":
                version = bound.version()
                kept = self._kept(bound, scope, asked, version)
                if kept is not None:
                    return _told(bound, kept.route, kept.reply, asked)
            address = (scope["method"], scope["raw_path"], scope["query_string"])
            parsed = bound.parsed.get(address)
            route, values = _routed(bound, tail, scope["method"]) if parsed is None else (parsed.route, [])
            caller = self._verifier.caller(asked.get(b"authorization"))
            if parsed is None:
                parsed = _parsed(route, values, caller, scope["query_string"])
                bound.parsed.put(address, parsed, PARSED_SIZE + sum(map(len, address)))
            else:
                route.who.greet(caller, parsed.in_path)
            call = await _call(bound, parsed, caller, receive, asked)
            if bound.version is None or route.method != "GET":
                return _told(bound, route, await asyncio.to_thread(route.run, call), asked)
            result = route.run(call)
            if version is not None and isinstance(result, Reply) and result.fresh:
                key = (scope["raw_path"], scope["query_string"])
                bound.replies.put(key, Kept(result, route, call.arguments, version), len(result.body))
            return _told(bound, route, result, asked)
        except Problem as problem:
            return _refusal(problem)
        except Exception as error:  # noqa: BLE001 - as above
            problem_ = bound.problem(route, error, matching=b"if-match" in asked) if bound else None
            if problem_ is None:
                _log.error("an unexpected error at %s %s", scope["method"], scope["path"], exc_info=error)
                problem_ = Problem(500, "internal", "the request could not be answered")
            return _refusal(problem_)

    def _entrance(self, scope: Scope, asked: Asked) -> Answer:
        """The page at `/`, or the list at `/api`."""
        _check_readable(scope["method"])
        apis = [bound.api for bound in self._apis.values()]
        if scope["raw_path"] == b"/":
            host = asked.get(b"host", b"").decode("latin-1")
            kind, body = HTML, entrance_page(apis, scope.get("scheme", "http"), host).encode()
        else:
            kind, body = JSON, systems_listed(apis)
        headers = [(b"content-type", kind), _FRESH, (b"vary", b"accept")]  # who takes no HTML gets another `/`
        return _conditional(Answer(200, body, headers), digest(body), scope["method"], asked)

    def _kept(self, bound: BoundApi, scope: Scope, asked: Asked, version: int) -> Kept | None:
        """The reply of last time, if the data is what it was, nothing has expired, and the caller may have it."""
        kept = bound.replies.get((scope["raw_path"], scope["query_string"]))
        if kept is None or kept.version != version or b"if-match" in asked:
            return None
        if kept.reply.expires is not None and kept.reply.expires <= bound.db.context.clock().timestamp():
            return None
        caller = self._verifier.caller(asked.get(b"authorization"))
        kept.route.who.greet(caller, kept.arguments)
        kept.route.who.check(caller, kept.arguments, kept.reply.thing)
        return kept

    def _system(self, path: str) -> tuple[BoundApi, str]:
        _, _, name, *rest = path.split("/", 3)
        bound = self._apis.get(name)
        if bound is None:
            raise Problem(404, "not-found", f"there is no system {name!r}; /api lists {', '.join(self._apis)}")
        return bound, rest[0] if rest else ""


def _parsed(route: Route, values: list[str], caller: Caller, query: bytes) -> Parsed:
    """What the address says, of which a caller who may not even ask is told nothing."""
    in_path = path_arguments(route, values)
    route.who.greet(caller, in_path)
    in_query = query_arguments(route, query) if route.in_query or query else {}
    return Parsed(route, in_path, in_path | in_query)


async def _call(bound: BoundApi, parsed: Parsed, caller: Caller, receive: Receive, asked: Asked) -> Call:
    route = parsed.route
    if_match = _NO_MATCH
    if b"if-match" in asked:
        if not route.takes_if_match:
            raise Problem(400, "malformed", "If-Match cannot be checked here; leave it out", "If-Match")
        if_match = IfMatch(asked[b"if-match"].decode("latin-1"))
    body = None
    if route.body is not None:
        body = decoder_of(route.body)(await _body(receive, asked))
    arguments = dict(parsed.arguments)
    return Call(bound.db, bound.service, bound.memory, bound.pages, caller, arguments, body, if_match)


def _page(bound: BoundApi, tail: str, method: str) -> Answer | None:
    """The two pages that every API has."""
    if tail not in ("docs", "openapi.json"):
        return None
    _check_readable(method)
    kind, body = (HTML, bound.page) if tail == "docs" else (JSON, bound.description)
    return Answer(200, body, [(b"content-type", kind), _FRESH])


def _check_readable(method: str) -> None:
    """A page can be read, and nothing else."""
    if method not in ("GET", "HEAD"):
        raise Problem(405, "method-not-allowed", "here one can GET, HEAD", allow="GET, HEAD")


def _routed(bound: BoundApi, tail: str, method: str) -> tuple[Route, list[str]]:
    found = bound.find(tail)
    if found is None:
        raise Problem(404, "not-found", f"there is nothing at {bound.root}/{tail}; see {bound.root}/docs")
    methods, values = found
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        allow = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
        raise Problem(405, "method-not-allowed", f"here one can {allow}", allow=allow)
    return route, values


async def _body(receive: Receive, asked: Asked) -> bytes:
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


def _told(bound: BoundApi, route: Route, result: Any, asked: Asked) -> Answer:
    if route.result is None:
        return Answer(204, b"", [])
    if isinstance(result, Reply):
        body, tag = result.body, result.tag
    elif isinstance(result, Page):
        body = _encode({"items": result.items, "cursor": result.cursor})
        tag = digest(body)
    else:
        body = told_apart(result) if route.several else _encode(result)
        tag = entity_tag(result, body) if route.tagged else digest(body)
    headers: Headers = [_TYPED]
    if route.cache is not None:
        headers.append((b"cache-control", route.cache.encode()))
    if route.location is not None:
        headers.append((b"location", _location(bound, route.location, result)))
    return _conditional(Answer(route.status, body, headers), tag, route.method, asked)


def _conditional(answer: Answer, tag: str, method: str, asked: Asked) -> Answer:
    """The answer with its tag, zipped where that was asked for; 304 where the client has it."""
    if method in ("GET", "HEAD"):
        wanted = asked.get(b"if-none-match")
        if wanted is not None and not none_match(wanted.decode("latin-1"), tag):
            return Answer(304, b"", [*answer.headers, (b"etag", b'"%b"' % tag.encode()), _VARIES])
    if len(answer.body) < ZIP_FROM or b"gzip" not in asked.get(b"accept-encoding", b""):
        return Answer(answer.status, answer.body, [*answer.headers, (b"etag", b'"%b"' % tag.encode()), _VARIES])
    zipping = zlib.compressobj(1, wbits=31)
    body = zipping.compress(answer.body) + zipping.flush()
    extra = [(b"etag", f'"{tag}{ZIPPED}"'.encode()), _VARIES, (b"content-encoding", b"gzip")]
    return Answer(answer.status, body, [*answer.headers, *extra])


def _location(bound: BoundApi, path: str, made: Any) -> bytes:
    for name in placeholders(path):
        path = path.replace(f"{{{name}}}", quote(str(msgspec.to_builtins(getattr(made, name))), safe=""))
    return f"{bound.root}{path}".encode()


def _refusal(problem: Problem) -> Answer:
    headers: Headers = [(b"content-type", MEDIA_TYPE), (b"cache-control", b"no-store")]
    if problem.allow is not None:
        headers.append((b"allow", problem.allow.encode()))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    return Answer(problem.status, problem.body(), headers)

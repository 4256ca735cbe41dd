"""The REST application: finds the route, knows the caller, runs the operation, answers with JSON or a problem."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from partita.rest.docs_page import docs_page
from partita.rest.identity import Verifier
from partita.rest.openapi import openapi
from partita.rest.parsing import Decoders, path_arguments, query_arguments
from partita.rest.problems import MEDIA_TYPE, Problem, problem_of
from partita.rest.routes import Api, Call, Route, tag_of
from partita.server.bodies import BodyTooLarge, read_body
from partita.store.reading import Page
from partita.store.store import Store

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

LARGEST_BODY = 1024 * 1024
JSON = b"application/json"
HTML = b"text/html; charset=utf-8"

_encode = msgspec.json.encode
_log = logging.getLogger("partita.rest")


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Headers


class BoundApi:
    """An API on a store; `instant` says that its reads never wait, so they may run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, *, instant: bool) -> None:
        self.api = api
        self.db = db
        self.instant = instant
        self.service = api.service(db)
        self.root = f"/api/{api.name}"
        self.description = _encode(openapi(api))
        self.page = docs_page(api).encode()
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._plant(route)

    def _plant(self, route: Route) -> None:
        branch = self._tree
        for segment in route.segments:
            branch = branch.setdefault(None if segment.startswith("{") else segment, {})
        branch.setdefault("", {})[route.method] = route

    def find(self, path: str) -> tuple[dict[str, Route], list[str]] | None:
        """The routes at a path, by method, and the values of its placeholders; constants go before placeholders."""
        return _walk(self._tree, path.strip("/").split("/"), [])


def _walk(branch: dict[Any, Any], segments: list[str], values: list[str]) -> tuple[dict[str, Route], list[str]] | None:
    if not segments:
        methods = branch.get("")
        return (methods, values) if methods else None
    head, rest = segments[0], segments[1:]
    if not head:
        return None
    if head in branch and (found := _walk(branch[head], rest, values)) is not None:
        return found
    return _walk(branch[None], rest, [*values, head]) if None in branch else None


class RestApplication:
    """Every bound API under `/api/<name>`."""

    def __init__(self, apis: list[BoundApi], verifier: Verifier) -> None:
        self._apis = {bound.api.name: bound for bound in apis}
        self._verifier = verifier
        self._decoders = Decoders()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, the log gets the traceback
            problem = problem_of(error)
            if problem is None:
                _log.error("an unexpected error at %s %s", scope["method"], scope["path"], exc_info=error)
                problem = Problem(500, "internal", "the request could not be answered")
            answer = _refusal(problem)
        body = b"" if scope["method"] == "HEAD" or answer.status in (204, 304) else answer.body
        headers = [*answer.headers, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path = scope["raw_path"].decode("latin-1")
        _, _, name, *rest = path.split("/", 3)
        bound = self._apis.get(name)
        if bound is None:
            known = ", ".join(sorted(self._apis))
            raise Problem(404, "not-found", f"there is no system {name!r}; there are {known}")
        tail = rest[0] if rest else ""
        if tail in ("docs", "docs/", ""):
            return Answer(200, bound.page, [(b"content-type", HTML)])
        if tail == "openapi.json":
            return Answer(200, bound.description, [(b"content-type", JSON)])
        route, values = _routed(bound, tail, scope["method"])
        headers: dict[bytes, bytes] = dict(scope["headers"])
        call = self._call(bound, route, values, scope, headers, await _body(route, receive, headers))
        if bound.instant and route.method == "GET":
            result = route.run(call)
        else:
            result = await asyncio.to_thread(route.run, call)
        return _answered(route, result, headers)

    def _call(
        self,
        bound: BoundApi,
        route: Route,
        values: list[str],
        scope: Scope,
        headers: dict[bytes, bytes],
        body: bytes,
    ) -> Call:
        caller = self._verifier.caller(headers.get(b"authorization"))
        if not route.who.looks:
            route.who.check(caller, path_arguments(route, values))
        elif caller.id is None:
            route.who.check(caller, {}, None)
        arguments = path_arguments(route, values) | query_arguments(route, scope["query_string"])
        decoded = None if route.body is None else self._decoders.decode(route.body, body)
        if_match = headers.get(b"if-match")
        return Call(
            bound.db, bound.service, caller, arguments, decoded, if_match.decode("latin-1") if if_match else None
        )


def _routed(bound: BoundApi, tail: str, method: str) -> tuple[Route, list[str]]:
    found = bound.find(tail)
    if found is None:
        raise Problem(404, "not-found", f"there is nothing at {bound.root}/{tail}; see {bound.root}/docs")
    methods, values = found
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        raise Problem(405, "method-not-allowed", f"here one can {', '.join(sorted(methods))}")
    return route, values


async def _body(route: Route, receive: Receive, headers: dict[bytes, bytes]) -> bytes:
    try:
        body = await read_body(receive, headers, LARGEST_BODY)
    except BodyTooLarge:
        raise Problem(413, "too-large", f"a request may have {LARGEST_BODY:,} bytes") from None
    except TimeoutError:
        raise Problem(408, "malformed", "the body did not arrive in time") from None
    if route.body is not None:
        kind = headers.get(b"content-type", JSON).partition(b";")[0].strip().lower()
        if kind != JSON and not kind.endswith(b"+json"):
            raise Problem(415, "unsupported-media-type", "the body must be application/json")
    return body


def _answered(route: Route, result: Any, asked: dict[bytes, bytes]) -> Answer:
    if route.result is None:
        return Answer(204, b"", [])
    body = _encode({"items": result.items, "cursor": result.cursor} if isinstance(result, Page) else result)
    headers: Headers = [(b"content-type", JSON)]
    if route.cache is not None:
        headers.append((b"cache-control", route.cache.encode()))
    if route.has_tag or route.method == "GET":
        tag = tag_of(body).encode()
        headers.append((b"etag", tag))
        if route.method == "GET" and asked.get(b"if-none-match") == tag:
            return Answer(304, b"", headers)
    return Answer(route.status, body, headers)


def _refusal(problem: Problem) -> Answer:
    headers: Headers = [(b"content-type", MEDIA_TYPE)]
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    return Answer(problem.status, problem.body(), headers)

"""Responses: a result as JSON with its ETag, 304 for a client that has it, a problem."""

import zlib
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from partita.http.gzip import accepts_gzip
from partita.rest.etags import GZIP_SUFFIX, digest, entity_tag, none_match
from partita.rest.events.event_routes import Subscription
from partita.rest.mounted_api import MountedApi
from partita.rest.problems import MEDIA_TYPE, Problem
from partita.rest.reply_json import encoded_reply
from partita.rest.routes import JsonReply, Route, page_json, placeholders, with_type_member
from partita.store.reading import Page

Headers = list[tuple[bytes, bytes]]
RequestHeaders = dict[bytes, bytes]

GZIP_FROM = 8 * 1024  # compressing a smaller reply takes longer than it saves
JSON = b"application/json"

_CONTENT_TYPE = (b"content-type", JSON)
_VARY = (b"vary", b"accept-encoding, authorization")


class Response(NamedTuple):
    status: int
    body: bytes
    headers: Headers

    def with_length(self) -> "Response":
        if self.status not in (204, 304):
            self.headers.append((b"content-length", b"%d" % len(self.body)))
        return self


def response_for(mounted: MountedApi, route: Route, result: Any, request: RequestHeaders, root: str = "") -> Response:
    """The response to a request whose route gave this result; `root` is where the application is mounted."""
    if isinstance(result, Subscription):
        raise Problem(406, "not-acceptable", "this is a stream of events; send Accept: text/event-stream", "Accept")
    if route.result is None:
        return Response(204, b"", [])
    if isinstance(result, JsonReply):
        body, tag = result.body, result.tag
    elif isinstance(result, Page):
        body = page_json(route, result)
        tag = digest(body)
    else:
        body = with_type_member(result) if route.polymorphic else encoded_reply(result)
        tag = entity_tag(result, body) if route.tagged or route.polymorphic else digest(body)
    headers: Headers = [_CONTENT_TYPE]
    if route.cache is not None:
        is_own = isinstance(result, JsonReply) and result.is_of_caller
        headers.append((b"cache-control", b"private, no-cache" if is_own else route.cache.encode()))
    if route.location is not None:
        headers.append((b"location", _location(root + mounted.path, route.location, result)))
    return conditional(Response(route.status, body, headers), tag, route.method, request)


def conditional(response: Response, tag: str, method: str, request: RequestHeaders) -> Response:
    """The response with its ETag, compressed where the client accepts it; 304 where the client has it."""
    if method in ("GET", "HEAD"):
        wanted = request.get(b"if-none-match")
        if wanted is not None and not none_match(wanted.decode("latin-1"), tag):
            return Response(304, b"", [*response.headers, (b"etag", b'"%b"' % tag.encode()), _VARY])
    if len(response.body) < GZIP_FROM or not accepts_gzip(request.get(b"accept-encoding", b"")):
        return Response(response.status, response.body, [*response.headers, (b"etag", b'"%b"' % tag.encode()), _VARY])
    gzip = zlib.compressobj(1, wbits=31)
    body = gzip.compress(response.body) + gzip.flush()
    extra = [(b"etag", f'"{tag}{GZIP_SUFFIX}"'.encode()), _VARY, (b"content-encoding", b"gzip")]
    return Response(response.status, body, [*response.headers, *extra])


def _location(base: str, path: str, created: Any) -> bytes:
    for name in placeholders(path):
        path = path.replace(f"{{{name}}}", quote(str(msgspec.to_builtins(getattr(created, name))), safe=""))
    return f"{base}{path}".encode()


def problem_response(problem: Problem) -> Response:
    headers: Headers = [(b"content-type", MEDIA_TYPE), (b"cache-control", b"no-store")]
    if problem.allow is not None:
        headers.append((b"allow", problem.allow.encode()))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    return Response(problem.status, problem.body(), headers)

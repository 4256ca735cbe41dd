"""Answers of REST: a result as JSON with its tag, a page for who has not seen it, a problem."""

import zlib
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from partita.http.gzip import takes_gzip
from partita.rest.etags import ZIPPED, digest, entity_tag, none_match
from partita.rest.json_codec import encoded
from partita.rest.mounted_api import MountedApi
from partita.rest.problems import MEDIA_TYPE, Problem
from partita.rest.routes import JsonReply, Route, placeholders, with_type_member
from partita.store.reading import Page

Headers = list[tuple[bytes, bytes]]
RequestHeaders = dict[bytes, bytes]

ZIP_FROM = 8 * 1024  # a smaller reply is sent sooner than it is zipped
JSON = b"application/json"

_TYPED = (b"content-type", JSON)
_VARIES = (b"vary", b"accept-encoding, authorization")


class Response(NamedTuple):
    status: int
    body: bytes
    headers: Headers

    def measured(self) -> "Response":
        if self.status not in (204, 304):
            self.headers.append((b"content-length", b"%d" % len(self.body)))
        return self


def response_for(bound: MountedApi, route: Route, result: Any, asked: RequestHeaders) -> Response:
    if route.result is None:
        return Response(204, b"", [])
    if isinstance(result, JsonReply):
        body, tag = result.body, result.tag
    elif isinstance(result, Page):
        items = [msgspec.Raw(with_type_member(each)) for each in result.items] if route.several else result.items
        body = encoded({"items": items, "cursor": result.cursor})
        tag = digest(body)
    else:
        body = with_type_member(result) if route.several else encoded(result)
        tag = entity_tag(result, body) if route.tagged or route.several else digest(body)
    headers: Headers = [_TYPED]
    if route.cache is not None:
        headers.append((b"cache-control", route.cache.encode()))
    if route.location is not None:
        headers.append((b"location", _location(bound, route.location, result)))
    return conditional(Response(route.status, body, headers), tag, route.method, asked)


def conditional(answer: Response, tag: str, method: str, asked: RequestHeaders) -> Response:
    """The answer with its tag, zipped where that was asked for; 304 where the client has it."""
    if method in ("GET", "HEAD"):
        wanted = asked.get(b"if-none-match")
        if wanted is not None and not none_match(wanted.decode("latin-1"), tag):
            return Response(304, b"", [*answer.headers, (b"etag", b'"%b"' % tag.encode()), _VARIES])
    if len(answer.body) < ZIP_FROM or not takes_gzip(asked.get(b"accept-encoding", b"")):
        return Response(answer.status, answer.body, [*answer.headers, (b"etag", b'"%b"' % tag.encode()), _VARIES])
    zipping = zlib.compressobj(1, wbits=31)
    body = zipping.compress(answer.body) + zipping.flush()
    extra = [(b"etag", f'"{tag}{ZIPPED}"'.encode()), _VARIES, (b"content-encoding", b"gzip")]
    return Response(answer.status, body, [*answer.headers, *extra])


def _location(bound: MountedApi, path: str, made: Any) -> bytes:
    for name in placeholders(path):
        path = path.replace(f"{{{name}}}", quote(str(msgspec.to_builtins(getattr(made, name))), safe=""))
    return f"{bound.root}{path}".encode()


def refusal_of(problem: Problem) -> Response:
    headers: Headers = [(b"content-type", MEDIA_TYPE), (b"cache-control", b"no-store")]
    if problem.allow is not None:
        headers.append((b"allow", problem.allow.encode()))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    return Response(problem.status, problem.body(), headers)

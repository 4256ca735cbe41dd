"""Responses with files that an API publishes for its users.

Their content is that of strangers, and on a path it shares an origin with the API. So each reply forbids scripts, forms
and frames, and `sandbox` gives it an origin of its own: it sees no storage of the API's pages, and what it sends comes
from the origin `null`, which is rejected.
"""

from typing import Any
from urllib.parse import quote

from partita.http.asgi import Scope
from partita.http.file_addresses import FileAddress
from partita.rest.hosted_files import FilePlace, HostedFile
from partita.rest.responses import Headers, RequestHeaders, Response, conditional

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
_HEADERS: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
]
_NOT_FOUND = (
    b"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    b"<title>Not found</title><h1>Not found</h1><p>There is no page at this address.</p></html>\n"
)


def file_response(
    service: Any, place: FilePlace, address: FileAddress, scope: Scope, root: str, path: bytes
) -> Response:
    """The response to a request for a file; it may wait, for the service reads it from somewhere."""
    method, headers = scope["method"], dict(scope["headers"])
    if method not in ("GET", "HEAD"):
        return Response(405, b"", [*_HEADERS, (b"allow", b"GET, HEAD")]).with_length()
    if address.path == "" and address.name and not address.is_host and not path.endswith(b"/"):
        return Response(308, b"", [*_HEADERS, (b"location", root.encode() + path + b"/")]).with_length()
    found = None
    if address.path is not None:
        wanted = f"{address.path}index.html" if address.path.endswith("/") or not address.path else address.path
        found = place.find(service, address.name, wanted)
    if found is None:
        body = b"" if method == "HEAD" else _NOT_FOUND
        return Response(404, body, [*_HEADERS, (b"content-type", b"text/html; charset=utf-8")]).with_length()
    return _sent(found, method, headers)


def _sent(found: HostedFile, method: str, request: RequestHeaders) -> Response:
    headers: Headers = [*_HEADERS, (b"content-type", found.content_type.encode())]
    if found.download is not None:
        headers.append((b"content-disposition", f"attachment; filename*=UTF-8''{quote(found.download)}".encode()))
    return conditional(Response(200, found.body, headers), found.tag, method, request).with_length()

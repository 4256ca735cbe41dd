"""The types of ASGI (asgi.readthedocs.io), and the path that an application is mounted at."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
EVENT_STREAM = b"text/event-stream"
UNLIMITED = "partita.unlimited_connection"
"""An extension: a call of it takes the connection out of the limit of ordinary ones, until a stop ends it."""

AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]


def split_path(scope: Scope) -> tuple[str, bytes]:
    """The path that the application is mounted at, as it stands in a URL, and the raw path below it.

    Starlette and uvicorn repeat the mount point (`root_path`) in the path. Behind a proxy that removes a prefix, the
    path repeats only the end of it: `/v1/shop` and `/shop/api`.

    >>> split_path({"root_path": "/v1/shop", "path": "/shop/api/a b", "raw_path": b"/shop/api/a%20b"})
    ('/v1/shop', b'/api/a%20b')
    """
    root, path = scope.get("root_path", "").rstrip("/"), scope["path"]
    raw = scope.get("raw_path") or quote(path).encode()
    if not root:
        return "", raw
    segments = root.split("/")[1:]
    for start in range(len(segments)):
        repeated = "".join(f"/{each}" for each in segments[start:])
        if path == repeated or path.startswith(f"{repeated}/"):
            below = raw.split(b"/")[1 + len(segments) - start :]
            return quote(root), b"/" + b"/".join(below)
    return quote(root), raw

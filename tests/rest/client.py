"""A client of an ASGI application in this process, for one request or several concurrent ones."""

import asyncio
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from partita.http.asgi import Message
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.plain)

    @property
    def plain(self) -> bytes:
        return gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body

    @property
    def tag(self) -> str:
        return self.headers["etag"]


class Request(NamedTuple):
    """A request; `json` is sent as JSON, `body` as it is."""

    method: str
    path: str
    json: Any = None
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Client:
    """An anonymous client; `by` returns one with a token."""

    def __init__(
        self, app: RestApplication, root: str, issuer: LocalIssuer, loop: asyncio.AbstractEventLoop, token: str = ""
    ) -> None:
        self.app = app
        self.root = root
        self.issuer = issuer
        self.token = token
        self._loop = loop

    def by(self, subject: str, *groups: str, **claims: Any) -> "Client":
        token = self.issuer.token(subject, groups, **claims)
        return Client(self.app, self.root, self.issuer, self._loop, token)

    def at(self, root: str) -> "Client":
        return Client(self.app, root, self.issuer, self._loop, self.token)

    def request(self, method: str, path: str, json: Any = None, body: bytes | None = None, **headers: str) -> Response:
        return self._send(method, path, headers, json, body)

    def get(self, path: str, **headers: str) -> Response:
        return self._send("GET", path, headers)

    def post(self, path: str, json: Any = None, **headers: str) -> Response:
        return self._send("POST", path, headers, json)

    def put(self, path: str, json: Any = None, **headers: str) -> Response:
        return self._send("PUT", path, headers, json)

    def patch(self, path: str, json: Any = None, **headers: str) -> Response:
        return self._send("PATCH", path, headers, json)

    def delete(self, path: str, **headers: str) -> Response:
        return self._send("DELETE", path, headers)

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], json: Any = None, body: bytes | None = None
    ) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.concurrently([Request(method, path, json, named, body)])[0]

    def concurrently(self, requests: Sequence[Request]) -> list[Response]:
        async def gathered() -> list[Response]:
            return await asyncio.gather(*map(self._respond, requests))

        return self._loop.run_until_complete(gathered())

    async def _respond(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        raw_path = quote(self.root + path, safe="/%:~!$&'()*+,;=@-._").encode()
        headers = {"host": "test", **request.headers}
        body = request.body or b""
        if request.json is not None:
            body = json.dumps(request.json, ensure_ascii=False).encode()
            headers.setdefault("content-type", "application/json")
        if self.token:
            headers.setdefault("authorization", f"Bearer {self.token}")
        scope = {
            "type": "http",
            "method": request.method,
            "path": path,
            "raw_path": raw_path,
            "query_string": quote(query, safe="=&%+-._~").encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        }
        sent: list[Message] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Response(start["status"], found, b"".join(each["body"] for each in rest))

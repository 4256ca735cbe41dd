"""A client of the studio in this process: with the token of programs, or with a session as a browser has it."""

import asyncio
import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from partita.http.asgi import Message
from partita.studio.studio_app import StudioApplication

TOKEN = "a-token-of-the-tests"
ORIGIN = "http://127.0.0.1:8001"


class PageReply(NamedTuple):
    """A response; `text` is its body."""

    status: int
    headers: dict[str, str]
    text: str
    is_complete: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def form_token(self) -> str:
        found = re.search(r'name="form_token" value="([^"]+)"', self.text)
        assert found is not None
        return unescape(found[1])


class StudioClient:
    """Sends requests to the application."""

    def __init__(self, application: StudioApplication, headers: Mapping[str, str] | None = None) -> None:
        self.application = application
        program = {"authorization": f"Bearer {TOKEN}", "partita-session": "tests"}
        self.headers = dict(headers if headers is not None else program)

    def get(self, path: str, headers: Mapping[str, str] | None = None, /, **query: Any) -> PageReply:
        return self.send("GET", path + (f"?{urlencode(query)}" if query else ""), b"", headers or {})

    def view(self, path: str, **query: Any) -> Any:
        """The JSON view of a page."""
        reply = self.get(f"{path}.json", **query)
        assert reply.headers["content-type"] == "application/json"
        return reply.json

    def post(self, path: str, headers: Mapping[str, str] | None = None, /, **fields: Any) -> PageReply:
        form = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.send("POST", path, urlencode(fields).encode(), form)

    def send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> PageReply:
        return asyncio.run(self._sent(method, target, body, {**self.headers, **headers}))

    async def _sent(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> PageReply:
        parts = urlsplit(target)
        given = {"host": "127.0.0.1:8001", "accept": "text/html", **headers}
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "scheme": "http",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        }
        sent: list[Message] = []

        parts_of_body = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            if parts_of_body:
                return parts_of_body.pop()
            await asyncio.Event().wait()  # the client stays connected
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        start, *rest = sent
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        text = b"".join(each["body"] for each in rest).decode()
        return PageReply(start["status"], found, text, not rest[-1].get("more_body", False))


def commit(client: StudioClient) -> PageReply:
    """Commits every edit that is staged."""
    ids = ",".join(str(each["id"]) for each in client.view("/studio/shop/staged")["edits"])
    return client.post("/studio/shop/commit", edits=ids)


def signed_in(application: StudioApplication) -> StudioClient:
    """A browser that has opened the address with the token."""
    reply = StudioClient(application, {}).get("/studio", token=TOKEN)
    assert reply.status == 303
    cookie = reply.headers["set-cookie"].partition(";")[0]
    return StudioClient(application, {"cookie": cookie})

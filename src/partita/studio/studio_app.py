"""The studio as an ASGI application: authentication, routing, a page or its JSON view, and errors as pages.

Every page is a struct that a function reads and another one renders. With `.json` behind the path, or where the client
accepts JSON and not HTML, the response is the struct itself.
"""

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from partita.design.json_codec import encoded
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.limits import MB
from partita.errors import (
    ConfigurationError,
    InvalidCursor,
    InvalidValue,
    NoReply,
    NotFound,
    PartitaError,
    ReadOnlyStore,
    StorageError,
    StoreError,
)
from partita.http.asgi import Receive, Scope, Send, split_path
from partita.http.request_body import BodyTooLarge, ClientDisconnected, read_raw_body
from partita.studio.assets import Asset, asset_at
from partita.studio.budgets import BudgetExceeded
from partita.studio.json_input import json_input
from partita.studio.markup import Markup
from partita.studio.sessions import SESSION_HEADER, Sessions, StudioSession, cookies_in
from partita.studio.shell import ErrorView, error_page, sign_in_page
from partita.studio.site import StudioPage, matching_route
from partita.studio.streaming import Download, LiveEvents, send_download, send_events
from partita.studio.visits import ForeignRequest, Redirect, StudioDesign, Visit
from partita.studio.write_policy import DataPlace, read_only_advice

log = logging.getLogger("partita.studio")

MAX_BODY = 8 * MB
MAX_FIELDS = 5000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
HTML, JSON = b"text/html; charset=utf-8", b"application/json"
THEME_COOKIE = "partita-theme"


class StudioResponse(NamedTuple):
    """A response: status, media type, body and further headers."""

    status: int
    content_type: bytes
    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = ((b"cache-control", b"no-store"),)


class StudioApplication:
    """Answers at and below the path that it is mounted at; everything but styles and scripts needs a session."""

    def __init__(
        self, designs: Mapping[str, StudioDesign], place: DataPlace, token: str | None = None, path: str = "/studio"
    ) -> None:
        self.sessions = Sessions(token)
        self.designs = dict(designs)
        self.place = place
        self.path = path
        self._cursor_keys = [secrets.token_bytes(32)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            found = await self._respond(_StudioRequest(scope, self.path), receive)
        except ClientDisconnected:
            return
        if scope["method"] == "HEAD" and isinstance(found, LiveEvents | Download):
            found = StudioResponse(200, found.media_type, b"")
        if isinstance(found, LiveEvents):
            await send_events(found, scope, receive, send, SECURITY_HEADERS)
        elif isinstance(found, Download):
            await send_download(found, scope, receive, send, SECURITY_HEADERS)
        else:
            await _send(found, send, has_body=scope["method"] != "HEAD")

    async def _respond(self, request: "_StudioRequest", receive: Receive) -> "StudioResponse | Download | LiveEvents":
        if request.path is None:
            return _redirect(self.path)
        asset = asset_at(request.path)
        if asset is not None:
            return _asset_response(asset, request)
        try:
            session = self._session(request)
        except ConfigurationError as error:
            return _error(request, None, ErrorView(400, "Bad request", str(error)))
        if isinstance(session, StudioResponse):
            return session
        visit = Visit(
            request.root,
            self.place,
            self.designs,
            session,
            self._cursor_keys,
            method=request.method,
            path=request.path,
            query=request.query,
            theme=request.theme,
            is_foreign=request.is_foreign and not session.is_program,
        )
        if request.is_foreign and request.method == "GET" and not (request.is_navigation or session.is_program):
            return _error(request, None, ErrorView(403, "Forbidden", "A page of another site has sent this request."))
        found = matching_route(request.method, request.path)
        if found is None:
            return _error(request, visit, ErrorView(404, "Not found", f"There is no page {request.path}."))
        route, visit.arguments = found
        if request.method == "POST":
            try:
                visit.form = await self._form(request, receive, session)
            except _Rejected as rejected:
                visit.record_rejected(rejected.view.title)
                return _error(request, None, rejected.view)
        return await asyncio.to_thread(_page, request, visit, route)

    def _session(self, request: "_StudioRequest") -> StudioSession | StudioResponse:
        """The session of a request, or the response to one without."""
        authorization = request.headers.get(b"authorization", b"").decode("latin-1")
        if authorization.startswith("Bearer ") and self.sessions.is_token(authorization[7:].strip()):
            name = request.headers.get(SESSION_HEADER.lower().encode(), b"")
            return self.sessions.of_program(name.decode("latin-1").strip())
        given = next((value for name, value in request.query if name == "token"), None)
        if given is not None and self.sessions.is_token(given):
            value, _ = self.sessions.start()
            return _redirect(request.without_token, cookie=request.cookie(value))
        session = self.sessions.find(request.cookies.get(request.cookie_name, ""))
        if session is not None:
            return session
        wrong = "This token is not valid." if given is not None else ""
        if request.wants_json:
            detail = "send the token of the studio: Authorization: Bearer ..."
            return _json(ErrorView(401, "Unauthorized", detail), 401)
        return StudioResponse(401, HTML, str(sign_in_page(request.root, wrong, request.theme)).encode())

    async def _form(self, request: "_StudioRequest", receive: Receive, session: StudioSession) -> list[tuple[str, str]]:
        """The fields of a form; one that a page of the studio itself has sent."""
        try:
            body = await read_raw_body(receive, MAX_BODY)
        except BodyTooLarge:
            raise _Rejected(413, "Too large", f"A request has at most {MAX_BODY // MB} MB.") from None
        except TimeoutError:
            raise _Rejected(408, "Timeout", "The request was not complete in time.") from None
        fields = _fields(body, request.headers.get(b"content-type", b""))
        if not session.is_program:
            given = next((value for name, value in fields if name == "form_token"), "")
            if not request.is_same_origin or not secrets.compare_digest(given.encode(), session.form_token.encode()):
                detail = "The form is not of this session. Go back, reload the page, and send it again."
                raise _Rejected(403, "Forbidden", detail)
        return fields


class _Rejected(Exception):
    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.view = ErrorView(status, title, detail)


class _StudioRequest:
    """The parts of an ASGI request that the studio looks at; `path` is None where it is not below the studio's own."""

    def __init__(self, scope: Scope, mounted_at: str) -> None:
        mount, raw = split_path(scope)
        below = unquote(raw.decode("latin-1"), errors="replace")
        self.method = "GET" if scope["method"] == "HEAD" else scope["method"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.scheme = scope.get("scheme", "http")
        self.root = mount + mounted_at
        self.cookies = cookies_in(self.headers.get(b"cookie", b""))
        theme = self.cookies.get(THEME_COOKIE, "")
        self.theme = theme if theme in ("light", "dark") else ""
        is_below = below == mounted_at or below.startswith(f"{mounted_at}/")
        self.path = below[len(mounted_at) :].rstrip("/") if is_below else None
        self._has_suffix = bool(self.path and self.path.endswith(".json") and "/static/" not in self.path)
        if self.path and self._has_suffix:
            self.path = self.path.removesuffix(".json").rstrip("/")
        text = scope.get("query_string", b"").decode("latin-1")
        self.query: list[tuple[str, str]] = []
        with suppress(ValueError):
            self.query = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
        port = self.headers.get(b"host", b"").decode("latin-1").rpartition(":")[2]
        self.cookie_name = f"partita-studio-{port}" if port.isdigit() else "partita-studio"

    @property
    def wants_json(self) -> bool:
        accepted = self.headers.get(b"accept", b"")
        return self._has_suffix or (b"application/json" in accepted and b"text/html" not in accepted)

    @property
    def is_same_origin(self) -> bool:
        origin = self.headers.get(b"origin", b"").lower()
        return origin == f"{self.scheme}://".encode() + self.headers.get(b"host", b"").lower()

    @property
    def is_foreign(self) -> bool:
        """Whether a page of another origin has caused the request, as browsers say (Fetch Metadata)."""
        return self.headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")

    @property
    def is_navigation(self) -> bool:
        """Whether the response is to be shown as a page of its own: a link was followed."""
        is_page = self.headers.get(b"sec-fetch-dest") == b"document"
        return is_page and self.headers.get(b"sec-fetch-mode") == b"navigate"

    @property
    def without_token(self) -> str:
        rest = urlencode([(name, value) for name, value in self.query if name != "token"])
        return f"{self.root}{quote(self.path or '')}{'?' if rest else ''}{rest}"

    def cookie(self, value: str) -> str:
        secure = "; Secure" if self.scheme == "https" else ""
        return f"{self.cookie_name}={value}; HttpOnly; SameSite=Lax; Path={self.root}{secure}"


def _fields(body: bytes, content_type: bytes) -> list[tuple[str, str]]:
    """The fields of a form, or the members of a JSON object."""
    try:
        if content_type.startswith(JSON):
            members = json_input(body, dict[str, Any])
            return [
                (name, value if isinstance(value, str) else encoded(value).decode()) for name, value in members.items()
            ]
        return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:  # NotJson is one
        raise _Rejected(400, "Bad request", "The body is neither a form nor a JSON object.") from None


def _page(request: _StudioRequest, visit: Visit, route: StudioPage) -> "StudioResponse | Download | LiveEvents":
    """Reads the page's struct and renders it."""
    try:
        if route.writes:
            visit.check_writable()
        view = route.read(visit)
        if isinstance(view, Download | LiveEvents):
            return view
        if request.wants_json:
            return _json(view, getattr(view, "status", 200))
        return _html(route.render(view, visit), getattr(view, "status", 200))
    except Redirect as redirect:
        return _redirect(redirect.location)
    except Exception as error:  # noqa: BLE001 - a fault of ours is a page, too
        described = _described(error, visit)
        if route.writes:
            visit.record_rejected(f"{type(error).__name__}: {described.detail}")
        return _error(request, visit, described)


_TITLES = (
    (BudgetExceeded, 422, "Budget used up"),
    (ForeignRequest, 403, "Forbidden"),
    (NotFound, 404, "Not found"),
    (InvalidValue, 422, "Invalid value"),
    (InvalidCursor, 422, "Invalid page"),
    (ConfigurationError, 422, "Invalid request"),
    (NoReply, 503, "The database does not answer"),
    (StorageError, 503, "The database is not available"),
    (StoreError, 409, "Rejected"),
)


def _described(error: Exception, visit: Visit) -> ErrorView:
    if isinstance(error, ReadOnlyStore):
        return ErrorView(403, "Read-only", read_only_advice(visit.place))
    if isinstance(error, DynamoDBError):
        status = 503 if error.status >= 500 else 422
        return ErrorView(status, error.code, error.message or "The database gave no reason.")
    for kind, status, title in _TITLES:
        if isinstance(error, kind):
            return ErrorView(status, title, str(error))
    if isinstance(error, PartitaError):
        return ErrorView(422, "Invalid request", str(error))
    log.error("%s %s", visit.method, visit.path, exc_info=error)
    detail = "The studio failed to build this page. The log of the server has the details."
    return ErrorView(500, "Internal error", detail)


def _error(request: _StudioRequest, visit: Visit | None, view: ErrorView) -> StudioResponse:
    if request.wants_json:
        return _json(view, view.status)
    return _html(error_page(view, visit, request.root, request.theme), view.status)


def _html(page: Markup, status: int) -> StudioResponse:
    return StudioResponse(status, HTML, str(page).encode())


def _json(view: Any, status: int) -> StudioResponse:
    return StudioResponse(status, JSON, encoded(view))


def _redirect(location: str, cookie: str | None = None) -> StudioResponse:
    headers = [(b"location", quote(location, safe="/?&=%+").encode()), (b"cache-control", b"no-store")]
    if cookie is not None:
        headers.append((b"set-cookie", cookie.encode()))
    return StudioResponse(303, HTML, b"", headers)


def _asset_response(asset: Asset, request: _StudioRequest) -> StudioResponse:
    is_named = ("v", asset.version) in request.query
    cache = b"public, max-age=31536000, immutable" if is_named else b"no-cache"
    return StudioResponse(200, asset.media_type, asset.content, [(b"cache-control", cache)])


async def _send(response: StudioResponse, send: Send, *, has_body: bool) -> None:
    headers = [
        (b"content-type", response.content_type),
        (b"content-length", b"%d" % len(response.body)),
        *response.headers,
        *SECURITY_HEADERS,
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body if has_body else b""})

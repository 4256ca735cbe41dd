"""Sessions of browsers: a token opens one, a cookie continues it, and a form proves that it is of the studio's own.

The token is in the address that the command prints. Opening it sets a cookie that scripts cannot read, and leads to the
same page without the token, so that it stays out of the history and of screenshots.
"""

import hmac
import secrets
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie

from partita.errors import ConfigurationError
from partita.studio.staged_edits import StagedEdit

TOKEN_VARIABLE = "PARTITA_STUDIO_TOKEN"
MIN_TOKEN = 16
MAX_SESSIONS = 200  # the oldest one ends


class BrowserSession:
    """One browser: its id for the audit log, the token of its forms, and the edits that it has staged, by design."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(4)
        self.form_token = secrets.token_urlsafe(24)
        self.staged: dict[str, list[StagedEdit]] = {}


class Sessions:
    """The open sessions of one server."""

    def __init__(self, token: str | None = None) -> None:
        """`token` opens a session; a random one by default."""
        if token is not None and len(token) < MIN_TOKEN:
            raise ConfigurationError(f"{TOKEN_VARIABLE} must have at least {MIN_TOKEN} characters")
        self.token = token or secrets.token_urlsafe(24)
        self._open: OrderedDict[str, BrowserSession] = OrderedDict()

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def start(self) -> tuple[str, BrowserSession]:
        """A new session, and the value of its cookie."""
        if len(self._open) >= MAX_SESSIONS:
            self._open.popitem(last=False)
        value, session = secrets.token_urlsafe(32), BrowserSession()
        self._open[value] = session
        return value, session

    def find(self, cookie: str) -> BrowserSession | None:
        session = self._open.get(cookie)
        if session is not None:
            self._open.move_to_end(cookie)
        return session


def cookies_in(header: bytes) -> dict[str, str]:
    """The cookies of a request; those that cannot be read are left out."""
    found: SimpleCookie = SimpleCookie()
    try:
        found.load(header.decode("latin-1"))
    except CookieError:
        return {}
    return {name: each.value for name, each in found.items()}

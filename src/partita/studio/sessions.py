"""Sessions: a token opens one, a cookie continues it, and a form proves that it is of the studio's own.

The token is in the address that the command prints. Opening it sets a cookie that scripts cannot read, and leads to the
same page without the token, so that it stays out of the history and of screenshots. A program sends the token with
every request; it has a session where it names one, so that the staged edits of two programs stay apart.
"""

import hmac
import secrets
from collections import OrderedDict, defaultdict
from http.cookies import CookieError, SimpleCookie

from partita.errors import ConfigurationError
from partita.studio.staged_edits import StagedEdits

TOKEN_VARIABLE = "PARTITA_STUDIO_TOKEN"
SESSION_HEADER = "Partita-Session"
MIN_TOKEN = 16
MAX_SESSIONS = 200  # the oldest one ends
MAX_NAME = 100


class StudioSession:
    """One browser or program: its id for the audit log, the token of its forms, and its staged edits, by design."""

    def __init__(self, name: str = "", *, is_program: bool = False) -> None:
        self.id = name or secrets.token_hex(4)
        self.form_token = secrets.token_urlsafe(24)
        self.is_program = is_program
        self.is_kept = bool(name) or not is_program
        self._staged: defaultdict[str, StagedEdits] = defaultdict(StagedEdits)

    def staged(self, design: str) -> StagedEdits:
        """The edits of a design; ConfigurationError for a program that nothing is kept for."""
        if not self.is_kept:
            raise ConfigurationError(f"send the header {SESSION_HEADER} with a name of your own to stage edits")
        return self._staged[design]


class Sessions:
    """The open sessions of one server."""

    def __init__(self, token: str | None = None) -> None:
        """`token` opens a session; a random one by default."""
        if token is not None and len(token) < MIN_TOKEN:
            raise ConfigurationError(f"{TOKEN_VARIABLE} must have at least {MIN_TOKEN} characters")
        self.token = token or secrets.token_urlsafe(24)
        self._open: OrderedDict[str, StudioSession] = OrderedDict()

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def start(self) -> tuple[str, StudioSession]:
        """A new session of a browser, and the value of its cookie."""
        value = secrets.token_urlsafe(32)
        return value, self._keep(value, StudioSession())

    def find(self, cookie: str) -> StudioSession | None:
        """The session of a browser."""
        session = self._open.get(cookie)
        if session is None or session.is_program:
            return None
        self._open.move_to_end(cookie)
        return session

    def of_program(self, name: str) -> StudioSession:
        """The session that a program names, begun with its first request; one for this request without a name."""
        if not name:
            return StudioSession(is_program=True)
        if len(name) > MAX_NAME or not name.isprintable():
            raise ConfigurationError(f"{SESSION_HEADER}: use at most {MAX_NAME} printable characters")
        key = f"program {name}"  # a cookie has no space
        session = self._open.get(key) or self._keep(key, StudioSession(name, is_program=True))
        self._open.move_to_end(key)
        return session

    def _keep(self, key: str, session: StudioSession) -> StudioSession:
        if len(self._open) >= MAX_SESSIONS:
            self._open.popitem(last=False)
        self._open[key] = session
        return session


def cookies_in(header: bytes) -> dict[str, str]:
    """The cookies of a request; those that cannot be read are left out."""
    found: SimpleCookie = SimpleCookie()
    try:
        found.load(header.decode("latin-1"))
    except CookieError:
        return {}
    return {name: each.value for name, each in found.items()}

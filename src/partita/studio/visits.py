"""A visit: one request to a page, with the design that it is about and a store whose requests are metered."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import quote, urlencode

import msgspec

from partita.consumers.consumer import Consumer
from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.values import Item
from partita.errors import NotFound, PartitaError, ReadOnlyStore
from partita.plan.design import Design
from partita.store.store import Store
from partita.studio import audit
from partita.studio.budgets import SECONDS, MeteredBackend, UsedCapacity
from partita.studio.json_input import InvalidInput
from partita.studio.sessions import StudioSession
from partita.studio.staged_edits import StagedEdits
from partita.studio.write_policy import DataPlace

if TYPE_CHECKING:
    from partita.jobs.job import Jobs

WRITE_SECONDS = 60.0
AUDITED = ("table", "key", "entity", "edits", "statement", "consumer", "sequence")  # fields that name what is written


class PastChange(Protocol):
    """A change of an item: its number, its time, and the item before and after it."""

    @property
    def number(self) -> int: ...
    @property
    def at(self) -> float: ...
    @property
    def before(self) -> Item | None: ...
    @property
    def after(self) -> Item | None: ...


class PastChanges(Protocol):
    """The changes of an item, the newest first; `is_kept` is false where a table keeps none."""

    @property
    def changes(self) -> Sequence[PastChange]: ...
    @property
    def is_kept(self) -> bool: ...
    @property
    def is_complete(self) -> bool: ...


class NamedKey(Protocol):
    """A partition key of a table or an index, and its share of the requests: at least, and at most."""

    @property
    def table(self) -> str: ...
    @property
    def index(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def share_most(self) -> float: ...


class NamedKeys(Protocol):
    """The partition keys that requests named most, from a sample of so many in so many seconds."""

    @property
    def keys(self) -> Sequence[NamedKey]: ...
    @property
    def sampled(self) -> int: ...
    @property
    def seconds(self) -> float: ...


HistorySource: TypeAlias = Callable[[str, Item, int | None], PastChanges]
"""From a table, a key and the number of a change to the changes before it; to the latest ones without a number."""


class StudioDesign(msgspec.Struct, frozen=True, eq=False):
    """A design in the studio, on an open backend."""

    name: str
    design: Design
    backend: Backend
    consumers: Sequence[Consumer] = ()
    jobs: "Jobs | None" = None
    about: str = ""
    history: HistorySource | None = None
    hot_keys: Callable[[], NamedKeys] | None = None


class Redirect(Exception):
    """Leads to another page of the studio."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class ForeignRequest(PartitaError):
    """A page of another site has caused a request that only the studio's own pages may send."""


class Visit:
    """A request: its parameters, its session, and the design that its path names."""

    def __init__(
        self,
        root: str,
        place: DataPlace,
        designs: Mapping[str, StudioDesign],
        session: StudioSession,
        cursor_keys: Sequence[bytes],
        *,
        method: str = "GET",
        path: str = "",
        query: Sequence[tuple[str, str]] = (),
        form: Sequence[tuple[str, str]] = (),
        theme: str = "",
        is_foreign: bool = False,
    ) -> None:
        self.root = root
        self.place = place
        self.designs = designs
        self.session = session
        self.method = method
        self.path = path
        self.query = query
        self.form = form
        self.theme = theme
        self.is_foreign = is_foreign
        self.arguments: dict[str, str] = {}
        self.is_recorded = False
        self._cursor_keys = cursor_keys

    @cached_property
    def opened(self) -> StudioDesign:
        name = self.arguments["design"]
        if name not in self.designs:
            raise NotFound("Design", {"name": name})
        return self.designs[name]

    @property
    def design(self) -> Design:
        return self.opened.design

    @cached_property
    def backend(self) -> MeteredBackend:
        return MeteredBackend(self.opened.backend, SECONDS if self.method == "GET" else WRITE_SECONDS)

    @cached_property
    def db(self) -> Store:
        keys = None if self.backend.cursor_key else list(self._cursor_keys)
        return Store(self.backend, self.design, cursor_keys=keys, on_unreadable=lambda error: None)

    @property
    def used(self) -> UsedCapacity:
        return self.backend.used

    @property
    def staged(self) -> StagedEdits:
        """The edits of this design that the session has staged."""
        return self.session.staged(self.opened.name)

    def param(self, name: str, default: str = "") -> str:
        """A parameter of the address; of a form where the request has one."""
        several = self.form if self.method == "POST" else self.query
        return next((value for each, value in several if each == name), default)

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number in an inclusive range."""
        text = self.param(name)
        if not text:
            return default
        try:
            found = int(text)
        except ValueError:
            found = low - 1
        if not low <= found <= high:
            raise InvalidInput(f"{text!r} is not a whole number from {low} to {high}", name)
        return found

    def table(self, name: str) -> Table:
        """A table of the design; the first one without a name."""
        tables = self.design.tables
        found = tables[0] if not name and tables else next((each for each in tables if each.name == name), None)
        if found is None:
            raise NotFound("Table", {"name": name})
        return found

    def url(self, *path: str, **query: Any) -> str:
        """The address of a page of this design; parameters that are None or empty are left out."""
        return self.studio_url(self.opened.name, *path, **query)

    def studio_url(self, *path: str, **query: Any) -> str:
        """The address of any page."""
        given = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "", False)}
        text = "/".join([self.root, *(quote(each, safe="") for each in path)])
        return f"{text}?{urlencode(given)}" if given else text

    def check_own(self) -> None:
        """A ForeignRequest where a page of another site led here: it may not spend what a page has no budget for."""
        if self.is_foreign:
            raise ForeignRequest("another site led here; open it from a page of the studio")

    def check_writable(self) -> None:
        """A ReadOnlyStore where the studio may not write."""
        if not self.place.writable:
            raise ReadOnlyStore("a write")

    def recorded(self, action: str, targets: list[str], write: Callable[[], object]) -> None:
        """Writes, and leaves a line of the audit log with the outcome."""
        try:
            write()
        except (PartitaError, DynamoDBError) as error:
            self.record(action, targets, f"{type(error).__name__}: {error}")
            raise
        self.record(action, targets, "done")

    def record(self, action: str, targets: list[str], outcome: str) -> None:
        """Writes a line of the audit log."""
        self.is_recorded = True
        where = {"address": self.place.address, **({"account": self.place.account} if self.place.account else {})}
        audit.record(self.session.id, self.arguments.get("design", ""), action, targets, outcome, **where)

    def record_rejected(self, outcome: str) -> None:
        """Writes a line of the audit log for a write that was rejected before it was tried."""
        if not self.is_recorded:
            targets = [f"{name} {value[:200]}" for name, value in self.form if name in AUDITED and value]
            self.record(self.path.rpartition("/")[2], targets, outcome)

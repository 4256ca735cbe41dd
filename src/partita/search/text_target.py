"""The port of text indexes: what an index of words has to do, wherever it is stored.

A target is written by a consumer, at least once and in the order of each item, and it may see an old change again, or
two writers at once. So each document has the sequence number of its change; an older change leaves it as it is, and a
deleted item stays deleted. A build begins with a scan, whose items have the lowest sequence number.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from partita.search.query_text import TextQuery
from partita.search.text_filters import TextSelection

KEEP_DELETED = 2 * 86_400.0  # seconds that a deleted item is remembered; a stream stores its changes for one day
PURGE_SECONDS = 3600.0  # between two times that such items are forgotten


class TextDocument(msgspec.Struct, frozen=True, gc=False):
    """An item as it is indexed: the texts of each attribute, and the tokens of its filters."""

    entity: str
    table: str
    key: str  # the JSON of the item's key
    texts: tuple[tuple[str, list[str]], ...]
    filters: tuple[str, ...]


class DocumentChange(msgspec.Struct, frozen=True, gc=False):
    """The document of an item after a change; None if it is found no longer. Text order is the order of `sequence`."""

    item: str
    sequence: str
    document: TextDocument | None


class SourceMark(msgspec.Struct, frozen=True):
    """How far a source of changes is applied: `before` and `after` some of them."""

    source: str
    before: str
    after: str


class TextBuild(msgspec.Struct, frozen=True):
    """The build of an index: the scans that began it, and what the declaration means for its contents."""

    scans: str
    fingerprint: str


class TextSearch(msgspec.Struct, frozen=True):
    """A search: at most `size` hits after a position, which is the score and id of a hit.

    `selections` are the items to find; None where these are all.
    """

    query: TextQuery
    selections: tuple[TextSelection, ...] | None
    size: int
    after: tuple[float, str] | None = None


class TextHit(msgspec.Struct, frozen=True):
    """An item that a search has found."""

    score: float
    id: str
    entity: str
    table: str
    key: str


class TextHits(msgspec.Struct, frozen=True):
    """The hits of a search, the best first; `total` counts those of all pages, up to a limit of the target."""

    hits: list[TextHit]
    total: int


class TextStatus(msgspec.Struct, frozen=True):
    """The contents of a target; `is_building` while a scan fills it."""

    place: str
    documents: int
    bytes: int
    is_building: bool


class TextTarget(Protocol):
    """An open index of words."""

    def accepts(self, build: TextBuild, positions: Mapping[str, str]) -> bool:
        """Whether it has this build, and all changes up to these positions of sources."""

    def begin(self, build: TextBuild) -> None:
        """Begins an empty build; searches see the one before until `finish`."""

    def apply(self, changes: Iterable[DocumentChange], mark: SourceMark | None) -> None:
        """Writes documents, durably; at most one change of each item."""

    def finish(self) -> None:
        """The scan of the build is done: searches see it now."""

    def search(self, search: TextSearch) -> TextHits:
        """The best documents."""

    def status(self) -> TextStatus: ...

    def close(self) -> None: ...

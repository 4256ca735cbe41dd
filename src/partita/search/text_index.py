"""Text indexes as they are declared, and searches in them.

search = TextIndex(
    "search",
    TextFields(Card, {"title": 3, "tags": 2, "steps.text": 1}, when=F.status == Status.PUBLISHED, filters=("level",)),
    language="pt",
)

page = search.find(db, "mesa de carvalho", where=F.level == Level.EASY)
for match in page:
    print(match.score, match.entity.title, match.highlights)

A text index is a consumer: whatever runs consumers keeps it up to date, and `partita search` looks after it.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypedDict, TypeVar, Unpack, overload
from weakref import WeakKeyDictionary

import msgspec

from partita.consumers.batch_consumer import BatchConsumer
from partita.consumers.consumer import Handler
from partita.consumers.delivery import Delivery
from partita.consumers.entity_changes import Deleted
from partita.design.conditions import Condition
from partita.errors import ConfigurationError, DesignError, InvalidValue
from partita.search.finding import TextFinder, TextPage, TextRequest
from partita.search.query_text import parsed
from partita.search.sqlite_text import SqliteText
from partita.search.stems import checked_languages, stemming_version
from partita.search.text_columns import Weights
from partita.search.text_fields import TextFields
from partita.search.text_filters import filter_tokens, names_known_filters, selection
from partita.search.text_target import DocumentChange, SourceMark, TextBuild, TextDocument, TextStatus, TextTarget
from partita.search.words import Analyzer

if TYPE_CHECKING:
    from partita.store.async_store import AsyncStore
    from partita.store.store import Store

FORMAT = 1  # of tokens and documents; an index of another format is built again
MAX_PAGE = 100

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
One = TypeVar("One")


class TextPlace(Protocol):
    """Where a text index is stored, if not beside the data."""

    def open(self, name: str, weights: Weights, analyzer: Analyzer) -> TextTarget: ...


class TextFile(msgspec.Struct, frozen=True):
    """A file of SQLite, for data that is not in a file on this machine: place=TextFile("cards.text")."""

    path: str

    def open(self, name: str, weights: Weights, analyzer: Analyzer) -> TextTarget:
        return SqliteText(self.path, weights, analyzer)


class _IndexOptions(TypedDict, total=False):
    language: str | Sequence[str]
    place: TextPlace | None


class FindOptions(TypedDict, total=False):
    """How a search is restricted, and which page of it is wanted."""

    where: Condition | None
    size: int
    cursor: str | None
    complete: bool


class TextIndex(BatchConsumer, Generic[E]):
    """An index of the words in entities.

    name       Its name as a consumer, and in the name of its file: lower case letters, digits, - and _.
    fields     The entities and their attributes, up to four.
    language   "en" and "pt" bring words to their stems, which needs the extra `text`; several may be given. Korean
               needs no setting ("ko" is accepted).
    place      Where it is stored: by default in a file beside the database, or in memory with `memory:`. Data on
               Amazon or another server needs a `TextFile`, or `OpenSearch`.
    """

    @overload
    def __init__(self: "TextIndex[A]", name: str, a: TextFields[A], /, **options: Unpack[_IndexOptions]) -> None: ...
    @overload
    def __init__(
        self: "TextIndex[A | B]", name: str, a: TextFields[A], b: TextFields[B], /, **options: Unpack[_IndexOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: "TextIndex[A | B | C]",
        name: str,
        a: TextFields[A],
        b: TextFields[B],
        c: TextFields[C],
        /,
        **options: Unpack[_IndexOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: "TextIndex[A | B | C | D]",
        name: str,
        a: TextFields[A],
        b: TextFields[B],
        c: TextFields[C],
        d: TextFields[D],
        /,
        **options: Unpack[_IndexOptions],
    ) -> None: ...
    def __init__(
        self,
        name: str,
        /,
        *fields: TextFields[Any],
        language: str | Sequence[str] = (),
        place: TextPlace | None = None,
    ) -> None:
        super().__init__(name)
        where = f"TextIndex {name}"
        if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,62}", name):
            raise DesignError(where, "the name is not valid", "use lower case letters, digits, - and _")
        if not fields:
            raise DesignError(where, "it has no entity", 'write TextFields(Card, {"title": 3, "text": 1})')
        self.fields: dict[str, TextFields[Any]] = {}
        for each in fields:
            if each.model.name in self.fields:
                raise DesignError(where, f"{each.model.name} is named twice", "use one TextFields")
            self.fields[each.model.name] = each
        self.languages = checked_languages(where, language)
        self._place = place
        self._targets: WeakKeyDictionary[Any, TextTarget] = WeakKeyDictionary()
        self._opening = Lock()
        self._analyzer: Analyzer | None = None
        models = tuple(self._model(each.entity) for each in fields)
        self.handlers.append(Handler(models, "scan", _nothing))

    def __repr__(self) -> str:
        return f"TextIndex({self.name!r}: {', '.join(self.fields)})"

    def on(self, *entities: type[Any], start: object = None) -> NoReturn:
        """A text index has no handlers."""
        raise DesignError(f"TextIndex {self.name}", "it has no handlers", "declare a Consumer for them")

    @overload
    def find(
        self,
        db: "Store",
        text: str,
        *,
        of: None = ...,
        **options: Unpack[FindOptions],
    ) -> TextPage[E]: ...
    @overload
    def find(
        self,
        db: "Store",
        text: str,
        *,
        of: type[One],
        **options: Unpack[FindOptions],
    ) -> TextPage[One]: ...
    def find(
        self,
        db: "Store",
        text: str,
        *,
        of: type[Any] | None = None,
        **options: Unpack[FindOptions],
    ) -> TextPage[Any]:
        """The entities with all words of a text, the best first.

        text      As a user typed it: words, "a phrase", a prefix*. Any text is valid.
        of        Only entities of this class.
        where     Only entities of which this is true: ==, is_in and contains of the declared filters.
        size      The number of matches in a page, up to 100.
        cursor    The one of the page before.
        complete  Whether the last word may be unfinished, for a search while somebody types.
        """
        finder = self._finder(db, text, of, **options)
        while finder.wants_more:
            db._run(finder.fetch(finder.search()), "find", None)
        return finder.page()

    @overload
    async def find_async(
        self,
        db: "AsyncStore",
        text: str,
        *,
        of: None = ...,
        **options: Unpack[FindOptions],
    ) -> TextPage[E]: ...
    @overload
    async def find_async(
        self,
        db: "AsyncStore",
        text: str,
        *,
        of: type[One],
        **options: Unpack[FindOptions],
    ) -> TextPage[One]: ...
    async def find_async(
        self,
        db: "AsyncStore",
        text: str,
        *,
        of: type[Any] | None = None,
        **options: Unpack[FindOptions],
    ) -> TextPage[Any]:
        """`find` for the running event loop; the index is searched in a thread."""
        finder = self._finder(db, text, of, **options)
        while finder.wants_more:
            hits = await asyncio.to_thread(finder.search)
            await db._run(finder.fetch(hits), "find", None)
        return finder.page()

    def status(self, db: "Store") -> TextStatus:
        """What the index contains."""
        return self.target(db.backend).status()

    def open_sink(self, db: "Store") -> "TextSink":
        return TextSink(self, self.target(db.backend))

    @property
    def analyzer(self) -> Analyzer:
        if self._analyzer is None:
            self._analyzer = Analyzer(self.languages)
        return self._analyzer

    def target(self, backend: Any) -> TextTarget:
        """The open index of a backend's data, shared by all that use the backend in this process."""
        owner = getattr(backend, "engine", backend)
        with self._opening:
            found = self._targets.get(owner)
            if found is None:
                found = self._targets[owner] = self._open(owner)
            return found

    def file_of(self, backend: Any) -> str | None:
        """The file of the index for a backend's data, which opening it would create; None where it has no file."""
        if self._place is not None:
            return self._place.path if isinstance(self._place, TextFile) else None
        path = getattr(getattr(backend, "engine", backend), "path", None)
        return None if path is None else f"{path}-{self.name}.text"

    def fingerprint(self) -> str:
        """Changes whenever the same items would be indexed in another way."""
        parts = [FORMAT, self.languages, stemming_version(self.languages)]
        for name, each in sorted(self.fields.items()):
            parts += [name, each.model.table.name, sorted(each.weights.items()), repr(each.when), sorted(each.filters)]
        return blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    def change(self, delivery: Delivery) -> DocumentChange:
        """What a change of an item means for the index."""
        change, stored = delivery.change, delivery.record.dynamodb
        if isinstance(change, Deleted) or stored is None:
            return DocumentChange(delivery.item, delivery.order, None)
        fields = self.fields[delivery.entity]
        predicate = fields.predicate
        if predicate is not None and not predicate(msgspec.json.decode(stored.new_image or b"{}")):
            return DocumentChange(delivery.item, delivery.order, None)
        document = TextDocument(
            delivery.entity,
            delivery.table,
            msgspec.json.encode(stored.keys or {}).decode(),
            tuple(fields.texts(change.after)),
            tuple(filter_tokens(fields, change.after)),
        )
        return DocumentChange(delivery.item, delivery.order, document)

    def _open(self, owner: Any) -> TextTarget:
        weights = {name: each.weights for name, each in self.fields.items()}
        if self._place is not None:
            return self._place.open(self.name, weights, self.analyzer)
        if not hasattr(owner, "path"):
            raise ConfigurationError(
                f"text index {self.name}: the data is not in a file on this machine; "
                'declare it with place=TextFile("search.text") or place=OpenSearch("https://...")'
            )
        return SqliteText(self.file_of(owner) or ":memory:", weights, self.analyzer)

    def _finder(
        self,
        db: "Store | AsyncStore",
        text: str,
        of: type[Any] | None,
        where: Condition | None = None,
        size: int = 20,
        cursor: str | None = None,
        complete: bool = False,
    ) -> TextFinder:
        name = f"{self.name}.find"
        given: object = text
        if not isinstance(given, str):
            raise InvalidValue(name, f"{text!r} is not text", argument="text")
        if type(size) is not int or not 1 <= size <= MAX_PAGE:
            raise InvalidValue(name, f"a page has 1 to {MAX_PAGE} matches, not {size!r}", argument="size")
        chosen = self._chosen(of, where)
        query = parsed(text, self.analyzer, complete=complete)
        selections = None
        if where is not None or len(chosen) < len(self.fields):
            selections = tuple(selection(self.name, each, where) for each in chosen.values())
        request = TextRequest(self.name, query, chosen, selections, where)
        return TextFinder(db.context, self.target(db.backend), self.analyzer, request, size, cursor)

    def _chosen(self, of: type[Any] | None, where: Condition | None) -> dict[str, TextFields[Any]]:
        """The entities that a search can find."""
        name = f"{self.name}.find"
        chosen = {key: each for key, each in self.fields.items() if of is None or each.entity is of}
        if not chosen:
            known = ", ".join(self.fields)
            raise InvalidValue(name, f"{of!r} is not in this index, which has {known}", argument="of")
        found = {key: each for key, each in chosen.items() if names_known_filters(each, where)}
        if not found:
            wanted = ", ".join(sorted(set(() if where is None else where.fields)))
            declared = "; ".join(f"{key}: {', '.join(each.filters) or 'none'}" for key, each in chosen.items())
            raise InvalidValue(name, f"{wanted}: not declared as filters together ({declared})", argument="where")
        return found


def _nothing(*_: Any) -> None:
    """The handler of a text index, which receives pages of changes instead."""


class TextSink:
    """Applies changes to the target of a text index."""

    def __init__(self, index: TextIndex[Any], target: TextTarget) -> None:
        self._index = index
        self._target = target
        self._fingerprint = index.fingerprint()

    def accepts(self, scans: str, positions: Mapping[str, str]) -> bool:
        return self._target.accepts(TextBuild(scans, self._fingerprint), positions)

    def begin(self, scans: str) -> None:
        self._target.begin(TextBuild(scans, self._fingerprint))

    def apply(self, deliveries: Sequence[Delivery]) -> None:
        self._target.apply(self._changes(deliveries), None)

    def apply_page(self, deliveries: Sequence[Delivery], source: str, before: str, after: str) -> None:
        self._target.apply(self._changes(deliveries), SourceMark(source, before, after))

    def _changes(self, deliveries: Sequence[Delivery]) -> Iterator[DocumentChange]:
        """The last change of each item, one after the other: what only one of them needs is freed before the next."""
        last = {each.item: each for each in deliveries}
        return map(self._index.change, last.values())

    def finish(self) -> None:
        self._target.finish()

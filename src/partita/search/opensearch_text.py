"""Text indexes in OpenSearch.

    NAME            the alias that is searched: the last finished build
    NAME.write      the alias that is written: the newest build
    NAME.1f6a09...  an index for each build; its `_meta` says which build it is

The tokens are ours (`words`), as in SQLite: OpenSearch splits at spaces and compares. So both targets find the same.

A document has the sequence number of its change. OpenSearch's external versions have 64 bits, and DynamoDB's sequence
numbers up to 40 digits; so the number is read before a document is written, and the write is under the condition that
nobody else has written meanwhile (`if_seq_no`, or `create` for a new one). A deleted item stays as a document without
words for two days. How far a source is applied is a document, too, whose sequence number is the position. A request
whose reply was lost is sent again, and finds what it has done before.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from uuid import uuid4

import msgspec

from partita.errors import SearchRejected
from partita.search.opensearch_client import Json, OpenSearchClient, StoredDocument
from partita.search.opensearch_queries import search_body
from partita.search.text_columns import FILTERS, FORMS, TextColumns, word_columns
from partita.search.text_target import (
    KEEP_DELETED,
    PURGE_SECONDS,
    DocumentChange,
    SourceMark,
    TextBuild,
    TextHit,
    TextHits,
    TextSearch,
    TextStatus,
)

MAX_BULK = 4 << 20  # bytes of a request; small domains of Amazon accept 10 MiB
MAX_CONFLICTS = 30

_TEXT = {"type": "text", "analyzer": "whitespace"}
_FOUND = {"type": "keyword", "doc_values": False}
_SORTED = {"type": "keyword"}
_STORED = {"type": "keyword", "index": False, "doc_values": False}


class OpenSearchText:
    """An index in an OpenSearch cluster, under the names of two aliases."""

    def __init__(
        self, client: OpenSearchClient, name: str, columns: TextColumns, settings: Json, *, refresh: bool
    ) -> None:
        self._client = client
        self._retries = client.service.retries
        self._name = name
        self._writing = f"{name}.write"
        self._columns = columns
        self._settings = settings
        self._refresh = refresh
        self._purged_at = 0.0

    def accepts(self, build: TextBuild, positions: Mapping[str, str]) -> bool:
        if self._client.meta(self._writing) != [self._meta(build)]:
            return False
        ids = {_mark_id(source): position for source, position in positions.items()}
        found = self._retries.run(lambda: self._client.read_once(self._writing, list(ids), ("sequence", "before")))
        marks = {each.id: (each.source["before"], each.source["sequence"]) for each in found}
        return all(position in marks.get(identity, ("",)) for identity, position in ids.items())

    def begin(self, build: TextBuild) -> None:
        index = f"{self._name}.{uuid4().hex[:12]}"
        self._client.create(index, self._index(build))
        self._retries.run(lambda: self._write_to(index))

    def finish(self) -> None:
        self._retries.run(self._search_newest)

    def apply(self, changes: Iterable[DocumentChange], mark: SourceMark | None) -> None:
        documents = {each.item: self._document(each) for each in changes}
        if mark is not None:
            documents[_mark_id(mark.source)] = {"sequence": mark.after, "before": mark.before}
        for _ in range(MAX_CONFLICTS):
            if not documents:
                return self._purge()
            self._retries.run(lambda: self._write(documents))
        place = f"{self._client.service.url}/{self._writing}"
        raise SearchRejected(place, 409, f"gave up after {MAX_CONFLICTS} conflicting writes")

    def search(self, search: TextSearch) -> TextHits:
        if not search.query.terms:
            return TextHits([], 0)
        body = search_body(search, self._columns.weights)
        found = self._client.search(self._name, body) or self._client.search(self._writing, body)
        if found is None:
            return TextHits([], 0)
        hits = [TextHit(*each.sort, each.source.entity, each.source.table, each.source.key) for each in found.hits]
        return TextHits(hits, found.total.value)

    def status(self) -> TextStatus:
        place = f"{self._client.service.url}/{self._name}"
        builds = self._client.aliases(self._writing)
        if not builds:
            return TextStatus(place, 0, 0, True)
        documents = self._client.count(self._writing, {"exists": {"field": "entity"}})
        is_done = all(self._name in aliases for aliases in builds.values())
        return TextStatus(place, documents, self._client.size(self._writing), not is_done)

    def close(self) -> None:
        self._client.service.close()

    def _write_to(self, index: str) -> None:
        """Makes an index the only one that is written; builds that were not finished are deleted."""
        actions: list[Json] = []
        for each, aliases in self._client.aliases(self._writing).items():
            if each != index and self._name in aliases:
                actions.append({"remove": {"index": each, "alias": self._writing}})
            elif each != index:
                actions.append({"remove_index": {"index": each}})
        self._client.switch_once(actions)

    def _search_newest(self) -> None:
        """Makes the index that is written the one that is searched, and deletes the one before."""
        for index, aliases in self._client.aliases(self._writing).items():
            if self._name in aliases:
                continue
            self._client.refresh(index)
            replaced = [each for each in self._client.aliases(self._name) if each != index]
            actions: list[Json] = [{"remove_index": {"index": each}} for each in replaced]
            self._client.switch_once([*actions, {"add": {"index": index, "alias": self._name}}])

    def _index(self, build: TextBuild) -> Json:
        """The definition of an index, which finds words and stores nothing but the key of an item."""
        words = word_columns(len(self._columns.weights))
        properties: Json = {
            **dict.fromkeys(words, _TEXT),
            **dict.fromkeys((FORMS, FILTERS), _FOUND),
            **dict.fromkeys(("entity", "item"), _SORTED),
            **dict.fromkeys(("table", "key", "sequence", "before"), _STORED),
            "deleted_at": {"type": "long"},
        }
        mappings = {
            "dynamic": "strict",
            "_meta": self._meta(build),
            "_source": {"excludes": [*words, FORMS, FILTERS]},
            "properties": properties,
        }
        return {"settings": self._settings, "mappings": mappings, "aliases": {self._writing: {}}}

    def _meta(self, build: TextBuild) -> Json:
        return {"scans": build.scans, "fingerprint": build.fingerprint}

    def _document(self, change: DocumentChange) -> Json:
        document = change.document
        if document is None:
            return {"sequence": change.sequence, "deleted_at": _milliseconds(time.time())}
        row = self._columns.row(document)
        stored = {"entity": document.entity, "table": document.table, "key": document.key, "item": change.item}
        words = dict(zip(word_columns(len(row.columns)), row.columns, strict=True))
        return {"sequence": change.sequence, **stored, **words, FORMS: row.forms, FILTERS: row.filters}

    def _write(self, documents: dict[str, Json]) -> None:
        """Writes documents that are newer than what is stored, and removes from the dict what is done or older.

        Documents that somebody else has just written stay in it, to be read again.
        """
        stored = {each.id: each for each in self._client.read_once(self._writing, list(documents), ("sequence",))}
        for identity, known in stored.items():
            if known.source["sequence"] >= documents[identity]["sequence"]:
                del documents[identity]
        faults = []
        for lines in _bulks(dict(documents), stored):
            for outcome in self._client.write_once(self._writing, lines, refresh=self._refresh):
                if outcome.status < 300:
                    documents.pop(outcome.id, None)
                elif outcome.status != 409:
                    faults.append(outcome)
        if faults:
            raise self._client.rejection(f"/{self._writing}/_bulk", faults)

    def _purge(self) -> None:
        """Forgets items that were deleted long ago, now and then: no change of theirs can come again."""
        now = time.time()
        if now - self._purged_at > PURGE_SECONDS:
            self._purged_at = now
            oldest = _milliseconds(now - KEEP_DELETED)
            self._client.delete(self._writing, {"range": {"deleted_at": {"lt": oldest}}})


def _bulks(documents: Mapping[str, Json], stored: Mapping[str, StoredDocument]) -> Iterator[bytes]:
    """Bodies of bulk requests, each of a limited size."""
    lines = bytearray()
    for identity, document in documents.items():
        known = stored.get(identity)
        action: Json = {"create": {"_id": identity}}
        if known is not None:
            unchanged = {"if_seq_no": known.seq_no, "if_primary_term": known.primary_term}
            action = {"index": {"_id": identity, **unchanged}}
        pair = msgspec.json.encode(action) + b"\n" + msgspec.json.encode(document) + b"\n"
        if lines and len(lines) + len(pair) > MAX_BULK:
            yield bytes(lines)
            lines = bytearray()
        lines += pair
    if lines:
        yield bytes(lines)


def _mark_id(source: str) -> str:
    return f"mark-{blake2b(source.encode(), digest_size=16).hexdigest()}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)

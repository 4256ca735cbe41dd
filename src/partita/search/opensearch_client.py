"""The requests of OpenSearch that a text index needs, typed.

A request is sent again after passing faults. The ones named `_once` are not: what they ask for depends on the state of
the cluster, so their callers read it again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from partita.errors import SearchRejected
from partita.json_service import JsonService

NDJSON = "application/x-ndjson"
Json = dict[str, Any]
T = TypeVar("T")


class DocumentFault(msgspec.Struct):
    """Why a document could not be written or read."""

    type: str
    reason: str = ""


class Outcome(msgspec.Struct):
    """The part of a reply to a bulk request for one document."""

    status: int
    id: str = msgspec.field(name="_id")
    error: DocumentFault | None = None


class StoredDocument(msgspec.Struct):
    """A document as `_mget` answers it, with its place in the order of writes."""

    id: str = msgspec.field(name="_id")
    found: bool = False
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)
    source: dict[str, str] = msgspec.field(name="_source", default_factory=dict)
    error: DocumentFault | None = None


class FoundKey(msgspec.Struct):
    entity: str
    table: str
    key: str


class FoundDocument(msgspec.Struct):
    sort: tuple[float, str]
    source: FoundKey = msgspec.field(name="_source")


class _Total(msgspec.Struct):
    value: int


class FoundDocuments(msgspec.Struct):
    total: _Total
    hits: list[FoundDocument]


class _SearchReply(msgspec.Struct):
    hits: FoundDocuments


class _BulkReply(msgspec.Struct):
    items: list[dict[str, Outcome]]


class _MgetReply(msgspec.Struct):
    docs: list[StoredDocument]


class _Aliases(msgspec.Struct):
    aliases: dict[str, Any]


class _Mappings(msgspec.Struct):
    meta: Json = msgspec.field(name="_meta", default_factory=dict)


class _Mapping(msgspec.Struct):
    mappings: _Mappings


class _CountReply(msgspec.Struct):
    count: int


class _Store(msgspec.Struct):
    size_in_bytes: int


class _Sizes(msgspec.Struct):
    store: _Store


class _Primaries(msgspec.Struct):
    primaries: _Sizes


class _StatsReply(msgspec.Struct):
    all: _Primaries = msgspec.field(name="_all")


class OpenSearchClient:
    """The operations of one cluster."""

    def __init__(self, service: JsonService) -> None:
        self.service = service

    def create(self, index: str, definition: Json) -> None:
        try:
            self._call("PUT", f"/{index}", definition, Json)
        except SearchRejected as error:
            if "resource_already_exists_exception" not in error.reason:  # by this request, whose reply was lost
                raise

    def meta(self, alias: str) -> list[Json]:
        """The `_meta` of each index under an alias."""
        found = self._call_if_present("GET", f"/{alias}/_mapping", None, dict[str, _Mapping])
        return [each.mappings.meta for each in (found or {}).values()]

    def aliases(self, alias: str) -> dict[str, Json]:
        """The indexes under an alias, each with all of its aliases."""
        found = self._call_if_present("GET", f"/{alias}/_alias", None, dict[str, _Aliases])
        return {index: each.aliases for index, each in (found or {}).items()}

    def switch_once(self, actions: Sequence[Json]) -> None:
        """Changes aliases and deletes indexes, all at once; sent once, since a second time finds them changed."""
        if actions:
            self._send("POST", "/_aliases", msgspec.json.encode({"actions": list(actions)}), Json)

    def refresh(self, index: str) -> None:
        """Makes everything that was written visible to searches."""
        self._call("POST", f"/{index}/_refresh", None, Json)

    def read_once(self, alias: str, ids: Sequence[str], members: Iterable[str]) -> list[StoredDocument]:
        """The documents with these ids that exist, as they were written last; sent once."""
        if not ids:
            return []
        path = f"/{alias}/_mget?_source_includes={'%2C'.join(members)}"
        reply = self._send("POST", path, msgspec.json.encode({"ids": list(ids)}), _MgetReply)
        faults = [Outcome(404, each.id, each.error) for each in reply.docs if each.error is not None]
        if faults:
            raise self.rejection(path, faults)
        return [each for each in reply.docs if each.found]

    def write_once(self, alias: str, lines: bytes, *, refresh: bool) -> list[Outcome]:
        """The outcome of each action of a bulk request; sent once."""
        path = f"/{alias}/_bulk?require_alias=true{'&refresh=true' if refresh else ''}"
        reply = self._send("POST", path, lines, _BulkReply, NDJSON)
        return [outcome for each in reply.items for outcome in each.values()]

    def search(self, alias: str, body: Json) -> FoundDocuments | None:
        """What a search finds; None if there is no such alias. Pages of one search ask the same copies of the data."""
        path = f"/{alias}/_search?preference=partita"
        found = self._call_if_present("POST", path, body, _SearchReply)
        return None if found is None else found.hits

    def count(self, alias: str, query: Json) -> int:
        return self._call("POST", f"/{alias}/_count", {"query": query}, _CountReply).count

    def size(self, alias: str) -> int:
        """The bytes of an index, without its replicas."""
        return self._call("GET", f"/{alias}/_stats/store", None, _StatsReply).all.primaries.store.size_in_bytes

    def delete(self, alias: str, query: Json) -> None:
        """Deletes the documents of a query, but for those that are written meanwhile."""
        self._call("POST", f"/{alias}/_delete_by_query?conflicts=proceed", {"query": query}, Json)

    def rejection(self, path: str, faults: Sequence[Outcome]) -> SearchRejected:
        """The error for some documents of a request; it is a passing one only if all of them are."""
        errors = [(SearchRejected(f"{self.service.url}{path}", each.status, _words(each)), each) for each in faults]
        chosen = min(errors, key=lambda each: each[0].is_transient)[0]
        others = f" (and {len(faults) - 1} others)" if len(faults) > 1 else ""
        return SearchRejected(chosen.service, chosen.status, f"{chosen.reason}{others}")

    def _call(self, method: str, path: str, body: Json | None, reply: type[T]) -> T:
        encoded = b"" if body is None else msgspec.json.encode(body)
        return self.service.retries.run(lambda: self._send(method, path, encoded, reply))

    def _call_if_present(self, method: str, path: str, body: Json | None, reply: type[T]) -> T | None:
        """None where an index does not exist."""
        try:
            return self._call(method, path, body, reply)
        except SearchRejected as error:
            if error.status != 404:
                raise
            return None

    def _send(self, method: str, path: str, body: bytes, reply: type[T], content_type: str = "application/json") -> T:
        return self.service.send(
            method, path, body, lambda data: msgspec.json.decode(data, type=reply), content_type=content_type
        )


def _words(outcome: Outcome) -> str:
    fault = outcome.error or DocumentFault("no reason")
    return f"document {outcome.id}: {fault.type}: {fault.reason}"

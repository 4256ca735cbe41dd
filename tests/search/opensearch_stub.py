"""The part of OpenSearch that a text index uses, in memory: what the service documents, and nothing else.

Sources: docs.opensearch.org, API reference (bulk, multi-get, create index, aliases, search, count, delete by query) and
query DSL; the schemas of opensearch-project/opensearch-api-specification. A request or member that is not used by
Partita is an error here, so a typing mistake cannot pass. Scores grow with weight and frequency, and are not Lucene's.

Searches and counts see a write after a refresh only; reads by id see it at once, as in OpenSearch.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qs

from tests.stub_service import RecordedRequest, Reply

Json = dict[str, Any]

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


class IndexMissing(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


class StubIndex:
    """One index: documents as they were written, and as searches see them."""

    def __init__(self, definition: Json) -> None:
        assert definition.keys() == {"settings", "mappings", "aliases"}
        assert definition["settings"]["index"].keys() == {"number_of_shards", "number_of_replicas"}
        self.mappings = definition["mappings"]
        self.aliases: dict[str, Json] = definition["aliases"]
        self.documents: dict[str, Json] = {}
        self.visible: dict[str, Json] = {}
        self.writes = 0

    def refresh(self) -> None:
        self.visible = deepcopy(self.documents)

    def write(self, kind: str, options: Json, document: Json) -> Json:
        """The outcome of one action of a bulk request."""
        unknown = document.keys() - self.mappings["properties"].keys()
        identity = options["_id"]
        if unknown:
            return _failed(identity, 400, "strict_dynamic_mapping_exception", f"[{unknown}] is not allowed")
        found = self.documents.get(identity)
        if kind == "create":
            is_allowed = found is None
        else:
            assert kind == "index"
            assert options.keys() == {"_id", "if_seq_no", "if_primary_term"}
            is_allowed = found is not None and found["_seq_no"] == options["if_seq_no"]
        if not is_allowed:
            return _failed(identity, 409, "version_conflict_engine_exception", f"[{identity}]: version conflict")
        self.documents[identity] = {"_seq_no": self.writes, "_primary_term": 1, "words": document}
        self.writes += 1
        return {"_id": identity, "result": "created" if found is None else "updated", "status": 201}

    def source(self, document: Json) -> Json:
        excluded = self.mappings["_source"]["excludes"]
        return {name: value for name, value in document["words"].items() if name not in excluded}


class StubCluster:
    """Indexes by name, and the replies to requests."""

    def __init__(self) -> None:
        self.indexes: dict[str, StubIndex] = {}

    def answer(self, request: RecordedRequest) -> Reply:
        path, _, query = request.path.partition("?")
        target, _, operation = path.lstrip("/").partition("/")
        options = {name: value for name, (value,) in parse_qs(query).items()}
        try:
            if request.method == "PUT":
                return self._create(target, request.body)
            if target == "_aliases":
                return self._switch(request.body["actions"])
            name = operation.split("/")[0]
            method, answer = self._operations()[name]
            assert request.method == method
            return answer(target, request.body, options)
        except IndexMissing as error:
            reason = {"type": "index_not_found_exception", "reason": f"no such index [{error.name}]"}
            return 404, {"error": {"root_cause": [reason], **reason}, "status": 404}

    def _operations(self) -> dict[str, tuple[str, Callable[[str, Any, Json], Reply]]]:
        return {
            "_alias": ("GET", self._alias),
            "_mapping": ("GET", self._mapping),
            "_refresh": ("POST", self._refresh),
            "_mget": ("POST", self._mget),
            "_bulk": ("POST", self._bulk),
            "_search": ("POST", self._search),
            "_count": ("POST", self._count),
            "_stats": ("GET", self._stats),
            "_delete_by_query": ("POST", self._delete),
        }

    def _named(self, name: str) -> dict[str, StubIndex]:
        found = {index: each for index, each in self.indexes.items() if name == index or name in each.aliases}
        if not found:
            raise IndexMissing(name)
        return found

    def _one(self, name: str) -> StubIndex:
        (found,) = self._named(name).values()
        return found

    def _create(self, name: str, definition: Json) -> Reply:
        if name in self.indexes:
            reason = {"type": "resource_already_exists_exception", "reason": f"index [{name}] already exists"}
            return 400, {"error": {"root_cause": [reason], **reason}, "status": 400}
        self.indexes[name] = StubIndex(definition)
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _switch(self, actions: list[Json]) -> Reply:
        for action in actions:  # all or nothing
            ((kind, options),) = action.items()
            index = self.indexes.get(options["index"])
            if index is None or (kind == "remove" and options["alias"] not in index.aliases):
                raise IndexMissing(options["index"])
        for action in actions:
            ((kind, options),) = action.items()
            if kind == "remove_index":
                del self.indexes[options["index"]]
            elif kind == "add":
                self.indexes[options["index"]].aliases[options["alias"]] = {}
            else:
                assert kind == "remove"
                del self.indexes[options["index"]].aliases[options["alias"]]
        return 200, {"acknowledged": True}

    def _alias(self, target: str, *_: Any) -> Reply:
        return 200, {name: {"aliases": each.aliases} for name, each in self._named(target).items()}

    def _mapping(self, target: str, *_: Any) -> Reply:
        return 200, {name: {"mappings": each.mappings} for name, each in self._named(target).items()}

    def _refresh(self, target: str, *_: Any) -> Reply:
        self._one(target).refresh()
        return 200, {"_shards": SHARDS}

    def _mget(self, target: str, body: Json, options: Json) -> Reply:
        try:
            index = self._one(target)
        except IndexMissing:  # a part of the reply, not its status
            error = {"type": "index_not_found_exception", "reason": f"no such index [{target}]"}
            return 200, {"docs": [{"_index": target, "_id": each, "error": error} for each in body["ids"]]}
        members = options["_source_includes"].split(",")
        docs = []
        for identity in body["ids"]:
            found = index.documents.get(identity)
            if found is None:
                docs.append({"_index": target, "_id": identity, "found": False})
                continue
            source = {name: value for name, value in index.source(found).items() if name in members}
            place = {"_seq_no": found["_seq_no"], "_primary_term": found["_primary_term"]}
            docs.append({"_index": target, "_id": identity, "found": True, **place, "_source": source})
        return 200, {"docs": docs}

    def _bulk(self, target: str, body: bytes, options: Json) -> Reply:
        assert options["require_alias"] == "true"
        lines = [json.loads(each) for each in body.splitlines()]
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            ((kind, each),) = action.items()
            try:
                outcome = self._one(target).write(kind, each, document)
            except IndexMissing:
                outcome = _failed(each["_id"], 404, "index_not_found_exception", f"no such alias [{target}]")
            items.append({kind: {"_index": target, **outcome}})
        if options.get("refresh") == "true":
            self._one(target).refresh()
        has_errors = any("error" in each for item in items for each in item.values())
        return 200, {"took": 1, "errors": has_errors, "items": items}

    def _search(self, target: str, body: Json, options: Json) -> Reply:
        assert options == {"preference": "partita"}
        assert body["sort"] == [{"_score": {"order": "desc"}}, {"item": {"order": "desc"}}]
        index = self._one(target)
        scored = [(score(body["query"], each["words"]), each) for each in index.visible.values()]
        places = [((found, each["words"].get("item", "")), each) for found, each in scored if found is not None]
        places.sort(key=lambda each: each[0], reverse=True)
        after = tuple(body["search_after"]) if "search_after" in body else None
        page = [each for each in places if after is None or each[0] < after][: body["size"]]
        hits = [
            {"_id": place[1], "_score": place[0], "sort": list(place), "_source": _only(index.source(each), body)}
            for place, each in page
        ]
        most = body["track_total_hits"]
        total = {"value": min(len(places), most), "relation": "gte" if len(places) > most else "eq"}
        found = {"total": total, "max_score": None, "hits": hits}
        return 200, {"took": 1, "timed_out": False, "_shards": SHARDS, "hits": found}

    def _count(self, target: str, body: Json, _: Json) -> Reply:
        found = [each for each in self._one(target).visible.values() if score(body["query"], each["words"]) is not None]
        return 200, {"count": len(found), "_shards": SHARDS}

    def _stats(self, target: str, *_: Any) -> Reply:
        size = sum(len(json.dumps(each)) for each in self._one(target).documents.values())
        return 200, {"_all": {"primaries": {"store": {"size_in_bytes": size}}}}

    def _delete(self, target: str, body: Json, options: Json) -> Reply:
        assert options == {"conflicts": "proceed"}
        index = self._one(target)
        found = [name for name, each in index.visible.items() if score(body["query"], each["words"]) is not None]
        for name in found:
            index.documents.pop(name, None)
        return 200, {"deleted": len(found), "version_conflicts": 0, "failures": []}


def _failed(identity: str, status: int, kind: str, reason: str) -> Json:
    return {"_id": identity, "status": status, "error": {"type": kind, "reason": reason}}


def _only(source: Json, body: Json) -> Json:
    return {name: source[name] for name in body["_source"]}


def score(query: Json, document: Json) -> float | None:
    """How well a document matches a query; None if it does not."""
    ((kind, options),) = query.items()
    if kind == "bool":
        return _bool(options, document)
    if kind == "exists":
        return 1.0 if options["field"] in document else None
    ((field, wanted),) = options.items()
    values = document.get(field)
    if kind == "range":
        return 1.0 if values is not None and values < wanted["lt"] else None
    if values is None:
        return None
    if kind == "terms":
        return 1.0 if set(wanted) & set(values) else None
    if kind == "prefix":
        tokens = [token for value in values for token in value.split()]
        return wanted["boost"] if any(each.startswith(wanted["value"]) for each in tokens) else None
    assert kind in ("match_phrase", "match_phrase_prefix")
    count = _phrases(values, wanted["query"].split(), is_prefix=kind == "match_phrase_prefix")
    return wanted["boost"] * count / (count + 1.2) if count else None


def _bool(options: Json, document: Json) -> float | None:
    assert options.keys() <= {"must", "filter", "should", "minimum_should_match"}
    needed = [score(each, document) for each in options.get("must", [])]
    filters = [score(each, document) for each in options.get("filter", [])]
    if None in needed or None in filters:
        return None
    found = [each for query in options.get("should", []) if (each := score(query, document)) is not None]
    if "should" in options:
        assert options["minimum_should_match"] == 1
        if not found:
            return None
    return sum(each for each in (*needed, *found) if each is not None)


def _phrases(values: list[str], wanted: list[str], *, is_prefix: bool) -> int:
    count = 0
    for value in values:  # no phrase reaches into the next one: 100 positions are between them
        tokens = value.split()
        for at in range(len(tokens) - len(wanted) + 1):
            *first, last = tokens[at : at + len(wanted)]
            is_last = last.startswith(wanted[-1]) if is_prefix else last == wanted[-1]
            count += first == wanted[:-1] and is_last
    return count

"""OpenSearch as a target: the requests are the documented ones, and faults on the way change nothing."""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from partita import ConfigurationError, F, NoReply, OpenSearch, SearchRejected, Store, connect, settle
from partita.consumers.worker import create_state_tables
from partita.json_service import ServiceRetries
from partita.remote.credentials import Credentials
from partita.remote.service_signing import ServiceSigner
from partita.search import opensearch_text
from partita.search.text_target import DocumentChange, SourceMark, TextBuild, TextDocument, TextTarget
from tests.search import cards
from tests.search.cards import Card, Note
from tests.search.opensearch_stub import StubCluster
from tests.search.test_text_index import Story
from tests.stub_service import RecordedRequest, Reply, StubService, serving

BUILD = TextBuild("scan", "print")


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(ServiceRetries.__init__, "__defaults__", (found.append, lambda: 1.0))
    return found


@pytest.fixture
def cluster() -> StubCluster:
    return StubCluster()


@pytest.fixture
def service(cluster: StubCluster) -> Iterator[StubService]:
    with serving(cluster.answer) as found:
        yield found


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", cards.design) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


def opened(service: StubService, **settings: Any) -> TextTarget:
    index = cards.new_index()
    weights = {name: each.weights for name, each in index.fields.items()}
    return OpenSearch(service.url, **settings).open("search", weights, index.analyzer)


def change(item: str, sequence: int, text: str | None) -> DocumentChange:
    document = None if text is None else TextDocument("Note", "cards", "{}", (("text", [text]),), ())
    return DocumentChange(item, f"{sequence:040}", document)


def bodies(service: StubService, path: str) -> list[Any]:
    return [each.body for each in service.requests if each.path.partition("?")[0].endswith(path)]


def words(cluster: StubCluster) -> dict[str, Any]:
    """The words of each document, as they are stored."""
    (index,) = cluster.indexes.values()
    return {name: each["words"].get("w2") for name, each in index.documents.items() if "mark" not in name}


def test_requests_have_the_documented_shape(db: Store, service: StubService) -> None:
    search = cards.new_index(place=OpenSearch(service.url, replicas=0))
    settle(db, search)
    service.requests.clear()
    db.put(Card(card_id="1", title="Finishes of oak", tags=["wood"], level=2))
    settle(db, search)
    at = next(number for number, each in enumerate(service.requests) if "_bulk" in each.path)
    read, written = service.requests[at - 1 : at + 1]
    assert (read.method, read.path) == ("POST", "/partita-search.write/_mget?_source_includes=sequence")
    assert (written.method, written.path) == ("POST", "/partita-search.write/_bulk?require_alias=true")
    assert written.headers["Content-Type"] == "application/x-ndjson"
    action, document, mark, position = map(json.loads, written.body.splitlines())
    assert action == {"create": {"_id": read.body["ids"][0]}}
    assert len(document.pop("filters")) == 5
    assert document.pop("sequence") == position["sequence"]
    assert json.loads(document.pop("key")) == {"PK": {"S": "CARD#1"}, "SK": {"S": "CARD"}}
    assert document == {
        "entity": "Card",
        "table": "cards",
        "item": read.body["ids"][0],
        "w0": ["finish of oak"],
        "w1": ["wood"],
        "w2": [],
        "forms": ["finishes"],
    }
    assert (mark["create"]["_id"][:5], position.keys()) == ("mark-", {"sequence", "before"})


def test_search_has_the_documented_shape(db: Store, service: StubService) -> None:
    search = cards.new_index(place=OpenSearch(service.url))
    settle(db, search)
    search.find(db, 'oak "solid wood" fin* e-mai*', of=Note, where=F.level == 2, size=5)
    (body,) = bodies(service, "/_search")
    phrase, both, prefix, last = body["query"]["bool"]["must"]
    assert phrase["bool"]["minimum_should_match"] == 1
    assert phrase["bool"]["should"][0] == {"match_phrase": {"w0": {"query": "oak", "boost": 3.0}}}
    assert both["bool"]["should"][1] == {"match_phrase": {"w1": {"query": "solid wood", "boost": 2.0}}}
    assert prefix["bool"]["should"][-1] == {"prefix": {"forms": {"value": "fin", "boost": 1.0}}}
    assert last["bool"]["should"][0] == {
        "match_phrase_prefix": {"w0": {"query": "e mai", "max_expansions": 250, "boost": 3.0}}
    }
    (filters,) = body["query"]["bool"]["filter"]
    assert [each["terms"].keys() for each in filters["bool"]["filter"]] == [{"filters"}, {"filters"}]
    assert {name: body[name] for name in ("size", "sort", "track_total_hits", "_source")} == {
        "size": 6,
        "sort": [{"_score": {"order": "desc"}}, {"item": {"order": "desc"}}],
        "track_total_hits": 5000,
        "_source": ["entity", "table", "key"],
    }


def test_search_before_the_first_build_finds_nothing(db: Store, service: StubService) -> None:
    search = cards.new_index(place=OpenSearch(service.url))
    assert len(search.find(db, "oak")) == 0
    assert (search.status(db).documents, search.status(db).is_building) == (0, True)


def test_without_refresh_a_change_is_found_after_the_next_one_of_the_cluster(
    db: Store, cluster: StubCluster, service: StubService
) -> None:
    search = cards.new_index(place=OpenSearch(service.url))
    settle(db, search)
    db.put(Card(card_id="1", title="oak"))
    settle(db, search)
    assert len(search.find(db, "oak")) == 0
    for index in cluster.indexes.values():
        index.refresh()
    assert len(search.find(db, "oak")) == 1


class Faults:
    """Requests that get lost before or after they are executed, and documents that are rejected for a while."""

    def __init__(self, cluster: StubCluster, seed: int) -> None:
        self.cluster = cluster
        self.rng = random.Random(seed)
        self.count = 0

    def answer(self, request: RecordedRequest) -> Reply | None:
        fault = self.rng.choices(["none", "lost", "busy", "throttled"], [6, 1, 1, 1])[0]
        self.count += fault != "none"
        if fault == "busy":
            return 503, {"error": {"type": "cluster_block_exception", "reason": "no master"}}
        if fault == "throttled" and "_bulk" in request.path:
            return self._throttled(request)
        reply = self.cluster.answer(request)
        return None if fault == "lost" else reply

    def _throttled(self, request: RecordedRequest) -> Reply:
        """Executes the first half of a bulk request."""
        lines = request.body.splitlines(keepends=True)
        half = len(lines) // 4 * 2
        status, reply, *_ = self.cluster.answer(request._replace(body=b"".join(lines[:half])))
        error = {"type": "rejected_execution_exception", "reason": "queue full"}
        rejected = [
            {kind: {"_index": "x", "_id": each["_id"], "status": 429, "error": error}}
            for line in lines[half::2]
            for kind, each in json.loads(line).items()
        ]
        return status, {**reply, "errors": True, "items": [*reply["items"], *rejected]}


@pytest.mark.parametrize("seed", range(3))
def test_faults_of_the_service_change_no_result(db: Store, cluster: StubCluster, seed: int) -> None:
    faults = Faults(cluster, seed)
    with serving(faults.answer) as service:
        place = OpenSearch(service.url, refresh=True, retries=30)
        story = Story(db, cards.new_index(place=place), seed)
        for _ in range(4):
            for _ in range(6):
                story.write()
                if story.rng.random() < 0.3:
                    story.disturb()
            story.check()
    assert faults.count > 20


def test_older_change_never_replaces_a_newer_one_of_another_writer(cluster: StubCluster) -> None:
    """Another process writes between the read of sequence numbers and the write."""
    with serving(cluster.answer) as service:
        first, second = opened(service), opened(service)
        first.begin(BUILD)
        first.apply([change("a", 5, "mesa")], None)

        def interfering(write: Callable[[RecordedRequest], Reply], mine: DocumentChange) -> None:
            def answer(request: RecordedRequest) -> Reply:
                if "_bulk" in request.path:
                    service.answer = cluster.answer
                    second.apply([mine], None)
                return write(request)

            service.answer = answer

        interfering(cluster.answer, change("a", 9, "oak"))
        first.apply([change("a", 7, "pine")], None)
        assert words(cluster) == {"a": ["oak"]}
        interfering(cluster.answer, change("a", 10, "wood"))
        first.apply([change("a", 11, None)], None)
        assert words(cluster) == {"a": None}
        interfering(cluster.answer, change("b", 1, "one"))
        first.apply([change("b", 2, "fork")], None)
        assert words(cluster) == {"a": None, "b": ["fork"]}


def test_sequence_numbers_beyond_64_bits_are_ordered(cluster: StubCluster, service: StubService) -> None:
    """As long as DynamoDB's can be: OpenSearch's own external versions would reject them."""
    target = opened(service)
    target.begin(BUILD)
    for sequence, text in ((10**39, "new"), (10**38, "old"), (9 * 10**18, "older"), (10**39 + 1, "newest")):
        target.apply([change("a", sequence, text)], None)
    assert words(cluster) == {"a": ["newest"]}


def test_document_that_cannot_be_written_is_an_error_and_the_page_can_come_again(
    cluster: StubCluster, service: StubService
) -> None:
    target = opened(service)
    target.begin(BUILD)
    (index,) = cluster.indexes.values()
    removed = index.mappings["properties"].pop("w2")
    mark = SourceMark("stream", "", "7")
    with pytest.raises(SearchRejected, match="document a: strict_dynamic_mapping_exception"):
        target.apply([change("a", 1, "one")], mark)
    index.mappings["properties"]["w2"] = removed
    assert target.accepts(BUILD, {"stream": ""})
    target.apply([change("a", 1, "one")], mark)
    assert words(cluster) == {"a": ["one"]}
    assert target.accepts(BUILD, {"stream": "7"})
    assert not target.accepts(BUILD, {"stream": "8"})


def test_index_that_was_deleted_is_not_created_by_a_write(cluster: StubCluster, service: StubService) -> None:
    target = opened(service)
    with pytest.raises(SearchRejected, match=r"status 404: .*index_not_found_exception"):
        target.apply([change("a", 1, "one")], None)
    assert cluster.indexes == {}
    assert not target.accepts(BUILD, {})


def test_begin_and_finish_leave_one_index(cluster: StubCluster, service: StubService) -> None:
    target = opened(service)
    for number in range(3):
        target.begin(BUILD)
        target.begin(BUILD)  # the build before was not finished
        assert len(cluster.indexes) == (1 if number == 0 else 2)
        assert target.status().is_building
        target.finish()
        target.finish()
        (index,) = cluster.indexes.values()
        assert index.aliases.keys() == {"partita-search", "partita-search.write"}
        assert not target.status().is_building


def test_large_pages_are_sent_in_several_requests(
    cluster: StubCluster, service: StubService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opensearch_text, "MAX_BULK", 2_000)
    target = opened(service)
    target.begin(BUILD)
    target.apply([change(str(number), 1, "oak " * 100) for number in range(10)], None)
    sent = bodies(service, "/_bulk")
    assert len(sent) > 3
    assert max(map(len, sent)) <= 2_000
    assert len(words(cluster)) == 10


def test_items_that_were_deleted_long_ago_are_forgotten(
    cluster: StubCluster, service: StubService, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: moment)
    target = opened(service, refresh=True)
    target.begin(BUILD)
    target.apply([change("a", 1, None)], None)
    moment += 86_400
    target.apply([change("b", 1, "text")], None)
    assert words(cluster).keys() == {"a", "b"}
    moment += 2 * 86_400
    target.apply([change("c", 1, "text")], None)
    assert words(cluster).keys() == {"b", "c"}


def test_no_cluster_and_replies_that_cannot_be_read_are_no_reply(pauses: list[float]) -> None:
    with serving(lambda _: (200, b"<html>")) as service, pytest.raises(NoReply, match="the reply cannot be read"):
        opened(service, retries=1).status()
    nobody = StubService(lambda _: (200, {}))
    nobody.url = "http://127.0.0.1:1"
    with pytest.raises(NoReply, match=r"127\.0\.0\.1"):
        opened(nobody, retries=1).status()
    assert len(pauses) == 2


def test_user_and_password_are_sent_and_not_shown(service: StubService) -> None:
    opened(service, user="ü", password="secret").status()
    assert service.requests[0].headers["Authorization"] == "Basic w7w6c2VjcmV0"
    assert "secret" not in repr(OpenSearch("https://x", user="u", password="secret"))


@pytest.mark.parametrize("token", [None, "a-token"])
@pytest.mark.parametrize(
    "target", ["/", "/partita-x.write/_bulk?require_alias=true&refresh=true", "/a/_mget?_source_includes=a%2Cb", "/ü b"]
)
def test_signature_is_botocores(target: str, token: str | None) -> None:
    """For a domain of Amazon OpenSearch Service."""
    body, host = b'{"a":1}', "search-x.eu-west-1.es.amazonaws.com"
    signer = ServiceSigner(Credentials("AKID", "secret", token), host, "eu-west-1", "es")
    ours = signer.headers("POST", target, body)
    request = AWSRequest("POST", f"https://{host}{target}", dict(ours), body)
    del request.headers["Authorization"]
    request.context["timestamp"] = ours["X-Amz-Date"]
    auth = SigV4Auth(BotocoreCredentials("AKID", "secret", token), "es", "eu-west-1")
    text = auth.string_to_sign(request, auth.canonical_request(request))
    assert ours["Authorization"].endswith(f"Signature={auth.signature(text, request)}")


def test_domain_of_amazon_is_signed_for_its_region(service: StubService) -> None:
    keys = Credentials("AKID", "secret")
    opened(service, region="eu-west-1", credentials=keys).status()
    assert "/eu-west-1/es/aws4_request" in service.requests[0].headers["Authorization"]
    for host, region in {
        "https://search-x-abc.eu-west-1.es.amazonaws.com": "eu-west-1",
        "https://vpc-x-abc.cn-north-1.es.amazonaws.com.cn": "cn-north-1",
        "https://search-x-abc.aos.us-east-1.on.aws": "us-east-1",
    }.items():
        authorize = OpenSearch(host, credentials=keys)._authorize()
        assert authorize is not None
        assert f"/{region}/es/" in authorize("GET", "/", b"")["Authorization"]
    assert OpenSearch("https://search.example.com")._authorize() is None


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("search.example.com", {}, r"is not valid; use http://HOST:PORT"),
        ("https://u:p@example.com", {}, "is not valid"),
        ("https://[x", {}, "is not valid"),
        ("https://abc.eu-west-1.aoss.amazonaws.com", {}, "Serverless lacks requests"),
        ("https://x", {"user": "u"}, "user and password are given together"),
        ("https://x", {"prefix": "Cards"}, "prefix='Cards' is not valid"),
        ("https://x", {"shards": 0}, "shards=0"),
        ("https://x", {"ca_bundle": "/no/such/file"}, "the path of a file"),
    ],
)
def test_setting_that_cannot_work_is_rejected(url: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        OpenSearch(url, **settings)


def test_certificates_of_ones_own_can_be_trusted(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("")
    assert OpenSearch("https://x", ca_bundle=str(file)).ca_bundle == str(file)

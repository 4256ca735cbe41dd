"""Embeddings over HTTP, against a local server that answers as OpenAI's interface is documented."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from partita import ConfigurationError, EmbeddingRejected, NoReply
from partita.embeddings import HttpEmbedder
from partita.json_service import ServiceRetries
from tests.stub_service import RecordedRequest, Reply, StubService, numbers_of, serving

BUSY: Reply = (429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}})


def openai_reply(request: RecordedRequest) -> Reply:
    """The documented reply; its items are in no certain order."""
    body = request.body
    items = [
        {"object": "embedding", "index": index, "embedding": numbers_of(text, 4)}
        for index, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return 200, {"object": "list", "data": items[::-1], "model": body["model"], "usage": usage}


@pytest.fixture
def service() -> Iterator[StubService]:
    with serving(openai_reply) as found:
        yield found


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which take no time here."""
    found: list[float] = []
    monkeypatch.setattr(ServiceRetries.__init__, "__defaults__", (found.append, lambda: 1.0))
    return found


def embedder(service: StubService, **settings: Any) -> HttpEmbedder:
    return HttpEmbedder(f"{service.url}/v1/", "text-embedding-3-small", 4, **settings)


def test_request_has_the_documented_shape(service: StubService) -> None:
    with embedder(service, api_key="sk-1", request_dimensions=True) as remote:
        remote.embed(["배터리", "motor"])
    [request] = service.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert request.body == {
        "model": "text-embedding-3-small",
        "input": ["배터리", "motor"],
        "encoding_format": "float",
        "dimensions": 4,
    }


def test_vectors_are_in_the_order_of_the_texts(service: StubService) -> None:
    texts = [f"text {number}" for number in range(7)]
    with embedder(service, batch_size=2, parallel=3) as remote:
        found = remote.embed(texts)
    assert [each.vector for each in found] == [tuple(numbers_of(text, 4)) for text in texts]
    assert {each.model for each in found} == {"text-embedding-3-small/4"}
    assert sorted(len(each.body["input"]) for each in service.requests) == [1, 2, 2, 2]


def test_no_key_and_no_dimensions_are_sent_unless_asked(service: StubService) -> None:
    with embedder(service) as remote:
        remote.embed_one("a")
    assert "Authorization" not in service.requests[0].headers
    assert "dimensions" not in service.requests[0].body


def test_event_loop_goes_on_while_the_service_answers(service: StubService) -> None:
    async def both() -> list[Any]:
        with embedder(service) as remote:
            return [*await asyncio.gather(remote.embed_async(["a"]), remote.embed_async(["b"], "query"))]

    assert [each[0].vector for each in asyncio.run(both())] == [tuple(numbers_of(text, 4)) for text in "ab"]


@pytest.mark.parametrize("fault", [BUSY, (500, {}), (503, b"<html>"), None])
def test_passing_fault_is_tried_again(service: StubService, pauses: list[float], fault: Reply | None) -> None:
    service.first = [fault, fault]
    with embedder(service) as remote:
        assert remote.embed_one("a").vector == tuple(numbers_of("a", 4))
    assert len(service.requests) == 3
    assert pauses == [0.25, 0.5]


def test_wait_that_the_service_asks_for_is_kept_up_to_a_minute(service: StubService, pauses: list[float]) -> None:
    service.first = [(429, {}, {"Retry-After": "7"}), (429, {}, {"Retry-After": "9999"})]
    with embedder(service) as remote:
        remote.embed_one("a")
    assert pauses == [7.0, 60.0]


def test_last_error_is_raised_after_all_attempts(service: StubService) -> None:
    service.first = [BUSY] * 10
    with embedder(service, retries=2) as remote, pytest.raises(EmbeddingRejected) as raised:
        remote.embed_one("a")
    assert str(raised.value) == f"{service.url}/v1/embeddings: status 429: Rate limit reached"
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((401, {"error": {"message": "Incorrect API key provided"}}), "status 401: Incorrect API key provided"),
        ((404, {"error": "model not found"}), "status 404: model not found"),
        ((400, b"no\n"), "status 400: no"),
        ((302, b"", {"Location": "/elsewhere"}), "status 302: no message"),
    ],
)
def test_rejection_is_not_tried_again(service: StubService, reply: Reply, message: str) -> None:
    service.first = [reply]
    with embedder(service) as remote, pytest.raises(EmbeddingRejected, match=message):
        remote.embed_one("a")
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"not JSON",
        {"data": []},
        {"data": [{"index": 5, "embedding": [1, 2, 3, 4]}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        [],
    ],
)
def test_reply_that_cannot_be_read_is_no_reply(service: StubService, content: Any) -> None:
    service.answer = lambda _: (200, content)
    with embedder(service, retries=1) as remote, pytest.raises(NoReply):
        remote.embed_one("a")
    assert len(service.requests) == 2


def test_vector_of_another_length_says_which_dimensions_to_use(service: StubService) -> None:
    with (
        HttpEmbedder(f"{service.url}/v1", "m", 3) as remote,
        pytest.raises(ConfigurationError, match="m/3: the vectors have 4 dimensions, not 3; use dimensions=4"),
    ):
        remote.embed_one("a")


def test_vector_of_numbers_beyond_32_bits_is_no_reply(service: StubService) -> None:
    service.answer = lambda _: (200, {"data": [{"index": 0, "embedding": [1e300, 0.0, 0.0, 0.0]}]})
    with embedder(service, retries=0) as remote, pytest.raises(NoReply, match="not finite 32-bit floats"):
        remote.embed_one("a")


def test_service_that_is_not_there_is_no_reply(service: StubService, pauses: list[float]) -> None:
    with HttpEmbedder("http://127.0.0.1:1/v1", "m", 4, retries=1) as remote, pytest.raises(NoReply, match=r"127\.0"):
        remote.embed_one("a")
    assert len(pauses) == 1


def test_slow_service_ends_at_the_timeout() -> None:
    import threading

    ended = threading.Event()

    def slow(_: Any) -> Reply:
        ended.wait()
        return 500, {}

    with serving(slow) as service:
        with embedder(service, retries=0, read_timeout=0.05) as remote, pytest.raises(NoReply, match=r"(?i)timed out"):
            remote.embed_one("a")
        ended.set()


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("api.example.com", {}, "use http://"),
        ("http://", {}, "use http://"),
        ("https:///v1", {}, "use http://"),
        ("http://x", {"retries": -1}, "retries=-1"),
        ("http://x", {"read_timeout": 0}, "read_timeout=0"),
        ("http://x", {"batch_size": 0}, "batch_size=0"),
        ("http://x", {"api_key": ""}, "api_key=''"),
    ],
)
def test_setting_that_cannot_work_is_rejected(url: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        HttpEmbedder(url, "m", 4, **settings)

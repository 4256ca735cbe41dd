"""Embeddings of Amazon Bedrock: the documented bodies, by botocore's Stubber and by a local server."""

import io
from collections.abc import Iterator
from typing import Any

import botocore.session
import msgspec
import pytest
from botocore.config import Config
from botocore.response import StreamingBody
from botocore.stub import ANY, Stubber

from partita import ConfigurationError, EmbeddingRejected, NoReply
from partita.embeddings import BedrockEmbedder
from partita.json_service import ServiceRetries
from tests.stub_service import RecordedRequest, Reply, StubService, numbers_of, serving

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"
KEYS: dict[str, Any] = {
    "aws_access_key_id": "AKIDEXAMPLE",
    "aws_secret_access_key": "secret",
    "region_name": "us-east-1",
}


def bedrock_reply(request: RecordedRequest) -> Reply:
    """The documented replies of both families."""
    body = request.body
    if "inputText" in body:
        vector = numbers_of(body["inputText"], body["dimensions"])
        return 200, {"embedding": vector, "embeddingsByType": {"float": vector}, "inputTextTokenCount": 3}
    vectors = [numbers_of(text, 1024) for text in body["texts"]]
    return 200, {"embeddings": vectors, "id": "1", "response_type": "embeddings_floats", "texts": body["texts"]}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(ServiceRetries.__init__, "__defaults__", (found.append, lambda: 1.0))
    return found


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubService]:
    """A server that botocore takes for Bedrock, by the variable of its endpoint."""
    with serving(bedrock_reply) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", found.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield found


def stubbed() -> tuple[Any, Stubber]:
    config = Config(retries={"total_max_attempts": 1})
    client = botocore.session.get_session().create_client("bedrock-runtime", config=config, **KEYS)
    return client, Stubber(client)


def reply_body(content: Any) -> dict[str, Any]:
    data = msgspec.json.encode(content)
    return {"body": StreamingBody(io.BytesIO(data), len(data)), "contentType": "application/json"}


def test_titan_gets_one_text_a_request(service: StubService) -> None:
    texts = ["배터리 팩", "drive motor", "냉각판"]
    with BedrockEmbedder(region="us-east-1") as bedrock:
        found = bedrock.embed(texts)
    assert [each.vector for each in found] == [tuple(numbers_of(text, 256)) for text in texts]
    assert {each.model for each in found} == {"amazon.titan-embed-text-v2:0/256"}
    assert {each.path for each in service.requests} == {f"/model/{TITAN}/invoke"}
    assert sorted((each.body for each in service.requests), key=str) == sorted(
        ({"inputText": text, "dimensions": 256, "normalize": True} for text in texts), key=str
    )
    assert "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" in service.requests[0].headers["Authorization"]


def test_cohere_gets_batches_of_96_and_knows_queries(service: StubService) -> None:
    texts = [f"text {number}" for number in range(100)]
    with BedrockEmbedder(COHERE, region="us-east-1", parallel=1) as bedrock:
        found = bedrock.embed(texts, "query")
    assert [each.vector[0] for each in found] == [numbers_of(text, 1)[0] for text in texts]
    assert [len(each.body["texts"]) for each in service.requests] == [96, 4]
    assert {each.body["input_type"] for each in service.requests} == {"search_query"}
    assert {each.body["truncate"] for each in service.requests} == {"END"}


@pytest.mark.parametrize("by_type", [False, True])
def test_cohere_of_the_fourth_version_shortens_its_vectors(service: StubService, by_type: bool) -> None:
    def answer(request: RecordedRequest) -> Reply:
        vectors = [numbers_of(text, request.body["output_dimension"]) for text in request.body["texts"]]
        return 200, {"id": "1", "embeddings": {"float": vectors} if by_type else vectors, "texts": []}

    service.answer = answer
    with BedrockEmbedder("global.cohere.embed-v4:0", 256, region="us-east-1") as bedrock:
        (found,) = bedrock.embed(["배터리 팩"])
    assert (found.vector, found.model) == (tuple(numbers_of("배터리 팩", 256)), "global.cohere.embed-v4:0/256")
    assert service.requests[0].body == {
        "texts": ["배터리 팩"],
        "input_type": "search_document",
        "truncate": "RIGHT",
        "embedding_types": ["float"],
        "output_dimension": 256,
    }
    assert BedrockEmbedder("cohere.embed-v4:0", client=object()).dimensions == 1536


def test_request_fits_the_model_of_the_service() -> None:
    client, stubber = stubbed()
    expected = {"modelId": TITAN, "body": ANY, "contentType": "application/json", "accept": "application/json"}
    stubber.add_response("invoke_model", reply_body({"embedding": [1.0] * 512, "inputTextTokenCount": 1}), expected)
    with stubber:
        assert BedrockEmbedder(TITAN, 512, client=client).embed_one("a").vector == (1.0,) * 512
    stubber.assert_no_pending_responses()


def test_throttling_is_tried_again(pauses: list[float]) -> None:
    client, stubber = stubbed()
    stubber.add_client_error("invoke_model", "ThrottlingException", "Too many requests", 429)
    stubber.add_client_error("invoke_model", "ModelNotReadyException", "Loading", 429)
    stubber.add_client_error("invoke_model", "ServiceUnavailableException", "Busy", 503)
    stubber.add_response("invoke_model", reply_body({"embedding": [1.0] * 256}))
    with stubber:
        assert BedrockEmbedder(client=client).embed_one("a").dimensions == 256
    assert pauses == [0.25, 0.5, 1.0]


def test_denied_access_is_not_tried_again() -> None:
    client, stubber = stubbed()
    stubber.add_client_error("invoke_model", "AccessDeniedException", "You don't have access to the model", 403)
    with stubber, pytest.raises(EmbeddingRejected) as raised:
        BedrockEmbedder(client=client).embed_one("a")
    assert str(raised.value) == f"{TITAN}: status 403: AccessDeniedException: You don't have access to the model"


@pytest.mark.parametrize("content", [{}, [], {"embedding": None}])
def test_reply_that_cannot_be_read_is_no_reply(service: StubService, content: Any) -> None:
    service.answer = lambda _: (200, content)
    with BedrockEmbedder(region="us-east-1", retries=0) as bedrock, pytest.raises(NoReply, match="cannot be read"):
        bedrock.embed_one("a")


def test_lost_connection_is_tried_again(service: StubService, pauses: list[float]) -> None:
    service.first = [None]
    with BedrockEmbedder(region="us-east-1") as bedrock:
        bedrock.embed_one("a")
    assert pauses == [0.25]


def test_region_that_is_missing_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(ConfigurationError, match="specify a region"):
        BedrockEmbedder()


@pytest.mark.parametrize(
    ("model", "dimensions", "message"),
    [
        ("meta.llama3", None, r"use one of amazon.titan-embed-text-v2..., cohere.embed-v4..."),
        (TITAN, 300, "dimensions=300 is not valid for .*; use 256, 512, 1024"),
        (COHERE, 256, "use 1024"),
    ],
)
def test_model_that_is_not_known_is_rejected(model: str, dimensions: int | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        BedrockEmbedder(model, dimensions, client=object())


def test_inference_profile_is_a_model() -> None:
    assert BedrockEmbedder(f"us.{COHERE}", client=object()).model == f"us.{COHERE}/1024"

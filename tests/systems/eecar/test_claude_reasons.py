"""Reasons by a Claude model: recorded replies of Bedrock on loopback; the template where the model gives none."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from partita import ConfigurationError, Store, connect, settle
from partita_systems.eecar import consumers, ports
from partita_systems.eecar import design as d
from partita_systems.eecar.claude_reasons import MAX_LENGTH, PAUSE_SECONDS
from partita_systems.eecar.matching import Wanted
from partita_systems.eecar.service import Eecar
from tests.stub_service import RecordedRequest, Reply, StubService, serving
from tests.systems.eecar.conftest import a_part

MODEL = "anthropic.claude-3-5-haiku-20241022-v1:0"


def answered(text: str) -> Reply:
    """The documented reply of the Messages API."""
    content = [{"type": "text", "text": text}]
    return 200, {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}


def claude(request: RecordedRequest) -> Reply:
    parts = json.loads(request.body["messages"][0]["content"][0]["text"])["parts"]
    return answered(json.dumps([f"{each['name']}: fits" for each in parts]))


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", d.design, maintain=False) as store:
        store.create_tables()
        yield store


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubService]:
    """A server that botocore takes for Bedrock."""
    with serving(claude) as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", service.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("EECAR_REASONS", f"bedrock:{MODEL}")
        ports.reasons.cache_clear()
        yield service
    ports.reasons.cache_clear()


@pytest.fixture
def parts(eecar: Eecar, db: Store) -> list[str]:
    names = ("ESS 배터리 팩", "전기차 배터리 모듈")
    offered = [eecar.parts.offer(a_part(name=name)).part_id for name in names]
    settle(db, consumers.vectors)
    return offered


def match(eecar: Eecar, query: str = "ESS용 배터리") -> d.Match:
    return eecar.matching.of_query(Wanted(query=query))


def test_a_claude_model_writes_the_reasons_and_is_named(eecar: Eecar, parts: list[str], bedrock: StubService) -> None:
    found = match(eecar)
    assert found.model_used == MODEL
    assert sorted(each.reason for each in found.matched_parts) == ["ESS 배터리 팩: fits", "전기차 배터리 모듈: fits"]
    (request,) = bedrock.requests
    assert request.path == f"/model/{MODEL}/invoke"
    assert request.body["anthropic_version"] == "bedrock-2023-05-31"
    assert "in Korean" in request.body["system"]
    assert "ESS용 배터리" in request.body["messages"][0]["content"][0]["text"]
    assert match(eecar) == found  # cached: the model is not asked again
    assert len(bedrock.requests) == 1
    match(eecar, "battery pack")
    assert "in English" in bedrock.requests[1].body["system"]


UNUSABLE: list[Reply | None] = [
    None,
    (500, {"message": "internal"}),
    (403, {"message": "no access to the model"}),
    (200, b"<html>"),
    (200, {"content": []}),
    answered("I cannot do that."),
    answered('["only one"]'),
    answered('["one", ""]'),
    answered('["one", 2]'),
    answered('["one", "\\u0000\\n"]'),
]


def test_without_usable_reasons_the_template_writes_them_and_the_model_is_asked_later(
    eecar: Eecar, parts: list[str], bedrock: StubService, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(ports.reasons(), "_timer", lambda: now[0])
    for number, reply in enumerate(UNUSABLE):
        asked = len(bedrock.requests)
        bedrock.first.append(reply)
        found = match(eecar, f"배터리 {number}")
        assert found.model_used == "template"
        assert all("유사도" in each.reason for each in found.matched_parts)
        now[0] += PAUSE_SECONDS - 1
        assert match(eecar, f"배터리 팩 {number}").model_used == "template"
        assert len(bedrock.requests) == asked + 1
        now[0] += 2
        assert match(eecar, f"배터리 {number}").model_used == MODEL


def test_reasons_are_one_line_of_bounded_length_whatever_the_model_says(
    eecar: Eecar, parts: list[str], bedrock: StubService
) -> None:
    bedrock.first.append(answered(f'Here they are:\n```json\n["a\\nb\\u0007 c", "{"x" * 5000}"]\n```'))
    first, second = (each.reason for each in match(eecar).matched_parts)
    assert first == "a b c"
    assert len(second) == MAX_LENGTH


def test_no_parts_ask_no_model(eecar: Eecar, bedrock: StubService) -> None:
    assert match(eecar).matched_parts == []
    assert bedrock.requests == []


def test_a_model_that_is_not_claude_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Any] = ["bedrock:amazon.titan", "claude", "bedrock:"]
    for each in values:
        monkeypatch.setenv("EECAR_REASONS", each)
        ports.reasons.cache_clear()
        with pytest.raises(ConfigurationError, match="EECAR_REASONS"):
            ports.reasons()
    ports.reasons.cache_clear()

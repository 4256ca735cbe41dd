"""Checks over HTTP: what a client is told, and what the machines that run checks may do."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from partita import Store
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.mounted_api import MountedApi
from partita_systems.checks.api import api
from partita_systems.checks.service import LEASE
from tests.rest.client import Client
from tests.systems.checks.conftest import Clock, put
from tests.systems.checks.test_adoption import document_check, document_user

NEW = {"url": "https://example.com/", "checkType": "AVAILABILITY", "delayMs": 60_000}


@pytest.fixture
def nobody(db: Store) -> Iterator[Client]:
    issuer = LocalIssuer()
    app = RestApplication([MountedApi(api, db, db.backend.version)], issuer.verifier())  # type: ignore[attr-defined]
    with asyncio.Runner() as runner:
        yield Client(app, "/api/checks", issuer, runner.get_loop())


@pytest.fixture
def ana(nobody: Client) -> Client:
    ana = nobody.by("ana")
    assert ana.post("/users", {"email": "ana@example.com"}).status == 201
    return ana


@pytest.fixture
def admin(nobody: Client) -> Client:
    return nobody.by("root", "admin")


@pytest.fixture
def runner(nobody: Client) -> Client:
    return nobody.by("machine-1", "runner")


def made(client: Client) -> str:
    reply = client.post("/checks", NEW)
    assert reply.status == 201, reply.body
    return str(reply.json["checkId"])


def test_the_document_s_own_example_is_served(nobody: Client, db: Store) -> None:
    document_user(db)
    document_check(db)
    owner = nobody.by("123456")
    assert owner.get("/users/123456").json["checkLimit"] == 100
    check = owner.get("/checks/abcdef").json
    assert (check["dueAt"], check["lastResult"]["responseTime"]) == ("2024-06-29T14:10:00Z", 250)
    assert owner.get("/users/123456/checks").json["items"] == [check]
    assert owner.patch("/checks/abcdef", {"delayMs": 60_000}).json["delayMs"] == 60_000
    assert owner.post("/checks/abcdef/pause").status == 204
    assert owner.get("/checks/abcdef").json["status"] == "PAUSED"
    assert owner.delete("/checks/abcdef").status == 204


def test_a_limit_is_told_in_the_words_of_the_api(ana: Client) -> None:
    for _ in range(5):
        made(ana)
    refused = ana.post("/checks", NEW)
    assert (refused.status, refused.json["field"]) == (409, "checkLimit")
    assert refused.json["detail"] == "your checkLimit is 5, and you have 5 checks; delete one first"


def test_a_deleted_user_s_checks_are_gone_and_counted_no_more(ana: Client, admin: Client) -> None:
    first, *_ = [made(ana) for _ in range(5)]
    tag = admin.get("/users/ana").tag
    assert ana.put("/users/ana/email", {"email": "new@example.com"}).status == 204
    assert admin.delete("/users/ana", if_match=tag).status == 412
    assert admin.delete("/users/ana", if_match=admin.get("/users/ana").tag).status == 204
    assert admin.delete("/users/ana").status == 404
    assert ana.get(f"/checks/{first}").status == 404
    assert ana.post("/users", {"email": "new@example.com"}).status == 201
    assert ana.get("/users/ana/checks").json["items"] == []
    for _ in range(5):
        made(ana)
    assert ana.post("/checks", NEW).status == 409
    assert ana.get("/users/ana").json["checkCount"] == 5


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://exa mple.com:99999999/", "http://\0/", "http://user:pass@h:abc/"]
)
def test_a_url_that_is_none_is_refused_by_name(ana: Client, url: str) -> None:
    check = made(ana)
    for reply in (ana.patch(f"/checks/{check}", {"url": url}), ana.post("/checks", NEW | {"url": url})):
        assert (reply.status, reply.json["field"]) == (422, "url")


@pytest.mark.parametrize("price", ["NaN", "-1", "Infinity", "1e999"])
def test_a_price_that_is_none_is_refused_by_name(ana: Client, price: str) -> None:
    reply = ana.post("/checks", NEW | {"checkType": "EBAY", "attributes": {"maxPrice": price}})
    assert (reply.status, reply.json["field"]) == (422, "attributes.maxPrice")
    assert reply.json["detail"].startswith("attributes.maxPrice: ")


@pytest.mark.parametrize(
    ("check_type", "attributes", "field", "said"),
    [
        ("EBAY", {"maxPrice": True}, "attributes.maxPrice", " must be a number or null"),
        ("EBAY", {"maxPrice": "abc"}, "attributes.maxPrice", " must be a number"),
        ("AVAILABILITY", {"keyword": 3}, "attributes.keyword", " must be text or null"),
        ("AVAILABILITY", {"keyword": "x" * 1001}, "attributes.keyword", " must have at most 1000 characters"),
        ("AVAILABILITY", {"colour": 1}, "attributes.colour", ": AVAILABILITY has no 'colour'; it has keyword"),
    ],
)
def test_an_option_that_is_none_is_refused_by_name_and_in_plain_words(
    ana: Client, check_type: str, attributes: dict[str, Any], field: str, said: str
) -> None:
    reply = ana.post("/checks", NEW | {"checkType": check_type, "attributes": attributes})
    assert (reply.status, reply.json["field"], reply.json["detail"]) == (422, field, field + said)


# the runner


def test_a_runner_claims_what_is_due_and_says_what_it_found(ana: Client, runner: Client) -> None:
    check = made(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    assert claim["check"]["checkId"] == check
    assert runner.post("/claims", {"count": 5}).json["items"] == []
    found = {"status": "DOWN", "responseTime": 90, "reason": "HTTP status 503"}
    told = runner.post(f"/checks/{check}/results", found | {"until": claim["until"]})
    assert (told.status, told.json["checkId"]) == (201, check)
    (result,) = ana.get(f"/checks/{check}/results").json["items"]
    assert result == told.json
    assert {name: result["outcome"][name] for name in found} == found
    stored = ana.get(f"/checks/{check}").json
    assert (stored["lastResult"], stored["failures"]) == (result["outcome"], 1)


def test_a_result_is_taken_once_and_only_of_who_holds_the_claim(ana: Client, runner: Client, clock: Clock) -> None:
    check = made(ana)
    (late,) = runner.post("/claims", {}).json["items"]
    clock.passes(seconds=LEASE.total_seconds())
    (claim,) = runner.post("/claims", {}).json["items"]
    path = f"/checks/{check}/results"
    refused = runner.post(path, {"status": "UP", "until": late["until"]})
    assert (refused.status, refused.json["field"]) == (409, "until")
    assert [runner.post(path, {"status": "UP", "until": claim["until"]}).status for _ in range(2)] == [201, 409]
    assert len(ana.get(path).json["items"]) == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"status": "UPP"}, "status"),
        ({"responseTime": -1}, "responseTime"),
        ({"responseTime": 10**40}, "responseTime"),
        ({"until": "2025-01-01T00:00:00"}, "until"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_result_that_makes_no_sense_is_refused(
    ana: Client, runner: Client, wrong: dict[str, Any], field: str
) -> None:
    check = made(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    reply = runner.post(f"/checks/{check}/results", {"status": "UP", "until": claim["until"]} | wrong)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert ana.get(f"/checks/{check}/results").json["items"] == []


def test_nobody_else_claims_or_tells_results(ana: Client) -> None:
    check = made(ana)
    assert ana.post("/claims", {}).status == 403
    assert ana.post(f"/checks/{check}/results", {"status": "UP", "until": "2025-01-01T00:00:00Z"}).status == 403


def test_uptime_says_from_when_it_counts(ana: Client, runner: Client, clock: Clock) -> None:
    check = made(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    runner.post(f"/checks/{check}/results", {"status": "UP", "responseTime": 250, "until": claim["until"]})
    told = ana.get(f"/checks/{check}/uptime?days=3").json
    since = (clock() - timedelta(days=3)).isoformat().replace("+00:00", "Z")
    assert told == {"runs": 1, "share": 1.0, "meanMs": 250.0, "since": since, "whole": True}


def test_a_row_of_another_kind_of_check_is_listed_among_the_others(nobody: Client, db: Store) -> None:
    document_check(db)
    document_check(db, PK="fax", checkType="FAX", status="RESTING", attributes={})
    put(db, "CHECK", PK="bare", SK="CHECK", userid="123456", url="x", checkType="EBAY", delayMs=1, status="ACTIVE")
    document_check(db, PK="shop", lastResult={"available": True})
    listed = nobody.by("123456").get("/users/123456/checks").json["items"]
    assert [each["checkId"] for each in listed] == ["abcdef", "bare", "fax", "shop"]

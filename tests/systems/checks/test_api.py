"""The API of Checks: error details, and claims and results of runners."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from partita import Store
from partita_systems.checks.api import api
from partita_systems.checks.service import LEASE
from tests.rest.client import Client
from tests.systems.checks.conftest import Clock, put
from tests.systems.checks.test_adoption import document_check, document_user

NEW = {"url": "https://example.com/", "checkType": "AVAILABILITY", "delayMs": 60_000}


def new_check(client: Client) -> str:
    reply = client.post("/checks", NEW)
    assert reply.status == 201, reply.body
    return str(reply.json["checkId"])


def test_the_example_item_of_the_document_is_served(anonymous: Client, db: Store) -> None:
    document_user(db)
    document_check(db)
    owner = anonymous.by("123456")
    assert owner.get("/users/123456").json["checkLimit"] == 100
    check = owner.get("/checks/abcdef").json
    assert (check["dueAt"], check["lastResult"]["responseTime"]) == ("2024-06-29T14:10:00Z", 250)
    assert owner.get("/users/123456/checks").json["items"] == [check]
    assert owner.patch("/checks/abcdef", {"delayMs": 60_000}).json["delayMs"] == 60_000
    assert owner.post("/checks/abcdef/pause").status == 200
    assert owner.get("/checks/abcdef").json["status"] == "PAUSED"
    assert owner.delete("/checks/abcdef").status == 204


def test_address_without_a_user_is_a_404(admin: Client, ana: Client) -> None:
    assert admin.get("/users?email=ana@example.com").json["userId"] == "ana"
    missing = admin.get("/users?email=nobody@example.com")
    assert (missing.status, missing.json["detail"]) == (404, "User nobody@example.com does not exist")


def test_the_limit_error_names_the_limit_and_the_count(ana: Client) -> None:
    for _ in range(5):
        new_check(ana)
    response = ana.post("/checks", NEW)
    assert (response.status, response.json["field"]) == (409, "checkLimit")
    assert response.json["detail"] == "your checkLimit is 5, and you have 5 checks; delete one first"


def test_deleting_a_user_deletes_the_checks_and_their_count(ana: Client, admin: Client) -> None:
    first, *_ = [new_check(ana) for _ in range(5)]
    tag = admin.get("/users/ana").tag
    assert ana.put("/users/ana/email", {"email": "new@example.com"}).status == 200
    assert admin.delete("/users/ana", if_match=tag).status == 412
    assert admin.delete("/users/ana", if_match=admin.get("/users/ana").tag).status == 204
    assert admin.delete("/users/ana").status == 404
    assert ana.get(f"/checks/{first}").status == 404
    assert ana.post("/users", {"email": "new@example.com"}).status == 201
    assert ana.get("/users/ana/checks").json["items"] == []
    for _ in range(5):
        new_check(ana)
    assert ana.post("/checks", NEW).status == 409
    assert ana.get("/users/ana").json["checkCount"] == 5


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://exa mple.com:99999999/", "http://\0/", "http://user:pass@h:abc/"]
)
def test_an_invalid_url_is_rejected_naming_the_field(ana: Client, url: str) -> None:
    check = new_check(ana)
    for reply in (ana.patch(f"/checks/{check}", {"url": url}), ana.post("/checks", NEW | {"url": url})):
        assert (reply.status, reply.json["field"]) == (422, "url")


@pytest.mark.parametrize("price", ["NaN", "-1", "Infinity", "1e999"])
def test_an_invalid_price_is_rejected_naming_the_field(ana: Client, price: str) -> None:
    reply = ana.post("/checks", NEW | {"checkType": "EBAY", "attributes": {"maxPrice": price}})
    assert (reply.status, reply.json["field"]) == (422, "attributes.maxPrice")
    assert reply.json["detail"].startswith("attributes.maxPrice: ")


@pytest.mark.parametrize(
    ("check_type", "attributes", "field", "message"),
    [
        ("EBAY", {"maxPrice": True}, "attributes.maxPrice", " must be a number or null"),
        ("EBAY", {"maxPrice": "abc"}, "attributes.maxPrice", " must be a number"),
        ("AVAILABILITY", {"keyword": 3}, "attributes.keyword", " must be text or null"),
        ("AVAILABILITY", {"keyword": "x" * 1001}, "attributes.keyword", " must have at most 1000 characters"),
        ("AVAILABILITY", {"colour": 1}, "attributes.colour", ": AVAILABILITY has no 'colour'; it has keyword"),
    ],
)
def test_an_invalid_attribute_is_rejected_naming_the_field(
    ana: Client, check_type: str, attributes: dict[str, Any], field: str, message: str
) -> None:
    reply = ana.post("/checks", NEW | {"checkType": check_type, "attributes": attributes})
    assert (reply.status, reply.json["field"], reply.json["detail"]) == (422, field, field + message)


# runners


def test_a_runner_claims_due_checks_and_records_the_outcome(ana: Client, runner: Client) -> None:
    check = new_check(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    assert claim["check"]["checkId"] == check
    assert runner.post("/claims", {"count": 5}).json["items"] == []
    found = {"status": "DOWN", "responseTime": 90, "reason": "HTTP status 503"}
    recorded = runner.post(f"/checks/{check}/results", found | {"until": claim["until"]})
    assert (recorded.status, recorded.json["checkId"]) == (201, check)
    (result,) = ana.get(f"/checks/{check}/results").json["items"]
    assert result == recorded.json
    assert {name: result["outcome"][name] for name in found} == found
    stored = ana.get(f"/checks/{check}").json
    assert (stored["lastResult"], stored["failures"]) == (result["outcome"], 1)


def test_a_result_is_accepted_once_and_only_under_its_claim(ana: Client, runner: Client, clock: Clock) -> None:
    check = new_check(ana)
    (late,) = runner.post("/claims", {}).json["items"]
    clock.passes(seconds=LEASE.total_seconds())
    (claim,) = runner.post("/claims", {}).json["items"]
    path = f"/checks/{check}/results"
    response = runner.post(path, {"status": "UP", "until": late["until"]})
    assert (response.status, response.json["field"]) == (409, "until")
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
def test_an_invalid_result_is_rejected(ana: Client, runner: Client, wrong: dict[str, Any], field: str) -> None:
    check = new_check(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    reply = runner.post(f"/checks/{check}/results", {"status": "UP", "until": claim["until"]} | wrong)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert ana.get(f"/checks/{check}/results").json["items"] == []


def test_only_runners_can_claim_and_record(ana: Client) -> None:
    check = new_check(ana)
    assert ana.post("/claims", {}).status == 403
    assert ana.post(f"/checks/{check}/results", {"status": "UP", "until": "2025-01-01T00:00:00Z"}).status == 403


def test_uptime_contains_the_start_of_its_window(ana: Client, runner: Client, clock: Clock) -> None:
    check = new_check(ana)
    (claim,) = runner.post("/claims", {}).json["items"]
    runner.post(f"/checks/{check}/results", {"status": "UP", "responseTime": 250, "until": claim["until"]})
    found = ana.get(f"/checks/{check}/uptime?days=3").json
    since = (clock() - timedelta(days=3)).isoformat().replace("+00:00", "Z")
    assert found == {"runs": 1, "share": 1.0, "meanMs": 250.0, "p95Ms": 250.0, "since": since, "whole": True}


def test_a_check_of_an_unknown_type_is_listed_with_the_others(anonymous: Client, db: Store) -> None:
    document_check(db)
    document_check(db, PK="fax", checkType="FAX", status="RESTING", attributes={})
    put(db, "CHECK", PK="bare", SK="CHECK", userid="123456", url="x", checkType="EBAY", delayMs=1, status="ACTIVE")
    document_check(db, PK="shop", lastResult={"available": True})
    listed = anonymous.by("123456").get("/users/123456/checks").json["items"]
    assert [each["checkId"] for each in listed] == ["abcdef", "bare", "fax", "shop"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "javascript:alert(1)"}, "url"),
        ({"url": "https://example.com/\x00"}, "url"),
        ({"attributes": {"keyword": " "}}, "attributes.keyword"),
        ({"attributes": {"keyword": "a\x07"}}, "attributes.keyword"),
        ({"checkType": "\n"}, "checkType"),
    ],
)
def test_bad_text_of_a_check_is_rejected_naming_the_field(ana: Client, change: dict[str, Any], field: str) -> None:
    reply = ana.post("/checks", NEW | change)
    assert (reply.status, reply.json["field"]) == (422, field)


@pytest.mark.parametrize("email", ["a@b\n", "a\x00@b.c", "a b@c.d", "@", "a@b@c"])
def test_a_bad_email_address_is_rejected_in_words(anonymous: Client, email: str) -> None:
    reply = anonymous.by("eve").post("/users", {"email": email})
    assert (reply.status, reply.json["field"]) == (422, "email")
    assert "\\" not in reply.json["detail"]


CHANGES = ("POST", "PUT", "PATCH")


def test_every_change_answers_with_the_new_state() -> None:
    silent = [f"{each.method} {each.path}" for each in api.routes if each.result is None and each.method in CHANGES]
    assert silent == []


def test_one_thing_has_one_name_in_paths_and_replies(ana: Client, admin: Client) -> None:
    check = new_check(ana)
    assert ana.get(f"/checks/{check}").json["userId"] == ana.get("/users/ana").json["userId"] == "ana"
    described = json.dumps(ana.get("/openapi.json").json)
    assert re.search(r"\b(PK|SK|userid|dueShard|ttl|LEASE)\b", described) is None
    for path in ("/users/ana/checks", "/types/AVAILABILITY/ACTIVE/checks", "/checks/none"):
        reply = admin.get(path)
        assert re.search(r"\b(PK|SK|userid|dueShard)\b", json.dumps(reply.json)) is None

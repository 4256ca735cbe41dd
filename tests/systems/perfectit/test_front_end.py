"""A front end gets what it needs: merged edits, new states, bulk routes, cached lists, unread counts, clear errors."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from partita import Store
from partita.dynamodb.requests import DescribeTable, UpdateTable
from partita_systems.perfectit import cards as cards_module
from partita_systems.perfectit import design as d
from partita_systems.perfectit.api import api
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client, Request
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, people, published

WRITERS = 64


@pytest.fixture
def me(anonymous: Client, ann: str) -> Client:
    return anonymous.by(ann)


# Concurrent edits


def test_concurrent_edits_without_if_match_all_succeed_and_are_merged(me: Client, card: str) -> None:
    fields: list[dict[str, Any]] = [
        {"title": "Perfect Oil Finish"},
        {"description": "Four coats."},
        {"estimatedTime": 7},
        {"tags": ["oil"]},
    ]
    requests = [Request("PATCH", f"/cards/{card}", fields[number % len(fields)]) for number in range(WRITERS)]
    replies = me.concurrently(requests)
    assert {reply.status for reply in replies} == {200}
    found = me.get(f"/cards/{card}").json
    assert {name: found[name] for each in fields for name in each} == {k: v for each in fields for k, v in each.items()}
    assert me.get("/cards/search?text=oil").json["items"] != []


def test_concurrent_edits_in_threads_all_succeed(perfectit: PerfectIt, db: Store, card: str) -> None:
    before = db.one(d.card(card)).version
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(lambda n: perfectit.cards.edit(card, Content(estimated_time=n)), range(WRITERS)))
    assert db.one(d.card(card)).version == before + WRITERS


def test_of_concurrent_edits_with_one_if_match_one_succeeds(me: Client, card: str) -> None:
    tag = me.get(f"/cards/{card}").tag
    requests = [
        Request("PATCH", f"/cards/{card}", {"estimatedTime": number}, {"if-match": tag}) for number in range(1, 9)
    ]
    assert sorted(reply.status for reply in me.concurrently(requests)) == [200] + [412] * 7


# New states


def test_a_vote_answers_with_the_new_score_and_the_own_vote(
    perfectit: PerfectIt, anonymous: Client, card: str, ann: str
) -> None:
    first, second = people(perfectit, 2)
    place = f"/cards/{card}/votes"
    up = anonymous.by(first).put(f"{place}/{first}", {"voteType": "UP"})
    assert up.json == {"targetId": card, "voteType": "UP", "voteScore": 1, "upCount": 1, "downCount": 0}
    assert anonymous.by(second).put(f"{place}/{second}", {"voteType": "UP"}).json["voteScore"] == 2
    changed = anonymous.by(first).put(f"{place}/{first}", {"voteType": "DOWN"}).json
    assert (changed["voteType"], changed["voteScore"], changed["downCount"]) == ("DOWN", 0, 1)
    assert anonymous.by(first).put(f"{place}/{first}", {"voteType": "DOWN"}).json == changed
    withdrawn = anonymous.by(first).delete(f"{place}/{first}")
    assert (withdrawn.status, withdrawn.json["voteType"], withdrawn.json["voteScore"]) == (200, None, 1)
    assert anonymous.get(f"/cards/{card}").json["voteScore"] == 1


def test_a_vote_on_a_comment_answers_with_its_score(perfectit: PerfectIt, me: Client, card: str, ann: str) -> None:
    comment = perfectit.comment(ann, card, "Nice.").comment_id
    voted = me.put(f"/cards/{card}/comments/{comment}/votes/{ann}", {"voteType": "DOWN"})
    assert (voted.json["targetId"], voted.json["voteScore"]) == (comment, -1)


def test_every_change_answers_with_the_new_state() -> None:
    silent = [
        f"{each.method} {each.path}"
        for each in api.routes
        if each.result is None and each.method in ("POST", "PUT", "PATCH")
    ]
    assert silent == []


def test_publishing_and_renaming_answer_with_the_new_state(perfectit: PerfectIt, me: Client, ann: str) -> None:
    card = me.post("/cards", {"title": "T", "category": "woodworking", "instructions": ["Do."]}).json["cardId"]
    assert me.put(f"/cards/{card}/publication").json["status"] == "PUBLISHED"
    assert me.put(f"/users/{ann}/username", {"username": "anna"}).json["username"] == "anna"


# Bulk


def test_several_drafts_are_created_in_one_request_all_or_none(me: Client, ann: str, db: Store) -> None:
    created = me.post("/cards/bulk", {"cards": [{"title": f"Card {number}"} for number in range(25)]})
    assert (created.status, len(created.json["items"])) == (201, 25)
    assert len(me.get(f"/users/{ann}/drafts?limit=50").json["items"]) == 25
    before = disk(db)
    for bad, field in (
        ({"title": "  "}, "cards[1].title"),
        ({"tags": ["t"]}, "cards[1].title"),
        ({"title": "T", "imageUrls": ["javascript:x"]}, "cards[1].imageUrls[0]"),
    ):
        reply = me.post("/cards/bulk", {"cards": [{"title": "Good"}, bad]})
        assert (reply.status, reply.json["field"]) == (422, field)
    assert disk(db) == before


def test_several_cards_are_collected_in_one_request(perfectit: PerfectIt, me: Client, ann: str) -> None:
    cards = [published(perfectit, ann) for _ in range(5)]
    collection = perfectit.new_collection(ann, "Oak").collection_id
    place = f"/users/{ann}/collections/{collection}/cards"
    assert [each["cardId"] for each in me.post(place, {"cardIds": cards[:3]}).json["items"]] == cards[:3]
    assert me.post(place, {"cardIds": cards}).status == 201
    assert len(me.get(f"/collections/{collection}/cards").json["items"]) == 5
    draft = perfectit.cards.draft(ann, OIL).card_id
    missing = me.post(place, {"cardIds": [cards[0], draft]})
    assert (missing.status, missing.json["field"]) == (422, "cardIds[1]")


# Caching


@pytest.mark.parametrize(
    "path",
    [
        *("/cards", "/cards/top", "/cards/trending", "/cards/controversial", "/days/2030-01-01/cards", "/categories"),
        *("/categories/woodworking/subcategories", "/categories/woodworking/cards"),
    ],
)
def test_popular_lists_may_be_cached_for_a_short_time(anonymous: Client, card: str, path: str) -> None:
    reply = anonymous.get(path)
    assert (reply.status, reply.headers["cache-control"]) == (200, "public, max-age=30")
    assert anonymous.get(path, if_none_match=reply.tag).status == 304


def test_other_replies_are_asked_for_again(anonymous: Client, me: Client, card: str, ann: str) -> None:
    assert anonymous.get(f"/cards/{card}").headers["cache-control"] == "private, no-cache"
    assert anonymous.get(f"/users/{ann}").headers["cache-control"] == "no-cache"
    assert me.get(f"/users/{ann}/notifications").headers["cache-control"] == "private, no-cache"


def test_the_table_is_on_demand(db: Store) -> None:
    table = msgspec.to_builtins(db.backend.call(DescribeTable(table_name="perfectit-main")))
    assert "PAY_PER_REQUEST" in json.dumps(table, default=str)


def test_the_table_can_be_switched_to_provisioned_capacity(db: Store, me: Client) -> None:
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 20}
    indexes = [
        {"Update": {"IndexName": each.name, "ProvisionedThroughput": units}} for each in d.design.tables[0].indexes
    ]
    switch = {
        "TableName": "perfectit-main",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": units,
        "GlobalSecondaryIndexUpdates": indexes,
    }
    db.backend.call(msgspec.convert(switch, UpdateTable))
    assert db.create_tables() == []
    assert me.post("/cards", {"title": "After the switch"}).status == 201
    table = json.dumps(msgspec.to_builtins(db.backend.call(DescribeTable(table_name="perfectit-main"))), default=str)
    assert "PAY_PER_REQUEST" not in table
    assert table.count('"WriteCapacityUnits": 20') == 1 + len(indexes)


# Images


@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://a.example/1.jpg", "1.jpg", "https://", "//a.example/1"])
def test_an_image_is_an_https_address(me: Client, ann: str, url: str) -> None:
    reply = me.post("/cards", {"title": "T", "imageUrls": ["https://a.example/1.jpg", url]})
    assert (reply.status, reply.json["field"]) == (422, "imageUrls[1]")
    avatar = me.patch(f"/users/{ann}", {"avatarUrl": url})
    assert (avatar.status, avatar.json["field"]) == (422, "avatarUrl")


def test_images_are_below_the_base_address_where_one_is_set(me: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    base = "https://images.example.com/"
    monkeypatch.setattr(cards_module, "IMAGES", base)
    created = me.post("/cards", {"title": "T", "imageUrls": ["oak/1.jpg", f"{base}oak/2.jpg"]})
    assert created.json["imageUrls"] == [f"{base}oak/1.jpg", f"{base}oak/2.jpg"]
    for url in ("https://other.example/1.jpg", "../1.jpg", "/1.jpg", "a b.jpg"):
        reply = me.post("/cards", {"title": "T", "imageUrls": [url]})
        assert (reply.status, reply.json["field"]) == (422, "imageUrls[0]"), url


# Notifications


def test_unread_notifications_are_counted_and_all_marked_read(
    perfectit: PerfectIt, me: Client, ann: str, card: str, clock: Clock
) -> None:
    place = f"/users/{ann}/notifications"
    assert me.get(f"{place}/unread").json == {"unread": 0, "more": False}
    for number in range(3):
        notification = d.Notification(
            notification_id=f"t_{number}",
            user_id=ann,
            notification_type=d.NotificationType.VOTED,
            actor_id="u_1",
            card_id=card,
            created_at=clock(),
        )
        perfectit.notify(notification)
    assert me.get(f"{place}/unread").json == {"unread": 3, "more": False}
    assert me.put(f"{place}/read").json == {"unread": 0, "more": False}
    assert me.get(f"{place}/unread").json == {"unread": 0, "more": False}


# Bad input


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"title": "\x00"}, "title"),
        ({"description": "\x07"}, "description"),
        ({"instructions": ["ok", "\t\n"]}, "instructions[1]"),
        ({"tags": ["a\x1b"]}, "tags[0]"),
        ({"materials": {"oil\x00": "1 l"}}, "materials"),
        ({"tools": ["\u200b"]}, "tools[0]"),
    ],
)
def test_bad_text_is_rejected_naming_the_field(me: Client, content: dict[str, Any], field: str) -> None:
    reply = me.post("/cards", {"title": "T"} | content)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert "\\" not in reply.json["detail"]


@pytest.mark.parametrize("name", ["a b", "ab", "x" * 31, "ann\n", "a\x00bc"])
def test_a_bad_username_is_rejected_in_words(anonymous: Client, name: str) -> None:
    reply = anonymous.by("eve").post("/users", {"username": f"{name}", "displayName": "Eve"})
    assert (reply.status, reply.json["field"]) == (422, "username")
    assert "[" not in reply.json["detail"]


def test_a_category_has_one_spelling_of_its_id(anonymous: Client, perfectit: PerfectIt) -> None:
    boss = anonymous.by("boss", "admin")
    created = boss.post("/categories", {"categoryId": "oak", "name": "Oak"})
    assert (created.status, created.json["categoryId"]) == (201, "oak")
    assert boss.post("/categories", {"id": "ash", "name": "Ash"}).status == 422


def test_no_reply_contains_an_internal_name(anonymous: Client, me: Client, card: str, ann: str) -> None:
    internal = re.compile(r"\b(PK|SK|GSI\d(PK|SK)?|entityType|ttl)\b")
    for path in (
        f"/cards/{card}",
        "/cards/top",
        f"/users/{ann}",
        "/categories",
        f"/users/{ann}/drafts",
        "/openapi.json",
    ):
        assert internal.search(json.dumps(me.get(path).json)) is None, path


# Lists


def test_cards_of_a_category_and_of_an_author_are_listed_newest_first(
    perfectit: PerfectIt, anonymous: Client, ann: str, clock: Clock
) -> None:
    cards = []
    for _ in range(3):
        clock.passes(hours=1)
        cards.append(published(perfectit, ann))
    for path in ("/categories/woodworking/cards", f"/users/{ann}/cards"):
        assert [each["cardId"] for each in anonymous.get(path).json["items"]] == cards[::-1]


def test_comments_of_a_card_are_listed_in_time_order(
    perfectit: PerfectIt, anonymous: Client, ann: str, card: str, clock: Clock
) -> None:
    comments = []
    for number in range(3):
        clock.passes(minutes=1)
        comments.append(perfectit.comment(ann, card, f"Comment {number}").comment_id)
    assert [each["commentId"] for each in anonymous.get(f"/cards/{card}/comments").json["items"]] == comments

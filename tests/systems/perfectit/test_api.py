"""The API of PerfectIt: writes are all or nothing, errors name the field, machines have their own routes."""

import unicodedata
from typing import Any
from urllib.parse import quote

import pytest

from partita import Store, new_id
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.day_cursor import day_cursor
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client, Response
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, people, published

DECOMPOSED = ["use\u0301r2", unicodedata.normalize("NFD", "한지민"), unicodedata.normalize("NFD", "é" * 30)]


@pytest.fixture
def boss(anonymous: Client) -> Client:
    return anonymous.by("boss", "admin")


@pytest.fixture
def machine(anonymous: Client) -> Client:
    return anonymous.by("consumer", "machine")


def status_and_field(reply: Response) -> tuple[int, str | None]:
    return reply.status, reply.json.get("field")


# Cursors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", ["0001-01-01~", "9999-12-31~", "x", "~", "WyJyZWNlbnQiLFtdXQ", "한국", "."])
def test_an_invalid_cursor_of_recent_cards_is_rejected(anonymous: Client, card: str, cursor: str) -> None:
    assert status_and_field(anonymous.get(f"/cards?cursor={quote(cursor)}")) == (400, "cursor")


def test_a_cursor_that_is_too_old_is_rejected(anonymous: Client, card: str, clock: Clock, db: Store) -> None:
    cursor = day_cursor(db, clock().date(), None)
    assert anonymous.get(f"/cards?cursor={cursor}").status == 200
    clock.passes(days=90)
    assert status_and_field(anonymous.get(f"/cards?cursor={cursor}")) == (400, "cursor")


# Categories -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["nope", "woodworking"])
def test_a_category_with_an_invalid_parent_is_not_renamed_either(
    boss: Client, perfectit: PerfectIt, db: Store, parent: str
) -> None:
    before = disk(db)
    response = boss.patch("/categories/woodworking", {"name": "Changed", "parentId": parent})
    assert status_and_field(response) == (422, "parentId")
    assert disk(db) == before


def test_if_match_protects_a_category(boss: Client, perfectit: PerfectIt) -> None:
    read = boss.get("/categories/woodworking").tag
    changed = boss.patch("/categories/woodworking", {"name": "Wood"}, if_match=read)
    assert (changed.status, changed.json["name"]) == (200, "Wood")
    assert boss.patch("/categories/woodworking", {"name": "Timber"}, if_match=read).status == 412
    assert boss.delete("/categories/woodworking", if_match=read).status == 412
    assert boss.delete("/categories/woodworking", if_match=changed.tag).status == 204
    assert boss.delete("/categories/woodworking").status == 404


@pytest.mark.parametrize("named", ["ROOT", " ROOT ", "ROOT\n"])
def test_root_is_not_a_valid_category_id(boss: Client, perfectit: PerfectIt, named: str) -> None:
    assert status_and_field(boss.post("/categories", {"categoryId": named, "name": "Root"})) == (422, "categoryId")
    assert boss.get("/categories/ROOT").status == 404


@pytest.mark.parametrize("parent", ["self", " self"])
def test_a_category_cannot_be_its_own_parent(boss: Client, perfectit: PerfectIt, parent: str) -> None:
    assert status_and_field(boss.post("/categories", {"categoryId": "self", "name": "Self", "parentId": parent})) == (
        422,
        "parentId",
    )
    assert boss.get("/categories/self").status == 404


def test_a_category_in_use_is_not_deleted(boss: Client, card: str) -> None:
    read = boss.get("/categories/woodworking").tag
    assert status_and_field(boss.delete("/categories/woodworking", if_match=read)) == (422, "categoryId")


def test_a_category_is_the_same_composed_and_decomposed(boss: Client, perfectit: PerfectIt, ann: str) -> None:
    apart = unicodedata.normalize("NFD", "도자기")
    created = boss.post("/categories", {"categoryId": apart, "name": "도자기"})
    assert (created.status, created.json["categoryId"]) == (201, "도자기")
    assert (
        boss.post("/categories", {"categoryId": "glaze", "name": "Glaze", "parentId": apart}).json["parentId"]
        == "도자기"
    )
    assert boss.get(f"/categories/{quote(apart)}").json == boss.get("/categories/도자기").json
    published(perfectit, ann, category=apart)
    assert boss.get("/categories/도자기").json["cardCount"] == 1


# Usernames --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("username", DECOMPOSED)
def test_a_decomposed_username_is_composed_and_taken(anonymous: Client, username: str) -> None:
    together = unicodedata.normalize("NFC", username)
    created = anonymous.by("u_1").post("/users", {"username": username, "displayName": "Somebody"})
    assert (created.status, created.json["username"]) == (201, together)
    for asked in (username, together):
        assert anonymous.get(f"/usernames/{quote(asked)}").json["userId"] == "u_1"
        taken = anonymous.by("u_2").post("/users", {"username": asked, "displayName": "Another"})
        assert status_and_field(taken) == (409, "username")
    anonymous.by("u_1").put("/users/u_1/username", {"username": "plain"})
    assert anonymous.by("u_1").put("/users/u_1/username", {"username": username}).status == 200


@pytest.mark.parametrize("username", ["ab", "a b c", "é" * 31, "e\u0301" * 31, "x" * 121, " é "])
def test_a_bad_username_is_rejected_naming_the_field(anonymous: Client, username: str) -> None:
    response = anonymous.by("u_1").post("/users", {"username": username, "displayName": "Somebody"})
    assert status_and_field(response) == (422, "username")


# Comments and collections -----------------------------------------------------------------------------------------


def test_if_match_protects_a_comment(anonymous: Client, perfectit: PerfectIt, ann: str, card: str) -> None:
    comment = perfectit.comment(ann, card, "Old")
    place, me = f"/cards/{card}/comments/{comment.comment_id}", anonymous.by(ann)
    read = me.get(place).tag
    me.put(f"{place}/votes/{ann}", {"voteType": "UP"})
    me.patch(place, {"text": "New"})
    assert me.delete(place, if_match=read).status == 412
    assert me.get(place).json["voteScore"] == 1
    assert me.delete(place, if_match=me.get(place).tag).status == 204
    assert list(perfectit.db(d.votes_of_target(comment.comment_id))) == []


def test_a_collection_of_another_user_rejects_a_card_that_is_in_it(
    anonymous: Client, perfectit: PerfectIt, ann: str, card: str
) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    assert anonymous.by(ann).put(f"/users/{ann}/collections/{later}/cards/{card}").status == 200
    assert anonymous.by(ann).put(f"/users/{ann}/collections/{later}/cards/{card}").status == 200
    (ben,) = people(perfectit, 1)
    response = anonymous.by(ben).put(f"/users/{ben}/collections/{later}/cards/{card}")
    assert status_and_field(response) == (404, None)


def test_entries_of_removed_cards_are_swept_by_the_owner_or_a_machine(
    anonymous: Client, machine: Client, perfectit: PerfectIt, ann: str, card: str
) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    place = f"/users/{ann}/collections/{later}/sweep"
    perfectit.collect(ann, later, card)
    assert anonymous.by(ann).post(place).json == {"removed": 0}
    perfectit.cards.remove(card)
    assert anonymous.by("u_other").post(place).status == 403
    assert machine.post(place).json == {"removed": 1}
    assert machine.post(f"/users/u_other/collections/{later}/sweep").status == 404


# Errors name the field --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"materials": {"": "1 l"}}, "materials"),
        ({"materials": {"x" * 5_000: "1 l"}}, "materials"),
        ({"category": ""}, "category"),
        ({"imageUrls": ["x" * 1_001]}, "imageUrls[0]"),
        ({"estimatedTime": -1}, "estimatedTime"),
    ],
)
def test_an_error_in_a_card_names_the_field_as_it_was_sent(
    anonymous: Client, perfectit: PerfectIt, ann: str, given: dict[str, Any], field: str
) -> None:
    me = anonymous.by(ann)
    assert status_and_field(me.post("/cards", {"title": "Bowl", **given})) == (422, field)
    draft = perfectit.cards.draft(ann, OIL).card_id
    assert status_and_field(me.patch(f"/cards/{draft}", given)) == (422, field)


def test_a_missing_reference_names_the_field_as_it_was_sent(
    anonymous: Client, boss: Client, perfectit: PerfectIt, ann: str, card: str
) -> None:
    me = anonymous.by(ann)
    later = perfectit.new_collection(ann, "Later").collection_id
    draft = perfectit.cards.draft(ann, Content(title="Half")).card_id
    assert status_and_field(boss.post("/categories", {"categoryId": "k", "name": "K", "parentId": "nope"})) == (
        422,
        "parentId",
    )
    assert status_and_field(me.patch(f"/cards/{card}", {"category": "nope"})) == (422, "category")
    for reply in (
        me.post(f"/cards/{draft}/comments", {"text": "Hm."}),
        me.put(f"/cards/{draft}/votes/{ann}", {"voteType": "UP"}),
        me.put(f"/users/{ann}/collections/{later}/cards/{draft}"),
    ):
        assert (reply.status, reply.json["detail"]) == (
            409,
            f"PerfectionCard {draft} is not published; publish it first",
        )


def test_draft_of_others_does_not_exist(anonymous: Client, perfectit: PerfectIt, ann: str) -> None:
    (ben,) = people(perfectit, 1)
    other, later = anonymous.by(ben), perfectit.new_collection(ben, "Later").collection_id
    draft = perfectit.cards.draft(ann, Content(title="Half")).card_id
    for reply in (
        other.post(f"/cards/{draft}/comments", {"text": "Hm."}),
        other.put(f"/cards/{draft}/votes/{ben}", {"voteType": "UP"}),
        other.put(f"/users/{ben}/collections/{later}/cards/{draft}"),
    ):
        assert (reply.status, reply.json["detail"]) == (404, f"PerfectionCard {draft} does not exist")


# Machines ---------------------------------------------------------------------------------------------------------


def test_a_repeated_notification_is_stored_once_and_stays_read(
    anonymous: Client, machine: Client, perfectit: PerfectIt, ann: str, card: str, clock: Clock
) -> None:
    event = new_id("n", clock())
    place, body = f"/users/{ann}/notifications/{event}", {"notificationType": "VOTED", "actorId": "u_1", "cardId": card}
    assert anonymous.by(ann).put(place, body).status == 403
    first = machine.put(place, body)
    assert (first.status, first.json["read"], first.json["notificationType"]) == (200, False, "VOTED")
    assert anonymous.by(ann).put(place + "/read").status == 200
    assert machine.put(place, body).json["read"] is True
    assert len(anonymous.by(ann).get(f"/users/{ann}/notifications").json["items"]) == 1
    assert machine.put(f"/users/nobody/notifications/{event}", body).status == 404
    assert status_and_field(machine.put(f"/users/{ann}/notifications/1", body)) == (422, "createdAt")
    assert status_and_field(machine.put(place, {**body, "notificationType": "SUNG"})) == (422, "notificationType")


@pytest.mark.parametrize("at", ["9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_an_event_whose_expiry_is_after_the_year_9999_is_rejected(machine: Client, ann: str, at: str) -> None:
    body = {"notificationType": "VOTED", "actorId": "u_1", "cardId": "c_1"}
    response = machine.put(f"/users/{ann}/notifications/n_1?createdAt={at}", body)
    assert status_and_field(response) == (422, "createdAt")


def test_a_trend_is_set_read_and_removed_by_a_machine(
    anonymous: Client, machine: Client, perfectit: PerfectIt, ann: str, card: str
) -> None:
    place = f"/cards/{card}/trend"
    assert anonymous.by(ann).put(place, {"score": 7}).status == 403
    assert machine.put(place, {"score": 7}).json["score"] == 7
    assert machine.put(place, {"score": 9}).json == machine.get(place).json
    assert [each["cardId"] for each in anonymous.get("/cards/trending").json["items"]] == [card]
    assert machine.delete(place).status == 204
    assert anonymous.get("/cards/trending").json["items"] == []
    draft = perfectit.cards.draft(ann, OIL).card_id
    assert status_and_field(machine.put(f"/cards/{draft}/trend", {"score": 7})) == (409, None)


def test_views_are_added_by_a_machine(anonymous: Client, machine: Client, ann: str, card: str) -> None:
    assert anonymous.by(ann).post(f"/cards/{card}/views", {"views": 5}).status == 403
    for views in (200, 50):
        assert machine.post(f"/cards/{card}/views", {"views": views}).status == 200
    assert anonymous.get(f"/cards/{card}").json["viewCount"] == 250
    assert status_and_field(machine.post(f"/cards/{card}/views", {"views": 0})) == (422, "views")


def test_the_metrics_of_a_day_are_set_replaced_and_removed_by_a_machine(boss: Client, machine: Client) -> None:
    day = "/metrics/2095-01-01"
    assert machine.put(day, {"cards": 3, "views": 9}).status == 200
    machine.put(day, {"cards": 4, "votes": 1})
    assert boss.get(day).json == {"day": "2095-01-01", "cards": 4, "comments": 0, "votes": 1, "views": 0}
    assert len(boss.get("/metrics?since=2095-01-01&until=2095-01-02").json["items"]) == 1
    assert machine.delete(day).status == 204
    assert boss.get(day).status == 404

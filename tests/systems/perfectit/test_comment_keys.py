"""Comments and notifications have a time in their keys and an id in their paths; the id contains the time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from partita import Entity, SentRequest, Store, connect, new_id, time_in_id
from partita.rest.openapi import openapi
from partita_systems.perfectit import design as d
from partita_systems.perfectit.api import api
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client, Response
from tests.store.clocks import Clock
from tests.systems.cost import ONE_READ, put_unchecked
from tests.systems.perfectit.conftest import disk, published

WRITTEN = datetime(2095, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
SHOWN = "2095-01-01T12:30:00.123456Z"
FOREIGN = "댓글-1"
ANOTHER_TIME = new_id("m", datetime(2094, 6, 1, tzinfo=UTC), lambda bits: 1)
ODD = ["1", "댓글", "👍", "m_한국", "a%23b", "%00", "%20", "..", "m_" + "Z" * 26, "x" * 1001, "한" * 400]


def comment_of(card_id: str, author_id: str, comment_id: str) -> d.Comment:
    """A comment as other code might have stored it."""
    return d.Comment(
        comment_id=comment_id, card_id=card_id, author_id=author_id, text="Old", created_at=WRITTEN, updated_at=WRITTEN
    )


def notification_of(user_id: str, notification_id: str, at: datetime) -> d.Notification:
    return d.Notification(
        notification_id=notification_id,
        user_id=user_id,
        notification_type=d.NotificationType.VOTED,
        actor_id="u_1",
        card_id="c_1",
        created_at=at,
    )


def put(db: Store, *entities: Entity) -> None:
    put_unchecked(db, entities)


def requests(sent: list[SentRequest]) -> list[tuple[str, float]]:
    return [(each.operation, each.units) for each in sent]


def status_and_field(reply: Response) -> tuple[int, str | None]:
    return reply.status, reply.json.get("field")


# The id contains the time -----------------------------------------------------------------------------------------


def test_a_comment_is_found_by_its_id_alone_with_one_get_item_and_one_of_its_card(
    anonymous: Client, ann: str, card: str, sent: list[SentRequest]
) -> None:
    created = anonymous.by(ann).post(f"/cards/{card}/comments", {"text": "Thin coats! 👍"})
    place = f"/cards/{card}/comments/{created.json['commentId']}"
    assert (created.status, created.headers["location"]) == (201, "/api/perfectit" + place)
    sent.clear()
    found = anonymous.get(place)
    assert (found.status, found.json) == (200, created.json)
    assert requests(sent) == [("GetItem", ONE_READ[1])] * 2


def test_a_notification_is_found_by_its_id_alone_with_one_get_item(
    anonymous: Client, ann: str, clock: Clock, db: Store, sent: list[SentRequest]
) -> None:
    event = new_id("n", clock())
    db.create(notification_of(ann, event, clock()))
    found = anonymous.by(ann).get(f"/users/{ann}/notifications/{event}")
    assert (found.status, found.json["notificationId"]) == (200, event)
    assert requests(sent) == [("GetItem", ONE_READ[1])]


def test_a_comment_has_the_time_in_its_id_while_the_clock_moves(
    perfectit: PerfectIt, ann: str, card: str, db: Store
) -> None:
    ticks = iter(WRITTEN + timedelta(microseconds=700 * number) for number in range(100))
    ticking = PerfectIt(Store(db.backend, d.design, clock=lambda: next(ticks)))
    for _ in range(9):
        created = ticking.comment(ann, card, "Now.")
        assert created.created_at == time_in_id(created.comment_id)
        assert db.one(d.comment(card, created.created_at, created.comment_id)) == created


def test_the_key_of_a_comment_is_its_time_and_its_id(perfectit: PerfectIt, ann: str, card: str, db: Store) -> None:
    created = perfectit.comment(ann, card, "Yes.")
    (stored,) = [item for item in disk(db) if item.get("entityType") == "Comment"]
    assert (stored["PK"], stored["SK"]) == (f"CARD#{card}", f"COMMENT#2095-01-01T00:00:00.000000Z#{created.comment_id}")


def test_concurrent_comments_are_each_found_by_their_id() -> None:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design)
        db.create_tables()
        perfectit = PerfectIt(db)
        perfectit.add_category("woodworking", "Woodworking")
        ann = perfectit.register("ann", "Ann").user_id
        card = published(perfectit, ann)
        with ThreadPoolExecutor(8) as threads:
            created = list(threads.map(lambda number: perfectit.comment(ann, card, f"{number}"), range(64)))
        for each in created:
            at = time_in_id(each.comment_id)
            assert at is not None
            assert db.one(d.comment(card, at, each.comment_id)) == each


# Items of other code ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment_id", "status", "field"),
    [(FOREIGN, 422, "createdAt"), ("7", 422, "createdAt"), (ANOTHER_TIME, 404, None)],
)
def test_a_comment_whose_id_does_not_contain_its_time_is_found_with_created_at(
    anonymous: Client, ann: str, card: str, db: Store, comment_id: str, status: int, field: str | None
) -> None:
    put(db, comment_of(card, ann, comment_id))
    (listed,) = anonymous.get(f"/cards/{card}/comments").json["items"]
    assert (listed["commentId"], listed["createdAt"]) == (comment_id, SHOWN)
    place = f"/cards/{card}/comments/{listed['commentId']}"
    response = anonymous.get(place)
    assert status_and_field(response) == (status, field)
    assert "add ?createdAt= with its createdAt" in response.json["detail"]
    found = anonymous.get(f"{place}?createdAt={listed['createdAt']}")
    assert (found.status, found.json) == (200, listed)


@pytest.mark.parametrize("comment_id", [FOREIGN, ANOTHER_TIME])
def test_a_comment_of_other_code_is_voted_on_edited_and_removed(
    anonymous: Client, ann: str, card: str, db: Store, comment_id: str
) -> None:
    put(db, comment_of(card, ann, comment_id))
    place, given = f"/cards/{card}/comments/{comment_id}", f"?createdAt={SHOWN}"
    me = anonymous.by(ann)
    assert me.put(f"{place}/votes/{ann}{given}", {"voteType": "UP"}).status == 200
    assert me.get(place + given).json["voteScore"] == 1
    assert me.delete(f"{place}/votes/{ann}{given}").status == 200
    tag = me.get(place + given).tag
    assert me.patch(place + given, {"text": "New"}, if_match=tag).json["text"] == "New"
    assert me.patch(place + given, {"text": "Newer"}, if_match=tag).status == 412
    assert anonymous.by("u_other").delete(place + given).status == 403
    assert me.delete(place + given).status == 204
    assert me.get(place + given).status == 404


def test_a_comment_is_voted_on_edited_and_removed_by_its_id(
    anonymous: Client, perfectit: PerfectIt, ann: str, card: str
) -> None:
    place = f"/cards/{card}/comments/{perfectit.comment(ann, card, 'Old').comment_id}"
    me = anonymous.by(ann)
    assert me.put(f"{place}/votes/{ann}", {"voteType": "DOWN"}).status == 200
    assert me.get(place).json["voteScore"] == -1
    assert me.delete(f"{place}/votes/{ann}").status == 200
    assert me.patch(place, {"text": "New"}, if_match=me.get(place).tag).json["text"] == "New"
    assert me.patch(place, {}).json["text"] == "New"
    assert anonymous.by("u_other").patch(place, {"text": "Mine"}).status == 403
    assert anonymous.by("u_other", "admin").delete(place).status == 204
    assert me.get(place).status == 404


@pytest.mark.parametrize("notification_id", ["알림-1", new_id("n", WRITTEN, lambda bits: 2)])
def test_a_notification_whose_id_does_not_contain_its_time_is_read_and_deleted_with_created_at(
    anonymous: Client, ann: str, db: Store, notification_id: str
) -> None:
    put(db, notification_of(ann, notification_id, WRITTEN))
    place, given = f"/users/{ann}/notifications/{notification_id}", f"?createdAt={SHOWN}"
    me = anonymous.by(ann)
    assert "?createdAt=" in me.put(place + "/read").json["detail"]
    assert me.put(f"{place}/read{given}").status == 200
    assert me.get(place + given).json["read"] is True
    assert "?createdAt=" in me.delete(place).json["detail"]
    assert me.delete(place + given).status == 204
    assert me.get(f"/users/{ann}/notifications").json["items"] == []


def test_a_notification_is_read_and_deleted_by_its_id(anonymous: Client, ann: str, clock: Clock, db: Store) -> None:
    event = new_id("n", clock())
    db.create(notification_of(ann, event, clock()))
    place, me = f"/users/{ann}/notifications/{event}", anonymous.by(ann)
    assert anonymous.by("u_other").put(place + "/read").status == 403
    before = me.get(place).tag
    assert me.put(place + "/read").status == 200
    assert me.delete(place, if_match=before).status == 412
    assert me.delete(place, if_match=me.get(place).tag).status == 204
    assert me.delete(place).status == 404


# Invalid input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("given", ["", "?createdAt=2095-01-01T00:00:00Z"])
def test_an_unusual_id_is_not_found_or_rejected(anonymous: Client, ann: str, card: str, odd: str, given: str) -> None:
    comment, notification, me = f"/cards/{card}/comments/{odd}", f"/users/{ann}/notifications/{odd}", anonymous.by(ann)
    asked = [
        me.get(comment + given),
        me.patch(comment + given, {"text": "New"}),
        me.delete(comment + given),
        me.put(f"{comment}/votes/{ann}{given}", {"voteType": "UP"}),
        me.delete(f"{comment}/votes/{ann}{given}"),
        me.get(notification + given),
        me.put(f"{notification}/read{given}"),
        me.delete(notification + given),
    ]
    assert {each.status for each in asked} <= {404, 422}
    assert all(each.json["detail"] for each in asked)


@pytest.mark.parametrize("given", ["yesterday", "", "2025-01-01T00:00:00", "0001-01-01T00:00:00%2B14:00", "한국"])
def test_an_invalid_created_at_is_rejected(anonymous: Client, card: str, given: str) -> None:
    assert anonymous.get(f"/cards/{card}/comments/1?createdAt={given}").status == 422


def test_the_api_description_explains_created_at() -> None:
    operation = openapi(api)["paths"]["/api/perfectit/cards/{cardId}/comments/{commentId}"]["get"]
    (given,) = [each for each in operation["parameters"] if each["name"] == "createdAt"]
    assert (given["in"], given["required"]) == ("query", False)
    assert "`createdAt` from the list" in given["description"]


def test_a_time_has_one_spelling_in_addresses_and_replies(anonymous: Client, card: str) -> None:
    wrong = anonymous.get(f"/cards/{card}/comments/1?created_at=2095-01-01T00:00:00Z")
    assert (wrong.status, wrong.json["field"]) == (400, "created_at")
    assert "the parameters are createdAt" in wrong.json["detail"]
    malformed = anonymous.get(f"/cards/{card}/comments/1?createdAt=today")
    assert (malformed.status, malformed.json["field"]) == (422, "createdAt")

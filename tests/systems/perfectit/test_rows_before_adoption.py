"""Every operation works on items of the team's own code before they are adopted."""

import pytest

from partita import Store
from partita_systems.perfectit import design as d
from partita_systems.perfectit.adoption import adopt
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client
from tests.systems.perfectit.conftest import disk
from tests.systems.perfectit.document_rows import T, counts, put_card, put_category, put_documented

UP, DOWN = d.VoteType.UP, d.VoteType.DOWN


def test_votes_and_collections_without_our_additional_attributes_are_listed(team: PerfectIt, db: Store) -> None:
    assert sorted(each.user_id for each in db(d.votes_of_target("123"))) == ["u2", "u3", "user123"]
    assert {each.target_type for each in db(d.votes_of_target("123"))} == {None}
    assert [each.card_id for each in team.cards_of_collection("l1").items] == ["123"]
    assert [each.user_id for each in db(d.cards_in_collection("l1"))] == [None]


def test_a_vote_that_was_never_counted_can_be_cast_changed_and_withdrawn(team: PerfectIt, db: Store) -> None:
    team.votes.on_card("user123", "123", None)
    assert counts(db.one(d.card("123"))) == (0, 1, 1)
    team.votes.on_card("u3", "123", UP)
    team.votes.on_card("user123", "123", UP)
    assert counts(db.one(d.card("123"))) == (3, 3, 0)
    put_card(db, "124")
    team.votes.on_card("u2", "124", DOWN)
    assert counts(db.one(d.card("124")))[1:] == (0, 1)


def test_a_card_of_other_code_is_removed_with_everything_that_belongs_to_it(team: PerfectIt, db: Store) -> None:
    team.cards.remove("123")
    assert [item["PK"] for item in disk(db) if item["PK"].startswith(("CARD#", "VOTE#"))] == []


def test_a_comment_can_be_read_voted_on_edited_and_removed(team: PerfectIt, anonymous: Client, db: Store) -> None:
    place, me = "/cards/123/comments/m1", anonymous.by("user123")
    given = f"?createdAt={T}"
    found = me.get(place + given)
    assert (found.status, found.json["text"]) == (200, "Which oil?")
    assert me.get(f"{place}?createdAt=2025-01-01T00:00:01Z").status == 404
    assert me.put(f"{place}/votes/user123{given}", {"voteType": "DOWN"}).status == 200
    assert anonymous.by("u2").delete(f"{place}/votes/u2{given}").status == 200
    assert (me.get(place + given).json["upCount"], me.get(place + given).json["downCount"]) == (0, 1)
    assert me.patch(place + given, {"text": "Linseed?"}, if_match=found.tag).json["text"] == "Linseed?"
    assert me.delete(place + given).status == 204
    assert list(db(d.votes_of_target("m1"))) == []


@pytest.mark.parametrize("match", [False, True])
def test_a_comment_of_other_code_is_edited_or_removed_at_once(
    team: PerfectIt, anonymous: Client, db: Store, match: bool
) -> None:
    place, me = f"/cards/123/comments/m1?createdAt={T}", anonymous.by("user123")
    headers = {"if_match": me.get(place).tag} if match else {}
    assert me.delete(place, **headers).status == 204
    assert list(db(d.comments_of_card("123"))) == []
    put_documented(db)
    assert me.patch(place, {"text": "Linseed?"}, **headers).json["text"] == "Linseed?"


def test_a_card_of_other_code_can_be_edited_published_and_commented_on(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, updatedAt="2094-12-31T00:00:00Z")
    team.cards.edit("124", Content(title="Edited"))
    team.cards.publish("124")
    assert {each.card_id for each in db(d.cards_by_author("user123"))} == {"123", "124"}
    team.cards.edit("123", Content(title="Varnish"))
    assert [each.card_id for each in team.cards.search("varnish").items] == ["123"]
    team.comment("user123", "123", "Thin coats!")
    team.cards.count_views("123", 5)
    assert [each.text for each in db(d.comments_of_card("123"))] == ["Which oil?", "Thin coats!"]
    assert db.one(d.card("123")).view_count == 8


def test_a_card_of_other_code_can_be_collected_again_and_removed(team: PerfectIt, db: Store) -> None:
    team.collect("user123", "l1", "123")
    team.uncollect("l1", "123")
    assert team.cards_of_collection("l1").items == []


@pytest.mark.parametrize("status", ["DRAFT", "REMOVED", "ARCHIVED"])
def test_others_cannot_see_an_unpublished_card_of_other_code(
    team: PerfectIt, anonymous: Client, db: Store, status: str
) -> None:
    put_card(db, "124", title="Secret", status=status)
    for adopted in (False, True):
        if adopted:
            adopt(db)
        for place in ("/categories/woodworking/cards", "/users/user123/cards"):
            pages = [anonymous.by("u2").get(place + size).json["items"] for size in ("", "?limit=2")]
            assert [[each["cardId"] for each in page] for page in pages] == [["123"], ["123"]]
        assert anonymous.by("u2").get("/cards/124").status == 404


@pytest.mark.parametrize("match", [False, True])
def test_a_category_of_other_code_is_removed_only_if_it_is_empty(
    team: PerfectIt, anonymous: Client, db: Store, match: bool
) -> None:
    boss = anonymous.by("boss", "admin")
    put_category(db, "pine", "woodworking", parentId="woodworking")
    put_category(db, "metal")
    put_card(db, "124", category="metal", status="DRAFT", GSI1PK="CAT#metal")

    def remove(category_id: str) -> int:
        read = {"if_match": boss.get(f"/categories/{category_id}").tag} if match else {}
        return boss.delete(f"/categories/{category_id}", **read).status

    assert (remove("woodworking"), remove("metal"), remove("pine")) == (422, 204, 204)
    assert remove("woodworking") == 422
    team.cards.remove("123")
    assert remove("woodworking") == 204


def test_a_category_that_was_changed_concurrently_stays(team: PerfectIt, anonymous: Client, db: Store) -> None:
    boss = anonymous.by("boss", "admin")
    put_category(db, "metal")
    read = boss.get("/categories/metal").tag
    team.change_category("metal", name="Metal")
    assert boss.delete("/categories/metal", if_match=read).status == 412
    assert db(d.category("metal")) is not None


def test_a_root_category_may_have_a_null_parent(team: PerfectIt, anonymous: Client, db: Store) -> None:
    put_category(db, "metal", parentId=None)
    listed = anonymous.get("/categories")
    assert {each["categoryId"] for each in listed.json["items"]} == {"metal", "woodworking"}
    assert anonymous.get("/categories/metal").json["parentId"] == "ROOT"
    assert adopt(db).refused == []
    assert {each.category_id for each in db(d.root_categories())} == {"metal", "woodworking"}

"""Rows as the team's own code wrote them: read and worked with as they are, and adopted to what the design says."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import Store, connect
from partita.design.plain_values import any_value
from partita.store import Call
from partita.systems.perfectit import design as d
from partita.systems.perfectit.adoption import adopt
from partita.systems.perfectit.cards import Content
from partita.systems.perfectit.service import PerfectIt
from partita.systems.perfectit.terms import terms_of
from partita.wire.requests import PutItem
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, on_disk

UP, DOWN = d.VoteType.UP, d.VoteType.DOWN
T = "2025-01-01T00:00:00Z"
AT = datetime(2025, 1, 1, tzinfo=UTC)
TERMS = {"perfect", "wood", "finish", "furniture", "woodworking", "oil", "cloth"}


def put(db: Store, **attributes: Any) -> None:
    item = {name: any_value(value) for name, value in attributes.items()}
    db.backend.call(PutItem(table_name="perfectit-main", item=item))


def put_user(db: Store, user_id: str, name: str) -> None:
    keys = {"PK": f"USER#{user_id}", "SK": "PROFILE", "GSI1PK": f"USERNAME#{name}", "GSI1SK": "PROFILE"}
    names = {"username": name, "displayName": name}
    put(db, **keys, **names, entityType="User", id=user_id, createdAt=T, updatedAt=T)


def put_vote(db: Store, user_id: str, target_id: str, vote: str, **more: Any) -> None:
    keys = {"PK": f"VOTE#{user_id}#{target_id}", "SK": "VOTE", "GSI1PK": f"TARGET#{target_id}", "GSI1SK": f"VOTE#{T}"}
    put(db, **keys, entityType="Vote", userId=user_id, targetId=target_id, voteType=vote, createdAt=T, **more)


def put_card(db: Store, card_id: str, **more: Any) -> None:
    """The document's example."""
    attributes = {
        "PK": f"CARD#{card_id}",
        "SK": "METADATA",
        "entityType": "PerfectionCard",
        "id": card_id,
        "title": "Perfect Wood Finish",
        "description": "...",
        "imageUrls": [],
        "instructions": ["Sand.", "Oil."],
        "materials": {"oil": "1 l"},
        "tools": ["cloth"],
        "category": "woodworking",
        "tags": ["furniture"],
        "difficulty": "INTERMEDIATE",
        "estimatedTime": 120,
        "estimatedCost": 50,
        "viewCount": 3,
        "voteScore": 7,
        "authorId": "user123",
        "status": "PUBLISHED",
        "createdAt": T,
        "updatedAt": T,
        "GSI1PK": "CAT#woodworking",
        "GSI1SK": f"CREATED#{T}",
        "GSI2PK": "USER#user123",
        "GSI2SK": f"CREATED#{T}",
    }
    put(db, **{**attributes, **more})


def put_category(db: Store, category_id: str, parent_id: str = "ROOT", **more: Any) -> None:
    keys = {"PK": f"CAT#{category_id}", "SK": "METADATA", "GSI1PK": f"PARENT#{parent_id}", "GSI1SK": "SORT#10"}
    put(db, **keys, entityType="Category", id=category_id, name="Wood", sortOrder=10, **more)


def put_documented(db: Store) -> None:
    """What the document shows, with no attribute that it does not have."""
    for user_id, name in (("user123", "Ann"), ("u2", "Ben"), ("u3", "Cho")):
        put_user(db, user_id, name)
    put_category(db, "woodworking")
    put_card(db, "123", GSI5PK="VOTETYPE#CARD", GSI5SK="SCORE#7#123")
    keys = {"PK": "CARD#123", "SK": f"COMMENT#{T}#m1", "GSI1PK": "USER#user123", "GSI1SK": f"COMMENT#{T}"}
    comment = {"id": "m1", "cardId": "123", "authorId": "user123", "text": "Which oil?"}
    put(db, **keys, **comment, entityType="Comment", createdAt=T, updatedAt=T)
    for user_id, target_id, vote in (("user123", "123", "UP"), ("u2", "123", "UP"), ("u3", "123", "DOWN")):
        put_vote(db, user_id, target_id, vote)
    put_vote(db, "u2", "m1", "UP")
    keys = {"PK": "USER#user123", "SK": "COLLECTION#l1", "GSI1PK": "COLLECTION#l1", "GSI1SK": "METADATA"}
    put(db, **keys, entityType="Collection", id="l1", userId="user123", name="Later", createdAt=T, updatedAt=T)
    entry = {"PK": "COLLECTION#l1", "SK": "CARD#123", "collectionId": "l1", "cardId": "123"}
    put(db, **entry, entityType="CardInCollection", createdAt=T)


@pytest.fixture
def team(db: Store) -> PerfectIt:
    """PerfectIt on what the team's own code left."""
    put_documented(db)
    return PerfectIt(db)


def counts(target: d.PerfectionCard | d.Comment) -> tuple[int, int, int]:
    return target.vote_score, target.up_count, target.down_count


# As they are ----------------------------------------------------------------------------------------------------------


def test_votes_and_collections_without_the_attributes_that_we_added_are_listed(team: PerfectIt, db: Store) -> None:
    assert sorted(each.user_id for each in db(d.votes_of_target("123"))) == ["u2", "u3", "user123"]
    assert {each.target_type for each in db(d.votes_of_target("123"))} == {None}
    assert [each.card_id for each in team.collected("l1").items] == ["123"]
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


def test_a_card_of_theirs_goes_with_everything_that_is_about_it(team: PerfectIt, db: Store) -> None:
    team.cards.remove("123")
    assert [item["PK"] for item in disk(db) if item["PK"].startswith(("CARD#", "VOTE#"))] == []


def test_a_comment_of_theirs_is_read_voted_on_edited_and_removed(team: PerfectIt, nobody: Client, db: Store) -> None:
    place, me = "/cards/123/comments/m1", nobody.by("user123")
    given = f"?created_at={T}"
    found = me.get(place + given)
    assert (found.status, found.json["text"]) == (200, "Which oil?")
    assert me.get(f"{place}?created_at=2025-01-01T00:00:01Z").status == 404
    assert me.put(f"{place}/votes/user123{given}", {"voteType": "DOWN"}).status == 204
    assert nobody.by("u2").delete(f"{place}/votes/u2{given}").status == 204
    assert (me.get(place + given).json["upCount"], me.get(place + given).json["downCount"]) == (0, 1)
    assert me.patch(place + given, {"text": "Linseed?"}, if_match=found.tag).json["text"] == "Linseed?"
    assert me.delete(place + given).status == 204
    assert list(db(d.votes_of_target("m1"))) == []


@pytest.mark.parametrize("match", [False, True])
def test_a_comment_of_theirs_is_edited_or_removed_at_once(
    team: PerfectIt, nobody: Client, db: Store, match: bool
) -> None:
    place, me = f"/cards/123/comments/m1?created_at={T}", nobody.by("user123")
    headers = {"if_match": me.get(place).tag} if match else {}
    assert me.delete(place, **headers).status == 204
    assert list(db(d.comments_of_card("123"))) == []
    put_documented(db)
    assert me.patch(place, {"text": "Linseed?"}, **headers).json["text"] == "Linseed?"


def test_a_card_of_theirs_is_edited_published_and_talked_about(team: PerfectIt, db: Store) -> None:
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


def test_a_card_of_theirs_can_be_collected_again_and_taken_out(team: PerfectIt, db: Store) -> None:
    team.collect("user123", "l1", "123")
    team.uncollect("l1", "123")
    assert team.collected("l1").items == []


@pytest.mark.parametrize("status", ["DRAFT", "REMOVED", "ARCHIVED"])
def test_nobody_else_is_shown_a_card_of_theirs_that_is_not_published(
    team: PerfectIt, nobody: Client, db: Store, status: str
) -> None:
    put_card(db, "124", title="Secret", status=status)
    for adopted in (False, True):
        if adopted:
            adopt(db)
        for place in ("/categories/woodworking/cards", "/users/user123/cards"):
            pages = [nobody.by("u2").get(place + size).json["items"] for size in ("", "?limit=2")]
            assert [[each["cardId"] for each in page] for page in pages] == [["123"], ["123"]]
        assert nobody.by("u2").get("/cards/124").status == 403


@pytest.mark.parametrize("match", [False, True])
def test_a_category_of_theirs_is_removed_unless_something_is_in_it(
    team: PerfectIt, nobody: Client, db: Store, match: bool
) -> None:
    boss = nobody.by("boss", "admin")
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


def test_a_category_of_theirs_that_was_changed_meanwhile_stays(team: PerfectIt, nobody: Client, db: Store) -> None:
    boss = nobody.by("boss", "admin")
    put_category(db, "metal")
    read = boss.get("/categories/metal").tag
    team.change_category("metal", name="Metal")
    assert boss.delete("/categories/metal", if_match=read).status == 412
    assert db(d.category("metal")) is not None


def test_a_root_category_of_theirs_may_have_a_parent_that_is_null(team: PerfectIt, nobody: Client, db: Store) -> None:
    put_category(db, "metal", parentId=None)
    listed = nobody.get("/categories")
    assert {each["categoryId"] for each in listed.json["items"]} == {"metal", "woodworking"}
    assert nobody.get("/categories/metal").json["parentId"] == "ROOT"
    assert adopt(db).refused == []
    assert {each.category_id for each in db(d.root_categories())} == {"metal", "woodworking"}


# Adopted --------------------------------------------------------------------------------------------------------------


def test_adoption_makes_counts_terms_controversy_and_what_the_document_lacks(team: PerfectIt, db: Store) -> None:
    done = adopt(db)
    assert (done.refused, done.unknown) == ([], [])
    card = db.one(d.card("123"))
    assert counts(card) == (1, 2, 1)
    assert counts(db.one(d.comment("123", AT, "m1"))) == (1, 1, 0)
    assert [(each.card_id, each.vote_score) for each in db(d.top_voted())] == [("123", 1)]
    assert [each.card_id for each in team.cards.controversial().items] == ["123"]
    assert {each.term for each in db(d.terms_of_card("123"))} == set(terms_of(card)) == TERMS
    assert [each.card_id for each in team.cards.search("furniture oil").items] == ["123"]
    assert {each.target_type for each in db(d.votes_of_target("123"))} == {d.TargetType.CARD}
    assert [each.target_type for each in db(d.votes_of_target("m1"))] == [d.TargetType.COMMENT]
    assert [each.user_id for each in db(d.cards_in_collection("l1"))] == ["user123"]
    assert db.one(d.category("woodworking")).card_count == 1
    assert done.made == len(TERMS) + 1


def test_what_was_adopted_is_worked_with_like_everything_else(team: PerfectIt, db: Store) -> None:
    adopt(db)
    team.votes.on_card("user123", "123", None)
    assert counts(db.one(d.card("123"))) == (0, 1, 1)
    team.cards.edit("123", Content(title="Varnish"))
    assert team.cards.search("wood").items == []
    team.cards.remove("123")
    left = {item["PK"] for item in disk(db) if not item["PK"].startswith("UNIQUE#")}
    assert left == {"USER#user123", "USER#u2", "USER#u3", "CAT#woodworking", "COLLECTION#l1"}
    assert team.sweep("l1") == 1


def test_a_second_adoption_finds_nothing_to_do(team: PerfectIt, db: Store) -> None:
    adopt(db)
    before = disk(db)
    done = adopt(db)
    assert (done.rewritten, done.guarded, done.counted, done.made, done.refused) == (0, 0, 0, 0, [])
    assert disk(db) == before


class Interrupted(Exception):
    pass


@pytest.fixture
def whole(clock: Clock) -> Iterator[list[dict[str, Any]]]:
    """What an adoption that nothing interrupted makes of the document's rows."""
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock)
        store.create_tables()
        put_documented(store)
        adopt(store)
        yield disk(store)


@pytest.mark.parametrize("after", range(1, 39, 2))
def test_adoption_that_was_interrupted_is_finished_by_the_next(
    team: PerfectIt, db: Store, clock: Clock, whole: list[dict[str, Any]], after: int
) -> None:
    heard: list[Call] = []

    def interrupt(call: Call) -> None:
        heard.append(call)
        if len(heard) == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        adopt(Store(db.backend, d.design, clock=clock, on_call=[interrupt]))
    assert adopt(db).refused == []
    assert disk(db) == whole


def test_what_cannot_be_mended_is_told_and_the_rest_is_adopted(team: PerfectIt, db: Store) -> None:
    put_vote(db, "u2", "nowhere", "UP")
    put(db, PK="COLLECTION#gone", SK="CARD#123", entityType="CardInCollection", collectionId="gone", cardId="123")
    for done in (adopt(db), adopt(db)):
        assert sorted(done.refused) == [
            "CardInCollection gone 123: there is no collection gone",
            "Vote u2 nowhere: there is neither a card nor a comment nowhere",
        ]
    assert counts(db.one(d.card("123"))) == (1, 2, 1)


def test_a_value_that_no_key_can_hold_is_told_and_the_rest_is_adopted(team: PerfectIt, db: Store) -> None:
    put_card(db, "200", category="", voteScore=0)
    for done in (adopt(db), adopt(db)):
        refused = "PerfectionCard CARD#200 METADATA: PerfectionCard.category: empty text cannot be part of a key"
        assert done.refused == [refused]
    assert counts(db.one(d.card("123"))) == (1, 2, 1)
    assert {each.card_id for each in db(d.cards_by_term("oil"))} == {"123", "200"}


def test_adoption_corrects_counts_terms_and_controversy_that_have_drifted(team: PerfectIt, db: Store) -> None:
    adopt(db)
    with db.change(d.card("123")) as draft:
        draft.up_count = 9
    db.delete(d.term("123", "oil"))
    db.put(d.Term(card_id="123", term="water"))
    db.put(d.Controversy(card_id="123", score=99))
    done = adopt(db)
    assert (done.counted, done.made) == (1, 1)
    assert counts(db.one(d.card("123"))) == (1, 2, 1)
    assert db.one(d.controversy("123")).score == 1
    assert {each.term for each in db(d.terms_of_card("123"))} == TERMS


def test_a_draft_of_theirs_gets_no_terms(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, updatedAt="2094-12-31T00:00:00Z")
    adopt(db)
    assert list(db(d.terms_of_card("124"))) == []
    stored = on_disk(db, "CARD#124", "METADATA")
    assert stored is not None
    assert "GSI1PK" not in stored


def test_a_draft_of_theirs_is_kept_for_thirty_days_from_its_adoption_on(
    team: PerfectIt, db: Store, clock: Clock
) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, title="x" * 200, difficulty="HARD")
    put_card(db, "125", status="DRAFT", voteScore=0, updatedAt=f"{clock() - d.KEEP_DRAFTS:%Y-%m-%dT%H:%M:%SZ}")
    ours = team.cards.draft("user123", OIL)
    clock.passes(days=29)
    assert adopt(db).refused == []
    drafts = {each.card_id: each for each in db(d.drafts_of_author("user123"))}
    assert drafts.keys() == {"124", "125", ours.card_id}
    assert (drafts["124"].updated_at, drafts[ours.card_id].updated_at) == (clock(), ours.updated_at)
    assert db.one(d.card("124")).title == "x" * 200
    clock.passes(days=29)
    done = adopt(db)
    assert (done.rewritten, done.made, done.counted) == (0, 0, 0)
    assert {each.card_id for each in db(d.drafts_of_author("user123"))} == {"124", "125"}
    clock.passes(days=1)
    assert list(db(d.drafts_of_author("user123"))) == []


@pytest.mark.parametrize("odd", [{"authorId": "gone"}, {"status": None}])
def test_an_odd_draft_of_theirs_is_kept_too(team: PerfectIt, db: Store, clock: Clock, odd: dict[str, Any]) -> None:
    put_card(db, "124", **{"status": "DRAFT", "voteScore": 0, **odd})
    assert adopt(db).refused == []
    assert db.one(d.card("124")).updated_at == clock()


def test_a_draft_of_theirs_that_cannot_be_kept_is_told(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, authorId="")
    for done in (adopt(db), adopt(db)):
        assert all(each.startswith("PerfectionCard ") for each in done.refused)
        assert done.refused != []
    assert on_disk(db, "CARD#124", "METADATA") is not None


def test_what_refers_to_nothing_is_told(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", category="glass", GSI1PK="CAT#glass")
    put_card(db, "125", category="glass", status="DRAFT")
    put_category(db, "oak", "trees", parentId="trees")
    put_category(db, "self", "self", parentId="self")
    keys = {"PK": "CARD#gone", "SK": f"COMMENT#{T}#m2", "GSI1PK": "USER#user123", "GSI1SK": f"COMMENT#{T}"}
    comment = {"id": "m2", "cardId": "gone", "authorId": "user123", "text": "Hello?"}
    put(db, **keys, **comment, entityType="Comment", createdAt=T, updatedAt=T)
    for done in (adopt(db), adopt(db)):
        assert sorted(done.refused) == [
            "Category oak: there is no category trees",
            "Category self: it is its own parent",
            "Comment m2: there is no card gone",
            "PerfectionCard 124: there is no category glass",
        ]
    assert counts(db.one(d.card("123"))) == (1, 2, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"estimatedCost": 49.99}, {"materials": {"oil": 2}}, {"instructions": [{"step": 1, "text": "Sand."}]}],
)
def test_values_of_another_kind_are_told_and_left_alone(team: PerfectIt, db: Store, wrong: dict[str, Any]) -> None:
    put_card(db, "124", **wrong)
    before = on_disk(db, "CARD#124", "METADATA")
    (refused,) = adopt(db).refused
    assert refused.startswith("PerfectionCard CARD#124 METADATA: ")
    assert next(iter(wrong)) in refused
    assert on_disk(db, "CARD#124", "METADATA") == before

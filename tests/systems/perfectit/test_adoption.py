"""Adoption converts items of the team's own code to the design, and reports what it cannot convert."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import SentRequest, Store, connect
from partita_systems.perfectit import design as d
from partita_systems.perfectit.adoption import adopt
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, on_disk
from tests.systems.perfectit.document_rows import (
    T,
    counts,
    put,
    put_card,
    put_category,
    put_documented,
    put_vote,
)

pytestmark = pytest.mark.slow


AT = datetime(2025, 1, 1, tzinfo=UTC)
TERMS = {"perfect", "wood", "finish", "furniture", "woodworking", "oil", "cloth"}


def test_adoption_creates_counts_terms_controversy_and_missing_attributes(team: PerfectIt, db: Store) -> None:
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
    assert done.created == len(TERMS) + 1


def test_every_operation_works_on_adopted_items(team: PerfectIt, db: Store) -> None:
    adopt(db)
    team.votes.on_card("user123", "123", None)
    assert counts(db.one(d.card("123"))) == (0, 1, 1)
    team.cards.edit("123", Content(title="Varnish"))
    assert team.cards.search("wood").items == []
    team.cards.remove("123")
    left = {item["PK"] for item in disk(db) if not item["PK"].startswith("UNIQUE#")}
    assert left == {"USER#user123", "USER#u2", "USER#u3", "CAT#woodworking", "COLLECTION#l1"}
    assert team.sweep("l1") == 1


def test_a_second_adoption_changes_nothing(team: PerfectIt, db: Store) -> None:
    adopt(db)
    before = disk(db)
    done = adopt(db)
    assert (done.rewritten, done.guards_created, done.counted, done.created, done.refused) == (0, 0, 0, 0, [])
    assert disk(db) == before


class Interrupted(Exception):
    pass


@pytest.fixture
def whole(clock: Clock) -> Iterator[list[dict[str, Any]]]:
    """The items of the document after an adoption without interruption."""
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock)
        store.create_tables()
        put_documented(store)
        put_card(store, "124", status="DRAFT")
        adopt(store)
        yield disk(store)


@pytest.mark.parametrize("after", range(1, 41))
def test_an_interrupted_adoption_is_finished_by_the_next(
    team: PerfectIt, db: Store, clock: Clock, whole: list[dict[str, Any]], after: int
) -> None:
    put_card(db, "124", status="DRAFT")
    sent: list[SentRequest] = []

    def interrupt(call: SentRequest) -> None:
        sent.append(call)
        if len(sent) == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        adopt(Store(db.backend, d.design, clock=clock, on_call=[interrupt]))
    assert adopt(db).refused == []
    assert disk(db) == whole


def test_items_that_cannot_be_adopted_are_reported_and_the_others_adopted(team: PerfectIt, db: Store) -> None:
    put_vote(db, "u2", "nowhere", "UP")
    put(db, PK="COLLECTION#gone", SK="CARD#123", entityType="CardInCollection", collectionId="gone", cardId="123")
    for done in (adopt(db), adopt(db)):
        assert sorted(done.refused) == [
            "CardInCollection gone 123: collection gone does not exist",
            "Vote u2 nowhere: no card or comment nowhere exists",
        ]
    assert counts(db.one(d.card("123"))) == (1, 2, 1)


def test_a_value_that_is_not_valid_in_a_key_is_reported_and_the_others_adopted(team: PerfectIt, db: Store) -> None:
    put_card(db, "200", category="", voteScore=0)
    for done in (adopt(db), adopt(db)):
        report = "PerfectionCard CARD#200 METADATA: PerfectionCard.category: empty text cannot be part of a key"
        assert done.refused == [report]
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
    assert (done.counted, done.created) == (1, 1)
    assert counts(db.one(d.card("123"))) == (1, 2, 1)
    assert db.one(d.controversy("123")).score == 1
    assert {each.term for each in db(d.terms_of_card("123"))} == TERMS


def test_a_draft_of_other_code_gets_no_terms(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, updatedAt="2094-12-31T00:00:00Z")
    adopt(db)
    assert list(db(d.terms_of_card("124"))) == []
    stored = on_disk(db, "CARD#124", "METADATA")
    assert stored is not None
    assert "GSI1PK" not in stored


def test_a_draft_of_other_code_expires_thirty_days_after_its_adoption(team: PerfectIt, db: Store, clock: Clock) -> None:
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
    assert (done.rewritten, done.created, done.counted) == (0, 0, 0)
    assert {each.card_id for each in db(d.drafts_of_author("user123"))} == {"124", "125"}
    clock.passes(days=1)
    assert list(db(d.drafts_of_author("user123"))) == []


@pytest.mark.parametrize("odd", [{"authorId": "gone"}, {"status": None}])
def test_an_unusual_draft_is_adopted(team: PerfectIt, db: Store, clock: Clock, odd: dict[str, Any]) -> None:
    put_card(db, "124", **{"status": "DRAFT", "voteScore": 0, **odd})
    assert adopt(db).refused == []
    assert db.one(d.card("124")).updated_at == clock()


def test_a_draft_of_other_code_that_cannot_be_adopted_is_reported(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", status="DRAFT", voteScore=0, authorId="")
    for done in (adopt(db), adopt(db)):
        assert all(each.startswith("PerfectionCard ") for each in done.refused)
        assert done.refused != []
    assert on_disk(db, "CARD#124", "METADATA") is not None


def test_dangling_references_are_reported(team: PerfectIt, db: Store) -> None:
    put_card(db, "124", category="glass", GSI1PK="CAT#glass")
    put_card(db, "125", category="glass", status="DRAFT")
    put_category(db, "oak", "trees", parentId="trees")
    put_category(db, "self", "self", parentId="self")
    keys = {"PK": "CARD#gone", "SK": f"COMMENT#{T}#m2", "GSI1PK": "USER#user123", "GSI1SK": f"COMMENT#{T}"}
    comment = {"id": "m2", "cardId": "gone", "authorId": "user123", "text": "Hello?"}
    put(db, **keys, **comment, entityType="Comment", createdAt=T, updatedAt=T)
    for done in (adopt(db), adopt(db)):
        assert sorted(done.refused) == [
            "Category oak: category trees does not exist",
            "Category self: it is its own parent",
            "Comment m2: card gone does not exist",
            "PerfectionCard 124: category glass does not exist",
        ]
    assert counts(db.one(d.card("123"))) == (1, 2, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"estimatedCost": 49.99}, {"materials": {"oil": 2}}, {"instructions": [{"step": 1, "text": "Sand."}]}],
)
def test_values_of_another_type_are_reported_and_kept(team: PerfectIt, db: Store, wrong: dict[str, Any]) -> None:
    put_card(db, "124", **wrong)
    before = on_disk(db, "CARD#124", "METADATA")
    (report,) = adopt(db).refused
    assert report.startswith("PerfectionCard CARD#124 METADATA: ")
    assert next(iter(wrong)) in report
    assert on_disk(db, "CARD#124", "METADATA") == before

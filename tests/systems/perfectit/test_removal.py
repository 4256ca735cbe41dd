"""A card or a comment that is removed takes everything with it, whoever votes or publishes meanwhile."""

from contextlib import suppress

import pytest

from partita import NotFound, ReferenceMissing, Store
from partita.store import Call
from partita.systems.perfectit import design as d
from partita.systems.perfectit.cards import Content
from partita.systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk

UP = d.VoteType.UP


def test_a_removed_card_takes_comments_terms_and_votes_with_it(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    comment = perfectit.comment(ann, card, "Gone soon.")
    perfectit.votes.on_card(ann, card, UP)
    perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
    perfectit.cards.remove(card)
    assert {item["PK"] for item in disk(db)} == {f"USER#{ann}", "UNIQUE#User#username#ann", "CAT#woodworking"}
    perfectit.cards.remove(card)


def test_nothing_can_be_done_to_a_card_that_is_being_removed(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    with db.change(d.card(card)) as draft:
        draft.status = d.CardStatus.REMOVED
    for listed in (db(d.top_voted()), db(d.cards_by_author(ann)), perfectit.cards.search("wood").items):
        assert list(listed) == []
    with pytest.raises(ReferenceMissing):
        perfectit.comment(ann, card, "Too late.")
    with pytest.raises(ReferenceMissing):
        perfectit.votes.on_card(ann, card, UP)
    with pytest.raises(NotFound):
        perfectit.cards.edit(card, Content(title="Too late"))


def test_a_comment_of_a_card_that_is_being_removed_gets_no_votes(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    comment = perfectit.comment(ann, card, "Too late for votes.")
    with db.change(d.card(card)) as draft:
        draft.status = d.CardStatus.REMOVED
    with pytest.raises(ReferenceMissing, match=f"Vote refers to PerfectionCard {card}"):
        perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
    assert list(db(d.votes_of_target(comment.comment_id))) == []


@pytest.mark.parametrize("at", range(1, 16))
def test_no_vote_survives_a_removal_however_they_meet(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    heard: list[Call] = []

    def meanwhile(call: Call) -> None:
        heard.append(call)
        if len(heard) == at:
            with suppress(NotFound, ReferenceMissing):
                perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
            with suppress(NotFound, ReferenceMissing):
                perfectit.votes.on_card(ann, card, UP)

    PerfectIt(Store(db.backend, d.design, clock=clock, on_call=[meanwhile])).cards.remove(card)
    assert [item["PK"] for item in disk(db) if item["PK"].startswith(("VOTE#", "CARD#"))] == []


@pytest.mark.parametrize("at", range(1, 5))
def test_no_vote_survives_the_removal_of_its_comment(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    where = (card, comment.created_at, comment.comment_id)
    heard: list[Call] = []

    def meanwhile(call: Call) -> None:
        heard.append(call)
        if len(heard) == at:
            with suppress(NotFound):
                perfectit.votes.on_comment(ann, *where, UP)

    PerfectIt(Store(db.backend, d.design, clock=clock, on_call=[meanwhile])).remove_comment(*where)
    assert [item["PK"] for item in disk(db) if item["PK"].startswith("VOTE#")] == []


def test_a_draft_that_is_published_while_it_is_removed_goes_with_the_votes_that_came(
    perfectit: PerfectIt, ann: str, db: Store, clock: Clock
) -> None:
    draft = perfectit.cards.draft(ann, OIL).card_id
    heard: list[Call] = []

    def meanwhile(call: Call) -> None:
        heard.append(call)
        if len(heard) == 3:
            perfectit.cards.publish(draft)
            perfectit.votes.on_card(ann, draft, UP)

    PerfectIt(Store(db.backend, d.design, clock=clock, on_call=[meanwhile])).cards.remove(draft)
    assert [item["PK"] for item in disk(db) if item["PK"].startswith(("VOTE#", "CARD#"))] == []
    assert db.one(d.category("woodworking")).card_count == 0


def test_a_removed_comment_takes_its_votes_with_it(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    comment = perfectit.comment(ann, card, "Never mind.")
    where = (card, comment.created_at, comment.comment_id)
    perfectit.votes.on_comment(ann, *where, UP)
    perfectit.remove_comment(*where)
    assert list(db(d.comments_of_card(card))) == []
    assert list(db(d.votes_of_target(comment.comment_id))) == []
    with pytest.raises(NotFound):
        perfectit.votes.on_comment(ann, *where, UP)

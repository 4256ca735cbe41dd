"""Removing a card or comment deletes everything that belongs to it, whatever happens concurrently."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from partita import ConditionFailed, NotFound, ReferenceMissing, SentRequest, Store
from partita.rest import IfMatch, Problem
from partita.rest.etags import edit_tag
from partita_systems.errors import NotPublished
from partita_systems.perfectit import design as d
from partita_systems.perfectit.api import remove_card
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.comment_routes import remove_comment
from partita_systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk

pytestmark = pytest.mark.slow


UP = d.VoteType.UP


def test_removing_a_card_deletes_its_comments_terms_and_votes(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    comment = perfectit.comment(ann, card, "Gone soon.")
    perfectit.votes.on_card(ann, card, UP)
    perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
    perfectit.cards.remove(card)
    assert {item["PK"] for item in disk(db)} == {f"USER#{ann}", "UNIQUE#User#username#ann", "CAT#woodworking"}
    perfectit.cards.remove(card)


def test_a_card_under_removal_accepts_no_change(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
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


def test_a_comment_of_a_card_under_removal_accepts_no_vote(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    comment = perfectit.comment(ann, card, "Too late for votes.")
    with db.change(d.card(card)) as draft:
        draft.status = d.CardStatus.REMOVED
    with pytest.raises(ReferenceMissing, match=f"Vote refers to PerfectionCard {card}"):
        perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
    assert list(db(d.votes_of_target(comment.comment_id))) == []


@pytest.mark.parametrize("at", range(1, 16))
def test_no_concurrent_vote_survives_a_removal(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    sent: list[SentRequest] = []

    def meanwhile(call: SentRequest) -> None:
        sent.append(call)
        if len(sent) == at:
            with suppress(NotFound, ReferenceMissing, NotPublished):
                perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, UP)
            with suppress(NotFound, ReferenceMissing, NotPublished):
                perfectit.votes.on_card(ann, card, UP)

    PerfectIt(Store(db.backend, d.design, clock=clock, on_call=[meanwhile])).cards.remove(card)
    assert [item["PK"] for item in disk(db) if item["PK"].startswith(("VOTE#", "CARD#"))] == []


def publish_vote_and_comment(perfectit: PerfectIt, user_id: str, card_id: str) -> None:
    """As far as the card accepts it."""
    for act in (
        lambda: perfectit.cards.publish(card_id),
        lambda: perfectit.votes.on_card(user_id, card_id, UP),
        lambda: perfectit.comment(user_id, card_id, "Just published."),
        lambda: perfectit.set_trend(card_id, 5),
    ):
        with suppress(NotFound, ReferenceMissing, NotPublished):
            act()


def about_cards(db: Store) -> list[str]:
    return [item["PK"] for item in disk(db) if item["PK"].startswith(("VOTE#", "CARD#"))]


class Stopped(Exception):
    """Stands for a process that was stopped."""


def acting_after(db: Store, clock: Clock, at: int, act: Callable[[], None]) -> PerfectIt:
    """PerfectIt on a store that calls `act` after its `at`th request."""
    sent: list[SentRequest] = []

    def count(request: SentRequest) -> None:
        sent.append(request)
        if len(sent) == at:
            act()

    return PerfectIt(Store(db.backend, d.design, clock=clock, sleep=lambda _: None, on_call=[count]))


def stop() -> None:
    raise Stopped


def if_match(entity: Any) -> IfMatch:
    return IfMatch(f'"{edit_tag(entity)}.reply"')


@pytest.mark.parametrize("at", range(1, 12))
def test_a_draft_that_is_published_during_its_removal_is_deleted_completely(
    perfectit: PerfectIt, ann: str, db: Store, clock: Clock, at: int
) -> None:
    draft = perfectit.cards.draft(ann, OIL).card_id
    acting_after(db, clock, at, lambda: publish_vote_and_comment(perfectit, ann, draft)).cards.remove(draft)
    assert about_cards(db) == []
    assert db.one(d.category("woodworking")).card_count == 0


@pytest.mark.parametrize("at", range(1, 13))
def test_a_conditional_removal_of_a_draft_either_fails_or_deletes_completely(
    perfectit: PerfectIt, ann: str, db: Store, clock: Clock, at: int
) -> None:
    draft = perfectit.cards.draft(ann, OIL)
    removing = acting_after(db, clock, at, lambda: publish_vote_and_comment(perfectit, ann, draft.card_id))
    try:
        remove_card(removing, draft.card_id, if_match(draft))
    except (Problem, ConditionFailed):
        assert len(list(db(d.comments_of_card(draft.card_id)))) == db.one(d.category("woodworking")).card_count == 1
    else:
        assert about_cards(db) == []
        assert db.one(d.category("woodworking")).card_count == 0


@pytest.mark.parametrize("at", range(1, 11))
def test_a_draft_whose_removal_was_interrupted_is_published_completely_or_not_at_all(
    perfectit: PerfectIt, ann: str, db: Store, clock: Clock, at: int
) -> None:
    draft = perfectit.cards.draft(ann, OIL).card_id
    with suppress(Stopped):
        acting_after(db, clock, at, stop).cards.remove(draft)
    publish_vote_and_comment(perfectit, ann, draft)
    assert len(list(db(d.comments_of_card(draft)))) == len(list(db(d.votes_of_target(draft))))
    assert len(list(db(d.comments_of_card(draft)))) == db.one(d.category("woodworking")).card_count
    perfectit.cards.remove(draft)
    assert about_cards(db) == []


@pytest.mark.parametrize("at", range(1, 7))
def test_a_published_card_whose_deletion_was_interrupted_can_be_removed(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int
) -> None:
    perfectit.votes.on_card(ann, card, UP)
    with suppress(Stopped):
        acting_after(db, clock, at, stop).db.delete(d.card(card))
    with suppress(NotFound):
        perfectit.votes.on_card(ann, card, None)
    perfectit.cards.remove(card)
    assert about_cards(db) == []
    assert db.one(d.category("woodworking")).card_count == 0


def notification(user_id: str, clock: Clock) -> d.Notification:
    return d.Notification(
        notification_id="n_1",
        user_id=user_id,
        notification_type=d.NotificationType.VOTED,
        actor_id="u_1",
        card_id="c_1",
        created_at=clock(),
    )


@pytest.mark.parametrize("at", range(1, 8))
def test_a_user_under_deletion_gets_no_notification(
    perfectit: PerfectIt, ann: str, db: Store, clock: Clock, at: int
) -> None:
    def notify() -> None:
        with suppress(NotFound):
            perfectit.notify(notification(ann, clock))

    acting_after(db, clock, at, notify).db.delete(d.user(ann))
    assert {item["PK"] for item in disk(db)} == {"CAT#woodworking"}


def test_a_deleted_user_gets_no_notification(perfectit: PerfectIt, ann: str, db: Store, clock: Clock) -> None:
    db.delete(d.user(ann))
    with pytest.raises(NotFound, match=ann):
        perfectit.notify(notification(ann, clock))
    assert {item["PK"] for item in disk(db)} == {"CAT#woodworking"}


def test_removing_a_comment_deletes_its_votes(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    comment = perfectit.comment(ann, card, "Never mind.")
    where = (card, comment.created_at, comment.comment_id)
    perfectit.votes.on_comment(ann, *where, UP)
    perfectit.remove_comment(*where)
    assert list(db(d.comments_of_card(card))) == []
    assert list(db(d.votes_of_target(comment.comment_id))) == []
    with pytest.raises(NotFound):
        perfectit.votes.on_comment(ann, *where, UP)


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("at", range(1, 6))
def test_no_concurrent_vote_survives_the_removal_of_its_comment(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int, matched: bool
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    where = (card, comment.created_at, comment.comment_id)

    def vote() -> None:
        with suppress(NotFound):
            perfectit.votes.on_comment(ann, *where, UP)

    unchanged = if_match(comment).when(comment) if matched else None
    acting_after(db, clock, at, vote).remove_comment(*where, when=unchanged)
    assert [item["PK"] for item in disk(db) if item["PK"].startswith("VOTE#")] == []


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("at", range(1, 6))
def test_an_interrupted_removal_of_a_comment_is_completed_by_the_next_call(
    perfectit: PerfectIt, card: str, ann: str, db: Store, clock: Clock, at: int, matched: bool
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    where = (card, comment.created_at, comment.comment_id)
    perfectit.votes.on_comment(ann, *where, UP)
    match = if_match(comment) if matched else IfMatch(None)
    with suppress(Stopped):
        remove_comment(acting_after(db, clock, at, stop), card, comment.comment_id, match)
    if db(d.comment(*where)) is not None:
        remove_comment(perfectit, card, comment.comment_id, match)
    assert db(d.comment(*where)) is None
    assert list(db(d.votes_of_target(comment.comment_id))) == []


def test_a_comment_that_was_edited_concurrently_keeps_its_votes(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    comment = perfectit.comment(ann, card, "Which oil?")
    where = (card, comment.created_at, comment.comment_id)
    perfectit.votes.on_comment(ann, *where, UP)
    perfectit.edit_comment(*where, "Which varnish?")
    with pytest.raises(ConditionFailed):
        perfectit.remove_comment(*where, when=if_match(comment).when(comment))
    assert (db.one(d.comment(*where)).up_count, len(list(db(d.votes_of_target(comment.comment_id))))) == (1, 1)
    perfectit.votes.on_comment(ann, *where, None)

"""What PerfectIt does by itself: notifications, metrics that equal a recount, trends with decay, full text, a sweep."""

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from partita import ConsumerAdministration, ConsumerFaults, JobRunner, NotFound, Store, settle
from partita_systems.perfectit import design as d
from partita_systems.perfectit.consumers import analytics, notifications, raised, search
from partita_systems.perfectit.jobs import jobs, sweep_collections
from partita_systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL


@pytest.fixture
def users(perfectit: PerfectIt) -> tuple[str, str, str]:
    ana, bob, eve = (perfectit.register(name, name).user_id for name in ("ana", "bob", "eve"))
    return ana, bob, eve


def published(perfectit: PerfectIt, author: str) -> str:
    card = perfectit.cards.draft(author, OIL)
    perfectit.cards.publish(card.card_id)
    return card.card_id


def notified(db: Store, user: str) -> list[tuple[str, str]]:
    settle(db, notifications)
    return [(each.notification_type.value, each.actor_id) for each in db(d.notifications_of_user(user))]


def test_author_is_notified_of_comments_votes_and_collections(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str], clock: Clock
) -> None:
    ana, bob, eve = users
    card = published(perfectit, ana)
    perfectit.comment(bob, card, "Fine.")
    clock.passes(seconds=1)
    perfectit.votes.on_card(eve, card, d.VoteType.UP)
    clock.passes(seconds=1)
    collection = perfectit.new_collection(bob, "Wood")
    perfectit.collect(bob, collection.collection_id, card)
    assert notified(db, ana) == [("COLLECTED", bob), ("VOTED", eve), ("COMMENTED", bob)]
    assert perfectit.unread(ana).unread == 3


def test_own_doings_notify_nobody_and_withdrawn_ones_take_theirs_along(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str]
) -> None:
    ana, bob, _ = users
    card = published(perfectit, ana)
    perfectit.comment(ana, card, "Mine.")
    perfectit.votes.on_card(ana, card, d.VoteType.UP)
    assert notified(db, ana) == []
    comment = perfectit.comment(bob, card, "Theirs.")
    perfectit.votes.on_card(bob, card, d.VoteType.UP)
    perfectit.votes.on_card(bob, card, d.VoteType.DOWN)
    assert sorted(notified(db, ana)) == [("COMMENTED", bob), ("VOTED", bob)]
    perfectit.remove_comment(card, comment.created_at, comment.comment_id)
    perfectit.votes.on_card(bob, card, None)
    assert notified(db, ana) == []


def test_replay_repeats_nothing(perfectit: PerfectIt, db: Store, users: tuple[str, str, str]) -> None:
    ana, bob, _ = users
    card = published(perfectit, ana)
    perfectit.comment(bob, card, "Fine.")
    before = notified(db, ana)
    perfectit.read_all_notifications(ana)
    ConsumerAdministration(db, notifications.name).replay(datetime(2026, 1, 1, tzinfo=UTC))
    assert notified(db, ana) == before
    assert perfectit.unread(ana).unread == 0


def recount(db: Store) -> dict[str, Counter[date]]:
    cards = db.scan(d.PerfectionCard)
    return {
        "cards": Counter(each.created_at.date() for each in cards if each.status == d.CardStatus.PUBLISHED),
        "comments": Counter(each.created_at.date() for each in db.scan(d.Comment)),
        "votes": Counter(each.created_at.date() for each in db.scan(d.Vote)),
    }


def test_daily_metrics_equal_a_recount_after_random_doings(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str], clock: Clock
) -> None:
    chance = random.Random(7)
    cards: list[str] = []
    comments: list[d.Comment] = []
    for step in range(150):
        user = chance.choice(users)
        doing = chance.randrange(8)
        if doing == 0 or not cards:
            cards.append(published(perfectit, user))
        elif doing in (1, 2):
            comments.append(perfectit.comment(user, chance.choice(cards), "Fine."))
        elif doing in (3, 4):
            perfectit.votes.on_card(user, chance.choice(cards), chance.choice(list(d.VoteType)))
        elif doing == 5:
            perfectit.votes.on_card(user, chance.choice(cards), None)
        elif doing == 6 and comments:
            found = comments.pop(chance.randrange(len(comments)))
            perfectit.remove_comment(found.card_id, found.created_at, found.comment_id)
        elif len(cards) > 3:
            gone = cards.pop()
            perfectit.cards.remove(gone)
            comments = [each for each in comments if each.card_id != gone]
        clock.passes(hours=chance.randrange(8))
        if step % 40 == 0:
            settle(db, analytics)
    settle(db, analytics)
    stored = {each.day: each for each in db.scan(d.DailyMetrics)}
    for name, expected in recount(db).items():
        counted = {day: getattr(each, name) for day, each in stored.items() if getattr(each, name)}
        assert counted == dict(expected), name
    assert ConsumerAdministration(db, analytics.name).status().dead_letters == 0


def test_views_are_counted_on_the_day_they_are_written(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str]
) -> None:
    card = published(perfectit, users[0])
    perfectit.cards.count_views(card, 5)
    perfectit.cards.count_views(card, 2)
    settle(db, analytics)
    assert sum(each.views for each in db.scan(d.DailyMetrics)) == 7
    assert perfectit.db.one(d.card(card)).view_count == 7


def test_newer_attention_beats_older_and_time_alone_changes_nothing(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str], clock: Clock
) -> None:
    ana, bob, eve = users
    old, new = published(perfectit, ana), published(perfectit, ana)
    for user in users:
        perfectit.votes.on_card(user, old, d.VoteType.UP)
    settle(db, analytics)
    clock.passes(days=3)
    perfectit.votes.on_card(bob, new, d.VoteType.UP)
    perfectit.votes.on_card(eve, new, d.VoteType.UP)
    settle(db, analytics)
    assert [each.card_id for each in db(d.trending())] == [new, old]


def test_trend_of_a_removed_card_is_not_kept(perfectit: PerfectIt, db: Store, users: tuple[str, str, str]) -> None:
    ana, bob, _ = users
    card = published(perfectit, ana)
    perfectit.votes.on_card(bob, card, d.VoteType.UP)
    perfectit.cards.remove(card)
    settle(db, analytics)
    assert list(db(d.trending())) == []


@pytest.mark.parametrize("seed", range(20))
def test_order_of_trends_is_that_of_decayed_sums(seed: int) -> None:
    chance, start = random.Random(seed), datetime(2026, 1, 1, tzinfo=UTC)
    scores: list[int] = []
    sums: list[float] = []
    for _ in range(2):
        score: int | None = None
        events = [(start + timedelta(hours=chance.randrange(500)), chance.uniform(0.1, 9)) for _ in range(9)]
        for at, weight in events:
            score = raised(score, at, weight)
        scores.append(score or 0)
        sums.append(sum(weight * 0.5 ** ((start - at) / timedelta(days=1)) for at, weight in events))
    assert abs(sums[0] / sums[1] - 2 ** ((scores[0] - scores[1]) / 10_000)) < 0.01 * sums[0] / sums[1]


def test_full_text_finds_steps_materials_and_beginnings(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str]
) -> None:
    card = published(perfectit, users[0])
    perfectit.cards.draft(users[0], OIL)
    settle(db, search)
    for text in ("finishes", "fin", "wiping oil", "linseed", "cotton cloths", "furniture"):
        assert [each.card_id for each in perfectit.cards.search(text).items] == [card], text
    assert perfectit.cards.search("granite").items == []
    perfectit.cards.remove(card)
    settle(db, search)
    assert perfectit.cards.search("finish").items == []


def test_sweep_deletes_entries_of_removed_cards_alone(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str], clock: Clock
) -> None:
    ana, bob, _ = users
    stays, goes = published(perfectit, ana), published(perfectit, ana)
    collection = perfectit.new_collection(bob, "Wood").collection_id
    for card in (stays, goes):
        perfectit.collect(bob, collection, card)
    perfectit.cards.remove(goes)
    with pytest.raises(NotFound):
        db.one(d.card(goes))
    runner = JobRunner(db, jobs)
    runner.create_tables()
    runner.run_now(sweep_collections.__name__)
    assert [each.card_id for each in db(d.cards_in_collection(collection))] == [stays]


def test_three_consumers_have_positions_of_their_own_and_what_comes_again_counts_once(
    perfectit: PerfectIt, db: Store, users: tuple[str, str, str], clock: Clock
) -> None:
    """As after a crash between the effect and the checkpoint, and with one consumer that fails for a while."""
    ana, bob, _ = users
    faults = ConsumerFaults()
    settle(db, notifications, analytics)
    card = published(perfectit, ana)
    perfectit.votes.on_card(bob, card, d.VoteType.UP)
    for each in (notifications, analytics):
        faults.duplicate(each, 2)
        faults.fail(each)

    def waiting(name: str) -> int:
        backlog = ConsumerAdministration(db, name).status().backlog
        assert backlog is not None
        return backlog.records

    assert waiting(notifications.name) == waiting(analytics.name) > 0
    settle(db, notifications, faults=faults)
    assert waiting(notifications.name) == 0 < waiting(analytics.name)
    for _ in range(3):
        clock.passes(minutes=5)
        settle(db, notifications, analytics, faults=faults)
    assert [each.notification_type.value for each in db(d.notifications_of_user(ana))] == ["VOTED"]
    assert sum(each.votes for each in db.scan(d.DailyMetrics)) == 1
    assert ConsumerAdministration(db, analytics.name).status().dead_letters == 0

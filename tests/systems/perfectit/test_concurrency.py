"""Concurrent writers on every backend: counters stay exact, and unique items exist once."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, TypeVar

import pytest

from partita import InvalidValue, NotUnique, Store, new_id
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from partita_systems.perfectit.votes import controversy
from tests.systems.perfectit.conftest import published

pytestmark = pytest.mark.slow

THREADS = 6
T = TypeVar("T")
R = TypeVar("R")


@pytest.fixture
def here(backend: Any) -> PerfectIt:
    """PerfectIt on a backend that other tests share: its names are unique."""
    db = Store(backend, d.design)
    db.create_tables()
    return PerfectIt(db)


@pytest.fixture
def category(here: PerfectIt) -> str:
    return here.add_category(new_id("k", here.now()), "Woodworking").category_id


def at_once(do: Callable[[T], R], given: list[T]) -> list[R]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(do, given))


def someone(here: PerfectIt) -> str:
    user_id = new_id("u", here.now())
    return here.register(user_id[-20:], "Somebody", user_id=user_id).user_id


def test_concurrent_votes_changes_and_withdrawals_leave_an_exact_score(here: PerfectIt, category: str) -> None:
    voters = [someone(here) for _ in range(THREADS)]
    card = published(here, voters[0], category=category)
    random = Random(1)
    votes = [(voter, random.choice([d.VoteType.UP, d.VoteType.DOWN, None])) for voter in voters for _ in range(6)]
    random.shuffle(votes)
    at_once(lambda each: here.votes.on_card(each[0], card, each[1]), votes)
    stored_votes = [here.db(d.vote(voter, card), consistent=True) for voter in voters]
    counted = Counter(each.vote_type for each in stored_votes if each is not None)
    up, down = counted[d.VoteType.UP], counted[d.VoteType.DOWN]
    stored = here.db.one(d.card(card), consistent=True)
    assert (stored.vote_score, stored.up_count, stored.down_count) == (up - down, up, down)
    assert here.db.one(d.controversy(card), consistent=True).score == controversy(up, down)
    assert len(list(here.db(d.votes_of_target(card)))) == up + down
    (listed,) = [each for each in here.db(d.top_voted()) if each.card_id == card]
    assert listed.vote_score == up - down


def test_hundreds_of_concurrent_votes_are_all_counted(perfectit: PerfectIt, db: Store) -> None:
    here = PerfectIt(Store(db.backend, d.design))
    author = someone(here)
    card = published(here, author)
    voters = [someone(here) for _ in range(300)]
    at_once(lambda voter: here.votes.on_card(voter, card, d.VoteType.UP), voters)
    assert db.one(d.card(card)).vote_score == len(voters)


def test_concurrent_votes_of_one_user_count_once(here: PerfectIt, category: str) -> None:
    voter = someone(here)
    card = published(here, voter, category=category)
    comment = here.comment(voter, card, "At once.")
    where = (card, comment.created_at, comment.comment_id)
    at_once(lambda _: here.votes.on_card(voter, card, d.VoteType.UP), list(range(12)))
    at_once(lambda _: here.votes.on_comment(voter, *where, d.VoteType.DOWN), list(range(12)))
    assert here.db.one(d.card(card), consistent=True).vote_score == 1
    assert here.db.one(d.comment(*where), consistent=True).vote_score == -1


def test_of_many_concurrent_registrations_of_one_username_exactly_one_succeeds(here: PerfectIt) -> None:
    wanted = new_id("n", here.now())[-20:]

    def register(number: int) -> bool:
        try:
            here.register(wanted.lower() if number % 2 else wanted, "Somebody")
        except NotUnique:
            return False
        return True

    assert sum(at_once(register, list(range(18)))) == 1
    assert len(list(here.db(d.users_by_username(wanted)))) == 1


def test_concurrently_published_and_moved_cards_are_counted_exactly(here: PerfectIt, category: str) -> None:
    other = here.add_category(new_id("k", here.now()), "Metal").category_id
    author = someone(here)
    drafts = [here.cards.draft(author, _content(category)).card_id for _ in range(12)]
    at_once(here.cards.publish, drafts)
    at_once(lambda card: here.cards.edit(card, Content(category=other)), drafts[:5])
    at_once(here.cards.remove, drafts[3:8])
    left = {category: 4, other: 3}
    assert {name: here.db.one(d.category(name), consistent=True).card_count for name in left} == left
    assert {name: len(list(here.db(d.cards_by_category(name)))) for name in left} == left


def test_a_draft_that_is_published_concurrently_is_published_once(here: PerfectIt, category: str) -> None:
    card = here.cards.draft(someone(here), _content(category)).card_id
    at_once(lambda _: here.cards.publish(card), list(range(8)))
    assert here.db.one(d.category(category), consistent=True).card_count == 1
    assert here.db.one(d.card(card), consistent=True).version == 2


def test_concurrent_edits_are_all_applied_and_the_terms_match_the_last(here: PerfectIt, category: str) -> None:
    card = published(here, someone(here), category=category)
    titles = [f"Title{number} word{number}" for number in range(12)]
    at_once(lambda title: here.cards.edit(card, Content(title=title)), titles)
    stored = here.db.one(d.card(card), consistent=True)
    assert stored.version == 2 + len(titles)
    assert {each.term for each in here.db(d.terms_of_card(card), consistent=True)} == set(terms_of(stored))


def test_concurrent_moves_of_categories_create_no_cycle(here: PerfectIt, category: str) -> None:
    other = here.add_category(new_id("k", here.now()), "Metal").category_id

    def move(pair: tuple[str, str]) -> bool:
        try:
            here.move_category(*pair)
        except InvalidValue:
            return False
        return True

    assert sum(at_once(move, [(category, other), (other, category)])) == 1
    found = [here.db.one(d.category(name), consistent=True) for name in (category, other)]
    assert sorted(each.child_count for each in found) == [0, 1]


def _content(category: str) -> Content:
    return Content(title="Perfect Joint", category=category, instructions=["Mark.", "Cut.", "Fit."])

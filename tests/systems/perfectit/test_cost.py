"""Every read pattern costs one request, however much data there is."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from partita import Entity, Get, Query, Store
from partita_systems.perfectit import design as d
from tests.store.clocks import Clock
from tests.systems.cost import ONE_READ, Cost, costs, put_unchecked

pytestmark = pytest.mark.slow


GLOBAL = {"top_voted", "controversial", "trending"}  # a crowd of cards is in their ranges: a page of twenty is read


def world(name: str, now: datetime) -> Iterator[Entity]:
    """One of every entity, all belonging to `name`."""
    yield d.User(user_id=name, username=f"user-{name}", display_name="Someone", created_at=now, updated_at=now)
    card = d.PerfectionCard(
        card_id=name,
        author_id=name,
        title="Sharp edges",
        instructions=["Hold the blade at the angle at which it was ground. " * 20],
        category=name,
        status=d.CardStatus.PUBLISHED,
        created_at=now,
        updated_at=now,
    )
    yield card
    yield d.PerfectionCard(card_id=f"{name}-d", author_id=name, title="Later", created_at=now, updated_at=now)
    yield d.Comment(comment_id=name, card_id=name, author_id=name, text="Yes.", created_at=now, updated_at=now)
    target: dict[str, Any] = {"target_id": name, "target_type": d.TargetType.CARD, "vote_type": d.VoteType.UP}
    yield d.Vote(user_id=name, created_at=now, **target)
    yield d.Collection(collection_id=name, user_id=name, name="Tools", created_at=now, updated_at=now)
    yield d.CardInCollection(collection_id=name, card_id=name, user_id=name, created_at=now)
    yield d.Category(category_id=name, name="Edges", parent_id=d.ROOT if name == "one" else "elsewhere")
    yield d.Category(category_id=f"{name}-c", name="Knives", parent_id=name)
    yield d.Term(card_id=name, term=name)
    yield d.Controversy(card_id=name, score=3)
    yield d.Trend(card_id=name, score=3, seen_at=now)
    happened: dict[str, Any] = {"notification_type": d.NotificationType.VOTED, "actor_id": name, "card_id": name}
    yield d.Notification(notification_id=name, user_id=name, created_at=now, **happened)
    yield d.DailyMetrics(day=now.date(), cards=1)


def every_read(name: str, now: datetime) -> list[Get[Any] | Query[Any]]:
    day = now.date()
    one = "user card category controversy trend users_by_username cards_by_category cards_by_author".split()
    one += "comments_of_card collections_of_user cards_in_collection comments_of_user votes_of_target".split()
    one += "collection_by_id cards_by_term subcategories drafts_of_author notifications_of_user terms_of_card".split()
    one += ["unread_notifications_of_user"]
    calls = [getattr(d, each)(f"user-{name}" if each == "users_by_username" else name) for each in one]
    calls += [getattr(d, each)() for each in ("top_voted", "root_categories", "controversial", "trending")]
    calls += [getattr(d, each)(name, now, name) for each in ("comment", "notification")]
    calls += [getattr(d, each)(name, name) for each in ("vote", "collection", "card_in_collection", "term")]
    return [*calls, d.cards_of_day(day), d.metrics(day), d.metrics_between(day, day)]


@pytest.fixture
def crowded(db: Store, clock: Clock) -> dict[str, Cost]:
    """The cost of every read of one data set, before a hundred others are added."""
    put_unchecked(db, world("one", clock()))
    alone = costs(db, every_read("one", clock()))
    for number in range(100):
        put_unchecked(db, world(f"other{number}", clock() - timedelta(days=1, seconds=number)))
    return alone


def test_every_read_pattern_costs_one_read_with_a_hundred_times_more_data(
    crowded: dict[str, Cost], db: Store, clock: Clock
) -> None:
    assert crowded.keys() == d.design.patterns.keys()
    assert set(crowded.values()) == {ONE_READ}
    after = costs(db, every_read("one", clock()))
    assert {cost for name, cost in after.items() if name not in GLOBAL} == {ONE_READ}


@pytest.mark.usefixtures("crowded")
def test_a_page_of_a_list_over_all_cards_costs_its_twenty_cards(db: Store) -> None:
    for call, units in ((d.top_voted(), 1.0), (d.controversial(), 0.5), (d.trending(), 0.5)):
        with db.measure() as used:
            assert len(db(call).page().items) == 20
        assert (used.requests, used.reads) == (1, units)


@pytest.mark.usefixtures("crowded")
def test_no_index_holds_the_instructions(db: Store) -> None:
    """Lists cost what they return; the long text is read with the card only."""
    long = ["Turn the wheel by hand and listen. " * 50] * 20
    projected = {name for index in d.main.indexes for name in index.project if not isinstance(index.project, str)}
    assert not projected & {"instructions", "description", "materials", "tools"}
    put_unchecked(
        db,
        [
            d.PerfectionCard(
                card_id=f"long{number}",
                author_id="long",
                title="Long",
                description="x" * 5_000,
                instructions=long,
                status=d.CardStatus.PUBLISHED,
                created_at=Clock().now,
            )
            for number in range(5)
        ],
    )
    with db.measure() as used:
        assert len(list(db(d.cards_by_author("long")))) == 5
    assert (used.requests, used.reads) == ONE_READ

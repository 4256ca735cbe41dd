"""Every access pattern costs one GetItem or Query, however much data there is."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from partita import Get, Query, Store
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY, Category
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.cost import ONE_READ, costs, put_unchecked
from tests.systems.eecar.conftest import (
    BUYER,
    MAKER,
    SELLER,
    a_match,
    a_need,
    a_notification,
    a_part,
    a_proposal,
    a_spec,
    a_usage,
    a_watch,
    disk,
)

pytestmark = pytest.mark.slow


CROWD = 100


def calls(eecar: Eecar, clock: Clock) -> dict[str, Get[Any] | Query[Any]]:
    """Every pattern with arguments that find something."""
    part = eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage()])
    eecar.parts.set_vector(part.part_id, "vectors/1.bin", "offline-1", 256)
    need = eecar.needs.post(a_need())
    eecar.matches.advance_catalogue("any")
    eecar.matches.cache(a_match(clock))
    watch = eecar.watches.add(a_watch())
    eecar.watches.add(a_watch(criteria=d.Criteria()))
    eecar.watches.trigger(watch.watch_id, part, 0.9)
    proposal = eecar.proposals.create(a_proposal(part))
    told = eecar.notifications.send(a_notification(clock))
    (usage,) = eecar.db(d.usages(part.part_id))
    eecar.db.put(d.Adopted(at=clock()))
    eecar.notifications.choose(d.PartySettings(party_id=BUYER, language="en"))
    every: list[Get[Any] | Query[Any]] = [
        *(d.parts_in_category(Category.BATTERY), d.active_needs_of_company(MAKER)),
        *(d.received_proposals(SELLER, "pending"), d.most_hit_matches(), d.watches_of_buyer(BUYER, "active")),
        *(d.part(part.part_id), d.whole_part(part.part_id), d.spec(part.part_id), d.vector(part.part_id)),
        *(d.usage(part.part_id, usage.usage_id), d.usages(part.part_id), d.parts_of_seller(SELLER)),
        *(d.need(MAKER, need.need_id), d.needs_by_status("active"), d.match("h1")),
        *(d.watch(watch.watch_id), d.watch_with_triggers(watch.watch_id), d.trigger(watch.watch_id, part.part_id)),
        d.catalogue(ANY),
        d.watching_categories([Category.BATTERY, ANY]),
        *(d.proposal(proposal.proposal_id), d.sent_proposals(BUYER, "pending")),
        *(d.notification(told.notification_id), d.notifications(BUYER), d.unread_notifications(BUYER)),
        *(d.triggers(watch.watch_id), d.adopted(), d.needs_in(["active", "cancelled"]), d.party_settings(BUYER)),
        *(d.parts_in_categories([Category.BATTERY, Category("battery")]), d.received_proposals_in(SELLER, d.OPEN)),
        *(d.sent_proposals_in(BUYER, d.OPEN), d.watches_of_buyer_in(BUYER, ["active", "triggered"])),
    ]
    return {call.read.name: call for call in every}


SEARCHES = {"parts_by_meaning", "parts_by_meaning_in", "similar_queries"}
# One Query for each of two values
MERGED = "watching_categories needs_in parts_in_categories received_proposals_in sent_proposals_in watches_of_buyer_in"


def crowd(clock: Clock) -> Iterator[Any]:
    """A hundred of every entity, of other parties, categories and statuses."""
    for number in range(CROWD):
        part_id, party, category = f"p_{number}", f"c_{number}", Category(f"다른 부품 {number}")
        part = a_part(part_id=part_id, category=category, seller_id=party, description="설명 " * 50)
        yield part
        yield d.SellerEntry(part_id=part_id, seller_id=party, created_at=clock())
        yield a_spec(part_id=part_id)
        yield d.VectorReference(part_id=part_id, s3_key="v", embedding_model="m", dimension=8, created_at=clock())
        yield a_usage(part_id=part_id, usage_id="u_1")
        yield a_need(company_id=party, need_id="n_1", status="fulfilled")
        yield a_match(clock, f"old{number}", created_at=clock() + timedelta(seconds=number))
        yield d.Catalogue(category=category, version=number)
        yield a_watch(watch_id=f"w_{number}", buyer_id=party)
        yield d.Watching(
            watch_id=f"w_{number}", buyer_id=party, category=category, criteria=d.Criteria(), created_at=clock()
        )
        yield d.Trigger(watch_id=f"w_{number}", part_id=part_id, match_score=0.5, notified_at=clock())
        yield a_proposal(part, proposal_id=f"o_{number}", from_company_id=party, to_company_id=f"{party}b")
        yield d.SenderEntry(proposal_id=f"o_{number}", from_company_id=party, status="pending", created_at=clock())
        yield a_notification(clock, notification_id=f"t_{number}", recipient_id=party)
        yield d.PartySettings(party_id=party)
        yield d.Triggering(part_id=part_id, position="", created_at=clock())


def test_every_pattern_costs_one_read_with_a_hundred_times_more_data(eecar: Eecar, db: Store, clock: Clock) -> None:
    every = calls(eecar, clock)
    assert every.keys() == d.design.patterns.keys() - SEARCHES
    expected = dict.fromkeys(every, ONE_READ) | dict.fromkeys(MERGED.split(), (2, 1.0))
    before = len(disk(db))
    assert costs(db, every.values()) == expected
    put_unchecked(db, crowd(clock))
    assert len(disk(db)) == before + (len(d.design.models) - 1) * CROWD  # there is one Adopted
    every.pop("most_hit_matches")  # the crowd is cached too: a page is as long as is asked for
    assert costs(db, every.values()) == {name: cost for name, cost in expected.items() if name in every}
    with db.measure() as used:
        assert len(db(d.most_hit_matches()).page(10).items) == 10
    assert (used.requests, used.reads) == ONE_READ


def test_a_search_is_one_request_and_reads_no_item(db: Store) -> None:
    vector = [1.0] * d.DIMENSION
    for search in (
        d.parts_by_meaning(vector, Category.BATTERY, "m"),
        d.parts_by_meaning_in(vector, Category.BATTERY, "m", d.PartCondition.USED),
        d.similar_queries(vector, "m"),
    ):
        assert search.read.name in SEARCHES
        with db.measure() as used:
            assert db(search) == []
        assert (used.requests, used.reads) == (1, 0.0)


def test_a_page_of_twenty_parts_is_read_from_summaries(eecar: Eecar, db: Store) -> None:
    db.put(d.Adopted(at=db.now()))
    eecar.parts.in_category("battery")
    for _ in range(25):
        eecar.parts.offer(a_part(description="아주 긴 설명 " * 500))
    with db.measure() as used:
        page = eecar.parts.in_category("battery", 20)
    assert (len(page.items), used.requests) == (20, 1)
    assert used.reads <= 1.5  # 20 whole parts would be 23 units


def test_a_hit_does_not_rewrite_the_matched_parts_in_the_index(eecar: Eecar, db: Store, clock: Clock) -> None:
    parts = [d.MatchedPart(part_id=f"p_{number}", score=0.5, reason="이유 " * 100) for number in range(20)]
    db.put(a_match(clock, matched_parts=parts))
    size = len(str(disk(db)["MATCH#h1 RESULT"]).encode()) // 1024
    with db.measure() as used, db.change(d.match("h1"), system_change=True) as draft:
        draft.hit_count += 1
    assert size > 10
    assert used.writes <= size + 3  # the item, and a small index entry taken out and put in


def test_operations_cost_their_stated_number_of_requests(eecar: Eecar, db: Store, clock: Clock) -> None:
    def requests(act: Any) -> int:
        with db.measure() as used:
            act()
        return used.requests

    assert requests(lambda: eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage(), a_usage()])) == 1
    part = eecar.parts.offer(a_part())
    assert requests(lambda: eecar.proposals.create(a_proposal(part))) == 3
    created = eecar.proposals.create(a_proposal(part))
    assert requests(lambda: eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=1)) == 4
    assert requests(lambda: eecar.watches.add(a_watch())) == 1
    watch = eecar.watches.add(a_watch())
    assert requests(lambda: eecar.watches.trigger(watch.watch_id, part, 0.9)) == 3
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions([Category.BATTERY])))
    assert requests(lambda: eecar.matches.lookup("h1")) == 2

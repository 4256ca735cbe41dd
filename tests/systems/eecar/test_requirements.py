"""Each problem of the document that the page lists, and the behaviour that solves it."""

import os
import subprocess
import sys
from datetime import timedelta
from itertools import count
from unicodedata import normalize

import pytest

from partita import InvalidTransition, InvalidValue, NotFound, SentRequest, Store, VersionConflict, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ALIASES, ANY, Category, category_of
from partita_systems.eecar.matches import query_hash
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import (
    BUYER,
    MAKER,
    SELLER,
    a_match,
    a_need,
    a_part,
    a_proposal,
    a_spec,
    a_usage,
    a_watch,
    disk,
)
from tests.timing import PATIENCE

# HIT_COUNT: text order --------------------------------------------------------------------------------------------


def test_most_hit_matches_are_sorted_by_number(db: Store, clock: Clock) -> None:
    for hits in (9, 10, 0, 200, 1_000_000):
        db.put(a_match(clock, f"h{hits}", hit_count=hits))
    assert [each.hit_count for each in db(d.most_hit_matches())] == [1_000_000, 200, 10, 9, 0]
    assert disk(db)["MATCH#h10 RESULT"]["GSI1SK"] == {"S": "HIT_COUNT#000000000010"}


def test_hits_are_counted_in_batches_and_never_on_the_read_path(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions()))
    with db.measure() as used:
        for _ in range(20):
            assert eecar.matches.lookup("h1") is not None
    assert used.writes == 0
    assert db.one(d.match("h1")).hit_count == 0
    with db.measure() as used:
        assert eecar.matches.write_hits() == 1
    assert used.requests == 2  # a read, and a fenced write
    assert db.one(d.match("h1")).hit_count == 20
    assert eecar.matches.write_hits() == 0


def test_hits_of_an_expired_match_are_dropped(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions()))
    eecar.matches.lookup("h1")
    clock.passes(days=7)
    assert eecar.matches.write_hits() == 1
    assert db(d.match("h1")) is None


def test_hits_that_could_not_be_written_are_written_the_next_time(eecar: Eecar, db: Store, clock: Clock) -> None:
    for name in ("h1", "h2", "h3"):
        eecar.matches.cache(a_match(clock, name))
    writes = count(1)

    def fail(call: SentRequest) -> None:
        if call.operation == "UpdateItem" and next(writes) == 2:
            raise ZeroDivisionError

    failing = Eecar(Store(db.backend, d.design, clock=clock, on_call=[fail]))
    for name in ("h1", "h2", "h3"):
        failing.matches.lookup(name)
    with pytest.raises(ZeroDivisionError):
        failing.matches.write_hits()
    assert failing.matches.write_hits() == 1
    assert sum(each.hit_count for each in db(d.most_hit_matches())) == 3


# PRIORITY: alphabetical -------------------------------------------------------------------------------------------


def test_needs_are_sorted_by_priority_then_oldest_first(eecar: Eecar, db: Store, clock: Clock) -> None:
    posted = []
    for priority in ("low", "high", "medium", "high"):
        posted.append(eecar.needs.post(a_need(priority=d.Priority(priority))).need_id)
        clock.passes(minutes=1)
    low, high, medium, later = posted
    assert [each.need_id for each in db(d.needs_by_status("active"))] == [high, later, medium, low]
    created = "2095-01-01T00:01:00.000000Z"
    assert disk(db)[f"COMPANY#{MAKER} NEED#{high}"]["GSI1SK"] == {"S": f"PRIORITY#0-high#CREATED#{created}"}


# GSI1PK = CACHE: one partition, rewritten at every hit ------------------------------------------------------------


def test_cached_matches_are_in_the_documented_partition(db: Store, clock: Clock) -> None:
    db.put(a_match(clock))
    assert disk(db)["MATCH#h1 RESULT"]["GSI1PK"] == {"S": "CACHE"}


SHARDED_CACHE = """
from partita import Store, connect
from partita_systems.eecar import design as d
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import a_match, disk

db = Store(connect("memory:", maintain=False), d.design, clock=Clock())
db.create_tables()
for hits in range(12):
    db.put(a_match(Clock(), f"h{hits}", hit_count=hits))
with db.measure() as used:
    assert [each.hit_count for each in db(d.most_hit_matches())] == list(reversed(range(12)))
print(used.requests, *sorted({item["GSI1PK"]["S"] for item in disk(db).values()}))
"""


def test_the_number_of_cache_shards_is_a_setting() -> None:
    environment = os.environ | {"EECAR_CACHE_SHARDS": "3", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", SHARDED_CACHE]
    result = subprocess.run(run, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert result.stdout.split() == ["3", "CACHE#0", "CACHE#1", "CACHE#2"]


# category 배터리 in the entity, battery in the query: two partitions for one thing -----------------------------------


def test_all_aliases_of_a_category_share_one_partition(eecar: Eecar, db: Store) -> None:
    words = ("배터리", "battery", " Battery ", "BATTERIES", normalize("NFD", "배터리"), "축전지")
    for word in words:
        eecar.parts.offer(a_part(category=Category(word)))
    stored = [item for key, item in disk(db).items() if key.endswith("METADATA")]
    assert [item["category"] for item in stored] == [{"S": "배터리"}] * len(words)
    assert {item["GSI1PK"]["S"] for item in stored} == {"CATEGORY#배터리"}
    for word in words:
        assert len(eecar.parts.in_category(word).items) == len(words)


def test_every_alias_has_exactly_one_category() -> None:
    for category, aliases in ALIASES.items():
        assert {category_of(alias) for alias in (category.value, *aliases)} == {category}


def test_a_part_can_change_its_category(eecar: Eecar, battery: d.Part) -> None:
    eecar.parts.set_category(battery.part_id, "motor")
    assert eecar.parts.in_category("배터리").items == []
    assert [each.part_id for each in eecar.parts.in_category("모터").items] == [battery.part_id]


@pytest.mark.parametrize("word", ["", "  ", "ANY", "any", "가" * 61])
def test_an_invalid_category_is_rejected_naming_the_field(eecar: Eecar, db: Store, word: str) -> None:
    with pytest.raises(InvalidValue, match=r"Part.category"):
        eecar.parts.offer(a_part(category=Category(word)))
    assert disk(db) == {}


# needs expiresAt: TTL wants a number, and a fulfilled need must not vanish ----------------------------------------


def test_a_need_has_a_ttl_only_while_it_is_active(eecar: Eecar, db: Store, clock: Clock) -> None:
    until = clock() + timedelta(days=10)
    need = eecar.needs.post(a_need(expires_at=until))
    key = f"COMPANY#{MAKER} NEED#{need.need_id}"
    assert disk(db)[key]["TTL"] == {"N": str(int(until.timestamp()))}
    assert disk(db)[key]["expiresAt"] == {"S": "2095-01-11T00:00:00.000000Z"}
    eecar.needs.fulfil(MAKER, need.need_id)
    assert "TTL" not in disk(db)[key]
    clock.passes(days=11)
    assert db.one(d.need(MAKER, need.need_id)).status == "fulfilled"


def test_an_expired_need_is_hidden_and_cannot_be_fulfilled(eecar: Eecar, db: Store, clock: Clock) -> None:
    need = eecar.needs.post(a_need(expires_at=clock() + timedelta(days=10)))
    clock.passes(days=10)
    assert list(db(d.needs_by_status("active"))) == []
    assert list(db(d.active_needs_of_company(MAKER))) == []
    with pytest.raises(NotFound):
        eecar.needs.fulfil(MAKER, need.need_id)


def test_the_expiry_of_a_need_can_be_changed(eecar: Eecar, db: Store, clock: Clock) -> None:
    need = eecar.needs.post(a_need(expires_at=clock() + timedelta(days=10)))
    eecar.needs.set_expiry(MAKER, need.need_id, clock() + timedelta(days=20))
    clock.passes(days=15)
    assert db.one(d.need(MAKER, need.need_id)).status == "active"
    eecar.needs.set_expiry(MAKER, need.need_id, None)
    clock.passes(days=365)
    assert db.one(d.need(MAKER, need.need_id)).status == "active"


def test_a_cancelled_need_cannot_be_fulfilled(eecar: Eecar) -> None:
    need = eecar.needs.post(a_need())
    eecar.needs.cancel(MAKER, need.need_id)
    with pytest.raises(InvalidTransition, match=r"Need.status: cannot change from 'cancelled' to 'fulfilled'"):
        eecar.needs.fulfil(MAKER, need.need_id)


# company's active needs by filter: reads every need the company ever had ------------------------------------------


def test_pages_of_active_needs_are_refilled_behind_the_declared_filter(eecar: Eecar, db: Store, clock: Clock) -> None:
    active = []
    for number in range(30):
        need = eecar.needs.post(a_need())
        clock.passes(seconds=1)
        if number % 10:
            eecar.needs.fulfil(MAKER, need.need_id)
        else:
            active.append(need.need_id)
    page = db(d.active_needs_of_company(MAKER)).page(2)
    assert [each.need_id for each in page.items] == active[:2]
    rest = db(d.active_needs_of_company(MAKER)).page(2, page.cursor)
    assert [each.need_id for each in rest.items] == active[2:]
    with db.measure() as used:
        assert len(list(db(d.needs_by_status("active")))) == 3
    assert (used.requests, used.reads) == (1, 0.5)


# watches by part: only BUYER# is indexed, triggering would scan ---------------------------------------------------


def test_watches_of_a_category_are_found_without_a_scan(eecar: Eecar, db: Store, clock: Clock) -> None:
    watches = []
    for category in ("battery", None, "모터"):
        criteria = d.Criteria(category=None if category is None else Category(category))
        watches.append(eecar.watches.add(a_watch(criteria=criteria)).watch_id)
        clock.passes(seconds=1)
    battery, everything, _ = watches
    with db.measure() as used:
        assert [each.watch_id for each in eecar.watches.of_category("배터리")] == [battery, everything]
    assert used.requests == 2
    assert disk(db)[f"WATCH#{battery} INDEX"]["GSI1PK"] == {"S": "WATCH_CATEGORY#배터리"}
    assert disk(db)[f"WATCH#{everything} INDEX"]["GSI1PK"] == {"S": "WATCH_CATEGORY#ANY"}


def test_a_watch_is_found_by_category_only_while_it_is_active(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.watches.set_criteria(watch.watch_id, d.Criteria(category=Category("motor"), max_price=1))
    assert list(eecar.watches.of_category("배터리")) == []
    (found,) = eecar.watches.of_category("모터")
    assert (
        found.criteria == db.one(d.watch(watch.watch_id)).criteria == d.Criteria(category=Category.MOTOR, max_price=1)
    )
    eecar.watches.cancel(watch.watch_id)
    assert list(eecar.watches.of_category("모터")) == []
    assert [each.watch_id for each in db(d.watches_of_buyer(BUYER, "cancelled"))] == [watch.watch_id]
    assert list(db(d.watches_of_buyer(BUYER, "active"))) == []


def test_a_watch_and_its_index_item_are_written_together_or_not_at_all(eecar: Eecar, db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"Watch.criteria.maxPrice"):
        eecar.watches.add(a_watch(criteria=d.Criteria(max_price=-1)))
    assert disk(db) == {}


# watch triggered, one triggeredAt, many TRIGGER#: once or many ----------------------------------------------------


def test_a_watch_stays_active_and_stores_the_last_time(eecar: Eecar, db: Store, clock: Clock, battery: d.Part) -> None:
    watch = eecar.watches.add(a_watch())
    for _ in range(3):
        clock.passes(hours=1)
        assert eecar.watches.trigger(watch.watch_id, eecar.parts.offer(a_part()), 0.9)
    stored = db.one(d.watch(watch.watch_id))
    assert (stored.status, stored.triggered_at) == ("active", clock())
    assert len([each for each in db(d.watch_with_triggers(watch.watch_id)) if isinstance(each, d.Trigger)]) == 3


def test_a_part_triggers_a_watch_once(eecar: Eecar, db: Store, clock: Clock, battery: d.Part) -> None:
    watch = eecar.watches.add(a_watch())
    assert eecar.watches.trigger(watch.watch_id, battery, 0.9)
    first = clock()
    clock.passes(hours=1)
    assert not eecar.watches.trigger(watch.watch_id, battery, 0.9)
    assert db.one(d.watch(watch.watch_id)).triggered_at == first
    (sent,) = db(d.notifications(BUYER))
    assert (sent.type, sent.data) == ("part_available", {"watchId": watch.watch_id, "partId": battery.part_id})


def test_a_watch_marked_once_ends_as_triggered(eecar: Eecar, db: Store, battery: d.Part) -> None:
    watch = eecar.watches.add(a_watch(once=True))
    assert eecar.watches.trigger(watch.watch_id, battery, 0.9)
    assert not eecar.watches.trigger(watch.watch_id, eecar.parts.offer(a_part()), 0.9)
    assert db.one(d.watch(watch.watch_id)).status == "triggered"
    assert list(eecar.watches.of_category("배터리")) == []
    assert len(list(db(d.notifications(BUYER)))) == 1


def test_a_cancelled_watch_is_not_triggered(eecar: Eecar, db: Store, battery: d.Part) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.watches.cancel(watch.watch_id)
    assert not eecar.watches.trigger(watch.watch_id, battery, 0.9)
    assert not eecar.watches.trigger("w_none", battery, 0.9)
    assert list(db(d.notifications(BUYER))) == []


# sent proposals, a seller's parts: no index -----------------------------------------------------------------------


def test_parts_of_a_seller_are_listed_newest_first_in_pages(eecar: Eecar, db: Store, clock: Clock) -> None:
    listed = []
    for _ in range(5):
        listed.append(eecar.parts.offer(a_part()))
        clock.passes(minutes=1)
    eecar.parts.offer(a_part(seller_id=MAKER))
    with db.measure() as used:
        page = eecar.parts.of_seller(SELLER, size=3)
    assert page.items == listed[:1:-1]
    assert used.requests == 2
    assert eecar.parts.of_seller(SELLER, size=3, cursor=page.cursor).items == listed[1::-1]


def test_a_transferred_or_withdrawn_part_leaves_the_seller(eecar: Eecar, db: Store, battery: d.Part) -> None:
    eecar.parts.transfer(battery.part_id, MAKER, by=SELLER)
    assert eecar.parts.of_seller(SELLER).items == []
    assert [each.seller_id for each in eecar.parts.of_seller(MAKER).items] == [MAKER]
    eecar.parts.withdraw(battery.part_id)
    assert eecar.parts.of_seller(MAKER).items == []
    assert disk(db) == {}


def test_a_part_with_more_usages_than_a_transaction_can_be_withdrawn(eecar: Eecar, db: Store, battery: d.Part) -> None:
    for _ in range(120):
        eecar.parts.add_usage(battery.part_id, a_usage())
    eecar.parts.withdraw(battery.part_id)
    assert disk(db) == {}


@pytest.mark.parametrize("how", ["withdraw", "delete"])
def test_deleting_a_part_deletes_spec_vector_and_usages(eecar: Eecar, db: Store, how: str) -> None:
    part = eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage() for _ in range(30)])
    eecar.parts.set_vector(part.part_id, "vectors/1.bin", "offline-1", 256)
    if how == "withdraw":
        eecar.parts.withdraw(part.part_id)
    else:
        db.delete(d.part(part.part_id))
    assert disk(db) == {}
    with pytest.raises(NotFound):
        eecar.parts.add_usage(part.part_id, a_usage())


def test_sent_proposals_follow_the_status_of_the_proposal(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    assert eecar.proposals.sent_by(BUYER, "pending").items == [created]
    assert list(db(d.received_proposals(SELLER, "pending"))) == [created]
    eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=created.version)
    assert eecar.proposals.sent_by(BUYER, "pending").items == []
    assert list(db(d.received_proposals(SELLER, "pending"))) == []
    (accepted,) = eecar.proposals.sent_by(BUYER, "accepted").items
    assert list(db(d.received_proposals(SELLER, "accepted"))) == [accepted]
    db.delete(d.proposal(created.proposal_id))
    assert eecar.proposals.sent_by(BUYER, "accepted").items == []


def test_a_party_has_one_id_as_seller_buyer_and_recipient(eecar: Eecar, db: Store) -> None:
    mine = eecar.parts.offer(a_part(seller_id=MAKER))
    theirs = eecar.parts.offer(a_part())
    eecar.needs.post(a_need(company_id=MAKER))
    watch = eecar.watches.add(a_watch(buyer_id=MAKER))
    eecar.watches.trigger(watch.watch_id, theirs, 1.0)
    eecar.proposals.create(a_proposal(mine, to_company_id=MAKER))
    eecar.proposals.create(a_proposal(theirs, from_company_id=MAKER, to_company_id=SELLER))
    assert len(eecar.parts.of_seller(MAKER).items) == 1
    assert len(list(db(d.active_needs_of_company(MAKER)))) == 1
    assert len(list(db(d.watches_of_buyer(MAKER, "active")))) == 1
    assert len(list(db(d.received_proposals(MAKER, "pending")))) == 1
    assert len(eecar.proposals.sent_by(MAKER, "pending").items) == 1
    assert {each.type for each in db(d.notifications(MAKER))} == {"part_available", "proposal_received"}


# cached matches: new parts make them stale ------------------------------------------------------------------------


def test_a_match_is_stale_after_a_version_of_its_categories_changes(eecar: Eecar, db: Store, clock: Clock) -> None:
    db.put(d.Catalogue(category=Category.BATTERY, version=5))
    seen = eecar.matches.catalogue_versions([Category.BATTERY, Category.MOTOR])
    assert seen == {"배터리": 5, "모터": 0}
    eecar.matches.cache(a_match(clock, catalogue=seen))
    db.put(d.Catalogue(category=Category.CHARGER, version=1))
    assert eecar.matches.lookup("h1") is not None
    db.put(d.Catalogue(category=Category.MOTOR, version=1))
    assert eecar.matches.lookup("h1") is None


def test_a_match_of_all_categories_is_stale_after_any_change(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions()))
    assert eecar.matches.lookup("h1") is not None
    db.put(d.Catalogue(category=ANY, version=1))
    assert eecar.matches.lookup("h1") is None


def test_a_replaced_match_keeps_its_hits_and_expires_later(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions()))
    eecar.matches.lookup("h1")
    eecar.matches.write_hits()
    clock.passes(days=6)
    eecar.matches.cache(a_match(clock, catalogue={"ANY": 7}, matched_parts=[]))
    clock.passes(days=6)
    renewed = db.one(d.match("h1"))
    assert (renewed.hit_count, renewed.catalogue, renewed.matched_parts) == (1, {"ANY": 7}, [])
    clock.passes(days=1)
    assert db(d.match("h1")) is None
    eecar.matches.cache(a_match(clock))
    assert db.one(d.match("h1")).hit_count == 0


def test_a_query_hash_depends_on_words_conditions_and_models() -> None:
    asked = query_hash("ESS용 배터리", {"maxPrice": 5, "category": "배터리"}, "e1", "r1")
    assert asked == query_hash(
        f" {normalize('NFD', 'ess용  배터리')} ", {"category": "배터리", "maxPrice": 5}, "e1", "r1"
    )
    others = {
        query_hash("ESS 배터리", {"maxPrice": 5, "category": "배터리"}, "e1", "r1"),
        query_hash("ESS용 배터리", {"maxPrice": 6, "category": "배터리"}, "e1", "r1"),
        query_hash("ESS용 배터리", {"maxPrice": 5, "category": "배터리"}, "e2", "r1"),
        query_hash("ESS용 배터리", {"maxPrice": 5, "category": "배터리"}, "e1", "r2"),
    }
    assert len(others | {asked}) == 5


# vectors in S3: part and vector can disagree ----------------------------------------------------------------------


def test_a_vector_reference_requires_its_part(eecar: Eecar, db: Store, battery: d.Part) -> None:
    eecar.parts.set_vector(battery.part_id, "vectors/1.bin", "offline-1", 256)
    eecar.parts.set_vector(battery.part_id, "vectors/2.bin", "offline-2", 512)
    assert db.one(d.vector(battery.part_id)).s3_key == "vectors/2.bin"
    eecar.parts.withdraw(battery.part_id)
    with pytest.raises(NotFound, match=r"Part .* does not exist"):
        eecar.parts.set_vector(battery.part_id, "vectors/3.bin", "offline-2", 512)
    assert disk(db) == {}


# the whole part: one Query ----------------------------------------------------------------------------------------


def test_a_whole_part_is_one_query_with_typed_items(eecar: Eecar, db: Store) -> None:
    part = eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage(), a_usage(industry="건설")])
    vector = eecar.parts.set_vector(part.part_id, "vectors/1.bin", "offline-1", 256)
    with db.measure() as used:
        whole = eecar.parts.whole(part.part_id)
    assert (used.requests, used.reads) == (1, 0.5)
    assert whole is not None
    assert (whole.part, whole.vector) == (part, vector)
    assert whole.spec is not None
    assert whole.spec.electrical_props == d.ElectricalProps(voltage=650, capacity=72.6)
    assert {each.industry for each in whole.usages} == {"재생에너지", "건설"}
    assert eecar.parts.whole("p_none") is None


# proposals: a state machine where only one of two answers succeeds ------------------------------------------------


def test_an_answered_proposal_stays_answered(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.proposals.answer(created.proposal_id, SELLER, "rejected", version=1)
    with pytest.raises(VersionConflict):
        eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=1)
    for answer in ("accepted", "rejected"):
        with pytest.raises(InvalidTransition, match=r"Proposal.status: cannot change from"):
            eecar.proposals.answer(created.proposal_id, SELLER, answer, version=2)
    with pytest.raises(InvalidTransition):
        eecar.proposals.revise(created.proposal_id, BUYER, version=2, quantity=1, price_offer=1)
    assert db.one(d.proposal(created.proposal_id)).status == "rejected"


def test_an_answer_to_an_earlier_offer_is_rejected(eecar: Eecar, db: Store, clock: Clock, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.proposals.answer(created.proposal_id, SELLER, "negotiating", version=1)
    eecar.proposals.revise(created.proposal_id, BUYER, version=2, quantity=2, price_offer=8_500_000)
    with pytest.raises(VersionConflict):
        eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=2)
    clock.passes(hours=1)
    eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=3)
    accepted = db.one(d.proposal(created.proposal_id))
    assert (accepted.status, accepted.price_offer, accepted.responded_at) == ("accepted", 8_500_000, clock())


def test_the_recipient_answers_and_the_sender_revises(eecar: Eecar, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    with pytest.raises(InvalidValue, match=r"Proposal.toCompanyId"):
        eecar.proposals.answer(created.proposal_id, BUYER, "accepted", version=1)
    with pytest.raises(InvalidValue, match=r"Proposal.fromCompanyId"):
        eecar.proposals.revise(created.proposal_id, SELLER, version=1, quantity=1, price_offer=1)


def test_the_design_alone_enforces_the_state_machine(db: Store, eecar: Eecar, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    for status in ("accepted", "accepted"):
        with db.change(d.proposal(created.proposal_id)) as draft:
            draft.status = status
    with pytest.raises(InvalidTransition), db.change(d.proposal(created.proposal_id)) as draft:
        draft.status = "rejected"


# notifications ----------------------------------------------------------------------------------------------------


def test_a_new_proposal_notifies_in_its_own_transaction(eecar: Eecar, db: Store, clock: Clock, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    (sent,) = db(d.notifications(SELLER))
    assert (sent.type, sent.title, sent.message) == ("proposal_received", f"{BUYER}의 구매 제안", "2개, 8,000,000원")
    assert sent.data == {"proposalId": created.proposal_id, "partIds": [battery.part_id], "status": "pending"}
    assert disk(db)[f"NOTIFICATION#{sent.notification_id} METADATA"]["TTL"] == {
        "N": str(int((clock() + timedelta(days=30)).timestamp()))
    }


def test_notifications_are_newest_first_and_expire_after_thirty_days(
    eecar: Eecar, db: Store, clock: Clock, battery: d.Part
) -> None:
    for _ in range(3):
        eecar.proposals.create(a_proposal(battery))
        clock.passes(days=10)
    times = [each.sent_at for each in db(d.notifications(SELLER))]
    assert times == sorted(times, reverse=True)
    assert len(times) == 2
    newest = next(iter(db(d.notifications(SELLER))))
    eecar.notifications.mark_read(newest.notification_id)
    assert db.one(d.notification(newest.notification_id)).read
    clock.passes(days=30)
    with pytest.raises(NotFound):
        eecar.notifications.mark_read(newest.notification_id)


# bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"name": ""}, "Part.name"),
        ({"name": "가" * 201}, "Part.name"),
        ({"year": 1800}, "Part.year"),
        ({"condition": "새것"}, "Part.condition"),
        ({"price": -1}, "Part.price"),
        ({"quantity": -1}, "Part.quantity"),
        ({"seller_id": ""}, "Part.sellerId"),
        ({"description": "가" * 20_001}, "Part.description"),
        ({"images": ["x"] * 41}, "Part.images"),
    ],
)
def test_bad_input_is_rejected_naming_the_field_and_nothing_is_written(
    eecar: Eecar, db: Store, given: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidValue, match=named):
        eecar.parts.offer(a_part(**given), spec=a_spec())
    assert disk(db) == {}


def test_a_bad_spec_leaves_no_part_behind(eecar: Eecar, db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"Spec.weight"):
        eecar.parts.offer(a_part(), spec=a_spec(weight=-1))
    assert disk(db) == {}


def test_bad_needs_watches_and_proposals_are_rejected_naming_the_field(
    eecar: Eecar, db: Store, clock: Clock, battery: d.Part
) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match=r"Need.expiresAt"):
        eecar.needs.post(a_need(expires_at=clock()))
    with pytest.raises(InvalidValue, match=r"Need.requiredSpecs.category"):
        eecar.needs.post(a_need(required_specs=d.RequiredSpecs(category=ANY)))
    with pytest.raises(InvalidValue, match=r"Watch.email"):
        eecar.watches.add(a_watch(email=None))
    with pytest.raises(InvalidValue, match=r"Watch.email"):
        eecar.watches.add(a_watch(email="dasol@"))
    with pytest.raises(InvalidValue, match=r"Proposal.toCompanyId"):
        eecar.proposals.create(a_proposal(battery, to_company_id=BUYER))
    with pytest.raises(InvalidValue, match=r"Proposal.partIds: part 'p_none' does not exist"):
        eecar.proposals.create(a_proposal(battery, part_ids=["p_none"]))
    with pytest.raises(InvalidValue, match=r"Proposal.partIds"):
        eecar.proposals.create(a_proposal(battery, part_ids=[]))
    with pytest.raises(InvalidValue, match=r"Proposal.quantity"):
        eecar.proposals.create(a_proposal(battery, quantity=0))
    assert disk(db) == before


def test_an_unknown_category_does_not_break_a_read(eecar: Eecar, db: Store, battery: d.Part) -> None:
    with db.change(d.part(battery.part_id)) as draft:
        draft.category = Category("수소탱크")
    assert db.one(d.part(battery.part_id)).category.value == "수소탱크"
    assert len(eecar.parts.in_category("수소탱크").items) == 1


def test_items_on_disk_have_the_document_s_names_and_keys(eecar: Eecar, db: Store) -> None:
    part = eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage()])
    items = disk(db)
    key = f"PART#{part.part_id}"
    assert items[f"{key} METADATA"].keys() == {
        *("PK", "SK", "GSI1PK", "GSI1SK", "name", "category", "manufacturer", "model", "year", "condition", "price"),
        *("quantity", "sellerId", "description", "images", "createdAt", "updatedAt"),
    }
    assert items[f"{key} METADATA"]["GSI1SK"] == {"S": "CREATED_AT#2095-01-01T00:00:00.000000Z"}
    assert items[f"{key} SPEC"]["electricalProps"] == {"M": {"voltage": {"N": "650"}, "capacity": {"N": "72.6"}}}
    assert items[f"{key} SPEC"].keys() >= {"materialComposition", "chemicalProps", "thermalProps", "recyclingInfo"}
    assert "GSI1PK" not in items[f"{key} SPEC"]
    assert items[f"{key} SELLER"]["GSI1PK"] == {"S": f"SELLER#{SELLER}"}
    (usage,) = db(d.usages(part.part_id))
    assert items[f"{key} USAGE#{usage.usage_id}"]["successCase"] == {"BOOL": True}


def test_lookup_items_have_their_owner(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    assert db.one(get(d.SenderEntry, created.proposal_id)).from_company_id == BUYER
    assert db.one(get(d.SellerEntry, battery.part_id)).seller_id == SELLER

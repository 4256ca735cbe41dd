"""Concurrent writers: one of two answers succeeds, a part triggers a watch once, and counters stay exact."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any, get_args

import pytest

from partita import InvalidTransition, NotFound, ReferenceMissing, Store, VersionConflict, connect, get
from partita_systems.eecar import design as d
from partita_systems.eecar.proposals import Answer
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.systems.eecar.conftest import (
    BUYER,
    MAKER,
    SELLER,
    a_match,
    a_need,
    a_part,
    a_proposal,
    a_usage,
    a_watch,
    disk,
)

pytestmark = pytest.mark.slow

THREADS = 8


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    fresh(backend, d.design, clock)
    return Store(backend, d.design, clock=clock)


def successes(act: Callable[[Any], object], over: Iterable[Any], *losing: type[Exception]) -> int:
    """How many of these concurrent calls succeed; the others fail with one of the expected errors."""

    def attempt(value: Any) -> bool:
        try:
            return act(value) is not False
        except losing:
            return False

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(attempt, over))


def test_of_many_answers_to_one_offer_exactly_one_succeeds(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    answers = get_args(Answer) * 4

    def answer(given: Answer) -> None:
        eecar.proposals.answer(created.proposal_id, SELLER, given, version=created.version)

    assert successes(answer, answers, VersionConflict, InvalidTransition) == 1
    settled = db.one(d.proposal(created.proposal_id), consistent=True)
    assert settled.version == 2
    assert db.one(get(d.SenderEntry, created.proposal_id), consistent=True).status == settled.status
    for status in get_args(d.ProposalStatus):
        expected = [created.proposal_id] if status == settled.status else []
        assert [each.proposal_id for each in db(d.received_proposals(SELLER, status))] == expected
        assert [each.proposal_id for each in db(d.sent_proposals(BUYER, status))] == expected


def test_of_an_answer_and_a_revised_offer_one_succeeds(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = [eecar.proposals.create(a_proposal(battery)) for _ in range(6)]

    def act(number: int) -> None:
        proposal = created[number // 2]
        if number % 2:
            eecar.proposals.answer(proposal.proposal_id, SELLER, "accepted", version=1)
        else:
            eecar.proposals.revise(proposal.proposal_id, BUYER, version=1, quantity=1, price_offer=1)

    assert successes(act, range(12), VersionConflict, InvalidTransition) == 6
    for proposal in created:
        settled = db.one(d.proposal(proposal.proposal_id), consistent=True)
        assert (settled.status, settled.price_offer) in (("accepted", 8_000_000), ("pending", 1))


def test_concurrent_triggers_by_one_part_count_once(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    parts = [eecar.parts.offer(a_part()) for _ in range(4)]
    assert successes(lambda part: eecar.watches.trigger(watch.watch_id, part, 0.9), parts * 4) == len(parts)
    triggers = [each.part_id for each in db(d.watch_with_triggers(watch.watch_id)) if isinstance(each, d.Trigger)]
    told = [each.data["partId"] for each in db(d.notifications(BUYER))]
    assert sorted(triggers) == sorted(told) == sorted(part.part_id for part in parts)


def test_a_watch_marked_once_is_triggered_by_one_of_many_parts(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch(once=True))
    parts = [eecar.parts.offer(a_part()) for _ in range(8)]
    assert successes(lambda part: eecar.watches.trigger(watch.watch_id, part, 0.9), parts) == 1
    assert len(list(db(d.notifications(BUYER)))) == 1
    assert db.one(d.watch(watch.watch_id), consistent=True).status == "triggered"
    assert list(eecar.watches.of_category("배터리")) == []


def test_a_watch_that_is_cancelled_during_a_trigger_is_not_found_afterwards(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    parts = [eecar.parts.offer(a_part()) for _ in range(6)]

    def act(number: int) -> bool:
        if number == 3:
            eecar.watches.cancel(watch.watch_id)
            return False
        return eecar.watches.trigger(watch.watch_id, parts[number], 0.9)

    triggered = successes(act, range(6))
    assert len(list(db(d.notifications(BUYER)))) == triggered
    assert db.one(d.watch(watch.watch_id), consistent=True).status == "cancelled"
    assert list(eecar.watches.of_category("배터리")) == []


def test_hits_of_many_processes_are_all_counted(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.cache(a_match(clock, catalogue=eecar.matches.catalogue_versions()))
    processes = [Eecar(db) for _ in range(4)]

    def act(number: int) -> None:
        process = processes[number % 4]
        assert process.matches.lookup("h1") is not None
        process.matches.write_hits()

    assert successes(act, range(16)) == 16
    assert db.one(d.match("h1"), consistent=True).hit_count == 16
    assert [each.hit_count for each in db(d.most_hit_matches())] == [16]


def test_a_need_is_fulfilled_or_cancelled_and_not_both(eecar: Eecar, db: Store) -> None:
    need = eecar.needs.post(a_need())
    ends = [eecar.needs.fulfil, eecar.needs.cancel] * 4
    ended = successes(lambda end: end(MAKER, need.need_id), ends, InvalidTransition)
    status = db.one(d.need(MAKER, need.need_id), consistent=True).status
    assert (ended, status) in ((4, "fulfilled"), (4, "cancelled"))
    for other in get_args(d.NeedStatus):
        assert len(list(db(d.needs_by_status(other)))) == (other == status)


def test_concurrent_offers_transfers_and_withdrawals_leave_exact_lists(eecar: Eecar, db: Store) -> None:
    parts = [eecar.parts.offer(a_part()) for _ in range(8)]

    def act(number: int) -> None:
        part = parts[number // 2]
        if number % 2:
            eecar.parts.transfer(part.part_id, MAKER, by=SELLER)
        elif number % 4:
            eecar.parts.withdraw(part.part_id)

    successes(act, range(16), NotFound)
    left = {part.part_id: part.seller_id for part in eecar.parts.in_category("battery", 100).items}
    listed = {part.part_id: seller for seller in (SELLER, MAKER) for part in eecar.parts.of_seller(seller).items}
    assert left == listed
    assert set(left) == {part.part_id for number, part in enumerate(parts) if number % 2 == 0}


def test_a_usage_that_is_added_during_a_withdrawal_is_deleted(eecar: Eecar, db: Store) -> None:
    parts = [eecar.parts.offer(a_part()) for _ in range(4)]

    def act(number: int) -> None:
        part_id = parts[number // 4].part_id
        if number % 4 == 2:
            eecar.parts.withdraw(part_id)
        else:
            eecar.parts.add_usage(part_id, a_usage())

    successes(act, range(16), NotFound)
    assert [list(db(d.whole_part(part.part_id), consistent=True)) for part in parts] == [[]] * 4


def test_ids_of_one_moment_are_all_different(eecar: Eecar) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        created = list(threads.map(lambda _: eecar.parts.offer(a_part()).part_id, range(24)))
    assert len(set(created)) == 24
    assert all(each.startswith("p_") for each in created)


# A concurrent write after each request of a deletion --------------------------------------------------------------

Act = Callable[[Eecar, str], object]
CONCURRENT_WRITES: dict[str, tuple[type[Any], Act]] = {
    "triggers the watch": (d.Watch, lambda eecar, key: eecar.watches.trigger(key, a_part(part_id="p_1"), 0.5)),
    "changes the criteria": (d.Watch, lambda eecar, key: eecar.watches.set_criteria(key, d.Criteria())),
    "cancels the watch": (d.Watch, lambda eecar, key: eecar.watches.cancel(key)),
    "answers the proposal": (d.Proposal, lambda eecar, key: eecar.proposals.answer(key, SELLER, "rejected", version=1)),
    "adds a usage": (d.Part, lambda eecar, key: eecar.parts.add_usage(key, a_usage())),
    "sets the spec": (d.Part, lambda eecar, key: eecar.parts.set_spec(key, d.Spec(weight=1))),
    "transfers the part": (d.Part, lambda eecar, key: eecar.parts.transfer(key, MAKER, by=SELLER)),
}
DELETE: dict[type[Any], Act] = {
    d.Watch: lambda eecar, key: eecar.db.delete(d.watch(key)),
    d.Proposal: lambda eecar, key: eecar.db.delete(d.proposal(key)),
    d.Part: lambda eecar, key: eecar.parts.withdraw(key),
}


def created(eecar: Eecar, kind: type[Any], *, old: bool) -> str:
    """The id of an entity to delete; `old` has no lookup item, as other code writes it."""
    part = eecar.parts.offer(a_part(), usages=[a_usage()])
    watch = eecar.watches.add(a_watch()).watch_id
    proposal = eecar.proposals.create(a_proposal(part)).proposal_id
    ids: dict[type[Any], str] = {d.Part: part.part_id, d.Watch: watch, d.Proposal: proposal}
    lookup_items: dict[type[Any], type[Any]] = {d.Part: d.SellerEntry, d.Watch: d.Watching, d.Proposal: d.SenderEntry}
    if old:
        eecar.db.delete(get(lookup_items[kind], ids[kind]))
    return ids[kind]


def left_behind(kind: type[Any], write: Act, at: int, *, old: bool) -> list[str] | None:
    """The items that remain if `write` runs after this request of the deletion; None if there are fewer."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock())
        db.create_tables()
        key = created(Eecar(db), kind, old=old)
        numbers = count(1)

        def count_request(_: object) -> None:
            if next(numbers) == at:
                with suppress(NotFound, ReferenceMissing, InvalidTransition):
                    write(Eecar(db), key)

        DELETE[kind](Eecar(Store(backend, d.design, clock=Clock(), on_call=[count_request])), key)
        return [each for each in disk(db) if f"#{key} " in each] if next(numbers) > at else None


@pytest.mark.parametrize("old", [False, True], ids=["ours", "other code's"])
@pytest.mark.parametrize("who", CONCURRENT_WRITES)
def test_a_deletion_leaves_nothing_while_another_writer(who: str, old: bool) -> None:
    kind, act = CONCURRENT_WRITES[who]
    at = 1
    while (left := left_behind(kind, act, at, old=old)) is not None:
        assert left == [], at
        at += 1
    assert at > 2

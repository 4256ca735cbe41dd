"""Many at once: of two answers one wins, a part triggers a watch once, and every count is what is counted."""

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


def won(act: Callable[[Any], object], over: Iterable[Any], *losing: type[Exception]) -> int:
    """How many of these went through, all at once; the others lost in one of the expected ways."""

    def attempt(value: Any) -> bool:
        try:
            return act(value) is not False
        except losing:
            return False

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(attempt, over))


def test_of_many_answers_to_one_offer_exactly_one_wins(eecar: Eecar, db: Store, battery: d.Part) -> None:
    made = eecar.proposals.make(a_proposal(battery))
    answers = get_args(Answer) * 4

    def answer(given: Answer) -> None:
        eecar.proposals.answer(made.proposal_id, SELLER, given, version=made.version)

    assert won(answer, answers, VersionConflict, InvalidTransition) == 1
    settled = db.one(d.proposal(made.proposal_id), consistent=True)
    assert settled.version == 2
    assert db.one(get(d.Sent, made.proposal_id), consistent=True).status == settled.status
    for status in get_args(d.ProposalStatus):
        expected = [made.proposal_id] if status == settled.status else []
        assert [each.proposal_id for each in db(d.received_proposals(SELLER, status))] == expected
        assert [each.proposal_id for each in db(d.sent_proposals(BUYER, status))] == expected


def test_of_an_answer_and_a_revised_offer_one_wins(eecar: Eecar, db: Store, battery: d.Part) -> None:
    made = [eecar.proposals.make(a_proposal(battery)) for _ in range(6)]

    def act(number: int) -> None:
        proposal = made[number // 2]
        if number % 2:
            eecar.proposals.answer(proposal.proposal_id, SELLER, "accepted", version=1)
        else:
            eecar.proposals.revise(proposal.proposal_id, BUYER, version=1, quantity=1, price_offer=1)

    assert won(act, range(12), VersionConflict, InvalidTransition) == 6
    for proposal in made:
        settled = db.one(d.proposal(proposal.proposal_id), consistent=True)
        assert (settled.status, settled.price_offer) in (("accepted", 8_000_000), ("pending", 1))


def test_a_part_triggers_a_watch_once_however_many_tell_of_it(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.begin(a_watch())
    parts = [eecar.parts.list_(a_part()) for _ in range(4)]
    assert won(lambda part: eecar.watches.trigger(watch.watch_id, part, 0.9), parts * 4) == len(parts)
    triggers = [each.part_id for each in db(d.watch_with_triggers(watch.watch_id)) if isinstance(each, d.Trigger)]
    told = [each.data["partId"] for each in db(d.notifications(BUYER))]
    assert sorted(triggers) == sorted(told) == sorted(part.part_id for part in parts)


def test_a_watch_marked_once_tells_of_one_of_many_parts(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.begin(a_watch(once=True))
    parts = [eecar.parts.list_(a_part()) for _ in range(8)]
    assert won(lambda part: eecar.watches.trigger(watch.watch_id, part, 0.9), parts) == 1
    assert len(list(db(d.notifications(BUYER)))) == 1
    assert db.one(d.watch(watch.watch_id), consistent=True).status == "triggered"
    assert list(eecar.watches.who_watches("배터리")) == []


def test_a_watch_cancelled_while_it_triggers_is_never_found_afterwards(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.begin(a_watch())
    parts = [eecar.parts.list_(a_part()) for _ in range(6)]

    def act(number: int) -> bool:
        if number == 3:
            eecar.watches.cancel(watch.watch_id)
            return False
        return eecar.watches.trigger(watch.watch_id, parts[number], 0.9)

    triggered = won(act, range(6))
    assert len(list(db(d.notifications(BUYER)))) == triggered
    assert db.one(d.watch(watch.watch_id), consistent=True).status == "cancelled"
    assert list(eecar.watches.who_watches("배터리")) == []


def test_hits_that_many_processes_write_are_all_counted(eecar: Eecar, db: Store, clock: Clock) -> None:
    eecar.matches.remember(a_match(clock, catalogue=eecar.matches.catalogue()))
    processes = [Eecar(db) for _ in range(4)]

    def act(number: int) -> None:
        process = processes[number % 4]
        assert process.matches.recall("h1") is not None
        process.matches.write_hits()

    assert won(act, range(16)) == 16
    assert db.one(d.match("h1"), consistent=True).hit_count == 16
    assert [each.hit_count for each in db(d.most_hit_matches())] == [16]


def test_a_need_is_fulfilled_or_cancelled_and_not_both(eecar: Eecar, db: Store) -> None:
    need = eecar.needs.post(a_need())
    ends = [eecar.needs.fulfil, eecar.needs.cancel] * 4
    ended = won(lambda end: end(MAKER, need.need_id), ends, InvalidTransition)
    status = db.one(d.need(MAKER, need.need_id), consistent=True).status
    assert (ended, status) in ((4, "fulfilled"), (4, "cancelled"))
    for other in get_args(d.NeedStatus):
        assert len(list(db(d.needs_by_status(other)))) == (other == status)


def test_parts_listed_handed_over_and_withdrawn_at_once_leave_exact_lists(eecar: Eecar, db: Store) -> None:
    parts = [eecar.parts.list_(a_part()) for _ in range(8)]

    def act(number: int) -> None:
        part = parts[number // 2]
        if number % 2:
            eecar.parts.hand_over(part.part_id, MAKER)
        elif number % 4:
            eecar.parts.withdraw(part.part_id)

    won(act, range(16), NotFound)
    left = {part.part_id: part.seller_id for part in eecar.parts.in_category("battery", 100).items}
    listed = {part.part_id: seller for seller in (SELLER, MAKER) for part in eecar.parts.of_seller(seller).items}
    assert left == listed
    assert set(left) == {part.part_id for number, part in enumerate(parts) if number % 2 == 0}


def test_a_use_added_while_its_part_is_withdrawn_does_not_stay_behind(eecar: Eecar, db: Store) -> None:
    parts = [eecar.parts.list_(a_part()) for _ in range(4)]

    def act(number: int) -> None:
        part_id = parts[number // 4].part_id
        if number % 4 == 2:
            eecar.parts.withdraw(part_id)
        else:
            eecar.parts.add_usage(part_id, a_usage())

    won(act, range(16), NotFound)
    assert [list(db(d.whole_part(part.part_id), consistent=True)) for part in parts] == [[]] * 4


def test_ids_made_at_one_moment_are_all_different(eecar: Eecar) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        made = list(threads.map(lambda _: eecar.parts.list_(a_part()).part_id, range(24)))
    assert len(set(made)) == 24
    assert all(each.startswith("p_") for each in made)


# Something is deleted, and between any two of its requests somebody writes to it ----------------------------------

Act = Callable[[Eecar, str], object]
MEANWHILE: dict[str, tuple[type[Any], Act]] = {
    "tells of a part": (d.Watch, lambda eecar, key: eecar.watches.trigger(key, a_part(part_id="p_1"), 0.5)),
    "revises the watch": (d.Watch, lambda eecar, key: eecar.watches.revise(key, d.Criteria())),
    "cancels the watch": (d.Watch, lambda eecar, key: eecar.watches.cancel(key)),
    "answers": (d.Proposal, lambda eecar, key: eecar.proposals.answer(key, SELLER, "rejected", version=1)),
    "adds a use": (d.Part, lambda eecar, key: eecar.parts.add_usage(key, a_usage())),
    "specifies": (d.Part, lambda eecar, key: eecar.parts.specify(key, d.Spec(weight=1))),
    "hands over": (d.Part, lambda eecar, key: eecar.parts.hand_over(key, MAKER)),
}
DELETE: dict[type[Any], Act] = {
    d.Watch: lambda eecar, key: eecar.db.delete(d.watch(key)),
    d.Proposal: lambda eecar, key: eecar.db.delete(d.proposal(key)),
    d.Part: lambda eecar, key: eecar.parts.withdraw(key),
}


def begun(eecar: Eecar, kind: type[Any], *, old: bool) -> str:
    """The id of something to delete; `old` has no companion, as other code writes it."""
    part = eecar.parts.list_(a_part(), usages=[a_usage()])
    watch = eecar.watches.begin(a_watch()).watch_id
    proposal = eecar.proposals.make(a_proposal(part)).proposal_id
    ids: dict[type[Any], str] = {d.Part: part.part_id, d.Watch: watch, d.Proposal: proposal}
    companions: dict[type[Any], type[Any]] = {d.Part: d.Offered, d.Watch: d.Watching, d.Proposal: d.Sent}
    if old:
        eecar.db.delete(get(companions[kind], ids[kind]))
    return ids[kind]


def left_behind(kind: type[Any], meanwhile: Act, at: int, *, old: bool) -> list[str] | None:
    """What is left of a thing into whose deletion somebody wrote; None where it had fewer requests."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock())
        db.create_tables()
        key = begun(Eecar(db), kind, old=old)
        numbers = count(1)

        def listen(_: object) -> None:
            if next(numbers) == at:
                with suppress(NotFound, ReferenceMissing, InvalidTransition):
                    meanwhile(Eecar(db), key)

        DELETE[kind](Eecar(Store(backend, d.design, clock=Clock(), on_call=[listen])), key)
        return [each for each in disk(db) if f"#{key} " in each] if next(numbers) > at else None


@pytest.mark.parametrize("old", [False, True], ids=["ours", "other code's"])
@pytest.mark.parametrize("who", MEANWHILE)
def test_nothing_is_left_of_what_is_deleted_while_somebody(who: str, old: bool) -> None:
    kind, act = MEANWHILE[who]
    at = 1
    while (left := left_behind(kind, act, at, old=old)) is not None:
        assert left == [], at
        at += 1
    assert at > 2

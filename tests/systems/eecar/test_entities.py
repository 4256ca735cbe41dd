"""Every entity can be created, read, changed and deleted."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from partita import AlreadyExists, Get, Store, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
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
)

Make = Callable[[d.Part, d.Watch, Clock], Any]

# One of each entity, the pattern that reads it, and a change of it.
EACH: dict[type[Any], tuple[Make, Callable[[Any], Get[Any]], dict[str, Any]]] = {
    d.Part: (
        lambda *_: a_part(part_id="p_1", images=["https://example.com/a.jpg"]),
        lambda e: d.part(e.part_id),
        {"price": 1},
    ),
    d.Adopted: (
        lambda *args: d.Adopted(at=args[2]()),
        lambda _: d.adopted(),
        {"at": datetime(2030, 1, 1, tzinfo=UTC)},
    ),
    d.PartySettings: (
        lambda *_: d.PartySettings(party_id=BUYER),
        lambda e: d.party_settings(e.party_id),
        {"language": "en"},
    ),
    d.Triggering: (
        lambda *args: d.Triggering(part_id="p_1", position="w_1", created_at=args[2]()),
        lambda e: get(d.Triggering, e.part_id),
        {"position": "w_2"},
    ),
    d.SellerEntry: (
        lambda part, _, clock: d.SellerEntry(part_id="p_bare", seller_id=SELLER, created_at=clock()),
        lambda e: get(d.SellerEntry, e.part_id),
        {"seller_id": MAKER},
    ),
    d.Spec: (
        lambda part, *_: a_spec(part_id=part.part_id, chemical_props={"양극재": "NCM811", "비율": [8, 1, 1]}),
        lambda e: d.spec(e.part_id),
        {"weight": 1.25},
    ),
    d.VectorReference: (
        lambda part, _, clock: d.VectorReference(
            part_id=part.part_id, s3_key="v/1", embedding_model="m", dimension=8, created_at=clock()
        ),
        lambda e: d.vector(e.part_id),
        {"dimension": 16},
    ),
    d.Usage: (
        lambda part, *_: a_usage(part_id=part.part_id, usage_id="u_1", requirements={"용량": "10kWh"}),
        lambda e: d.usage(e.part_id, e.usage_id),
        {"success_case": False},
    ),
    d.Need: (lambda *_: a_need(need_id="n_1"), lambda e: d.need(e.company_id, e.need_id), {"priority": "high"}),
    d.Match: (lambda _, __, clock: a_match(clock), lambda e: d.match(e.query_hash), {"hit_count": 3}),
    d.Catalogue: (
        lambda *_: d.Catalogue(category=Category.BATTERY),
        lambda e: d.catalogue(e.category),
        {"version": 2},
    ),
    d.Watch: (lambda *_: a_watch(watch_id="w_1"), lambda e: d.watch(e.watch_id), {"phone": "010-1234-5678"}),
    d.Watching: (
        lambda _, __, clock: d.Watching(
            watch_id="w_bare", buyer_id=BUYER, category=Category.MOTOR, criteria=d.Criteria(), created_at=clock()
        ),
        lambda e: get(d.Watching, e.watch_id),
        {"category": Category.BATTERY},
    ),
    d.Trigger: (
        lambda part, watch, clock: d.Trigger(
            watch_id=watch.watch_id, part_id=part.part_id, match_score=0.5, notified_at=clock()
        ),
        lambda e: d.trigger(e.watch_id, e.part_id),
        {"match_score": 0.75},
    ),
    d.Proposal: (
        lambda part, *_: a_proposal(part, proposal_id="o_1", terms={"납기": "2주", "보증": {"개월": 6}}),
        lambda e: d.proposal(e.proposal_id),
        {"price_offer": 7},
    ),
    d.SenderEntry: (
        lambda _, __, clock: d.SenderEntry(
            proposal_id="o_bare", from_company_id=BUYER, status="pending", created_at=clock()
        ),
        lambda e: get(d.SenderEntry, e.proposal_id),
        {"status": "accepted"},
    ),
    d.Notification: (
        lambda _, __, clock: a_notification(clock, notification_id="t_1", data={"partIds": ["p_1"]}),
        lambda e: d.notification(e.notification_id),
        {"read": True},
    ),
}


def test_every_entity_is_tested() -> None:
    assert EACH.keys() == {model.cls for model in d.design.models}


@pytest.mark.parametrize("kind", EACH, ids=lambda kind: kind.__name__)
def test_an_entity_is_created_read_changed_and_deleted(
    kind: type[Any], eecar: Eecar, db: Store, clock: Clock, battery: d.Part
) -> None:
    make, key, change = EACH[kind]
    watch = eecar.watches.add(a_watch())
    for bare in (a_part(part_id="p_bare"), a_watch(watch_id="w_bare"), a_proposal(battery, proposal_id="o_bare")):
        db.create(bare)
    created = db.create(make(battery, watch, clock))
    call = key(created)
    assert db.one(call) == created
    with pytest.raises(AlreadyExists):
        db.create(make(battery, watch, clock))
    with db.change(call) as draft:
        for name, value in change.items():
            setattr(draft, name, value)
    changed = db.one(call)
    kept = {"updated_at", "version"} - change.keys()
    assert _without(changed, kept) == _without(msgspec.structs.replace(created, **change), kept)
    db.delete(call)
    assert db(call) is None


def _without(entity: Any, names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(entity).items() if name not in names}


def test_an_edit_changes_the_update_time_of_a_part(eecar: Eecar, db: Store, clock: Clock, battery: d.Part) -> None:
    clock.passes(hours=1)
    with db.change(d.part(battery.part_id)) as draft:
        draft.quantity -= 1
    part = db.one(d.part(battery.part_id))
    assert (part.quantity, part.created_at, part.updated_at) == (2, battery.created_at, clock())
    (listed,) = eecar.parts.in_category("배터리").items
    assert (listed.quantity, listed.updated_at) == (2, clock())


def test_a_spec_is_replaced_and_usages_are_added(eecar: Eecar, db: Store, battery: d.Part) -> None:
    eecar.parts.set_spec(battery.part_id, a_spec())
    eecar.parts.set_spec(battery.part_id, d.Spec(weight=40))
    assert db.one(d.spec(battery.part_id)) == d.Spec(part_id=battery.part_id, weight=40)
    added = eecar.parts.add_usage(battery.part_id, a_usage())
    assert list(db(d.usages(battery.part_id))) == [added]


def test_a_watch_is_deleted_with_its_triggers(eecar: Eecar, db: Store, battery: d.Part) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.watches.trigger(watch.watch_id, battery, 0.5)
    db.delete(d.watch(watch.watch_id))
    assert list(db(d.watch_with_triggers(watch.watch_id))) == []
    assert list(eecar.watches.of_category("배터리")) == []


def test_a_notification_gets_an_id(eecar: Eecar, db: Store, clock: Clock) -> None:
    sent = eecar.notifications.send(a_notification(clock))
    assert list(db(d.notifications(BUYER))) == [sent]

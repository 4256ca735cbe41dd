"""Watches, rules and sweeps act by themselves, from changes: once, in the recipient's language."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from partita import ConsumerFaults, Store, connect, settle
from partita_systems import delivery
from partita_systems.eecar import compliance, consumers
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.jobs import sweep_objects
from partita_systems.eecar.matching import Wanted
from partita_systems.eecar.service import Eecar
from partita_systems.eecar.watch_triggers import AT_ONCE
from partita_systems.objects import FolderObjects, ObjectStore
from tests.rest.client import Client
from tests.systems.eecar.conftest import BUYER, SELLER, a_part, a_proposal, a_spec, a_watch


@pytest.fixture
def db() -> Iterator[Store]:
    """On the clock of the machine: what a change causes has the time of the change, which is the machine's."""
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, sleep=lambda _: None)
        store.create_tables()
        yield store


def settled(db: Store) -> None:
    settle(db, consumers.watches)


def triggered(db: Store, watch: d.Watch) -> list[str]:
    settled(db)
    return [each.part_id for each in db(d.triggers(watch.watch_id))]


def notified(db: Store, recipient_id: str) -> list[tuple[str, str]]:
    return [(each.type.value, each.title) for each in db(d.notifications(recipient_id))]


# Watches


def test_new_part_triggers_a_watch_by_itself(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch(criteria=d.Criteria(category=Category.BATTERY, max_price=5_000_000)))
    part = eecar.parts.offer(a_part())
    assert triggered(db, watch) == [part.part_id]
    assert notified(db, BUYER) == [("part_available", f"관심 부품이 등록되었습니다: {part.name}")]
    assert db.one(d.watch(watch.watch_id)).triggered_at is not None


@pytest.mark.parametrize(
    ("criteria", "fits"),
    [
        (d.Criteria(), True),
        (d.Criteria(category=Category.MOTOR), False),
        (d.Criteria(max_price=4_499_999), False),
        (d.Criteria(min_specs={"voltage": 650}), True),
        (d.Criteria(min_specs={"전압": "0.66 kV"}), False),
        (d.Criteria(min_specs={"용량": "72600 Wh"}), True),
        (d.Criteria(min_specs={"power": "5000 W"}), False),
    ],
)
def test_criteria_decide_with_units_converted(eecar: Eecar, db: Store, criteria: d.Criteria, fits: bool) -> None:
    watch = eecar.watches.add(a_watch(criteria=criteria))
    part = eecar.parts.offer(a_part(), spec=a_spec())
    assert triggered(db, watch) == ([part.part_id] if fits else [])


def test_part_triggers_once_however_often_it_changes(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    part = eecar.parts.offer(a_part())
    settled(db)
    with db.change(d.part(part.part_id)) as draft:
        draft.price = 1
    eecar.parts.set_spec(part.part_id, a_spec())
    assert triggered(db, watch) == [part.part_id]
    assert len(notified(db, BUYER)) == 1


def test_part_triggers_when_a_change_makes_it_fit(eecar: Eecar, db: Store) -> None:
    cheap = eecar.watches.add(a_watch(criteria=d.Criteria(max_price=1_000)))
    strong = eecar.watches.add(a_watch(criteria=d.Criteria(min_specs={"voltage": 600})))
    part = eecar.parts.offer(a_part())
    assert (triggered(db, cheap), triggered(db, strong)) == ([], [])
    with db.change(d.part(part.part_id)) as draft:
        draft.price = 999
    eecar.parts.set_spec(part.part_id, a_spec())
    assert (triggered(db, cheap), triggered(db, strong)) == ([part.part_id], [part.part_id])


def test_watch_marked_once_ends_after_its_first_part(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch(once=True))
    for _ in range(3):
        eecar.parts.offer(a_part())
    assert len(triggered(db, watch)) == 1
    assert db.one(d.watch(watch.watch_id)).status == "triggered"
    assert len(notified(db, BUYER)) == 1


def test_cancelled_watch_is_silent(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.watches.cancel(watch.watch_id)
    eecar.parts.offer(a_part())
    assert triggered(db, watch) == []


def test_more_watches_than_a_transaction_has_room_for_are_all_triggered(eecar: Eecar, db: Store) -> None:
    watches = [eecar.watches.add(a_watch(buyer_id=f"c_{number}")) for number in range(2 * AT_ONCE + 3)]
    part = eecar.parts.offer(a_part())
    settled(db)
    assert [triggered(db, watch) for watch in watches] == [[part.part_id]] * len(watches)
    assert [len(notified(db, watch.buyer_id)) for watch in watches] == [1] * len(watches)


def test_change_that_is_delivered_again_notifies_once(eecar: Eecar, db: Store) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.parts.offer(a_part(), spec=a_spec())
    faults = ConsumerFaults()
    faults.duplicate(consumers.watches)
    settle(db, consumers.watches, faults=faults)
    assert len(triggered(db, watch)) == 1
    assert len(notified(db, BUYER)) == 1


def test_buyer_is_told_by_email_and_phone(eecar: Eecar, db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[delivery.Message] = []

    class Inbox:
        def deliver(self, message: delivery.Message) -> None:
            messages.append(message)

    monkeypatch.setattr(delivery, "delivery", Inbox)
    eecar.watches.add(a_watch(phone="010-1234-5678"))
    part = eecar.parts.offer(a_part())
    settle(db, consumers.watches, consumers.deliveries)
    assert [each.to for each in messages] == ["dasol@example.com", "010-1234-5678"]
    assert {each.subject for each in messages} == {f"관심 부품이 등록되었습니다: {part.name}"}
    assert len({each.id for each in messages}) == 2


# Languages


def test_notifications_are_in_the_language_of_the_recipient(eecar: Eecar, db: Store, buyer: Client) -> None:
    assert buyer.get(f"/parties/{BUYER}/settings").json == {"partyId": BUYER, "language": "ko"}
    assert buyer.put(f"/parties/{BUYER}/settings", {"language": "en"}).status == 200
    eecar.watches.add(a_watch())
    part = eecar.parts.offer(a_part())
    settled(db)
    (told,) = db(d.notifications(BUYER))
    assert told.title == f"A part that you watch for: {part.name}"
    assert told.message == "현대 아이오닉 5 (2022), used, 4,500,000 won"
    offer = eecar.proposals.create(a_proposal(part))
    eecar.proposals.answer(offer.proposal_id, SELLER, "negotiating", version=1)
    assert notified(db, BUYER)[0] == ("proposal_answered", f"{SELLER} has asked to negotiate your proposal")
    assert notified(db, SELLER) == [("proposal_received", f"{BUYER}의 구매 제안")]


def test_settings_are_their_party_s(buyer: Client) -> None:
    assert buyer.put(f"/parties/{SELLER}/settings", {"language": "en"}).status == 403
    assert buyer.put(f"/parties/{BUYER}/settings", {"language": "fr"}).status == 422


# Rules


def violations(db: Store) -> list[str]:
    settle(db, consumers.compliance)
    return [each.data["rule"] for each in db(d.notifications(SELLER)) if each.type.value == "compliance_violation"]


def test_part_that_breaks_a_rule_notifies_its_seller_once(eecar: Eecar, db: Store) -> None:
    part = eecar.parts.offer(a_part(), spec=a_spec())
    assert violations(db) == ["recycling-information"]
    with db.change(d.part(part.part_id)) as draft:
        draft.price = 1
    assert violations(db) == ["recycling-information"]


@pytest.mark.parametrize(
    ("part", "spec"),
    [
        (a_part(), a_spec(recycling_info={"회수율": 90})),
        (a_part(condition=d.PartCondition.NEW), a_spec()),
        (a_part(category=Category.MOTOR), a_spec()),
    ],
)
def test_part_that_keeps_the_rules_notifies_nobody(eecar: Eecar, db: Store, part: d.Part, spec: d.Spec) -> None:
    eecar.parts.offer(part, spec=spec)
    assert violations(db) == []


def test_rules_are_a_port(eecar: Eecar, db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_old_cars(part: d.Part, spec: d.Spec | None) -> compliance.Violation | None:
        return compliance.Violation("too-old", "너무 오래됨", "too old") if part.year < 2023 else None

    monkeypatch.setattr(compliance, "RULES", [no_old_cars])
    eecar.parts.offer(a_part())
    assert violations(db) == ["too-old"]


# Orphans


def after(db: Store, **duration: float) -> Store:
    """The same data, so much later."""
    later = db.now() + timedelta(**duration)
    return db.with_settings(clock=lambda: later)


def test_objects_that_nothing_names_are_swept(eecar: Eecar, db: Store, objects: ObjectStore) -> None:
    part = eecar.parts.offer(a_part())
    settle(db, consumers.vectors)
    named = {db.one(d.vector(part.part_id)).s3_key, eecar.matching.of_query(Wanted(query="배터리")).query_embedding}
    for key in ("vectors/p_gone/1.f32", f"vectors/{part.part_id}/old.f32", "queries/none.f32", "other/notes.txt"):
        objects.put(key, b"1234")
    sweep_objects(after(db, hours=2))
    assert {each.key for each in objects.list("")} == named | {"other/notes.txt"}


def test_object_without_item_is_left_for_an_hour(db: Store, objects: ObjectStore) -> None:
    objects.put("vectors/p_1/1.f32", b"1234")
    sweep_objects(after(db, minutes=30))
    assert objects.get("vectors/p_1/1.f32") == b"1234"
    sweep_objects(after(db, minutes=90))
    assert objects.get("vectors/p_1/1.f32") is None


def test_keys_of_objects_stay_in_their_folder(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="use a relative path"):
        FolderObjects(tmp_path).put("../outside", b"")

"""Only the owner sells a part, an agreement stays, and both sides of a proposal are notified."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from partita import ConditionFailed, InvalidTransition, InvalidValue, Store, get
from partita_systems.eecar import design as d
from partita_systems.eecar.service import Eecar
from tests.rest.client import Client
from tests.systems.eecar.conftest import (
    BUYER,
    MAKER,
    SELLER,
    a_part,
    a_proposal,
    a_usage,
    part_item,
    put_item,
)

OFFER: dict[str, Any] = {"quantity": 1, "priceOffer": 5, "message": "제안"}


def test_a_proposal_to_sell_names_a_part_of_the_sender(seller: Client, buyer: Client, battery: d.Part) -> None:
    offer = OFFER | {"proposalType": "sell", "partIds": [battery.part_id]}
    stranger = buyer.post("/proposals", offer | {"toCompanyId": MAKER})
    assert (stranger.status, stranger.json["field"]) == (422, "partIds")
    assert "does not belong to" in stranger.json["detail"]
    assert seller.post("/proposals", offer | {"toCompanyId": MAKER}).status == 201


def test_a_proposal_to_buy_names_a_part_of_the_recipient(buyer: Client, battery: d.Part) -> None:
    offer = OFFER | {"proposalType": "buy", "partIds": [battery.part_id]}
    another = buyer.post("/proposals", offer | {"toCompanyId": MAKER})
    assert (another.status, another.json["field"]) == (422, "partIds")
    assert buyer.post("/proposals", offer | {"toCompanyId": SELLER}).status == 201


def test_nobody_accepts_a_proposal_for_a_part_that_has_another_seller_now(
    eecar: Eecar, seller: Client, battery: d.Part
) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.parts.transfer(battery.part_id, MAKER, by=SELLER)
    place = f"/proposals/{created.proposal_id}/answer"
    refused = seller.post(place, {"answer": "accepted", "version": 1})
    assert (refused.status, refused.json["field"]) == (422, "answer")
    assert seller.post(place, {"answer": "rejected", "version": 1}).json["status"] == "rejected"


def test_a_withdrawn_part_cannot_be_sold(eecar: Eecar, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.parts.withdraw(battery.part_id)
    with pytest.raises(InvalidValue, match="any more"):
        eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=1)


def test_a_part_of_other_code_without_a_seller_entry_can_be_sold(eecar: Eecar, db: Store) -> None:
    put_item(db, part_item("old", "배터리"))
    created = eecar.proposals.create(a_proposal(db.one(d.part("old"))))
    assert eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=1).status == "accepted"
    assert db.one(get(d.SellerEntry, "old")).seller_id == SELLER


@pytest.mark.parametrize("who", [BUYER, SELLER, "admin"])
def test_an_accepted_proposal_cannot_be_deleted(eecar: Eecar, anonymous: Client, battery: d.Part, who: str) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.proposals.answer(created.proposal_id, SELLER, "accepted", version=1)
    client = anonymous.by(who, "admin") if who == "admin" else anonymous.by(who)
    place = f"/proposals/{created.proposal_id}"
    assert client.delete(place).status == (403 if who == SELLER else 409)
    assert anonymous.by(BUYER).get(place).json["status"] == "accepted"
    assert eecar.proposals.sent_by(BUYER, "accepted").items


@pytest.mark.parametrize("status", ["pending", "negotiating", "rejected"])
def test_another_proposal_can_be_deleted_by_its_sender(
    eecar: Eecar, buyer: Client, battery: d.Part, status: d.ProposalStatus
) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    if status != "pending":
        eecar.proposals.answer(created.proposal_id, SELLER, status, version=1)
    assert buyer.delete(f"/proposals/{created.proposal_id}").status == 204
    assert eecar.proposals.sent_by(BUYER, status).items == []


def test_a_proposal_is_either_accepted_or_deleted(eecar: Eecar, db: Store, battery: d.Part) -> None:
    for _ in range(20):
        created = eecar.proposals.create(a_proposal(battery))

        def accept(proposal_id: str = created.proposal_id) -> bool:
            try:
                return eecar.proposals.answer(proposal_id, SELLER, "accepted", version=1).status == "accepted"
            except Exception:  # noqa: BLE001 - deleted, in whatever order
                return False

        def delete(proposal_id: str = created.proposal_id) -> bool:
            try:
                eecar.proposals.delete(proposal_id)
            except (ConditionFailed, InvalidTransition):
                return False
            return True

        with ThreadPoolExecutor(2) as threads:
            accepted, deleted = threads.submit(accept), threads.submit(delete)
        assert accepted.result() != deleted.result()
        assert (db(d.proposal(created.proposal_id), consistent=True) is None) == deleted.result()


def test_an_answer_and_a_revision_notify_the_other_side(eecar: Eecar, db: Store, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    eecar.proposals.answer(created.proposal_id, SELLER, "negotiating", version=1)
    (answered,) = db(d.notifications(BUYER))
    assert (answered.type, answered.data["status"]) == (d.NotificationType.PROPOSAL_ANSWERED, "negotiating")
    eecar.proposals.revise(created.proposal_id, BUYER, version=2, quantity=1, price_offer=9)
    revised = next(each for each in db(d.notifications(SELLER)) if each.type != d.NotificationType.PROPOSAL_RECEIVED)
    assert (revised.type, revised.message) == (d.NotificationType.PROPOSAL_REVISED, "1개, 9원")


STRANGERS: list[tuple[str, str, Any]] = [
    ("PATCH", "/parts/{part}", {"price": 1}),
    ("DELETE", "/parts/{part}", None),
    ("PUT", "/parts/{part}/category", {"category": "motor"}),
    ("PUT", "/parts/{part}/seller", {"sellerId": MAKER}),
    ("PUT", "/parts/{part}/spec", {"weight": 1}),
    ("DELETE", "/parts/{part}/spec", None),
    ("POST", "/parts/{part}/usages", {"industry": "ESS", "application": "저장"}),
    ("PATCH", "/parts/{part}/usages/{usage}", {"industry": "건설"}),
    ("DELETE", "/parts/{part}/usages/{usage}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), STRANGERS)
def test_only_its_seller_changes_a_part(
    eecar: Eecar, db: Store, maker: Client, seller: Client, method: str, path: str, body: Any
) -> None:
    part = eecar.parts.offer(a_part(), spec=d.Spec(weight=9), usages=[a_usage()])
    (usage,) = db(d.usages(part.part_id))
    place = path.format(part=part.part_id, usage=usage.usage_id)
    before = eecar.parts.whole(part.part_id)
    assert maker.request(method, place, body).status == 403
    assert eecar.parts.whole(part.part_id) == before
    assert seller.request(method, place, body).status in (200, 201, 204)


def test_a_part_is_transferred_by_its_present_seller_only(eecar: Eecar, db: Store, battery: d.Part) -> None:
    eecar.parts.transfer(battery.part_id, MAKER, by=SELLER)
    with pytest.raises(ConditionFailed):
        eecar.parts.transfer(battery.part_id, BUYER, by=SELLER)
    assert db.one(d.part(battery.part_id)).seller_id == MAKER

"""Rows that the team's own code wrote are read as they are, and become what the design says."""

from typing import Any

import pytest

from partita import Store, ValueRefused
from partita.systems.eecar import design as d
from partita.systems.eecar.service import Eecar
from partita.wire.requests import PutItem
from tests.systems.eecar.conftest import BUYER, MAKER, SELLER, disk

DAY = "2025-03-01T09:00:00Z"


def put(db: Store, key: tuple[str, str], index: tuple[str, str], **attributes: Any) -> None:
    """An item as the document has it; text, numbers, maps and lists are told apart by their Python types."""
    item = {"PK": key[0], "SK": key[1], "GSI1PK": index[0], "GSI1SK": index[1], **attributes}
    db.backend.call(PutItem(table_name=d.table.name, item={name: _value(each) for name, each in item.items()}))


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [_value(each) for each in value]}
    return {"M": {name: _value(each) for name, each in value.items()}}


def a_need(db: Store, need_id: str, priority: str) -> None:
    put(
        db,
        (f"COMPANY#{MAKER}", f"NEED#{need_id}"),
        ("NEED#active", f"PRIORITY#{priority}#CREATED#{DAY}"),
        companyName="새벽",
        industry="ESS",
        requiredSpecs={"category": "배터리"},
        targetApplication="저장",
        priority=priority,
        status="active",
        createdAt=DAY,
        expiresAt="2095-06-01T00:00:00Z",
    )


def a_match(db: Store, query_hash: str, hits: int) -> None:
    put(
        db,
        (f"MATCH#{query_hash}", "RESULT"),
        ("CACHE", f"HIT_COUNT#{hits}"),
        query="배터리",
        queryEmbedding="q.bin",
        matchedParts=[],
        modelUsed="m",
        createdAt="2094-12-31T00:00:00Z",
        hitCount=hits,
        TTL=3_945_196_800,
    )


def a_part(db: Store, part_id: str, category: str) -> None:
    put(
        db,
        (f"PART#{part_id}", "METADATA"),
        (f"CATEGORY#{category}", f"CREATED_AT#{DAY}"),
        name="배터리",
        category=category,
        manufacturer="기아",
        model="EV6",
        year=2022,
        condition="중고",
        price=1,
        quantity=1,
        sellerId=SELLER,
        description="",
        images=[],
        createdAt=DAY,
        updatedAt=DAY,
    )


def test_old_sort_keys_are_read_and_put_into_order(db: Store) -> None:
    for priority in ("high", "low", "medium"):
        a_need(db, priority, priority)
    for hits in (9, 10, 100):
        a_match(db, f"h{hits}", hits)
    assert {each.need_id for each in db(d.needs_by_status("active"))} == {"high", "low", "medium"}
    assert {each.hit_count for each in db(d.most_hit_matches())} == {9, 10, 100}
    done = db.adopt()
    assert (done.rewritten, done.unknown, done.refused) == (6, [], [])
    assert [each.need_id for each in db(d.needs_by_status("active"))] == ["high", "medium", "low"]
    assert [each.hit_count for each in db(d.most_hit_matches())] == [100, 10, 9]
    assert "TTL" in disk(db)[f"COMPANY#{MAKER} NEED#high"]
    assert db.adopt().rewritten == 0


def test_an_old_part_gets_the_one_word_for_its_category_and_its_seller_s_entry(db: Store, eecar: Eecar) -> None:
    a_part(db, "p_1", "battery")
    a_part(db, "p_2", "배터리")
    for _ in range(2):
        for part_id in ("p_1", "p_2"):
            eecar.parts.adopt(part_id)
    assert {each.part_id for each in eecar.parts.in_category("battery").items} == {"p_1", "p_2"}
    assert {each.part_id for each in eecar.parts.of_seller(SELLER).items} == {"p_1", "p_2"}
    eecar.parts.specify("p_1", d.Spec(weight=1))
    assert db.one(d.part("p_1")).updated_at == db.one(d.part("p_2")).created_at


def test_an_old_watch_is_found_by_its_category_while_it_is_active(db: Store, eecar: Eecar) -> None:
    for status in ("active", "cancelled"):
        put(
            db,
            (f"WATCH#{status}", "METADATA"),
            (f"BUYER#{BUYER}", f"STATUS#{status}#CREATED#{DAY}"),
            buyerId=BUYER,
            email="a@b.kr",
            phone="010",
            criteria={"category": "battery"},
            status=status,
            createdAt=DAY,
        )
        for _ in range(2):
            eecar.watches.adopt(status)
    (found,) = eecar.watches.who_watches("배터리")
    assert (found.watch_id, found.criteria.category) == ("active", db.one(d.watch("active")).criteria.category)


def test_an_old_proposal_is_found_by_its_sender_and_can_be_answered(db: Store, eecar: Eecar) -> None:
    put(
        db,
        ("PROPOSAL#o_1", "METADATA"),
        (f"COMPANY#{SELLER}", f"STATUS#pending#CREATED#{DAY}"),
        fromCompanyId=BUYER,
        toCompanyId=SELLER,
        partIds=["p_1"],
        proposalType="buy",
        message="안녕",
        quantity=1,
        priceOffer=1,
        terms={},
        status="pending",
        createdAt=DAY,
    )
    for _ in range(2):
        eecar.proposals.adopt("o_1")
    db.adopt()
    (made,) = eecar.proposals.sent(BUYER, "pending").items
    eecar.proposals.answer("o_1", SELLER, "accepted", version=made.version)
    assert [each.status for each in db(d.received_proposals(SELLER, "accepted"))] == ["accepted"]


def test_an_item_that_would_be_too_large_is_refused_by_name(db: Store, eecar: Eecar) -> None:
    a_part(db, "p_1", "배터리")
    eecar.parts.adopt("p_1")
    with pytest.raises(ValueRefused, match=r"Spec.chemicalProps"):
        eecar.parts.specify("p_1", d.Spec(chemical_props={"성분": "가" * 150_000}))
    assert db(d.spec("p_1")) is None

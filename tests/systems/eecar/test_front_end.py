"""A front end gets what it needs: the new state, open proposals in one list, unread counts, bulk offers."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from partita import Store
from partita.dynamodb.requests import DescribeTable
from partita_systems.eecar import design as d
from partita_systems.eecar.adoption import adopt
from partita_systems.eecar.api import api
from partita_systems.eecar.categories import ALIASES, Category
from partita_systems.eecar.service import Eecar
from tests.rest.client import Client, Request
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import (
    BUYER,
    MAKER,
    SELLER,
    a_need,
    a_notification,
    a_proposal,
    a_spec,
    a_watch,
    disk,
    part_item,
    put_item,
)

PART: dict[str, Any] = {
    "name": "배터리 팩",
    "category": "battery",
    "manufacturer": "현대",
    "model": "아이오닉 5",
    "year": 2022,
    "condition": "used",
    "price": 4_500_000,
    "quantity": 3,
}

USAGE = {"industry": "ESS", "application": "저장"}


# Words in English and Korean


@pytest.mark.parametrize(
    ("word", "stored"),
    [
        ("new", "신품"),
        ("used", "중고"),
        ("reconditioned", "재생"),
        ("신품", "신품"),
        ("중고", "중고"),
        ("재생", "재생"),
    ],
)
def test_condition_is_accepted_in_english_and_korean_and_stored_in_korean(
    seller: Client, db: Store, word: str, stored: str
) -> None:
    created = seller.post("/parts", PART | {"condition": word})
    assert (created.status, created.json["condition"]) == (201, stored)
    part_id = created.json["partId"]
    assert disk(db)[f"PART#{part_id} METADATA"]["condition"] == {"S": stored}
    changed = seller.patch(f"/parts/{part_id}", {"condition": word})
    assert (changed.status, changed.json["condition"]) == (200, stored)


def test_another_condition_is_rejected_naming_it(seller: Client, battery: d.Part) -> None:
    for reply in (
        seller.post("/parts", PART | {"condition": "broken"}),
        seller.patch(f"/parts/{battery.part_id}", {"condition": "broken"}),
    ):
        assert (reply.status, reply.json["field"]) == (422, "condition")


def test_a_condition_of_other_code_is_read_and_adopted(seller: Client, db: Store) -> None:
    put_item(db, part_item("p_1", "배터리", condition={"S": "Used"}))
    put_item(db, part_item("p_2", "배터리", condition={"S": "수리중"}))
    assert {each["condition"] for each in seller.get("/categories/battery/parts").json["items"]} == {"Used", "수리중"}
    adopt(db)
    assert db.one(d.part("p_1")).condition is d.PartCondition.USED
    assert db.one(d.part("p_2")).condition == d.PartCondition("수리중")


# Items of other code


def test_a_price_with_a_fraction_is_read_and_does_not_block_its_category(seller: Client, db: Store) -> None:
    seller.post("/parts", PART)
    put_item(db, part_item("p_1", "배터리", price={"N": "99.5"}))
    prices = [each["price"] for each in seller.get("/categories/배터리/parts").json["items"]]
    assert sorted(prices) == [99.5, 4_500_000]
    assert seller.get("/parts/p_1").json["price"] == 99.5
    assert seller.patch("/parts/p_1", {"quantity": 1}).json["price"] == 99.5
    refused = seller.patch("/parts/p_1", {"price": 99.25})
    assert (refused.status, refused.json["field"]) == (422, "price")


@pytest.mark.parametrize("field", ["priceOffer", "criteria", "requiredSpecs"])
def test_other_amounts_with_a_fraction_are_read(db: Store, eecar: Eecar, battery: d.Part, field: str) -> None:
    need, watch = eecar.needs.post(a_need()), eecar.watches.add(a_watch())
    created = eecar.proposals.create(a_proposal(battery))
    place = {
        "priceOffer": f"PROPOSAL#{created.proposal_id} METADATA",
        "criteria": f"WATCH#{watch.watch_id} METADATA",
        "requiredSpecs": f"COMPANY#{MAKER} NEED#{need.need_id}",
    }[field]
    amount = {"N": "7.5"}
    put_item(db, disk(db)[place] | {field: amount if field == "priceOffer" else {"M": {"maxPrice": amount}}})
    assert db.one(d.proposal(created.proposal_id)).price_offer in (7.5, 8_000_000)
    assert db.one(d.watch(watch.watch_id)).criteria.max_price in (7.5, 5_000_000)
    assert db.one(d.need(MAKER, need.need_id)).required_specs.max_price in (7.5, None)


def test_a_whole_price_is_a_whole_number_in_every_reply(seller: Client) -> None:
    created = seller.post("/parts", PART)
    read = seller.get(f"/parts/{created.json['partId']}")
    assert b'"price":4500000,' in created.plain
    assert created.plain == read.plain
    assert created.tag == read.tag


def test_until_adoption_a_category_lists_the_parts_under_all_its_aliases(
    anonymous: Client, eecar: Eecar, db: Store, battery: d.Part
) -> None:
    words = [Category.BATTERY.value, *ALIASES[Category.BATTERY], "Battery", "Battery Pack", "Battery pack"]
    for number, word in enumerate(words):
        put_item(db, part_item(f"p_{number}", word))
    expected = {battery.part_id, *(f"p_{number}" for number in range(len(words)))}
    for word in ("battery", "배터리"):
        first = anonymous.get(f"/categories/{word}/parts?limit=5").json
        second = anonymous.get(f"/categories/{word}/parts?cursor={first['cursor']}").json
        assert {each["partId"] for each in first["items"] + second["items"]} == expected
    adopt(db)
    with db.measure() as used:
        assert {each.part_id for each in eecar.parts.in_category("battery").items} == expected
        eecar.parts.in_category("battery")
    assert used.reads < 3


# Bad input


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " \u3164 "}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"manufacturer": "a\nb"}, "manufacturer"),
        ({"description": "\x07"}, "description"),
        ({"images": ["javascript:alert(1)"]}, "images[0]"),
        ({"images": ["https://a.example/1.jpg", "1.jpg"]}, "images[1]"),
        ({"category": "\x00"}, "category"),
        ({"spec": {"dimensions": {"length": 1, "width": 1, "height": 1, "unit": "furlong"}}}, "spec.dimensions.unit"),
        ({"usages": [{"industry": "", "application": "a"}]}, "usages[0].industry"),
    ],
)
def test_bad_text_of_a_part_is_rejected_naming_the_field(seller: Client, change: dict[str, Any], field: str) -> None:
    reply = seller.post("/parts", PART | change)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert "\\" not in reply.json["detail"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"spec": {"thermalProps": {"최고온도": "\x00"}}}, "spec.thermalProps.최고온도"),
        ({"spec": {"chemicalProps": {"a": [{"b": "\x07"}]}}}, "spec.chemicalProps.a[0].b"),
        ({"spec": {"recyclingInfo": {"\x00": 1}}}, "spec.recyclingInfo"),
        ({"usages": [USAGE | {"requirements": {"인증": "\x00"}}]}, "usages[0].requirements.인증"),
    ],
)
def test_texts_in_untyped_maps_are_checked_too(seller: Client, db: Store, change: dict[str, Any], field: str) -> None:
    reply = seller.post("/parts", PART | change)
    assert (reply.status, reply.json["field"]) == (422, field)
    bulk = seller.post("/parts/bulk", {"parts": [PART, PART | change]})
    assert (bulk.status, bulk.json["field"]) == (422, f"parts[1].{field}")
    assert disk(db) == {}


@pytest.mark.parametrize(
    ("specs", "field"),
    [
        ({"voltage": "높음"}, "criteria.minSpecs.voltage"),
        ({"voltage": "600 kg"}, "criteria.minSpecs.voltage"),
        ({"전압": "600 마력"}, "criteria.minSpecs.전압"),
        ({"power": -1}, "criteria.minSpecs.power"),
        ({"power": True}, "criteria.minSpecs.power"),
        ({"power": {"min": 1}}, "criteria.minSpecs.power"),
        ({"최고온도": "hot"}, "criteria.minSpecs.최고온도"),
        ({str(number): 1 for number in range(60)}, "criteria.minSpecs"),
    ],
)
def test_min_specs_that_are_not_measures_are_rejected_naming_them(
    buyer: Client, eecar: Eecar, specs: dict[str, Any], field: str
) -> None:
    reply = buyer.post("/watches", {"email": "a@b.kr", "criteria": {"minSpecs": specs}})
    assert (reply.status, reply.json["field"]) == (422, field)
    watch = eecar.watches.add(a_watch())
    changed = buyer.put(f"/watches/{watch.watch_id}/criteria", {"minSpecs": specs})
    assert (changed.status, changed.json["field"]) == (422, field.removeprefix("criteria."))


def test_min_specs_are_numbers_or_texts_with_a_unit(buyer: Client) -> None:
    specs = {"voltage": 600, "capacity": "70 kWh", "출력": "5000W", "weight": 4.5, "최고온도": 60}
    created = buyer.post("/watches", {"email": "a@b.kr", "criteria": {"minSpecs": specs}})
    assert (created.status, created.json["criteria"]["minSpecs"]) == (201, specs)


# Several statuses in one list


def test_open_proposals_are_pending_and_negotiating_ones_in_one_list(
    eecar: Eecar, seller: Client, buyer: Client, clock: Clock, battery: d.Part
) -> None:
    created = []
    for answer in (None, "negotiating", "accepted", None, "rejected"):
        clock.passes(hours=1)
        created.append(eecar.proposals.create(a_proposal(battery)).proposal_id)
        if answer:
            eecar.proposals.answer(created[-1], SELLER, answer, version=1)
    expected = {"": [3, 1, 0], "?status=open": [3, 1, 0], "?status=closed": [4, 2], "?status=pending": [3, 0]}
    for query, numbers in expected.items():
        ids = [created[number] for number in numbers]
        received = seller.get(f"/companies/{SELLER}/received-proposals{query}").json["items"]
        sent = buyer.get(f"/companies/{BUYER}/sent-proposals{query}").json["items"]
        assert [each["proposalId"] for each in received] == ids
        assert [each["proposalId"] for each in sent] == ids
    first = seller.get(f"/companies/{SELLER}/received-proposals?limit=2").json
    rest = seller.get(f"/companies/{SELLER}/received-proposals?limit=2&cursor={first['cursor']}").json
    assert [each["proposalId"] for each in first["items"] + rest["items"]] == [created[n] for n in (3, 1, 0)]


def test_open_and_closed_needs_and_watches_are_lists(eecar: Eecar, buyer: Client) -> None:
    needs = [eecar.needs.post(a_need()).need_id for _ in range(3)]
    eecar.needs.fulfil(MAKER, needs[1])
    eecar.needs.cancel(MAKER, needs[2])
    assert [each["needId"] for each in buyer.get("/needs").json["items"]] == needs[:1]
    assert {each["needId"] for each in buyer.get("/needs?status=closed").json["items"]} == set(needs[1:])
    watches = [eecar.watches.add(a_watch()).watch_id for _ in range(2)]
    eecar.watches.cancel(watches[0])
    place = f"/buyers/{BUYER}/watches"
    assert [each["watchId"] for each in buyer.get(place).json["items"]] == watches[1:]
    assert [each["watchId"] for each in buyer.get(f"{place}?status=closed").json["items"]] == watches[:1]


# Notifications


def test_unread_notifications_are_counted_and_all_marked_read(eecar: Eecar, buyer: Client, clock: Clock) -> None:
    place = f"/recipients/{BUYER}/notifications"
    assert buyer.get(f"{place}/unread").json == {"unread": 0, "more": False}
    sent = [eecar.notifications.send(a_notification(clock)) for _ in range(3)]
    eecar.notifications.send(a_notification(clock, recipient_id=SELLER))
    read = buyer.put(f"/notifications/{sent[0].notification_id}/read")
    assert (read.status, read.json["read"]) == (200, True)
    assert buyer.get(f"{place}/unread").json == {"unread": 2, "more": False}
    assert buyer.put(f"{place}/read").json == {"unread": 0, "more": False}
    assert buyer.get(f"{place}/unread").json == {"unread": 0, "more": False}
    assert buyer.get(f"/recipients/{SELLER}/notifications/unread").status == 403
    assert eecar.notifications.unread(SELLER).unread == 1


def test_many_unread_notifications_are_counted_up_to_a_hundred(eecar: Eecar, clock: Clock) -> None:
    for _ in range(101):
        eecar.notifications.send(a_notification(clock))
    counted = eecar.notifications.unread(BUYER)
    assert (counted.unread, counted.more) == (100, True)


# Bulk


def test_many_parts_are_offered_in_one_request_all_or_none(seller: Client, db: Store) -> None:
    spec = {"weight": 3}
    created = seller.post(
        "/parts/bulk", {"parts": [PART | {"name": f"팩 {number}", "spec": spec} for number in range(20)]}
    )
    assert created.status == 201
    assert [each["name"] for each in created.json["items"]] == [f"팩 {number}" for number in range(20)]
    listed = seller.get("/sellers/c_hanbit/parts?limit=50").json["items"]
    assert len(listed) == 20
    bad = seller.post("/parts/bulk", {"parts": [PART, PART | {"condition": "?"}]})
    assert (bad.status, bad.json["field"]) == (422, "parts[1].condition")
    large = seller.post("/parts/bulk", {"parts": [PART | {"spec": spec}] * 50})
    assert (large.status, large.json["field"]) == (422, "parts")
    assert len([key for key in disk(db) if key.endswith(" METADATA")]) == 20


# Concurrency


@pytest.mark.parametrize("place", ["spec", "vector"])
def test_concurrent_first_puts_all_succeed(seller: Client, machine: Client, battery: d.Part, place: str) -> None:
    bodies: dict[str, Any] = {
        "spec": lambda number: {"weight": number},
        "vector": lambda number: {"s3Key": f"v/{number}", "embeddingModel": "m", "dimension": 4},
    }
    client = seller if place == "spec" else machine
    path = f"/parts/{battery.part_id}/{place}"
    replies = client.concurrently([Request("PUT", path, bodies[place](number)) for number in range(32)])
    assert {reply.status for reply in replies} == {200}


def test_concurrent_first_specs_in_threads_all_succeed(eecar: Eecar, battery: d.Part) -> None:
    with ThreadPoolExecutor(16) as threads:
        stored = list(threads.map(lambda n: eecar.parts.set_spec(battery.part_id, a_spec(weight=n)), range(64)))
    assert [each.weight for each in stored] == list(range(64))


# Replies


def test_every_change_answers_with_the_new_state() -> None:
    silent = [
        f"{each.method} {each.path}"
        for each in api.routes
        if each.result is None and each.method in ("POST", "PUT", "PATCH")
    ]
    assert silent == []


INTERNAL = re.compile(r"\b(PK|SK|GSI1PK|GSI1SK|TTL|entityType|SellerEntry|SenderEntry|Watching|Adopted)\b")


def test_no_reply_contains_an_internal_name(
    eecar: Eecar, anonymous: Client, seller: Client, buyer: Client, battery: d.Part
) -> None:
    watch = eecar.watches.add(a_watch())
    eecar.watches.trigger(watch.watch_id, battery, 0.5)
    eecar.proposals.create(a_proposal(battery))
    replies = [
        buyer.get(f"/watches/{watch.watch_id}/triggers"),
        buyer.get(f"/buyers/{BUYER}/watches"),
        anonymous.get(f"/parts/{battery.part_id}/whole"),
        anonymous.get("/categories/battery/parts"),
        anonymous.get(f"/sellers/{SELLER}/parts"),
        seller.get(f"/companies/{SELLER}/received-proposals"),
        buyer.get(f"/recipients/{BUYER}/notifications"),
        seller.put("/parts/p_none/spec", {"weight": 1}),
        seller.post("/parts/p_none/usages", {"industry": "a", "application": "b"}),
        seller.post(
            "/proposals",
            {"toCompanyId": BUYER, "partIds": ["p_none"], "proposalType": "sell", "quantity": 1, "priceOffer": 1},
        ),
        anonymous.get("/openapi.json"),
    ]
    for reply in replies:
        assert INTERNAL.search(json.dumps(reply.json, ensure_ascii=False)) is None
    assert [each["partId"] for each in replies[0].json["items"]] == [battery.part_id]


def test_the_table_is_on_demand(db: Store) -> None:
    table = msgspec.to_builtins(db.backend.call(DescribeTable(table_name=d.table.name)))
    assert "PAY_PER_REQUEST" in json.dumps(table, default=str)
    assert [index.name for index in d.table.indexes] == ["GSI1"]

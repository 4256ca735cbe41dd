"""Items of the team's own code can be read as they are, and adoption converts them to the design."""

from typing import Any

import pytest

from partita import InvalidValue, Store, connect, get
from partita.dynamodb.requests import DeleteItem, PutItem, UpdateItem
from partita_systems.eecar import design as d
from partita_systems.eecar.adoption import adopt
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import BUYER, MAKER, SELLER, Disk, a_proposal, a_watch, disk

pytestmark = pytest.mark.slow


DAY = "2025-03-01T09:00:00Z"
SENT = "2094-12-31T00:00:00.000Z"


def put(db: Store, key: tuple[str, str], index: tuple[str, str] | None, **attributes: Any) -> None:
    """Store an item as the document has it; DynamoDB's types follow from Python's."""
    found = {} if index is None else {"GSI1PK": index[0], "GSI1SK": index[1]}
    item = {"PK": key[0], "SK": key[1], **found, **attributes}
    db.backend.call(PutItem(table_name=d.table.name, item={name: _value(each) for name, each in item.items()}))


def _value(value: Any) -> dict[str, Any]:
    if value is None or isinstance(value, bool):
        return {"NULL": True} if value is None else {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [_value(each) for each in value]}
    return {"M": {name: _value(each) for name, each in value.items()}}


def a_need(db: Store, need_id: str, priority: str, **required: Any) -> None:
    put(
        db,
        (f"COMPANY#{MAKER}", f"NEED#{need_id}"),
        ("NEED#active", f"PRIORITY#{priority}#CREATED#{DAY}"),
        companyName="새벽",
        industry="ESS",
        requiredSpecs={"category": "battery", "minQuantity": 1, "maxPrice": 5, "materialPreferences": []} | required,
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


def test_old_sort_keys_can_be_read_and_are_rewritten(db: Store) -> None:
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


def put_watch(
    db: Store, watch_id: str, status: str = "active", category: str | None = "battery", **criteria: Any
) -> None:
    put(
        db,
        (f"WATCH#{watch_id}", "METADATA"),
        (f"BUYER#{BUYER}", f"STATUS#{status}#CREATED#{DAY}"),
        buyerId=BUYER,
        email="a@b.kr",
        phone="",
        criteria={"category": category, "minSpecs": {"voltage": 400}, "maxPrice": 5} | criteria,
        status=status,
        createdAt=DAY,
        triggeredAt=None,
    )


def put_proposal(db: Store, proposal_id: str, status: str = "pending") -> None:
    put(
        db,
        (f"PROPOSAL#{proposal_id}", "METADATA"),
        (f"COMPANY#{SELLER}", f"STATUS#{status}#CREATED#{DAY}"),
        fromCompanyId=BUYER,
        toCompanyId=SELLER,
        partIds=["p_1"],
        proposalType="buy",
        message="안녕",
        quantity=1,
        priceOffer=1,
        terms={"납기": "2주"},
        status=status,
        createdAt=DAY,
        respondedAt=None,
    )


def put_documented(db: Store) -> None:
    """Items of every entity, as the document has them."""
    a_part(db, "p_1", "battery")
    a_part(db, "p_2", "배터리")
    put(db, ("PART#p_1", "SPEC"), None, materialComposition={"primary": "Li", "secondary": ["Co"]}, weight=3)
    put(db, ("PART#p_1", "VECTOR"), None, s3Key="k", embeddingModel="m", dimension=3, createdAt=DAY)
    use = {"industry": "ESS", "application": "저장", "requirements": {}, "successCase": True, "description": ""}
    put(db, ("PART#p_1", "USAGE#u_1"), None, **use)
    a_need(db, "n_1", "low")
    a_match(db, "h9", 9)
    put_watch(db, "w_1")
    put_watch(db, "w_2", category=None)
    put_watch(db, "w_3", "cancelled")
    put(db, ("WATCH#w_1", "TRIGGER#p_1"), None, partId="p_1", matchScore=1, notifiedAt=DAY)
    put_proposal(db, "o_1")
    put_proposal(db, "o_2", "accepted")
    attributes = {
        "type": "part_available",
        "title": "제목",
        "message": "내용",
        "data": {},
        "read": False,
        "sentAt": SENT,
    }
    key, index = ("NOTIFICATION#t_1", "METADATA"), (f"RECIPIENT#{BUYER}", f"SENT#{SENT}")
    put(db, key, index, recipientId=BUYER, TTL=3_945_196_800, **attributes)


def test_every_operation_works_before_adoption(db: Store, eecar: Eecar) -> None:
    put_documented(db)
    whole = eecar.parts.whole("p_1")
    assert whole is not None
    assert (whole.spec is None, whole.vector is None, len(whole.usages)) == (False, False, 1)
    assert [each.proposal_id for each in db(d.received_proposals(SELLER, "pending"))] == ["o_1"]
    assert {each.watch_id for each in db(d.watches_of_buyer(BUYER, "active"))} == {"w_1", "w_2"}
    assert len(list(db(d.watch_with_triggers("w_1")))) == 2
    assert [each.notification_id for each in db(d.notifications(BUYER))] == ["t_1"]
    assert eecar.matches.lookup("h9") is not None
    eecar.proposals.answer("o_1", SELLER, "negotiating", version=1)
    assert [each.proposal_id for each in eecar.proposals.sent_by(BUYER, "negotiating").items] == ["o_1"]
    eecar.watches.set_criteria("w_1", d.Criteria(category=Category("motor")))
    assert [each.watch_id for each in eecar.watches.of_category("모터")] == ["w_1"]
    eecar.watches.cancel("w_2")
    eecar.parts.add_usage("p_1", d.Usage(industry="건설", application="전동 공구"))
    eecar.parts.transfer("p_2", MAKER, by=SELLER)
    assert [each.part_id for each in eecar.parts.of_seller(MAKER).items] == ["p_2"]
    eecar.needs.fulfil(MAKER, "n_1")
    eecar.parts.withdraw("p_1")
    assert eecar.parts.whole("p_1") is None


def test_adopted_items_are_in_every_list(db: Store, eecar: Eecar) -> None:
    put_documented(db)
    done = adopt(db)
    assert (done.seen, done.created, done.unknown, done.refused) == (14, 6, [], [])
    assert {each.part_id for each in eecar.parts.in_category("battery").items} == {"p_1", "p_2"}
    assert {each.part_id for each in eecar.parts.of_seller(SELLER).items} == {"p_1", "p_2"}
    assert db.one(d.part("p_1")).updated_at == db.one(d.part("p_2")).created_at
    assert db.one(d.need(MAKER, "n_1")).required_specs.category is Category.BATTERY
    assert [each.watch_id for each in eecar.watches.of_category("배터리")] == ["w_1", "w_2"]
    assert db.one(d.watch("w_1")).criteria == db.one(get(d.Watching, "w_1")).criteria
    assert db.one(d.watch("w_1")).criteria.category is Category.BATTERY
    assert [each.proposal_id for each in eecar.proposals.sent_by(BUYER, "pending").items] == ["o_1"]
    assert [each.proposal_id for each in eecar.proposals.sent_by(BUYER, "accepted").items] == ["o_2"]
    eecar.proposals.answer("o_1", SELLER, "accepted", version=1)
    eecar.parts.set_spec("p_2", d.Spec(weight=1))


def test_an_adopted_match_is_stale_after_any_change(db: Store, eecar: Eecar) -> None:
    put_documented(db)
    eecar.matches.advance_catalogue("motor")
    adopt(db)
    assert eecar.matches.lookup("h9") is not None
    eecar.matches.advance_catalogue("motor")
    assert eecar.matches.lookup("h9") is None


def test_a_second_adoption_changes_nothing(db: Store) -> None:
    put_documented(db)
    adopt(db)
    adopted = disk(db)
    done = adopt(db)
    assert (done.created, done.rewritten, done.guards_created, done.counted, done.refused) == (0, 0, 0, 0, [])
    assert disk(db) == adopted


def members_of_maps(db: Store) -> list[dict[str, Any]]:
    """The members of criteria and required specs that are not null."""
    items = disk(db)
    maps = items["WATCH#w_1 METADATA"]["criteria"]["M"], items[f"COMPANY#{MAKER} NEED#n_1"]["requiredSpecs"]["M"]
    return [{name: value for name, value in each.items() if value != {"NULL": True}} for each in maps]


@pytest.mark.parametrize("category", ["battery", "배터리", None])
@pytest.mark.parametrize("others", [{"region": "서울", "radius": {"km": 5}}, {"minSpecs": None, "maxPrice": None}, {}])
def test_unknown_members_of_criteria_and_specs_are_kept(
    db: Store, eecar: Eecar, category: str | None, others: dict[str, Any]
) -> None:
    put_watch(db, "w_1", category=category, **others)
    a_need(db, "n_1", "low", category=category, **others)
    before = members_of_maps(db)
    assert adopt(db).refused == []
    after = disk(db)
    word = {} if category is None else {"category": {"S": "배터리"}}
    for earlier, now in zip(before, members_of_maps(db), strict=True):
        assert now == now | earlier | word
    assert [each.watch_id for each in eecar.watches.of_category("배터리")] == ["w_1"]
    assert (adopt(db).rewritten, disk(db)) == (0, after)


class Interrupted(Exception):
    """Stands for a process that was stopped."""


def interrupted_after(calls: int) -> Disk | None:
    """The items after an interrupted and a second adoption; None if the first had fewer requests."""
    left = [calls]

    def count(_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted

    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock())
        db.create_tables()
        put_documented(db)
        try:
            adopt(Store(backend, d.design, clock=Clock(), on_call=[count]))
        except Interrupted:
            assert adopt(db).refused == []
            return disk(db)
    return None


def test_an_adoption_interrupted_after_any_request_is_finished_by_the_next(db: Store) -> None:
    put_documented(db)
    adopt(db)
    whole, calls = disk(db), 0
    for calls in range(1, 100):
        left = interrupted_after(calls)
        if left is None:
            break
        assert left == whole, calls
    assert 20 < calls < 99


def test_items_that_cannot_be_adopted_are_reported_and_the_others_adopted(db: Store, eecar: Eecar) -> None:
    a_part(db, "p_1", "any")
    put_watch(db, "w_1", category="가" * 61)
    a_part(db, "p_2", "battery")
    done = adopt(db)
    assert sorted(done.refused) == [
        "Part p_1: Part.category: 'any' is not a valid category",
        "Watch w_1: Watch.criteria.category: must have at most 60 characters",
    ]
    assert {each.part_id for each in eecar.parts.of_seller(SELLER).items} == {"p_1", "p_2"}
    assert [each.part_id for each in eecar.parts.in_category("배터리").items] == ["p_2"]


def by_other_code(db: Store, key: str, name: str, value: str) -> None:
    """Change one attribute and no key, as other code does."""
    request = UpdateItem(
        table_name=d.table.name,
        key={"PK": {"S": key}, "SK": {"S": "METADATA"}},
        update_expression="SET #n = :v",
        expression_attribute_names={"#n": name},
        expression_attribute_values={":v": {"S": value}},
    )
    db.backend.call(request)


def test_lookup_items_follow_changes_and_deletions_of_other_code(db: Store, eecar: Eecar, battery: d.Part) -> None:
    existing = eecar.proposals.create(a_proposal(battery))
    deleted = eecar.proposals.create(a_proposal(battery))
    watch = eecar.watches.add(a_watch())
    a_part(db, "p_1", "배터리")
    adopt(db)
    by_other_code(db, f"PART#{battery.part_id}", "sellerId", MAKER)
    by_other_code(db, f"WATCH#{watch.watch_id}", "status", "cancelled")
    for key in ("PART#p_1", f"PROPOSAL#{deleted.proposal_id}"):
        db.backend.call(DeleteItem(table_name=d.table.name, key={"PK": {"S": key}, "SK": {"S": "METADATA"}}))
    adopt(db)
    assert [each.part_id for each in eecar.parts.of_seller(MAKER).items] == [battery.part_id]
    assert list(db(d.parts_of_seller(SELLER))) == []
    assert list(eecar.watches.of_category("배터리")) == []
    assert [each.proposal_id for each in db(d.sent_proposals(BUYER, "pending"))] == [existing.proposal_id]
    assert adopt(db).rewritten == 0


def test_adoption_reports_progress(db: Store) -> None:
    put_documented(db)
    created: list[int] = []
    adopt(db, lambda done: created.append(done.created))
    assert created[0] == 0
    assert created[-1] == 6


def test_an_item_that_is_too_large_is_rejected_naming_the_field(db: Store, eecar: Eecar) -> None:
    a_part(db, "p_1", "배터리")
    with pytest.raises(InvalidValue, match=r"Spec.chemicalProps"):
        eecar.parts.set_spec("p_1", d.Spec(chemical_props={"성분": "가" * 150_000}))
    assert db(d.spec("p_1")) is None

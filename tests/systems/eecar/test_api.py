"""The API of EECAR: routes for machines, conditional requests, and errors that name the field."""

import asyncio
from typing import Any

import pytest

from partita import Store
from partita_systems.eecar import design as d
from partita_systems.eecar.service import Eecar
from tests.rest.client import Client, Response
from tests.systems.eecar.conftest import BUYER, MAKER, a_part, a_proposal, a_spec, a_usage, a_watch

MATCH = {
    "query": "가정용 배터리",
    "queryEmbedding": "q/1",
    "matchedParts": [{"partId": "p_1", "score": 0.5, "reason": "맞습니다"}],
    "modelUsed": "template",
}


def status_and_field(reply: Response) -> tuple[int, Any]:
    return reply.status, reply.json.get("field")


# Matches


def test_a_match_without_a_catalogue_is_stale_after_any_change(machine: Client, buyer: Client) -> None:
    assert machine.put("/matches/h", MATCH).status == 200
    assert buyer.get("/matches/h").json["catalogue"] == {"ANY": 0}
    moved = machine.post("/catalogues/battery/moves")
    assert (moved.status, moved.json) == (200, {"category": "배터리", "version": 1})
    assert buyer.get("/matches/h").status == 404


def test_every_listed_match_can_be_read(machine: Client, buyer: Client) -> None:
    for query_hash, catalogue in {"motor": {"모터": 0}, "battery": {"배터리": 0}, "any": {}}.items():
        assert machine.put(f"/matches/{query_hash}", {**MATCH, "catalogue": catalogue}).status == 200
    assert {each["queryHash"] for each in buyer.get("/matches").json["items"]} == {"motor", "battery", "any"}
    machine.post("/catalogues/battery/moves")
    (listed,) = buyer.get("/matches").json["items"]
    assert listed["queryHash"] == "motor"
    assert buyer.get("/matches/motor").status == 200


def test_a_catalogue_accepts_every_alias(machine: Client, buyer: Client) -> None:
    machine.post("/catalogues/battery/moves")
    seen = {word: machine.get(f"/catalogues/{word}").json["version"] for word in ("배터리", "any", "motor")}
    assert seen == {"배터리": 1, "any": 1, "motor": 0}
    assert machine.put("/matches/h", {**MATCH, "catalogue": {"Battery": 1, "모터": 0}}).status == 200
    assert buyer.get("/matches/h").json["catalogue"] == {"배터리": 1, "모터": 0}


@pytest.mark.parametrize("catalogue", [{"": 1}, {"가" * 3000: 1}, {"   ": 1}, {"배터리": -1}, {"배터리": 10**40}])
def test_an_invalid_catalogue_is_rejected_naming_the_field(
    machine: Client, buyer: Client, catalogue: dict[str, int]
) -> None:
    status, field = status_and_field(machine.put("/matches/h", {**MATCH, "catalogue": catalogue}))
    assert (status, str(field).startswith("catalogue")) == (422, True)
    assert buyer.get("/matches/h").status == 404


def test_hits_are_written_by_a_background_job_and_not_by_reads(
    anonymous: Client, machine: Client, buyer: Client, db: Store
) -> None:
    machine.put("/matches/h", MATCH)
    with db.measure() as used:
        for _ in range(5):
            assert buyer.get("/matches/h").status == 200
    assert used.writes == 0

    async def serve() -> None:
        async with anonymous.app.running():
            pass

    asyncio.run(serve())
    assert buyer.get("/matches?limit=1").json["items"][0]["hitCount"] == 5


# Watches


def test_a_machine_notifies_a_buyer_of_a_part_once(
    machine: Client, buyer: Client, eecar: Eecar, battery: d.Part
) -> None:
    watch = eecar.watches.add(a_watch())
    place = f"/watches/{watch.watch_id}/triggers/{battery.part_id}"
    triggered = machine.put(place, {"matchScore": 0.75})
    assert (triggered.status, triggered.json["matchScore"]) == (200, 0.75)
    assert machine.put(place, {"matchScore": 0.5}).json == triggered.json
    assert len(buyer.get(f"/recipients/{BUYER}/notifications").json["items"]) == 1
    assert machine.put(f"/watches/{watch.watch_id}/triggers/p_none", {"matchScore": 0.5}).status == 404
    assert machine.put(f"/watches/w_none/triggers/{battery.part_id}", {"matchScore": 0.5}).status == 404
    assert status_and_field(machine.put(place, {"matchScore": 2})) == (422, "matchScore")
    assert buyer.put(place, {"matchScore": 0.5}).status == 403


def test_a_cancelled_watch_cannot_be_triggered_or_changed(
    machine: Client, buyer: Client, eecar: Eecar, battery: d.Part
) -> None:
    watch = eecar.watches.add(a_watch())
    place = f"/watches/{watch.watch_id}"
    assert buyer.post(place + "/cancellation").status == 200
    assert machine.put(f"{place}/triggers/{battery.part_id}", {"matchScore": 0.5}).status == 409
    assert buyer.put(place + "/criteria", {"category": "motor"}).status == 409


def test_a_buyer_changes_the_contact_of_a_watch(buyer: Client, seller: Client, eecar: Eecar) -> None:
    place = f"/watches/{eecar.watches.add(a_watch()).watch_id}"
    assert buyer.put(place + "/contact", {"phone": "010-1234-5678"}).status == 200
    found = buyer.get(place).json
    assert (found["email"], found["phone"]) == (None, "010-1234-5678")
    assert status_and_field(buyer.put(place + "/contact", {})) == (422, "email")
    for email in ("nobody", "   @   ", "a@b@c", "a b@c"):
        assert status_and_field(buyer.put(place + "/contact", {"email": email})) == (422, "email")
    assert status_and_field(buyer.put(place + "/contact", {"phone": "   "})) == (422, "phone")
    assert seller.put(place + "/contact", {"phone": "1"}).status == 404


def test_an_invalid_category_is_rejected_naming_the_nested_field(buyer: Client, anonymous: Client) -> None:
    response = buyer.post("/watches", {"criteria": {"category": "any"}, "email": "a@b.kr"})
    assert status_and_field(response) == (422, "criteria.category")
    assert response.json["detail"].endswith("category: 'any' is not a valid category")
    need = {"companyName": "새벽", "industry": "ESS", "requiredSpecs": {"category": " "}, "targetApplication": "저장"}
    assert status_and_field(anonymous.by(MAKER).post(f"/companies/{MAKER}/needs", need)) == (
        422,
        "requiredSpecs.category",
    )


@pytest.mark.parametrize("word", ["ANY", "%20"])
def test_an_invalid_category_in_a_path_is_named(anonymous: Client, word: str) -> None:
    assert status_and_field(anonymous.get(f"/categories/{word}/parts")) == (422, "category")


def test_an_invalid_catalogue_in_a_path_is_named(machine: Client) -> None:
    replies = machine.get("/catalogues/%20"), machine.post("/catalogues/%20/moves")
    assert [status_and_field(each) for each in replies] == [(422, "category")] * 2


def test_invalid_criteria_are_named_as_they_were_sent(buyer: Client, eecar: Eecar) -> None:
    place = f"/watches/{eecar.watches.add(a_watch()).watch_id}/criteria"
    assert status_and_field(buyer.put(place, {"category": "any"})) == (422, "category")


# Needs


def test_a_company_changes_required_specs(anonymous: Client, eecar: Eecar) -> None:
    maker = anonymous.by(MAKER)
    need = {"companyName": "새벽", "industry": "ESS", "requiredSpecs": {}, "targetApplication": "저장"}
    place = f"/companies/{MAKER}/needs/{maker.post(f'/companies/{MAKER}/needs', need).json['needId']}"
    assert maker.put(place + "/required-specs", {"category": "battery", "minQuantity": 3}).status == 200
    found = maker.get(place).json["requiredSpecs"]
    assert (found["category"], found["minQuantity"], found["maxPrice"]) == ("배터리", 3, None)
    assert status_and_field(maker.put(place + "/required-specs", {"category": "any"})) == (422, "category")
    nothing = maker.put(place + "/required-specs", {"materialPreferences": [""]})
    assert status_and_field(nothing) == (422, "materialPreferences[0]")
    assert maker.patch(place, {"companyName": "새벽 에너지"}).json["companyName"] == "새벽 에너지"


# Parts


@pytest.mark.parametrize(("member", "value"), [("price", 10**12 + 1), ("quantity", 10**40)])
def test_a_change_has_the_limits_of_a_new_part(seller: Client, battery: d.Part, member: str, value: int) -> None:
    assert status_and_field(seller.patch(f"/parts/{battery.part_id}", {member: value})) == (422, member)


def test_if_match_protects_a_part(seller: Client, eecar: Eecar, battery: d.Part) -> None:
    place = f"/parts/{battery.part_id}"
    seen = seller.get(place).tag
    seller.patch(place, {"price": 1})
    assert seller.delete(place, if_match=seen).status == 412
    assert seller.delete(place, if_match=seller.get(place).tag).status == 204
    assert seller.delete(place).status == 404


def test_spec_and_vector_of_an_unknown_part_are_not_found(seller: Client, machine: Client) -> None:
    vector = {"s3Key": "v/1", "embeddingModel": "m", "dimension": 3}
    replies = seller.put("/parts/nope/spec", {}), machine.put("/parts/nope/vector", vector)
    assert [each.status for each in replies] == [404, 404]
    assert len({each.json["detail"] for each in replies}) == 1


def test_a_material_without_a_name_is_rejected(seller: Client, battery: d.Part) -> None:
    spec = {"materialComposition": {"primary": "", "secondary": []}}
    assert status_and_field(seller.put(f"/parts/{battery.part_id}/spec", spec)) == (422, "materialComposition.primary")


def test_if_match_protects_usages_and_specifications(seller: Client, buyer: Client, eecar: Eecar) -> None:
    part = eecar.parts.offer(a_part(), spec=a_spec(), usages=[a_usage()])
    (usage,) = eecar.db(d.usages(part.part_id))
    place = f"/parts/{part.part_id}/usages/{usage.usage_id}"
    seen = seller.get(place).tag
    assert buyer.patch(place, {"industry": "건설"}).status == buyer.delete(place).status == 403
    changed = seller.patch(place, {"requirements": {"용량": "10kWh"}, "successCase": False}, if_match=seen)
    assert (changed.json["requirements"], changed.json["successCase"]) == ({"용량": "10kWh"}, False)
    assert seller.patch(place, {"industry": "건설"}, if_match=seen).status == 412
    assert seller.delete(place, if_match=seen).status == 412
    assert seller.delete(place, if_match=changed.tag).status == 204
    spec = f"/parts/{part.part_id}/spec"
    seen = seller.get(spec).tag
    seller.put(spec, {"weight": 1})
    assert seller.delete(spec, if_match=seen).status == 412
    assert seller.delete(spec, if_match=seller.get(spec).tag).status == 204
    assert seller.delete(spec).status == 404


# Proposals


def test_a_revised_offer_has_the_limits_of_a_new_one(buyer: Client, eecar: Eecar, battery: d.Part) -> None:
    created = eecar.proposals.create(a_proposal(battery))
    revised = {"version": 1, "quantity": 1, "priceOffer": 10**13}
    assert status_and_field(buyer.post(f"/proposals/{created.proposal_id}/revision", revised)) == (422, "priceOffer")

"""Matching: parts are embedded by themselves, and queries and needs find them by meaning."""

from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from partita import InvalidValue, NotFound, Store, connect, settle
from partita_systems.eecar import consumers, ports
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.matching import Wanted
from partita_systems.eecar.service import Eecar
from partita_systems.objects import ObjectStore
from tests.rest.client import Client
from tests.systems.eecar.conftest import MAKER, a_need, a_part, a_spec, a_usage, part_item, put_item


@pytest.fixture
def db() -> Iterator[Store]:
    """On the clock of the machine, as the stream is: a scan and the changes after it are distinguished by it."""
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, sleep=lambda _: None)
        store.create_tables()
        yield store


def settled(db: Store) -> None:
    settle(db, consumers.vectors, consumers.catalogue)


def offer(eecar: Eecar, **other: Any) -> str:
    spec = other.pop("spec", None)
    return eecar.parts.offer(a_part(**other), spec=spec).part_id


def found(match: d.Match) -> list[str]:
    return [each.part_id for each in match.matched_parts]


def stored_vector(db: Store, part_id: str) -> d.VectorReference:
    return db.one(d.vector(part_id))


# The vectors of parts


def test_part_is_embedded_by_itself_and_its_vector_archived(eecar: Eecar, db: Store, objects: ObjectStore) -> None:
    part_id = offer(eecar)
    settled(db)
    vector = stored_vector(db, part_id)
    assert (vector.dimension, vector.embedding_model) == (256, ports.embedder().model)
    assert vector.category == Category.BATTERY
    archived = objects.get(vector.s3_key)
    assert archived is not None
    assert array("f", archived) == array("f", vector.embedding or ())


def test_changed_part_gets_another_vector_and_the_old_object_goes(
    eecar: Eecar, db: Store, objects: ObjectStore
) -> None:
    part_id = offer(eecar)
    settled(db)
    before = stored_vector(db, part_id)
    with db.change(d.part(part_id)) as draft:
        draft.name = "와이퍼 모터"
    settled(db)
    after = stored_vector(db, part_id)
    assert after.embedding != before.embedding
    assert [each.key for each in objects.list("vectors/")] == [after.s3_key]


def test_change_that_does_not_change_the_meaning_writes_no_vector(eecar: Eecar, db: Store) -> None:
    part_id = offer(eecar)
    settled(db)
    before = stored_vector(db, part_id)
    with db.change(d.part(part_id)) as draft:
        draft.price = 1
    settled(db)
    assert stored_vector(db, part_id) == before


def test_specification_and_usages_are_part_of_the_meaning(eecar: Eecar, db: Store) -> None:
    part_id = offer(eecar)
    settled(db)
    first = stored_vector(db, part_id).embedding
    eecar.parts.set_spec(part_id, a_spec())
    settled(db)
    second = stored_vector(db, part_id).embedding
    eecar.parts.add_usage(part_id, a_usage(application="태양광 에너지 저장"))
    settled(db)
    assert len({tuple(each or ()) for each in (first, second, stored_vector(db, part_id).embedding)}) == 3


def test_object_of_a_withdrawn_part_goes(eecar: Eecar, db: Store, objects: ObjectStore) -> None:
    part_id = offer(eecar)
    settled(db)
    eecar.parts.withdraw(part_id)
    settled(db)
    assert list(objects.list("")) == []


def test_part_of_other_code_is_embedded_before_adoption(eecar: Eecar, db: Store) -> None:
    put_item(db, part_item("p_other", "배터리"))
    settled(db)
    assert found(eecar.matching.of_query(Wanted(query="battery pack"))) == ["p_other"]


# Queries


@pytest.mark.parametrize("query", ["ESS에 쓸 배터리 팩", "used battery pack for Ioniq 5", "아이오닠5 밧데리"])
def test_query_in_korean_or_english_gives_ranked_parts_with_scores(eecar: Eecar, db: Store, query: str) -> None:
    battery = offer(eecar)
    offer(eecar, name="와이퍼 모터", category=Category.MOTOR, model="EV6")
    settled(db)
    match = eecar.matching.of_query(Wanted(query=query))
    assert found(match)[0] == battery
    scores = [each.score for each in match.matched_parts]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_reason_is_in_the_language_of_the_query(eecar: Eecar, db: Store) -> None:
    offer(eecar)
    settled(db)
    korean, english = (eecar.matching.of_query(Wanted(query=query)) for query in ("배터리 팩", "battery pack"))
    assert korean.matched_parts[0].reason.startswith("배터리, 중고, 4,500,000원, 수량 3개. 유사도 ")
    assert english.matched_parts[0].reason.startswith("아이오닉 5 배터리 팩: 3 at 4,500,000 won each. Similarity ")
    assert korean.model_used == english.model_used == "template"


@pytest.mark.parametrize(
    "condition",
    [
        {"max_price": 4_499_999},
        {"min_quantity": 4},
        {"min_specs": {"voltage": "1 kV"}},
        {"min_specs": {"용량": "80000 Wh"}},
        {"category": "motor"},
        {"condition": "new"},
    ],
)
def test_hard_condition_excludes_a_part(eecar: Eecar, db: Store, condition: dict[str, Any]) -> None:
    offer(eecar, spec=a_spec())
    settled(db)
    assert found(eecar.matching.of_query(Wanted(query="배터리 팩", **condition))) == []


@pytest.mark.parametrize(
    "condition",
    [
        {"max_price": 4_500_000},
        {"min_quantity": 3},
        {"min_specs": {"voltage": "0.65 kV", "capacity": "72600 Wh", "길이": "100 cm"}},
        {"category": "battery"},
        {"condition": "used"},
    ],
)
def test_part_that_meets_a_hard_condition_is_found(eecar: Eecar, db: Store, condition: dict[str, Any]) -> None:
    part_id = offer(eecar, spec=a_spec())
    settled(db)
    assert found(eecar.matching.of_query(Wanted(query="배터리 팩", **condition))) == [part_id]


def test_need_gives_parts_with_the_preferred_material_first(eecar: Eecar, db: Store) -> None:
    iron = a_spec(material_composition=d.Materials(primary="인산철"))
    plain, preferred = offer(eecar, spec=a_spec()), offer(eecar, spec=iron)
    dear = offer(eecar, price=9_000_000, spec=iron)
    settled(db)
    required = d.RequiredSpecs(
        category=Category.BATTERY, min_quantity=1, max_price=5_000_000, material_preferences=["인산철"]
    )
    need = eecar.needs.post(a_need(required_specs=required, target_application="배터리 팩"))
    match = eecar.matching.of_need(MAKER, need.need_id)
    assert found(match) == [preferred, plain]
    assert dear not in found(match)
    assert match.matched_parts[0].reason.endswith("선호 소재: 인산철.")


def test_other_categories_than_those_of_the_document_are_searched(eecar: Eecar, db: Store) -> None:
    tyre = offer(eecar, name="전기차 타이어", category=Category("타이어"))
    settled(db)
    assert found(eecar.matching.of_query(Wanted(query="타이어")))[0] == tyre


def test_answer_says_when_a_category_has_more_parts_than_were_compared(
    eecar: Eecar, db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(eecar)
    offer(eecar)
    settled(db)
    assert not eecar.matching.of_query(Wanted(query="배터리")).cut
    monkeypatch.setattr(d, "BEST", 2)
    assert eecar.matching.of_query(Wanted(query="배터리 팩")).cut


def test_vectors_of_another_model_are_not_compared(eecar: Eecar, db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(eecar)
    settled(db)
    monkeypatch.setattr(ports.embedder(), "model", "another/256")
    assert found(eecar.matching.of_query(Wanted(query="배터리"))) == []


def test_empty_query_is_rejected(eecar: Eecar) -> None:
    with pytest.raises(InvalidValue, match="query"):
        eecar.matching.of_query(Wanted(query=" "))


# The cache


def test_same_query_is_answered_from_the_cache(
    eecar: Eecar, db: Store, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(eecar)
    settled(db)
    first = eecar.matching.of_query(Wanted(query="배터리 팩"))
    data = objects.get(first.query_embedding)
    assert data is not None
    assert len(array("f", data)) == 256
    monkeypatch.setattr(ports.embedder(), "embed_one", None)
    assert eecar.matching.of_query(Wanted(query="배터리  팩")) == first


@pytest.mark.parametrize("category", [None, "battery"])
def test_new_part_makes_a_cached_match_stale(eecar: Eecar, db: Store, category: str | None) -> None:
    first = offer(eecar)
    settled(db)
    wanted = Wanted(query="배터리 팩", category=category)
    match = eecar.matching.of_query(wanted)
    second = offer(eecar)
    settled(db)
    assert eecar.matches.lookup(match.query_hash) is None
    assert found(eecar.matching.of_query(wanted)) == sorted([first, second])


def test_part_of_another_category_leaves_a_match_as_it_is(eecar: Eecar, db: Store) -> None:
    offer(eecar)
    settled(db)
    match = eecar.matching.of_query(Wanted(query="배터리 팩", category="battery"))
    offer(eecar, category=Category.MOTOR)
    settled(db)
    assert eecar.matches.lookup(match.query_hash) is not None


def test_changed_price_and_specification_make_a_match_stale(eecar: Eecar, db: Store) -> None:
    part_id = offer(eecar)
    settled(db)
    wanted = Wanted(query="배터리 팩", category="battery")
    for change in (
        lambda: eecar.db.update(d.part(part_id), lambda part: setattr(part, "price", part.price + 1)),
        lambda: eecar.parts.set_spec(part_id, a_spec()),
    ):
        match = eecar.matching.of_query(wanted)
        change()
        settled(db)
        assert eecar.matches.lookup(match.query_hash) is None


def test_similar_earlier_queries_are_found_by_meaning(eecar: Eecar, db: Store) -> None:
    for query in ("가정용 태양광 저장 배터리", "와이퍼 모터", "home solar storage battery"):
        eecar.matching.of_query(Wanted(query=query))
    similar = eecar.matching.similar_queries("태양광 저장용 배터리")
    assert [each.item.query for each in similar][:2] == ["가정용 태양광 저장 배터리", "home solar storage battery"]


# Over HTTP


def test_query_over_http(eecar: Eecar, db: Store, seller: Client, buyer: Client) -> None:
    part_id = offer(eecar)
    settled(db)
    reply = buyer.post("/matches", {"query": "ESS용 배터리", "minSpecs": {}, "maxPrice": 5_000_000})
    assert reply.status == 200
    body = reply.json
    assert [each["partId"] for each in body["matchedParts"]] == [part_id]
    assert body["modelUsed"] == "template"
    assert "embedding" not in body
    assert buyer.get(f"/matches/{body['queryHash']}").status == 200
    similar = buyer.get("/matches/similar?query=ESS%20battery").json
    assert [each["query"] for each in similar["items"]] == ["ESS용 배터리"]
    assert "embedding" not in buyer.get(f"/parts/{part_id}/vector").json


def test_need_over_http(eecar: Eecar, db: Store, maker: Client, buyer: Client) -> None:
    part_id = offer(eecar, quantity=20)
    settled(db)
    need = eecar.needs.post(a_need(target_application="배터리 팩"))
    path = f"/companies/{MAKER}/needs/{need.need_id}/matches"
    assert [each["partId"] for each in maker.post(path, {}).json["matchedParts"]] == [part_id]
    assert buyer.post(path, {}).status == 403
    with pytest.raises(NotFound):
        eecar.matching.of_need(MAKER, "n_none")

"""Korean text in any normalisation form, with emoji, and of maximum length."""

from unicodedata import normalize

import pytest

from partita import InvalidValue, Store
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from tests.systems.eecar.conftest import a_need, a_part, a_spec, a_usage, a_watch, disk

TEXTS = [
    "한글 배터리 모듈",
    normalize("NFD", "한글 배터리"),
    "🔋⚡️ 전기차 👩‍🔧",
    "옛한글 ᄒᆞᆫ글",
    "a#b$c d\u200b",
    "가" * 200,
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_stored_unchanged(eecar: Eecar, db: Store, text: str) -> None:
    part = eecar.parts.offer(
        a_part(name=text, manufacturer=text, description=text * 90),
        spec=a_spec(chemical_props={text: [text]}),
        usages=[a_usage(industry=text, application=text)],
    )
    whole = eecar.parts.whole(part.part_id)
    assert whole is not None
    assert (whole.part.name, whole.part.description) == (text, text * 90)
    assert whole.spec is not None
    assert whole.spec.chemical_props == {text: [text]}
    assert [each.industry for each in whole.usages] == [text]
    assert [each.name for each in eecar.parts.in_category("battery").items] == [text]


@pytest.mark.parametrize("text", TEXTS[:5])
def test_ids_with_such_text_have_different_keys(eecar: Eecar, db: Store, text: str) -> None:
    mine = eecar.parts.offer(a_part(seller_id=text[:20]))
    eecar.parts.offer(a_part(seller_id=f"{text[:20]}#x"))
    eecar.needs.post(a_need(company_id=text[:20]))
    eecar.needs.post(a_need(company_id=f"{text[:20]}#NEED"))
    assert [each.part_id for each in eecar.parts.of_seller(text[:20]).items] == [mine.part_id]
    assert len(list(db(d.active_needs_of_company(text[:20])))) == 1


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
def test_composed_and_decomposed_hangul_are_one_key(eecar: Eecar, db: Store, form: str) -> None:
    part = eecar.parts.offer(
        a_part(seller_id=normalize("NFD", "한빛 자동차"), category=Category(normalize("NFD", "타이어")))
    )
    seller, category = (normalize(form, text) for text in ("한빛 자동차", "타이어"))  # type: ignore[arg-type]
    assert [each.part_id for each in eecar.parts.of_seller(seller).items] == [part.part_id]
    assert [each.part_id for each in eecar.parts.in_category(category).items] == [part.part_id]
    assert disk(db)[f"PART#{part.part_id} METADATA"]["GSI1PK"] == {"S": f"CATEGORY#{normalize('NFC', '타이어')}"}


def test_a_watch_with_a_decomposed_category_is_found_by_the_composed_word(eecar: Eecar) -> None:
    criteria = d.Criteria(category=Category(normalize("NFD", "배터리")), min_specs={"용량": "70kWh"})
    watch = eecar.watches.add(a_watch(criteria=criteria))
    (found,) = eecar.watches.of_category("배터리")
    assert (found.watch_id, found.criteria.min_specs) == (watch.watch_id, {"용량": "70kWh"})


MAX_LENGTHS = {"name": 200, "manufacturer": 200, "seller_id": 64, "description": 20_000}


def test_the_longest_texts_fit_and_one_more_character_does_not(eecar: Eecar) -> None:
    longest = {name: "힣" * length for name, length in MAX_LENGTHS.items()}
    part = eecar.parts.offer(a_part(**longest, images=["https://example.com/" + "힣" * 1_980] * 40))
    whole = eecar.parts.whole(part.part_id)
    assert whole is not None
    assert whole.part == part
    for name, text in longest.items():
        with pytest.raises(InvalidValue, match=rf"Part.{name.partition('_')[0]}"):
            eecar.parts.offer(a_part(**{name: text + "힣"}))

"""The page of EECAR is correct: its example runs, its units are measured, and its monthly cost is right."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from partita import Store
from partita.cli.design import system_page
from partita.describe.design_page import page
from partita_systems import eecar
from partita_systems.eecar import design as d
from partita_systems.eecar import system
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import MAKER, SELLER, a_match, a_need, a_part, a_proposal, a_spec, a_usage, a_watch

PAGE = Path(eecar.__file__).with_name("page.md").read_text(encoding="utf-8")
CELLS = 4
CENT = 0.01
READ, WRITE = 0.125, 0.625  # USD per million units


def documented_units() -> dict[str, tuple[str, str]]:
    """The units and price of each operation."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    found = {row[0]: (row[2], row[3]) for row in rows if len(row) == CELLS}
    return {name: units for name, units in found.items() if name not in ("Operation", "---")}


def a_large_part() -> d.Part:
    return a_part(description="설명 " * 1400)


def test_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "page.md", "exec"), {})  # noqa: S102


def test_documented_units_equal_the_measured_units(eecar: Eecar, db: Store, clock: Clock) -> None:
    small = eecar.parts.offer(a_part(seller_id=MAKER))
    whole = [eecar.parts.offer(a_large_part(), spec=a_spec(), usages=[a_usage(), a_usage()]) for _ in range(25)][-1]
    part = whole.part_id
    need = eecar.needs.post(a_need()).need_id
    watch = eecar.watches.add(a_watch()).watch_id
    created = eecar.proposals.create(a_proposal(whole)).proposal_id
    parts = [d.MatchedPart(part_id=f"p_{number}", score=0.5, reason="이유 " * 12) for number in range(10)]
    seen = eecar.matches.catalogue_versions([Category.BATTERY])
    eecar.matches.cache(a_match(clock, matched_parts=parts, catalogue=seen))

    def reprice() -> None:
        with db.change(d.part(part)) as draft:
            draft.price = 1

    before_adoption: dict[str, Callable[[], object]] = {
        "the same before adoption": lambda: eecar.parts.in_category("battery", 20)
    }
    operations: dict[str, Callable[[], object]] = {
        "get a part of 4 KB, a need, a watch, a proposal or a notification": lambda: db(d.part(small.part_id)),
        "get a whole part of 10 KB": lambda: eecar.parts.whole(part),
        "list twenty parts of a category": lambda: eecar.parts.in_category("battery", 20),
        "list twenty parts of a seller, of 10 KB": lambda: eecar.parts.of_seller(SELLER, 20),
        "list the watches of a category": lambda: list(eecar.watches.of_category("배터리")),
        "look up a cached match": lambda: eecar.matches.lookup("h1"),
        "offer a part of 10 KB with its specification and two usages": lambda: eecar.parts.offer(
            a_large_part(), spec=a_spec(), usages=[a_usage(), a_usage()]
        ),
        "set its vector reference": lambda: eecar.parts.set_vector(part, "vectors/1.bin", "offline-1", 256),
        "post a need": lambda: eecar.needs.post(a_need()),
        "fulfil it": lambda: eecar.needs.fulfil(MAKER, need),
        "add a watch": lambda: eecar.watches.add(a_watch()),
        "trigger a watch": lambda: eecar.watches.trigger(watch, whole, 0.9),
        "create a proposal for a part of 10 KB": lambda: eecar.proposals.create(a_proposal(whole)),
        "answer it": lambda: eecar.proposals.answer(created, SELLER, "accepted", version=1),
        "write the hits of a match of 2 KB": eecar.matches.write_hits,
        "change its price": reprice,
        "withdraw it": lambda: eecar.parts.withdraw(part),
    }
    assert documented_units().keys() == (before_adoption | operations).keys()
    check_units(db, before_adoption)
    db.put(d.Adopted(at=clock()))
    eecar.parts.in_category("battery")
    check_units(db, operations)


def check_units(db: Store, operations: dict[str, Callable[[], object]]) -> None:
    for name, act in operations.items():
        with db.measure() as used:
            act()
        units = [f"{used.reads:g} read"] * bool(used.reads) + [f"{used.writes:g} write"] * bool(used.writes)
        assert documented_units()[name][0] == ", ".join(units), name
        assert abs(float(documented_units()[name][1]) - used.reads * READ - used.writes * WRITE) <= CENT / 2 + 1e-9, (
            name
        )


def test_the_example_of_the_document_costs_less_than_three_cents() -> None:
    reads, writes = 10_000 * 1.5, 1_000 * 30
    assert documented_units()["get a whole part of 10 KB"][0] == "1.5 read"
    assert documented_units()["offer a part of 10 KB with its specification and two usages"][0] == "30 write"
    storage = 0.01 * 0.25
    assert 2 * CENT < (reads * READ + writes * WRITE) / 1e6 + storage < 3 * CENT


# Every name, member and value of the document that is not an attribute of an entity.
DOCUMENTED = """
    신품 중고 재생 배터리 모터 전장부품 현대 기아 테슬라 재생에너지 ESS 건설 주_소재 부_소재 제안자 수신자 7일 30일
    primary secondary length width height unit mm cm kg voltage capacity power
    minQuantity maxPrice materialPreferences minSpecs high medium low active fulfilled cancelled triggered
    partId score reason buy sell pending accepted rejected negotiating
    part_available proposal_received compliance_violation
    BatchGetItem BatchWriteItem On-demand CACHE HIT_COUNT# CATEGORY#
"""


@pytest.mark.parametrize("word", DOCUMENTED.split())
def test_the_generated_page_contains_every_term_of_the_document(word: str) -> None:
    assert word.replace("_소재", " 소재") in system_page(system)


def test_generated_page_has_every_entity_and_pattern() -> None:
    printed = page(d.design, PAGE)
    for name in (model.name for model in d.design.models):
        assert f"### {name}\n" in printed
    for name in d.design.patterns:
        assert f"### `{name}(" in printed

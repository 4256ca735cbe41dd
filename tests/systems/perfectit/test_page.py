"""The page of PerfectIt is correct: its example runs, and its units are measured."""

import re
from collections.abc import Callable
from pathlib import Path

from partita import Store
from partita.describe.design_page import page
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, people, published
from tests.systems.perfectit.rate import rate

PAGE = Path(d.__file__).with_name("page.md").read_text(encoding="utf-8")
CELLS = 4
LONG = "Three thin coats make a finish that lasts for years. " * 20


def documented_units() -> dict[str, list[str]]:
    """Units and price of each operation."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    return {row[0]: row[2:] for row in rows if len(row) == CELLS and row[0] not in ("Operation", "---")}


def test_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "page.md", "exec"), {})  # noqa: S102


def test_documented_units_equal_the_measured_units(perfectit: PerfectIt, ann: str, clock: Clock, db: Store) -> None:
    ben, *_ = people(perfectit, 1)
    card = published(perfectit, ann, description=LONG)
    draft = perfectit.cards.draft(ann, Content(**{**OIL.fields(), "description": LONG})).card_id
    later = perfectit.new_collection(ann, "Later").collection_id
    for _ in range(20):
        perfectit.collect(ann, later, published(perfectit, ben))
    one = perfectit.new_collection(ann, "One").collection_id
    perfectit.collect(ann, one, card)
    operations: dict[str, Callable[[], object]] = {
        "get a profile, a card, a vote or a category": lambda: db(d.card(card)),
        "list a page of up to 4 KB": lambda: db(d.cards_by_author(ann)).page(),
        "list twenty cards": lambda: db(d.top_voted()).page(),
        "list a collection or search: one card": lambda: perfectit.cards_of_collection(one),
        "register": lambda: perfectit.register("Carol", "Carol Costa"),
        "write a draft": lambda: perfectit.cards.draft(ann, Content(**{**OIL.fields(), "description": LONG})),
        "publish": lambda: perfectit.cards.publish(draft),
        "edit the description": lambda: perfectit.cards.edit(card, Content(description=LONG.upper())),
        "vote": lambda: perfectit.votes.on_card(ben, card, d.VoteType.DOWN),
        "change a vote": lambda: perfectit.votes.on_card(ben, card, d.VoteType.UP),
        "withdraw a vote": lambda: perfectit.votes.on_card(ben, card, None),
        "comment": lambda: perfectit.comment(ben, card, "Which oil?"),
        "collect": lambda: perfectit.collect(ann, later, card),
        "count views": lambda: perfectit.cards.count_views(card, 10),
    }
    assert operations.keys() == documented_units().keys()
    measured = {}
    for name, act in operations.items():
        clock.passes(minutes=1)
        with db.measure() as used:
            act()
        units = [f"{used.reads:g} read"] * bool(used.reads) + [f"{used.writes:g} write"] * bool(used.writes)
        measured[name] = [", ".join(units), f"{used.reads * 0.125 + used.writes * 0.625 + 1e-9:.2f}"]
    assert measured == documented_units()


def test_generated_page_has_every_entity_and_pattern() -> None:
    printed = page(d.design, PAGE)
    for name in (model.name for model in d.design.models):
        assert f"### {name}\n" in printed
    for name in d.design.patterns:
        assert f"### `{name}(" in printed


def test_the_rate_of_votes_is_published() -> None:
    assert re.search(r"One card accepts\s+fewer.*?\d+ per second in memory", PAGE, re.DOTALL)
    assert rate("memory:", threads=2, votes=10) > 0

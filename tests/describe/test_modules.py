"""A design is found by its module's name, and tells what was proven."""

import pytest

from partita import DesignError, prove
from partita.describe.modules import design_in, explain_pattern, proof_summary
from tests.store import kitchen_sink_design


def test_a_module_s_design_is_the_one_it_proves() -> None:
    assert design_in("tests.store.kitchen_sink_design") is kitchen_sink_design.design


def test_a_module_with_tables_alone_is_proven() -> None:
    assert proof_summary(design_in("tests.design.shop")) == (
        "shop: 2 entities, 4 patterns, proven\n"
        "  customer                         GetItem  shop\n"
        "  order                            GetItem  shop\n"
        "  orders_to_ship                   Query    GSI1\n"
        "  account                          Query    shop"
    )


def test_a_pattern_is_told_by_its_name() -> None:
    assert explain_pattern(kitchen_sink_design.design, "notes").startswith("notes -> Note\n  where    table gallery\n")
    with pytest.raises(DesignError, match=r"^gallery: has no pattern 'nothing'; its patterns are artist, work"):
        explain_pattern(kitchen_sink_design.design, "nothing")


def test_of_two_designs_in_a_module_the_one_that_is_called_so_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    again = prove("again", kitchen_sink_design.gallery)
    monkeypatch.setattr(kitchen_sink_design, "again", again, raising=False)
    assert design_in("tests.store.kitchen_sink_design") is kitchen_sink_design.design
    monkeypatch.setattr(kitchen_sink_design, "first", kitchen_sink_design.design, raising=False)
    monkeypatch.delattr(kitchen_sink_design, "design")
    said = r"^tests.store.kitchen_sink_design: holds 2 designs; call the one that is meant `design`$"
    with pytest.raises(DesignError, match=said):
        design_in("tests.store.kitchen_sink_design")


def test_a_module_without_a_design_says_how_to_end_it() -> None:
    with pytest.raises(DesignError) as refusal:
        design_in("tests.store.clocks")
    assert str(refusal.value) == (
        'tests.store.clocks: holds neither a design nor a table; end it with design = prove("name", table)'
    )

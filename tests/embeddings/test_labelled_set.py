"""The labelled set of bench.matching: large enough, consistent, and split into comparable halves."""

from collections import Counter

import pytest

from bench.matching.labelled_set import HELD_OUT, LATER, TUNING, half_of, labelled_parts, labelled_queries

TRAITS = {"misspelt", "units", "meaning"}


def test_set_has_at_least_300_parts_and_120_queries() -> None:
    assert len({each.id for each in labelled_parts()}) == len(labelled_parts()) >= 300
    assert len({each.query for each in labelled_queries()}) == len(labelled_queries()) >= 120


def test_every_query_has_one_to_five_known_answers() -> None:
    known = {each.id for each in labelled_parts()}
    for each in [*labelled_queries(), *labelled_queries(LATER)]:
        assert 1 <= len(set(each.relevant)) == len(each.relevant) <= 5, each
        assert set(each.relevant) <= known, each
        assert set(each.traits) <= TRAITS, each


@pytest.mark.parametrize("half", [TUNING, HELD_OUT])
def test_each_half_has_all_languages_and_traits(half: str) -> None:
    queries = labelled_queries(half)
    counts = Counter(each.language for each in queries) + Counter(trait for each in queries for trait in each.traits)
    assert len(queries) >= 60
    assert counts.keys() == {"ko", "en", "mixed"} | TRAITS
    assert min(counts.values()) >= 5, counts


def test_later_queries_are_others() -> None:
    later = {each.query for each in labelled_queries(LATER)}
    assert len(later) == len(labelled_queries(LATER)) >= 120
    assert later.isdisjoint(each.query for each in labelled_queries())


def test_half_follows_from_the_text_alone() -> None:
    assert {half_of(each.query) for each in labelled_queries(HELD_OUT)} == {HELD_OUT}
    assert len(labelled_queries(TUNING)) + len(labelled_queries(HELD_OUT)) == len(labelled_queries())

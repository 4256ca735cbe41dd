"""The targets on the labelled set, and the numbers of the guide."""

from pathlib import Path

import pytest

from bench.matching.__main__ import MIN_ADVANTAGE, MIN_RECALL, WITHOUT_LATER_TERMS, group_table, searches, table
from bench.matching.full_text import FullText
from bench.matching.labelled_set import HELD_OUT, LATER, labelled_queries
from bench.matching.recall import Search, recall
from bench.matching.terms_in_use import later_glossary, terms_only_of
from partita.embeddings import Glossary, parts_glossary

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide" / "embeddings.md"


@pytest.fixture(scope="module")
def found() -> dict[str, Search]:
    return searches()


@pytest.mark.parametrize(
    ("half", "name"), [(HELD_OUT, "offline embedder, 256 dimensions"), (LATER, WITHOUT_LATER_TERMS)]
)
def test_queries_not_looked_at_are_answered_and_better_than_by_full_text(
    found: dict[str, Search], half: str, name: str
) -> None:
    measured = recall(found[name], labelled_queries(half))
    assert measured >= MIN_RECALL
    assert measured - recall(found["full text"], labelled_queries(half)) >= MIN_ADVANTAGE


def test_guide_has_the_measured_numbers(found: dict[str, Search]) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    assert table(found) in page
    assert group_table(dict(list(found.items())[:2])) in page


def test_no_term_of_the_glossary_is_used_by_held_out_queries_only() -> None:
    assert terms_only_of(HELD_OUT, parts_glossary()) == set()


def test_later_queries_are_measured_without_the_terms_that_only_they_use() -> None:
    assert terms_only_of(LATER, later_glossary()) == set()
    assert set(later_glossary().terms) < set(parts_glossary().terms)


def test_term_of_held_out_queries_only_would_be_found() -> None:
    word = "zzlampenfassung"
    queries = " ".join(each.query for each in labelled_queries(HELD_OUT))
    assert word not in queries
    glossary = Glossary({"plug": ["service plug"], "other": [word]})
    assert terms_only_of(HELD_OUT, glossary) == {"serviceplug"}


def test_full_text_finds_korean_words_of_any_length_inside_of_others() -> None:
    index = FullText([("a", "고전압배터리팩"), ("b", "와이퍼 모터"), ("c", "drive motor")])
    assert index.search("배터리", 5) == ["a"]
    assert index.search("Motor", 5) == ["c"]
    assert index.search("모터", 5) == ["b"]

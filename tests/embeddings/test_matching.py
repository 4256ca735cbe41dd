"""The targets on the labelled set, and the numbers of the guide."""

from pathlib import Path

import pytest

from bench.matching.__main__ import MIN_ADVANTAGE, MIN_RECALL, group_table, searches, table
from bench.matching.full_text import FullText
from bench.matching.labelled_set import HELD_OUT, labelled_queries
from bench.matching.recall import Search, recall
from bench.matching.terms_in_use import terms_of_held_out_queries_only
from partita.embeddings import Glossary, parts_glossary

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide" / "embeddings.md"


@pytest.fixture(scope="module")
def found() -> dict[str, Search]:
    return searches()


def test_held_out_queries_are_answered_and_better_than_by_full_text(found: dict[str, Search]) -> None:
    words, meaning, *_ = found.values()
    measured = recall(meaning, labelled_queries(HELD_OUT))
    assert measured >= MIN_RECALL
    assert measured - recall(words, labelled_queries(HELD_OUT)) >= MIN_ADVANTAGE


def test_guide_has_the_measured_numbers(found: dict[str, Search]) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    assert table(found) in page
    assert group_table(dict(list(found.items())[:2])) in page


def test_no_term_of_the_glossary_is_used_by_held_out_queries_only() -> None:
    assert terms_of_held_out_queries_only(parts_glossary()) == set()


def test_term_of_held_out_queries_only_would_be_found() -> None:
    word = "zzlampenfassung"
    queries = " ".join(each.query for each in labelled_queries(HELD_OUT))
    assert word not in queries
    glossary = Glossary({"plug": ["service plug"], "other": [word]})
    assert terms_of_held_out_queries_only(glossary) == {"serviceplug"}


def test_full_text_finds_korean_words_of_any_length_inside_of_others() -> None:
    index = FullText([("a", "고전압배터리팩"), ("b", "와이퍼 모터"), ("c", "drive motor")])
    assert index.search("배터리", 5) == ["a"]
    assert index.search("Motor", 5) == ["c"]
    assert index.search("모터", 5) == ["b"]

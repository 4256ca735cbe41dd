"""Languages of key texts: membership, meeting, order and bounds, held against plain Python over small alphabets."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.design.key_languages import (
    ANY_TEXT,
    SOME_TEXT,
    Language,
    at_least,
    at_most,
    characters,
    exactly,
    literal,
    meet,
    one_of,
    optional,
    repeated,
    sequence,
    starting_with,
    texts,
)
from partita.design.key_parts import ShardPart

ALPHABET = '"#$a'
SHORT = ["".join(each) for length in range(5) for each in product(ALPHABET, repeat=length)]

LANGUAGES = st.recursive(
    st.one_of(
        st.text(ALPHABET, max_size=2).map(literal),
        st.sampled_from([characters('"#'), characters("#$"), characters("aa"), characters('"a')]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: sequence(*pair)),
        st.tuples(inner, inner).map(lambda pair: one_of(*pair)),
        inner.map(repeated),
        inner.map(optional),
    ),
    max_leaves=5,
)


def members(language: Language) -> list[str]:
    return [text for text in SHORT if text in language]


@given(LANGUAGES, LANGUAGES)
def test_meeting_texts_are_in_both_and_shortest(one: Language, other: Language) -> None:
    shared = [text for text in members(one) if text in other]
    found = meet(one, other)
    if found is None:
        assert shared == []
    else:
        assert found in one
        assert found in other
        assert len(found) == min(map(len, shared), default=len(found))


@given(LANGUAGES)
def test_at_least_and_at_most_are_bounds_by_text_order(language: Language) -> None:
    inside = members(language)
    above, below = at_least(language), at_most(language)
    for text in SHORT[:85]:
        if any(each <= text for each in inside):
            assert text in above
        elif language.least is not None:
            assert (text in above) == (language.least <= text)
        if any(text <= each for each in inside):
            assert text in below
        elif language.greatest is not None:
            assert (text in below) == (text <= language.greatest)


@given(LANGUAGES)
def test_least_and_greatest_are_members_that_nothing_passes(language: Language) -> None:
    inside = members(language)
    if language.least is not None:
        assert language.least in language
        assert all(language.least <= text for text in inside)
    if language.greatest is not None:
        assert language.greatest in language
        assert all(text <= language.greatest for text in inside)


@given(LANGUAGES)
def test_order_survives_the_separator_unless_a_witness_is_given(language: Language) -> None:
    inside = members(language)
    witness = language.continues_at_or_below("#")
    if witness is None:
        for one in inside:
            for other in inside:
                if one < other:
                    assert one + "#z" < other + "#"
    else:
        assert witness[:-1] in language
        assert witness[-1] <= "#"
        assert meet(language, starting_with(literal(witness))) is not None


@given(st.text(max_size=8), st.text(max_size=8))
def test_bounds_of_one_text_are_python_comparison(bound: str, text: str) -> None:
    assert (text in at_least(literal(bound))) == (text >= bound)
    assert (text in at_most(literal(bound))) == (text <= bound)


@given(st.text(max_size=6))
def test_any_text_is_any_text(text: str) -> None:
    assert text in ANY_TEXT
    assert (text in SOME_TEXT) == (text != "")
    assert text in texts([text, "other"])


@pytest.mark.parametrize(
    ("language", "least", "greatest"),
    [
        (exactly(4, characters("09")), "0000", "9999"),
        (texts(["high", "low", "medium"]), "high", "medium"),
        (repeated(characters("az")), "a", None),
        (sequence(repeated(literal("a")), literal("b")), None, "ab"),
    ],
)
def test_extremes(language: Language, least: str | None, greatest: str | None) -> None:
    assert (language.least, language.greatest) == (least, greatest)


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 99, 100, 101, 1234])
def test_language_of_shards_is_their_numbers(count: int) -> None:
    language = ShardPart(count).language
    assert all(str(number) in language for number in range(count))
    assert not any(text in language for text in (str(count), str(count * 10), "00", "01", "", "-1", "a"))


def test_language_of_shards_does_not_grow_with_their_number() -> None:
    assert sum(map(len, ShardPart(10**9).language.edges)) < 100

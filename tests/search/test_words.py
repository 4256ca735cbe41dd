"""Tokens: what is one word for a search."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import DesignError
from partita.search.query_text import MAX_TERMS, Term, parsed
from partita.search.stems import checked_languages
from partita.search.words import Analyzer, folded

BOTH = Analyzer(("pt", "en"))
PLAIN = Analyzer()


def tokens(text: str, analyzer: Analyzer = BOTH) -> list[str]:
    return [each.text for each in analyzer.tokens(text)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("finishes", "finish"),
        ("Finishing", "finish"),
        ("finished", "finish"),
        ("drill's", "drill"),
        ("drill\u2019s", "drills"),
        ("pens", "pen"),
        ("café", "cafe"),
        ("cafe\u0301", "CAFÉ"),
        ("instalação", "instalacao"),
        ("instalações", "instalacao"),
        ("furações", "furação"),
        ("materiais", "material"),
        ("móveis", "movel"),
        ("possíveis", "possivel"),
        ("importâncias", "importancia"),
        ("mesas", "mesa"),
        ("cortando", "cortar"),
        ("parafusos", "parafuso"),
        ("\uff4d\uff45sa", "mesa"),
        ("나사못", "\u1102\u1161\u1109\u1161\u1106\u1169\u11ba"),
    ],
)
def test_two_writings_are_one_word(first: str, second: str) -> None:
    assert tokens(first) == tokens(second)


def test_words_with_one_english_stem_are_one_word_with_both_languages() -> None:
    english, both = Analyzer(("en",)), Analyzer(("en", "pt"))
    pages = (Path(__file__).parents[2] / "docs" / "guide").glob("*.md")
    words = {word for page in pages for word in re.findall("[a-z]{4,}", page.read_text(encoding="utf-8").lower())}
    by_stem: dict[str, set[str]] = {}
    for word in sorted({*words, "tomato", "tomatoes", "chair", "chairs"}):
        (stem,), (found,) = tokens(word, english), tokens(word, both)
        by_stem.setdefault(stem, set()).add(found)
    assert len(by_stem) > 1000
    assert {stem: several for stem, several in by_stem.items() if len(several) > 1} == {}


@pytest.mark.parametrize(
    "words",
    [
        "falar falando falamos falou",
        "comer comendo comemos comido",
        "lento lenta lentos lentamente",
        "instalação instalacao instalações instalacoes",
        "confortável confortáveis confortaveis",
        "papel papéis papeis",
        "cadeira cadeiras",
        "envernizar envernizando",
        "antigo antiga antigos antigas",
    ],
)
def test_portuguese_words_are_one_word_with_both_languages(words: str) -> None:
    assert len({*map(tuple, map(tokens, words.split()))}) == 1


@pytest.mark.parametrize(("first", "second"), [("itens", "item"), ("cartões", "cartão"), ("viagens", "viagem")])
def test_portuguese_alone_knows_more_plurals(first: str, second: str) -> None:
    alone = Analyzer(("pt",))
    assert tokens(first, alone) == tokens(second, alone)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("나사못을", ["나사", "사못", "못을", "을"]),
        ("못", ["못"]),
        ("M6볼트 2개", ["m6", "볼트", "트", "2", "개"]),
        ("e-mail 3.5 snake_case", ["e", "mail", "3", "5", "snake", "case"]),
        ("½ ⑴ ㎏ ﬁn", ["1", "2", "1", "kg", "fin"]),
        ("", []),
        ("!?*\"'()\x00", []),
    ],
)
def test_tokens_of_text(text: str, expected: list[str]) -> None:
    assert tokens(text, PLAIN) == expected


def test_unknown_language_is_rejected() -> None:
    with pytest.raises(DesignError, match="language='xx' is not known; use 'en', 'pt', 'ko'"):
        checked_languages("TextIndex a", ("en", "xx"))


@given(st.text())
def test_token_has_no_ascii_but_letters_and_digits(text: str) -> None:
    """FTS5's ascii tokenizer then splits a document exactly between our tokens."""
    for each in BOTH.tokens(text):
        assert each.text
        assert all(char.isalnum() for char in each.text if char.isascii())
        assert 0 <= each.start < each.end <= len(text)


@given(st.text())
def test_fast_and_placed_tokens_are_the_same(text: str) -> None:
    forms: list[str] = []
    found = BOTH.joined_tokens(text, forms)
    placed = list(BOTH.tokens(text))
    assert found == " ".join(each.text for each in placed)
    assert forms == [each.form for each in placed if each.form and each.form != each.text]


@given(st.text(alphabet="abcdefgé́ãç나사못", min_size=1))
def test_folding_again_changes_nothing(word: str) -> None:
    assert folded(folded(word)) == folded(word)


def terms(text: str, *, complete: bool = False) -> list[tuple[Term, ...]]:
    return list(parsed(text, PLAIN, complete=complete).terms)


def test_words_phrases_and_prefixes_of_a_query() -> None:
    assert terms('mesa "de carvalho" carv*') == [
        (Term(("mesa",)),),
        (Term(("de", "carvalho")),),
        (Term(("carv",), prefix=True),),
    ]


def test_joined_words_are_a_phrase() -> None:
    assert terms("e-mail") == [(Term(("e", "mail")),)]


def test_korean_word_is_a_phrase_of_pairs_and_one_syllable_a_prefix() -> None:
    assert terms("나사못") == [(Term(("나사", "사못")),)]
    assert terms("못") == [(Term(("못",), prefix=True),)]
    assert terms('"나사못 세트"') == [(Term(("나사", "사못", "못", "세트")),)]


def test_last_word_may_be_unfinished() -> None:
    assert terms("mesa carv", complete=True)[-1] == (Term(("carv",), prefix=True), Term(("carv",)))
    assert terms("mesa carv ", complete=True)[-1] == (Term(("carv",)),)


def test_short_prefix_is_a_word() -> None:
    assert terms("ca*") == [(Term(("ca",)),)]


def test_query_is_bounded() -> None:
    assert len(terms(" ".join(f"w{number}" for number in range(100)))) == MAX_TERMS
    assert terms("x" * 5000) == [(Term(("x" * 64,)),)]

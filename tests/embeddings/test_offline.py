"""The offline embedder: the same everywhere, and close for the same meaning."""

import subprocess
import sys
from array import array
from hashlib import sha256
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import ConfigurationError, EmbeddingModelMismatch, InvalidValue
from partita.embeddings import Embedding, Glossary, OfflineEmbedder, spelling
from partita.embeddings.glossary import MAX_TERM, pieces_in, terms_in
from partita.embeddings.spelling import edits
from partita.embeddings.text_features import features_of
from partita.embeddings.unit_measures import measures_in

EMBEDDER = OfflineEmbedder()
TEXTS = [
    "아이오닉 5 고전압 배터리 팩\n653 V 72.6 kWh",
    "Leaf onboard charger 6.6 kW",
    "희터 invertor ⚡ 日本 1,500W",
    "é",
]


def similarity(one: str, other: str) -> float:
    return EMBEDDER.embed_one(one).similarity(EMBEDDER.embed_one(other))


def digest(texts: list[str]) -> str:
    vectors = (array("f", each.vector).tobytes() for each in EMBEDDER.embed(texts))
    return sha256(b"".join(vectors)).hexdigest()[:16]


def test_vectors_of_this_version_never_change() -> None:
    """A change of this digest is a change of the model: raise `VERSION`, or the stored vectors would not fit."""
    assert (EMBEDDER.model, digest(TEXTS)) == ("partita-offline-1-e2ee3caf/256", "570f5ac7bb77922c")


def test_another_process_embeds_the_same() -> None:
    code = f"from tests.embeddings.test_offline import digest; print(digest({TEXTS!r}))"
    for seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONUTF8": "1"},
        )
        assert found.stdout.strip() == digest(TEXTS)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("고전압 배터리 팩", "high voltage battery pack", "drive motor"),
        ("50kWh 배터리", "battery, 50 kWh", "battery, 40 kWh"),
        ("7,200 W 충전기", "charger 7.2kW", "charger 11 kW"),
        ("인벌터", "인버터", "모터"),
        ("invertor", "인버터", "모터"),
        ("배터리팩", "배터리 팩", "모듈"),
        ("ioniq5 모터", "아이오닉 5 motor", "아이오닉 6 motor"),
        ("어댑터", "adapter", "compressor"),
        ("알려지지않은낱말", "알려지지안은낱말", "다른 표현"),
    ],
)
def test_same_meaning_is_nearer(query: str, near: str, far: str) -> None:
    assert similarity(query, near) > similarity(query, far) + 0.1


def test_composed_and_decomposed_hangul_are_the_same() -> None:
    text = "배터리 냉각판"
    assert EMBEDDER.embed_one(normalize("NFD", text)) == EMBEDDER.embed_one(text)


def test_title_weighs_more_than_the_lines_after_it() -> None:
    query = "와이퍼 모터"
    assert similarity(query, "와이퍼 모터\n배터리 셀") > similarity(query, "배터리 셀\n와이퍼 모터")


def test_long_runs_of_letters_are_compared_with_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def edits(one: str, _: str) -> int:
        compared.append(one)
        return 99

    monkeypatch.setattr(spelling, "edits", edits)
    embedder = OfflineEmbedder()
    for text in ("배" * 1000, "inverter" * 100, "배터리" * 300):
        embedder.embed_one(text)
    assert compared == []
    embedder.embed_one("invertor " * 3)
    assert set(compared) == {"invertor"}
    assert len(compared) < 100


def test_text_without_features_has_a_vector_of_zeros() -> None:
    nothing = EMBEDDER.embed_one("...")
    assert set(nothing.vector) == {0.0}
    assert nothing.similarity(EMBEDDER.embed_one("배터리")) == 0.0


def test_vectors_of_another_glossary_are_of_another_model() -> None:
    other = OfflineEmbedder(glossary=Glossary({"tyre": ["tyre", "타이어"]}))
    with pytest.raises(EmbeddingModelMismatch, match=r"cannot be compared with those of 'partita-offline-1-.+/256'"):
        EMBEDDER.embed_one("tyre").similarity(other.embed_one("tyre"))


def test_number_of_dimensions_is_part_of_the_model() -> None:
    assert OfflineEmbedder(512).model == EMBEDDER.model.replace("/256", "/512")


def test_dimensions_out_of_range_are_rejected() -> None:
    with pytest.raises(ConfigurationError, match="dimensions=8 is not valid; use a whole number, 64 to 4096"):
        OfflineEmbedder(8)


@pytest.mark.parametrize("texts", [["a", ""], ["a", " \n"], ["a", None]])
def test_empty_text_is_rejected_with_its_place(texts: list[str]) -> None:
    with pytest.raises(InvalidValue, match=r"texts\[1\]"):
        EMBEDDER.embed(texts)


def test_single_text_in_place_of_a_list_is_rejected() -> None:
    with pytest.raises(InvalidValue, match="embed_one"):
        EMBEDDER.embed("배터리")


async def embedded(texts: list[str]) -> list[Embedding]:
    return await EMBEDDER.embed_async(texts)


def test_event_loop_gets_the_same_vectors() -> None:
    import asyncio

    assert asyncio.run(embedded(TEXTS)) == EMBEDDER.embed(TEXTS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("400v", ["400 V"]),
        ("400 볼트로", ["400 V"]),
        ("0.4kv", ["400 V"]),
        ("1,500 w", ["1.5 kW"]),
        ("12.3인치", ["12.3 inch"]),
        ("8s3p", ["8 series"]),
        ("model 3 s", []),
        ("v 400", []),
        ("100 apples", []),
    ],
)
def test_measure_has_one_name(text: str, names: list[str]) -> None:
    assert [each.name for each in measures_in(text)] == names


@pytest.mark.parametrize("line", ["battery 배터리", ": 배터리", "battery:", "battery: ,", f"a: {'b' * (MAX_TERM + 1)}"])
def test_glossary_that_cannot_be_read_is_rejected(line: str) -> None:
    with pytest.raises(ConfigurationError, match="glossary"):
        Glossary.from_text(line)


@given(st.text(max_size=60))
def test_any_text_has_a_vector_of_length_one_or_zero(text: str) -> None:
    if text.strip():
        vector = EMBEDDER.embed_one(text).vector
        length = sum(each * each for each in vector) ** 0.5
        assert length == pytest.approx(1.0, abs=1e-5) or (length == 0 and features_of(text, EMBEDDER.glossary) == {})


@given(st.text(alphabet="가나배터리팩ab s5.-", max_size=20))
def test_search_for_terms_loses_no_letter(text: str) -> None:
    glossary = Glossary({"battery": ["배터리", "ab"], "pack": ["팩"]})
    found = "".join(each.text for each in pieces_in(text, glossary))
    assert found == "".join(each for each in text if each.isalnum())
    assert {each.text for each in pieces_in(text, glossary) if each.concepts} <= {
        form for term in terms_in(text, glossary) for form in (term, f"{term}s")
    }


@given(st.text(alphabet="abc", max_size=6), st.text(alphabet="abc", max_size=6))
def test_edits_are_a_distance(one: str, other: str) -> None:
    assert edits(one, other) == edits(other, one)
    assert (edits(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= edits(one, other) <= max(len(one), len(other))

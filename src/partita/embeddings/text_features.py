"""Features of a text with their weights: concepts of a glossary, measures, words and parts of words."""

import re
from collections.abc import Iterator

from partita.embeddings.glossary import Glossary, TextPiece, pieces_in, plain_text
from partita.embeddings.jamo import is_hangul, letters_of
from partita.embeddings.unit_measures import measures_in

_TITLE, _BODY = 1.0, 0.5
_CONCEPT, _MEASURE, _NUMBER, _WORD, _PARTS, _MISSPELT = 1.0, 0.8, 0.5, 0.5, 0.5, 0.8
_STOP_WORDS = frozenset(
    "a an the and or of for from with without in on at to by per as is are be it its my this that not no one any used "
    "very all each both i we you need want looking 및 등 개 용 것 수 입니다 합니다 있습니다 있음 없음 포함 완료 가능 "
    "구해요 구합니다 찾아요 삽니다 필요 좋습니다 에서 으로 하는 있는 없는 kg mm".split()
)
_ENDINGS = re.compile("(?:입니다|합니다|에서|으로|까지|부터|하는|되는|은|는|이|가|을|를|의|에|로|와|과|도|만|용)$")


def features_of(text: str, glossary: Glossary) -> dict[str, float]:
    """The features of a text. The first line is its title and weighs more than the rest.

    >>> sorted(features_of("400V 배터리", Glossary({"battery": ["배터리", "battery"]})))
    ['400 V', '=battery']
    """
    features: dict[str, float] = {}
    for number, line in enumerate(text.strip().splitlines()):
        share = _BODY if number else _TITLE
        for feature, weight in _line_features(plain_text(line), glossary):
            features[feature] = max(features.get(feature, 0.0), weight * share)
    return features


def _line_features(line: str, glossary: Glossary) -> Iterator[tuple[str, float]]:
    rest, end = [], 0
    for measure in measures_in(line):
        yield measure.name, _MEASURE
        rest.append(line[end : measure.start])
        end = measure.end
    for piece in pieces_in(" ".join([*rest, line[end:]]), glossary):
        yield from _piece_features(piece, glossary)


def _piece_features(piece: TextPiece, glossary: Glossary) -> Iterator[tuple[str, float]]:
    if piece.concepts:
        yield from _concepts(piece.concepts, _CONCEPT, glossary)
        return
    word = _ENDINGS.sub("", piece.text) if len(piece.text) > 2 and is_hangul(piece.text) else piece.text
    if word.isdigit():
        yield f"#{word}", _NUMBER
        return
    if len(word) < 2 or word in _STOP_WORDS or piece.text in _STOP_WORDS:
        return
    meant = glossary.correction(word) if is_hangul(word) else None
    if meant is not None:
        yield from _concepts(glossary.concepts(meant), _MISSPELT, glossary)
    yield f"'{word}", _WORD
    parts = _parts(letters_of(word))
    for part in parts:
        yield part, _PARTS / len(parts) ** 0.5


def _concepts(concepts: tuple[str, ...], weight: float, glossary: Glossary) -> Iterator[tuple[str, float]]:
    """The first concept is the meaning, the others are what it is a kind of."""
    for rank, concept in enumerate(concepts):
        yield f"={concept}", weight * glossary.weights.get(concept, 1.0) * (0.6 if rank else 1.0)


def _parts(letters: str) -> list[str]:
    """All parts of three letters, with the ends of the word marked."""
    marked = f"<{letters}>"
    return [marked[at : at + 3] for at in range(len(marked) - 2)]

"""Why a part fits: a sentence in the language of the query, from a template or from a Claude model."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from partita_systems.eecar import design as d

TEMPLATE = "template"
_HANGUL = re.compile("[가-힣]")


class Fit(NamedTuple):
    """A part that fits a query: how similar it is, and which of the preferred materials it has."""

    part: d.Part
    similarity: float
    preferred: list[str]


class NoReasons(Exception):
    """The model gave no usable answer; the template writes the reasons."""


class ReasonWriter(Protocol):
    """Writes a reason for each part, in their order; `model` is stored with the match."""

    @property
    def model(self) -> str: ...

    def write(self, query: str, fits: Sequence[Fit]) -> list[str]:
        """Raises NoReasons where it cannot."""
        ...


class TemplateReasons:
    """The sentences of a template, in Korean if the query has Hangul, else in English."""

    model = TEMPLATE

    def write(self, query: str, fits: Sequence[Fit]) -> list[str]:
        sentence = _in_korean if is_korean(query) else _in_english
        return [sentence(each) for each in fits]


def is_korean(query: str) -> bool:
    return _HANGUL.search(query) is not None


def _in_korean(fit: Fit) -> str:
    part = fit.part
    offer = f"{part.category.value}, {part.condition.value}, {part.price:,}원, 수량 {part.quantity}개"
    text = f"{offer}. 유사도 {fit.similarity:.0%}."
    return f"{text} 선호 소재: {', '.join(fit.preferred)}." if fit.preferred else text


def _in_english(fit: Fit) -> str:
    part = fit.part
    text = f"{part.name}: {part.quantity} at {part.price:,} won each. Similarity {fit.similarity:.0%}."
    return f"{text} Preferred material: {', '.join(fit.preferred)}." if fit.preferred else text

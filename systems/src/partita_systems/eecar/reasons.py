"""Why a part fits: a sentence in the language of the query."""

import re

from partita_systems.eecar import design as d

_HANGUL = re.compile("[가-힣]")
TEMPLATE = "template"


def reason(query: str, part: d.Part, similarity: float, preferred: list[str]) -> str:
    """The sentence of a template, in Korean if the query has Hangul, else in English."""
    if _HANGUL.search(query):
        offer = f"{part.category.value}, {part.condition.value}, {part.price:,}원, 수량 {part.quantity}개"
        text = f"{offer}. 유사도 {similarity:.0%}."
        return f"{text} 선호 소재: {', '.join(preferred)}." if preferred else text
    text = f"{part.name}: {part.quantity} at {part.price:,} won each. Similarity {similarity:.0%}."
    return f"{text} Preferred material: {', '.join(preferred)}." if preferred else text

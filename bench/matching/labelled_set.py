"""The labelled set: parts of electric cars, and queries with the parts that answer them.

`README.md` beside the data says how the queries were judged. A query belongs to one half by the hash of its text: the
glossary and the weights of an embedder are chosen on `TUNING`, and `HELD_OUT` measures it. The queries of `LATER` were
written after the embedder, and only measure it.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

DATA = Path(__file__).parent
TUNING, HELD_OUT, LATER = "tuning", "held-out", "later"


class LabelledPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part as a seller has listed it, in Korean, English or both."""

    id: str
    name: str
    category: str
    manufacturer: str
    model: str
    year: int
    condition: str
    description: str
    specs: Mapping[str, str]


class LabelledQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query as a buyer would write it, with the ids of the parts that answer it."""

    query: str
    language: str
    traits: tuple[str, ...]
    relevant: tuple[str, ...]

    @property
    def half(self) -> str:
        return half_of(self.query)


def half_of(query: str) -> str:
    """The half that a query belongs to.

    >>> half_of("battery")
    'held-out'
    """
    return HELD_OUT if sha256(query.encode()).digest()[0] % 2 else TUNING


def labelled_parts() -> list[LabelledPart]:
    return msgspec.json.Decoder(LabelledPart).decode_lines((DATA / "parts.jsonl").read_bytes())


def labelled_queries(half: str | None = None) -> list[LabelledQuery]:
    """The queries of a half, those of both halves, or the later ones."""
    name = "later_queries.jsonl" if half == LATER else "queries.jsonl"
    queries = msgspec.json.Decoder(LabelledQuery).decode_lines((DATA / name).read_bytes())
    return queries if half == LATER else [each for each in queries if half in {None, each.half}]

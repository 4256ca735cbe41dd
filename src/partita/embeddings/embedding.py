"""An embedding: a vector with the name of the model that made it."""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from partita.errors import EmbeddingModelMismatch

Purpose = Literal["document", "query"]
"""The side of a search that a text is on; some models embed queries differently from what they search."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector of 32-bit floats. `model` names the model with its version and dimensions; store it with the vector.

    >>> Embedding((0.6, 0.8), "m/2").similarity(Embedding((1.0, 0.0), "m/2"))
    0.6
    """

    vector: tuple[float, ...]
    model: str

    @property
    def dimensions(self) -> int:
        return len(self.vector)

    def similarity(self, other: "Embedding") -> float:
        """The cosine of the angle between both, from -1 to 1; 0 where one has no direction."""
        other.check_model(self.model)
        lengths = math.hypot(*self.vector) * math.hypot(*other.vector)
        products = (one * another for one, another in zip(self.vector, other.vector, strict=True))
        return math.fsum(products) / lengths if lengths else 0.0

    def check_model(self, model: str) -> None:
        """Raises EmbeddingModelMismatch unless this is a vector of `model`."""
        if self.model != model:
            raise EmbeddingModelMismatch(self.model, model)


def as_float32(numbers: Iterable[float]) -> tuple[float, ...]:
    """The nearest 32-bit floats, which is what a vector index stores.

    >>> as_float32([0.1, 0.5])
    (0.10000000149011612, 0.5)
    """
    return tuple(array("f", numbers))

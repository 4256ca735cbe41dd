"""The embedder that needs no model and no network: features of a text, hashed into dimensions.

    text -> measures, concepts of the glossary, words, parts of words      text_features
         -> each feature adds its weight, with a sign, to four of the dimensions (feature hashing)
         -> a vector of length 1

A feature has the same four dimensions everywhere, by BLAKE2b of its name. So two texts are as similar as the features
that they share are heavy, and equal on every machine and version of Python.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from partita.embeddings.embedder import Embedder
from partita.embeddings.embedding import Purpose
from partita.embeddings.glossary import Glossary, parts_glossary
from partita.embeddings.text_features import features_of
from partita.setting_rules import SettingRule, check_settings

VERSION = 1
"""Changes whenever the vector of a text changes for another reason than the glossary."""

_PLACES = 4
_DIMENSIONS = SettingRule(lambda value: isinstance(value, int) and 64 <= value <= 4096, "a whole number, 64 to 4096")


class OfflineEmbedder(Embedder):
    """Embeds by the words of a text: for Korean and English, misspellings and units included.

    The first line of a text is its title and weighs most. The default glossary has the parts of electric cars.

    >>> embedder = OfflineEmbedder()
    >>> one, same, other = embedder.embed(["50kWh 배터리 팩", "battery pack, 50 kWh", "와이퍼 모터"])
    >>> round(one.similarity(same), 2), round(one.similarity(other), 2)
    (1.0, 0.0)
    """

    batch_size = 256

    def __init__(self, dimensions: int = 256, glossary: Glossary | None = None) -> None:
        check_settings({"dimensions": _DIMENSIONS}, {"dimensions": dimensions})
        self.dimensions = dimensions
        self.glossary = parts_glossary() if glossary is None else glossary
        self.model = f"partita-offline-{VERSION}-{self.glossary.fingerprint}/{dimensions}"

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        """A text without any feature, such as `...`, has a vector of zeros."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for feature, weight in sorted(features_of(text, self.glossary).items()):
            for place, sign in _places(feature, self.dimensions):
                vector[place] += sign * weight
        length = math.sqrt(math.fsum(each * each for each in vector))
        return [each / length for each in vector] if length else vector


@lru_cache(maxsize=20_000)
def _places(feature: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    """The dimensions of a feature, each with its sign."""
    digest = blake2b(feature.encode(), digest_size=4 * _PLACES).digest()
    numbers = [int.from_bytes(digest[at : at + 4], "big") for at in range(0, len(digest), 4)]
    return tuple((number // 2 % dimensions, 1.0 if number % 2 else -1.0) for number in numbers)

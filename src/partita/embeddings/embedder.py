"""The port of embeddings: texts in, vectors out, in batches, for threads and for event loops."""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from partita.embeddings.embedding import Embedding, Purpose, as_float32
from partita.errors import ConfigurationError, InvalidValue, NoReply


class Embedder(ABC):
    """Embeds texts with one model. Close it, or use it in a `with` block.

    Another service is a subclass that sets the attributes and defines `vectors`.
    """

    model: str
    """The name of the model with its version and dimensions: vectors with another one cannot be compared."""

    dimensions: int
    batch_size: int = 64
    """The most texts of one call of `vectors`."""

    parallel: int = 1
    """The number of batches at a time."""

    @abstractmethod
    def vectors(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        """The vectors of one batch, in its order."""

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> list[Embedding]:
        """The embeddings of all texts, in their order. Raises InvalidValue for a text that is empty."""
        check_texts(texts, purpose)
        batches = [texts[at : at + self.batch_size] for at in range(0, len(texts), self.batch_size)]
        if len(batches) <= 1 or self.parallel == 1:
            return [each for batch in batches for each in self._batch(batch, purpose)]
        with ThreadPoolExecutor(min(self.parallel, len(batches)), "partita-embeddings") as threads:
            runs = [threads.submit(self._batch, batch, purpose) for batch in batches]
            try:
                return [each for run in runs for each in run.result()]
            finally:
                for run in runs:
                    run.cancel()

    def embed_one(self, text: str, purpose: Purpose = "document") -> Embedding:
        """The embedding of one text."""
        return self.embed([text], purpose)[0]

    async def embed_async(self, texts: Sequence[str], purpose: Purpose = "document") -> list[Embedding]:
        """As `embed`, in a thread: the event loop goes on meanwhile."""
        return await asyncio.to_thread(self.embed, texts, purpose)

    def _batch(self, texts: Sequence[str], purpose: Purpose) -> list[Embedding]:
        found = self.vectors(texts, purpose)
        if len(found) != len(texts):
            raise NoReply(self.model, f"{len(found)} vectors for {len(texts)} texts", perhaps_executed=True)
        for vector in found:
            if len(vector) != self.dimensions:
                raise ConfigurationError(
                    f"{self.model}: the vectors have {len(vector)} dimensions, not {self.dimensions}; "
                    f"use dimensions={len(vector)}"
                )
        singles = [as_float32(vector) for vector in found]
        if not all(math.isfinite(number) for vector in singles for number in vector):
            raise NoReply(self.model, "a vector has numbers that are not finite 32-bit floats", perhaps_executed=True)
        return [Embedding(vector, self.model) for vector in singles]

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Closes connections and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def check_texts(texts: Sequence[object], purpose: str) -> None:
    """Raises InvalidValue for the first text that cannot be embedded."""
    if isinstance(texts, str):
        raise InvalidValue("Embedding", "must be a list of texts; use embed_one for a single one", "texts")
    if purpose not in {"document", "query"}:
        raise InvalidValue("Embedding", "must be 'document' or 'query'", "purpose")
    for index, text in enumerate(texts):
        if not (isinstance(text, str) and text.strip()):
            raise InvalidValue("Embedding", "must be a text that is not empty", "texts", index)

"""Requests to embedding services again: after no reply, throttling and faults of the service, with back-off."""

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from partita.errors import EmbeddingRejected, NoReply

T = TypeVar("T")
LOG = logging.getLogger("partita.embeddings")

_FIRST_SECONDS, _MAX_SECONDS = 0.25, 20.0
_MAX_RETRY_AFTER = 60.0


class EmbeddingRetries:
    """Calls a function up to `retries` times more. Embedding the same text twice does no harm."""

    def __init__(
        self,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._retries = retries
        self._sleep = sleep
        self._jitter = jitter

    def run(self, call: Callable[[], T]) -> T:
        """The result of the call; raises its last error."""
        for attempt in range(self._retries):
            try:
                return call()
            except (NoReply, EmbeddingRejected) as error:
                if isinstance(error, EmbeddingRejected) and not error.is_transient:
                    raise
                seconds = self._pause(attempt, error)
                LOG.warning("%s; attempt %d of %d, again in %.1f s", error, attempt + 1, self._retries + 1, seconds)
                self._sleep(seconds)
        return call()

    def _pause(self, attempt: int, error: NoReply | EmbeddingRejected) -> float:
        asked = error.retry_after if isinstance(error, EmbeddingRejected) else None
        if asked is not None:
            return min(asked, _MAX_RETRY_AFTER)
        most = min(_MAX_SECONDS, _FIRST_SECONDS * float(1 << attempt))
        return most * (0.5 + self._jitter() / 2)

"""Errors of endpoints and services over a network."""

from partita.errors.base_error import PartitaError


class NoReply(PartitaError, ConnectionError):
    """An endpoint gave no answer, or none that can be read.

    `perhaps_executed` is true where the request had already left: it may have been executed without an answer.
    """

    def __init__(self, endpoint: str, reason: str, *, perhaps_executed: bool) -> None:
        super().__init__(f"{endpoint}: {reason}")  # OSError takes several arguments for its errno and file names
        self.endpoint = endpoint
        self.reason = reason
        self.perhaps_executed = perhaps_executed

    def __str__(self) -> str:
        outcome = "the request may have been executed" if self.perhaps_executed else "the request was not executed"
        return f"{self.endpoint}: {self.reason}; {outcome}"


class ServiceRejected(PartitaError):
    """A service answered with an error; `retry_after` is the wait in seconds that it asks for."""

    def __init__(self, service: str, status: int, reason: str, retry_after: float | None = None) -> None:
        super().__init__(service, status, reason, retry_after)
        self.service = service
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in {408, 424, 429} or self.status >= 500

    def __str__(self) -> str:
        return f"{self.service}: status {self.status}: {self.reason}"


class EmbeddingRejected(ServiceRejected):
    """An embedding service answered with an error."""


class SearchRejected(ServiceRejected):
    """OpenSearch answered with an error."""


class EmbeddingModelMismatch(PartitaError):
    """Vectors of different models say nothing about each other; changing the model is a migration."""

    def __init__(self, model: str, expected: str) -> None:
        super().__init__(model, expected)
        self.model = model
        self.expected = expected

    def __str__(self) -> str:
        return f"a vector of {self.model!r} cannot be compared with those of {self.expected!r}; embed its text again"

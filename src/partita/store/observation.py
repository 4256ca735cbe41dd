"""Observing requests: capacity meters, listeners, slow calls and traces; without observers, nothing is added."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from partita.dynamodb.operations import WRITES
from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import ConsumedCapacity, VectorCapacity
from partita.store import log

if TYPE_CHECKING:
    from partita.store.tracing import RequestSpan, Tracing


class CapacityMeter(msgspec.Struct, eq=False):
    """Capacity units, as DynamoDB bills them, and the number of requests.

    Searches of vector indexes are billed by the byte, in `searched_bytes`.
    """

    reads: float = 0.0
    writes: float = 0.0
    requests: int = 0
    searched_bytes: float = 0.0

    def add(self, request: Request[Any], units: float) -> None:
        """Counts a request."""
        self.requests += 1
        if type(request) in WRITES:
            self.writes += units
        else:
            self.reads += units


class SentRequest(msgspec.Struct, frozen=True):
    """One request and its outcome, for logs and metrics; `error` is None where a reply came."""

    request: Request[Any]
    attempt: int
    units: float
    seconds: float
    error: Exception | None

    @property
    def operation(self) -> str:
        """DynamoDB's name of the request."""
        return type(self.request).__name__


class Observers:
    """Everything that observes the requests of a store."""

    def __init__(
        self,
        on_call: tuple[Callable[[SentRequest], None], ...] = (),
        slow_call_seconds: float | None = None,
        tracing: "Tracing | None" = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.meters: list[CapacityMeter] = []
        self.on_call = on_call
        self.slow_call_seconds = slow_call_seconds
        self.tracing = tracing
        self.timer = timer
        self.always = bool(on_call) or slow_call_seconds is not None or tracing is not None  # also without a meter

    @property
    def measure_capacity(self) -> bool:
        """Whether DynamoDB is asked for the capacity that a request consumes."""
        return bool(self.meters or self.on_call) or self.tracing is not None


class Observation:
    """One sending of one request: begins when it is created, and ends once."""

    __slots__ = ("_attempt", "_began", "_observers", "_request", "_span")

    def __init__(self, observers: Observers, request: Request[Any], attempt: int) -> None:
        self._observers = observers
        self._request = request
        self._attempt = attempt
        if observers.measure_capacity and hasattr(request, "return_consumed_capacity"):
            request.return_consumed_capacity = "TOTAL"
        tracing = observers.tracing
        self._span: RequestSpan | None = None if tracing is None else tracing.start_request(request, attempt)
        self._began = observers.timer()

    def end(self, reply: Any, error: Exception | None) -> None:
        """Reports the outcome to every observer."""
        observers, request = self._observers, self._request
        seconds = observers.timer() - self._began
        used = _capacity(reply)
        units = sum(each.capacity_units or 0.0 for each in used)
        for meter in observers.meters:
            meter.add(request, units)
            meter.searched_bytes += _searched_bytes(reply)
        for listener in observers.on_call:
            listener(SentRequest(request, self._attempt, units, seconds, error))
        if observers.slow_call_seconds is not None and seconds >= observers.slow_call_seconds:
            log.slow_call(request, seconds)
        if self._span is not None:
            self._span.end(reply, used, error)

    def abandon(self) -> None:
        """Ends the observation of a request that was interrupted, such as that of a cancelled task."""
        if self._span is not None:
            self._span.end(None, (), None)


def _searched_bytes(reply: Any) -> float:
    used = getattr(reply, "consumed_capacity", None)
    return (used.vector_search_request_bytes or 0.0) if isinstance(used, VectorCapacity) else 0.0


def _capacity(reply: Any) -> tuple[ConsumedCapacity, ...]:
    """The consumed capacity in a reply, of one table or of several."""
    used = getattr(reply, "consumed_capacity", None) or ()
    if isinstance(used, VectorCapacity):
        return ()
    return (used,) if isinstance(used, ConsumedCapacity) else tuple(used)

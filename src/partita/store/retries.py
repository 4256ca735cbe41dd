"""Sending one request: retries with back-off and jitter, capacity used, and a record for whoever listens."""

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import DynamoDBError, ResourceNotFoundException
from partita.dynamodb.operations import WRITES
from partita.dynamodb.shapes import ConsumedCapacity
from partita.errors import NoReply, OutcomeUnknown, PartitaError
from partita.store.flows import Flow, Wait
from partita.store.missing_tables import raise_table_not_found

T = TypeVar("T")

NOTHING_DONE = {
    "ThrottlingException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "TransactionConflictException",
    "TransactionInProgressException",
    "LimitExceededException",
}
PERHAPS_DONE = {"InternalServerError", "ServiceUnavailable"}


@dataclass(eq=False)
class CapacityMeter:
    """Units used; `reads` and `writes` as DynamoDB bills them."""

    reads: float = 0.0
    writes: float = 0.0
    requests: int = 0

    def add(self, request: wire.Request[Any], units: float) -> None:
        self.requests += 1
        if type(request) in WRITES:
            self.writes += units
        else:
            self.reads += units


def _units(reply: Any) -> float:
    """What the reply says that the request used, of one table or of several."""
    used = getattr(reply, "consumed_capacity", None) or ()
    return sum(each.capacity_units or 0.0 for each in ((used,) if isinstance(used, ConsumedCapacity) else used))


@dataclass(frozen=True)
class SentRequest:
    """One request and how it ended, for logs, metrics and traces; `error` is None where it was answered.

    A span of a trace ends when the listener hears of the call and began `seconds` earlier.
    """

    request: wire.Request[Any]
    attempt: int
    units: float
    seconds: float
    error: Exception | None

    @property
    def operation(self) -> str:
        """DynamoDB's name of the request."""
        return type(self.request).__name__


@dataclass(frozen=True)
class StoreContext:
    """What flows are given: a clock, chance, ids, and who listens."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: Callable[[], float] = random.random
    timer: Callable[[], float] = time.perf_counter
    token: Callable[[], str] = lambda: uuid.uuid4().hex
    on_call: tuple[Callable[[SentRequest], None], ...] = ()
    retries: int = 8
    first_wait: float = 0.025
    longest_wait: float = 5.0
    secret: bytes | None = None
    meters: list[CapacityMeter] = field(default_factory=list)

    def pause(self, attempt: int) -> Wait:
        """Full jitter: anything up to a bound that doubles."""
        return Wait(self.random() * min(self.longest_wait, self.first_wait * 2**attempt))

    def tell(self, request: wire.Request[Any], attempt: int, began: float, reply: Any, error: Exception | None) -> None:
        """Counts a call, and tells whoever listens."""
        units = _units(reply)
        for meter in self.meters:
            meter.add(request, units)
        for listener in self.on_call:
            listener(SentRequest(request, attempt, units, self.timer() - began, error))


def may_have_been_applied(error: Exception) -> bool:
    """Whether the backend may have done what was asked although it answered with this."""
    if isinstance(error, NoReply):
        return error.perhaps_executed
    return isinstance(error, OSError) or (isinstance(error, DynamoDBError) and error.code in PERHAPS_DONE)


def send(
    context: StoreContext,
    request: wire.Request[T],
    *,
    repeatable: bool = True,
    entity: str = "",
    was_done: Callable[[DynamoDBError], bool] | None = None,
) -> Flow[T | None]:
    """The reply to a request; throttling and lost connections are waited out.

    A request that was perhaps done is sent again only where doing it twice is harmless. When that second sending is
    refused, `was_done` may see from the refusal that the first one succeeded; the answer is then None.
    """
    doubtful = False
    for attempt in range(context.retries + 1):
        watched = context.meters or context.on_call
        if watched and hasattr(request, "return_consumed_capacity"):
            request.return_consumed_capacity = "TOTAL"
        began = context.timer() if watched else 0.0
        try:
            reply: T = yield request
        except (PartitaError, OSError) as error:
            if watched:
                context.tell(request, attempt, began, None, error)
            if doubtful and was_done is not None and isinstance(error, DynamoDBError) and was_done(error):
                return None
            doubtful = doubtful or may_have_been_applied(error)
            if doubtful and not repeatable:
                raise OutcomeUnknown(entity) from error
            if isinstance(error, ResourceNotFoundException):
                yield from raise_table_not_found(request, error)
            if attempt == context.retries or not is_transient(error):
                raise
            yield context.pause(attempt)
        else:
            if watched:
                context.tell(request, attempt, began, reply, None)
            return reply
    raise AssertionError("unreachable")


def send_idempotent(context: StoreContext, request: wire.Request[T]) -> Flow[T]:
    """The reply to a request that may be sent any number of times."""
    asked: Flow[Any] = send(context, request)
    return asked


def is_transient(error: Exception) -> bool:
    if isinstance(error, OSError):
        return True
    return isinstance(error, DynamoDBError) and error.code in NOTHING_DONE | PERHAPS_DONE

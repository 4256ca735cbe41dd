"""Sending one request: retries with back-off and jitter after throttling, conflicts and lost connections."""

from collections.abc import Callable
from typing import Any, TypeVar

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import DynamoDBError, ResourceNotFoundException
from partita.errors import NoReply, OutcomeUnknown, PartitaError
from partita.store import log
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.missing_tables import raise_table_not_found
from partita.store.observation import Observation

T = TypeVar("T")

NOT_APPLIED = {
    "ThrottlingException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "TransactionConflictException",
    "TransactionInProgressException",
    "LimitExceededException",
}
PERHAPS_APPLIED = {"InternalServerError", "ServiceUnavailable"}


def send(
    context: StoreContext,
    request: wire.Request[T],
    *,
    repeatable: bool = True,
    entity: str = "",
    was_applied: Callable[[Exception], bool] | None = None,
) -> Flow[T | None]:
    """The reply to a request; throttling and lost connections are waited out.

    A request that was perhaps applied is sent again only if applying it twice is harmless. When the second sending is
    rejected, `was_applied` may see from the error that the first one succeeded; the reply is then None.
    """
    if context.table_names is not None:
        request = context.table_names.renamed(request)
    observers = context.observers
    outcome_uncertain = False
    for attempt in range(context.retries + 1):
        observed = Observation(observers, request, attempt) if observers.always or observers.meters else None
        try:
            reply: T = yield request
        except (PartitaError, OSError) as error:
            if observed is not None:
                observed.end(None, error)
            if outcome_uncertain and was_applied is not None and was_applied(error):
                return None
            outcome_uncertain = outcome_uncertain or may_have_been_applied(error)
            if outcome_uncertain and not repeatable:
                log.outcome_unknown(type(request).__name__, entity, log.error_code(error))
                raise OutcomeUnknown(entity) from error
            if isinstance(error, ResourceNotFoundException):
                yield from raise_table_not_found(request, error)
            if not is_transient(error):
                raise
            if attempt == context.retries:
                log.gave_up(request, error, attempt + 1)
                raise
            pause = context.pause(attempt)
            log.retry(request, error, attempt, context.retries + 1, pause.seconds)
            yield pause
        except GeneratorExit:
            if observed is not None:
                observed.abandon()
            raise
        else:
            if observed is not None:
                observed.end(reply, None)
            return reply
    raise AssertionError("unreachable")


def send_idempotent(context: StoreContext, request: wire.Request[T]) -> Flow[T]:
    """The reply to a request that may be sent any number of times."""
    sending: Flow[Any] = send(context, request)
    return sending


def may_have_been_applied(error: Exception) -> bool:
    """Whether the backend may have applied the request although it answered with this error."""
    if isinstance(error, NoReply):
        return error.perhaps_executed
    return isinstance(error, OSError) or (isinstance(error, DynamoDBError) and error.code in PERHAPS_APPLIED)


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, OSError):
        return True
    return isinstance(error, DynamoDBError) and (error.code in NOT_APPLIED or error.code in PERHAPS_APPLIED)

"""Sending one request: retries with back-off and jitter after throttling, conflicts and lost connections."""

from typing import Any, TypeVar

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import DynamoDBError, ResourceNotFoundException, TransactionCanceledException
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
    "LimitExceededException",
}
PERHAPS_APPLIED = {"InternalServerError", "ServiceUnavailable", "TransactionInProgressException"}
PASSING_REASONS = {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
"""The reasons for which a transaction is cancelled and may succeed a little later."""


class PerhapsApplied(Exception):
    """A write that is sent once met an error that leaves open whether it was applied."""


def send(context: StoreContext, request: wire.Request[T], *, entity: str = "", once: bool = False) -> Flow[T]:
    """The reply to a request; throttling and lost connections are waited out.

    A request that is sent `once` raises `PerhapsApplied` rather than being sent again after it was perhaps applied. Of
    the others, reads can be repeated, and the token of a transaction stops DynamoDB from applying it again. `entity` is
    given for a write: where the last attempt fails and an earlier one was perhaps applied, the error says so.
    """
    if context.table_names is not None:
        request = context.table_names.renamed(request)
    observers = context.observers
    uncertain = False
    for attempt in range(context.retries + 1):
        observed = Observation(observers, request, attempt) if observers.always or observers.meters else None
        try:
            reply: T = yield request
        except (PartitaError, OSError) as error:
            if observed is not None:
                observed.end(None, error)
            uncertain = uncertain or may_have_been_applied(error)
            if uncertain and once:
                raise PerhapsApplied from error
            if isinstance(error, ResourceNotFoundException):
                yield from raise_table_not_found(request, error)
            if not is_transient(error):
                raise
            if attempt == context.retries:
                log.gave_up(request, error, attempt + 1)
                if uncertain and entity:
                    raise outcome_unknown(request, entity, error) from error
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


def outcome_unknown(request: wire.Request[Any], entity: str, error: BaseException | None) -> OutcomeUnknown:
    """The error of a write that may or may not have been applied."""
    log.outcome_unknown(type(request).__name__, entity, log.error_code(error))
    return OutcomeUnknown(entity or type(request).__name__)


def send_idempotent(context: StoreContext, request: wire.Request[T]) -> Flow[T]:
    """The reply to a request that may be sent any number of times."""
    return send(context, request)


def may_have_been_applied(error: Exception) -> bool:
    """Whether the backend may have applied the request although it answered with this error."""
    if isinstance(error, NoReply):
        return error.perhaps_executed
    if isinstance(error, ConnectionRefusedError):
        return False
    return isinstance(error, OSError) or (isinstance(error, DynamoDBError) and error.code in PERHAPS_APPLIED)


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, OSError) or is_conflict(error):
        return True
    return isinstance(error, DynamoDBError) and (error.code in NOT_APPLIED or error.code in PERHAPS_APPLIED)


def is_conflict(error: Exception) -> bool:
    """Whether a transaction was cancelled for no other reason than other requests."""
    return isinstance(error, TransactionCanceledException) and all(
        reason["Code"] in PASSING_REASONS for reason in error.reasons
    )

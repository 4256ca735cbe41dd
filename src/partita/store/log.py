"""The log of a store, `logging.getLogger("partita.store")`: operations, tables, entities, error codes and times.

Keys, items and the messages of errors are left out: they may hold what should not be in a log.
"""

from typing import TYPE_CHECKING, Any

from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.request_tables import tables_of
from partita.dynamodb.requests import Request
from partita.quantities import quantity

if TYPE_CHECKING:
    from logging import Logger

CONFLICTS = {"TransactionConflictException", "TransactionInProgressException", "TransactionCanceledException"}


def _logger() -> "Logger":
    import logging  # when the first sentence is logged: most programs have loaded it, and others start without it

    logger = logging.getLogger("partita.store")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # a program that configures no logging sees the error alone
    return logger


def error_code(error: BaseException | None) -> str:
    """DynamoDB's code of an error, or the name of its class."""
    return error.code if isinstance(error, DynamoDBError) else type(error).__name__


def retry(request: Request[Any], error: Exception, attempt: int, attempts: int, wait: float) -> None:
    """A request that is sent again: information after throttling or a lost reply, a detail after a conflict."""
    code = error_code(error)
    write = _logger().debug if code in CONFLICTS else _logger().info
    write("%s: %s; attempt %d of %d, retrying in %.3f s", _named(request), code, attempt + 1, attempts, wait)


def unprocessed(request: Request[Any], left: int, wait: float) -> None:
    """A batch of which DynamoDB has left a part unprocessed."""
    _logger().info("%s: %d unprocessed, retrying in %.3f s", _named(request), left, wait)


def gave_up(request: Request[Any], error: Exception, attempts: int) -> None:
    """A request that failed as often as it may be sent."""
    _logger().warning("%s: %s; gave up after %d attempts", _named(request), error_code(error), attempts)


def outcome_unknown(operation: str, entity: str, cause: str) -> None:
    """A write that may have been applied or not."""
    _logger().warning("%s of %s: %s; the outcome is unknown", operation, entity, cause)


def conflict(entity: str, attempt: int, attempts: int, wait: float) -> None:
    """A write that is planned again, because what it read has changed."""
    _logger().debug("%s: conflicting write; attempt %d of %d, retrying in %.3f s", entity, attempt + 1, attempts, wait)


def gave_up_on_conflicts(entity: str, attempts: int) -> None:
    """A write that met conflicting writes as often as it may be planned."""
    _logger().warning("%s: gave up after %d conflicting writes", entity, attempts)


def unexpected_key(entity: str) -> None:
    """An item of an entity under a key that the design does not write."""
    _logger().warning(
        "%s: an item is stored under another key than the design writes, where a get and a put do not find it; "
        "declare the form of that key in old_keys, or rewrite the items with db.adopt()",
        entity,
    )


def missing_vector_index(search: str, table: str, index: str) -> None:
    """A search that is an error on these tables."""
    _logger().warning(
        "%s: table %s has no vector index %s, so this search is an error; create it with create_tables()",
        search,
        table,
        index,
    )


def slow_call(request: Request[Any], seconds: float) -> None:
    """A request that took longer than `slow_call_seconds`."""
    _logger().warning("%s took %.3f s", _named(request), seconds)


def _named(request: Request[Any]) -> str:
    return f"{type(request).__name__} on {', '.join(tables_of(request))}"


def unreadable_records(records: str, tables: list[str]) -> None:
    """A program that may not read which design its data has."""
    words = "table %s may not be read, so it is not known which design the data of %s has, nor when it changes"
    _logger().warning(words, records, ", ".join(tables))


def unrecorded_data(table: str, items: int, differing: int, missing: list[str]) -> None:
    """A table of which no design is recorded, and whose data or indexes are not as the design wants them."""
    words = "is not as this design stores it" if differing == 1 else "are not as this design stores them"
    found = [f"{differing:,} of {quantity(items, 'item')} {words}"] if differing else []
    _logger().warning(
        "table %s: it is not recorded which design its data has; %s; run partita plan",
        table,
        "; ".join([*missing, *found]),
    )

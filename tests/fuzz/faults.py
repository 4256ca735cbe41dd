"""A backend between the store and the engine that loses requests and replies, throttles, and lets others write."""

from collections.abc import Callable
from typing import Any

import msgspec

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import (
    InternalServerError,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
)
from partita.errors import NoReply

SINGLE = (wire.PutItem, wire.UpdateItem, wire.DeleteItem)
WRITES = (*SINGLE, wire.TransactWriteItems, wire.BatchWriteItem)

FAULTS = {
    "ok": "the request is answered",
    "lost": "it is executed, and its reply is lost",
    "dropped": "it is lost itself, and nobody can tell",
    "failed": "it is executed, and answered by an internal error",
    "broken": "it is answered by an internal error, and not executed",
    "throttled": "it is rejected for now",
    "conflict": "it meets another transaction",
    "in progress": "the same transaction is still being executed",
    "unprocessed": "only the first request of a batch is executed",
}
UNSURE = {"lost", "dropped", "failed", "broken"}
"""After these a caller cannot know whether the request was executed."""


class FaultyBackend:
    """Answers the next requests as `plan` says, one entry for each; then everything is answered."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.plan: list[str] = []
        self.met: list[str] = []
        self.requests = 0
        self.meanwhile: tuple[int, Callable[[], None]] | None = None  # before which request somebody else writes

    def start(self, plan: list[str], meanwhile: tuple[int, Callable[[], None]] | None = None) -> None:
        self.plan, self.met, self.requests, self.meanwhile = list(plan), [], 0, meanwhile

    @property
    def unsure(self) -> bool:
        return any(each in UNSURE for each in self.met)

    def call(self, request: Any, /) -> Any:
        if self.meanwhile is not None and self.meanwhile[0] == self.requests:
            act, self.meanwhile = self.meanwhile[1], None
            act()
        self.requests += 1
        fault = self.plan.pop(0) if self.plan else "ok"
        if not applies(fault, request):
            fault = "ok"
        self.met.append(fault if isinstance(request, WRITES) else "ok")
        if fault in ("lost", "failed"):
            self.inner.call(request)
        if fault in ("lost", "dropped"):
            raise NoReply("fuzz", "the connection ended", perhaps_executed=True)
        if fault in ("failed", "broken"):
            raise InternalServerError("Internal server error")
        if fault == "throttled":
            raise ThrottlingException("Rate exceeded")
        if fault == "in progress":
            raise TransactionInProgressException("The transaction is in progress")
        if fault == "conflict":
            raise _conflict(request)
        return _half(request, self.inner.call) if fault == "unprocessed" else self.inner.call(request)

    def close(self) -> None:
        self.inner.close()


def applies(fault: str, request: Any) -> bool:
    """Whether a request can meet a fault."""
    if fault == "unprocessed":
        return isinstance(request, wire.BatchWriteItem)
    if fault == "in progress":
        return isinstance(request, wire.TransactWriteItems)
    if fault == "conflict":
        return isinstance(request, (*SINGLE, wire.TransactWriteItems))
    return True


def _conflict(request: Any) -> Exception:
    if isinstance(request, SINGLE):
        return TransactionConflictException("Transaction is ongoing for the item")
    reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in request.transact_items]
    reasons[-1] = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
    return TransactionCanceledException(reasons)


def _half(request: Any, call: Callable[[Any], Any]) -> Any:
    ((table, requests),) = request.request_items.items()
    reply = call(wire.BatchWriteItem(request_items={table: requests[:1]}))
    if requests[1:]:
        reply.unprocessed_items = msgspec.Raw(msgspec.json.encode({table: requests[1:]}))
    return reply

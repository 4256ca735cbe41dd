"""OpenTelemetry spans: one for each operation of a store, and below it one for each request that it sends.

    create Order                       internal; partita.operation, partita.target
    └── TransactWriteItems shop        client; db.system.name, db.operation.name, aws.dynamodb.table_names, ...

Attributes follow the semantic conventions for database client spans and for DynamoDB. Keys, values and the messages of
errors are left out. This module is imported where a store has a tracer.
"""

from collections.abc import Sequence
from contextvars import Token
from typing import Any, Literal, TypeVar

import msgspec

from partita.design.reads import Get, Query, VectorSearch
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.request_tables import tables_of
from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import ConsumedCapacity
from partita.extras import needs
from partita.store.flows import Flow
from partita.store.log import error_code

with needs("tracing", "otel"):
    from opentelemetry import context as contexts
    from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_tracer, set_span_in_context

R = TypeVar("R")

_FROM_REQUEST = {
    "index_name": "aws.dynamodb.index_name",
    "consistent_read": "aws.dynamodb.consistent_read",
    "limit": "aws.dynamodb.limit",
    "scan_index_forward": "aws.dynamodb.scan_forward",
}
_FROM_REPLY = {"count": "aws.dynamodb.count", "scanned_count": "aws.dynamodb.scanned_count"}


class Tracing:
    """Starts the spans of a store."""

    def __init__(self, tracer: Tracer | Literal[True]) -> None:
        self._tracer = get_tracer("partita") if tracer is True else tracer

    def operation(self, name: str, target: Any, flow: Flow[R]) -> Flow[R]:
        """The flow of a store's operation inside a span; `target` is a pattern's call, an entity or a class."""
        label = _label(target)
        attributes = {"partita.operation": name, "partita.target": label} if label else {"partita.operation": name}
        span = self._tracer.start_span(f"{name} {label}".rstrip(), attributes=attributes)
        active = contexts.attach(set_span_in_context(span))
        try:
            return (yield from flow)
        except Exception as error:
            _fail(span, type(error).__name__)
            raise
        finally:
            contexts.detach(active)
            span.end()

    def start_request(self, request: Request[Any], attempt: int) -> "RequestSpan":
        """The span of a request that is about to be sent."""
        tables = tables_of(request)
        operation = type(request).__name__
        attributes: dict[str, Any] = {"db.system.name": "aws.dynamodb", "db.operation.name": operation}
        if len(tables) == 1:
            attributes["db.collection.name"] = tables[0]
        if tables:
            attributes["aws.dynamodb.table_names"] = tables
        if attempt:
            attributes["partita.attempt"] = attempt
        attributes |= _members(request, _FROM_REQUEST)
        name = f"{operation} {tables[0]}" if len(tables) == 1 else operation
        return RequestSpan(self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes))


class RequestSpan:
    """The span of one sending of a request; current until its end, so that spans of the HTTP client go below it."""

    __slots__ = ("_active", "_span")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._active: Token[Any] = contexts.attach(set_span_in_context(span))

    def end(self, reply: Any, used: Sequence[ConsumedCapacity], error: Exception | None) -> None:
        """Ends the span with the attributes of the reply or the error."""
        contexts.detach(self._active)
        if self._span.is_recording():
            self._span.set_attributes(_members(reply, _FROM_REPLY))
            if used:
                capacity = [msgspec.json.encode(each).decode() for each in used]
                self._span.set_attribute("aws.dynamodb.consumed_capacity", capacity)
            if error is not None:
                _fail(self._span, error_code(error))
                if isinstance(error, DynamoDBError):
                    self._span.set_attribute("db.response.status_code", error.code)
        self._span.end()


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _members(message: Any, names: dict[str, str]) -> dict[str, Any]:
    found = ((attribute, getattr(message, member, None)) for member, attribute in names.items())
    return {attribute: value for attribute, value in found if value is not None}


def _label(target: Any) -> str:
    if isinstance(target, Get | Query | VectorSearch):
        return target.read.name
    if target is None or isinstance(target, str):
        return target or ""
    return target.__name__ if isinstance(target, type) else type(target).__name__

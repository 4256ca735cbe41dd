"""Flows that search vector indexes; where a backend has none, a declared and bounded scan compares every item."""

import math
from collections.abc import Iterator
from heapq import nsmallest
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from partita.design.reads import VectorSearch
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import DynamoDBError, ResourceNotFoundException, UnknownOperationException
from partita.dynamodb.values import Item
from partita.errors import PartitaError, StoreError
from partita.plan.condition_expressions import Expression
from partita.plan.design import Design
from partita.plan.search_requests import (
    SearchArguments,
    SearchPlan,
    search_arguments,
    search_plan,
    search_plan_of,
    search_vectors,
)
from partita.store import log
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.old_items import now_seconds, without_replaced
from partita.store.reading import decoder_for_read, skipping_unreadable
from partita.store.retries import send_idempotent

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


class SearchResult(Generic[E_co], msgspec.Struct, frozen=True):
    """An item that a search has found, and its score.

    COSINE is 0 (the same direction) to 2, EUCLIDEAN the distance; for both, the lower the better. DOT_PRODUCT is the
    product, the higher the better.
    """

    item: E_co
    score: float


def fetch_nearest(context: StoreContext, call: VectorSearch[E]) -> Flow[list[SearchResult[E]]]:
    """The nearest items, the best first, without expired ones."""
    plan = search_plan(call)
    try:
        reply = yield from send_idempotent(context, search_vectors(plan, call.arguments))
    except UnknownOperationException as error:
        if plan.read.search is None or plan.read.search.scan_limit is None:
            _raise_unsupported(plan, error)
        scored = yield from _scan_nearest(context, plan, call.arguments, plan.read.search.scan_limit)
    else:
        scored = [(each.item, each.score or 0.0) for each in reply.search_results or () if each.item is not None]
    return (yield from _decoded(context, plan, scored))


def check_vector_indexes(context: StoreContext, design: Design, *, read_only: bool) -> Flow[bool]:
    """A StoreError where a search needs a vector index, no scan is declared in its place, and the backend has none.

    An index that is only missing is logged: create_tables() adds it. For a reader, so is a backend without any. False
    if a table does not exist yet, or may not be described.
    """
    is_known = True
    searches = [each.read for each in design.patterns.values() if each.read.search is not None]
    plans = [search_plan_of(read) for read in searches if read.search is not None and read.search.scan_limit is None]
    for table in {plan.model.table: None for plan in plans}:
        mine = [plan for plan in plans if plan.model.table is table]
        name = context.table_name(table.name)
        try:
            reply = yield from send_idempotent(context, wire.DescribeTable(table_name=name))
        except DynamoDBError as error:
            is_known, missing = False, mine if isinstance(error, ResourceNotFoundException) else []
        else:
            present = {each.index_name for each in (reply.table and reply.table.vector_indexes) or ()}
            missing = [plan for plan in mine if plan.index.name not in present]
        if missing and not read_only:
            yield from _check_support(context, missing[0])
        for plan in missing if is_known else ():
            log.missing_vector_index(plan.read.name, name, plan.index.name)
    return is_known


def _check_support(context: StoreContext, plan: SearchPlan) -> Flow[None]:
    """A StoreError if the backend has no vector indexes: it does not know the operation, whatever is searched."""
    try:
        yield from send_idempotent(
            context,
            wire.SearchVectors(
                table_name=plan.model.table.name, index_name=plan.index.name, search_vector=[{"N": "0"}], top_k=1
            ),
        )
    except UnknownOperationException as error:
        _raise_unsupported(plan, error)
    except (PartitaError, OSError):
        return  # it knows the operation, and rejects a search of what does not exist; or it does not answer


def _raise_unsupported(plan: SearchPlan, error: Exception) -> NoReturn:
    raise StoreError(
        f"{plan.read.name}: this backend has no vector indexes; use one that has, or declare how many items a scan may "
        "compare instead: nearest(...).or_scan(10_000)"
    ) from error


def _decoded(
    context: StoreContext, plan: SearchPlan, scored: list[tuple[msgspec.Raw, float]]
) -> Flow[list[SearchResult[Any]]]:
    """The results with their entities; an item under an old key that was replaced is left out."""
    models = tuple(source.model for source in plan.read.sources)
    items = [raw for raw, _ in scored]
    if any(model.old_keys for model in models):
        whole = plan.read.view is None
        kept = yield from without_replaced(context, models, items, consistent=False, whole=whole)
        left = {bytes(raw) for raw in kept}
        scored = [(raw, score) for raw, score in scored if bytes(raw) in left]
    decode, now = skipping_unreadable(context, decoder_for_read(plan.read)), now_seconds(context)
    found = ((decode(raw, now), score) for raw, score in scored)
    return [SearchResult(entity, score) for entity, score in found if entity is not None]


def _scan_nearest(
    context: StoreContext, plan: SearchPlan, arguments: tuple[Any, ...], limit: int
) -> Flow[list[tuple[msgspec.Raw, float]]]:
    """The items of the table that are nearest, each compared here; a StoreError where it has more than `limit`."""
    given = search_arguments(plan, arguments)
    request = _scan_request(plan, given)
    read, candidates = 0, list[tuple[float, int, msgspec.Raw]]()
    sign = -1.0 if plan.index.distance == "DOT_PRODUCT" else 1.0
    while True:
        reply = yield from send_idempotent(context, request)
        read += reply.scanned_count or 0
        if read > limit:
            raise StoreError(
                f"{plan.read.name}: this backend has no vector indexes, and its table has more items than the scan in "
                f"their place may read ({limit:,}); use a backend with vector indexes, or raise or_scan({limit})"
            )
        for raw in reply.items or ():
            score = _score(plan, given, raw)
            if score is not None:
                candidates.append((sign * score, len(candidates), raw))
        candidates = nsmallest(plan.count, candidates)
        if reply.last_evaluated_key is None:
            return [(raw, sign * score) for score, _, raw in candidates]
        request.exclusive_start_key = msgspec.json.decode(reply.last_evaluated_key)


def _scan_request(plan: SearchPlan, given: SearchArguments) -> wire.Scan:
    """A page of the table's items that have a vector and the values that are searched for."""
    expression = Expression()
    exists = [f"attribute_exists({expression.name(name)})" for name in (plan.index.vector, *plan.index.pk)]
    equal = [f"{expression.name(name)} = {expression.value(value)}" for name, value in given.equal.items()]
    return wire.Scan(
        table_name=plan.model.table.name,
        filter_expression=" AND ".join((*exists, *equal)),
        expression_attribute_names=expression.names,
        expression_attribute_values=expression.values or None,
    )


def _score(plan: SearchPlan, given: SearchArguments, raw: msgspec.Raw) -> float | None:
    """The score of an item; None where its vector has another length."""
    item: Item = msgspec.json.decode(raw)
    wanted, stored = list(_numbers(given.vector)), list(_numbers(item[plan.index.vector].get("L", ())))
    if len(wanted) != len(stored):
        return None
    if plan.index.distance == "EUCLIDEAN":
        return math.dist(wanted, stored)
    product = math.fsum(map(float.__mul__, wanted, stored))
    if plan.index.distance == "DOT_PRODUCT":
        return product
    scale = math.hypot(*wanted) * math.hypot(*stored)
    return min(2.0, max(0.0, 1.0 - product / scale)) if scale else 1.0  # docs/decisions/0025: zero vectors


def _numbers(values: Any) -> Iterator[float]:
    return (float(each["N"]) for each in values if "N" in each)

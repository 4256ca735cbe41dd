"""The explanation of a read: where it looks, its request, its cost for items of a given size, and its proof."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any

import msgspec

from partita.design.key_slots import SlotRole
from partita.design.reads import Argument, FanOut, Get, Query, Read, VectorSearch
from partita.design.search_terms import search_values
from partita.design.separators import Separator
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.capacity import vector_search_bytes
from partita.dynamodb.request_tables import with_table_names
from partita.plan import key_ranges
from partita.plan.adjacent_values import EmptyRange
from partita.plan.read_requests import Plan, call_plan, fan_out_values, get_item, plan_of, query
from partita.plan.search_requests import SearchPlan, search_plan, search_plan_of, search_vectors


class ReadExplanation(msgspec.Struct, frozen=True):
    """A read, explained: `request_count` requests like the ones in `requests`, of which a fan-out has one here."""

    name: str
    returns: str
    where: str
    range: str
    requests: list[wire.Request[Any]]
    request_count: int
    cost: str
    proof: list[str]
    scan: str = ""


def explained(
    call: Get[Any] | Query[Any] | VectorSearch[Any], item_bytes: int = 1024, table_name: Callable[[str], str] = str
) -> ReadExplanation:
    """The explanation of a call; `table_name` gives the backend's name of a table."""
    requests = [with_table_names(each, table_name) for each in requests_of(call)]
    if isinstance(call, VectorSearch):
        return _explained_search(search_plan(call), requests, item_bytes, table_name)
    return _explained(call_plan(call), requests, item_bytes, table_name)


def explained_read(read: Read, item_bytes: int = 1024, table_name: Callable[[str], str] = str) -> ReadExplanation:
    """The explanation of a pattern before it is called, without its requests."""
    if read.search is not None:
        return _explained_search(search_plan_of(read), None, item_bytes, table_name)
    return _explained(plan_of(read), None, item_bytes, table_name)


def requests_of(call: Get[Any] | Query[Any] | VectorSearch[Any]) -> list[wire.Request[Any]]:
    """The requests of the first page of a call, with the names of the design."""
    if isinstance(call, VectorSearch):
        return [search_vectors(search_plan(call), call.arguments)]
    plan = call_plan(call)
    if isinstance(call, Get):
        return [get_item(plan, call.arguments)]
    requests: list[wire.Request[Any]] = []
    for each in fan_out_values(plan, call.arguments):
        with suppress(EmptyRange):  # needs no request
            requests.append(query(plan, call.arguments, fan_out_value=each, limit=call.read.page_size))
    return requests


def explain(
    call: Get[Any] | Query[Any] | VectorSearch[Any], item_bytes: int = 1024, table_name: Callable[[str], str] = str
) -> str:
    """The explanation of a call, in lines; `table_name` gives the backend's name of a table."""
    return _text(explained(call, item_bytes, table_name), isinstance(call, VectorSearch))


def explain_read(read: Read, item_bytes: int = 1024) -> str:
    """The explanation of a pattern before it is called."""
    return _text(explained_read(read, item_bytes), read.search is not None)


def _text(found: ReadExplanation, is_search: bool) -> str:
    lines = [
        f"{found.name} -> {found.returns}",
        f"  where    {found.where}",
        f"  {'search' if is_search else 'range':<9}{found.range}",
        *map(_request, found.requests[:1]),
        f"  cost     {found.cost}",
        *(f"  proof    {each}" for each in found.proof),
        *([f"  scan     {found.scan}"] if found.scan else []),
    ]
    return "\n".join(lines)


def _explained(
    plan: Plan, requests: list[wire.Request[Any]] | None, item_bytes: int, table_name: Callable[[str], str]
) -> ReadExplanation:
    table = f"table {table_name(plan.table)}"
    count = plan.proof.requests if requests is None else len(requests)
    return ReadExplanation(
        plan.read.name,
        _returned(plan.read),
        f"index {plan.index} of {table}" if plan.index else table,
        _range(plan),
        requests or [],
        count,
        _cost(plan, count, item_bytes),
        list(plan.proof.sentences),
    )


def _explained_search(
    plan: SearchPlan, requests: list[wire.Request[Any]] | None, item_bytes: int, table_name: Callable[[str], str]
) -> ReadExplanation:
    billed = vector_search_bytes(plan.codec.dimensions, plan.count * item_bytes)
    limit = None if plan.read.search is None else plan.read.search.scan_limit
    return ReadExplanation(
        plan.read.name,
        _returned(plan.read),
        f"vector index {plan.index.name} of table {table_name(plan.model.table.name)}",
        _search_range(plan),
        requests or [],
        1,
        f"about {billed:,.0f} bytes searched for {plan.count} items of {item_bytes} bytes without their vectors",
        list(plan.proof.sentences),
        "" if limit is None else f"of at most {limit:,} items where a backend has no vector indexes",
    )


def _returned(read: Read) -> str:
    return read.view.name if read.view is not None else " | ".join(source.model.name for source in read.sources)


def _search_range(plan: SearchPlan) -> str:
    equal = [f"{fixed.attribute.name} = {_fixed(fixed)}" for fixed in plan.proof.range.fixed]
    vector = ""
    for slot, value in search_values(plan.read):
        if slot.role is SlotRole.VECTOR:
            vector = _value_text(value) if isinstance(value, Argument) else slot.field
        elif slot.role is SlotRole.SEARCH_FILTER:
            equal.append(f"{slot.field} = {_value_text(value)}")
    if plan.proof.by_type:
        equal.append(f"{plan.model.table.type_attribute} = {plan.model.type_name}")
    nearest = f"the {plan.count} nearest to {vector} by {plan.index.distance}"
    return f"{nearest}, among {' and '.join(equal)}" if equal else nearest


def explain_scan(names: Sequence[str], request: wire.Scan, table_name: Callable[[str], str] = str) -> str:
    """The explanation of one table's scan."""
    table = table_name(request.table_name or "")
    shown = _request(with_table_names(request, table_name))
    lines = [f"scan -> {' | '.join(names)}", f"  where    table {table}, every item", shown]
    lines.append("  cost     1 read unit for each 4 KB of the table, whatever the filter drops")
    return "\n".join(lines)


def _range(plan: Plan) -> str:
    found = plan.proof.range
    words = [f"{fixed.attribute.name} = {_fixed(fixed)}" for fixed in found.fixed]
    start = found.sort_prefix
    if start is not None:
        words.append(f"{start.attribute.name} {_prefix(start)}")
    return " and ".join(words) + ("" if plan.proof.forward else ", in reverse order")


def _fixed(fixed: key_ranges.FixedKey) -> str:
    return _value_text(fixed.value) if fixed.pieces is None else _pieces(fixed.pieces, fixed.separator)


def _pieces(pieces: tuple[key_ranges.Piece, ...], separator: Separator) -> str:
    return separator.character.join(_piece(piece) for piece in pieces if not piece.is_absent)


def _piece(piece: key_ranges.Piece) -> str:
    if piece.segment.form is None:
        return piece.segment.constant
    if isinstance(piece.value, Argument | FanOut):
        return piece.segment.constant + _value_text(piece.value)
    return key_ranges.segment_text(piece.segment, piece.value)


def _value_text(value: Any) -> str:
    if isinstance(value, Argument):
        return f"<{value.name}>"
    if isinstance(value, FanOut):
        if isinstance(value.values, range):
            return "<every shard>"
        return f"<each of {value.values.name if isinstance(value.values, Argument) else value.values}>"
    return str(getattr(value, "value", value))


def _prefix(start: key_ranges.SortPrefix) -> str:
    prefix, between = _pieces(start.pieces, start.separator), start.separator.character
    if start.with_parent and not start.is_tight:
        return f"is {prefix}, or begins with {prefix}{between}"
    if start.with_parent:
        low, high = start.low if start.family is not None else "", "the last" if start.high is None else start.high
        return f"is {prefix}, or from {prefix}{between}{low} to {prefix}{between}{high}"
    prefix = prefix + between if prefix else ""
    if start.bounds is None and not start.is_plain_prefix:
        return f"from {prefix}{start.low} to {prefix}{start.high if start.high is not None else 'the last'}"
    if start.bounds is None:
        return f"begins with {prefix + start.constant_prefix}" if prefix + start.constant_prefix else "has any value"
    bounds = start.bounds
    if bounds.prefix is not None:
        return f"begins with {prefix}{_value_text(bounds.prefix)}"
    low = "the first" if bounds.low is None else _value_text(bounds.low)
    high = "the last" if bounds.high is None else _value_text(bounds.high)
    begins, ends = "after" if bounds.low_open else "from", "before" if bounds.high_open else "to"
    return f"{begins} {prefix}{low} {ends} {prefix}{high}"


def _request(request: wire.Request[Any]) -> str:
    body = msgspec.json.format(msgspec.json.encode(request), indent=2).decode()
    return f"  request  {type(request).__name__}\n" + "\n".join(f"           {line}" for line in body.splitlines())


def _cost(plan: Plan, count: int, item_bytes: int) -> str:
    if plan.read.single:
        strong = ceil(item_bytes / limits.READ_UNIT_BYTES)
        return f"{_read_units(strong / 2)} ({strong} if strongly consistent) for an item of {item_bytes} bytes"
    page = plan.read.page_size or limits.PAGE_BYTES // max(item_bytes, 1)
    units = ceil(page * item_bytes / limits.READ_UNIT_BYTES) / 2
    times = f" in each of {count} queries" if count > 1 else ""
    return f"{_read_units(units)} for a page of {page} items of {item_bytes} bytes{times}"


def _read_units(units: float) -> str:
    return f"{units:g} read unit{'' if units == 1 else 's'}"

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
from partita.plan.read_requests import EmptyRange, Plan, call_plan, fan_out_values, get_item, plan_of, query
from partita.plan.search_requests import SearchPlan, search_plan, search_plan_of, search_vectors


def explain(
    call: Get[Any] | Query[Any] | VectorSearch[Any], item_bytes: int = 1024, table_name: Callable[[str], str] = str
) -> str:
    """The explanation of a call, in lines; `table_name` gives the backend's name of a table."""
    if isinstance(call, VectorSearch):
        found = search_plan(call)
        request = _request(search_vectors(found, call.arguments), table_name)
        return "\n".join([*_search_head(found, table_name), request, *_search_cost_and_proof(found, item_bytes)])
    plan = call_plan(call)
    if isinstance(call, Get):
        requests: list[wire.Request[Any]] = [get_item(plan, call.arguments)]
    else:
        requests = []
        for each in fan_out_values(plan, call.arguments):
            with suppress(EmptyRange):  # needs no request
                requests.append(query(plan, call.arguments, fan_out_value=each, limit=call.read.page_size))
    shown = [_request(each, table_name) for each in requests[:1]]
    return "\n".join([*_head(plan, table_name), *shown, *_cost_and_proof(plan, len(requests), item_bytes)])


def explain_read(read: Read, item_bytes: int = 1024) -> str:
    """The explanation of a pattern before it is called."""
    if read.search is not None:
        search = search_plan_of(read)
        return "\n".join([*_search_head(search, str), *_search_cost_and_proof(search, item_bytes)])
    plan = plan_of(read)
    return "\n".join([*_head(plan, str), *_cost_and_proof(plan, plan.proof.requests, item_bytes)])


def _search_head(plan: SearchPlan, table_name: Callable[[str], str]) -> list[str]:
    names = " | ".join(source.model.name for source in plan.read.sources)
    returned = plan.read.view.name if plan.read.view is not None else names
    where = f"vector index {plan.index.name} of table {table_name(plan.model.table.name)}"
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
    among = f", among {' and '.join(equal)}" if equal else ""
    return [f"{plan.read.name} -> {returned}", f"  where    {where}", f"  search   {nearest}{among}"]


def _search_cost_and_proof(plan: SearchPlan, item_bytes: int) -> list[str]:
    billed = vector_search_bytes(plan.codec.dimensions, plan.count * item_bytes)
    cost = f"about {billed:,.0f} bytes searched for {plan.count} items of {item_bytes} bytes without their vectors"
    lines = [f"  cost     {cost}", *(f"  proof    {each}" for each in plan.proof.sentences)]
    limit = None if plan.read.search is None else plan.read.search.scan_limit
    if limit is not None:
        lines.append(f"  scan     of at most {limit:,} items where a backend has no vector indexes")
    return lines


def explain_scan(names: Sequence[str], request: wire.Scan, table_name: Callable[[str], str] = str) -> str:
    """The explanation of one table's scan."""
    table = table_name(request.table_name or "")
    lines = [f"scan -> {' | '.join(names)}", f"  where    table {table}, every item", _request(request, table_name)]
    lines.append("  cost     1 read unit for each 4 KB of the table, whatever the filter drops")
    return "\n".join(lines)


def _head(plan: Plan, table_name: Callable[[str], str]) -> list[str]:
    names = " | ".join(source.model.name for source in plan.read.sources)
    returned = plan.read.view.name if plan.read.view is not None else names
    table = f"table {table_name(plan.table)}"
    where = f"index {plan.index} of {table}" if plan.index else table
    return [f"{plan.read.name} -> {returned}", f"  where    {where}", f"  range    {_range(plan)}"]


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
    if start.with_parent:
        return f"is {prefix}, or begins with {prefix}{between}"
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


def _request(request: wire.Request[Any], table_name: Callable[[str], str]) -> str:
    body = msgspec.json.format(msgspec.json.encode(with_table_names(request, table_name)), indent=2).decode()
    return f"  request  {type(request).__name__}\n" + "\n".join(f"           {line}" for line in body.splitlines())


def _cost_and_proof(plan: Plan, count: int, item_bytes: int) -> list[str]:
    return [f"  cost     {_cost(plan, count, item_bytes)}", *(f"  proof    {each}" for each in plan.proof.sentences)]


def _cost(plan: Plan, count: int, item_bytes: int) -> str:
    if plan.read.single:
        strong = ceil(item_bytes / limits.READ_UNIT_BYTES)
        return f"{strong / 2:g} read units ({strong} if strongly consistent) for an item of {item_bytes} bytes"
    page = plan.read.page_size or limits.PAGE_BYTES // max(item_bytes, 1)
    units = ceil(page * item_bytes / limits.READ_UNIT_BYTES) / 2
    times = f" in each of {count} queries" if count > 1 else ""
    return f"{units:g} read units for a page of {page} items of {item_bytes} bytes{times}"

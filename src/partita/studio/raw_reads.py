"""The query and scan builder: fields of a form as a request, and its items page by page with their entities."""

from collections.abc import Iterator
from typing import Any

import msgspec

from partita.design.tables import Index, Table, VectorIndex
from partita.dynamodb import requests as wire
from partita.dynamodb.backend import Backend
from partita.dynamodb.canonical import canonical_value
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.responses import QueryOutput, ScanOutput
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import NotFound
from partita.plan.effects import OWNER
from partita.store.decoding import recogniser_of
from partita.studio.budgets import BudgetExceeded
from partita.studio.json_input import InvalidInput
from partita.studio.visits import Visit

FILTERS = 3  # conditions of a form
EXAMINED = 200  # items of one request, where those of one entity are looked for
MAX_REQUESTS = 10
SORT_OPERATORS = {"": "any value", "=": "=", "<": "<", "<=": "≤", ">": ">", ">=": "≥", "begins_with": "begins with"}
OPERATORS = {
    "=": "=",
    "<>": "≠",
    "<": "<",
    "<=": "≤",
    ">": ">",
    ">=": "≥",
    "begins_with": "begins with",
    "contains": "contains",
    "attribute_exists": "exists",
    "attribute_not_exists": "is absent",
}
TYPES = {"S": "String", "N": "Number", "B": "Binary", "BOOL": "Boolean", "NULL": "Null"}


class RawFilter(msgspec.Struct, frozen=True):
    """A condition on an attribute."""

    attribute: str
    operator: str
    type: str
    value: str


class RawRead(msgspec.Struct, frozen=True, kw_only=True):
    """A query, or a scan where the partition key has no value; `entity` leaves out the items of others."""

    table: str
    index: str = ""
    entity: str = ""
    partition: list[str]
    sort_operator: str = ""
    sort: list[str]
    filters: list[RawFilter]
    descending: bool = False
    size: int

    @property
    def is_query(self) -> bool:
        return bool(self.partition) and all(self.partition)


class RawRow(msgspec.Struct, frozen=True):
    """An item, the entity that explains it, and whether it is a guard of a unique value."""

    entity: str
    is_guard: bool
    key: Item
    item: Item


class RawPage(msgspec.Struct, frozen=True):
    """Some items; `start` continues after them. `examined` counts those that were read."""

    rows: list[RawRow]
    examined: int
    start: Item | None


def read_of(visit: Visit) -> RawRead:
    """The read that the parameters of a request describe."""
    table = visit.table(visit.param("table"))
    index = visit.param("index")
    keys = key_names(table, index)
    entity = visit.param("entity")
    if entity and entity not in ("guards", "unexplained") and entity not in [each.name for each in table.models]:
        raise NotFound("Entity", {"name": entity})
    operator = visit.param("sort_op")
    if operator not in SORT_OPERATORS:
        raise InvalidInput(f"{operator!r} is not a condition of a sort key", "sort_op")
    partition = [visit.param(f"pk{at}") for at in range(len(keys.pk))]
    return RawRead(
        table=table.name,
        index=index,
        entity=entity,
        partition=partition if any(partition) else [],
        sort_operator=operator,
        sort=_without_last_empty([visit.param(f"sk{at}") for at in range(len(keys.sk))]),
        filters=list(_filters(visit)),
        descending=bool(visit.param("descending")),
        size=visit.number("size", 50, 1, 500),
    )


def _without_last_empty(values: list[str]) -> list[str]:
    while values and not values[-1]:
        values.pop()
    return values


def query_of(read: RawRead) -> dict[str, Any]:
    """The parameters that describe a read."""
    found: dict[str, Any] = {"table": read.table, "index": read.index, "entity": read.entity}
    found |= {f"pk{at}": value for at, value in enumerate(read.partition)}
    found |= {f"sk{at}": value for at, value in enumerate(read.sort)}
    found |= {"sort_op": read.sort_operator, "descending": "1" if read.descending else ""}
    for at, each in enumerate(read.filters):
        found |= {f"f{at}": each.attribute, f"f{at}op": each.operator, f"f{at}type": each.type}
        found[f"f{at}value"] = each.value
    return found | {"size": read.size if read.size != 50 else ""}


def _filters(visit: Visit) -> Iterator[RawFilter]:
    for at in range(FILTERS):
        name, value = visit.param(f"f{at}"), visit.param(f"f{at}value")
        if name or value:
            operator, kind = visit.param(f"f{at}op", "="), visit.param(f"f{at}type", "S")
            if operator not in OPERATORS or kind not in TYPES:
                raise InvalidInput("the filter is not valid", f"f{at}")
            yield RawFilter(name, operator, kind, value)


class KeyNames(msgspec.Struct, frozen=True):
    """The attributes of a key."""

    pk: tuple[str, ...]
    sk: tuple[str, ...]


def key_names(table: Table, index: str) -> KeyNames:
    """The key of a table or of one of its indexes; a vector index has no order that it can be read in."""
    if not index:
        return KeyNames((table.pk,), () if table.sk is None else (table.sk,))
    found: Index | None = next((each for each in table.all_indexes if each.name == index), None)
    if found is None:
        raise NotFound("Index", {"name": index})
    if isinstance(found, VectorIndex):
        raise InvalidInput(f"{index} is a vector index, which has no order; its own page searches it")
    return KeyNames(found.pk, found.sk)


def key_type(table: Table, name: str) -> str:
    """The type of a key attribute."""
    for model in table.models:
        for keys in (model.key, *(each for several in model.indexes.values() for each in several)):
            for attribute in keys.attributes:
                if attribute.name == name:
                    return attribute.type
    return "S"


def attribute_of(kind: str, text: str, where: str) -> AttributeValue:
    """A text as an attribute of a type; InvalidValue where it is not one."""
    content: Any = text
    if kind in ("BOOL", "NULL"):
        content = text.strip().lower() != "false"
    try:
        return canonical_value({kind: content})
    except DynamoDBError as error:
        raise InvalidInput(str(error), where) from None


def request_of(visit: Visit, read: RawRead, start: Item | None, limit: int) -> wire.Query | wire.Scan:
    """The request of one page."""
    table = visit.table(read.table)
    keys = key_names(table, read.index)
    _check_range(keys, read)
    text = Placeholders()
    if not all(each.attribute for each in read.filters):
        raise InvalidInput("name the attribute that the filter compares", "f0")
    filters = [_condition(each, text) for each in read.filters]
    common: dict[str, Any] = {
        "table_name": visit.db.table_name(table),
        "index_name": read.index or None,
        "limit": limit,
        "exclusive_start_key": start,
    }
    if not read.is_query:
        found: wire.Query | wire.Scan = wire.Scan(**common)
    else:
        terms = [
            f"{text.name(name)} = {text.value(attribute_of(key_type(table, name), value, f'pk{at}'))}"
            for at, (name, value) in enumerate(zip(keys.pk, read.partition, strict=True))
        ]
        terms += _sort_terms(table, keys, read, text)
        found = wire.Query(
            **common, key_condition_expression=" AND ".join(terms), scan_index_forward=not read.descending
        )
    if filters:
        found.filter_expression = " AND ".join(filters)
    found.expression_attribute_names = text.names or None
    found.expression_attribute_values = text.values or None
    return found


def _check_range(keys: KeyNames, read: RawRead) -> None:
    """InvalidValue where a value or a condition of the key would have no effect."""
    if read.partition and not read.is_query:
        at = read.partition.index("")
        raise InvalidInput(f"give a value for {keys.pk[at]}: a query needs the whole partition key", f"pk{at}")
    if (read.sort or read.sort_operator) and not read.is_query:
        reason = "a range of the sort key needs the partition key; a filter compares any attribute in a scan"
        raise InvalidInput(reason, "pk0")
    if read.sort and not read.sort_operator:
        raise InvalidInput("choose a condition for the sort key", "sort_op")
    if read.sort_operator and not all(read.sort or [""]):
        at = [*read.sort, ""].index("")
        raise InvalidInput(f"give a value for {keys.sk[at]}", f"sk{at}")


def _sort_terms(table: Table, keys: KeyNames, read: RawRead, text: "Placeholders") -> Iterator[str]:
    """Equal values for all sort attributes but the last one, which has the operator."""
    for at, (name, value) in enumerate(zip(keys.sk, read.sort, strict=False)):
        placed = text.value(attribute_of(key_type(table, name), value, f"sk{at}"))
        operator = read.sort_operator if at == len(read.sort) - 1 else "="
        yield _comparison(text.name(name), operator, placed)


def _condition(condition: RawFilter, text: "Placeholders") -> str:
    name = text.name(condition.attribute)
    if condition.operator.startswith("attribute_"):
        return f"{condition.operator}({name})"
    value = attribute_of(condition.type, condition.value, condition.attribute)
    return _comparison(name, condition.operator, text.value(value))


def _comparison(name: str, operator: str, value: str) -> str:
    is_function = operator in ("begins_with", "contains")
    return f"{operator}({name}, {value})" if is_function else f"{name} {operator} {value}"


class Placeholders:
    """The placeholders of names and values in an expression."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def name(self, name: str) -> str:
        for placed, known in self.names.items():
            if known == name:
                return placed
        placed = f"#n{len(self.names)}"
        self.names[placed] = name
        return placed

    def value(self, value: AttributeValue) -> str:
        placed = f":v{len(self.values)}"
        self.values[placed] = value
        return placed


def fetch_rows(visit: Visit, read: RawRead, start: Item | None) -> RawPage:
    """The next items, read until there are enough, the range ends, or the page has used its requests or its budget."""
    table = visit.table(read.table)
    names = dict.fromkeys((*table.key_names, *key_names(table, read.index).pk, *key_names(table, read.index).sk))
    limit = EXAMINED if read.entity or read.filters else read.size
    rows: list[RawRow] = []
    examined = 0
    for _ in range(MAX_REQUESTS):
        try:
            reply = answered(visit.backend, request_of(visit, read, start, limit))
        except BudgetExceeded:
            if not examined:
                raise
            break  # the items are large: the page ends here, and the next one reads on
        examined += reply.scanned_count or 0
        for raw in reply.items or ():
            row = row_of(table, raw)
            if belongs(row, read.entity):
                rows.append(row)
                if len(rows) == read.size:
                    position = {name: row.item[name] for name in names if name in row.item}
                    is_last = reply.last_evaluated_key is None and raw is (reply.items or [])[-1]
                    return RawPage(rows, examined, None if is_last else position)
        start = None if reply.last_evaluated_key is None else msgspec.json.decode(reply.last_evaluated_key)
        if start is None:
            break
    return RawPage(rows, examined, start)


def answered(backend: Backend, request: wire.Query | wire.Scan) -> QueryOutput | ScanOutput:
    """The reply to either request."""
    if isinstance(request, wire.Query):
        return backend.call(request)
    return backend.call(request)


def row_of(table: Table, raw: msgspec.Raw) -> RawRow:
    """An item with its entity."""
    item: Item = msgspec.json.decode(raw)
    model = recogniser_of(table).model_of(raw)
    key = {name: item[name] for name in table.key_names if name in item}
    return RawRow("" if model is None else model.name, OWNER in item, key, item)


def belongs(row: RawRow, entity: str) -> bool:
    """Whether a row is of an entity, or of the guards or the items that nothing explains."""
    if not entity:
        return True
    if entity == "guards":
        return row.is_guard
    if entity == "unexplained":
        return not row.entity and not row.is_guard
    return row.entity == entity and not row.is_guard

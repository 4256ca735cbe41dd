"""SearchVectors: the items whose vectors are nearest to a vector, exactly, as of the latest commit."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw

from partita.dynamodb.canonical import checked_value, item_size
from partita.dynamodb.capacity import vector_search_bytes
from partita.dynamodb.exceptions import InternalServerError, ValidationException
from partita.dynamodb.expression_nodes import AndNode, CompareNode, ConditionNode, Path, Value
from partita.dynamodb.limits import MB, SEARCH_BYTES, SEARCH_RESULTS, VECTOR_DIMENSIONS
from partita.dynamodb.requests import SearchVectors
from partita.dynamodb.responses import SearchVectorsOutput, SearchVectorsResult
from partita.dynamodb.shapes import VectorCapacity
from partita.dynamodb.values import AttributeValue, Item, ResolvedPath, type_of
from partita.dynamodb.vectors import float32_bytes
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.parse import parse_condition
from partita.engine.expressions.projection import project
from partita.engine.expressions.scope import Scope, run_expression
from partita.engine.expressions.tokens import ExpressionError
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.vector_indexes import StoredVectorIndex
from partita.extras import needs
from partita.storage.contract import Reader

_encode = msgspec.json.encode
_decode_attributes = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_value = msgspec.json.Decoder(dict).decode
_NO_PLACEHOLDERS = Scope()

_INVALID_VECTOR = (
    "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number "
    "attribute"
)
_LENGTH = "1 validation error detected: Value at '{}' failed to satisfy constraint: Member must have length {}"


def search_vectors(context: EngineContext, request: SearchVectors) -> SearchVectorsOutput:
    _check_form(request)
    scope = scope_of(request)
    conditions = _conditions(request, scope)
    paths = projection_of(request, scope)
    if scope:
        scope.check_all_used()

    table = context.table(request.table_name)
    index = _index_of(table, request.index_name or "")
    vector = _search_vector(request, index)
    equal = _equal_values(index, conditions)

    with needs("SearchVectors", "vectors"):
        from partita.engine.vector_matrix import RowSearch, nearest_rows

    search = RowSearch.of(index, vector, request.top_k or 0, equal)
    reply = SearchVectorsOutput()
    with nearest_rows(context.storage, context.vectors, search) as (reader, matches):
        items = _within_limit(_result(reader, table, index, match.key, paths) for match in matches)
        reply.search_results = [
            SearchVectorsResult(item=item, score=match.score) for item, match in zip(items, matches, strict=True)
        ]
        if request.return_consumed_capacity in ("INDEXES", "TOTAL"):
            returned = sum(_entry_size(reader, index, match.key) for match in matches)
            size = vector_search_bytes(index.dimensions, returned)
            reply.consumed_capacity = VectorCapacity(vector_search_request_bytes=size)
    return reply


def _check_form(request: SearchVectors) -> None:
    check_members(request)
    if len(request.index_name or "") < 3:
        raise ValidationException(_LENGTH.format("IndexName", "greater than or equal to 3"))
    vector = request.search_vector or []
    if not vector:
        raise ValidationException(_LENGTH.format("SearchVector", "greater than or equal to 1"))
    if len(vector) > VECTOR_DIMENSIONS:
        raise ValidationException(_LENGTH.format("SearchVector", f"less than or equal to {VECTOR_DIMENSIONS}"))
    if (request.top_k or 0) > SEARCH_RESULTS:
        raise ValidationException(
            f"Provided TopK value '{request.top_k}' is out of valid range. "
            f"The value must be between 1 and {SEARCH_RESULTS} inclusive"
        )
    check_combination(request, ["projection_expression", "search_condition_expression"], [])


def _conditions(request: SearchVectors, scope: Scope | None) -> Item:
    """The values that attributes must equal, by attribute."""
    source = request.search_condition_expression
    if source is None:
        return {}
    used = scope or _NO_PLACEHOLDERS
    found: dict[str, str] = run_expression("SearchConditionExpression", lambda: _compiled(source, used))
    return {name: used.values[placeholder] for name, placeholder in found.items()}


def _equalities(tree: ConditionNode, scope: Scope) -> dict[str, str]:
    """The placeholder that each attribute must equal."""
    found: dict[str, str] = {}
    for path, value in _pairs(tree):
        resolved = scope.path(path)
        if len(resolved) > 1:
            raise ExpressionError("SearchConditionExpression cannot have conditions on nested attributes")
        scope.value(value.name)
        if str(resolved[0]) in found:
            raise ExpressionError("SearchConditionExpression must only contain one condition per attribute")
        found[str(resolved[0])] = value.name
    return found


def _pairs(tree: ConditionNode) -> Iterator[tuple[Path, Value]]:
    match tree:
        case AndNode(conditions):
            for condition in conditions:
                yield from _pairs(condition)
        case CompareNode("=", Path() as path, Value() as value) | CompareNode("=", Value() as value, Path() as path):
            yield path, value
        case _:
            raise ExpressionError("Invalid comparator used in SearchConditionExpression")


_compiled = ExpressionCache(lambda text, scope: _equalities(parse_condition(text), scope))


def _index_of(table: StoredTable, name: str) -> StoredVectorIndex:
    index = table.vector_indexes.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.record.backfilled_to is not None:
        raise ValidationException(f"Cannot search backfilling vector index: {name}")
    return index


def _search_vector(request: SearchVectors, index: StoredVectorIndex) -> bytes:
    numbers = checked_value({"L": request.search_vector or []})[0]["L"]
    vector = float32_bytes(numbers)
    if vector is None:
        raise ValidationException(_INVALID_VECTOR)
    if len(numbers) != index.dimensions:
        raise ValidationException(
            f"Input search vector dimension {len(numbers)} does not match vector index dimension {index.dimensions}"
        )
    return vector


def _equal_values(index: StoredVectorIndex, conditions: Item) -> list[AttributeValue | None]:
    """The value that each element of the search schema must equal; None where any is right."""
    names = [element.name for element in index.schema]
    for name in conditions:
        if name not in names:
            raise ValidationException(
                "SearchConditionExpression must not contain any attributes that is not in SearchSchema. "
                f"Invalid attribute: {name}"
            )
    if index.hash is not None:
        _check_hash(index.hash.name, index.hash.type, conditions.get(index.hash.name))
    return [conditions.get(name) for name in names]


def _check_hash(name: str, kind: str, value: AttributeValue | None) -> None:
    if value is None:
        raise ValidationException("SearchConditionExpression must be provided when SearchSchema has a HASH key")
    actual = type_of(value)
    if actual != kind:
        raise ValidationException(
            f"Type of '{name}' attribute in SearchConditionExpression ({actual}) does not match type in search schema "
            f"({kind})"
        )
    if value[actual] == "":
        what = "string" if actual == "S" else "binary"
        raise ValidationException(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {what} value. Key: {name}"
        )


def _result(
    reader: Reader, table: StoredTable, index: StoredVectorIndex, key: bytes, paths: list[ResolvedPath] | None
) -> Raw:
    """The projected attributes of a row's item; the vector only where the request names it and the index has it."""
    row = reader.get(table.space, index.storage_key(key))
    if row is None:
        raise InternalServerError(
            f"{table.name}.{index.name}: a row belongs to no item; check the file with partita engine verify"
        )
    attributes = _decode_attributes(row.value)
    if paths is None:
        attributes.pop(index.attribute, None)
        return Raw(_encode({name: value for name, value in attributes.items() if index.projects(name)}))
    wanted = {str(path[0]) for path in paths if index.projects(str(path[0]))}
    item: Item = {name: _decode_value(value) for name, value in attributes.items() if name in wanted}
    if index.attribute in item:
        item[index.attribute] = _as_float32(item[index.attribute])
    return Raw(_encode(project(item, paths)))


def _within_limit(items: Iterable[Raw]) -> list[Raw]:
    """The items of a reply; an error above its limit, since nothing says that some are missing."""
    found: list[Raw] = []
    size, is_exact = 0, False  # an item is never larger than its JSON
    for item in items:
        found.append(item)
        size += _size(item) if is_exact else len(item)
        if size > SEARCH_BYTES and not is_exact:
            size, is_exact = sum(map(_size, found)), True
        if size > SEARCH_BYTES:
            raise ValidationException(
                f"The items of the search results exceed {SEARCH_BYTES // MB} MB. "
                "Use a narrower projection or a smaller value of TopK"
            )
    return found


def _size(item: Raw) -> int:
    return item_size(_decode_value(item))


def _as_float32(value: AttributeValue) -> AttributeValue:
    """The vector as the index has it."""
    import numpy as np

    from partita.dynamodb.numbers import canonical_number

    floats = np.frombuffer(float32_bytes(value["L"]) or b"", "<f4")
    return {"L": [{"N": canonical_number(str(number))} for number in floats]}


def _entry_size(reader: Reader, index: StoredVectorIndex, key: bytes) -> int:
    """The billed size of an entry without its vector."""
    row = reader.get(index.space, key)
    return row.weight - index.vector_bytes if row else 0

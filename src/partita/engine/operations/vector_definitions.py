"""Definitions of vector indexes in CreateTable and UpdateTable: their checks, and their records."""

from importlib.util import find_spec

from partita.dynamodb.exceptions import INVALID, ValidationException
from partita.dynamodb.limits import (
    VECTOR_DIMENSIONS,
    VECTOR_FILTERS,
    VECTOR_INCLUDED_ATTRIBUTES,
    VECTOR_INDEXES,
)
from partita.dynamodb.shapes import VectorIndexDefinition
from partita.engine.vector_indexes import VectorIndexRecord
from partita.errors import MissingExtra


def check_vector_indexes(indexes: list[VectorIndexDefinition], defined: list[str], on_demand: bool) -> None:
    """Checks the definitions against the attributes that the request defines; `defined` has their names."""
    if not indexes:
        raise ValidationException(f"{INVALID}List of VectorIndexes is empty")
    if not on_demand:
        raise ValidationException(f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables")
    if len(indexes) > VECTOR_INDEXES:
        raise ValidationException(f"{INVALID}VectorIndex count exceeds the per-table limit of {VECTOR_INDEXES}")
    for index in indexes:
        _check_dimensions(index)
        attribute = attribute_of(index)
        if attribute in defined:
            raise ValidationException(
                f"{INVALID}Conflicting attribute definition for '{attribute}'. "
                "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
            )
        _check_search_schema(index, defined)
        _check_included(index)
    check_same_dimensions({(attribute_of(each), each.dimensions) for each in indexes})
    _check_searchable()


def _check_searchable() -> None:
    """An index that could not be searched would mislead (docs/decisions/0022)."""
    if find_spec("numpy") is None:
        raise MissingExtra("a vector index", ["vectors"], "numpy")


def attribute_of(index: VectorIndexDefinition) -> str:
    return (index.vector_attribute.attribute_name if index.vector_attribute else None) or ""


def _check_dimensions(index: VectorIndexDefinition) -> None:
    if not 1 <= (index.dimensions or 0) <= VECTOR_DIMENSIONS:
        raise ValidationException(f"{INVALID}Number of dimensions must be between 1 and {VECTOR_DIMENSIONS} inclusive.")


def _check_search_schema(index: VectorIndexDefinition, defined: list[str]) -> None:
    schema = index.search_schema or []
    names = [each.attribute_name or "" for each in schema]
    if any(name not in defined for name in names):
        raise ValidationException(f"{INVALID}One element in SearchSchema is not defined in attribute definitions")
    if len(set(names)) != len(names):
        raise ValidationException(f"{INVALID}SearchSchema contains a duplicate AttributeName")
    for kind, limit in (("HASH", 1), ("INLINE_FILTER", VECTOR_FILTERS)):
        count = sum(each.search_schema_element_type == kind for each in schema)
        if count > limit:
            raise ValidationException(
                f"{INVALID}Value '{count}' at 'SearchSchema' failed to satisfy constraint: "
                f"Member must have {kind} count less than or equal to {limit}"
            )


def _check_included(index: VectorIndexDefinition) -> None:
    included = (index.projection.non_key_attributes if index.projection else None) or []
    if len(included) > VECTOR_INCLUDED_ATTRIBUTES:
        raise ValidationException(
            f"{INVALID}Number of NonKeyAttributes of index {index.index_name} exceeds the limit of "
            f"{VECTOR_INCLUDED_ATTRIBUTES} for a vector index"
        )


def check_same_dimensions(vectors: set[tuple[str, int | None]]) -> None:
    """Checks that the vector indexes on one attribute have the same dimensions."""
    seen: set[str] = set()
    for attribute, _ in sorted(vectors, key=str):
        if attribute in seen:
            raise ValidationException(
                f"{INVALID}Conflicting attribute definition for '{attribute}'. "
                "All VectorIndexes on the same vector attribute must use the same dimensions."
            )
        seen.add(attribute)


def vector_record(index: VectorIndexDefinition, space: str, log: str) -> VectorIndexRecord:
    if index.projection is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    return VectorIndexRecord(
        name=index.index_name or "",
        attribute=attribute_of(index),
        dimensions=index.dimensions or 0,
        distance=index.distance_function or "",
        search_schema=index.search_schema or [],
        projection=index.projection,
        space=space,
        log=log,
    )

"""Tables: the CreateTable request of a design's table, and the differences between it and an existing table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from partita.design.tables import Index, Table, VectorIndex
from partita.dynamodb import requests as wire
from partita.dynamodb.shapes import (
    AttributeDefinition,
    IndexDescription,
    IndexUpdate,
    KeySchemaElement,
    PointInTimeRecoverySpecification,
    Projection,
    SearchSchemaElement,
    SecondaryIndex,
    StreamSpecification,
    TableDescription,
    TimeToLiveSpecification,
    VectorAttribute,
    VectorIndexDefinition,
    VectorIndexDescription,
    VectorIndexUpdate,
)
from partita.plan.proof.tables import key_types, vector_dimensions


def create_table(table: Table) -> wire.CreateTable:
    """The request that creates the table, on demand, with its indexes and stream."""
    local = [_index(index) for index in table.indexes if index.local]
    global_ = [_index(index) for index in table.indexes if not index.local]
    return wire.CreateTable(
        table_name=table.name,
        attribute_definitions=_definitions(table, table.all_indexes, table.key_names),
        key_schema=_schema(table.key_names[:1], table.key_names[1:]),
        local_secondary_indexes=local or None,
        global_secondary_indexes=global_ or None,
        vector_indexes=[_vector_index(table, index) for index in table.vector_indexes] or None,
        billing_mode="PAY_PER_REQUEST",
        stream_specification=_stream(table),
    )


def settings(table: Table) -> Iterator[wire.Request[Any]]:
    """The requests for settings that need an existing table: TTL and point-in-time recovery."""
    if table.ttl is not None:
        specification = TimeToLiveSpecification(enabled=True, attribute_name=table.ttl)
        yield wire.UpdateTimeToLive(table_name=table.name, time_to_live_specification=specification)
    if table.recovery_days is not None:
        recovery = PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True, recovery_period_in_days=table.recovery_days
        )
        yield wire.UpdateContinuousBackups(table_name=table.name, point_in_time_recovery_specification=recovery)


def _definitions(table: Table, indexes: tuple[Index, ...], names: tuple[str, ...]) -> list[AttributeDefinition]:
    types = key_types(table)
    named = [index.search_names if isinstance(index, VectorIndex) else index.pk + index.sk for index in indexes]
    used = dict.fromkeys((*names, *(name for several in named for name in several)))
    return [AttributeDefinition(attribute_name=name, attribute_type=types.get(name, "S")) for name in used]


def _schema(hashed: tuple[str, ...], ranged: tuple[str, ...]) -> list[KeySchemaElement]:
    return [
        *(KeySchemaElement(attribute_name=name, key_type="HASH") for name in hashed),
        *(KeySchemaElement(attribute_name=name, key_type="RANGE") for name in ranged),
    ]


def _index(index: Index) -> SecondaryIndex:
    return SecondaryIndex(index_name=index.name, key_schema=_schema(index.pk, index.sk), projection=_projection(index))


def _projection(index: Index) -> Projection:
    if isinstance(index.project, str):
        return Projection(projection_type=index.project)
    return Projection(projection_type="INCLUDE", non_key_attributes=list(index.project))


def _vector_index(table: Table, index: VectorIndex) -> VectorIndexDefinition:
    schema = [SearchSchemaElement(attribute_name=name, search_schema_element_type="HASH") for name in index.pk]
    schema += [
        SearchSchemaElement(attribute_name=name, search_schema_element_type="INLINE_FILTER") for name in index.filters
    ]
    return VectorIndexDefinition(
        index_name=index.name,
        vector_attribute=VectorAttribute(attribute_name=index.vector),
        search_schema=schema or None,
        projection=_projection(index),
        dimensions=vector_dimensions(table, index),
        distance_function=index.distance,
    )


def without_vector_indexes(table: Table) -> wire.CreateTable:
    """The request that creates the table on a backend that has no vector indexes."""
    definitions = _definitions(table, table.indexes, table.key_names)
    return msgspec.structs.replace(create_table(table), vector_indexes=None, attribute_definitions=definitions)


def _stream(table: Table) -> StreamSpecification | None:
    if table.stream is None:
        return None
    return StreamSpecification(stream_enabled=True, stream_view_type=table.stream)


class Difference(msgspec.Struct, frozen=True):
    """A difference in words; the request that removes it, where there is one, has words for before and afterwards."""

    sentence: str
    request: wire.Request[Any] | None = None
    to_do: str = ""
    done: str = ""
    is_unsupported: bool = False  # the backend does not have the setting, whatever is done


def differences(table: Table, found: TableDescription) -> Iterator[Difference]:
    """The differences between the design's table and the existing one, in the order in which to remove them."""
    if has_other_key(table, found):
        yield Difference(f"table {table.name} has another key; only a new table can have the design's")
    types = _types(found)
    yield from _local_differences(table, found, types)
    present = {each.index_name: each for each in found.global_secondary_indexes or ()}
    for index in table.indexes:
        if index.local:
            continue
        held = present.pop(index.name, None)
        if held is None:
            yield _missing(f"index {index.name}", _add_index(table, index))
        elif not _same_index(table, index, held, types):
            yield Difference(f"index {index.name} has another key or projection; give the design's index another name")
    for name in present:
        yield Difference(f"index {name} is not in the design")
    yield from _vector_differences(table, found)
    yield from _stream_differences(table, (found.stream_specification or StreamSpecification()).stream_view_type)


def has_other_key(table: Table, found: TableDescription) -> bool:
    """Whether an existing table has another key, by the names or the types of its attributes."""
    wanted = _schema(table.key_names[:1], table.key_names[1:])
    return not _same_keys(table, wanted, found.key_schema or (), _types(found))


def _local_differences(table: Table, found: TableDescription, types: Mapping[str, str]) -> Iterator[Difference]:
    """Local indexes are made with their table, and cannot be added or changed."""
    present = {each.index_name: each for each in found.local_secondary_indexes or ()}
    for index in table.indexes:
        held = present.get(index.name)
        if index.local and (held is None or not _same_index(table, index, held, types)):
            what = "is missing" if held is None else "has another key or projection"
            yield Difference(
                f"local index {index.name} {what}; only a new table can have the design's, or write it with local=False"
            )


def _types(found: TableDescription) -> dict[str, str]:
    """The types of the attributes in keys of an existing table."""
    return {each.attribute_name or "": each.attribute_type or "" for each in found.attribute_definitions or ()}


def _same_keys(
    table: Table, wanted: Sequence[KeySchemaElement], held: Sequence[KeySchemaElement], types: Mapping[str, str]
) -> bool:
    """Whether keys have the same attributes, of the same types."""
    if [(e.attribute_name, e.key_type) for e in held] != [(e.attribute_name, e.key_type) for e in wanted]:
        return False
    mine = key_types(table)
    names = (each.attribute_name or "" for each in wanted)
    return all(mine.get(name, "S") == types.get(name, mine.get(name, "S")) for name in names)


def _missing(name: str, request: wire.UpdateTable) -> Difference:
    return Difference(f"{name} is missing", request, f"create {name}", f"{name} created")


def _stream_differences(table: Table, view: str | None) -> Iterator[Difference]:
    wanted = _stream(table)
    if wanted is None or view == table.stream:
        return
    sentence = f"table {table.name} has no stream {table.stream}"
    if view is not None:
        yield Difference(f"{sentence}, but {view}, which cannot be changed; first turn that one off")
        return
    request = wire.UpdateTable(table_name=table.name, stream_specification=wanted)
    name = f"stream of table {table.name}"
    yield Difference(sentence, request, f"set the {name} to {table.stream}", f"{name} set to {table.stream}")


def _vector_differences(table: Table, found: TableDescription) -> Iterator[Difference]:
    present = {each.index_name: each for each in found.vector_indexes or ()}
    for index in table.vector_indexes:
        held, wanted = present.pop(index.name, None), _vector_index(table, index)
        if held is None:
            request = wire.UpdateTable(
                table_name=table.name,
                attribute_definitions=_definitions(table, (index,), ()) or None,
                vector_index_updates=[VectorIndexUpdate(create=wanted)],
            )
            yield _missing(f"vector index {index.name}", request)
        elif _vector_facts(wanted) != _vector_facts(held):
            yield Difference(
                f"vector index {index.name} has another definition, which cannot be changed; "
                "give the design's index another name"
            )
    for name in present:
        yield Difference(f"vector index {name} is not in the design")


def _vector_facts(index: VectorIndexDefinition | VectorIndexDescription) -> tuple[Any, ...]:
    """The definition of a vector index; the order of its filters has no meaning."""
    projection = index.projection or Projection()
    return (
        index.vector_attribute,
        {(each.attribute_name, each.search_schema_element_type) for each in index.search_schema or ()},
        projection.projection_type,
        sorted(projection.non_key_attributes or ()),
        index.dimensions,
        index.distance_function,
    )


def _add_index(table: Table, index: Index) -> wire.UpdateTable:
    return wire.UpdateTable(
        table_name=table.name,
        attribute_definitions=_definitions(table, (index,), ()),
        global_secondary_index_updates=[IndexUpdate(create=_index(index))],
    )


def _same_index(table: Table, index: Index, held: IndexDescription, types: Mapping[str, str]) -> bool:
    wanted = _index(index)
    mine, theirs = wanted.projection, held.projection
    assert mine is not None
    return (
        _same_keys(table, wanted.key_schema or (), held.key_schema or (), types)
        and theirs is not None
        and mine.projection_type == theirs.projection_type
        and sorted(mine.non_key_attributes or ()) == sorted(theirs.non_key_attributes or ())
    )

"""The proof of a search: its vector index can compare what it compares, and it finds the returned entities only.

DynamoDB puts an item into a vector index as soon as it has the vector and the index's partition attribute, whichever
entity it is of. So another entity with both must be in other partitions, or be filtered out by its type.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from partita.design.key_slots import SlotRole, check_constant_in_slot
from partita.design.models import KeyAttribute, Model, ViewModel
from partita.design.reads import Read
from partita.design.search_terms import attribute_on_disk, search_slots, search_values, vector_index
from partita.design.tables import VectorIndex
from partita.errors import ProofError
from partita.plan.key_ranges import KeyRange, key_range
from partita.plan.old_ranges import check_partitions
from partita.plan.proof.overlaps import held_by_earlier
from partita.plan.stored_keys import index_keys, meeting


class SearchProof(msgspec.Struct, frozen=True):
    """The proof of a search in sentences; `by_type` says that it compares the type attribute too."""

    range: KeyRange
    by_type: bool
    returned_names: tuple[str, ...]
    sentences: tuple[str, ...]


def prove_search(read: Read) -> SearchProof:
    """The proof of one search."""
    index = vector_index(read)
    _check_sources(read, index)
    check_partitions(read)
    _check_values(read, index)
    found = key_range(read)
    foreign = [each.name for each in _foreign_models(read, index, found)]
    _check_type_filter(read, index, foreign)
    names = tuple(dict.fromkeys(_returned_names(read)))
    _check_projection(read, index, names)
    sentences = ["one SearchVectors", "eventually consistent, without pages", f"{index.name} compares every argument"]
    if foreign:
        sentences.append(f"{read.sources[0].model.table.type_attribute} leaves out {' and '.join(foreign)}")
    else:
        sentences.append(f"no other entity can be found in index {index.name}")
    sentences += held_by_earlier(read)
    if index.project != "ALL":
        sentences.append(f"{index.name} projects every returned attribute")
    return SearchProof(found, bool(foreign), names, tuple(sentences))


def _check_sources(read: Read, index: VectorIndex) -> None:
    first = read.sources[0]
    for other in read.sources[1:]:
        if other.model.table is not first.model.table or other.keys.index != index.name:
            wrong = f"{first.keys.where} and {other.keys.where} are not one vector index"
            raise ProofError(read.name, wrong, "search entities of one vector index together")
        mine, theirs = (
            {slot.field: slot.type for slot in search_slots(msgspec.structs.replace(read, sources=(each,)))}
            for each in (first, other)
        )
        given = dict(read.search.values if read.search else ())
        for name in given:
            if theirs.get(name) != mine[name]:
                wrong = f"{name!r} is not the same in {first.model.name} and {other.model.name}"
                raise ProofError(read.name, wrong, "search them by values that they have in common")
        for a, b in zip(first.keys.partition, other.keys.partition, strict=True):
            if _composition(a) != _composition(b):
                wrong = f"{first.model.name} and {other.model.name} are in different partitions of {index.name!r}"
                raise ProofError(read.name, wrong, f"give them the same {a.name}, or search for one entity at a time")


def _composition(attribute: KeyAttribute) -> Any:
    """How an attribute of a key follows from the values of a search, which are given by name."""
    if attribute.template is None:
        return attribute.field
    return [(each.constant, each.form, each.field) for each in attribute.template.segments]


def _check_values(read: Read, index: VectorIndex) -> None:
    """The vector and every part of the partition key have a value, and constants have the types of their attributes."""
    given = dict(read.search.values if read.search else ())
    for slot in search_slots(read):
        if slot.field in given or slot.role is SlotRole.SEARCH_FILTER:
            continue
        what = "vector" if slot.role is SlotRole.VECTOR else f"partition key of {index.name}"
        wrong = f"it has no value for {slot.field!r}, the {what}"
        raise ProofError(read.name, wrong, f"take it as a parameter, or write nearest(..., {slot.field}=...)")
    for slot, value in search_values(read):
        check_constant_in_slot(read.name, slot, value)


def _foreign_models(read: Read, index: VectorIndex, found: KeyRange) -> Iterator[Model]:
    """The entities that are not returned and whose items can be in the searched part of the index."""
    returned = {source.model for source in read.sources}
    domains = found.domains(read.sources[0].model)
    for model in read.sources[0].model.table.models:
        if model in returned or attribute_on_disk(model, index.vector) is None:
            continue
        if any(
            meeting(domains, each.domains) is not None for each in index_keys(model, index) if each.name == model.name
        ):
            yield model


def _check_type_filter(read: Read, index: VectorIndex, foreign: list[str]) -> None:
    """Other entities in the index can be left out by one comparison of the type attribute."""
    if not foreign:
        return
    name = read.sources[0].model.table.type_attribute
    others = " and ".join(foreign)
    if name is None or name not in index.filters:
        raise ProofError(
            read.name,
            f"{others} can be in index {index.name!r} too, with the same {' and '.join((*index.pk, index.vector))}",
            "give the table a type_attribute and add it to the filters of the index, "
            f"or return {others} too, or store its vectors under another name",
        )
    if len(read.sources) > 1:
        wrong = f"{others} can be in index {index.name!r} too, and a search compares the type with one value"
        raise ProofError(read.name, wrong, f"return {others} too, or search for one entity at a time")


def _returned_names(read: Read) -> Iterator[str]:
    """The attributes on disk of which the results are made."""
    table = read.sources[0].model.table
    yield from table.key_names
    for source in read.sources:
        returned: Model | ViewModel = read.view or source.model
        yield from (member.name for member in returned.members)
        yield from (each.index_key for each in returned.attributes.values() if each.index_key is not None)
        if source.model.expires is not None and table.ttl is not None:
            yield table.ttl


def _check_projection(read: Read, index: VectorIndex, names: tuple[str, ...]) -> None:
    if index.project == "ALL":
        return
    listed = () if index.project == "KEYS_ONLY" else index.project
    held = {*read.sources[0].model.table.key_names, *index.search_names, *listed}
    missing = [name for name in names if name not in held]
    if missing:
        raise ProofError(
            read.name,
            f"vector index {index.name!r} does not project {', '.join(missing)}",
            f"add them to the projection, or search for a View of {read.sources[0].model.name} without them",
        )

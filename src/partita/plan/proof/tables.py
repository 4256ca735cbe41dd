"""The proof of a table: items of two entities, or an item and a guard, can never have the same key."""

from itertools import combinations

from partita.design.conditions import Condition
from partita.design.key_templates import Template
from partita.design.models import Model
from partita.design.search_terms import attribute_on_disk
from partita.design.tables import Table, VectorIndex
from partita.design.vector_values import VectorCodec
from partita.errors import DesignError
from partita.plan.effects import OWNER
from partita.plan.proof.old_key_forms import check_old_keys
from partita.plan.proof.overlaps import check_all_can_be_written
from partita.plan.stored_keys import StoredKey, meeting, table_keys


def prove_table(table: Table) -> None:
    """Every item is of one entity, whatever its key; an error where two could share one."""
    _check_own_names(table)
    for model in table.models:
        _check_one_writer(model)
        _check_guards(table, model)
        check_old_keys(model)
        check_all_can_be_written(model)
    stored = [key for model in table.models for key in table_keys(model)]
    for one, other in combinations(stored, 2):
        if one.model is other.model and one.keys is not None and other.keys is not None:
            continue  # today's key and old ones are of the same entity
        _check_apart(one, other)
    _check_vectors(table)
    _check_key_types(table)


def _check_own_names(table: Table) -> None:
    """Attributes that the store itself writes are no keys: items would be in an index that no entity declares."""
    keys = {*table.key_names, *(name for index in table.indexes for name in index.pk + index.sk)}
    where, instead = f"Table {table.name}", "give the two different names"
    if table.type_attribute is not None and table.type_attribute in (*keys, table.ttl):
        wrong = f"its type attribute {table.type_attribute!r} is a key or the TTL attribute as well"
        raise DesignError(where, wrong, instead)
    expiring = next((model.name for model in table.models if model.expires is not None), None)
    if table.ttl in keys and expiring is not None:
        raise DesignError(where, f"{table.ttl!r} is a key, and the TTL attribute that {expiring} sets", instead)


def _check_apart(one: StoredKey, other: StoredKey) -> None:
    """No item can have both keys."""
    guard = one if one.keys is None else other if other.keys is None else None
    if guard is not None and any(_is_plain(each) for each in (one, other)):
        return  # a plain key that begins as guards do is rejected when it is used
    witness = meeting(one.domains, other.domains)
    if witness is None:
        return
    example = ", ".join(f"{name} {value!r}" for name, value in witness.items())
    raise DesignError(
        f"{one.model.name} and {other.model.name}",
        f"{one.name} ({one.source}) and {other.name} ({other.source}) can have the same key: {example}",
        _way_out(one, other),
    )


def _way_out(one: StoredKey, other: StoredKey) -> str:
    old = next((each for each in (one, other) if each.keys in each.model.old_keys), None)
    if old is None:
        return "give one of them another constant"
    return "give one of them another constant, or migrate the stored items and remove it from old_keys"


def _is_plain(stored: StoredKey) -> bool:
    return stored.keys is not None and stored.keys.partition[0].template is None


def _check_one_writer(model: Model) -> None:
    """Where the keys of two indexes fill the same attribute, they write the same text under the same condition."""
    writers: dict[str, dict[str, list[tuple[Template, Condition | None]]]] = {}
    for index, alternatives in model.indexes.items():
        for keys in alternatives:
            for each in keys.attributes:
                if each.template is not None and each.name not in model.table.key_names:
                    writers.setdefault(each.name, {}).setdefault(index, []).append((each.template, keys.when))
    for name, by_index in writers.items():
        first, *others = by_index
        for other in others:
            if by_index[other] != by_index[first]:
                raise DesignError(
                    model.name,
                    f"{first} and {other} both write {name!r}, and not the same text under the same condition",
                    "give one of the indexes an attribute of its own",
                )


def _check_guards(table: Table, model: Model) -> None:
    if not model.uniques:
        return
    if OWNER in {name for index in table.indexes for name in index.pk + index.sk}:
        raise DesignError(table.name, f"an index key uses {OWNER!r}, an attribute of guards", "rename that attribute")
    twin = next((each for each in table.models if each is not model and each.name == model.name and each.uniques), None)
    if twin is not None:
        raise DesignError(
            model.name, "two entities with Unique have this name, and would share their guards", "rename one of them"
        )
    for keys in (keys for each in table.models for keys in (each.key, *each.old_keys)):
        if any(each.type != "S" for each in keys.attributes):
            raise DesignError(model.name, "Unique needs a table with text keys", "write key templates")


def key_types(table: Table) -> dict[str, str]:
    """The type of every attribute that keys and search schemas of a table and its indexes name."""
    types: dict[str, str] = {}
    for model in table.models:
        for keys in (model.key, *(each for several in model.indexes.values() for each in several)):
            for attribute in keys.attributes:
                types.setdefault(attribute.name, attribute.type)
    for name in (name for index in table.vector_indexes for name in index.filters):
        tag = "S" if name == table.type_attribute else None
        for model in table.models:
            attribute_ = attribute_on_disk(model, name)
            tag = tag or (None if attribute_ is None else attribute_.codec.tag)
        if tag is not None:
            types.setdefault(name, tag)
    return types


def _check_vectors(table: Table) -> None:
    """The vectors of an index have the same dimensions, and its filters are of types that DynamoDB compares."""
    for index in table.vector_indexes:
        where = f"VectorIndex {index.name}"
        stored = [each for model in table.models if (each := attribute_on_disk(model, index.vector)) is not None]
        for each in stored:
            if not isinstance(each.codec, VectorCodec):
                wrong = f"{each.field!r}, which is stored as {index.vector!r}, is not a vector"
                raise DesignError(where, wrong, "write Annotated[Vector, Dimensions(256)], or StoredAs another name")
        counts = {each.codec.dimensions for each in stored if isinstance(each.codec, VectorCodec)}
        if len(counts) != 1:
            wrong = (
                f"its vectors have {' and '.join(map(str, sorted(counts)))} dimensions"
                if counts
                else (f"no entity of table {table.name!r} has a vector that is stored as {index.vector!r}")
            )
            raise DesignError(where, wrong, "give the vectors of one name the same Dimensions")
        for name in index.search_names:
            tag = key_types(table).get(name)
            if tag not in ("S", "N", "B"):
                wrong = f"{name!r} is stored as {tag}" if tag else f"no entity has the attribute {name!r}"
                raise DesignError(where, wrong, "search by attributes of text, a number or bytes")


def vector_dimensions(table: Table, index: VectorIndex) -> int:
    """The dimensions of the vectors in an index."""
    stored = (attribute_on_disk(model, index.vector) for model in table.models)
    return next(each.codec.dimensions for each in stored if each is not None and isinstance(each.codec, VectorCodec))


def _check_key_types(table: Table) -> None:
    types = key_types(table)
    for model in table.models:
        for attribute in model.attributes.values():
            wanted = types.get(attribute.name)
            if wanted is not None and not attribute.in_key and attribute.codec.tag != wanted:
                raise DesignError(
                    f"{model.name}.{attribute.field}",
                    f"{attribute.name!r} is an index key of type {wanted}, but it is stored as {attribute.codec.tag}",
                    "rename one of the two attributes",
                )
    for index in table.indexes:
        for name in index.pk + index.sk:
            if name not in types:
                raise DesignError(
                    f"Index {index.name}",
                    f"no entity of table {table.name!r} has the key attribute {name!r}",
                    "declare Keys for it on an entity, or remove the index",
                )

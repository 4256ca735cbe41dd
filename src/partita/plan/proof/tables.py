"""The proof of a table: items of two entities, or an item and a guard, can never have the same key."""

from itertools import combinations, product

from partita.design.models import EntityKeys, Model
from partita.design.tables import Table
from partita.errors import DesignError
from partita.plan.effects import GUARD, OWNER
from partita.plan.proof.overlap import keys_can_collide


def prove_table(table: Table) -> None:
    """A DesignError where items of two entities could have the same key, or a key attribute has two types."""
    for one, other in combinations(table.models, 2):
        if keys_can_collide(one, one.key, other, other.key):
            raise DesignError(
                f"{one.name} and {other.name}",
                f"an item of each can have the same key ({templates_text(one.key)} and {templates_text(other.key)})",
                "give one of them another constant",
            )
        for old, owner in ((one, other), (other, one)):
            _prove_old_keys(old, owner)
    for model in table.models:
        _prove_guards(table, model)
    _check_key_types(table)


def _prove_old_keys(model: Model, other: Model) -> None:
    """An old key of an entity can be no key of another: items under it are read and deleted as the entity's own."""
    for keys, others in product(model.old_keys, (other.key, *other.old_keys)):
        if keys_can_collide(model, keys, other, others):
            raise DesignError(
                f"{model.name} and {other.name}",
                f"an old key of {model.name} ({templates_text(keys)}) "
                f"can be a key of {other.name} ({templates_text(others)})",
                f"give {other.name} another constant, or migrate the stored items and remove it from old_keys",
            )


def _prove_guards(table: Table, model: Model) -> None:
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
        first = keys.partition[0]
        opening = first.template.segments[0] if first.template else None
        if opening is not None and opening.form is None and opening.constant == GUARD:
            raise DesignError(
                keys.owner, f"its key begins with {GUARD}#, like the keys of guards", "use another constant"
            )


def key_types(table: Table) -> dict[str, str]:
    """The type of every key attribute of a table and its indexes."""
    types: dict[str, str] = {}
    for model in table.models:
        for keys in (model.key, *(each for several in model.indexes.values() for each in several)):
            for attribute in keys.attributes:
                types.setdefault(attribute.name, attribute.type)
    return types


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


def templates_text(keys: EntityKeys) -> str:
    """The templates of a key as they are declared."""
    return ", ".join(each.template.source if each.template else f"<{each.name}>" for each in keys.attributes)

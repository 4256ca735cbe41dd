"""Shared by the adoption of all systems: the name under which an item is reported."""

from collections.abc import Mapping

from partita import Entity

IdFields = Mapping[type[Entity], tuple[str, ...]]
"""The entities that an adoption visits, each with the fields that identify it."""


def entity_label(entity: Entity, fields: IdFields) -> str:
    """The type and ids of an entity, such as `Need c_1 n_7`."""
    return " ".join([type(entity).__name__, *(str(getattr(entity, field)) for field in fields[type(entity)])])

"""Which children go with their parent: the range of their keys that follows from the parent, and is its alone.

The parent gives the parts of the child's partition, then the leading parts of its sort key as far as they are fields of
the parent's own key. A range that another parent would give as well is refused: deleting one would empty the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from partita.design.key_parts import ShardPart
from partita.design.key_slots import Slot, key_slots
from partita.design.key_templates import Segment
from partita.design.markers import Owns
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.reads import Argument, EntityKey, Read
from partita.errors import DesignError
from partita.plan.key_ranges import KeyRange, key_range


@dataclass(frozen=True, eq=False)
class Ownership:
    """Children that go with their parent, under their key or an old one.

    `parts` maps the leading parts of `keys` to the parent's attributes.
    """

    child: Model
    keys: EntityKeys
    parts: dict[str, str]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The leading parts of the child's key that the parent gives."""
        slots = key_slots(self.child, self.keys, whole=False)
        known = next((at for at, slot in enumerate(slots) if slot.field not in self.parts), len(slots))
        return slots[:known]

    def query_values(self, parent: Any) -> tuple[Any, ...]:
        """The values of these parts, as a query of the parent's children is given them."""
        held = [(slot, getattr(parent, self.parts[slot.field])) for slot in self.slots]
        return tuple(int(slot.form.write(value)) if isinstance(slot.form, ShardPart) else value for slot, value in held)


def ownerships(parent: Model, child: Model, owns: Owns) -> Iterator[Ownership]:
    """Where the children are: under their key, and under old ones that lie in another range."""
    today = _ownership(parent, child, child.key, owns)
    yield today
    searched = key_range(read_of(parent, today))
    for keys in child.old_keys:
        if not _always_inside(searched, keys):
            yield _ownership(parent, child, keys, owns)


def _ownership(parent: Model, child: Model, keys: EntityKeys, owns: Owns) -> Ownership:
    """The child's partition has to follow from the parent's attributes, and its range to be the parent's alone."""
    parts: dict[str, str] = {}
    for slot in key_slots(child, keys, whole=False):
        source = owns.via.get(slot.field, slot.field)
        if slot.role == "hash":
            if source not in parent.attributes:
                raise DesignError(
                    parent.name,
                    f"owns {child.name}, whose {_key_name(child, keys)} needs {slot.field!r}",
                    f"write Owns(..., via={{{slot.field!r}: <attribute of {parent.name}>}})",
                )
            _check_lossless(parent, child, slot, source)
        elif not _leads(slot, source, parent, parts, owns):
            break
        parts[slot.field] = source
    found = Ownership(child, keys, parts)
    _check_exclusive(parent, found)
    return found


def _check_lossless(parent: Model, child: Model, slot: Slot, source: str) -> None:
    """A child has a day, a shard of its own; only what the parent's key says is known to be the same."""
    if slot.form is not None and not slot.form.lossless and source not in parent.key.fields:
        raise DesignError(
            parent.name,
            f"owns {child.name}, whose partition holds a form of {slot.field!r}, which is not in the key of "
            f"{parent.name}: children with another would be left behind",
            f"leave {slot.field!r} out of that partition, or delete {child.name} in a service",
        )


def _key_name(child: Model, keys: EntityKeys) -> str:
    return "key" if keys is child.key else "old key"


def _leads(slot: Slot, source: str, parent: Model, parts: dict[str, str], owns: Owns) -> bool:
    """Whether a sort part is the parent's; a name that the two share by chance is that of a part which is known."""
    if source not in parent.key.fields:
        return False
    return slot.field in parts or slot.field in owns.via or source not in parts.values()


def _check_exclusive(parent: Model, found: Ownership) -> None:
    """No other parent gives the same range: the key itself is told, or something else that names the parent."""
    told = [slot for slot in found.slots if slot.form is None or slot.form.lossless]
    own = {field for attribute in parent.key.partition for field in attribute.fields}
    if any(slot.role == "hash" and found.parts[slot.field] not in own for slot in told):
        return
    covered = {found.parts[slot.field] for slot in told}
    missing = next((field for field in parent.key.fields if field not in covered), None)
    if missing is not None:
        child = found.child
        raise DesignError(
            parent.name,
            f"owns {child.name}, whose {_key_name(child, found.keys)} does not say which {missing!r} it belongs to: "
            "to delete one would delete the children of others",
            f"lead the sort key of {child.name} with {{{missing}}}, or map it with "
            f"via={{<part of {child.name}>: {missing!r}}}",
        )


def read_of(parent: Model, found: Ownership) -> Read:
    """The read by which a parent's deletion finds its children."""
    values = tuple(Argument(found.parts[slot.field], at, slot.type) for at, slot in enumerate(found.slots))
    return Read((EntityKey(found.child, found.keys),), values, label=f"{parent.name} owns {found.child.name}")


def _always_inside(searched: KeyRange, keys: EntityKeys) -> bool:
    """Whether an old key begins as today's does, as far as a parent gives it."""
    by_name = {each.name: each for each in keys.attributes}
    if any(_segments(by_name[each.attribute.name]) != _segments(each.attribute) for each in searched.fixed):
        return False
    start = searched.sort_prefix
    if start is None:
        return True
    old = _segments(by_name[start.attribute.name])
    lead = len(start.pieces)
    alike = old[:lead] == tuple(piece.segment for piece in start.pieces)
    return alike and len(old) > lead and old[lead].constant.startswith(start.constant_prefix)


def _segments(attribute: KeyAttribute) -> tuple[Segment, ...]:
    """A plain attribute is a part without any text around it."""
    return attribute.template.segments if attribute.template is not None else (Segment("", attribute.field),)

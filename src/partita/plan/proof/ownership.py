"""Ownership: the range of keys that holds a parent's children and no other parent's.

The parent has the values of the child's partition, then of the leading parts of its sort key as far as they are fields
of the parent's own key. A range that two parents share is an error: deleting one would delete the other's children.
"""

from collections.abc import Iterator

from partita.design.key_slots import Slot, SlotRole, key_slots
from partita.design.key_templates import Segment
from partita.design.markers import Owns
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.reads import Argument, EntityKey, Read
from partita.errors import DesignError, ProofError
from partita.plan.design import Design, Ownership
from partita.plan.key_ranges import KeyRange, key_range
from partita.plan.proof.contents import proven_range
from partita.plan.proof.key_sources import check_types, check_via


def ownerships(parent: Model, child: Model, owns: Owns) -> Iterator[Ownership]:
    """The ranges of the children: of their key, and of old keys that lie in another range."""
    current = _ownership(parent, child, child.key, owns)
    yield current
    searched = _searched(read_of(parent, current))
    for keys in child.old_keys:
        if not _is_covered(searched, keys):
            yield _ownership(parent, child, keys, owns)


def _searched(read: Read) -> KeyRange:
    """The range that is read for the children, which may end at the largest of their current keys."""
    found = key_range(read)
    try:
        return proven_range(read, found)[0]
    except ProofError:
        return found  # the proof of the design says why


def check_counters(design: Design, parent: Model) -> None:
    """What a parent counts of a child that it owns is what it owns: nothing else is deleted with it."""
    for ownership in design.ownerships[parent]:
        for counter in design.counters.get(ownership.child, ()):
            if counter.parent is not parent:
                continue
            for slot in ownership.slots:
                if counter.parts.get(ownership.parts[slot.field]) != slot.field:
                    raise DesignError(
                        f"{parent.name}.{counter.attribute.field}",
                        f"it counts every {ownership.child.name} whose {counter.refers!r} names it, but owns those "
                        f"whose {slot.field!r} does: others would refer to it after its deletion",
                        "count the owned ones, by the attributes of their key, or remove Owns",
                    )


def _ownership(parent: Model, child: Model, keys: EntityKeys, owns: Owns) -> Ownership:
    """The child's partition must follow from the parent's attributes, and its range belong to one parent only."""
    check_via(parent.name, owns.via, [*child.key.fields, *keys.fields], f"the key of {child.name}")
    parts: dict[str, str] = {}
    for slot in key_slots(child, keys, whole=False):
        source = owns.via.get(slot.field, slot.field)
        if slot.role is SlotRole.PARTITION:
            if source not in parent.attributes:
                raise DesignError(
                    parent.name,
                    f"it owns {child.name}, whose {_key_name(child, keys)} needs {slot.field!r}",
                    f"write Owns(..., via={{{slot.field!r}: <attribute of {parent.name}>}}), or, where {parent.name} "
                    f"does not have it, delete {child.name} in a service",
                )
            _check_lossless(parent, child, slot, source)
            _check_present(parent, child, source)
            _check_type(parent, child, slot, source)
        elif not _is_parents_part(slot, source, parent, parts, owns):
            break
        else:
            _check_present(parent, child, source)
            _check_type(parent, child, slot, source)
        parts[slot.field] = source
    found = Ownership(child, keys, parts)
    _check_exclusive(parent, found)
    return found


def _check_lossless(parent: Model, child: Model, slot: Slot, source: str) -> None:
    """A day or shard of the child may differ from the parent's, unless the parent's key determines it."""
    if slot.form is not None and not slot.form.lossless and source not in parent.key.fields:
        raise DesignError(
            parent.name,
            f"it owns {child.name}, whose partition holds a form of {slot.field!r}, which is not in the key of "
            f"{parent.name}: children with another value would not be deleted",
            f"leave {slot.field!r} out of that partition, or delete {child.name} in a service",
        )


def _check_present(parent: Model, child: Model, source: str) -> None:
    """A parent whose key may end before a part has no value of it for the keys of its children."""
    if source in parent.key.fields and source not in parent.key.required_fields:
        raise DesignError(
            parent.name,
            f"it owns {child.name}, whose key needs {source!r}, which may be None in the key of {parent.name}",
            f"delete {child.name} in a service, or make {source!r} a part that is always there: {{{source}}}",
        )


def _check_type(parent: Model, child: Model, slot: Slot, source: str) -> None:
    via = f"via={{{slot.field!r}: <attribute of {parent.name}>}}"
    check_types(f"{parent.name} owns {child.name}", (parent, source), (child, slot.field), via)


def _key_name(child: Model, keys: EntityKeys) -> str:
    return "key" if keys is child.key else "old key"


def _is_parents_part(slot: Slot, source: str, parent: Model, parts: dict[str, str], owns: Owns) -> bool:
    """Whether a sort part holds the parent's value; equal names alone do not count once the value is known."""
    if source not in parent.key.fields:
        return False
    return slot.field in parts or slot.field in owns.via or source not in parts.values()


def _check_exclusive(parent: Model, found: Ownership) -> None:
    """No other parent has the same range: it holds the whole key of the parent, or something else that names it."""
    lossless = [slot for slot in found.slots if slot.form is None or slot.form.lossless]
    own = {field for attribute in parent.key.partition for field in attribute.fields}
    if any(slot.role is SlotRole.PARTITION and found.parts[slot.field] not in own for slot in lossless):
        return
    covered = {found.parts[slot.field] for slot in lossless}
    missing = next((field for field in parent.key.fields if field not in covered), None)
    if missing is not None:
        child = found.child
        raise DesignError(
            parent.name,
            f"it owns {child.name}, whose {_key_name(child, found.keys)} does not hold {missing!r}: "
            f"deleting one {parent.name} would delete the children of others",
            f"begin the sort key of {child.name} with {{{missing}}}, or map it with "
            f"via={{<part of {child.name}>: {missing!r}}}",
        )


def read_of(parent: Model, found: Ownership) -> Read:
    """The query for the children of a parent that is deleted."""
    values = tuple(Argument(found.parts[slot.field], at, slot.type) for at, slot in enumerate(found.slots))
    return Read((EntityKey(found.child, found.keys),), values, label=f"{parent.name} owns {found.child.name}")


def _is_covered(searched: KeyRange, keys: EntityKeys) -> bool:
    """Whether every item under an old key lies in the range that is searched anyway."""
    by_name = {each.name: each for each in keys.attributes}
    if any(_segments(by_name[each.attribute.name]) != _segments(each.attribute) for each in searched.fixed):
        return False
    start = searched.sort_prefix
    if start is None:
        return True
    if start.is_tight:
        return False
    old = _segments(by_name[start.attribute.name])
    lead = len(start.pieces)
    if old[-1].optional and len(old) == lead + 1 and not start.with_parent:
        return False
    alike = old[:lead] == tuple(piece.segment for piece in start.pieces)
    return alike and len(old) > lead and old[lead].constant.startswith(start.constant_prefix)


def _segments(attribute: KeyAttribute) -> tuple[Segment, ...]:
    """The segments of a template; an attribute that is its own key is one part without constant text."""
    return attribute.template.segments if attribute.template is not None else (Segment("", attribute.field),)

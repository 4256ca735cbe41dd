"""What a query of a table also reads for the old keys of its entities (`old_keys`).

Items under old keys are elsewhere in the table, and in another order. All of them that may belong to the query are read
for every page, and those whose new key would lie in its range are merged in by that key.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from partita.design.key_parts import VerbatimPart
from partita.design.key_slots import Slot, SlotRole, key_slots, part_identity
from partita.design.key_templates import Segment, Template
from partita.design.models import EntityKeys, Model
from partita.design.reads import Argument, EntityKey, FanOut, Read
from partita.errors import ProofError
from partita.plan.key_ranges import PLAIN, KeyRange, Piece, SortPrefix, key_range
from partita.plan.normal_forms import has_text_as_written, value_forms
from partita.plan.stored_keys import templates_text


def old_reads(read: Read, found: KeyRange) -> tuple[Read, ...]:
    """Reads of each old key of the entities that a query of the table returns, if its range does not contain it."""
    if read.single:
        return ()
    if read.sources[0].keys.index is not None:
        _check_index(read, found)
        return ()
    every = tuple(
        old
        for source in read.sources
        if source.keys is source.model.key
        for keys in source.model.old_keys
        for old in _reads_of_old_key(read, source, keys)
    )
    return (
        () if all(_contains(read, found, old) for old in every) else every
    )  # all in one way: either in its range, or merged


def _check_index(read: Read, found: KeyRange) -> None:
    """A ProofError where an index sorts by the table's key, which old items have in another form."""
    check_partitions(read)
    for source in read.sources:
        shared = {each.name for each in source.keys.sort} & set(source.model.table.key_names)
        uses_sort = read.order is not None or read.bounds is not None or _narrows(found, source.model, shared)
        if shared and uses_sort and source.model.old_keys:
            raise _other_form(read, source.keys, "sorts", min(shared), "sort key")


def check_partitions(read: Read) -> None:
    """A ProofError where an index is partitioned by a part of the table's key that old items have in another form."""
    for source in read.sources:
        names = set(source.model.table.key_names)
        shared = (each.name for each in source.keys.partition if each.name in names)
        differing = next((each for each in shared if _differs(source.model, each)), None)
        if differing is not None:
            raise _other_form(read, source.keys, "is partitioned", differing, "partition key")


def _other_form(read: Read, keys: EntityKeys, does: str, name: str, own: str) -> ProofError:
    return ProofError(
        read.name,
        f"{keys.where} {does} by {name!r}, which items under an old key have in another form",
        f"migrate the stored items with db.adopt() and remove old_keys, or give the index a {own} of its own",
    )


def _differs(model: Model, name: str) -> bool:
    """Whether an old key has another text in an attribute of the table's key."""
    (mine,) = (each.template for each in model.key.attributes if each.name == name)
    others = (each.template for keys in model.old_keys for each in keys.attributes if each.name == name)
    return any(_texts(mine) != _texts(each) for each in others)


def _texts(template: Template | None) -> tuple[Segment, ...] | None:
    return None if template is None else template.segments


def _narrows(found: KeyRange, model: Model, shared: set[str]) -> bool:
    """Whether a read of an index is about a part of the table's key, or a constant that old keys do not begin with."""
    prefix = found.sort_prefix
    if any(each.attribute.name in shared for each in found.fixed):
        return True
    if prefix is None or prefix.attribute.name not in shared:
        return False
    if prefix.is_tight or any(piece.segment.field is not None for piece in prefix.pieces):
        return True
    templates = [each.template for keys in model.old_keys for each in keys.attributes if each.name in shared]
    return not all(each is None or _begins(each, prefix) for each in templates)


def _begins(template: Template, prefix: SortPrefix) -> bool:
    """Whether a template begins with the constants of a prefix."""
    at = len(prefix.pieces)
    constants = tuple(piece.segment for piece in prefix.pieces)
    rest = template.segments[at:]
    return template.segments[:at] == constants and bool(rest) and rest[0].constant.startswith(prefix.constant_prefix)


def _contains(read: Read, mine: KeyRange, old: Read) -> bool:
    """Whether a query without an order and bounds also finds the items under an old key: both begin in the same way."""
    if read.order is not None or read.bounds is not None:
        return False
    other = key_range(old)
    if mine.sort_prefix is None or other.sort_prefix is None or mine.sort_prefix.is_tight:
        return False
    begin, longer = _pieces(mine), _pieces(other)
    opened = mine.sort_prefix.constant_prefix
    follows = longer[len(begin)][1] if len(longer) > len(begin) else other.sort_prefix.constant_prefix
    return longer[: len(begin)] == begin and follows.startswith(opened)


def _pieces(found: KeyRange) -> list[tuple[str, str, object, object]]:
    """What a range gives, attribute by attribute: the attribute, the constant, the form and the value of each piece."""
    fixed = [
        (each.attribute.name, piece.segment.constant, piece.segment.form, piece.value)
        for each in found.fixed
        for piece in each.pieces or (Piece(PLAIN, each.value),)
    ]
    sort = found.sort_prefix
    open_pieces = sort.pieces if sort is not None else ()
    return [*fixed, *(("", piece.segment.constant, piece.segment.form, piece.value) for piece in open_pieces)]


def _reads_of_old_key(read: Read, source: EntityKey, keys: EntityKeys) -> list[Read]:
    """The reads of all items under an old key that can belong to the query, one for each form of its constants."""
    model = source.model
    values = _given_values(read, source, keys)
    as_written = [at for at, slot in enumerate(key_slots(model, keys, whole=False)) if has_text_as_written(slot.form)]
    sources = (EntityKey(model, keys),)
    forms = value_forms(values, as_written)
    return [Read(sources, each, where=read.where, label=read.name) for each in forms]


def _given_values(read: Read, source: EntityKey, keys: EntityKeys) -> tuple[Any, ...]:
    """The values of the leading parts of an old key that a query gives."""
    model = source.model
    named = [part_identity(slot.field, slot.form) for slot in key_slots(model, source.keys, whole=False)]
    given = dict(zip(named, read.given, strict=False))
    values = []
    for slot in key_slots(model, keys, whole=False):
        if part_identity(slot.field, slot.form) not in given or _has_many_texts(slot):
            if slot.role is SlotRole.PARTITION:
                raise ProofError(
                    read.name,
                    f"items under the old key ({templates_text(keys)}) would be missing: its partition needs "
                    f"{slot.field!r}",
                    "migrate the stored items with db.adopt() and remove it from old_keys, or give that part as well",
                )
            break
        values.append(given[part_identity(slot.field, slot.form)])
    return tuple(values)


def varied_arguments(old: Read) -> frozenset[int]:
    """The arguments whose texts an old key has as other code wrote them; a filter compares them as they are."""
    source = old.sources[0]
    slots = key_slots(source.model, source.keys, whole=False)
    texts = (value for slot, value in zip(slots, old.given, strict=False) if has_text_as_written(slot.form))
    found = (each.values if isinstance(each, FanOut) else each for each in texts)
    return frozenset(each.at for each in found if isinstance(each, Argument))


def _has_many_texts(slot: Slot) -> bool:
    """Whether other code may have written one value as several texts: a time in any width, 1.5 as 1.50."""
    return isinstance(slot.form, VerbatimPart) and slot.form.kind in (datetime, Decimal, float)

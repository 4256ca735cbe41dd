"""The proof of a pattern: one GetItem, or one Query per page (or the declared number), of one contiguous range.

No other entity can lie in the range, its order is the declared one, and its index projects every returned attribute.
A pattern that cannot be proven is an error with the pattern, the reason and the way out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from partita.design.conditions import All, Comparison, Condition, Exists, Holds, OneOf
from partita.design.key_parts import KeyPart, descends
from partita.design.key_slots import Slot, slots_of
from partita.design.models import Attribute, Model, ViewModel
from partita.design.reads import Read
from partita.design.tables import Index
from partita.errors import ProofError
from partita.plan.key_ranges import KeyRange, fan_out_of, key_range
from partita.plan.proof.overlap import can_contain
from partita.plan.proof.tables import templates_text


@dataclass(frozen=True)
class Proof:
    """The proof of a read in sentences; `forward` is the direction that gives the declared order."""

    range: KeyRange
    requests: int
    forward: bool
    sentences: tuple[str, ...]


def prove_read(read: Read) -> Proof:
    """The proof of one read."""
    for _ in slots_of(read.name, read):
        pass
    _check_same_partition(read)
    found = key_range(read)
    _check_all_entities_included(read, found)
    repeated = fan_out_of(found)
    count = repeated[1] if repeated else 1
    forward, order = _order(read, found)
    index = _index(read)
    sentences = [
        "one GetItem"
        if read.single
        else f"{count} {'Query' if count == 1 else 'Queries, merged by sort key,'} per page",
        "one contiguous range" if not read.single else "one whole key",
        *_check_only_own_entities(read, found),
        order,
        *_check_projection(read, index),
    ]
    if read.where is not None:
        sentences.append("a declared filter: the items that it drops are read and billed")
    if read.single and read.sources[0].model.old_keys:
        sentences.append("a second GetItem under the old key, where no item has the new one")
    return Proof(found, count, forward, tuple(sentence for sentence in sentences if sentence))


def _index(read: Read) -> Index | None:
    keys = read.sources[0].keys
    return read.sources[0].model.table.index(read.name, keys.index) if keys.index else None


def _check_same_partition(read: Read) -> None:
    first = read.sources[0]
    for other in read.sources[1:]:
        if other.model.table is not first.model.table or other.keys.index != first.keys.index:
            raise ProofError(
                read.name,
                f"{first.keys.where} and {other.keys.where} are not in one table and index",
                "put only entities of one table or index into a collection(...)",
            )
        for a, b in zip(first.keys.partition, other.keys.partition, strict=True):
            mine = [(s.constant, s.form) for s in a.template.segments] if a.template else a.type
            theirs = [(s.constant, s.form) for s in b.template.segments] if b.template else b.type
            if mine != theirs:
                raise ProofError(
                    read.name,
                    f"{first.model.name} and {other.model.name} are in different partitions",
                    f"give them the same {a.name}",
                )


def _check_all_entities_included(read: Read, found: KeyRange) -> None:
    """Every returned entity can lie in the range: a key that ends where another continues would be missed."""
    for source in read.sources if len(read.sources) > 1 else ():
        if not can_contain(found, source.model, source.keys):
            raise ProofError(
                read.name,
                f"{source.model.name} ({templates_text(source.keys)}) cannot lie in the range of the other entities",
                "pass fewer values, so that every key has further parts",
            )


def _check_only_own_entities(read: Read, found: KeyRange) -> Iterator[str]:
    """No other entity can lie in the range, or the declared filter drops all of its items."""
    expected = {(source.model, source.keys) for source in read.sources}
    returned = {source.model for source in read.sources}
    table = read.sources[0].model.table
    index = read.sources[0].keys.index
    outside = 0
    dropped: list[str] = []
    for model in table.models:
        for keys in (model.key, *model.old_keys) if index is None else model.indexes.get(index, ()):
            if (model, keys) in expected or (index is None and model in returned):
                continue
            if not can_contain(found, model, keys):
                outside += 1
            elif _is_filtered_out(read, model):
                dropped.append(model.name)
            else:
                raise ProofError(
                    read.name,
                    f"{model.name} ({templates_text(keys)}) can lie in the range of "
                    f"{read.sources[0].keys.where} ({templates_text(read.sources[0].keys)})",
                    f"return {model.name} too with collection(...), or give it another constant in its key",
                )
    where = f"index {index}" if index else f"table {table.name}"
    if dropped:
        yield f"the filter drops every {' and '.join(dropped)} in the range"
    if outside:
        none_of = f"none of the {outside} other key templates in {where} can"
        yield f"{none_of if outside > 1 else f'the other key template in {where} cannot'} lie in the range"
    elif not dropped:
        yield f"{where} holds no other entity"


def _is_filtered_out(read: Read, model: Model) -> bool:
    """Whether the declared filter requires an attribute that no item of this entity has."""
    own = read.sources[0].model
    required = {own.attributes[field].name for field in _required_attributes(read.where)}
    keys = (model.key, *(each for several in model.indexes.values() for each in several))
    held = {member.name for member in model.members} | {each.name for key in keys for each in key.attributes}
    return not required <= held | {model.table.ttl, model.table.type_attribute}


def _required_attributes(condition: Condition | None) -> Iterator[str]:
    """The attributes without which the condition is false."""
    if isinstance(condition, All):
        for term in condition.terms:
            yield from _required_attributes(term)
    elif isinstance(condition, Exists | OneOf | Holds) or (
        isinstance(condition, Comparison) and condition.operator != "<>"
    ):
        yield condition.field.path[0]


def _order(read: Read, found: KeyRange) -> tuple[bool, str]:
    """The direction of the read, and the sentence about its order."""
    if read.single or read.order is None:
        return read.forward, ""
    direction, field = read.order.direction, read.order.field
    part = found.open_parts[0] if found.open_parts else None
    prefix = found.sort_prefix
    if part is None or (len(read.sources) > 1 and (prefix is None or prefix.open_segment is None)):
        raise ProofError(
            read.name,
            "it declares an order, but no sort part is left to order by",
            "pass fewer values, or leave the order out",
        )
    attribute = read.sources[0].model.attributes[part.field]
    if field is None and attribute.kind not in (datetime, date):
        raise ProofError(
            read.name,
            f"it declares {direction.value} first, but the key sorts by {part.field!r}",
            "put the time first in the sort key",
        )
    if field not in (None, part.field):
        raise ProofError(
            read.name,
            f"it declares the order of {field!r}, but the key sorts by {part.field!r} first",
            f"put {{{field}}} before {{{part.field}}} in the sort key",
        )
    if not _is_in_value_order(part, attribute):
        raise ProofError(
            read.name, f"the texts of {part.field!r} do not sort as its values do", f"rank it: {{{part.field}:ranked}}"
        )
    falling = part.form is not None and descends(part.form)
    return direction.ascending != falling, f"{direction.value} first by {part.field}: the order of the key"


def _is_in_value_order(slot: Slot, attribute: Attribute) -> bool:
    form: KeyPart | None = slot.form
    if form is None:
        return attribute.codec.tag == "N" or attribute.kind in (str, datetime, date)
    return form.ordered


def _check_projection(read: Read, index: Index | None) -> Iterator[str]:
    """The index projects every returned attribute."""
    if index is None or index.project == "ALL":
        return
    table = read.sources[0].model.table
    projected = () if index.project == "KEYS_ONLY" else index.project
    held = {*table.key_names, *index.pk, *index.sk, *projected}
    for source in read.sources:
        returned: Model | ViewModel = read.view or source.model
        needed = [member.name for member in returned.members]
        if source.model.expires is not None and table.ttl is not None:
            needed.append(table.ttl)
        missing = [name for name in needed if name not in held]
        if missing:
            raise ProofError(
                read.name,
                f"index {index.name!r} does not project {', '.join(missing)}",
                f"add them to the projection, or read a View of {source.model.name} without them",
            )
    yield f"{index.name} projects every returned attribute"

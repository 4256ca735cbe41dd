"""The proof of a design: each pattern is one GetItem or one Query a page (or its declared number), of one contiguous
range, in which nothing but its own entities can lie, in the order that it promises, with every attribute it returns.

What cannot be proven is an error that names the pattern, the reason and the way out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from partita.design.conditions import All, Comparison, Condition, Exists, Holds, OneOf
from partita.design.key_parts import KeyPart, descends
from partita.design.key_slots import Slot, slots_of
from partita.design.models import Attribute, Model, ViewModel
from partita.design.reads import Read
from partita.design.tables import Index, Table
from partita.errors import DesignError, ProofError
from partita.plan.design import Design, resolved
from partita.plan.key_ranges import KeyRange, fan_out_of, key_range
from partita.plan.proof.overlap import can_contain
from partita.plan.proof.ownership import read_of
from partita.plan.proof.tables import prove_table, templates_text


@dataclass(frozen=True)
class Proof:
    """Why a pattern is what it says, in sentences; `forward` is the direction that keeps its promise."""

    range: KeyRange
    requests: int
    forward: bool
    sentences: tuple[str, ...]


def prove(name: str, *tables: Table) -> Design:
    """Load a design: its last line, or the first thing that a store does with it."""
    design = resolved(name, tables)
    for table in tables:
        prove_table(table)
    for pattern in design.patterns.values():
        prove_read(pattern.read)
    for parent, ownerships in design.ownerships.items():
        for ownership in ownerships:
            prove_read(read_of(parent, ownership))
    doubled = [each.name for table in tables for each in table.patterns]
    for each in doubled:
        if doubled.count(each) > 1:
            raise DesignError(each, "two patterns have this name", "rename one of them")
    return design


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
        "one GetItem" if read.single else f"{count} {'Query' if count == 1 else 'Queries, merged by sort key,'} a page",
        "one contiguous range" if not read.single else "one whole key",
        *_check_only_own_entities(read, found),
        order,
        *_check_projection(read, index),
    ]
    if read.where is not None:
        sentences.append("a declared filter: what it drops is read and billed")
    if read.single and read.sources[0].model.old_keys:
        sentences.append("another GetItem under the old key, where there is nothing under the new one")
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
                "read entities together only where one Query finds them",
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
    """Every entity that is returned can lie in the range: a key that ends where another goes on would be missed."""
    for source in read.sources if len(read.sources) > 1 else ():
        if not can_contain(found, source.model, source.keys):
            raise ProofError(
                read.name,
                f"{source.model.name} ({templates_text(source.keys)}) never lies in the range of what is read with it",
                "give fewer parts, so that all of the keys go on after them",
            )


def _check_only_own_entities(read: Read, found: KeyRange) -> Iterator[str]:
    """No other entity's keys can lie in the range, or the declared filter drops all of its items."""
    expected = {(source.model, source.keys) for source in read.sources}
    returned = {source.model for source in read.sources}
    table = read.sources[0].model.table
    index = read.sources[0].keys.index
    others = 0
    dropped: list[str] = []
    for model in table.models:
        for keys in (model.key, *model.old_keys) if index is None else model.indexes.get(index, ()):
            if (model, keys) in expected or (index is None and model in returned):
                continue
            if not can_contain(found, model, keys):
                others += 1
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
    if others:
        none_of = f"none of the other {others} key forms in {where} can"
        yield f"{none_of if others > 1 else f'the other key form in {where} cannot'} fall inside"
    elif not dropped:
        yield f"nothing else is in {where}"


def _is_filtered_out(read: Read, model: Model) -> bool:
    """Whether the declared filter asks for an attribute that no item of this entity has."""
    own = read.sources[0].model
    asked = {own.attributes[field].name for field in _required_attributes(read.where)}
    keys = (model.key, *(each for several in model.indexes.values() for each in several))
    held = {member.name for member in model.members} | {each.name for key in keys for each in key.attributes}
    return not asked <= held | {model.table.ttl, model.table.type_attribute}


def _required_attributes(condition: Condition | None) -> Iterator[str]:
    """The attributes without which the condition cannot hold."""
    if isinstance(condition, All):
        for term in condition.terms:
            yield from _required_attributes(term)
    elif isinstance(condition, Exists | OneOf | Holds) or (
        isinstance(condition, Comparison) and condition.operator != "<>"
    ):
        yield condition.field.path[0]


def _order(read: Read, found: KeyRange) -> tuple[bool, str]:
    """The direction of the read, and the sentence about its order."""
    if read.single or read.promise is None:
        return read.forward, ""
    direction, _, field = read.promise.partition(" ")
    free = found.open_parts[0] if found.open_parts else None
    start = found.sort_prefix
    if free is None or (len(read.sources) > 1 and (start is None or start.open_segment is None)):
        raise ProofError(
            read.name,
            "it promises an order, but no sort part is left to order by",
            "give fewer parts, or drop the promise",
        )
    attribute = read.sources[0].model.attributes[free.field]
    if direction in ("newest", "oldest"):
        if attribute.kind not in (datetime, date):
            raise ProofError(
                read.name,
                f"it promises {direction} first, but the key sorts by {free.field!r}",
                "put the time first in the sort key",
            )
    elif field != free.field:
        raise ProofError(
            read.name,
            f"it promises the order of {field!r}, but the key sorts by {free.field!r} first",
            f"put {{{field}}} before {{{free.field}}} in the sort key",
        )
    if not _is_in_value_order(free, attribute):
        raise ProofError(
            read.name, f"{free.field!r} is not written in value order", f"rank it: {{{free.field}:ranked}}"
        )
    ascending = direction in ("oldest", "smallest")
    falling = free.form is not None and descends(free.form)
    return ascending != falling, f"{direction} first by {free.field}: the order of the key"


def _is_in_value_order(slot: Slot, attribute: Attribute) -> bool:
    form: KeyPart | None = slot.form
    if form is None:
        return attribute.codec.tag == "N" or attribute.kind in (str, datetime, date)
    return form.ordered


def _check_projection(read: Read, index: Index | None) -> Iterator[str]:
    """The index holds all that is returned."""
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
                f"project them, or read a View of {source.model.name} without them",
            )
    yield f"{index.name} projects all that is returned"

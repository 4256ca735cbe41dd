"""The proof of a pattern: one GetItem, or one Query per page (or the declared number), of one contiguous range.

No other entity can lie in the range, its order is the declared one, and its index projects every returned attribute.
A pattern that cannot be proven is an error with the pattern, the reason and the way out.
"""

from collections.abc import Iterator
from math import prod

import msgspec

from partita.design.key_slots import check_constant_in_slot, slots_of
from partita.design.models import EntityKeys, Model, ViewModel
from partita.design.reads import Read
from partita.design.tables import Index, VectorIndex
from partita.design.timestamps import OTHER_FORMS
from partita.errors import ProofError
from partita.plan.key_ranges import KeyRange, fan_outs, key_range
from partita.plan.normal_forms import texts_as_written
from partita.plan.old_ranges import old_reads, varied_arguments
from partita.plan.proof.contents import proven_range
from partita.plan.proof.filters import check_filter, projected_names
from partita.plan.proof.order import proven_order
from partita.plan.proof.overlaps import held_by_earlier
from partita.plan.stored_keys import templates_text


class Proof(msgspec.Struct, frozen=True):
    """The proof of a read in sentences; `forward` is the direction that gives the declared order."""

    range: KeyRange
    requests: int
    forward: bool
    sentences: tuple[str, ...]


def prove_read(read: Read) -> Proof:
    """The proof of one read."""
    for slot, value in slots_of(read.name, read):
        check_constant_in_slot(read.name, slot, value)
    _check_same_partition(read)
    index = _index(read)
    check_filter(read, index)
    found, contents = proven_range(read, key_range(read))
    count = prod(each.limit for each in fan_outs(found))
    forward, order = proven_order(read, found)
    sentences = [
        "one GetItem"
        if read.single
        else f"{count} {'Query' if count == 1 else 'Queries, merged by sort key,'} per page",
        "one contiguous range" if not read.single else "one whole key",
        *contents,
        *held_by_earlier(read),
        order,
        *_check_projection(read, index),
        *_optional_parts(read, found),
    ]
    if found.sort_prefix is not None and found.sort_prefix.family is not None:
        field = found.sort_prefix.parent[-1].segment.field
        sentences.append(f"the parent by one Query and its children by another; {{{field}:escaped}} makes it one")
    if read.is_filtered:
        sentences.append("a declared filter: the items that it drops are read and billed")
    sentences += _old_keys_read(read, found)
    return Proof(found, count, forward, tuple(sentence for sentence in sentences if sentence))


def _old_keys_read(read: Read, found: KeyRange) -> list[str]:
    """What is also read, until every item has its new key."""
    if read.single:
        return [_looked_up(keys) for keys in read.sources[0].model.old_keys]
    sentences: dict[str, None] = {}
    for old in old_reads(read, found):
        count = 2 ** len(varied_arguments(old))
        forms = f", for arguments that are not ASCII by up to {count} queries" if count > 1 else ""
        templates = templates_text(old.sources[0].keys)
        sentences[
            f"every page also reads what is under the old key ({templates}){forms}, until db.adopt() moved it"
        ] = None
    return list(sentences)


def _looked_up(keys: EntityKeys) -> str:
    others = sum(
        len(OTHER_FORMS) for each in keys.attributes if each.template is not None and each.template.has_other_times
    )
    kinds = f", and {others} for other formats of its times" if others else ""
    count = 2 ** len(texts_as_written(keys))
    forms = f"; up to {count} for texts that are not ASCII" if count > 1 else ""
    return f"a second GetItem under the old key ({templates_text(keys)}), where no item has the new one{kinds}{forms}"


def _optional_parts(read: Read, found: KeyRange) -> Iterator[str]:
    """What becomes of items whose keys end before an optional part."""
    given = {piece.segment.field for each in found.fixed for piece in each.pieces or () if piece.segment.optional}
    for source in read.sources:
        for each in source.keys.attributes:
            field = each.template.optional_field if each.template is not None else None
            if field is None:
                continue
            if field in given:
                yield f"where {field} is None, the key ends before it"
            elif read.bounds is not None and found.open_parts[0].field == field:
                yield f"items of {source.model.name} without {field} are not in the range"
            else:
                yield f"items of {source.model.name} without {field} are in the range as well"


def _index(read: Read) -> Index | None:
    keys = read.sources[0].keys
    index = read.sources[0].model.table.index(read.name, keys.index) if keys.index else None
    if isinstance(index, VectorIndex):
        wrong = f"{index.name!r} is a vector index, which has no ranges"
        raise ProofError(read.name, wrong, "search it with nearest(10), or query another index")
    return index


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


def _check_projection(read: Read, index: Index | None) -> Iterator[str]:
    """The index projects every returned attribute."""
    if index is None or index.project == "ALL":
        return
    table = read.sources[0].model.table
    for source in read.sources:
        held = projected_names(source.model, index)
        returned: Model | ViewModel = read.view or source.model
        needed = [member.name for member in returned.members]
        needed += dict.fromkeys(each.index_key for each in returned.attributes.values() if each.index_key is not None)
        needed += [each.old.name for each in source.model.migrations if each.new.name in needed]
        missing = [name for name in needed if name not in held]
        ttl = [] if source.model.expires is None or table.ttl is None or table.ttl in held else [table.ttl]
        if ttl and not missing:
            wrong = f"index {index.name!r} does not project {ttl[0]}, by which expired items are hidden"
            raise ProofError(read.name, wrong, "add it to the projection")
        missing += ttl
        if missing:
            raise ProofError(
                read.name,
                f"index {index.name!r} does not project {', '.join(missing)}",
                f"add them to the projection, or read a View of {source.model.name} without them",
            )
    yield f"{index.name} projects every returned attribute"

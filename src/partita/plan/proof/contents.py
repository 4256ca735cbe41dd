"""The contents of a key range: the entities that a read returns, and no item that it would take for one of them."""

from collections.abc import Iterator

from partita.design.reads import Read
from partita.errors import ProofError
from partita.plan.key_ranges import KeyRange, tightened
from partita.plan.proof.filters import filters_out
from partita.plan.stored_keys import StoredKey, index_keys, meeting, table_keys, templates_text


def proven_range(read: Read, found: KeyRange) -> tuple[KeyRange, list[str]]:
    """The range in which only the read's own entities lie, with the sentences that say so.

    That is everything that begins like their keys, or, where others lie there too, what is between the smallest and
    the largest of their keys.
    """
    try:
        return found, list(_contents(read, found))
    except ProofError:
        tight = tightened(read, found)
        if tight is None:
            raise
        return tight, list(_contents(read, tight))


def _contents(read: Read, found: KeyRange) -> Iterator[str]:
    index = read.sources[0].keys.index
    table = read.sources[0].model.table
    domains = found.domains(read.sources[0].model)
    others = 0
    dropped: dict[str, None] = {}
    for stored in _foreign_keys(read):
        witness = meeting(domains, stored.domains)
        if witness is None:
            others += 1
        elif filters_out(read, stored.model):
            dropped[stored.name] = None
        else:
            raise _foreign_error(read, stored, witness)
    where = f"index {index}" if index else f"table {table.name}"
    if dropped:
        yield f"the filter drops every {' and '.join(dropped)} in the range"
    if others:
        none_of = f"none of the {others} other key templates in {where} can"
        yield f"{none_of if others > 1 else f'the other key template in {where} cannot'} lie in the range"
    elif not dropped:
        yield f"{where} holds no other entity"


def _foreign_keys(read: Read) -> Iterator[StoredKey]:
    """The keys in the table or index that are not of what is read."""
    first = read.sources[0]
    table, name = first.model.table, first.keys.index
    expected = {source.keys for source in read.sources}
    returned = {source.model for source in read.sources}
    plain = first.keys.partition[0].template is None  # plain keys never begin like guards: see `plan.items`
    for model in table.models:
        keys = table_keys(model) if name is None else index_keys(model, table.index(read.name, name))
        for stored in keys:
            guards = stored.keys is None and stored.name != model.name
            if stored.keys in expected or (name is None and model in returned and not guards) or (guards and plain):
                continue
            yield stored


def _foreign_error(read: Read, stored: StoredKey, witness: dict[str, str]) -> ProofError:
    first = read.sources[0].keys
    example = ", ".join(f"{name} {value!r}" for name, value in witness.items())
    undeclared = stored.keys is None and stored.name == stored.model.name
    if undeclared:
        way_out = (
            f"declare Keys({first.index!r}) on {stored.name} and return it too, or rename an attribute of the index"
        )
    else:
        way_out = f"return {stored.model.name} too with collection(...), or give it another constant in its key"
    return ProofError(
        read.name,
        f"{stored.name} ({stored.source}) can lie in the range of {first.where} ({templates_text(first)}): {example}",
        way_out,
    )

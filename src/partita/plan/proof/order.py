"""Order: the key sorts as the values do, where a read promises an order or takes a range of values."""

import enum
from datetime import date, datetime

from partita.design.key_parts import TextPart, VerbatimPart, descends
from partita.design.key_slots import Slot
from partita.design.models import Attribute
from partita.design.reads import Order, Read
from partita.errors import ProofError
from partita.plan.key_ranges import KeyRange


def proven_order(read: Read, found: KeyRange) -> tuple[bool, str]:
    """The direction of the read, and the sentence about its order."""
    if read.bounds is not None:
        _check_bounds(read, found)
    if read.single or read.order is None:
        return read.forward, ""
    return _declared(read, found)


def _open_part(read: Read, found: KeyRange) -> Slot | None:
    """The sort part that orders the result, which all of its entities have."""
    free = found.open_parts[0] if found.open_parts else None
    start = found.sort_prefix
    shared = len(read.sources) == 1 or (start is not None and start.open_segment is not None)
    return free if shared else None


def _check_bounds(read: Read, found: KeyRange) -> None:
    slot = found.open_parts[0]
    bounds = read.bounds
    assert bounds is not None
    model = read.sources[0].model
    if bounds.prefix is not None:
        text = slot.form is None and model.attributes[slot.field].kind is str
        if not text and not isinstance(slot.form, TextPart | VerbatimPart):
            ordered = _sorts(slot, model.attributes[slot.field])
            instead = "use since or until" if ordered else "read several values: query(..., fan_out([...], limit))"
            raise ProofError(read.name, f"{slot.field!r} is not text, and has no beginning", instead)
        return
    if not _sorts(slot, model.attributes[slot.field]):
        raise ProofError(
            read.name,
            f"it takes a range of {slot.field!r}, whose texts do not sort as its values do",
            _form_that_sorts(slot, model.attributes[slot.field]),
        )
    _check_survives_separator(read, found, slot)


def _check_survives_separator(read: Read, found: KeyRange, slot: Slot) -> None:
    """A shorter text sorts before its continuations, though the key goes on after it."""
    start = found.sort_prefix
    if start is None or start.open_segment is None or start.last or slot.form is None:
        return
    separator = start.separator
    witness = slot.form.language.continues_at_or_below(separator.character)
    if witness is not None:
        escape = f"escape it: {{{slot.field}:escaped}}, or put it last"
        raise ProofError(
            read.name,
            f"{slot.field!r} loses its order, since the key goes on after it and {witness!r} sorts before "
            f"{witness[:-1] + separator.character!r}",
            escape if separator.keeps_order else "put it last, or use a separator below the digits, such as '#'",
        )


def _declared(read: Read, found: KeyRange) -> tuple[bool, str]:
    assert read.order is not None
    slot = _open_part(read, found)
    if slot is None:
        raise ProofError(
            read.name,
            "it declares an order, but no sort part is left to order by",
            "pass fewer values, or leave the order out",
        )
    attribute = read.sources[0].model.attributes[slot.field]
    _check_declared_part(read, read.order, slot, attribute)
    if not _sorts(slot, attribute):
        raise ProofError(
            read.name,
            f"the texts of {slot.field!r} do not sort as its values do",
            _form_that_sorts(slot, attribute),
        )
    if slot.form is not None and not slot.form.lossless:
        raise ProofError(
            read.name,
            f"it declares the order of {slot.field!r}, but the key holds only a part of it",
            f"write {{{slot.field}}} in the sort key, or leave the order out",
        )
    _check_survives_separator(read, found, slot)
    direction = read.order.direction
    falling = slot.form is not None and descends(slot.form)
    forward = direction.ascending != falling
    absent = f", {'before' if forward else 'after'} which come items without it" if slot.nullable else ""
    return forward, f"{direction.value} first by {slot.field}: the order of the key{absent}"


def _check_declared_part(read: Read, order: Order, slot: Slot, attribute: Attribute) -> None:
    if order.field is None and attribute.kind not in (datetime, date):
        raise ProofError(
            read.name,
            f"it declares {order.direction.value} first, but the key sorts by {slot.field!r}",
            "put the time first in the sort key",
        )
    if order.field is not None and order.field not in read.sources[0].model.attributes:
        known = ", ".join(read.sources[0].model.attributes)
        wrong = f"it declares the order of {order.field!r}, which {read.sources[0].model.name} does not have"
        raise ProofError(read.name, wrong, f"its attributes are {known}")
    if order.field not in (None, slot.field):
        raise ProofError(
            read.name,
            f"it declares the order of {order.field!r}, but the key sorts by {slot.field!r} first",
            f"put {{{order.field}}} before {{{slot.field}}} in the sort key",
        )


def _form_that_sorts(slot: Slot, attribute: Attribute) -> str:
    if isinstance(attribute.kind, type) and issubclass(attribute.kind, enum.Enum):
        return f"rank it: {{{slot.field}:ranked}}"
    number = attribute.codec.tag == "N"
    return f"write {{{slot.field}{':+10' if number else ''}}} in the key"


def _sorts(slot: Slot, attribute: Attribute) -> bool:
    if slot.form is None:
        return attribute.codec.tag == "N" or attribute.kind in (str, bytes, datetime, date)
    return slot.form.ordered

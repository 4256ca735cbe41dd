"""Checks of defaults: each is a value that an item can be stored with, wherever its keys and invariants need one.

A default may be outside of the constraints of `Meta`, and of the `start` of `Transitions`: older items, which lack the
attribute, are read with it, and new ones have to be given another value. The empty text in a key is such a value, too:
that of an id that is not known yet.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.condition_checks import check_constant
from partita.design.key_templates import Ordered
from partita.design.markers import AUTO, Compressed, CountOf, SumOf, Transitions
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model
from partita.errors import DesignError


def check_defaults(model: Model) -> None:
    """A DesignError for the first default that no item can be stored with."""
    for attribute in model.attributes.values():
        default = attribute.member.default
        if default is msgspec.NODEFAULT or default is AUTO or (default is None and attribute.optional):
            continue
        where = f"{model.name}.{attribute.field}"
        _check_type(where, attribute, default)
        _check_counter(where, attribute, default)
        _check_transitions(where, attribute, default)
        _check_in_keys(where, model, attribute, default)


def _check_type(where: str, attribute: Attribute, default: Any) -> None:
    """It has the type of the attribute, and DynamoDB can store it."""
    if attribute.marker(Compressed) is not None:
        return
    check_constant(where, "the attribute", attribute.kind, default)
    if attribute.kind is Decimal and not isinstance(default, Decimal):
        wrong = f"the default {default!r} is {type(default).__name__}, but the attribute is Decimal"
        raise DesignError(where, wrong, f'write Decimal("{default}")')
    try:
        attribute.codec.encode(default)
    except (ValueError, ArithmeticError) as error:
        raise _unusable(where, default, str(error)) from None


def _check_counter(where: str, attribute: Attribute, default: Any) -> None:
    """An item without children is at zero: one that began higher could never be deleted."""
    if default and (attribute.marker(CountOf) or attribute.marker(SumOf)) is not None:
        wrong = f"its default is {default}, but an item that counts nothing yet has 0"
        zero = 'Decimal("0")' if attribute.kind is Decimal else "0"
        raise DesignError(where, wrong, f"write {attribute.field}: ... = {zero}")


def _check_transitions(where: str, attribute: Attribute, default: Any) -> None:
    transitions = attribute.marker(Transitions)
    if transitions is None:
        return
    known = [value for pair in transitions.allowed.items() for value in (pair[0], *pair[1])]
    if default not in (*known, *(transitions.start or ())):
        wrong = f"its Transitions do not name the default {default!r}, so nothing may follow it"
        raise DesignError(where, wrong, f"write {{{default!r}: [...]}} in Transitions, or another default")


def _check_in_keys(where: str, model: Model, attribute: Attribute, default: Any) -> None:
    """Every key that each item has can be written with it; a key with a condition may leave such items out."""
    bounds: Ordered | None = attribute.marker(Ordered)
    if bounds is not None and not _in_some_template(model, attribute) and not bounds.low <= default <= bounds.high:
        raise _unusable(where, default, f"it is not between {bounds.low} and {bounds.high}, the bounds of Ordered")
    for each in _key_attributes(model):
        for part in () if each.template is None else each.template.parts:
            if part.field == attribute.field and default != "":
                try:
                    part.text(default)
                except (ValueError, ArithmeticError) as error:
                    raise _unusable(where, default, f"{error}") from None


def _key_attributes(model: Model) -> Iterator[KeyAttribute]:
    """The attributes of the keys that every item has."""
    yield from model.key.attributes
    for several in model.indexes.values():
        if len(several) == 1 and not _is_sparse(model, several[0]):
            yield from several[0].attributes


def _is_sparse(model: Model, keys: EntityKeys) -> bool:
    return keys.when is not None or any(model.attributes[field].optional for field in keys.required_fields)


def _in_some_template(model: Model, attribute: Attribute) -> bool:
    every = [model.key, *(keys for several in model.indexes.values() for keys in several)]
    templates = [each.template for keys in every for each in keys.attributes if each.template is not None]
    return any(attribute.field in each.fields for each in templates)


def _unusable(where: str, default: Any, why: str) -> DesignError:
    wrong = f"no item can be stored with the default {default!r}: {why}"
    return DesignError(where, wrong, "write another default, or leave it out")

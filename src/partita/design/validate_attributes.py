"""Checks of what one attribute declares: its markers have an effect."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, get_origin

from partita.design import markers
from partita.design.condition_checks import check_constant
from partita.design.condition_types import type_name
from partita.design.key_templates import Ordered
from partita.design.markers import Expires, StoredAs, Transitions, Unique
from partita.design.models import Attribute, Model
from partita.design.naming import check_readable
from partita.dynamodb import limits
from partita.errors import DesignError

_MARKERS = (
    Ordered,
    *(each for _, each in inspect.getmembers(markers, inspect.isclass) if each.__module__ == markers.__name__),
)


def validate_attributes(model: Model) -> None:
    """A DesignError for the first marker without an effect."""
    for attribute in model.attributes.values():
        where = f"{model.name}.{attribute.field}"
        for marker in attribute.markers:
            if isinstance(marker, type) and marker in _MARKERS:
                wrong = f"it is marked with the class {marker.__name__}, which has no effect"
                raise DesignError(where, wrong, f"write {marker.__name__}(...)")
        _check_transitions(where, attribute)
        _check_unique(where, attribute)
        _check_stored_name(where, attribute)
        if attribute.marker(Ordered) is not None and attribute.kind not in (int, Decimal):
            wrong = f"Ordered needs int or Decimal, but it is {type_name(attribute.kind)}"
            raise DesignError(where, wrong, "remove Ordered")
    if model.expires is not None:
        _check_duration(model, model.expires)


def _check_transitions(where: str, attribute: Attribute) -> None:
    transitions = attribute.marker(Transitions)
    if transitions is None:
        return
    for value in _transition_values(where, transitions):
        if value is not None or not attribute.optional:
            check_constant(where, "the attribute", attribute.kind, value)


def _transition_values(where: str, transitions: Transitions) -> Iterator[Any]:
    """Every value that it names; each value is followed by a list."""
    if not isinstance(transitions.allowed, Mapping):
        raise DesignError(where, "Transitions needs a dict", "write Transitions({before: [after, ...]})")
    for before, following in transitions.allowed.items():
        yield before
        yield from _listed(where, following, f"write {{{before!r}: [{following!r}]}}")
    if transitions.start is not None:
        yield from _listed(where, transitions.start, f"write start=[{transitions.start!r}]")


def _listed(where: str, values: Any, way_out: str) -> Iterable[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DesignError(where, f"Transitions needs a list, not {values!r}", way_out)
    return values


def _check_unique(where: str, attribute: Attribute) -> None:
    for unique in (each for each in attribute.markers if isinstance(each, Unique)):
        if unique.fields:
            wrong = (
                f"Unique names {', '.join(unique.fields)}, but as an annotation it is about {attribute.field!r} alone"
            )
            raise DesignError(where, wrong, "write Unique(), or name = Unique(...) in the body of the class")
        if unique.case_insensitive and not _is_text(attribute.kind):
            wrong = f"{type_name(attribute.kind)} has no case, so case_insensitive has no effect"
            raise DesignError(where, wrong, "remove case_insensitive")


def _is_text(kind: Any) -> bool:
    return get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, str))


def _check_stored_name(where: str, attribute: Attribute) -> None:
    marker = attribute.marker(StoredAs)
    name: Any = "a" if marker is None else marker.name
    if isinstance(name, str):
        check_readable(where, name)
    if not isinstance(name, str) or not 0 < len(name.encode()) <= limits.ATTRIBUTE_NAME_BYTES:
        most = limits.ATTRIBUTE_NAME_BYTES
        shown = f"{name!r:.40}"
        raise DesignError(where, f"StoredAs({shown}) is not a name of an attribute", f"use 1 to {most} bytes of text")


def _check_duration(model: Model, expires: Expires) -> None:
    after: Any = expires.after
    if not isinstance(after, timedelta):
        raise DesignError(model.name, f"Expires(after={after!r}) is not a duration", "write after=timedelta(days=7)")

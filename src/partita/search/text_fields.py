"""The declaration of one entity in a text index: which of its attributes are searched, and how much each counts."""

import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from partita.design.codec_factory import unwrapped_type
from partita.design.condition_checks import check_condition
from partita.design.condition_types import type_name
from partita.design.conditions import Condition
from partita.design.models import Model, model_of
from partita.errors import DesignError
from partita.plan.predicates import Predicate, design_predicate

E_co = TypeVar("E_co", covariant=True)

MAX_WEIGHT = 1000


class TextFields(Generic[E_co]):
    """The searched attributes of an entity.

    TextFields(Card, {"title": 3, "tags": 2, "steps.text": 1}, when=F.status == Status.PUBLISHED, filters=("level",))

    weights   Attributes and how much a word in each counts. An attribute is text, an enum of text, or a list, set or
              map of text; a path leads into nested structs, and through the lists of them.
    when      Only items of which this is true are found; an item leaves the index when it stops being true.
    filters   The attributes that a search can be restricted by, as in `where=F.level == Level.EASY`.
    """

    def __init__(
        self,
        entity: type[E_co],
        weights: Mapping[str, float],
        *,
        when: Condition | None = None,
        filters: Sequence[str] = (),
    ) -> None:
        self.entity = entity
        self.model: Model = model_of(entity)
        where = f"TextFields({self.model.name})"
        if not weights:
            raise DesignError(where, "no attribute is searched", 'write {"title": 3, "text": 1}')
        for path, weight in weights.items():
            _check_weight(where, path, weight)
            _check_path(where, self.model, path)
        if when is not None:
            check_condition(where, self.model, when)
        if isinstance(filters, str):
            raise DesignError(where, f"filters={filters!r} is a text", f"write filters=({filters!r},)")
        for name in filters:
            _attribute_type(where, self.model, name)
        self.weights = {path: float(weight) for path, weight in weights.items()}
        self._paths = [(path, path.split(".")[0], path.split(".")[1:]) for path in self.weights]
        self.when = when
        self.filters = tuple(filters)

    def __repr__(self) -> str:
        return f"TextFields({self.model.name}, {self.weights})"

    @cached_property
    def predicate(self) -> Predicate | None:
        """Whether an item is found at all."""
        return None if self.when is None else design_predicate(self.model, self.when)

    def texts(self, entity: Any) -> Iterator[tuple[str, list[str]]]:
        """The texts of each searched attribute of an entity."""
        for path, first, rest in self._paths:
            value = getattr(entity, first)
            found = [value] if type(value) is str else list(_texts(value, rest))
            if found:
                yield path, found


def _check_weight(where: str, path: str, weight: Any) -> None:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= MAX_WEIGHT:
        raise DesignError(where, f"the weight of {path!r} is {weight!r}", f"use a number above 0, up to {MAX_WEIGHT}")


def _attribute_type(where: str, model: Model, name: str) -> Any:
    if name not in model.attributes:
        known = f"the attributes are {', '.join(model.attributes)}"
        raise DesignError(where, f"{model.name} has no attribute {name!r}", known)
    return model.attributes[name].kind


def _check_path(where: str, model: Model, path: str) -> None:
    """A DesignError for an attribute that does not exist, or that has no text in it."""
    first, *rest = path.split(".")
    kind = _attribute_type(where, model, first)
    place = f"{model.name}.{first}"
    for step in rest:
        kind = _element(kind)
        members = get_type_hints(kind, include_extras=True) if _is_struct(kind) else {}
        if step not in members:
            known = f"its members are {', '.join(members)}" if members else "name the attribute alone"
            raise DesignError(where, f"{place} is {type_name(kind)}, which has no member {step!r}", known)
        kind, place = members[step], f"{place}.{step}"
    if not _has_text(kind):
        raise DesignError(where, f"{place} is {type_name(unwrapped_type(kind)[0])}, which has no words", "name a text")


def _element(kind: Any) -> Any:
    """The type inside lists, sets and maps."""
    kind = unwrapped_type(kind)[0]
    while get_origin(kind) in (list, tuple, set, frozenset, dict):
        kind = unwrapped_type(get_args(kind)[1 if get_origin(kind) is dict else 0])[0]
    return kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _has_text(kind: Any) -> bool:
    kind = _element(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return any(_has_text(each) for each in get_args(kind))
    if get_origin(kind) is Literal:
        return any(isinstance(each, str) for each in get_args(kind))
    if not isinstance(kind, type):
        return kind is Any
    if issubclass(kind, enum.Enum):
        return any(isinstance(each.value, str) for each in kind)
    return issubclass(kind, str | dict | list)


def _texts(value: Any, path: list[str]) -> Iterator[str]:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        if not path:
            yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if not path and isinstance(name, str):
                yield name
            yield from _texts(each, path)
    elif isinstance(value, set | frozenset):
        for each in sorted(value, key=str):
            yield from _texts(each, path)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for each in value:
            yield from _texts(each, path)
    elif path and value is not None:
        yield from _texts(getattr(value, path[0], None), path[1:])

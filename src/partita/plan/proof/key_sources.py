"""How an item names another: for each part of the other's key, the attribute of the item that has its value."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from partita.design.argument_checks import VIA, check_arguments, short_repr
from partita.design.assignable import is_assignable
from partita.design.condition_types import type_name
from partita.design.models import Attribute, Model, model_of
from partita.errors import DesignError
from partita.plan.design import Design


def named_entities(design: Design, where: str, named: Any) -> tuple[Model, ...]:
    """The entities that a marker names: a class or several, or a function that returns them."""
    found = named if isinstance(named, type) or not callable(named) else _returned(where, named)
    return tuple(_loaded(design, where, each) for each in (found if isinstance(found, tuple) else (found,)))


def named_entity(design: Design, where: str, named: Any) -> Model:
    """The one entity that a marker of an attribute names."""
    found = named_entities(design, where, named)
    if len(found) != 1:
        raise DesignError(where, f"it names {len(found)} entities, not one", "write lambda: Order")
    return found[0]


def _returned(where: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - whatever it raises, such as the NameError of a class in a function
        wrong = f"the function that names an entity raised {type(error).__name__}: {error}"
        raise DesignError(where, wrong, "write lambda: Order, of a class that the module declares") from None


def _loaded(design: Design, where: str, entity: Any) -> Model:
    if not isinstance(entity, type):
        raise DesignError(where, f"{short_repr(entity)} is not an entity class", "write lambda: Order")
    other = model_of(entity)
    if other.table not in design.tables:
        wrong = f"it refers to {other.name}, whose table {other.table.name!r} is not in the design"
        raise DesignError(where, wrong, "pass that table to prove() too")
    return other


def key_sources(where: str, other: Model, model: Model, via: Mapping[str, str]) -> dict[str, str]:
    """The attribute of `model` for each part of the key of `other`."""
    check_via(where, via, other.key.fields, f"the key of {other.name}")
    parts = {part: via.get(part, part) for part in other.key.fields}
    for part, source in parts.items():
        named = f"via={{{part!r}: <attribute of {model.name}>}}"
        if source not in model.attributes:
            wrong = f"{model.name} has no attribute {source!r} that names its {other.name}"
            raise DesignError(where, wrong, f"write {named}")
        check_types(where, (model, source), (other, part), named)
        if part not in other.key.required_fields and model.attributes[source].optional:
            raise DesignError(
                where,
                f"{part!r} may be missing in the key of {other.name}, so None in {model.name}.{source} is ambiguous",
                f"remove `| None` from {model.name}.{source}, or write {{{part}}} without `?`",
            )
    return parts


def check_via(where: str, via: Any, parts: Iterable[str], key: str) -> None:
    """`via` maps parts of the key to attributes; any other name in it would have no effect."""
    known = tuple(dict.fromkeys(parts))
    if not isinstance(via, Mapping):
        raise DesignError(
            where, f"via is {short_repr(via)}, which is not a dict", "write via={<part of the key>: <attribute>}"
        )
    unknown = next((each for each in via if each not in known), None)
    if unknown is not None:
        wrong = f"via names {short_repr(unknown)}, which is not a part of {key}"
        raise DesignError(where, wrong, f"the parts are {', '.join(known)}")
    check_arguments(where, via=(via, VIA))


def check_types(where: str, source: tuple[Model, str], to: tuple[Model, str], via: str) -> None:
    """A value of one attribute that fills the place of another has its type, or no such item could ever be found."""
    given, wanted = _attribute(source), _attribute(to)
    if is_assignable(given.kind, wanted.kind):
        return
    place = "it" if _place(source) == where else _place(source)
    wrong = f"{place} is {type_name(given.kind)}, but {_place(to)}, which it names, is {type_name(wanted.kind)}"
    raise DesignError(where, wrong, f"write {given.field}: {type_name(wanted.kind)} in {source[0].name}, or {via}")


def _attribute(of: tuple[Model, str]) -> Attribute:
    model, field = of
    return model.attributes[field]


def _place(of: tuple[Model, str]) -> str:
    model, field = of
    return f"{model.name}.{field}"

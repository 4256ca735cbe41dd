"""Several views of one entity that do not nest: `class Part(Listed, Priced, Entity, table=..., key=...)`.

A class of structs can inherit the fields of one base only, so the metaclass inherits the largest view and takes the
declarations of the others into the body. To a type checker, and to `isinstance`, all of them are bases. So fields and
names are found in Python's order of all the bases, which plain classes with the same bases have.
"""

from collections.abc import Iterator
from types import FunctionType
from typing import Any, get_type_hints

import msgspec

from partita.design.keys import Keys
from partita.design.markers import Expires, Limit, Owns, Unique
from partita.errors import DesignError

_DECLARATIONS = (Keys, Unique, Limit, Owns, Expires)


class Inherited(msgspec.Struct, frozen=True):
    """The bases in a class statement, and the names taken into the body.

    `order` has all classes behind the bases in Python's order; it is empty where the class can inherit them all.
    """

    bases: tuple[type, ...]
    order: tuple[type, ...]
    taken: frozenset[str]


def take_bases(name: str, namespace: dict[str, Any], bases: tuple[type, ...]) -> tuple[type, ...]:
    """The bases that a class can inherit; the declarations of the views beside them are added to its body."""
    inherited, beside = _split(bases)
    several = beside or any(found.order for found in map(_inherited, inherited) if found is not None)
    order = _resolution_order(name, bases) if several else ()
    taken: set[str] = set()
    if beside:
        real = {each for base in inherited for each in base.__mro__}
        taken.update(_take_fields(name, namespace, order, real))
        taken.update(_take_names(name, namespace, order, real))
    namespace["__inherited__"] = Inherited(bases, order, frozenset(taken))
    return inherited


def inherited_classes(cls: type) -> tuple[type, ...]:
    """The classes behind the bases of a class statement, also those beside the ones that the class can inherit."""
    found = _inherited(cls)
    return found.order if found is not None and found.order else cls.__mro__[1:]


def check_rules(cls: type) -> None:
    """A DesignError where Python would call `__post_init__` of one view, and an item may break the rules of another."""
    ruling = [each for each in (cls, *inherited_classes(cls)) if "__post_init__" in dict(_own_names(each))]
    lost = next((each for each in ruling[1:] if each not in inherited_classes(ruling[0])), None)
    if lost is not None:
        wrong = f"{ruling[0].__name__} and {lost.__name__} have it, and only the first one would be called"
        raise DesignError(f"{cls.__name__}.__post_init__", wrong, f"write one in {cls.__name__} that calls both")


def fields_of(cls: type) -> tuple[str, ...]:
    """All fields of a class, with those that it inherits; none of a class that is not a struct."""
    found = getattr(cls, "__struct_fields__", ())
    return found if isinstance(found, tuple) else ()


def _inherited(cls: type) -> Inherited | None:
    found: Inherited | None = vars(cls).get("__inherited__")
    return found


def _split(bases: tuple[type, ...]) -> tuple[tuple[type, ...], tuple[type, ...]]:
    """The bases that a class inherits, and the views beside them."""
    with_fields = [each for each in bases if fields_of(each)]
    if len(with_fields) < 2:
        return bases, ()
    largest = max(with_fields, key=lambda each: len(fields_of(each)))
    beside = tuple(each for each in with_fields if each not in largest.__mro__ and "__views__" in vars(each))
    return tuple(each for each in bases if each not in beside), beside


def _resolution_order(name: str, bases: tuple[type, ...]) -> tuple[type, ...]:
    """The order in which Python looks up a name in these bases, if it can inherit all of them; without `object`."""
    copies: dict[type, type] = {object: object}

    def copy(cls: type) -> type:
        if cls not in copies:
            found = _inherited(cls)
            declared = cls.__bases__ if found is None else found.bases
            copies[cls] = type(cls.__name__, tuple(copy(each) for each in declared), {})
        return copies[cls]

    made = type(name, tuple(copy(each) for each in bases), {})
    originals = {each: cls for cls, each in copies.items()}
    return tuple(originals[each] for each in made.__mro__[1:-1])


def _own_names(cls: type) -> Iterator[tuple[str, Any]]:
    """What the body of a class declares, without its fields and without what it has taken from others."""
    found = _inherited(cls)
    skipped = {*fields_of(cls), *(found.taken if found is not None else ())}
    for label, value in vars(cls).items():
        special = label.startswith("__") and label.endswith("__")
        if label not in skipped and (not special or isinstance(value, FunctionType)):
            yield label, value


def _take_names(name: str, namespace: dict[str, Any], order: tuple[type, ...], real: set[type]) -> Iterator[str]:
    """Adds the keys, invariants, methods and constants that the class would not inherit otherwise."""
    declared = [(cls, label, value) for cls in order for label, value in _own_names(cls)]
    first: dict[str, tuple[type, Any]] = {}
    own = set(namespace)
    for cls, label, value in declared:
        known, winner = first.setdefault(label, (cls, value))
        if label in own:
            continue
        if known is cls and cls not in real:
            _check_super(name, cls, label, value)
            namespace[label] = value
            yield label
        elif known is not cls and cls not in inherited_classes(known) and _is_declaration(winner, value):
            wrong = f"{known.__name__} and {cls.__name__} declare it, and one of them would be lost"
            raise DesignError(f"{name}.{label}", wrong, "give one of them another name")


def _is_declaration(*values: Any) -> bool:
    return any(isinstance(each, _DECLARATIONS) for each in values)


def _check_super(name: str, cls: type, label: str, value: Any) -> None:
    """`super()` in a method that another class has taken is an error when it is called."""
    wrapped = getattr(value, "__func__", None), *(getattr(value, each, None) for each in ("fget", "fset", "fdel"))
    for function in (value, *wrapped):
        if isinstance(function, FunctionType) and "__class__" in function.__code__.co_freevars:
            wrong = f"it calls super(), and {name} has another view as its base"
            raise DesignError(f"{cls.__name__}.{label}", wrong, "name the class whose method is called")


def _take_fields(name: str, namespace: dict[str, Any], order: tuple[type, ...], real: set[type]) -> Iterator[str]:
    """Adds the fields that the class would not inherit otherwise, or with another default."""
    annotations = namespace.setdefault("__annotations__", {})
    declaring = [(cls, field) for cls in order for field in _own_fields(cls)]
    first: dict[str, type] = {}
    for cls, field in declaring:
        first.setdefault(field, cls)
    own = _own_hints(namespace, [field for field in first if field in annotations])
    hints = {cls: get_type_hints(cls, include_extras=True) for cls in order if fields_of(cls)}
    for cls, field in declaring:
        winner = first[field]
        known = own.get(field, hints[winner][field])
        unrelated = cls not in real if field in own else cls is not winner and cls not in inherited_classes(winner)
        if unrelated and known != hints[cls][field]:
            wrong = f"{cls.__name__} declares it as {_text(hints[cls][field])}, and another of its bases does not"
            raise DesignError(f"{name}.{field}", wrong, "declare it alike in all views")
    for field, cls in first.items():
        if field not in own and cls not in real:
            annotations[field] = hints[cls][field]
            _take_default(namespace, cls, field)
            yield field


def _own_fields(cls: type) -> list[str]:
    """The fields that the body of a class declares."""
    fields = fields_of(cls)
    found = _inherited(cls)
    taken = found.taken if found is not None else frozenset()
    return [each for each in vars(cls).get("__annotations__", {}) if each in fields and each not in taken]


def _own_hints(namespace: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """The types that a body gives to fields, also where its module has annotations as text."""
    annotations = namespace["__annotations__"]
    body = {"__annotations__": {field: annotations[field] for field in fields}, "__module__": namespace["__module__"]}
    return get_type_hints(type("Body", (), body), include_extras=True)


def _take_default(namespace: dict[str, Any], cls: type, field: str) -> None:
    info = next(each for each in msgspec.structs.fields(cls) if each.name == field)
    if info.default is not msgspec.NODEFAULT:
        namespace[field] = info.default
    elif info.default_factory is not msgspec.NODEFAULT:
        namespace[field] = msgspec.field(default_factory=info.default_factory)


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)

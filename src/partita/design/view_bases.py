"""Several views of one entity that do not nest: `class Part(Listed, Priced, Entity, table=..., key=...)`.

A class of structs can inherit the fields of one base only, so the metaclass inherits the largest view and takes the
declarations of the others into the body. To a type checker, and to `isinstance`, all of them are bases.
"""

from typing import Any, get_type_hints

import msgspec

from partita.errors import DesignError


def split_bases(bases: tuple[type, ...]) -> tuple[tuple[type, ...], tuple[type, ...]]:
    """The bases that a class inherits, and the views beside them whose declarations it takes over."""
    with_fields = [each for each in bases if getattr(each, "__struct_fields__", ())]
    if len(with_fields) < 2:
        return bases, ()
    largest = max(with_fields, key=lambda each: len(each.__struct_fields__))  # type: ignore[attr-defined]
    beside = tuple(each for each in with_fields if not issubclass(largest, each) and "__views__" in vars(each))
    return tuple(each for each in bases if each not in beside), beside


def take_over(name: str, namespace: dict[str, Any], bases: tuple[type, ...], beside: tuple[type, ...]) -> None:
    """Adds the declarations of the views beside the bases to the body of a class; its own have priority."""
    annotations = namespace.setdefault("__annotations__", {})
    inherited = {label: hint for base in reversed(bases) for label, hint in _hints(base).items()}
    for view in beside:
        hints = _hints(view)
        for info in msgspec.structs.fields(view):
            known = annotations.get(info.name, inherited.get(info.name, hints[info.name]))
            if known != hints[info.name]:
                wrong = f"{view.__name__} declares it as {_text(hints[info.name])}, and another of its bases does not"
                raise DesignError(f"{name}.{info.name}", wrong, "declare it alike in all views")
            if info.name not in annotations and info.name not in inherited:
                annotations[info.name] = hints[info.name]
                _take_default(namespace, info)
        for label, value in _declarations(view).items():
            if label not in namespace and not any(hasattr(base, label) for base in bases):
                namespace[label] = value


def _take_default(namespace: dict[str, Any], info: Any) -> None:
    if info.default is not msgspec.NODEFAULT:
        namespace[info.name] = info.default
    elif info.default_factory is not msgspec.NODEFAULT:
        namespace[info.name] = msgspec.field(default_factory=info.default_factory)


def _declarations(view: type) -> dict[str, Any]:
    """The keys, methods and other names of a view's body, without its fields."""
    fields = set(view.__struct_fields__)  # type: ignore[attr-defined]
    return {
        label: value
        for base in reversed(view.__mro__)
        if "__views__" in vars(base)
        for label, value in vars(base).items()
        if label not in fields and not label.startswith("__")
    }


def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True) if getattr(cls, "__struct_fields__", ()) else {}


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)

"""Drafts: what a caller does to an entity inside `with db.change(...) as draft`, written down instead of done.

To a type checker the draft is the entity. Here it records: `draft.status = X` assigns, `draft.priority += 1` adds
without reading, `draft.tags |= {...}` and `-= {...}` change a set, `draft.lines += [...]` appends to a list.
"""

from typing import Any

from partita.design.errors import ValueRefused
from partita.design.models import Model
from partita.plan.changes import Edit
from partita.plan.items import fitting


class Draft:
    """Records edits of one entity; attributes that do not exist and values of a wrong type are refused at once."""

    __slots__ = ("_edits", "_model")

    def __init__(self, model: Model) -> None:
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_edits", {})

    def __getattr__(self, name: str) -> Any:
        edits = edits_of(self)
        _known(self._model, name)
        if name in edits and edits[name].kind == "assign":
            return edits[name].value
        return Unread(self._model, name, edits.get(name))

    def __setattr__(self, name: str, value: Any) -> None:
        _known(self._model, name)
        if isinstance(value, Stepped):
            if value.name != name:
                raise ValueRefused(f"{self._model.name}.{name}", f"cannot be made from {value.name!r} unread")
            edits_of(self)[name] = value.edit
        else:
            edits_of(self)[name] = Edit("assign", _fitting(self._model, name, value))

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)


def edits_of(draft: Any) -> dict[str, Edit]:
    """What a draft has recorded."""
    edits: dict[str, Edit] = object.__getattribute__(draft, "_edits")
    return edits


def _known(model: Model, name: str) -> None:
    if name not in model.attributes:
        raise AttributeError(f"{model.name} has no attribute {name!r}; it has {', '.join(model.attributes)}")


def _fitting(model: Model, name: str, value: Any) -> Any:
    """The value as the attribute's type says it is, or an error that names the attribute."""
    attribute = model.attributes[name]
    if value is None:
        if attribute.optional:
            return None
        raise ValueRefused(f"{model.name}.{name}", "it may not be None")
    return fitting(model, attribute, value)


class Stepped:
    """An attribute with a step applied, on its way back into the draft."""

    def __init__(self, name: str, edit: Edit) -> None:
        self.name = name
        self.edit = edit


class Unread:
    """An attribute of a draft that was not read: it can be stepped from, and not looked at."""

    def __init__(self, model: Model, name: str, earlier: Edit | None) -> None:
        self._model = model
        self._name = name
        self._earlier = earlier

    def __add__(self, other: Any) -> Stepped:
        return self._step("append" if isinstance(other, list) else "add", other)

    def __sub__(self, other: Any) -> Stepped:
        if isinstance(other, set | frozenset):
            return self._step("exclude", other)
        return self._step("add", -other)

    def __or__(self, other: Any) -> Stepped:
        return self._step("include", other)

    def _step(self, kind: str, value: Any) -> Stepped:
        where = f"{self._model.name}.{self._name}"
        wanted = {"add": "N", "append": "L"}
        tag = self._model.attributes[self._name].codec.tag
        if tag != wanted.get(kind, tag) or (kind in ("include", "exclude") and not tag.endswith("S")):
            raise ValueRefused(where, f"{kind} does not suit its type")
        if self._earlier is None:
            return Stepped(self._name, Edit(kind, value))
        if self._earlier.kind != kind or kind == "exclude":
            raise ValueRefused(where, "two different steps in one change; make two changes")
        both = self._earlier.value | value if kind == "include" else self._earlier.value + value
        return Stepped(self._name, Edit(kind, both))

    def _refuse(self, *_: Any) -> Any:
        raise ValueRefused(
            f"{self._model.name}.{self._name}", "a change does not read; use db.update(...) to decide by what is stored"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __str__ = __iter__ = __len__ = _refuse
    __contains__ = __getitem__ = __getattr__ = __call__ = __mul__ = __int__ = __float__ = __format__ = _refuse
    __hash__ = None  # type: ignore[assignment]

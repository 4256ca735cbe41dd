"""Drafts: record the edits inside `with db.change(...) as draft`.

To a type checker the draft is the entity. It records `draft.status = X` as an assignment, `draft.priority += 1` as an
addition without a read, `draft.tags |= {...}` and `-= {...}` as changes of a set, `draft.lines += [...]` as an append.
"""

from decimal import Decimal
from typing import Any

from partita.design.codecs import ListCodec, ScalarCodec, SetCodec
from partita.design.key_parts import EXACT
from partita.design.models import Attribute, Model
from partita.errors import Fault, InvalidValue, UnknownAttribute
from partita.plan.edits import Add, Append, Assign, Edit, Exclude, Include
from partita.plan.items import normalize_operand, normalize_value
from partita.validation import FaultyValue, invalid_value

Step = Add | Append | Include | Exclude


class Draft:
    """Records edits of one entity; unknown attributes and values of a wrong type are rejected at once."""

    __slots__ = ("_edits", "_model")

    def __init__(self, model: Model) -> None:
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_edits", {})

    def __getattr__(self, name: str) -> Any:
        _check_attribute(self._model, name)
        edit = _edits(self).get(name)
        return edit.value if isinstance(edit, Assign) else Unread(self._model, name, edit)

    def __setattr__(self, name: str, value: Any) -> None:
        _check_attribute(self._model, name)
        if isinstance(value, Stepped):
            if value.name != name:
                raise InvalidValue(self._model.name, f"cannot be made from {value.name!r} unread", name)
            _edits(self)[name] = value.edit
        elif isinstance(value, Unread):
            value.refuse()
        else:
            _edits(self)[name] = Assign(_validated(self._model, name, value))

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)


def edits_of(draft: Any) -> dict[str, Edit]:
    """The edits of a draft; assigned collections are validated again, since the caller may have changed them."""
    model: Model = object.__getattribute__(draft, "_model")
    edits = _edits(draft)
    for name, edit in edits.items():
        if isinstance(edit, Assign) and not isinstance(model.attributes[name].codec, ScalarCodec):
            edits[name] = Assign(_validated(model, name, edit.value))
    return edits


def _edits(draft: Any) -> dict[str, Edit]:
    edits: dict[str, Edit] = object.__getattribute__(draft, "_edits")
    return edits


def _check_attribute(model: Model, name: str) -> None:
    if name not in model.attributes:
        raise UnknownAttribute(model.name, name, tuple(model.attributes))


def _validated(model: Model, name: str, value: Any) -> Any:
    """The value in the attribute's type, or an error that names the attribute."""
    attribute = model.attributes[name]
    if value is None:
        if attribute.optional:
            return None
        raise invalid_value(FaultyValue(Fault("null")), model.name, name)
    return normalize_value(model, attribute, value)


class Stepped:
    """A step from an unread attribute, to be assigned to the same attribute."""

    def __init__(self, name: str, edit: Edit) -> None:
        self.name = name
        self.edit = edit


class Unread:
    """An attribute of a draft, which was not read: it supports steps, but not comparison or conversion."""

    __slots__ = ("_earlier", "_model", "_name")
    _model: Model
    _name: str
    _earlier: Edit | None

    def __init__(self, model: Model, name: str, earlier: Edit | None) -> None:
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_earlier", earlier)

    def __add__(self, other: Any) -> Stepped:
        return self._step(Append if isinstance(self._attribute.codec, ListCodec) else Add, "+=", other)

    def __sub__(self, other: Any) -> Stepped:
        if isinstance(self._attribute.codec, SetCodec):
            return self._step(Exclude, "-=", other)
        return self._step(Add, "-=", other, negate=True)

    def __or__(self, other: Any) -> Stepped:
        return self._step(Include, "|=", other)

    @property
    def _attribute(self) -> Attribute:
        return self._model.attributes[self._name]

    def _step(self, kind: type[Step], operator: str, operand: Any, *, negate: bool = False) -> Stepped:
        if not _supports(kind, self._attribute):
            raise InvalidValue(self._model.name, f"{operator} cannot be applied to its type", self._name)
        value = normalize_operand(self._model, self._attribute, operand)
        if negate:
            value = value.copy_negate() if isinstance(value, Decimal) else -value
        if self._earlier is None:
            return Stepped(self._name, kind(value))
        if type(self._earlier) is not kind or kind is Exclude:
            raise InvalidValue(self._model.name, "two different steps in one change; make two changes", self._name)
        return Stepped(self._name, kind(_combined(self._earlier.value, value)))

    def refuse(self, *_: Any) -> Any:
        raise InvalidValue(
            self._model.name, "a change does not read; use db.update(...) to decide by what is stored", self._name
        )

    def _refuse_inside(self, *_: Any) -> Any:
        raise InvalidValue(
            self._model.name,
            f"a change cannot set what is inside; assign the whole (draft.{self._name} = ...), or use db.update(...)",
            self._name,
        )

    __setattr__ = __delattr__ = __setitem__ = __delitem__ = _refuse_inside
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __str__ = __iter__ = __len__ = refuse
    __contains__ = __getitem__ = __getattr__ = __call__ = __int__ = __float__ = __format__ = __index__ = refuse
    __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __and__ = __xor__ = __neg__ = __abs__ = refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __ror__ = __rand__ = __rxor__ = refuse
    __hash__ = None  # type: ignore[assignment]


def _supports(kind: type[Step], attribute: Attribute) -> bool:
    if kind is Add:
        return attribute.kind in (int, float, Decimal)
    return isinstance(attribute.codec, ListCodec if kind is Append else SetCodec)


def _combined(one: Any, other: Any) -> Any:
    if isinstance(one, set | frozenset):
        return one | other
    return EXACT.add(one, other) if isinstance(one, Decimal) else one + other

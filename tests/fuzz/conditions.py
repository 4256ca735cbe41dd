"""Conditions as data: their Python source, and their meaning in plain Python."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.designs import EntitySpec
from tests.fuzz.forms import VECTOR, nfc
from tests.fuzz.source_text import Printed, literal

Values = Mapping[str, Any]
_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED = {"text", "whole", "signed", "bounded", "money", "price", "real", "time", "date"}


@dataclass(frozen=True, repr=False, eq=False)
class Condition(Printed):
    """A condition; `test` takes the values of an item, in which an absent one is None."""

    text: str
    test: Callable[[Values], bool]
    fields: frozenset[str]
    both: tuple["Condition", ...] = ()  # of a conjunction

    @property
    def parts(self) -> tuple["Condition", ...]:
        """The conditions that all have to be true."""
        return self.both or (self,)

    def __repr__(self) -> str:
        return self.text

    @property
    def holds_for_nothing(self) -> bool:
        """Whether it is true where there is no item."""
        return self.test(dict.fromkeys(self.fields))


FIRST_STATE = Condition("F.n == 0", lambda values: bool(values["n"] == 0), frozenset({"n"}))


def _comparison(name: str, sign: str, value: Any) -> Condition:
    def test(values: Values) -> bool:
        held = values[name]
        return sign == "!=" if held is None else bool(_COMPARE[sign](held, value))

    return Condition(f"F.{name} {sign} {literal(value)}", test, frozenset({name}))


def _size_compares(text: str | None, sign: str, size: int) -> bool:
    return sign == "!=" if text is None else bool(_COMPARE[sign](len(text.encode()), size))


def _of_text(draw: st.DrawFn, name: str, value: str) -> Condition:
    how = draw(st.sampled_from(["starts_with", "contains", "size", "size"]))
    if how == "size":
        sign = draw(st.sampled_from(sorted(_COMPARE)))
        size = draw(st.integers(1, 4))
        return Condition(
            f"F.{name}.size() {sign} {size}",
            lambda values: _size_compares(values[name], sign, size),
            frozenset({name}),
        )
    part = value[:1] if how == "starts_with" else value[-1:]

    def test(values: Values) -> bool:
        held = values[name]
        return held is not None and bool(held.startswith(part) if how == "starts_with" else part in held)

    return Condition(f"F.{name}.{how}({literal(part)})", test, frozenset({name}))


def _of_values(draw: st.DrawFn, name: str, ordered: bool, choices: list[Any]) -> Condition:
    one, other = draw(st.sampled_from(choices)), draw(st.sampled_from(choices))
    if ordered and draw(st.booleans()):
        low, high = sorted((one, other))
        return Condition(
            f"F.{name}.between({literal(low)}, {literal(high)})",
            lambda values: values[name] is not None and bool(low <= values[name] <= high),
            frozenset({name}),
        )
    return _membership(name, one, other)


def _membership(name: str, one: Any, other: Any) -> Condition:
    return Condition(
        f"F.{name}.is_in({literal(one)}, {literal(other)})",
        lambda values: values[name] is not None and values[name] in (one, other),
        frozenset({name}),
    )


def _presence(draw: st.DrawFn, name: str) -> Condition:
    exists = draw(st.booleans())
    return Condition(
        f"F.{name}.{'exists' if exists else 'is_absent'}()",
        lambda values: (values[name] is not None) == exists,
        frozenset({name}),
    )


@st.composite
def conditions(
    draw: st.DrawFn, entity: EntitySpec, without: frozenset[str] = frozenset(), *, in_key: bool = False
) -> Condition:
    """A condition on stored attributes of an entity, other than `without`; mostly `n == 0`.

    With `in_key` also on attributes that only the key of the table holds, behind constants.
    """
    if draw(st.integers(0, 2)) == 0 and "n" not in without:
        return FIRST_STATE
    names = [name for name, each in entity.fields.items() if not each.hidden and name not in without]
    names = [name for name in names if entity.kind(name) is not VECTOR]
    names += [name for name in ("n",) if name not in without]
    names += [name for name in _comparable_in_key(entity) if in_key and name not in without]
    if not names:
        return FIRST_STATE
    one = draw(_simple(entity, names))
    how = draw(st.sampled_from(["", "", "", "&", "|", "~"]))
    if how == "~":
        return Condition(f"~({one.text})", lambda values: not one.test(values), one.fields)
    if not how:
        return one
    other = draw(_simple(entity, names))
    both = one.fields | other.fields
    if how == "&":
        return Condition(
            f"({one.text}) & ({other.text})", lambda values: one.test(values) and other.test(values), both, (one, other)
        )
    return Condition(f"({one.text}) | ({other.text})", lambda values: one.test(values) or other.test(values), both)


def _comparable_in_key(entity: EntitySpec) -> list[str]:
    """The attributes in the key alone that a condition may name: no other part is in front of them."""
    found = []
    for attribute in entity.key.attributes:
        first = next((each for each in attribute.template or () if each.field is not None), None)
        if first is not None and first.field is not None and entity.fields[first.field].in_key:
            found.append(first.field)
    return found


@st.composite
def _simple(draw: st.DrawFn, entity: EntitySpec, names: list[str]) -> Condition:
    name = draw(st.sampled_from(names))
    kind = entity.kind(name)
    choices = [0, 1, 2] if name == "n" else list(kind.values)
    if name in entity.settled_fields:
        choices = [nfc(each) for each in choices]
    hidden = name in entity.fields and entity.fields[name].hidden
    ordered = kind.name in _ORDERED and not hidden
    if hidden:
        return draw(
            st.one_of(
                st.builds(_comparison, st.just(name), st.sampled_from(["==", "!="]), st.sampled_from(choices)),
                st.builds(_membership, st.just(name), st.sampled_from(choices), st.sampled_from(choices)),
            )
        )
    forms = ["compare", "compare", "values", "presence"] + (["text", "text"] if kind.name == "text" else [])
    form = draw(st.sampled_from(forms))
    if form == "text":
        return _of_text(draw, name, draw(st.sampled_from(choices)))
    if form == "values":
        return _of_values(draw, name, ordered, choices)
    if form == "presence":
        return _presence(draw, name)
    sign = draw(st.sampled_from(sorted(_COMPARE) if ordered else ["==", "!="]))
    return _comparison(name, sign, draw(st.sampled_from(choices)))

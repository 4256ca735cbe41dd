"""Conditions in Python: `F.status == Status.OPEN`, `(F.count < F.limit) & F.note.exists()`.

A condition is an immutable tree. It names attributes by their Python names; `plan` translates it for DynamoDB. Naming
an attribute that the entity does not have is an error when the design is loaded.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue
from partita.errors import DesignError


class Stored(msgspec.Struct, frozen=True):
    """A value in DynamoDB JSON to compare with, for attributes that other code writes in another format."""

    value: AttributeValue


class Condition:
    """A condition on an item; combine conditions with `&`, `|` and `~`."""

    def __and__(self, other: "Condition") -> "Condition":
        return All((*_terms(self, All), *_terms(other, All)))

    def __or__(self, other: "Condition") -> "Condition":
        return AnyOf((*_terms(self, AnyOf), *_terms(other, AnyOf)))

    def __invert__(self) -> "Condition":
        return Not(self)

    def __bool__(self) -> bool:
        instead = "combine conditions with & and |, not with 'and' and 'or'"
        raise DesignError("a condition", "is neither true nor false", instead)

    @property
    def fields(self) -> Iterator[str]:
        """The attributes that it names."""
        raise NotImplementedError


def _terms(condition: Condition, kind: "type[All | AnyOf]") -> tuple[Condition, ...]:
    """The terms of a condition of this kind, so that `a | b | c` has three; any other condition alone."""
    return condition.terms if isinstance(condition, kind) else (condition,)


class Field(msgspec.Struct, frozen=True, eq=False):
    """An attribute, or a member inside one: `F.settings.theme`."""

    path: tuple[str, ...]

    def __getattr__(self, name: str) -> "Field":
        if name.startswith("__"):
            raise AttributeError(name)
        return Field((*self.path, name))

    def __getitem__(self, name: str) -> "Field":
        return Field((*self.path, _checked_name(name)))

    def __iter__(self) -> NoReturn:
        raise DesignError(f"F.{'.'.join(self.path)}", "it is an attribute, not a list", "write F.name.contains(value)")

    def __contains__(self, value: object) -> NoReturn:
        iter(self)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return _compared("=", self, other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return _compared("<>", self, other)

    def __lt__(self, other: Any) -> Condition:
        return _compared("<", self, other)

    def __le__(self, other: Any) -> Condition:
        return _compared("<=", self, other)

    def __gt__(self, other: Any) -> Condition:
        return _compared(">", self, other)

    def __ge__(self, other: Any) -> Condition:
        return _compared(">=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def is_in(self, *values: Any) -> Condition:
        """One of at most 100 values."""
        most = limits.EXPRESSION_IN_OPERANDS
        if not 1 <= len(values) <= most:
            path = ".".join(self.path)
            raise DesignError(
                f"F.{path}.is_in", f"{len(values)} values; DynamoDB takes 1 to {most}", "join several is_in(...) with |"
            )
        return OneOf(self, values)

    def between(self, low: Any, high: Any) -> Condition:
        return All((Comparison(">=", self, low), Comparison("<=", self, high)))

    def starts_with(self, prefix: str | bytes) -> Condition:
        return FunctionCondition("begins_with", self, prefix)

    def contains(self, value: Any) -> Condition:
        return FunctionCondition("contains", self, value)

    def exists(self) -> Condition:
        return Exists(self)

    def is_absent(self) -> Condition:
        return Not(Exists(self))

    def size(self) -> "FieldSize":
        """The bytes of a text or of binary, the members of a set, list or map: `F.tags.size() <= 5`.

        An empty set has the size 0; an attribute that is None has no size, and only `!=` is true of it.
        """
        return FieldSize(self)


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise DesignError("F", f"{name!r} is not a name of an attribute", 'write F["name"]')
    return name


_EXCHANGED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compared(operator: str, field: Field, other: Any) -> Condition:
    """An attribute compared with a value, another attribute, or the size of one."""
    if isinstance(other, FieldSize):
        return SizeComparison(_EXCHANGED.get(operator, operator), other.field, field)
    return Comparison(operator, field, other)


class FieldSize(msgspec.Struct, frozen=True, eq=False):
    """The size of an attribute, to compare with a number; an empty set has the size 0, and None has no size."""

    field: Field

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return SizeComparison("=", self.field, other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return SizeComparison("<>", self.field, other)

    def __lt__(self, other: Any) -> Condition:
        return SizeComparison("<", self.field, other)

    def __le__(self, other: Any) -> Condition:
        return SizeComparison("<=", self.field, other)

    def __gt__(self, other: Any) -> Condition:
        return SizeComparison(">", self.field, other)

    def __ge__(self, other: Any) -> Condition:
        return SizeComparison(">=", self.field, other)

    __hash__ = None  # type: ignore[assignment]

    def between(self, low: Any, high: Any) -> Condition:
        return All((self >= low, self <= high))


class Fields:
    """`F.status` is the attribute `status` of the entity that the condition is used on."""

    def __getattr__(self, name: str) -> Field:
        if name.startswith("__"):
            raise AttributeError(name)
        return Field((name,))

    def __getitem__(self, name: str) -> Field:
        """For an attribute with the name of a method of Field: `F["exists"]`."""
        return Field((_checked_name(name),))


F = Fields()


class FieldCondition(Condition):
    """A condition on one attribute."""

    field: Field

    @property
    def fields(self) -> Iterator[str]:
        yield self.field.path[0]


class ValueCondition(FieldCondition):
    """A condition on one attribute and a value, which may be another attribute."""

    value: Any

    @property
    def fields(self) -> Iterator[str]:
        yield self.field.path[0]
        if isinstance(self.value, Field):
            yield self.value.path[0]


class Comparison(ValueCondition, msgspec.Struct, frozen=True, eq=False):
    operator: str
    field: Field
    value: Any


class SizeComparison(ValueCondition, msgspec.Struct, frozen=True, eq=False):
    """The size of an attribute compared with a number."""

    operator: str
    field: Field
    value: Any


class OneOf(FieldCondition, msgspec.Struct, frozen=True, eq=False):
    field: Field
    values: tuple[Any, ...]


class FunctionCondition(FieldCondition, msgspec.Struct, frozen=True, eq=False):
    """`begins_with` or `contains`."""

    function: str
    field: Field
    value: Any


class Exists(FieldCondition, msgspec.Struct, frozen=True, eq=False):
    field: Field


class All(Condition, msgspec.Struct, frozen=True, eq=False):
    terms: tuple[Condition, ...]

    @property
    def fields(self) -> Iterator[str]:
        for term in self.terms:
            yield from term.fields


def conjuncts(condition: Condition | None) -> Iterator[Condition]:
    """The conditions that all have to hold."""
    if isinstance(condition, All):
        for term in condition.terms:
            yield from conjuncts(term)
    elif condition is not None:
        yield condition


class AnyOf(Condition, msgspec.Struct, frozen=True, eq=False):
    terms: tuple[Condition, ...]

    @property
    def fields(self) -> Iterator[str]:
        for term in self.terms:
            yield from term.fields


class Not(Condition, msgspec.Struct, frozen=True, eq=False):
    term: Condition

    @property
    def fields(self) -> Iterator[str]:
        return self.term.fields

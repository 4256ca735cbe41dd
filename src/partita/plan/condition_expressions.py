"""Renders conditions in DynamoDB's expression language; every name and value becomes a placeholder.

`to_stored` turns a condition on Python attributes into one on stored attributes. That tree is then rendered for a
request (`Expression`), or evaluated on an item (`predicates`).
"""

from typing import Any

from partita.design.codecs import Codec, ScalarCodec, StructCodec
from partita.design.condition_checks import (
    check_names,
    check_size,
    field_type,
    is_comparable,
    may_contain_none,
    part_type,
)
from partita.design.condition_types import member_at, type_name
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Exists,
    Field,
    FieldCondition,
    FunctionCondition,
    Not,
    OneOf,
    SizeComparison,
    Stored,
)
from partita.design.models import Attribute, Model
from partita.design.untyped_values import any_value
from partita.dynamodb import limits
from partita.dynamodb.canonical import canonical_value
from partita.dynamodb.values import COMPARISONS, AttributeValue
from partita.errors import DesignError, Fault, InvalidValue
from partita.plan.in_key_conditions import key_text_condition
from partita.plan.migrated_conditions import of_stored_items
from partita.validation import invalid_value

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def to_stored(model: Model, condition: Condition) -> Condition:
    """The condition with stored names, and values in DynamoDB JSON."""
    if isinstance(condition, All | AnyOf | Not):
        check_size(model.name, condition)
    stored = _to_stored(model, condition)
    return of_stored_items(model, stored) if model.migrations else stored


def to_encoded(model: Model, condition: Condition) -> Condition:
    """The same for items as the entity is stored now, without what its attributes were before a migration."""
    return _to_stored(model, condition)


def _to_stored(model: Model, condition: Condition) -> Condition:
    if isinstance(condition, All):
        return All(tuple(_to_stored(model, term) for term in condition.terms))
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_to_stored(model, term) for term in condition.terms))
    if isinstance(condition, Not):
        return Not(_to_stored(model, condition.term))
    if isinstance(condition, FieldCondition):
        attribute = model.attributes.get(condition.field.path[0])
        if attribute is not None and attribute.in_key:
            return key_text_condition(model, condition)
        if attribute is not None and not _is_plain_equality(attribute, condition):
            check_names(model, condition)
    if isinstance(condition, Exists):
        return Exists(_stored_field(model, condition.field)[0])
    if isinstance(condition, Comparison):
        return _comparison(model, condition)
    if isinstance(condition, SizeComparison):
        return _size_comparison(model, condition)
    if isinstance(condition, OneOf):
        field, codec = _stored_field(model, condition.field)
        listed = OneOf(field, tuple(_value(model, condition.field, codec, each) for each in condition.values))
        absent = [each for value in condition.values if (each := _reads_as(model, condition.field, value)) is not None]
        return AnyOf((listed, *absent)) if absent else listed
    if not isinstance(condition, FunctionCondition):
        raise InvalidValue(model.name, f"{condition!r} is not a condition; write one with F, such as F.name == value")
    field, codec = _stored_field(model, condition.field)
    if condition.value is None and not may_contain_none(_value_type(model, condition.field, inside=False)):
        raise _type_error(model, condition.field, None, inside=True)
    whole = codec is not None and codec.tag == "S"
    return FunctionCondition(
        condition.function,
        field,
        _value(model, condition.field, codec if whole else None, condition.value, inside=True),
    )


def _is_plain_equality(attribute: Attribute, condition: FieldCondition) -> bool:
    """Whether it compares a scalar with a value, which every type allows: the condition of most changes."""
    equality = isinstance(condition, Comparison) and condition.operator == "="
    return equality and isinstance(attribute.codec, ScalarCodec) and not isinstance(condition.value, Field)  # type: ignore[attr-defined]


def _size_comparison(model: Model, condition: SizeComparison) -> Condition:
    """An empty set is not stored, so an absent one has the size 0."""
    field, size = _stored_field(model, condition.field)[0], _size(model, condition)
    found = SizeComparison(condition.operator, field, size)
    empty = _reads_as(model, condition.field, frozenset())
    if empty is None:
        return found
    if isinstance(size, Field):
        zero = Comparison(_MIRRORED[condition.operator], size, {"N": "0"})
        return AnyOf((All((found, _negated(empty))), All((empty, zero))))
    holds = COMPARISONS[condition.operator]({"N": "0"}, canonical_value(size))
    return AnyOf((found, empty)) if holds else All((found, _negated(empty)))


def _size(model: Model, condition: SizeComparison) -> AttributeValue | Field:
    if isinstance(condition.value, Field):
        return _stored_field(model, condition.value)[0]
    if not is_comparable(condition.value, int):
        fault = Fault("type", "int", type_name(type(condition.value)))
        raise InvalidValue(model.name, str(fault), *condition.field.path, fault=fault)
    try:
        return any_value(condition.value)
    except ValueError as error:
        raise invalid_value(error, model.name, *condition.field.path) from None


def _comparison(model: Model, condition: Comparison) -> Condition:
    """None and an empty set are not stored, so comparing with them also tests for absence."""
    field, codec = _stored_field(model, condition.field)
    value = condition.value
    if isinstance(value, Field):
        found = Comparison(condition.operator, field, _stored_field(model, value)[0])
        alike = _both_absent_alike(model, condition.field, value)
    else:
        if value is None and condition.operator not in ("=", "<>"):
            raise _type_error(model, condition.field, value, inside=False)
        found = Comparison(condition.operator, field, _value(model, condition.field, codec, value))
        alike = _reads_as(model, condition.field, value)
    if alike is None or condition.operator not in ("=", "<>"):
        return found
    return AnyOf((found, alike)) if condition.operator == "=" else All((found, _negated(alike)))


def _both_absent_alike(model: Model, field: Field, other: Field) -> Condition | None:
    """Both attributes are None, or both are empty sets: then they are equal, which DynamoDB denies of absent ones."""
    empty = frozenset[Any]()
    pairs = [
        (_is_none(model, field), _is_none(model, other)),
        (_reads_as(model, field, empty), _reads_as(model, other, empty)),
    ]
    alike = [All((one, two)) for one, two in pairs if one is not None and two is not None]
    return None if not alike else alike[0] if len(alike) == 1 else AnyOf(tuple(alike))


def _is_none(model: Model, field: Field) -> Condition | None:
    """The condition that the attribute is None: absent, or NULL where an absent one has another default."""
    absent = _reads_as(model, field, None)
    member = member_at(model, field)
    if member is None or not member.optional or member.default_when_absent is None:
        return absent
    null = Comparison("=", _stored_field(model, field)[0], {"NULL": True})
    return null if absent is None else AnyOf((null, absent))


def _reads_as(model: Model, field: Field, value: Any) -> Condition | None:
    """The condition that the attribute is absent and is read as the value, which is None or an empty set.

    None where no absent attribute is read so. A member of a struct that is None is None.
    """
    if value is not None and (not isinstance(value, set | frozenset) or value):
        return None
    whole = Not(Exists(_stored_field(model, field)[0]))
    ends = [Field(field.path[:at]) for at in range(1, len(field.path))]
    around = next((each for each in reversed(ends) if _absent_value(model, each) is None), None)
    stored_around = None if around is None else Exists(_stored_field(model, around)[0])
    if _absent_value(model, field) == value:
        return whole if stored_around is None or value is None else All((whole, stored_around))
    return Not(stored_around) if value is None and stored_around is not None else None


def _negated(condition: Condition) -> Condition:
    return condition.term if isinstance(condition, Not) else Not(condition)


def _absent_value(model: Model, field: Field) -> Any:
    """The value that an absent attribute is read as; None inside of values without a declared type."""
    member = member_at(model, field)
    return None if member is None else member.default_when_absent


def _stored_field(model: Model, field: Field) -> tuple[Field, Codec | None]:
    attribute = model.attributes.get(field.path[0])
    if attribute is None or attribute.in_key:
        stored = ", ".join(each.field for each in model.attributes.values() if not each.in_key)
        raise DesignError(
            model.name,
            f"a condition names {field.path[0]!r}, which is not stored",
            f"the stored attributes are {stored}",
        )
    names = [attribute.name]
    codec: Codec | None = attribute.codec
    for step in field.path[1:]:
        member = next((m for m in codec.members if m.field == step), None) if isinstance(codec, StructCodec) else None
        names.append(member.name if member else step)
        codec = member.codec if member else None
    return Field(tuple(names)), codec


def _value(model: Model, field: Field, codec: Codec | None, value: Any, *, inside: bool = False) -> AttributeValue:
    """The value in DynamoDB JSON; `inside` for an element of the attribute, or the beginning of its text."""
    if isinstance(value, Stored):
        return value.value
    if value is None:
        return {"NULL": True}
    try:
        encoded = any_value(value) if codec is None else codec.encode(value)
    except AttributeError:
        raise _type_error(model, field, value, inside=inside) from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise invalid_value(error, model.name, *field.path) from None
    if not is_comparable(value, _value_type(model, field, inside=inside)):
        raise _type_error(model, field, value, inside=inside)
    return encoded or {"NULL": True}


def _value_type(model: Model, field: Field, *, inside: bool) -> Any:
    kind, _ = field_type(model.name, model, field)
    return part_type(kind) if inside else kind


def _type_error(model: Model, field: Field, value: Any, *, inside: bool) -> InvalidValue:
    fault = Fault("type", type_name(_value_type(model, field, inside=inside)), type_name(type(value)))
    return InvalidValue(model.name, str(fault), *field.path, fault=fault)


def check_length(entity: str, text: str, what: str = "the condition") -> None:
    """An InvalidValue for an expression that is longer than DynamoDB takes."""
    if len(text) > limits.EXPRESSION_BYTES:
        most = f"DynamoDB takes {limits.EXPRESSION_BYTES // limits.KB} KB"
        raise InvalidValue(entity, f"the expression of {what} has {len(text)} characters; {most}: use fewer terms")


class Expression:
    """The placeholders of one request."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, AttributeValue] = {}
        self._placeholders: dict[str, str] = {}

    def name(self, *path: str) -> str:
        return self._name(path[0]) if len(path) == 1 else ".".join([self._name(step) for step in path])

    def _name(self, name: str) -> str:
        placeholder = self._placeholders.get(name)
        if placeholder is None:
            placeholder = self._placeholders[name] = f"#n{len(self._placeholders)}"
            self.names[placeholder] = name
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def condition(self, condition: Condition) -> str:
        """The text of a condition on stored attributes."""
        if isinstance(condition, All):
            return " AND ".join(self._term(term) for term in condition.terms)
        if isinstance(condition, AnyOf):
            return " OR ".join(self._term(term) for term in condition.terms)
        if isinstance(condition, Not):
            if isinstance(condition.term, Exists):
                return f"attribute_not_exists({self.name(*condition.term.field.path)})"
            return f"NOT ({self.condition(condition.term)})"
        if isinstance(condition, Exists):
            return f"attribute_exists({self.name(*condition.field.path)})"
        if isinstance(condition, Comparison):
            return f"{self.name(*condition.field.path)} {condition.operator} {self._operand(condition.value)}"
        if isinstance(condition, SizeComparison):
            sized = f"size({self.name(*condition.field.path)})"
            return f"{sized} {condition.operator} {self._operand(condition.value)}"
        if isinstance(condition, OneOf):
            listed = ", ".join(self.value(each) for each in condition.values)
            return f"{self.name(*condition.field.path)} IN ({listed})"
        assert isinstance(condition, FunctionCondition)
        return f"{condition.function}({self.name(*condition.field.path)}, {self.value(condition.value)})"

    def _term(self, condition: Condition) -> str:
        text = self.condition(condition)
        return f"({text})" if isinstance(condition, All | AnyOf) else text

    def _operand(self, value: Any) -> str:
        return self.name(*value.path) if isinstance(value, Field) else self.value(value)

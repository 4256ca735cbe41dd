"""Renders conditions in DynamoDB's expression language; every name and value becomes a placeholder.

`to_stored` turns a condition on Python attributes into one on stored attributes. That tree is then rendered for a
request (`Expression`), or evaluated on an item (`predicates`).
"""

from typing import Any

from partita.design.codecs import Codec, StructCodec
from partita.design.condition_checks import check_names, check_size, field_type, is_comparable, part_type, type_name
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
from partita.design.models import Model
from partita.design.untyped_values import any_value
from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue
from partita.errors import DesignError, Fault, InvalidValue
from partita.plan.in_key_conditions import key_text_condition
from partita.validation import invalid_value


def to_stored(model: Model, condition: Condition) -> Condition:
    """The condition with stored names, and values in DynamoDB JSON."""
    if isinstance(condition, All | AnyOf | Not):
        check_size(model.name, condition)
    return _to_stored(model, condition)


def _to_stored(model: Model, condition: Condition) -> Condition:
    if isinstance(condition, All):
        return All(tuple(_to_stored(model, term) for term in condition.terms))
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_to_stored(model, term) for term in condition.terms))
    if isinstance(condition, Not):
        return Not(_to_stored(model, condition.term))
    if isinstance(condition, FieldCondition) and _is_in_key(model, condition):
        return key_text_condition(model, condition)
    if isinstance(condition, Exists):
        return Exists(_stored_field(model, condition.field)[0])
    if isinstance(condition, Comparison):
        return _comparison(model, condition)
    if isinstance(condition, SizeComparison):
        check_names(model, condition)
        return SizeComparison(condition.operator, _stored_field(model, condition.field)[0], _size(model, condition))
    if isinstance(condition, OneOf):
        field, codec = _stored_field(model, condition.field)
        listed = OneOf(field, tuple(_value(model, condition.field, codec, each) for each in condition.values))
        absent_too = any(_is_absent(model, condition.field, each) for each in condition.values)
        return AnyOf((listed, Not(Exists(field)))) if absent_too else listed
    if not isinstance(condition, FunctionCondition):
        raise InvalidValue(model.name, f"{condition!r} is not a condition; write one with F, such as F.name == value")
    field, codec = _stored_field(model, condition.field)
    whole = codec is not None and codec.tag == "S"
    return FunctionCondition(
        condition.function,
        field,
        _value(model, condition.field, codec if whole else None, condition.value, inside=True),
    )


def _is_in_key(model: Model, condition: FieldCondition) -> bool:
    """Whether a condition is about an attribute that is stored in the key only."""
    attribute = model.attributes.get(condition.field.path[0])
    return attribute is not None and attribute.in_key


def _size(model: Model, condition: SizeComparison) -> AttributeValue | Field:
    if isinstance(condition.value, Field):
        return _stored_field(model, condition.value)[0]
    if not is_comparable(condition.value, int):
        fault = Fault("type", "int", type_name(type(condition.value)))
        raise InvalidValue(model.name, str(fault), *condition.field.path, fault=fault)
    return any_value(condition.value)


def _comparison(model: Model, condition: Comparison) -> Condition:
    """None and an empty set are not stored, so comparing with them also tests for absence."""
    field, codec = _stored_field(model, condition.field)
    if isinstance(condition.value, Field):
        return Comparison(condition.operator, field, _stored_field(model, condition.value)[0])
    found = Comparison(condition.operator, field, _value(model, condition.field, codec, condition.value))
    if condition.operator not in ("=", "<>") or not _is_absent(model, condition.field, condition.value):
        return found
    return AnyOf((found, Not(Exists(field)))) if condition.operator == "=" else All((found, Exists(field)))


def _is_absent(model: Model, field: Field, value: Any) -> bool:
    """Whether the value is stored as an absent attribute, and an absent attribute is read as the value."""
    if value is not None and not (isinstance(value, set | frozenset) and not value):
        return False
    return len(field.path) > 1 or bool(model.attributes[field.path[0]].member.default_when_absent == value)


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

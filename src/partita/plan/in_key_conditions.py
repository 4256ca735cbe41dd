"""Conditions on attributes that are stored in the key only: they are conditions on the text of the key.

    F.order_id == "o1"      of  "ORDER#{order_id}"           SK = "ORDER#o1"
    F.day >= day            of  "{day}#{number:4}"           SK >= "2025-01-01"
    F.name.starts_with("a") of  "{name}"                     begins_with(SK, "a")

Only the first part of a key can be compared so: the text in front of it has to be constant. An attribute that is stored
in an index key (`InKey("GSI1SK")`) is compared there.
"""

from typing import Any

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
    Stored,
)
from partita.design.key_parts import TextPart, descends
from partita.design.key_templates import Segment
from partita.design.models import Model
from partita.dynamodb.values import AttributeValue
from partita.errors import DesignError, InvalidValue
from partita.validation import invalid_value

_FALLING = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def key_text_condition(model: Model, condition: FieldCondition) -> Condition:
    """A condition on one `InKey` attribute, as a condition on the stored key."""
    field = condition.field
    held = model.index_key_fields.get(field.path[0])
    if held is not None and isinstance(condition, Comparison) and isinstance(condition.value, Stored):
        return Comparison(condition.operator, Field((held.name,)), condition.value.value)  # of the whole index key
    part = _KeyText(model, field)
    if isinstance(condition, Exists):
        return Not(part.equal(None)) if part.is_optional else Exists(part.attribute)
    if isinstance(condition, OneOf):
        return AnyOf(tuple(part.equal(value) for value in condition.values))
    if isinstance(condition, Comparison) and not isinstance(condition.value, Field):
        if condition.operator == "=":
            return part.equal(condition.value)
        if condition.operator == "<>":
            return Not(part.equal(condition.value))
        return part.ordered(condition.operator, condition.value)
    if isinstance(condition, FunctionCondition) and condition.function == "begins_with":
        return part.beginning(condition.value)
    wrong = f"{field.path[0]!r} is stored in the key only, and this condition cannot be about a key"
    raise DesignError(model.name, wrong, "compare it with a value, or remove InKey")


class _KeyText:
    """The part of a key template that holds an attribute, behind constant text."""

    def __init__(self, model: Model, field: Field) -> None:
        self._model, self._field = model, field
        held = model.index_key_fields.get(field.path[0])
        for key in model.key.attributes if held is None else (held,):
            segments = key.template.segments if key.template is not None else ()
            at = next((n for n, each in enumerate(segments) if each.field == field.path[0]), None)
            if at is not None and all(each.form is None for each in segments[:at]):
                self.attribute = Field((key.name,))
                self._segment: Segment = segments[at]
                self._separator = key.separator
                self._prefix = "".join(each.constant + self._separator.character for each in segments[:at])
                self._is_last = at == len(segments) - 1
                self._may_be_last = at == len(segments) - 2 and segments[-1].optional
                return
        wrong = f"a condition names {field.path[0]!r}, which is stored in the key only, behind another part"
        raise DesignError(model.name, wrong, "remove InKey, or leave it out of the condition")

    @property
    def is_optional(self) -> bool:
        """Whether the key ends before the part where it is None."""
        return self._segment.optional

    def _text(self, value: Any) -> str:
        try:
            return self._prefix + self._segment.text(value)
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise invalid_value(error, self._model.name, *self._field.path) from None

    def equal(self, value: Any) -> Condition:
        if value is None and self.is_optional:
            return Comparison("=", self.attribute, _stored(self._prefix.removesuffix(self._separator.character)))
        text = self._text(value)
        whole = Comparison("=", self.attribute, _stored(text))
        if self._is_last:
            return whole
        longer = FunctionCondition("begins_with", self.attribute, _stored(text + self._separator.character))
        return AnyOf((whole, longer)) if self._may_be_last else longer

    def ordered(self, operator: str, value: Any) -> Condition:
        form = self._segment.form
        assert form is not None
        survives = self._is_last or form.language.continues_at_or_below(self._separator.character) is None
        if not form.ordered or not survives:
            wrong = f"a condition compares {self._field.path[0]!r}, whose texts in the key do not sort as its values do"
            raise DesignError(self._model.name, wrong, "compare it for equality, or remove InKey")
        if descends(form):
            operator = _FALLING[operator]
        text = self._text(value)
        if not self._is_last and operator in ("<=", ">"):
            return Comparison("<" if operator == "<=" else ">=", self.attribute, _stored(text + self._separator.after))
        compared = Comparison(operator, self.attribute, _stored(text))
        return All((compared, Not(self.equal(None)))) if self.is_optional else compared

    def beginning(self, value: Any) -> Condition:
        if not isinstance(self._segment.form, TextPart):
            raise InvalidValue(self._model.name, "it is not text, and has no beginning", *self._field.path)
        return FunctionCondition("begins_with", self.attribute, _stored(self._text(value)))


def _stored(text: str) -> AttributeValue:
    return {"S": text}

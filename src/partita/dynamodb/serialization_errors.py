"""DynamoDB's SerializationExceptions: compares plain JSON with a request's type and finds the first fault.

The messages are those of the service's own decoder, a Java program. A null member of a structure is absent; a null in a
list or a map is an error, since the request without it would be another one.
"""

from typing import Any

from msgspec import inspect

from partita.dynamodb.exceptions import INVALID, SerializationException, ValidationException
from partita.dynamodb.values import AttributeValue

_JAVA_MAP = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"


_NULL_VALUE = "The supplied Item contains a null AttributeValue"
_NULLS_IN_SETS = {
    "SS": INVALID + "An string set may not have a null string as a member",
    "NS": "The parameter cannot be converted to a numeric value",
    "BS": INVALID + "Binary sets may not have null as a member",
}


class _NullMember(Exception):
    """A null in a list or a map, of the given type; `where` is collected from the inside out."""

    def __init__(self, wanted: inspect.Type) -> None:
        self.wanted = wanted
        self.where: list[str | int] = []


def coerced(raw: Any, request_type: type) -> Any:
    """The JSON without null members and after DynamoDB's conversions; raises the exception of the first fault."""
    if not isinstance(raw, dict):
        raise SerializationException("Start of structure or map expected")
    try:
        return _structure(raw, inspect.type_info(request_type))
    except _NullMember as error:
        raise _null_error(error.wanted, error.where[::-1]) from None


def _null_error(wanted: inspect.Type, where: list[str | int]) -> ValidationException:
    if isinstance(wanted, inspect.TypedDictType) and wanted.cls is AttributeValue:
        message = _NULL_VALUE
        if isinstance(where[-1], str) and where[-2] != "ExpressionAttributeValues":
            message += f": {where[-1]} is null"
    elif where[-2] in _NULLS_IN_SETS:
        message = _NULLS_IN_SETS[str(where[-2])]
    else:
        path = ".".join(name[:1].lower() + name[1:] for name in map(str, where))
        return ValidationException(
            f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
        )
    if where[0] == "ExpressionAttributeValues":
        message = f"ExpressionAttributeValues contains invalid value: {message} for key {where[1]}"
    return ValidationException(message)


def _member(name: str | int, value: Any, wanted: inspect.Type) -> Any:
    try:
        return _walk(value, wanted)
    except _NullMember as error:
        error.where.append(name)
        raise


def _walk(value: Any, wanted: inspect.Type) -> Any:
    if isinstance(wanted, inspect.UnionType):
        wanted = next(each for each in wanted.types if not isinstance(each, inspect.NoneType))
    if value is None:
        raise _NullMember(wanted)
    if isinstance(wanted, inspect.StructType | inspect.TypedDictType):
        return _structure(value, wanted)
    if isinstance(wanted, inspect.DictType):
        return _map(value, wanted)
    if isinstance(wanted, inspect.ListType):
        return _list(value, wanted)
    if isinstance(wanted, inspect.BoolType):
        return _boolean(value)
    if isinstance(wanted, inspect.IntType):
        return _integer(value)
    if isinstance(wanted, inspect.FloatType):
        return _number(value)
    return _text(value)


def _structure(value: Any, wanted: inspect.Type) -> Any:
    if isinstance(value, list):
        raise SerializationException("Unrecognized collection type class " + _class_name(wanted))
    if not isinstance(value, dict):
        raise SerializationException("Unexpected value type in payload")
    fields: Any = wanted.fields  # type: ignore[attr-defined]
    known = {field.encode_name: field.type for field in fields}
    present = {name: each for name, each in value.items() if name in known and each is not None}
    return {name: _member(name, each, known[name]) for name, each in present.items()}


def _class_name(wanted: inspect.Type) -> str:
    cls: type = wanted.cls  # type: ignore[attr-defined]
    return f"com.amazonaws.dynamodb.v20120810.{cls.__name__}"


def _map(value: Any, wanted: inspect.DictType) -> Any:
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type {_JAVA_MAP}")
    if not isinstance(value, dict):
        raise SerializationException("Unexpected field type")
    return {name: _member(name, each, wanted.value_type) for name, each in value.items()}


def _list(value: Any, wanted: inspect.ListType) -> Any:
    if isinstance(value, dict):
        raise SerializationException("Start of structure or map found where not expected")
    if not isinstance(value, list):
        raise SerializationException("Unexpected field type")
    return [_member(number, each, wanted.item_type) for number, each in enumerate(value, 1)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _scalar_error(value, "String")


def _integer(value: Any) -> int:
    if isinstance(value, float) and value == value and abs(value) < 1e18:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if -(1 << 63) <= value < 1 << 63:
            return value
        raise SerializationException("NUMBER_VALUE cannot be converted to Long")
    raise _scalar_error(value, "Integer")


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _scalar_error(value, "Double")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value.lower() in ("true", "1", "yes"):
            return True
        if value.lower() in ("false", "0", "no"):
            return False
        raise SerializationException("Unexpected token received from parser")
    raise _scalar_error(value, "Boolean")


def _scalar_error(value: Any, wanted: str) -> SerializationException:
    if isinstance(value, list):
        return SerializationException(f"Unrecognized collection type class java.lang.{wanted}")
    if isinstance(value, dict):
        return SerializationException("Start of structure or map found where not expected")
    if isinstance(value, bool):
        return SerializationException(f"{str(value).upper()}_VALUE cannot be converted to {wanted}")
    kind = "STRING" if isinstance(value, str) else "DECIMAL" if isinstance(value, float) else "NUMBER"
    return SerializationException(f"{kind}_VALUE cannot be converted to {wanted}")

"""DynamoDB's SerializationExceptions: compares plain JSON with a request's type and finds the first fault.

The messages are those of the service's own decoder, a Java program.
"""

from typing import Any

from msgspec import inspect

from partita.dynamodb.exceptions import SerializationException

_JAVA_MAP = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"


def coerced(raw: Any, request_type: type) -> Any:
    """The JSON without nulls and after DynamoDB's conversions; raises the SerializationException of the first fault."""
    if not isinstance(raw, dict):
        raise SerializationException("Start of structure or map expected")
    return _structure(raw, inspect.type_info(request_type))


def _walk(value: Any, wanted: inspect.Type) -> Any:
    if isinstance(wanted, inspect.UnionType):
        wanted = next(each for each in wanted.types if not isinstance(each, inspect.NoneType))
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
    return {name: _walk(each, known[name]) for name, each in value.items() if name in known and each is not None}


def _class_name(wanted: inspect.Type) -> str:
    cls: type = wanted.cls  # type: ignore[attr-defined]
    return f"com.amazonaws.dynamodb.v20120810.{cls.__name__}"


def _map(value: Any, wanted: inspect.DictType) -> Any:
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type {_JAVA_MAP}")
    if not isinstance(value, dict):
        raise SerializationException("Unexpected field type")
    return {name: _walk(each, wanted.value_type) for name, each in value.items() if each is not None}


def _list(value: Any, wanted: inspect.ListType) -> Any:
    if isinstance(value, dict):
        raise SerializationException("Start of structure or map found where not expected")
    if not isinstance(value, list):
        raise SerializationException("Unexpected field type")
    return [_walk(each, wanted.item_type) for each in value if each is not None]


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

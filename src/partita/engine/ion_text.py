"""Items in Amazon Ion: written as DynamoDB writes them, and read with `amazon.ion`.

    S string    N decimal    B blob    BOOL bool    NULL null    L list    M struct
    SS, NS, BS  list with the annotation $dynamodb_SS, $dynamodb_NS, $dynamodb_BS

(Developer Guide, "DynamoDB table export output format".)
"""

import io
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import IO, Any

import msgspec

from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.values import AttributeValue, Item
from partita.engine.data_errors import InvalidRecord, UnreadableObject

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = {"null", "true", "false", "nan"}
_SETS = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}
_BINARY = b"\xe0\x01\x00\xea"  # how binary Ion begins
MAX_VALUE = 8 * ITEM_BYTES  # bytes of one text: the C parser's own limit is 20,000
_encode = msgspec.json.encode


def ion_line(members: dict[str, Item]) -> bytes:
    """One line of an export.

    >>> ion_line({"Item": {"Id": {"N": "103"}, "Authors": {"SS": ["a", "b"]}}})
    b'$ion_1_0 {Item:{Id:103.,Authors:$dynamodb_SS::["a","b"]}}\\n'
    """
    body = ",".join(f"{_name(name)}:{_struct(item)}" for name, item in members.items())
    return f"$ion_1_0 {{{body}}}\n".encode()


def _struct(item: Item) -> str:
    return "{" + ",".join(f"{_name(name)}:{_value(value)}" for name, value in item.items()) + "}"


def _name(name: str) -> str:
    return name if _SYMBOL.fullmatch(name) and name not in _KEYWORDS else _string(name)


def _string(text: str) -> str:
    return _encode(text).decode()


def _number(text: str) -> str:
    return text if "." in text else f"{text}."


def _blob(text: str) -> str:
    return "{{" + text + "}}"


def _value(value: AttributeValue) -> str:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return _string(content)
        case "N":
            return _number(content)
        case "B":
            return _blob(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "null"
        case "L":
            return "[" + ",".join(map(_value, content)) + "]"
        case "M":
            return _struct(content)
    write = {"SS": _string, "NS": _number, "BS": _blob}[kind]
    return f"$dynamodb_{kind}::[" + ",".join(map(write, content)) + "]"


def read_ion(stream: IO[bytes]) -> Iterator[dict[str, Any] | InvalidRecord]:
    """The structs of a stream, in text or binary, one by one or in lists, as DynamoDB JSON; errors of other values."""
    values = _values(stream)
    while True:
        try:
            value = next(values, None)
        except Exception as error:  # noqa: BLE001 - the parser in Python raises TypeError, IndexError and others
            raise UnreadableObject(f"not Ion: {error}") from None
        if value is None:
            return
        for each in value if isinstance(value, list) else [value]:
            yield _record(each)


def _values(stream: IO[bytes]) -> Iterator[Any]:
    """The top-level values. Binary is read in Python: the C parser stops all threads for ever at a damaged file."""
    from amazon.ion.simpleion import load, load_python

    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    if buffered.peek(len(_BINARY))[: len(_BINARY)] == _BINARY:
        yield from load_python(buffered, single_value=False, parse_eagerly=False)
    else:
        yield from load(buffered, single_value=False, parse_eagerly=False, text_buffer_size_limit=MAX_VALUE)


def _record(value: Any) -> dict[str, Any] | InvalidRecord:
    if not isinstance(value, Mapping):
        return InvalidRecord("a record is not a struct")
    try:
        return {str(name): _item(each) if isinstance(each, Mapping) else str(each) for name, each in value.items()}
    except InvalidRecord as error:
        return error


def _item(struct: Any) -> Item:
    return {str(name): _attribute(each) for name, each in struct.items()}


def _attribute(value: Any, depth: int = 0) -> AttributeValue:
    kind = value.ion_type.name
    if kind == "NULL" or type(value).__name__ == "IonPyNull":
        return {"NULL": True}
    if depth > 40:
        raise InvalidRecord("nested too deeply")
    match kind:
        case "STRING":
            return {"S": str(value)}
        case "BOOL":
            return {"BOOL": bool(value)}
        case "DECIMAL" | "INT":
            return {"N": _number_text(value)}
        case "BLOB" | "CLOB":
            return {"B": b64encode(bytes(value)).decode()}
        case "STRUCT":
            return {"M": {str(name): _attribute(each, depth + 1) for name, each in value.items()}}
        case "LIST":
            return _list(value, depth)
    raise InvalidRecord(f"Ion's {kind.lower()} has no type in DynamoDB")


def _number_text(value: Any) -> str:
    return str(Decimal(value)) if isinstance(value, Decimal) else str(int(value))


def _list(value: Any, depth: int) -> AttributeValue:
    members = [_attribute(each, depth + 1) for each in value]
    kinds = [_SETS[each.text] for each in value.ion_annotations if each.text in _SETS]
    if not kinds:
        return {"L": members}
    kind = kinds[0]
    if any(kind[0] not in member for member in members):
        raise InvalidRecord(f"a member of a set {kind} has another type")
    return {kind: [member[kind[0]] for member in members]}

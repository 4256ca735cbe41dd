"""Values as pages show them: DynamoDB's types exactly, plain values of entities, both shortened where they are long."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from partita.design.json_codec import encoded, encoded_sorted, open_decimal
from partita.dynamodb.canonical import binary_size
from partita.dynamodb.values import SETS, AttributeValue, Item, type_of
from partita.studio.markup import Markup, el

CELL = 80  # characters in a table
COLUMNS = 40  # of a table
LONG = 20_000  # characters on the page of an item
_decode = msgspec.json.Decoder(float_hook=open_decimal).decode
TYPE_NAMES = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "NULL": "Null",
    "SS": "String set",
    "NS": "Number set",
    "BS": "Binary set",
    "L": "List",
    "M": "Map",
}


def plain_values(entity: Any) -> dict[str, Any]:
    """An entity as plain JSON values, equal for equal entities; a number keeps all of its digits."""
    found: dict[str, Any] = _decode(encoded_sorted(entity))
    return found


def json_text(value: Any, *, indent: int = 0) -> str:
    """A plain value, or one in DynamoDB JSON, as JSON text."""
    return msgspec.json.format(encoded(value), indent=indent or -1).decode()


def shortened(text: str, most: int) -> str:
    """The beginning of a text that is longer.

    >>> shortened("abcdef", 4), shortened("abc", 4)
    ('abcd…', 'abc')
    """
    return text if len(text) <= most else text[:most] + "…"


def attribute_text(value: AttributeValue) -> str:
    """The content of an attribute without its type; the texts of a set in quotation marks.

    >>> attribute_text({"NS": ["1", "2"]}), attribute_text({"B": "AAA="}), attribute_text({"M": {"a": {"S": "b"}}})
    ('1, 2', 'AAA=', '{"a":{"S":"b"}}')
    >>> attribute_text({"SS": ["a, b", "c"]})
    '"a, b", "c"'
    """
    kind = type_of(value)
    content = value[kind]
    if kind in ("S", "N", "B"):
        return str(content)
    if kind == "SS":
        return ", ".join(json_text(each) for each in content)
    if kind in SETS:
        return ", ".join(map(str, content))
    if kind == "NULL":
        return "null"
    return str(content).lower() if kind == "BOOL" else msgspec.json.encode(content).decode()


def attribute_cell(value: AttributeValue | None, most: int = CELL) -> Markup:
    """An attribute in a table: its type, and its content isolated from the direction of other text."""
    if value is None:
        return el("span", "-", cls="absent", title="absent")
    kind = type_of(value)
    text = attribute_text(value)
    size = f" ({binary_size(value['B']):,} bytes)" if kind == "B" else ""
    return el(
        "span",
        el("abbr", kind, cls="type", title=TYPE_NAMES[kind] + size),
        el("bdi", shortened(text, most), cls=f"value {kind.lower()}", dir="auto" if kind in ("S", "SS") else "ltr"),
        cls="cell",
    )


def plain_cell(value: Any, most: int = CELL) -> Markup:
    """A plain value of an entity in a table."""
    if value is None:
        return el("span", "null", cls="absent")
    if isinstance(value, bool):
        return el("span", str(value).lower(), cls="value bool")
    if isinstance(value, int | float | Decimal):
        return el("span", str(value), cls="value n")
    if isinstance(value, str):
        return el("bdi", shortened(value, most), cls="value s", dir="auto")
    return el("bdi", shortened(json_text(value), most), cls="value m", dir="ltr")


class Columns(NamedTuple):
    """The names of a table's columns, and those that have no column because there are too many."""

    shown: list[str]
    left_out: list[str]


def columns_of(rows: Sequence[Mapping[str, Any]], first: tuple[str, ...] = ()) -> Columns:
    """The names in any row, the keys first, then in the order in which they occur."""
    names = dict.fromkeys(first)
    for row in rows:
        names.update(dict.fromkeys(row))
    every = list(names)
    return Columns(every[:COLUMNS], every[COLUMNS:])


def item_json(item: Item) -> str:
    """An item in DynamoDB JSON, indented."""
    return msgspec.json.format(msgspec.json.encode(item), indent=2).decode()

"""What the functions of a condition say of values: `size`, `begins_with`, `contains`, `attribute_type`."""

from base64 import b64decode

from partita.dynamodb.values import SETS, AttributeValue, type_of
from partita.engine.values import binary_size, text_size


def size(value: AttributeValue | None) -> AttributeValue | None:
    """What `size` gives: bytes of text and binary, members of a collection; nothing for other types."""
    if value is None:
        return None
    kind = type_of(value)
    if kind == "S":
        return {"N": str(text_size(value["S"]))}
    if kind == "B":
        return {"N": str(binary_size(value["B"]))}
    if kind in ("L", "M", *SETS):
        return {"N": str(len(value[kind]))}
    return None


def begins_with(value: AttributeValue | None, prefix: AttributeValue | None) -> bool:
    if value is None or prefix is None:
        return False
    if "S" in value and "S" in prefix:
        return bool(value["S"].startswith(prefix["S"]))
    return "B" in value and "B" in prefix and b64decode(value["B"]).startswith(b64decode(prefix["B"]))


def contains(value: AttributeValue | None, wanted: AttributeValue | None) -> bool:
    """A substring, a member of a set, or an element of a list."""
    if value is None or wanted is None:
        return False
    kind, wanted_kind = type_of(value), type_of(wanted)
    if kind == "L":
        return wanted in value["L"]
    if SETS.get(kind) == wanted_kind:
        return wanted[wanted_kind] in value[kind]
    if kind == wanted_kind == "S":
        return wanted["S"] in value["S"]
    return kind == wanted_kind == "B" and b64decode(wanted["B"]) in b64decode(value["B"])


def has_type(value: AttributeValue | None, named: AttributeValue | None) -> bool:
    return value is not None and named is not None and type_of(value) == named["S"]

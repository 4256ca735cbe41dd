"""What reads and writes cost: item sizes and capacity units, as the Developer Guide counts them."""

from decimal import Decimal
from math import ceil

from partita.design.models import Model
from partita.design.tables import Index
from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue, Item


def item_size(item: Item) -> int:
    """Bytes of all attribute names and values.

    >>> item_size({"PK": {"S": "a"}, "n": {"N": "-12.5"}})
    8
    """
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def value_size(value: AttributeValue) -> int:
    """Text and binary by their bytes, numbers by pairs of digits, documents with three bytes and one an element."""
    ((tag, held),) = value.items()
    if tag == "S":
        return len(str(held).encode())
    if tag == "N":
        return _number_size(held)
    if tag == "B":
        return len(held) // 4 * 3 - int(held.count("="))
    if tag in ("SS", "NS", "BS"):
        return sum(value_size({tag[0]: each}) for each in held)
    if tag == "L":
        return 3 + sum(1 + value_size(each) for each in held)
    if tag == "M":
        return 3 + sum(1 + len(name.encode()) + value_size(each) for name, each in held.items())
    return 1


def _number_size(text: str) -> int:
    """One byte, one for each pair of digits counted from the point, one for a sign; outer pairs of zeros are free."""
    number = Decimal(text)
    if not number:
        return 1
    whole, _, fraction = f"{number.copy_abs():f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    pairs = ceil(len(whole) / 2) + ceil(len(fraction) / 2)
    if not fraction:
        pairs -= (len(whole) - len(whole.rstrip("0"))) // 2
    if not whole:
        pairs -= (len(fraction) - len(fraction.lstrip("0"))) // 2
    return 1 + pairs + (number < 0)


def write_units(size: int) -> int:
    """Units to write an item of this size."""
    return ceil(max(size, 1) / limits.WRITE_UNIT_BYTES)


def index_units(model: Model, item: Item) -> dict[str, int]:
    """Units of each index that a new item enters: it has all of the index's keys."""
    return {
        index.name: write_units(item_size(_projected(index, model, item)))
        for index in model.table.indexes
        if all(name in item for name in index.pk + index.sk)
    }


def _projected(index: Index, model: Model, item: Item) -> Item:
    if index.project == "ALL":
        return item
    named = () if index.project == "KEYS_ONLY" else index.project
    held = {*model.table.key_names, *index.pk, *index.sk, *named}
    return {name: value for name, value in item.items() if name in held}

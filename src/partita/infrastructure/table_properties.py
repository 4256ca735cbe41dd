"""The properties of a table as CloudFormation names them: those of CreateTable, and settings of later requests."""

from hashlib import blake2b
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.plan.table_definitions import create_table, settings

Properties = dict[str, Any]


def table_properties(table: Table) -> Properties:
    """The properties of a design's table: keys, indexes, stream, TTL and point-in-time recovery."""
    found: Properties = msgspec.to_builtins(create_table(table))
    if "StreamSpecification" in found:
        found["StreamSpecification"].pop("StreamEnabled")  # CloudFormation has no such member
    for request in settings(table):
        several: Properties = msgspec.to_builtins(request)
        found |= {name: value for name, value in several.items() if name != "TableName"}
    return found


class ResourceNames:
    """Gives each thing a name of its own: of two with the same one, the second gets a digest of what it is."""

    def __init__(self) -> None:
        self._things: dict[str, str] = {}

    def of(self, thing: str, name: str) -> str:
        """The name of a thing; the same whenever it is asked for.

        >>> names = ResourceNames()
        >>> names.of("shop.a", "ShopA"), names.of("shop-a", "ShopA"), names.of("shop.a", "ShopA")
        ('ShopA', 'ShopA13852922', 'ShopA')
        """
        if self._things.setdefault(name, thing) == thing:
            return name
        return name + blake2b(thing.encode(), digest_size=4).hexdigest()


def logical_name(*words: str) -> str:
    """A name of letters and digits for a resource.

    >>> logical_name("partita-jobs", "Table")
    'PartitaJobsTable'
    """
    separated = "".join(each if each.isalnum() else " " for each in " ".join(words))
    return "".join(word[:1].upper() + word[1:] for word in separated.split())

"""The properties of a table as CloudFormation names them: those of CreateTable, and settings of later requests."""

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


def logical_name(*words: str) -> str:
    """A name of letters and digits for a resource.

    >>> logical_name("partita-jobs", "Table")
    'PartitaJobsTable'
    """
    separated = "".join(each if each.isalnum() else " " for each in " ".join(words))
    return "".join(word[:1].upper() + word[1:] for word in separated.split())

"""Alarms of a table: requests that DynamoDB throttled, and its own errors."""

from collections.abc import Iterator

import msgspec

from partita.design.tables import Table
from partita.infrastructure.table_properties import ResourceNames

OPERATIONS = (
    "GetItem",
    "BatchGetItem",
    "Query",
    "Scan",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "TransactWriteItems",
)
"""The operations whose errors are added up: CloudWatch has them by operation only, and ten in an expression."""

MINUTES = 5


class Alarm(msgspec.Struct, frozen=True):
    """An alarm that is raised when the sum of a metric in a minute is above zero for some minutes."""

    name: str
    description: str
    metric: str
    dimensions: dict[str, str]
    operations: tuple[str, ...] = ()  # the metric is that of all of these together


def alarms(table: Table, names: ResourceNames) -> Iterator[Alarm]:
    """The alarms of a table and its global indexes, with names of their own among all that `names` has given."""
    places = [(table.name, {"TableName": table.name})]
    places += [
        (f"{table.name}-{index.name}", {"TableName": table.name, "GlobalSecondaryIndexName": index.name})
        for index in table.indexes
        if not index.local
    ]
    for place, dimensions in places:
        name = names.of(str(dimensions), place)
        for kind in ("Read", "Write"):
            metric = f"{kind}ThrottleEvents"
            what = f"{kind.lower()}s of {' index '.join(dimensions.values())} were throttled for {MINUTES} minutes"
            yield Alarm(f"{name}-{metric}", f"Some {what}.", metric, dimensions)
    about = f"DynamoDB answered requests for {table.name} with its own errors for {MINUTES} minutes."
    name = names.of(str(places[0][1]), table.name)
    yield Alarm(f"{name}-SystemErrors", about, "SystemErrors", {"TableName": table.name}, OPERATIONS)

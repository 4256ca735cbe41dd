"""Helpers for most tests of the engine: a table in one line, a clock moved by the test, an engine on each storage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from partita.engine.change_log import LogRecord, read_changes
from partita.engine.engine import Engine
from partita.engine.verify import find_problems
from tests.engine.shorthand import Answer, Embedded, Json, open_engine


class Clock:
    """A clock that the test moves."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Bench(Embedded):
    """An engine whose clock and background work the test moves."""

    def __init__(self, address: str = "memory:", clock: Clock | None = None, buckets: Path | None = None) -> None:
        self.clock = clock or Clock()
        self.address = address
        self.buckets = buckets
        super().__init__(open_engine(address, self.clock, buckets))

    def reopen(self) -> None:
        """Closes the engine and opens it again, as a new process would; only a file keeps its data."""
        self.engine.close()
        self.engine = open_engine(self.address, self.clock, self.buckets)

    def ok(self, operation: str, **body: Any) -> Json:
        """Returns the reply; an error fails the test."""
        answer = self.ask(operation, body)
        assert not answer.error, answer.error
        return answer.body

    def error(self, operation: str, **body: Any) -> str:
        """`Code: message`."""
        answer = self.ask(operation, body)
        assert answer.error, f"{operation} was accepted: {answer.body}"
        return answer.error

    def failed(self, operation: str, **body: Any) -> Answer:
        answer = self.ask(operation, body)
        assert answer.error, f"{operation} was accepted: {answer.body}"
        return answer

    def table(self, name: str, keys: str, *indexes: Json, local: tuple[Json, ...] = (), **more: Any) -> str:
        """`table("notes", "pk:S sk:N", index("byDay", "day:S"))`."""
        types = dict(part.split(":") for part in keys.split())
        for each in (*indexes, *local):
            types |= each.pop("_types")
        body = {
            "TableName": name,
            "KeySchema": _schema(keys),
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in types.items()],
            "BillingMode": "PAY_PER_REQUEST",
            **more,
        }
        if indexes:
            body["GlobalSecondaryIndexes"] = list(indexes)
        if local:
            body["LocalSecondaryIndexes"] = list(local)
        self.ok("CreateTable", **body)
        return name

    def put(self, table: str, **item: Any) -> Json:
        return self.ok("PutItem", TableName=table, Item=plain(item))

    def get(self, table: str, **key: Any) -> Json | None:
        item: Json | None = self.ok("GetItem", TableName=table, Key=plain(key)).get("Item")
        return item

    def rows(self, table: str, index: str | None = None) -> list[Json]:
        """Returns all rows of a table or index."""
        body: Json = {"TableName": table} | ({"IndexName": index} if index else {})
        found: list[Json] = []
        while True:
            page = self.ok("Scan", **body)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def changes(self, table: str) -> list[LogRecord]:
        """Returns the change log of a table."""
        context = self.engine._context
        return [
            change for _, change in read_changes(context.storage, context.catalog.table_in_txn(table), 0, 1_000_000)
        ]

    def settle(self) -> None:
        """Runs the background work to its end."""
        while self.engine.maintenance.step():
            pass


def index(name: str, keys: str, projection: str = "ALL", include: str = "") -> Json:
    """A secondary index; `keys` as in `Bench.table`, several HASH keys joined by a plus: `a:S+b:S c:N`."""
    described: Json = {"ProjectionType": projection}
    if include:
        described["NonKeyAttributes"] = include.split()
    types = dict(part.split(":") for part in keys.replace("+", " ").split())
    return {"IndexName": name, "KeySchema": _schema(keys), "Projection": described, "_types": types}


def _schema(keys: str) -> list[Json]:
    schema: list[Json] = []
    for place, part in enumerate(keys.split()):
        kind = "HASH" if place == 0 else "RANGE"
        schema += [{"AttributeName": each.split(":")[0], "KeyType": kind} for each in part.split("+")]
    return schema


def plain(item: dict[str, Any]) -> Json:
    """Python values as attribute values; a dict that is one already is unchanged."""
    return {name: value(each) for name, each in item.items()}


def value(python: Any) -> Json:
    match python:
        case dict():
            return python
        case bool():
            return {"BOOL": python}
        case None:
            return {"NULL": True}
        case int() | float():
            return {"N": str(python)}
        case list():
            return {"L": [value(each) for each in python]}
        case _:
            return {"S": python}


def numbers(prefix: str, count: int) -> Iterator[str]:
    """`a0000`, `a0001`, ..."""
    return (f"{prefix}{number:04}" for number in range(count))


def problems_of(engine: Engine) -> list[str]:
    """The inconsistencies of an engine's storage."""
    with engine._context.storage.snapshot() as reader:
        return list(find_problems(reader))

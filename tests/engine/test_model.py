"""Random histories compared with a dictionary: after each step the engine has the items of the dictionary.

Items, a local and two global indexes, batches, transactions, the stream, restarts and a backfill, on both storages.
"""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, problems_of

pytestmark = pytest.mark.slow

Key = tuple[str, str]

partitions = st.sampled_from(["a", "b", "c"])
sorts = st.sampled_from(["1", "2", "10"])
keys = st.tuples(partitions, sorts)
groups = st.sampled_from(["x", "y"])
heights = st.sampled_from(["1", "2", "-3"])
values = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=3)),
    st.builds(lambda number: {"N": str(number)}, st.integers(-5, 5)),
    st.builds(lambda size: {"S": "x" * size}, st.sampled_from([1500, 2500, 9000])),
    st.just({"L": [{"M": {"k": {"BOOL": True}}}]}),
)
optional_groups = st.none() | groups
optional_heights = st.none() | heights
optional_values = st.none() | values


def item_of(key: Key, group: str | None, height: str | None, value: Json | None) -> Json:
    item: Json = {"pk": {"S": key[0]}, "sk": {"N": key[1]}}
    if group is not None:
        item["g"] = {"S": group}
    if height is not None:
        item["h"] = {"N": height}
    if value is not None:
        item["v"] = value
    return item


items = st.builds(item_of, keys, optional_groups, optional_heights, optional_values)


def key_of(item: Json) -> Key:
    return item["pk"]["S"], item["sk"]["N"]


def wire_key(key: Key) -> Json:
    return {"pk": {"S": key[0]}, "sk": {"N": key[1]}}


def canonical(rows: list[Json]) -> list[str]:
    return sorted(msgspec.json.encode(row, order="deterministic").decode() for row in rows)


class Model(RuleBasedStateMachine):
    """`items` is the dictionary; the indexes and the stream are derived from it."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[Key, Json] = {}
        self.has_late_index = False
        self.bench = Bench(self.make_address())

    def make_address(self) -> str:
        return "memory:"

    def teardown(self) -> None:
        self.bench.engine.close()

    @initialize()
    def make_table(self) -> None:
        self.bench.table(
            "model",
            "pk:S sk:N",
            index("all", "g:S h:N", "ALL"),
            index("some", "h:N", "INCLUDE", "v"),
            local=(index("local", "pk:S g:S", "KEYS_ONLY"),),
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )

    # Writes

    @rule(item=items)
    def put(self, item: Json) -> None:
        answer = self.bench.ok("PutItem", TableName="model", Item=item, ReturnValues="ALL_OLD")
        assert answer.get("Attributes") == self.items.get(key_of(item))
        self.items[key_of(item)] = item

    @rule(key=keys)
    def delete(self, key: Key) -> None:
        answer = self.bench.ok("DeleteItem", TableName="model", Key=wire_key(key), ReturnValues="ALL_OLD")
        assert answer.get("Attributes") == self.items.pop(key, None)

    @rule(item=items)
    def put_if_new(self, item: Json) -> None:
        answer = self.bench.ask(
            "PutItem", {"TableName": "model", "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        )
        if key_of(item) in self.items:
            assert answer.code == "ConditionalCheckFailedException"
        else:
            assert not answer.error
            self.items[key_of(item)] = item

    @rule(key=keys, group=optional_groups, height=optional_heights, value=optional_values)
    def update(self, key: Key, group: str | None, height: str | None, value: Json | None) -> None:
        body, after = self._update(key, group, height, value)
        answer = self.bench.ok("UpdateItem", TableName="model", ReturnValues="ALL_NEW", **body)
        assert answer.get("Attributes") == after
        if after is not None:
            self.items[key] = after

    def _update(self, key: Key, group: str | None, height: str | None, value: Json | None) -> tuple[Json, Json | None]:
        """Sets the given attributes and removes the others; returns the request and the item after it."""
        wanted: Json = {
            "g": {"S": group} if group is not None else None,
            "h": {"N": height} if height is not None else None,
            "v": value,
        }
        given = {name: each for name, each in wanted.items() if each is not None}
        missing = [name for name in wanted if name not in given]
        parts = []
        if given:
            parts.append("SET " + ", ".join(f"{name} = :{name}" for name in given))
        if missing:
            parts.append("REMOVE " + ", ".join(missing))
        body: Json = {"Key": wire_key(key), "UpdateExpression": " ".join(parts)}
        if given:
            body["ExpressionAttributeValues"] = {f":{name}": each for name, each in given.items()}
        if key not in self.items and not given:
            return body, None
        return body, wire_key(key) | given

    @rule(
        changes=st.lists(
            st.tuples(items, st.booleans()), min_size=1, max_size=5, unique_by=lambda each: key_of(each[0])
        )
    )
    def batch(self, changes: list[tuple[Json, bool]]) -> None:
        requests = [
            {"DeleteRequest": {"Key": wire_key(key_of(item))}} if deletes else {"PutRequest": {"Item": item}}
            for item, deletes in changes
        ]
        self.bench.ok("BatchWriteItem", RequestItems={"model": requests})
        for item, deletes in changes:
            if deletes:
                self.items.pop(key_of(item), None)
            else:
                self.items[key_of(item)] = item

    @rule(
        changes=st.lists(
            st.tuples(items, st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"]), st.booleans()),
            min_size=1,
            max_size=5,
            unique_by=lambda each: key_of(each[0]),
        )
    )
    def transact(self, changes: list[tuple[Json, str, bool]]) -> None:
        """Each action may require that its item exists; one that does not cancels the transaction."""
        actions: list[Json] = []
        after = dict(self.items)
        fails = False
        for item, kind, must_exist in changes:
            key = key_of(item)
            body: Json = {"TableName": "model"}
            if kind == "Put":
                body["Item"] = item
                after[key] = item
            elif kind == "Update":
                update, made = self._update(key, item.get("g", {}).get("S"), item.get("h", {}).get("N"), item.get("v"))
                body |= update
                if made is not None:
                    after[key] = made
            else:
                body["Key"] = wire_key(key)
                if kind == "Delete":
                    after.pop(key, None)
            if must_exist or kind == "ConditionCheck":
                body["ConditionExpression"] = "attribute_exists(pk)"
                fails = fails or key not in self.items
            actions.append({kind: body})
        answer = self.bench.ask("TransactWriteItems", {"TransactItems": actions})
        assert answer.code == ("TransactionCanceledException" if fails else ""), answer
        if not fails:
            self.items = after

    # Reads

    @rule(partition=partitions, forward=st.booleans(), limit=st.none() | st.integers(1, 4))
    def query(self, partition: str, forward: bool, limit: int | None) -> None:
        body: Json = {
            "TableName": "model",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": partition}},
            "ScanIndexForward": forward,
        } | ({"Limit": limit} if limit else {})
        expected = sorted(
            (item for key, item in self.items.items() if key[0] == partition), key=lambda item: float(item["sk"]["N"])
        )
        assert self._paged("Query", body) == (expected if forward else expected[::-1])

    @rule(group=groups, low=heights, forward=st.booleans(), limit=st.none() | st.integers(1, 4))
    def query_index(self, group: str, low: str, forward: bool, limit: int | None) -> None:
        body: Json = {
            "TableName": "model",
            "IndexName": "all",
            "KeyConditionExpression": "g = :g AND h >= :h",
            "ExpressionAttributeValues": {":g": {"S": group}, ":h": {"N": low}},
            "ScanIndexForward": forward,
        } | ({"Limit": limit} if limit else {})
        found = self._paged("Query", body)
        expected = [
            item
            for item in self.items.values()
            if item.get("g") == {"S": group} and float(item.get("h", {}).get("N", "-99")) >= float(low)
        ]
        assert canonical(found) == canonical(expected)
        order = [float(item["h"]["N"]) for item in found]
        assert order == sorted(order, reverse=not forward)

    @rule(segments=st.integers(1, 5), limit=st.none() | st.integers(1, 3))
    def scan(self, segments: int, limit: int | None) -> None:
        found: list[Json] = []
        for segment in range(segments):
            body: Json = {"TableName": "model", "Segment": segment, "TotalSegments": segments}
            found += self._paged("Scan", body | ({"Limit": limit} if limit else {}))
        assert canonical(found) == canonical(list(self.items.values()))

    def _paged(self, operation: str, body: Json) -> list[Json]:
        found: list[Json] = []
        while True:
            page = self.bench.ok(operation, **body)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            body = body | {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    # The table itself

    @precondition(lambda self: not self.has_late_index)
    @rule()
    def add_index(self) -> None:
        self.has_late_index = True
        self.bench.ok(
            "UpdateTable",
            TableName="model",
            AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[
                {
                    "Create": {
                        "IndexName": "late",
                        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                }
            ],
        )

    @precondition(lambda self: self.has_late_index)
    @rule()
    def remove_index(self) -> None:
        self.bench.settle()
        self.has_late_index = False
        self.bench.ok("UpdateTable", TableName="model", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "late"}}])
        self.bench.settle()

    @rule(seconds=st.sampled_from([0.0, 0.001, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.clock.now += seconds

    # What always holds

    @invariant()
    def table_and_indexes_equal_the_model(self) -> None:
        if "model" not in self.bench.engine._context.catalog.tables:
            return
        everything = list(self.items.values())
        assert canonical(self.bench.rows("model")) == canonical(everything)
        grouped = [item for item in everything if "g" in item]
        high = [item for item in everything if "h" in item]
        assert canonical(self.bench.rows("model", "all")) == canonical([item for item in grouped if "h" in item])
        assert canonical(self.bench.rows("model", "some")) == canonical([_only(item, "pk sk h v") for item in high])
        assert canonical(self.bench.rows("model", "local")) == canonical([_only(item, "pk sk g") for item in grouped])
        assert problems_of(self.bench.engine) == []

    @invariant()
    def description_counts_what_is_there(self) -> None:
        if "model" not in self.bench.engine._context.catalog.tables:
            return
        described = self.bench.ok("DescribeTable", TableName="model")["Table"]
        assert described["ItemCount"] == len(self.items)

    @invariant()
    def stream_replayed_is_the_table(self) -> None:
        if "model" not in self.bench.engine._context.catalog.tables:
            return
        replayed: dict[Key, Json] = {}
        for change in self.bench.changes("model"):
            key = key_of(change.keys)
            old: Any = msgspec.json.decode(change.old) if bytes(change.old) else None
            new: Any = msgspec.json.decode(change.new) if bytes(change.new) else None
            assert replayed.get(key) == old, "each record begins where the last one ended"
            assert old != new, "something changed"
            assert change.event == ("INSERT" if old is None else "REMOVE" if new is None else "MODIFY")
            if new is None:
                del replayed[key]
            else:
                replayed[key] = new
        assert replayed == self.items


def _only(item: Json, names: str) -> Json:
    return {name: item[name] for name in names.split() if name in item}


class FiledModel(Model):
    """The same in a file, with restarts."""

    def make_address(self) -> str:
        self.folder = tempfile.TemporaryDirectory()
        return str(Path(self.folder.name) / "model.db")

    @rule()
    def restart(self) -> None:
        self.bench.reopen()

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

TestInMemory = Model.TestCase
TestInMemory.settings = settings(
    max_examples=150, stateful_step_count=50, deadline=None, derandomize=True, suppress_health_check=QUIET
)
TestInAFile = FiledModel.TestCase
TestInAFile.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=QUIET
)

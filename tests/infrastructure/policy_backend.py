"""A backend that allows what an IAM policy allows, for the operations that a store sends."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec

TRANSACTION_ACTIONS = {
    "put": "PutItem",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "condition_check": "ConditionCheckItem",
    "get": "GetItem",
}


class Denied(Exception):
    """The policy does not allow an operation."""


class PolicyBackend:
    """Checks every part of every request against a policy; other tables' requests need their own statements."""

    def __init__(self, backend: Any, policy: dict[str, Any], partition_keys: dict[str, str]) -> None:
        self._backend = backend
        self._statements = policy["Statement"]
        self._partition_keys = partition_keys
        self.used: set[tuple[str, str]] = set()

    def call(self, request: Any) -> Any:
        for action, table, index, key in self._accesses(request):
            self._check(action, table, index, key)
        return self._backend.call(request)

    def _check(self, action: str, table: str, index: str | None, key: str | None) -> None:
        self.used.add((action, table))
        resource = f"arn:aws:dynamodb:eu-west-1:1:table/{table}" + (f"/index/{index}" if index else "")
        for each in self._statements:
            if f"dynamodb:{action}" in each["Action"] and fnmatchcase(resource, each["Resource"]):
                leading = each.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
                if leading is None or (key is not None and any(_is_like(key, one) for one in leading)):
                    return
        raise Denied(f"{action} on {resource} with {key}")

    def _accesses(self, request: Any) -> Iterator[tuple[str, str, str | None, str | None]]:
        """The operations of a request: name, table, index and partition key."""
        name = type(request).__name__
        if name == "BatchGetItem":
            for table, wanted in request.request_items.items():
                yield from ((name, table, None, self._key(table, key)) for key in wanted.keys)
        elif name == "BatchWriteItem":
            for table, several in request.request_items.items():
                for each in several:
                    item = each.put_request.item if each.put_request is not None else each.delete_request.key
                    yield name, table, None, self._key(table, item)
        elif name in ("TransactWriteItems", "TransactGetItems"):
            for each in request.transact_items:
                ((kind, one),) = [(k, getattr(each, k)) for k in each.__struct_fields__ if getattr(each, k) is not None]
                given = one.item if kind == "put" else one.key
                yield TRANSACTION_ACTIONS[kind], one.table_name, None, self._key(one.table_name, given)
        elif name == "Query":
            yield name, request.table_name, request.index_name, _queried_key(request)
        elif name in ("GetItem", "UpdateItem", "DeleteItem"):
            yield name, request.table_name, None, self._key(request.table_name, request.key)
        elif name == "PutItem":
            yield name, request.table_name, None, self._key(request.table_name, request.item)
        else:
            yield name, request.table_name or "", getattr(request, "index_name", None), None

    def _key(self, table: str, item: Any) -> str:
        whole = item if isinstance(item, dict) else msgspec.json.decode(item)
        return str(next(iter(whole[self._partition_keys[table]].values())))


def _queried_key(request: Any) -> str:
    """The value of the partition key of a query, which its condition names first."""
    placeholder = re.search(r"=\s*(:\w+)", request.key_condition_expression)
    assert placeholder is not None
    return str(next(iter(request.expression_attribute_values[placeholder.group(1)].values())))


def _is_like(text: str, pattern: str) -> bool:
    """IAM's StringLike."""
    parts = re.split(r"(\$\{[*?$]\}|\*|\?)", pattern)
    special = {"*": ".*", "?": "."}
    found = "".join(special.get(each) or re.escape(each[2] if each.startswith("${") else each) for each in parts)
    return re.fullmatch(found, text, re.DOTALL) is not None

"""Random requests from a seed, some of them invalid; few keys and attributes, so that they affect each other."""

import base64
from random import Random
from typing import Any

Json = dict[str, Any]

PARTITIONS = ["a", "b", "c"]
SORTS = ["-10", "-1.5", "0", "2", "3", "10", "1e2"]
NAMES = ["a", "b", "c", "n", "s", "l", "m", "ss", "ns"]
TEXTS = ["", "x", "xy", "xyz", "é", "日本", "X" * 40, "a\0b", "10"]
NUMBERS = [
    *(
        "0",
        "1",
        "-1",
        "10",
        "9.5",
        "-0.001",
        "123456789",
        "1E3",
        "1e-5",
        "007",
        "-0",
        "+5",
        "1.50",
        "100000",
        "0.00012",
    ),
    "12345678901234567890123456789012345678",
    "9.9999999999999999999999999999999999999E125",
    "1E-130",
]
BYTES = [b"", b"x", b"\0\xff", b"xyz", b"\xff\xff\xff"]


def table(name: str) -> Json:
    """A table with a local and two global indexes, of every projection."""
    types = {"pk": "S", "sk": "N", "s": "S", "g": "S", "h": "N"}
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in types.items()],
        "KeySchema": _schema("pk", "sk"),
        "BillingMode": "PAY_PER_REQUEST",
        "LocalSecondaryIndexes": [
            {"IndexName": "local", "KeySchema": _schema("pk", "s"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
        ],
        "GlobalSecondaryIndexes": [
            {"IndexName": "whole", "KeySchema": _schema("g", "h"), "Projection": {"ProjectionType": "ALL"}},
            {
                "IndexName": "part",
                "KeySchema": _schema("s"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "m"]},
            },
        ],
    }


def _schema(*names: str) -> list[Json]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


class Generator:
    """A sequence of requests to one table, determined by a seed."""

    def __init__(self, seed: int, table_name: str) -> None:
        self.random = Random(seed)
        self.table = table_name
        self._names: dict[str, str] = {}
        self._values: Json = {}

    def request(self) -> tuple[str, Json]:
        """The next operation and its body."""
        kinds = {
            "PutItem": 20, "UpdateItem": 35, "DeleteItem": 6, "GetItem": 8, "Query": 16, "Scan": 6,
            "BatchGetItem": 3, "BatchWriteItem": 4, "TransactWriteItems": 8, "TransactGetItems": 3,
        }  # fmt: skip
        operation = self.random.choices(list(kinds), list(kinds.values()))[0]
        self._names, self._values = {}, {}
        body: Json = getattr(self, f"_{operation}")()
        if self.often(0.6):
            body["ReturnConsumedCapacity"] = self.pick(["INDEXES", "TOTAL"])
        return operation, body

    # Small choices

    def often(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self, choices: list[Any]) -> Any:
        return self.random.choice(choices)

    def key(self) -> Json:
        return {"pk": {"S": self.pick(PARTITIONS)}, "sk": {"N": self.pick(SORTS)}}

    def value(self, depth: int = 0) -> Json:
        kinds = ["S", "N", "N", "S", "B", "BOOL", "NULL", "SS", "NS", "BS"] + (
            ["L", "L", "M", "M"] if depth < 3 else []
        )
        kind = self.pick(kinds)
        return {kind: self._content(kind, depth)}

    def _content(self, kind: str, depth: int) -> Any:
        match kind:
            case "S":
                return self.pick(TEXTS)
            case "N":
                return self.pick(NUMBERS)
            case "B":
                return _base64(self.pick(BYTES))
            case "BOOL":
                return self.pick([True, False])
            case "NULL":
                return True
            case "SS":
                return self.random.sample(TEXTS, self.random.randint(1, 3))
            case "NS":
                return self.random.sample(["1", "2", "3", "-4.5", "1e3"], self.random.randint(1, 3))
            case "BS":
                return [_base64(each) for each in self.random.sample(BYTES, self.random.randint(1, 3))]
            case "L":
                return [self.value(depth + 1) for _ in range(self.random.randint(0, 4))]
            case _:
                return {
                    name: self.value(depth + 1) for name in self.random.sample(NAMES[:5], self.random.randint(0, 3))
                }

    def item(self) -> Json:
        item = self.key()
        for name in self.random.sample(NAMES, self.random.randint(0, 5)):
            item[name] = self.attribute(name)
        if self.often(0.5):
            item |= {"g": {"S": self.pick(["p", "q"])}, "h": {"N": self.pick(SORTS)}}
        if self.often(0.03):
            item["pad"] = {"S": "p" * self.random.randint(500, 9000)}
        return item

    def attribute(self, name: str) -> Json:
        """Mostly of the type that the name suggests, so that most expressions are valid."""
        if self.often(0.12 if name != "s" else 0.03):
            return self.value()
        if name == "s":
            return {"S": self.pick(["u", "v", "w"])}
        kind = {"l": "L", "m": "M", "ss": "SS", "ns": "NS", "n": "N", "b": "B"}.get(name)
        return {kind: self._content(kind, 0)} if kind else self.value()

    # Expressions

    def name(self, name: str) -> str:
        if self.often(0.5):
            placeholder = f"#{name}"
            self._names[placeholder] = name
            return placeholder
        return name

    def bind(self, value: Json) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def path(self) -> str:
        name = self.pick([*NAMES, "l", "m", "l", "m", "absent"])
        path = self.name(name)
        while name != "s" and self.often(0.35):  # a key has no parts
            path += f"[{self.random.randint(0, 4)}]" if self.often(0.5) else "." + self.name(self.pick(NAMES[:5]))
        return path

    def operand(self) -> str:
        if self.often(0.12):
            return f"size({self.path()})"
        return self.path() if self.often(0.5) else self.bind(self.value())

    def condition(self, depth: int = 0) -> str:
        kind = self.random.randint(0, 11 if depth < 3 else 8)
        match kind:
            case 0 | 1 | 2:
                operator = self.pick(["=", "<>", "<", "<=", ">", ">="])
                scalar = {self.pick(["S", "N"]): self.pick(["1", "10", "007"])}
                return f"{self.operand()} {operator} {self.bind(scalar) if self.often(0.5) else self.operand()}"
            case 3:
                low, high = sorted(self.random.sample(["1", "2", "5", "8"], 2))
                return f"{self.path()} BETWEEN {self.bind({'N': low})} AND {self.bind({'N': high})}"
            case 4:
                choices = ", ".join(self.operand() for _ in range(self.random.randint(1, 3)))
                return f"{self.operand()} IN ({choices})"
            case 5:
                return f"{self.pick(['attribute_exists', 'attribute_not_exists'])}({self.path()})"
            case 6:
                kind_name = self.pick(["S", "N", "B", "SS", "NS", "L", "M", "BOOL", "NULL"])
                return f"attribute_type({self.path()}, {self.bind({'S': kind_name})})"
            case 7:
                prefix = self.pick([{"S": "x"}, {"S": ""}, {"B": _base64(b"\0")}, {"B": ""}, {"S": "1"}])
                return f"begins_with({self.path()}, {self.bind(prefix)})"
            case 8:
                return f"contains({self.path()}, {self.operand()})"
            case 9:
                return f"NOT {self._grouped(depth)}"
            case _:
                word = self.pick(["AND", "OR", "and"])
                return f"{self._grouped(depth)} {word} {self._grouped(depth)}"

    def _grouped(self, depth: int) -> str:
        inner = self.condition(depth + 1)
        return f"({inner})" if self.often(0.3) else inner

    def set_operand(self, depth: int = 0) -> str:
        kind = self.random.randint(0, 9)
        if kind < 3:
            return self.bind(self.value())
        if kind < 5:
            return self.path()
        if kind < 7 and depth < 2:
            return f"if_not_exists({self.path()}, {self.bind(self.value())})"
        if kind < 9 and depth < 2:
            return f"list_append({self.list_operand(depth)}, {self.list_operand(depth)})"
        return self.bind({"N": self.pick(NUMBERS)})

    def list_operand(self, depth: int) -> str:
        kind = self.random.randint(0, 9)
        if kind < 4:
            return self.bind({"L": self._content("L", 2)})
        if kind < 8:
            return self.name("l")
        return f"if_not_exists({self.name('l')}, {self.bind({'L': []})})" if kind < 9 else self.set_operand(depth + 1)

    def update(self) -> str:
        """Mostly one section and few actions, since several on one attribute are rejected; or several in one list."""
        if self.often(0.1):
            return self.list_update()
        sections = self.random.sample(["SET", "REMOVE", "ADD", "DELETE"], self.pick([1, 1, 1, 2]))
        return " ".join(f"{each} {', '.join(self._actions(each))}" for each in sections)

    def list_update(self) -> str:
        inside = "l" if self.often(0.7) else f"m.{self.pick(NAMES[:5])}"
        indexes = self.random.sample(range(6), self.random.randint(2, 3))
        if self.often(0.5):
            return f"REMOVE {', '.join(f'{inside}[{index}]' for index in indexes)}"
        return f"SET {', '.join(f'{inside}[{index}] = {self.bind(self.value(2))}' for index in indexes)}"

    def _actions(self, section: str) -> list[str]:
        return [self._action(section) for _ in range(self.pick([1, 1, 1, 2]))]

    def _action(self, section: str) -> str:
        if section == "REMOVE":
            return self.path()
        if section == "ADD":
            kind = self.pick(["N", "N", "SS", "NS", "BS"])
            near = {"N": "n", "SS": "ss", "NS": "ns"}.get(kind, "b")
            return f"{self.name(near) if self.often(0.6) else self.path()} {self.bind({kind: self._content(kind, 0)})}"
        if section == "DELETE":
            kind = self.pick(["SS", "NS", "BS"])
            near = {"SS": "ss", "NS": "ns"}.get(kind, "b")
            return f"{self.name(near) if self.often(0.6) else self.path()} {self.bind({kind: self._content(kind, 0)})}"
        if self.often(0.1):
            return f"{self.name('s')} = {self.bind({'S': self.pick(['u', 'v'])})}"
        if self.often(0.1):
            return f"g = {self.bind({'S': self.pick(['p', 'q'])})}, h = {self.bind({'N': self.pick(SORTS)})}"
        target = self.path()
        if self.often(0.25):
            return f"{target} = {self.name('n')} {self.pick(['+', '-'])} {self.bind({'N': self.pick(NUMBERS)})}"
        return f"{target} = {self.set_operand()}"

    def bound(self, body: Json) -> Json:
        if self._names:
            body["ExpressionAttributeNames"] = self._names
        if self._values:
            body["ExpressionAttributeValues"] = self._values
        self._names, self._values = {}, {}
        return body

    def _conditioned(self, body: Json, chance: float) -> Json:
        if self.often(chance):
            body["ConditionExpression"] = self.condition()
            if self.often(0.5):
                body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return self.bound(body)

    # Operations

    def _PutItem(self) -> Json:  # noqa: N802
        body = {"TableName": self.table, "Item": self.item(), "ReturnValues": self.pick(["NONE", "ALL_OLD"])}
        return self._conditioned(body, 0.3)

    def _UpdateItem(self) -> Json:  # noqa: N802
        returned = self.pick(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "UPDATED_NEW", "UPDATED_OLD"])
        body = {"TableName": self.table, "Key": self.key(), "ReturnValues": returned, "UpdateExpression": self.update()}
        return self._updating(body)

    def _updating(self, body: Json) -> Json:
        """An update that only removes creates no item; DynamoDB Local creates one (scylladb/scylladb#5862)."""
        if body["UpdateExpression"].startswith(("REMOVE", "DELETE")):
            return self.bound(body | {"ConditionExpression": "attribute_exists(pk)"})
        return self._conditioned(body, 0.25)

    def _DeleteItem(self) -> Json:  # noqa: N802
        body = {"TableName": self.table, "Key": self.key(), "ReturnValues": self.pick(["NONE", "ALL_OLD"])}
        return self._conditioned(body, 0.3)

    def _projected(self, body: Json, chance: float) -> Json:
        if self.often(chance):
            body["ProjectionExpression"] = ", ".join(self.path() for _ in range(self.random.randint(1, 3)))
        return body

    def _GetItem(self) -> Json:  # noqa: N802
        body = {"TableName": self.table, "Key": self.key(), "ConsistentRead": self.pick([True, False])}
        return self.bound(self._projected(body, 0.5))

    def _Query(self) -> Json:  # noqa: N802
        index = self.pick([None, None, "local", "whole", "part"])
        body: Json = {"TableName": self.table, "ScanIndexForward": self.pick([True, False])}
        partition, sort = {None: ("pk", "sk"), "local": ("pk", "s"), "whole": ("g", "h"), "part": ("s", None)}[index]
        choices = {"pk": PARTITIONS, "g": ["p", "q"], "s": ["u", "v"]}[partition]
        condition = f"{self.name(partition)} = {self.bind({'S': self.pick(choices)})}"
        if sort and self.often(0.5):
            condition += f" AND {self._sort_condition(sort)}"
        body["KeyConditionExpression"] = condition
        if index:
            body["IndexName"] = index
        if self.often(0.3):
            body["Limit"] = self.random.randint(1, 8)
        if self.often(0.2):
            body["ConsistentRead"] = True
        if self.often(0.2):
            body["Select"] = self.pick(["COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"])
        else:
            body = self._projected(body, 0.3)
        if self.often(0.3):
            body["FilterExpression"] = self.condition()
        return self.bound(body)

    def _sort_condition(self, sort: str) -> str:
        kind, choices = ("S", ["u", "v", "w"]) if sort == "s" else ("N", SORTS)
        value = {kind: self.pick(choices)}
        if self.often(0.25):
            low, high = sorted(self.random.sample(choices, 2), key=float if kind == "N" else str)
            return f"{self.name(sort)} BETWEEN {self.bind({kind: low})} AND {self.bind({kind: high})}"
        if kind == "S" and self.often(0.25):
            return f"begins_with({self.name(sort)}, {self.bind(value)})"
        return f"{self.name(sort)} {self.pick(['=', '<', '<=', '>', '>='])} {self.bind(value)}"

    def _Scan(self) -> Json:  # noqa: N802
        body: Json = {"TableName": self.table}
        if self.often(0.4):
            body["IndexName"] = self.pick(["local", "whole", "part"])
        if self.often(0.5):
            body["FilterExpression"] = self.condition()
        if self.often(0.2):
            body["Select"] = "COUNT"
        else:
            body = self._projected(body, 0.3)
        return self.bound(body)

    def _BatchGetItem(self) -> Json:  # noqa: N802
        keys = [self.key() for _ in range(self.random.randint(1, 4))]
        asked = self.bound(self._projected({"Keys": keys, "ConsistentRead": self.pick([True, False])}, 0.3))
        return {"RequestItems": {self.table: asked}}

    def _BatchWriteItem(self) -> Json:  # noqa: N802
        requests = [
            {"PutRequest": {"Item": self.item()}} if self.often(0.7) else {"DeleteRequest": {"Key": self.key()}}
            for _ in range(self.random.randint(1, 4))
        ]
        return {"RequestItems": {self.table: requests}}

    def _TransactWriteItems(self) -> Json:  # noqa: N802
        keys = [{"pk": {"S": each}, "sk": {"N": self.pick(SORTS)}} for each in PARTITIONS]
        return {"TransactItems": [self._transact_action(key) for key in keys[: self.random.randint(1, 3)]]}

    def _transact_action(self, key: Json) -> Json:
        kind = self.pick(["Put", "Update", "Update", "Delete", "ConditionCheck"])
        self._names, self._values = {}, {}
        body: Json = {"TableName": self.table}
        if kind == "Put":
            body["Item"] = self.item() | key
        else:
            body["Key"] = key
        if kind == "Update":
            body["UpdateExpression"] = self.update()
            return {kind: self._updating(body)}
        return {kind: self._conditioned(body, 1.0 if kind == "ConditionCheck" else 0.2)}

    def _TransactGetItems(self) -> Json:  # noqa: N802
        gets = []
        for _ in range(self.random.randint(1, 4)):
            self._names, self._values = {}, {}
            gets.append({"Get": self.bound(self._projected({"TableName": self.table, "Key": self.key()}, 0.3))})
        return {"TransactItems": gets}


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

"""Random requests that are nearly right: structured, but with wrong counts, types, operators and comments.

Bytes that are mutated blindly rarely reach the code behind the parser. These requests have the structure of real ones:
PartiQL statements in all three forms, legacy parameters with every operator, and expressions; then a few tokens are
dropped, repeated, exchanged, or surrounded by comments.
"""

import re
from random import Random
from typing import Any

from tests.engine.partiql import grammar

Json = dict[str, Any]

TABLE = "hostile"
CREATE: Json = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
OPERATORS = [
    *("EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL", "NULL"),
    *("CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "eq", "LIKE", ""),
]
VALUES: list[Json] = [
    *({"S": "p"}, {"S": ""}, {"N": "1"}, {"N": "-1e20"}, {"B": "AAAA"}, {"BOOL": True}, {"NULL": True}),
    *({"SS": ["a", "b"]}, {"NS": ["1", "2"]}, {"BS": ["AA=="]}, {"L": [{"N": "1"}]}, {"M": {"k": {"S": "x"}}}),
    *({"SS": []}, {"N": "x"}, {"N": "9" * 39}, {"S": "p", "N": "1"}, {}, {"NULL": False}, {"L": []}, {"N": "²"}),
]
KEYS: dict[str, Json] = {"pk": {"S": "p"}, "sk": {"N": "1"}, "g": {"S": "x"}}
NAMES = ["pk", "sk", "g", "n", "m", "s", "l", "absent", ""]
GAPS = [
    "",
    " ",
    "\n",
    "\t",
    "-- note\n",
    "--",
    "----\n",
    "/**/",
    "/* x */",
    "/*",
    "*/",
    "-- SELECT\n",
    "/* -- */ ",
    ";",
]
ODD = [
    *("NOT", "(", ")", "[", "]", "<<", ">>", "{", "}", ",", ".", "?", "*", "=", "<>", "IN", "IS", "MISSING", "NULL"),
    *("BETWEEN", "AND", "OR", "SELECT", "WHERE", "EXISTS", "RETURNING", "ALL OLD *", "ORDER BY", "LIMIT 1", "AS x"),
    *("''", '""', "'it''s'", "0", "-1", "1e400", "0." + "0" * 40 + "1", "9" * 5000, "[²]", "[99999999999]", "`x`"),
    *("size(n)", "begins_with(n)", "contains(n, 1, 2)", "set_add(s, <<1>>)", "list_append(l)", "exists(x)", "#n", ":v"),
    *("n + 1", " + 1" * 80, "(" * 70, "NOT " * 80, "[" * 70, "{'a':" * 70, "m" + ".m" * 40, "l" + "[0]" * 40),
]
SECTIONS = [
    *(
        "SET n = :v",
        "SET m.k = :v",
        "SET l[0] = :w",
        "SET n = n + :v",
        "SET n = n - :v",
        "SET a = if_not_exists(a, :v)",
    ),
    *("SET l = list_append(l, :v)", "SET l = list_append(:v, :w)", "REMOVE n", "REMOVE l[0], l[1]", "ADD n :v"),
    *("ADD s :v", "ADD m.k :v", "DELETE s :v", "DELETE m.k :v", "SET g = :v", "SET pk = :v", "SET #a = :v"),
]
CONDITIONS = [
    *("n = :v", "n <> :v", ":v < n", "n BETWEEN :v AND :w", "n IN (:v, :w)", "begins_with(n, :v)", "contains(n, :v)"),
    *("attribute_exists(n)", "attribute_not_exists(m.k)", "attribute_type(n, :v)", "size(n) > :v", "size(:v) = :w"),
    *("NOT n = :v", "(n = :v)", "n = :v AND m = :w", "n = :v OR m = :w", "#a = :v", "pk = :v AND sk > :w"),
]
_TOKEN = re.compile(r"\s+|'[^']*'|\"[^\"]*\"|[\w.]+|<<|>>|[^\w\s]")


class HostileRequests:
    """Random requests from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def request(self) -> tuple[str, Json]:
        kind = self.random.choice(
            [
                self.execute,
                self.batch,
                self.transaction,
                self.query,
                self.scan,
                self.expected,
                self.updates,
                self.update,
            ]
        )
        return kind()

    # PartiQL

    def statement(self) -> str:
        text = grammar.statement(self.random, TABLE)
        if self.random.random() < 0.2:
            text = f"EXISTS({text})"
        return self.disturbed(text, [*GAPS, *ODD]) if self.random.random() < 0.8 else text

    def disturbed(self, text: str, odd: list[str]) -> str:
        """Drops, repeats, exchanges or inserts a few tokens."""
        tokens = _TOKEN.findall(text)
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(tokens) + 1)
            match self.random.randint(0, 4):
                case 0:
                    del tokens[at : at + 1]
                case 1:
                    tokens[at:at] = tokens[at : at + self.random.randint(1, 4)]
                case 2:
                    tokens[at : at + 1] = [self.random.choice(odd)]
                case _:
                    tokens[at:at] = [self.random.choice(odd)]
        return "".join(tokens)

    def statement_request(self) -> Json:
        text = self.statement()
        body: Json = {"Statement": text}
        count = text.count("?") if self.random.random() < 0.5 else self.random.choice([0, 1, 2, 3])
        if count:
            body["Parameters"] = [self.value() for _ in range(count)]
        if self.random.random() < 0.1:
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return body

    def execute(self) -> tuple[str, Json]:
        body = self.statement_request()
        if self.random.random() < 0.3:
            body |= {"Limit": 2, "ConsistentRead": self.random.choice([True, False])}
        if self.random.random() < 0.1:
            body["NextToken"] = self.random.choice(["x", "e30=", "W10=", "é"])
        return "ExecuteStatement", body

    def batch(self) -> tuple[str, Json]:
        return "BatchExecuteStatement", {"Statements": [self.statement_request() for _ in range(self.few())]}

    def transaction(self) -> tuple[str, Json]:
        return "ExecuteTransaction", {"TransactStatements": [self.statement_request() for _ in range(self.few())]}

    # Legacy parameters

    def value(self) -> Json:
        return self.random.choice(VALUES)

    def few(self) -> int:
        return self.random.choice([0, 1, 1, 2, 3])

    def condition(self, name: str = "") -> Json:
        """Mostly with values of the type that the key attribute has, if it is one."""
        found: Json = {"ComparisonOperator": self.random.choice(OPERATORS)}
        kind = KEYS[name] if name in KEYS and self.random.random() < 0.7 else self.value()
        usual = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}.get(found["ComparisonOperator"], 1)
        count = usual if self.random.random() < 0.6 else self.random.choice([None, 0, 1, 2, 3])
        if count is not None:
            alike = self.random.random() < 0.6
            found["AttributeValueList"] = [kind if alike else self.value() for _ in range(count)]
        return found

    def conditions(self, names: list[str]) -> dict[str, Json]:
        chosen = [self.random.choice(names) for _ in range(self.few())]
        return {name: self.condition(name) for name in chosen}

    def legacy(self, body: Json) -> Json:
        if self.random.random() < 0.15:
            body["ConditionalOperator"] = self.random.choice(["AND", "OR", "XOR"])
        if self.random.random() < 0.15:
            body["AttributesToGet"] = self.random.choice([["n"], ["n", "n"], [], [""], ["m.k", "pk"]])
        return body

    def query(self) -> tuple[str, Json]:
        body: Json = {"TableName": TABLE, "KeyConditions": self.conditions(["sk", "sk", "sk", "pk", "g", "n"])}
        if self.random.random() < 0.7:
            equal = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p"}]}
            body["KeyConditions"]["pk"] = equal
        if self.random.random() < 0.4:
            body["QueryFilter"] = self.conditions(NAMES)
        if self.random.random() < 0.2:
            body["IndexName"] = "by_group"
        if self.random.random() < 0.2:
            body["ExclusiveStartKey"] = {self.random.choice(NAMES): self.value() for _ in range(self.few())}
        return "Query", self.legacy(body)

    def scan(self) -> tuple[str, Json]:
        body: Json = {"TableName": TABLE, "ScanFilter": self.conditions(NAMES)}
        if self.random.random() < 0.2:
            body |= {"Segment": self.random.choice([0, 1, 5]), "TotalSegments": self.random.choice([1, 3])}
        return "Scan", self.legacy(body)

    def expectation(self) -> Json:
        found = self.condition() if self.random.random() < 0.6 else {}
        if self.random.random() < 0.5:
            found["Value"] = self.value()
        if self.random.random() < 0.3:
            found["Exists"] = self.random.choice([True, False])
        return found

    def key(self) -> Json:
        return {"pk": {"S": "p"}, "sk": {"N": self.random.choice(["0", "1", "2"])}}

    def expected(self) -> tuple[str, Json]:
        expected = {self.random.choice(NAMES): self.expectation() for _ in range(self.few())}
        body = self.legacy({"TableName": TABLE, "Expected": expected})
        body.pop("AttributesToGet", None)
        if self.random.random() < 0.5:
            return "DeleteItem", body | {"Key": self.key()}
        return "PutItem", body | {
            "Item": self.key() | {self.random.choice(NAMES[3:-1]): self.random.choice(VALUES[:12])}
        }

    def updates(self) -> tuple[str, Json]:
        changes: Json = {}
        for _ in range(self.few()):
            change: Json = {}
            if self.random.random() < 0.85:
                change["Value"] = self.value()
            if self.random.random() < 0.85:
                change["Action"] = self.random.choice([*["PUT", "ADD", "DELETE"] * 4, "add", ""])
            changes[self.random.choice(NAMES)] = change
        return "UpdateItem", {"TableName": TABLE, "Key": self.key(), "AttributeUpdates": changes}

    # Expressions

    def update(self) -> tuple[str, Json]:
        texts = {
            "UpdateExpression": " ".join(self.random.choice(SECTIONS) for _ in range(self.random.choice([1, 1, 2]))),
            "ConditionExpression": self.random.choice(CONDITIONS),
        }
        body: Json = {"TableName": TABLE, "Key": self.key()}
        for name, text in texts.items():
            if name == "UpdateExpression" or self.random.random() < 0.5:
                body[name] = self.disturbed(text, ODD) if self.random.random() < 0.5 else text
        used = " ".join(str(each) for each in body.values())
        values = {name: self.value() for name in (":v", ":w") if name in used}
        if values:
            body["ExpressionAttributeValues"] = values
        if "#a" in used:
            body["ExpressionAttributeNames"] = {"#a": self.random.choice(NAMES)}
        return "UpdateItem", body

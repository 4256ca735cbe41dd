"""A small grammar for random statements: `$rule` is replaced by one of the rule's choices."""

import random
import re

RULES: dict[str, list[str]] = {
    "statement": ["$insert", "$select", "$select", "$update", "$update", "$delete"],
    "insert": ["INSERT INTO $table VALUE {'pk': $pk, 'sk': $sk$members}"],
    "members": [
        "",
        ", 'n': $value",
        ", 'n': $number, 's': $set, 'l': [$value, 'a']",
        ", 'n': $number, 'm': {'k': $value, 'deep': {'x': $value}}, 'g': $group",
        ", 'odd name': $value, 's': $value, 'l': $value, 'g': $group",
    ],
    "select": ["SELECT $shown FROM $table WHERE $where"],
    "shown": ["*", "pk, sk", "pk, sk, n, m.k", "m.deep.x, l[0]", '"odd name", s'],
    "where": [
        "$key",
        "$key AND $condition",
        "pk = 'p' AND $condition",
        "pk = 'p' AND sk $order $sk",
        "pk = 'q' AND sk BETWEEN 1 AND 2",
        "pk IN ['p'] AND sk IN [0, 3, 2] AND $condition",
    ],
    "condition": [
        "$name $equality $value",
        "$name $order $scalar",
        "$name IS $not$absence",
        "$name $notIN [$value, $value]",
        "$name $notBETWEEN $scalar AND $scalar",
        "begins_with($name, $scalar)",
        "contains($name, $scalar)",
        "attribute_type($name, $type)",
        "size($name) $order $number",
        "($condition AND $condition)",
        "($condition OR $condition)",
        "NOT ($condition)",
    ],
    "update": ["UPDATE $table $change WHERE $key$more RETURNING $returned *"],
    "change": [
        "SET $name = $value",
        "SET $name = $value, g = $group",
        "SET n = n + $number",
        "SET n = n - $scalar",
        "SET l = list_append(l, [$value])",
        "SET l = list_append([$value], l)",
        "SET s = set_add(s, $set)",
        "SET s = set_delete(s, $set)",
        "SET n = if_not_exists(n, $value)",
        "REMOVE $name",
        "SET n = $value REMOVE $name",
    ],
    "delete": ["DELETE FROM $table WHERE $key$more RETURNING ALL OLD *"],
    "more": ["", "", " AND $condition"],
    "returned": ["ALL OLD", "ALL NEW"],
    "key": ["pk = $pk AND sk = $sk"],
    "pk": ["'p'", "'q'"],
    "sk": ["0", "1", "2", "3"],
    "group": ["'x'", "'y'", "1"],
    "name": ["n", "m", "s", "l", "m.k", "m.deep.x", "l[0]", "absent", '"odd name"'],
    "value": ["$number", "$scalar", "$set", "''", "true", "null", "[1, 'a']", "{'k': 1}"],
    "scalar": ["0", "1", "2", "'a'", "'b'"],
    "number": ["0", "1", "2.5", "-3"],
    "set": ["<<'a', 'b'>>", "<<'a'>>", "<<1, 2>>"],
    "type": ["'S'", "'N'", "'M'", "'L'", "'SS'", "'NULL'", "'X'"],
    "equality": ["=", "<>", "!="],
    "order": ["<", "<=", ">", ">="],
    "not": ["", "NOT "],
    "absence": ["MISSING", "NULL"],
}
_RULE = re.compile("|".join(f"\\${name}" for name in sorted(RULES, key=len, reverse=True)) + r"|\$table")
MAX_DEPTH = 12


def statement(source: random.Random, table: str) -> str:
    """Returns a random statement about `table`."""

    def made(rule: str, depth: int) -> str:
        if rule == "table":
            return f'"{table}"'
        choices = RULES[rule]
        if depth > MAX_DEPTH:  # the first choices are the simple ones
            choices = choices[:3]
        return _RULE.sub(lambda found: made(found[0][1:], depth + 1), source.choice(choices))

    return made("statement", 0)

"""The least permissions of a program: an IAM policy for some patterns and writes of a design.

A statement allows operations on a table or index. Where all keys of an operation begin with the same text, such as
`CUSTOMER#`, it is limited to them (`dynamodb:LeadingKeys`): a program that reads orders cannot read what else the table
has. DynamoDB has no such condition for SearchVectors and Scan. A transaction needs the permissions of its parts.
"""

from collections.abc import Iterable
from typing import Any, Literal, get_args

from partita.design.markers import Unique
from partita.design.models import EntityKeys, Model
from partita.design.patterns import Pattern
from partita.design.reads import Read
from partita.design.tables import Table
from partita.errors import DesignError
from partita.plan.design import Design
from partita.plan.items import GUARD_PREFIX

Policy = dict[str, Any]
Write = Literal["create", "put", "change", "delete"]
WRITES: tuple[Write, ...] = get_args(Write)

_OF_WRITES: dict[Write, tuple[str, ...]] = {
    "create": ("GetItem", "PutItem"),
    "put": ("GetItem", "PutItem", "UpdateItem", "BatchWriteItem", "ConditionCheckItem"),
    "change": ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"),
    "delete": ("GetItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "ConditionCheckItem"),
}


class Permissions:
    """Permissions that are collected, and then written as a policy."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._allowed: dict[tuple[str, str | None], dict[str, set[str] | None]] = {}

    def allow(self, table: str, index: str | None, actions: Iterable[str], leading: Iterable[str | None]) -> None:
        """Allows operations on keys that begin so; one None allows them on all keys."""
        place = self._allowed.setdefault((table, index), {})
        texts = set(leading)
        for action in actions:
            known = place.get(action, set())
            every = known is None or None in texts
            place[action] = None if every else {*(known or ()), *(each for each in texts if each is not None)}

    # reads

    def allow_pattern(self, pattern: Pattern[Any, Any]) -> None:
        """Allows the requests of a pattern."""
        read = pattern.read
        source = read.sources[0]
        table, index = source.model.table.name, source.keys.index
        if read.search is not None:
            self.allow(table, index, ["SearchVectors"], [None])
            return
        single = read.single or any(each.model.old_keys for each in read.sources)
        if read.single:
            self.allow(table, None, ["GetItem", "BatchGetItem"], [leading_key(source.keys, read)])
        else:
            self.allow(table, index, ["Query"], [leading_key(source.keys, read)])
        for each in read.sources if single else ():
            old = [leading_key(keys) for keys in each.model.old_keys]
            if old:
                keys = [leading_key(each.model.key), *old]
                self.allow(table, None, ["GetItem", "BatchGetItem", "Query"], keys)

    # writes

    def allow_write(self, model: Model, write: Write) -> None:
        """Allows a write of an entity, with what it does to other items: guards, counters, references, children."""
        keys = [leading_key(each) for each in (model.key, *model.old_keys)]
        actions = {*_OF_WRITES[write], *(_OF_WRITES["change"] if model.old_keys else ())}
        self.allow(model.table.name, None, actions, keys)
        if model.old_keys:
            self.allow(model.table.name, None, ["BatchGetItem", "Query"], keys)
        for unique in model.uniques:
            self.allow(model.table.name, None, _OF_WRITES["change"], [_guards(model, unique)])
        for counter in self._design.counters.get(model, ()):
            parent = counter.parent
            self.allow(parent.table.name, None, ["GetItem", "UpdateItem", "ConditionCheckItem"], _keys(parent))
        for reference in self._design.references.get(model, ()):
            target = reference.target
            self.allow(target.table.name, None, ["GetItem", "ConditionCheckItem"], _keys(target))
        if write == "delete":
            self._allow_deletion_of_children(model)

    def _allow_deletion_of_children(self, model: Model) -> None:
        for ownership in self._design.ownerships.get(model, ()):
            child = ownership.child
            self.allow(child.table.name, None, ["Query"], _keys(child))
            if child is not model:
                self.allow_write(child, "delete")

    # the policy

    def policy(self, region: str = "*", account: str = "*", partition: str = "aws") -> Policy:
        """The policy in JSON's types; operations on one table or index with the same keys are one statement."""
        statements = []
        for (table, index), actions in sorted(self._allowed.items(), key=lambda item: (item[0][0], item[0][1] or "")):
            grouped: dict[frozenset[str] | None, list[str]] = {}
            for action, leading in sorted(actions.items()):
                grouped.setdefault(None if leading is None else frozenset(leading), []).append(action)
            resource = f"arn:{partition}:dynamodb:{region}:{account}:table/{table}"
            resource += "" if index is None else f"/index/{index}"
            statements += [_statement(resource, several, leading) for leading, several in grouped.items()]
        return {"Version": "2012-10-17", "Statement": statements}


def _statement(resource: str, actions: list[str], leading: frozenset[str] | None) -> Policy:
    found: Policy = {"Effect": "Allow", "Action": [f"dynamodb:{each}" for each in actions], "Resource": resource}
    if leading is not None:
        found["Condition"] = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": sorted(leading)}}
        # Without keys in a request, ForAllValues would hold.
        found["Condition"]["Null"] = {"dynamodb:LeadingKeys": "false"}
    return found


def policy_of(
    design: Design,
    patterns: Iterable[str] | None = None,
    writes: Iterable[str] | None = None,
    state: Iterable[Table] = (),
    **place: str,
) -> Policy:
    """The policy for patterns by name, and writes as `Order` or `Order.create`; None for all of them.

    `state` are tables in which Partita keeps its own state; programs read and write their items.
    """
    permissions = Permissions(design)
    for name in design.patterns if patterns is None else patterns:
        if name not in design.patterns:
            raise DesignError(design.name, f"has no pattern {name!r}", f"its patterns are {', '.join(design.patterns)}")
        permissions.allow_pattern(design.patterns[name])
    models = {model.name: model for model in design.models}
    for each in models if writes is None else writes:
        entity, _, kind = each.partition(".")
        wanted = [write for write in WRITES if kind in ("", write)]
        if entity not in models or not wanted:
            known = ", ".join(models)
            raise DesignError(design.name, f"has no write {each!r}", f"write Entity or Entity.create; it has {known}")
        for write in wanted:
            permissions.allow_write(models[entity], write)
    for table in state:
        everything = ["BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem"]
        permissions.allow(table.name, None, [*everything, "Query", "UpdateItem"], [None])
        for index in table.indexes:
            permissions.allow(table.name, index.name, ["Query"], [None])
    return permissions.policy(**place)


def _keys(model: Model) -> list[str | None]:
    return [leading_key(each) for each in (model.key, *model.old_keys)]


def _guards(model: Model, unique: Unique) -> str:
    return _literal(f"{GUARD_PREFIX}{model.name}#{unique.name}#") + "*"


def leading_key(keys: EntityKeys, read: Read | None = None) -> str | None:
    """The partition key as a pattern of IAM, `ORDER#*`, with the constants of a read; None where it may be any text."""
    if len(keys.partition) > 1 or keys.partition[0].template is None:
        return None
    template = keys.partition[0].template
    values = dict(zip(template.fields, read.given if read is not None else (), strict=False))
    texts: list[str] = []
    for segment in template.segments:
        text = _literal(segment.constant)
        if segment.form is not None:
            value = values.get(segment.field or "")
            text += _literal(segment.form.write(value)) if isinstance(value, str) else "*"
        if segment.optional and texts:
            texts[-1] = texts[-1].removesuffix("*") + "*"  # the key may end before it
        else:
            texts.append(text)
    return None if texts[0] == "*" else template.separator.character.join(texts)


def _literal(text: str) -> str:
    """A text in which nothing has a meaning for IAM."""
    return text.replace("$", "${$}").replace("*", "${*}").replace("?", "${?}")

"""Writes as data, with their Python source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.conditions import Condition
from tests.fuzz.designs import EntitySpec
from tests.fuzz.source_text import Printed, literal

Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Write(Printed):
    """One write: of a new item's values, or of the item with the values `key`; `parts` are those of a transaction."""

    kind: str  # create, put, replace, change, update, delete, check, put_many, delete_many, transaction, release
    entity: EntitySpec
    values: Values = field(default_factory=dict)
    key: Values = field(default_factory=dict)
    steps: Values = field(default_factory=dict)  # n += 1
    when: Condition | None = None
    version: int | None = None
    parts: tuple["Write", ...] = ()
    create: bool = False  # a change that creates the item where it does not exist

    def source(self, db: str = "db") -> str:
        """The write as a person would type it."""
        name = self.entity.name
        values = ", ".join(f"{field}={literal(value)}" for field, value in self.values.items())
        made = f"{name}({values}{f', version={self.version}' if self.kind == 'replace' and self.version else ''})"
        key = (
            f"get({name}, {', '.join(literal(self.key[each]) for each in self.entity.key.fields)})" if self.key else ""
        )
        when = f", when={self.when}" if self.when is not None else ""
        when += ", create=True" if self.create else ""
        version = f", version={self.version}" if self.version is not None else ""
        edits = [f"draft.{each} = {literal(value)}" for each, value in self.values.items()]
        edits += [f"draft.{each} += {literal(amount)}" for each, amount in self.steps.items()]
        if self.kind in ("create", "put", "replace"):
            return f"{db}.{self.kind}({made}{when})"
        if self.kind == "change":
            if db == "t":
                return "\n    ".join([f"draft = t.change({key}{when}{version})", *edits])
            return f"with db.change({key}{when}{version}) as draft:\n    " + "\n    ".join(edits)
        if self.kind == "update":
            setting = "\n    ".join(each.replace("draft", "entity") for each in edits)
            return f"def edit(entity):\n    {setting}\ndb.update({key}, edit)"
        if self.kind == "put_many":
            return f"db.put_many([{self._listed('.put(')}])"
        if self.kind == "delete_many":
            return f"db.delete_many([{self._listed('.delete(')}])"
        if self.kind == "transaction":
            return "with db.transaction() as t:\n    " + "\n    ".join(each.source("t") for each in self.parts)
        if self.kind == "release":
            given = ", ".join(literal(value) for value in self.values.values())
            return f"db.release_unique({name}, 'u0', {given})"
        return f"{db}.{self.kind}({key}{f', {self.when}' if self.kind == 'check' else when})"

    def _listed(self, call: str) -> str:
        return ", ".join(each.source("").removeprefix(call)[:-1] for each in self.parts)

    def __repr__(self) -> str:
        return self.source()

"""Errors of the store in the words of an API: values where a storage key stood, the operation instead of the pattern.

The store says `User USER#nobody PROFILE does not exist`, since it speaks to whoever wrote the design. A client has
never seen such a key: it is told `User nobody does not exist`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from partita.design.models import KeyAttribute, Model
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidCursor,
    LimitReached,
    NotFound,
    ReferenceMissing,
    StoredItemInvalid,
    VersionConflict,
)

# What comes after the key in each error's sentence.
_AFTER: Mapping[type[Exception], str] = {
    NotFound: " does not exist",
    AlreadyExists: " exists already",
    ReferenceMissing: ", which does not exist",
    ConditionFailed: ": the condition",
    VersionConflict: " is no longer at version",
}


class Wording:
    """The words of one API, whose entities these are."""

    def __init__(self, models: Iterable[Model]) -> None:
        self._models = {model.name: model for model in models}
        self._read_as: dict[str, list[Model]] = {}
        for model in self._models.values():
            for each in model.cls.__mro__:  # a view that it inherits is read by itself
                self._read_as.setdefault(each.__name__, []).append(model)

    def detail(self, operation: str, error: Exception) -> str:
        """What went wrong in an operation; what is not about a key or a cursor stays as it was said."""
        text = str(error)
        if isinstance(error, InvalidCursor):
            return f"the cursor is not one of {operation}: {text.rpartition(': ')[2]}"
        if isinstance(error, StoredItemInvalid):
            return self._unreadable(error)
        model = self._models.get(getattr(error, "missing", "") or getattr(error, "entity", ""))
        after = f": {error.limit}" if isinstance(error, LimitReached) else _AFTER.get(type(error))
        if model is None or after is None:
            return text
        referring = f"{error.entity} refers to " if isinstance(error, ReferenceMissing) else ""
        before = f"{referring}{model.name}"
        key, _, end = text.removeprefix(f"{before} ").rpartition(after)
        values = _values(model.key.attributes, key.split(" "))
        if values is None:
            return text
        return f"{before}{_told(values)}{after}{end}"

    def _unreadable(self, error: StoredItemInvalid) -> str:
        """Which item it is, as far as its key can be read; what is wrong with it the log says."""
        key = str(error).removeprefix(f"{error.entity} ").partition(" on disk: ")[0]
        forms = [keys for model in self._read_as.get(error.entity, ()) for keys in (model.key, *model.old_keys)]
        found = (_values(keys.attributes, key.split(" ")) for keys in forms)
        values = next((each for each in found if each is not None), {})
        return f"{error.entity}{_told(values)} cannot be read as it is stored; the log says why"


def _told(values: Mapping[str, Any]) -> str:
    """The values of a key, after a space where there are any."""
    told = ", ".join(str(msgspec.to_builtins(value)) for value in values.values())
    return f" {told}" if told else ""


def _values(attributes: Sequence[KeyAttribute], words: Sequence[str]) -> dict[str, Any] | None:
    """What a key as it is told holds, by field; None where it is not of this form. A value may hold spaces."""
    if not attributes:
        return None if words else {}
    first, *others = attributes
    for end in range(1, len(words) + 1) if others else [len(words)]:
        found = _parsed(first, " ".join(words[:end]))
        if found is not None:
            more = _values(others, words[end:])
            if more is not None:
                return found | more
    return None


def _parsed(attribute: KeyAttribute, text: str) -> dict[str, Any] | None:
    if attribute.template is not None:
        return attribute.template.parse(text)
    assert attribute.field is not None
    return {attribute.field: text}

"""Edits that wait to be committed together, as one transaction under the condition that nobody changed the same."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from partita.design.condition_checks import is_comparable
from partita.design.conditions import Condition, F
from partita.design.key_slots import key_slots
from partita.design.markers import Version
from partita.design.models import Model
from partita.design.reads import Get, get
from partita.errors import InvalidTransaction, InvalidValue
from partita.plan.design import Design
from partita.plan.items import key_of, key_text, values_of
from partita.store.store import Store
from partita.studio.entity_forms import entity_from

MAX_EDITS = 50


class StagedEdit(msgspec.Struct, frozen=True):
    """An edit of one entity, as plain values; `before` is None for one that is created, `after` for one deleted."""

    entity: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @property
    def kind(self) -> str:
        return "create" if self.before is None else "delete" if self.after is None else "change"


class StagedEdits:
    """The staged edits of a session, each under an id of its own.

    Several tabs show one list, so a request names the edits that its page had: an edit that was staged meanwhile is
    neither committed nor discarded by it.
    """

    def __init__(self) -> None:
        self._edits: dict[int, StagedEdit] = {}
        self._last = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._edits)

    def all(self) -> dict[int, StagedEdit]:
        """Every edit by its id, in the order of staging."""
        with self._lock:
            return dict(self._edits)

    def add(self, edit: StagedEdit) -> None:
        """Stages an edit; InvalidValue where there are too many."""
        with self._lock:
            if len(self._edits) >= MAX_EDITS:
                raise InvalidValue("studio", f"{MAX_EDITS} edits are staged already; commit or discard them first")
            self._last += 1
            self._edits[self._last] = edit

    @contextmanager
    def take_out(self, ids: Iterable[int]) -> Iterator[list[StagedEdit]]:
        """Takes edits out for a commit, all of them or none; an exception puts them back where they were.

        InvalidValue where one of them is not staged any more.
        """
        wanted = sorted(set(ids))
        with self._lock:
            if any(each not in self._edits for each in wanted):
                raise InvalidValue(
                    "studio", "an edit of this list is not staged any more; it was committed or discarded elsewhere"
                )
            found = {each: self._edits.pop(each) for each in wanted}
        try:
            yield list(found.values())
        except BaseException:
            with self._lock:
                self._edits = dict(sorted({**self._edits, **found}.items()))
            raise

    def discard(self, ids: Iterable[int]) -> None:
        """Removes edits; those that are gone already are left out."""
        with self._lock:
            for each in ids:
                self._edits.pop(each, None)


def model_named(design: Design, name: str) -> Model | None:
    """The entity of a name."""
    return next((each for each in design.models if each.name == name), None)


def call_of(model: Model, entity: Any) -> Get[Any]:
    """The get of a stored entity."""
    slots = key_slots(model, model.key, whole=True)
    return get(model.cls, *(getattr(entity, slot.field) for slot in slots))


def changed_fields(model: Model, before: Any, after: Any) -> list[str]:
    """The attributes that differ, without those that the store sets."""
    return [
        name
        for name in model.attributes
        if name not in model.automatic_fields and getattr(before, name) != getattr(after, name)
    ]


def unchanged_since(model: Model, entity: Any, fields: list[str]) -> tuple[int | None, Condition | None]:
    """The version of an entity, or else the condition that these attributes are still as they were."""
    versioned = model.one_marked(Version)
    if versioned is not None:
        return getattr(entity, versioned.field), None
    condition: Condition | None = None
    for name in fields:
        attribute, value = model.attributes[name], getattr(entity, name)
        if attribute.in_key or name in model.key.fields or not (value is None or _is_scalar(attribute.kind, value)):
            continue
        term = F[name].is_absent() if value is None else F[name] == value
        condition = term if condition is None else condition & term
    return None, condition


def _is_scalar(kind: Any, value: Any) -> bool:
    return isinstance(kind, type) and not isinstance(value, list | dict | set | tuple) and is_comparable(value, kind)


def describe_edit(design: Design, edit: StagedEdit) -> str:
    """What an edit does to which item."""
    model = model_named(design, edit.entity)
    values = edit.after or edit.before
    assert model is not None
    assert values is not None
    key = key_of(model, values_of(model, entity_from(model, values)))
    return f"{edit.kind} {edit.entity} {key_text(key)}"


def commit(db: Store, edits: list[StagedEdit]) -> None:
    """Writes all edits or none; raises the store's error where an item has changed since it was read."""
    if len(edits) == 1 and edits[0].kind == "delete":
        _delete_alone(db, edits[0])
        return
    with db.transaction() as transaction:
        for edit in edits:
            model = model_named(db.design, edit.entity)
            assert model is not None
            before = None if edit.before is None else entity_from(model, edit.before)
            after: Any = None if edit.after is None else entity_from(model, edit.after)
            if before is None:
                transaction.create(after)
            elif after is None:
                if db.design.ownerships.get(model):
                    raise InvalidTransaction(f"{model.name} owns other items; commit its deletion alone")
                transaction.delete(call_of(model, before), when=_deletion_condition(model, before))
            else:
                fields = changed_fields(model, before, after)
                version, condition = unchanged_since(model, before, fields)
                draft = transaction.change(call_of(model, before), when=condition, version=version)
                for name in fields:
                    setattr(draft, name, getattr(after, name))


def _delete_alone(db: Store, edit: StagedEdit) -> None:
    """Deletes an entity with everything that it owns."""
    model = model_named(db.design, edit.entity)
    assert model is not None
    assert edit.before is not None
    before = entity_from(model, edit.before)
    db.delete(call_of(model, before), when=_deletion_condition(model, before))


def _deletion_condition(model: Model, before: Any) -> Condition | None:
    version, condition = unchanged_since(model, before, list(model.attributes))
    versioned = model.one_marked(Version)
    return F[versioned.field] == version if versioned is not None else condition


def explained(db: Store, edit: StagedEdit) -> str:
    """The items that an edit writes, with their conditions and cost."""
    model = model_named(db.design, edit.entity)
    assert model is not None
    before = None if edit.before is None else entity_from(model, edit.before)
    after: Any = None if edit.after is None else entity_from(model, edit.after)
    if before is None:
        return db.explain_create(after)
    if after is None:
        owned = [each.child.name for each in db.design.ownerships.get(model, ())]
        return f"delete {model.name}" + (f", with its {', '.join(owned)} items" if owned else "")

    def edit_draft(draft: Any) -> None:
        for name in changed_fields(model, before, after):
            setattr(draft, name, getattr(after, name))

    return db.explain_change(call_of(model, before), edit_draft)

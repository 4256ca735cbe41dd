"""Edits that wait to be committed together, as one transaction under the condition that nobody changed the same."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from partita.design.conditions import Condition
from partita.design.key_slots import key_slots
from partita.design.markers import Version
from partita.design.models import Model
from partita.design.reads import Get, get
from partita.errors import ConditionFailed, InvalidTransaction, PartitaError, VersionConflict, item_name
from partita.plan.design import Design
from partita.plan.items import item_of, key_of, key_text, values_of
from partita.plan.unchanged import edited_values, unchanged_condition
from partita.store.store import Store
from partita.studio.entity_forms import entity_from
from partita.studio.json_input import InvalidInput

MAX_EDITS = 50


class EditConflict(PartitaError):
    """An entity has been changed since a staged edit of it began."""

    def __init__(self, item: str) -> None:
        super().__init__(f"{item} has been changed since this edit began; remove the edit, and edit the item again")


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
        """Stages an edit; InvalidValue where there are too many.

        A second change of the same state of an entity becomes one with the first, under a new id: what a page has shown
        under the old one is not what would be written.
        """
        with self._lock:
            for number, earlier in self._edits.items():
                if earlier.kind == edit.kind == "change" and (earlier.entity, earlier.before) == (
                    edit.entity,
                    edit.before,
                ):
                    edit = _merged(earlier, edit)
                    del self._edits[number]
                    break
            if len(self._edits) >= MAX_EDITS:
                raise InvalidInput(f"{MAX_EDITS} edits are staged already; commit or discard them first")
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
                raise InvalidInput(
                    "an edit of this list is not staged any more; it was committed or discarded elsewhere"
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


def _merged(first: StagedEdit, second: StagedEdit) -> StagedEdit:
    """Both changes of one state as one; where both change an attribute, the second one counts."""
    before, after = second.before or {}, second.after or {}
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    kept = {name: value for name, value in (first.after or {}).items() if name not in changed}
    return StagedEdit(first.entity, first.before, kept | {name: after[name] for name in after if name in changed})


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


def describe_edit(design: Design, edit: StagedEdit) -> str:
    """What an edit does to which item."""
    model = model_named(design, edit.entity)
    values = edit.after or edit.before
    assert model is not None
    assert values is not None
    key = key_of(model, values_of(model, entity_from(model, values)))
    return f"{edit.kind} {edit.entity} {key_text(key)}"


def check_values(design: Design, edit: StagedEdit) -> None:
    """InvalidValue where the entity of an edit cannot be an item, so that what is staged can always be shown."""
    model = model_named(design, edit.entity)
    assert model is not None
    for values in (edit.before, edit.after):
        if values is not None:
            item_of(model, values_of(model, entity_from(model, values)))


def commit(db: Store, edits: list[StagedEdit]) -> None:
    """Writes all edits or none; EditConflict where an entity has been edited since it was read."""
    try:
        if len(edits) == 1 and edits[0].kind == "delete":
            _delete_alone(db, edits[0])
        else:
            _commit_together(db, edits)
    except (ConditionFailed, VersionConflict) as error:
        raise EditConflict(item_name(error.entity, error.key)) from error


def _commit_together(db: Store, edits: list[StagedEdit]) -> None:
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
                transaction.delete(call_of(model, before), when=unchanged_condition(before))
            else:
                fields = changed_fields(model, before, after)
                draft = transaction.change(call_of(model, before), when=_unchanged(model, before, fields))
                for name in fields:
                    setattr(draft, name, getattr(after, name))


def _unchanged(model: Model, before: Any, fields: list[str]) -> Condition | None:
    """The condition that an entity has the version that was edited; without one, that these attributes are the same."""
    return unchanged_condition(before, None if model.one_marked(Version) is not None else fields)


def _delete_alone(db: Store, edit: StagedEdit) -> None:
    """Deletes an entity with everything that it owns."""
    model = model_named(db.design, edit.entity)
    assert model is not None
    assert edit.before is not None
    before = entity_from(model, edit.before)

    def check(stored: Any) -> None:
        if edited_values(stored) != edited_values(before):
            key = {slot.field: getattr(before, slot.field) for slot in key_slots(model, model.key, whole=True)}
            raise ConditionFailed(model.name, key)

    db.delete(call_of(model, before), check=check)


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

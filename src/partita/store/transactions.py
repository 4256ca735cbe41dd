"""Transactions: several writes to several entities, all or nothing, with the invariants of each."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from partita.design.condition_checks import check_names
from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.models import Model
from partita.design.reads import Get
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.errors import ConditionFailed, ConfigurationError, InvalidTransaction, InvalidValue, NotFound, item_name
from partita.plan.actions import Clause, ItemAction, absent
from partita.plan.changes import ItemChange, StoredItem, needs_read, plan_blind_change, plan_fenced_change
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Design
from partita.plan.effects import BEING_DELETED
from partita.plan.items import Values, item_of, key_of, key_parts, validate_entity, values_of
from partita.plan.read_requests import get_plan, key_values
from partita.plan.writes import creation, has_no_invariants, of_live_item, unconditional_put, with_initial_values
from partita.store.arguments import check_change, check_condition_names
from partita.store.context import StoreContext
from partita.store.deletion import check_holds_for_nothing, item_to_delete, planned_deletion
from partita.store.drafts import Draft, edits_of
from partita.store.execution import Planning, SkippedItems, retry_on_race
from partita.store.flows import Flow
from partita.store.old_keys import check_no_old_item, deletions_under_old_keys, fetch_for_write, has_old_keys
from partita.store.readiness import check_scannable, check_writable
from partita.store.writing import planned_change

E = TypeVar("E")
N = TypeVar("N", bound=Entity)
Step = Callable[[SkippedItems, bool], Planning]
"""Plans a write; the second argument says whether to read what is changed, under old keys as well."""


class Transaction:
    """Collects writes; they are sent together when its block ends without an error."""

    def __init__(self, context: StoreContext, design: Design) -> None:
        self._context = context
        self._design = design
        self._steps: list[Step] = []
        self._writes: dict[ItemIdentity, _Write] = {}
        self._has_ended = False

    def create(self, entity: N) -> N:
        """Creates an entity that must not exist; returns it as it will be stored."""
        model = self._design.model_of(entity)
        complete: N = with_initial_values(model, validate_entity(model, entity), self._context.clock())
        is_deleted = self._claim("create", model, values_of(model, complete))

        def step(skip: SkippedItems, read: bool) -> Planning:
            if not is_deleted:
                yield from check_no_old_item(self._context, model, values_of(model, complete))
            return creation(self._design, model, complete, self._context.clock())

        self._add(step)
        return complete

    def put(self, entity: N) -> N:
        """Creates or replaces an entity without invariants; returns it as it will be stored."""
        model = self._design.model_of(entity)
        if not has_no_invariants(self._design, model):
            raise InvalidValue(model.name, "a put cannot keep its invariants; use create or change")
        complete: N = with_initial_values(model, validate_entity(model, entity), self._context.clock())
        self._claim("put", model, values_of(model, complete))

        def step(skip: SkippedItems, read: bool) -> Planning:
            deletions = yield from deletions_under_old_keys(self._context, model, values_of(model, complete))
            return [unconditional_put(model, complete), *deletions]

        self._add(step)
        return complete

    def change(
        self,
        call: Get[E],
        *,
        when: Condition | None = None,
        version: int | None = None,
        system_change: bool = False,
        create: bool = False,
        seen: E | None = None,
    ) -> E:
        """A draft of an entity; its edits are part of the transaction. `create` as for `Store.change`.

        `seen` is the entity as the caller has just read it: it is read again only if it has changed since.
        """
        plan = get_plan(call)
        key = key_values(plan, call.arguments)
        check_change(plan.model, when, version, system_change, create)
        check_writable(self._design, plan.model, when)
        self._claim("creating change" if create else "change", plan.model, key)
        draft: Any = Draft(plan.model)
        known = [] if seen is None else [_as_seen(plan.model, key, seen)]

        def step(skip: SkippedItems, read: bool) -> Planning:
            now = self._context.clock()
            wanted = ItemChange(plan.model, key, edits_of(draft), now, when, version, system_change, create, skip)
            if wanted.says_nothing:
                return []
            if known and not read and not create and not wanted.edits.keys() & set(plan.model.key.fields):
                if not needs_read(self._design, wanted):
                    return plan_blind_change(self._design, wanted)
                return plan_fenced_change(self._design, wanted, known.pop())
            return (yield from planned_change(self._context, self._design, wanted, read=read))

        self._add(step)
        typed: E = draft
        return typed

    def delete(self, what: Get[Any] | Entity, *, when: Condition | None = None) -> None:
        """Deletes an entity, by its get or itself, but not what it owns: that may not fit into a transaction."""
        model, key = item_to_delete(self._design, what)
        self._delete(model, key, when)

    def _delete(self, model: Model, key: Values, when: Condition | None) -> None:
        check_condition_names(model, when)
        check_writable(self._design, model, when)
        self._claim("delete", model, key)
        old = bool(model.old_keys)

        def step(skip: SkippedItems, read: bool) -> Planning:
            actions, _ = yield from planned_deletion(self._context, self._design, model, key, when, skip, old=old)
            if not actions:
                check_holds_for_nothing(model, key, when)
            return actions

        self._add(step)

    def check(self, call: Get[Any], condition: Condition) -> None:
        """Requires a condition of an item; if it is false, nothing is written."""
        plan = get_plan(call)
        key = key_values(plan, call.arguments)
        check_names(plan.model, condition)
        check_scannable(self._design, plan.model, condition)

        def step(skip: SkippedItems, read: bool) -> Planning:
            return self._check(plan.model, key, condition)

        self._add(step)

    def _add(self, step: Step) -> None:
        if self._has_ended:
            raise InvalidTransaction("the block of this transaction has ended; write inside it, or open another one")
        self._steps.append(step)

    def _claim(self, write: str, model: Model, values: Values) -> bool:
        """Rejects a second write of one item: each would be planned without the other.

        An item may be deleted and created again: it is true then.
        """
        check_writable(self._design, model)
        key = key_of(model, values)
        identity = item_identity(model.table.name, key)
        earlier = self._writes.get(identity)
        if earlier is not None and (earlier.kind, write) != ("delete", "create"):
            name = item_name(model.name, key_parts(model, values))
            raise InvalidTransaction(f"two writes to {name} in one transaction; make them one")
        self._writes[identity] = _Write(write, model, values)
        return earlier is not None

    def _check(self, model: Model, key: dict[str, Any], condition: Condition) -> Planning:
        stored = of_live_item(model, to_stored(model, condition), self._context.clock())
        required = stored & absent(BEING_DELETED) if model in self._design.markable else stored
        clause = Clause(required, lambda _: ConditionFailed(model.name, key))
        if model.old_keys:
            found = yield from fetch_for_write(self._context, self._design, model, key)
            if found is not None and found.old_key is not None:
                found.check(model, [clause])
                return [found.unchanged(model)]
        return [ItemAction("check", model.table.name, key_of(model, key), model.name, clauses=(clause,))]

    def flow(self) -> Flow[None]:
        """Plans all writes and sends them together; the transaction takes no more writes."""
        self._has_ended = True

        def plan(skip: SkippedItems, *, read: bool = False) -> Planning:
            return self._plan_steps(skip, read)

        try:
            yield from retry_on_race(self._context, "transaction", plan)
        except NotFound:
            changes = (each for each in self._writes.values() if each.kind == "change")
            if not any(has_old_keys(each.model, each.values) for each in changes):
                raise
            yield from retry_on_race(self._context, "transaction", partial(plan, read=True))
        finally:
            self._steps = []  # they refer to the transaction: without them it is freed at once

    def _plan_steps(self, skip: SkippedItems, read: bool) -> Planning:
        actions: list[ItemAction] = []
        for step in self._steps:
            actions += yield from step(skip, read)
        return actions


class _Write(msgspec.Struct, frozen=True):
    """A write of a transaction to one item."""

    kind: str
    model: Model
    values: Values


def _as_seen(model: Model, key: Values, entity: Any) -> StoredItem:
    """The stored item as the seen entity implies it. If it is stored otherwise, the fence fails and it is read."""
    if type(entity) is not model.cls:
        raise ConfigurationError(f"change: seen is {entity!r}; pass the {model.name} that was read")
    values = values_of(model, entity)
    if key_of(model, values) != key_of(model, key):
        raise InvalidValue(model.name, f"`seen` is another item, {item_name(model.name, key_parts(model, values))}")
    return StoredItem(item_of(model, values), copy.copy(entity))

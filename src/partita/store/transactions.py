"""Transactions: several writes to several entities, all or nothing, with every promise of each of them."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.design.models import Model
from partita.design.reads import Get
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.errors import ConditionFailed, InvalidTransaction, InvalidValue, item_name
from partita.plan.actions import Clause, ItemAction, absent
from partita.plan.changes import ItemChange, StoredItem, needs_read, plan_blind_change, plan_fenced_change
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Design
from partita.plan.effects import BEING_DELETED
from partita.plan.items import Values, item_of, key_of, key_parts, validate_entity, values_of
from partita.plan.read_requests import key_values, plan_of
from partita.plan.writes import creation, has_no_invariants, unconditional_put, with_initial_values
from partita.store.context import StoreContext
from partita.store.drafts import Draft, edits_of
from partita.store.execution import retry_on_race
from partita.store.flows import Flow
from partita.store.writing import planned_change, planned_deletion

E = TypeVar("E")
Step = Callable[[set[ItemIdentity]], Flow[list[ItemAction]]]


class Transaction(msgspec.Struct):
    """Collects writes; they are sent together when its block ends without an error."""

    context: StoreContext
    design: Design
    _steps: list[Step] = msgspec.field(default_factory=list)
    _written: dict[ItemIdentity, str] = msgspec.field(default_factory=dict)
    _name: str = "transaction"

    def create(self, entity: E) -> E:
        """Must not exist; answers with the entity as it will be stored."""
        model = self.design.holding(type(entity))
        made: E = with_initial_values(model, validate_entity(model, entity), self.context.clock())
        self._claim("create", model, values_of(model, made))

        def step(_: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            yield from ()
            return creation(self.design, model, made, self.context.clock())

        self._steps.append(step)
        return made

    def put(self, entity: E) -> E:
        """Create it or replace what is there; only for entities that nothing depends on."""
        model = self.design.holding(type(entity))
        if not has_no_invariants(self.design, model):
            raise InvalidValue(model.name, "a put cannot keep its promises; create it, or change it")
        made: E = with_initial_values(model, validate_entity(model, entity), self.context.clock())
        self._claim("put", model, values_of(model, made))

        def step(_: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            yield from ()
            return [unconditional_put(model, made)]

        self._steps.append(step)
        return made

    def change(
        self,
        call: Get[E],
        *,
        when: Condition | None = None,
        version: int | None = None,
        system_change: bool = False,
        seen: E | None = None,
    ) -> E:
        """A draft whose changes are part of the transaction.

        `seen` is the entity as the caller has just read it: it is not read again unless it has changed since.
        """
        plan = plan_of(call.read)
        key = key_values(plan, call.arguments)
        self._claim("change", plan.model, key)
        draft: Any = Draft(plan.model)
        known = [] if seen is None else [_as_seen(plan.model, key, seen)]

        def step(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            if not edits_of(draft):
                return self._check(plan.model, key, when)
            now = self.context.clock()
            wanted = ItemChange(plan.model, key, edits_of(draft), now, when, version, system_change, orphaned)
            if known and not wanted.edits.keys() & set(plan.model.key.fields):
                if not needs_read(self.design, wanted):
                    return plan_blind_change(self.design, wanted)
                return plan_fenced_change(self.design, wanted, known.pop())
            return (yield from planned_change(self.context, self.design, wanted))

        self._steps.append(step)
        drafted: E = draft
        return drafted

    def delete(self, call: Get[Any], *, when: Condition | None = None) -> None:
        """The item alone: what it owns does not fit a transaction, and is the caller's to delete."""
        plan = plan_of(call.read)
        key = key_values(plan, call.arguments)
        self._claim("delete", plan.model, key)

        def step(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            actions, _ = yield from planned_deletion(self.context, self.design, plan.model, key, when, orphaned)
            return actions

        self._steps.append(step)

    def check(self, call: Get[Any], condition: Condition) -> None:
        """The item is as the condition says, or nothing is written."""
        plan = plan_of(call.read)
        key = key_values(plan, call.arguments)

        def step(_: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            yield from ()
            return self._check(plan.model, key, condition)

        self._steps.append(step)

    def _claim(self, write: str, model: Model, values: Values) -> None:
        """A transaction makes one thing of an item: of two writes, each would be planned without the other.

        What was deleted may be created anew.
        """
        key = key_of(model, values)
        place = item_identity(model.table.name, key)
        earlier = self._written.get(place)
        if earlier is not None and (earlier, write) != ("delete", "create"):
            name = item_name(model.name, key_parts(model, values))
            raise InvalidTransaction(f"two writes to {name} in one transaction; make them one")
        self._written[place] = write

    def _check(self, model: Model, key: dict[str, Any], condition: Condition | None) -> list[ItemAction]:
        if condition is None:
            return []
        stored = key_of(model, key)
        stays = to_stored(model, condition) & absent(BEING_DELETED) if model.owns else to_stored(model, condition)
        clause = Clause(stays, lambda _: ConditionFailed(model.name, key))
        return [ItemAction("check", model.table.name, stored, model.name, clauses=(clause,))]

    def flow(self) -> Flow[None]:
        """Plan every write and send them as one."""

        def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
            actions: list[ItemAction] = []
            for step in self._steps:
                actions += yield from step(orphaned)
            return actions

        yield from retry_on_race(self.context, self._name, plan)


def _as_seen(model: Model, key: Values, entity: Any) -> StoredItem:
    """An item as its entity tells it; where it is stored otherwise, what relies on it is refused and it is read."""
    values = values_of(model, entity)
    if key_of(model, values) != key_of(model, key):
        raise InvalidValue(model.name, f"`seen` is another item, {item_name(model.name, key_parts(model, values))}")
    return StoredItem(item_of(model, values), copy.copy(entity))

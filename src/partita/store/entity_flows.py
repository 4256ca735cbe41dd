"""The operations of a store as flows: the implementation behind the sync and the async store."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.design.markers import Unique
from partita.design.models import Model
from partita.design.reads import Get
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.values import Item
from partita.errors import InvalidValue, ReservedKey, StoredItemInvalid
from partita.plan.changes import ItemChange
from partita.plan.design import Design
from partita.plan.effects import OWNER, guard_key, guard_of
from partita.plan.items import Values, key_of, key_texts, normalize_operand, validate_entity, values_of
from partita.plan.read_requests import checked_key, get_plan, key_values
from partita.plan.writes import can_delete_without_read, creation, with_initial_values
from partita.store import batches, deletion, writing
from partita.store.arguments import as_list, check_function
from partita.store.context import StoreContext
from partita.store.decoding import recogniser_of
from partita.store.drafts import Draft, edits_of
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_keys import (
    check_no_old_item,
    deletions_of_old_items,
    free_keys,
    has_old_keys,
    move_from_old_key,
)
from partita.store.readiness import check_scannable, check_unique, check_writable, without_unready_counters
from partita.store.reading import fetch_stored_item

E = TypeVar("E")


class EntityFlows:
    """Each method returns a flow, or an explanation."""

    def __init__(self, design: Design, context: StoreContext) -> None:
        self.design = design
        self.context = context

    def create(self, entity: E, when: Condition | None) -> Flow[E]:
        model = self.design.model_of(entity)
        if model.old_keys:
            yield from check_no_old_item(self.context, model, values_of(model, validate_entity(model, entity)))
        return (yield from writing.create(self.context, self.design, model, entity, when))

    def put(self, entity: E) -> Flow[E]:
        return writing.put(self.context, self.design, self.design.model_of(entity), entity)

    def replace(self, entity: Any) -> Flow[None]:
        return writing.replace(self.context, self.design, self.design.model_of(entity), entity)

    def change(
        self,
        call: Get[Any],
        draft: Draft,
        when: Condition | None,
        version: int | None,
        system_change: bool,
        create: bool,
    ) -> Flow[None]:
        plan = get_plan(call)
        key = key_values(plan, call.arguments)
        now = self.context.clock()
        wanted = ItemChange(plan.model, key, edits_of(draft), now, when, version, system_change, create)
        return writing.change(self.context, self.design, wanted)

    def update(self, call: Get[E], edit: Callable[[E], None]) -> Flow[E]:
        plan = get_plan(call)
        check_function("update", "edit", edit)
        key = key_values(plan, call.arguments)
        return writing.update(self.context, self.design, plan.model, key, edit)

    def delete(self, what: Any, when: Condition | None, check: Callable[[Any], None] | None = None) -> Flow[Any]:
        check_function("delete", "check", check, optional=True)
        model, key = deletion.item_to_delete(self.design, what)
        try:
            key_of(model, key)
        except ReservedKey:
            return None
        if model.old_keys and self.design.ownerships.get(model):  # its children are deleted before it, one by one
            yield from self._move_before_deletion(model, key, when, check)
        old = bool(model.old_keys)
        deleted = yield from deletion.delete(self.context, self.design, model, key, when, check, old=old)
        if deleted is None and not old and has_old_keys(model, key):
            if self.design.ownerships.get(model):
                yield from self._move_before_deletion(model, key, when, check)
            deleted = yield from deletion.delete(self.context, self.design, model, key, when, check, old=True)
        is_read = old or self.design.ownerships.get(model) or not can_delete_without_read(self.design, model)
        if deleted is None and is_read:
            deletion.check_holds_for_nothing(model, key, when)  # DynamoDB judges what is deleted unread
        return deleted

    def _move_before_deletion(
        self, model: Model, key: Values, when: Condition | None, check: Callable[[Any], None] | None
    ) -> Flow[bool]:
        return move_from_old_key(self.context, self.design, model, key, only=True, when=when, check=check)

    def put_many(self, entities: Sequence[Any]) -> Flow[None]:
        puts = batches.puts_of(self.context, self.design, entities)
        for model, _ in puts.items if self.design.data.unready else ():
            check_writable(self.design, model)
        wanted = [(model, key_of(model, values)) for model, values in puts.values]
        yield from free_keys(self.context, self.design, wanted)
        yield from batches.batch_write(self.context, puts.writes())
        yield from batches.batch_write(self.context, (yield from deletions_of_old_items(self.context, puts.values)))

    def delete_many(self, calls: Sequence[Get[Any]]) -> Flow[None]:
        every = as_list("delete_many", "gets", calls)
        plans = [get_plan(call) for call in every]
        keys = [(plan.model, checked_key(plan, call.arguments)) for plan, call in zip(plans, every, strict=True)]
        writes = batches.deletions(self.design, keys)
        old = [
            (plan.model, key_values(plan, call.arguments))
            for plan, call in zip(plans, every, strict=True)
            if plan.model.old_keys
        ]
        yield from free_keys(self.context, self.design, [(model, key_of(model, values)) for model, values in old])
        for each in (yield from deletions_of_old_items(self.context, old)):
            writes.setdefault(item_identity(each.model.table.name, each.key), each)
        yield from batches.batch_write(self.context, writes.values())

    def find_by_unique(self, entity: type[E], unique: str, *values: Any) -> Flow[E | None]:
        """Reads the guard of a unique value, then the item that the guard names."""
        model = self.design.holding(entity)
        declared = _unique(model, unique)
        check_unique(self.design, model, declared.name)
        check_scannable(self.design, model, None)
        key = guard_key(model, declared, _unique_values(model, declared, values))
        raw = yield from fetch_item(self.context, model.table.name, key)
        if raw is None:
            return None
        guard = msgspec.json.decode(raw)
        if OWNER not in guard:
            raise StoredItemInvalid(model.name, key_texts(key), "the guard has no owner")
        owner = yield from fetch_stored_item(self.context, model, guard[OWNER]["M"])
        if owner is None:
            return None
        held = guard_of(model, declared, values_of(model, owner.entity), owner.item)
        if held is None or held.key != key:
            return None  # the guard is of an earlier item
        found: E = without_unready_counters(self.design, (model,), owner.entity)
        return found

    def release_unique(self, entity: type[Any], unique: str, *values: Any) -> Flow[None]:
        """Frees a value that `Unique(keep_after_delete=True)` has kept."""
        model = self.design.holding(entity)
        declared = _unique(model, unique)
        return writing.release(self.context, model, declared, _unique_values(model, declared, values))

    def decode_item(self, table: str, item: Item) -> Any:
        """The entity of an item, by its key."""
        declared = self.context.declared_table_name(table)
        for each in self.design.tables:
            if each.name == declared:
                return recogniser_of(each).entity_of(item)
        raise InvalidValue(table, f"design {self.design.name!r} has no such table")

    def explain_create(self, entity: Any) -> str:
        from partita.describe.explain_write import explain_actions

        model = self.design.model_of(entity)
        now = self.context.clock()
        complete = with_initial_values(model, validate_entity(model, entity), now)
        actions = creation(self.design, model, complete, now)
        return explain_actions(f"create {model.name}", model, actions, self.context.table_name)

    def explain_change(self, call: Get[Any], draft: Draft, create: bool) -> str:
        from partita.describe.explain_write import explain_change

        plan = get_plan(call)
        key = key_values(plan, call.arguments)
        change = ItemChange(plan.model, key, edits_of(draft), self.context.clock(), create=create)
        return explain_change(self.design, change, self.context.table_name)


def _unique_values(model: Model, declared: Unique, values: tuple[Any, ...]) -> dict[str, Any]:
    """The values of a unique declaration, by field, as they are stored."""
    if len(values) != len(declared.fields):
        wanted = ", ".join(declared.fields)
        raise InvalidValue(
            model.name, f"{len(values)} values for {len(declared.fields)} fields; pass {wanted}", declared.name
        )
    given = zip(declared.fields, values, strict=True)
    return {name: normalize_operand(model, model.attributes[name], value) for name, value in given}


def _unique(model: Model, name: str) -> Unique:
    for declared in model.uniques:
        if declared.name == name:
            return declared
    raise InvalidValue(model.name, "it is not declared Unique", name)

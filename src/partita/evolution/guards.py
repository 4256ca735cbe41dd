"""Guards whose owner does not hold their value: they keep it from everybody, until they are deleted."""

from collections.abc import Collection

import msgspec

from partita.design.models import Model
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.values import Item
from partita.errors import InvalidValue, StoredItemInvalid, StoreError
from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.item_work import stored_entity, wanted_effects
from partita.evolution.pages import PageItem
from partita.plan.actions import Clause, ItemAction, absent, equals
from partita.plan.design import Design
from partita.plan.effects import OWNER
from partita.plan.fences import dependencies
from partita.plan.items import GUARD, key_text
from partita.plan.races import Raced
from partita.store.execution import execute
from partita.store.item_reads import fetch_item
from partita.store.transact_get import fetch_at_one_moment

UniqueValue = tuple[str, str]
"""An entity, and the name of a unique value of it."""


def unique_values(design: Design) -> set[UniqueValue]:
    """The unique values of a design."""
    return {(model.name, unique.name) for model in design.models for unique in model.uniques}


def unique_value_of(guard: PageItem, uniques: Collection[UniqueValue]) -> UniqueValue | None:
    """Which of the unique values a guard belongs to."""
    text = key_text({guard.table.pk: guard.key[guard.table.pk]})
    return next((each for each in uniques if text.startswith(f"{GUARD}#{each[0]}#{each[1]}#")), None)


class OrphanedGuards:
    """Finds and deletes guards that no item holds, of some unique values."""

    def __init__(self, db: EvolutionStore, uniques: Collection[UniqueValue]) -> None:
        self._db = db
        self._uniques = uniques
        self._models = {model.name: model for model in db.design.models}

    def is_orphaned(self, guard: PageItem) -> bool:
        """Whether the owner of a guard does not exist or does not hold the value, when both are read at one moment."""
        of = unique_value_of(guard, self._uniques)
        if of is None or self._deletion(guard) is None:
            return False
        model = self._models[of[0]]
        keys = [(guard.table.name, guard.key), (guard.table.name, guard.item[OWNER]["M"])]
        now, owner = self._db.run_flow(fetch_at_one_moment(self._db.context, keys, model.name))
        if now is None or msgspec.json.decode(now).get(OWNER) != guard.item[OWNER]:
            return False
        return not self._is_held(guard, model, of[1], None if owner is None else msgspec.json.decode(owner))

    def delete(self, guard: PageItem) -> bool:
        """Deletes a guard, if it is orphaned, and its owner does not change meanwhile."""
        actions = self._deletion(guard)
        return actions is not None and self._execute(actions)

    def settle(self, guard: PageItem) -> bool:
        """Deletes a guard, if it is orphaned; true also where another write prevented that, and it still is."""
        actions = self._deletion(guard)
        return actions is not None and (self._execute(actions) or self.is_orphaned(guard))

    def _execute(self, actions: list[ItemAction]) -> bool:
        """Whether the actions were done; not where another write has prevented them."""
        try:
            self._db.run_flow(execute(self._db.context, actions))
        except (StoreError, Raced):
            return False
        return True

    def _deletion(self, guard: PageItem) -> list[ItemAction] | None:
        """The actions that delete an orphaned guard; None for one that is held, or of another unique value."""
        of = unique_value_of(guard, self._uniques)
        if of is None:
            return None
        model = self._models[of[0]]
        owner: Item = guard.item[OWNER]["M"]
        raw = self._db.run_flow(fetch_item(self._db.context, guard.table.name, owner))
        item: Item | None = None if raw is None else msgspec.json.decode(raw)
        if self._is_held(guard, model, of[1], item):
            return None
        table, name = guard.table.name, model.name
        same = Clause(equals(OWNER, guard.item[OWNER]), lambda _: Raced(name))
        gone = ItemAction("delete", table, guard.key, name, clauses=(same,))
        unchanged = [Clause(absent(model.table.pk), lambda _: Raced(name))]
        if item is not None:
            fields = dependencies(self._db.design, model)
            names = set(model.fenced_names(fields)) - set(model.table.key_names)
            unchanged = [Clause(equals(each, item.get(each)), lambda _: Raced(name)) for each in sorted(names)]
        return [gone, ItemAction("check", table, owner, name, clauses=tuple(unchanged), own=False)]

    def _is_held(self, guard: PageItem, model: Model, unique: str, item: Item | None) -> bool:
        if item is None:
            return any(each.keep_after_delete for each in model.uniques if each.name == unique)
        try:
            stored = stored_entity(model, item)
        except (StoredItemInvalid, InvalidValue):
            return True
        return item_identity(guard.table.name, guard.key) in wanted_effects(self._db.design, stored).guards

"""Flows that delete one entity: an owner with everything that it owns.

An owner takes many requests. What could reject the deletion is decided before the first item is deleted:

    mark the owner        under the conditions of the deletion: no new item may refer to it
    mark what it owns     owners, and items that count others which may stay: no new item may count in them
    compare               what these count with what will be deleted (all marks are removed again where it is more)
    delete                children before their owners

After an interruption the owner still exists, and the deletion can be repeated (docs/decisions/0017).
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.conditions import Condition
from partita.design.models import Model
from partita.design.reads import EntityKey, Get, Query, Read
from partita.design.untyped_values import number_text
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import Item
from partita.errors import ConditionFailed, StillReferenced, StoredItemInvalid
from partita.plan.actions import Clause, ItemAction, present
from partita.plan.changes import StoredItem
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Counter, Design, counters_of
from partita.plan.effects import BEING_DELETED
from partita.plan.fences import condition_fields
from partita.plan.items import Values, encode_fields, key_in_item, key_of, values_of
from partita.plan.owned_trees import OwnedTree, owned_tree
from partita.plan.predicates import evaluate
from partita.plan.races import NothingToTake, Raced
from partita.plan.read_requests import get_plan, key_values
from partita.plan.writes import can_delete_without_read, deletion, fenced_by_item, mark_being_deleted, unmark
from partita.store.batches import BatchWrite, batch_write
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import (
    ATTEMPTS,
    Planning,
    SkippedItems,
    pause_after_conflict,
    retries_exhausted,
    retry_on_race,
)
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_items import has_expired, is_in_place, now_seconds
from partita.store.old_keys import fetch_with_copies, move_or_delete_copy
from partita.store.readiness import check_counted, check_writable
from partita.store.reading import QueryPages, fetch_stored_item

Visit = Callable[[Model, StoredItem], Flow[None]]


def item_to_delete(design: Design, what: Any) -> tuple[Model, Values]:
    """The entity and the key of the item that a get names, or that an entity is."""
    if isinstance(what, Get | Query):
        plan = get_plan(what)
        return plan.model, key_values(plan, what.arguments)
    model = design.model_of(what)
    return model, {name: getattr(what, name) for name in model.key.fields}


def delete(
    context: StoreContext,
    design: Design,
    model: Model,
    key: Values,
    when: Condition | None = None,
    check: Callable[[Any], None] | None = None,
    *,
    old: bool = False,
) -> Flow[Any]:
    """Deletes an entity after everything that it owns; returns the deleted entity, or None if it did not exist.

    It is None as well where the reply was lost and the item is gone.

    `check` receives the entity and may raise; exactly the state that it saw is deleted.
    """
    check_writable(design, model, when)
    if design.ownerships.get(model):
        return (yield from _OwnerDeletion(context, design, model, key).run(when, check))
    last: list[StoredItem | None] = [None]

    def plan(skip: SkippedItems) -> Planning:
        actions, last[0] = yield from planned_deletion(context, design, model, key, when, skip, check, old=old)
        return actions

    reply = yield from retry_on_race(context, model.name, plan)
    if last[0] is not None:
        return last[0].entity
    attributes = getattr(reply, "attributes", None)
    return None if attributes is None else decoder_of(model)(attributes, now_seconds(context))


def planned_deletion(
    context: StoreContext,
    design: Design,
    model: Model,
    key: Values,
    when: Condition | None,
    skip: SkippedItems,
    check: Callable[[Any], None] | None = None,
    *,
    old: bool = False,
    gone: frozenset[Model] = frozenset(),
) -> Flow[tuple[list[ItemAction], StoredItem | None]]:
    """The actions of a deletion, and the item if it had to be read and has not expired.

    With `old`, it is looked up under old keys as well, and deleted under all of them.
    """
    copies: list[ItemAction] = []
    found: StoredItem | None = None
    if old:
        found, copies = yield from fetch_with_copies(context, design, model, key)
    elif check is None and can_delete_without_read(design, model):
        _check_counted(design, model, gone)
        return deletion(design, model, key, None, context.clock(), when, gone=gone), None
    if found is None:
        return (yield from _planned_deletion_of_current(context, design, model, key, when, skip, check, gone))
    _check_counted(design, model, gone)
    if check is not None:
        check(found.entity)
    first, *others = deletion(design, model, key, found, context.clock(), when, skip, gone=gone)
    fenced = [first, *others] if check is None else fenced_by_item(model, [first, *others], found)
    return [*fenced, *copies], found


def _planned_deletion_of_current(
    context: StoreContext,
    design: Design,
    model: Model,
    key: Values,
    when: Condition | None,
    skip: SkippedItems,
    check: Callable[[Any], None] | None,
    gone: frozenset[Model],
) -> Flow[tuple[list[ItemAction], StoredItem | None]]:
    """The same for what is stored under the current key, though it may have expired."""
    raw = yield from fetch_item(context, model.table.name, key_of(model, key))
    if raw is None:
        return [], None
    expired = has_expired(context, model, raw)
    if not expired and not is_in_place(context, model, raw):
        return [], None  # another item, under its old key
    found = StoredItem(msgspec.json.decode(raw), decoder_of(model)(raw, None))
    actions = deletion(design, model, key, found, context.clock(), when, skip, expired=expired, gone=gone)
    if expired:
        return actions, None
    _check_counted(design, model, gone)
    if check is not None:
        check(found.entity)
        actions = fenced_by_item(model, actions, found)
    return actions, found


def _check_counted(design: Design, model: Model, gone: frozenset[Model]) -> None:
    """NotReady where it is not known whether something that an item counts is left."""
    check_counted(design, (counter for child, counter in counters_of(design, model) if child not in gone))


def check_holds_for_nothing(model: Model, key: Values, when: Condition | None) -> None:
    """ConditionFailed where the condition of a deletion is false for an item that does not exist."""
    if when is not None and not evaluate(to_stored(model, when), {}):
        raise ConditionFailed(model.name, key)


class _OwnerDeletion:
    """The deletion of one owner with what it owns, directly or through others."""

    def __init__(self, context: StoreContext, design: Design, model: Model, key: Values) -> None:
        self._context, self._design = context, design
        self._model, self._key = model, key
        self._tree: OwnedTree = owned_tree(design, model)
        self._counting: list[tuple[Model, Values]] = []  # items that count others of the tree: deleted after those

    def run(self, when: Condition | None, check: Callable[[Any], None] | None) -> Flow[Any]:
        for several in (*self._tree.outside.values(), *self._tree.inside.values()):
            check_counted(self._design, several)
        owner = yield from self._mark_owner(when, check)
        if owner is None:
            return None
        try:
            if self._tree.must_be_checked:
                yield from self._each_owned(owner, self._mark)
                yield from self._compare_counts(owner)
            yield from self._delete_owned(owner)
            return (yield from self._delete_marked(self._model, self._key))
        except StillReferenced:
            yield from self._remove_marks(owner)
            raise

    # Marks

    def _mark_owner(self, when: Condition | None, check: Callable[[Any], None] | None) -> Flow[StoredItem | None]:
        """Marks the owner under the conditions of its deletion; None if it does not exist."""
        model, stored_key = self._model, key_of(self._model, self._key)
        last: list[StoredItem | None] = [None]

        def plan(skip: SkippedItems) -> Planning:
            last[0] = found = yield from fetch_stored_item(self._context, model, stored_key)
            if found is None:
                return []
            now, outside = self._context.clock(), self._tree.outside[model]
            missing = Raced(model.name)
            marking = [mark_being_deleted(model, self._key, stored_key, outside, now, missing, when)]
            if check is not None:
                check(found.entity)
                return fenced_by_item(model, marking, found)
            return marking

        yield from retry_on_race(self._context, model.name, plan)
        return last[0]

    def _mark(self, model: Model, found: StoredItem) -> Flow[None]:
        """Marks an owned item that owns others, or counts some that may stay; StillReferenced if it does."""
        if model not in self._design.markable:
            return
        stored_key, key = key_in_item(model, found.item), _key_values(model, found)
        identity = _identity(model, found.item)
        outside = self._tree.outside[model]

        def plan(skip: SkippedItems) -> Planning:
            yield from ()
            if identity in skip:
                return []  # it was deleted meanwhile
            missing = NothingToTake(model.name, identity)
            return [mark_being_deleted(model, key, stored_key, outside, self._context.clock(), missing)]

        yield from retry_on_race(self._context, model.name, plan)

    def _remove_marks(self, owner: StoredItem) -> Flow[None]:
        if self._tree.must_be_checked:
            yield from self._each_owned(owner, self._remove_mark)
        yield from self._remove_mark(self._model, owner)

    def _remove_mark(self, model: Model, found: StoredItem) -> Flow[None]:
        """Removes a mark; an item that has none any more was deleted by another process."""
        stored_key = key_in_item(model, found.item)

        def plan(skip: SkippedItems) -> Planning:
            raw = yield from fetch_item(self._context, model.table.name, stored_key)
            return [unmark(model, stored_key)] if raw is not None and _is_marked(raw) else []

        if model in self._design.markable:
            yield from retry_on_race(self._context, model.name, plan)

    # Comparing what is counted with what is deleted

    def _compare_counts(self, owner: StoredItem) -> Flow[None]:
        """StillReferenced where a marked item counts more than what is deleted with it.

        Nothing begins to count in marked items, so their counters only become smaller: a larger one is read again.
        """
        if not any(self._tree.inside.values()):
            return
        deleted: dict[tuple[ItemIdentity, str], Decimal] = {}
        counting = [(self._model, owner)]

        def visit(model: Model, found: StoredItem) -> Flow[None]:
            yield from ()
            for where, amount in self._counted_in(model, found):
                deleted[where] = deleted.get(where, Decimal(0)) + amount
            if self._tree.inside[model]:
                counting.append((model, found))

        yield from self._each_owned(owner, visit)
        for model, found in counting:
            if self._counts_more(model, found, deleted) is not None:
                stored_key = key_in_item(model, found.item)
                again = yield from fetch_stored_item(self._context, model, stored_key)
                counter = None if again is None else self._counts_more(model, again, deleted)
                if counter is not None:
                    child = counter.marker.child().__name__
                    raise StillReferenced(model.name, _key_values(model, found), child, counter.attribute.field)

    def _counted_in(self, model: Model, found: StoredItem) -> list[tuple[tuple[ItemIdentity, str], Decimal]]:
        """What an item adds to counters, by item and attribute."""
        if not self._design.counters.get(model):
            return []
        values = values_of(model, found.entity)
        stored = encode_fields(model, condition_fields(self._design, model), values)
        counts = found.effects(self._design, model, values, stored).counts
        return [(where, amount) for where, (_, _, amount) in counts.items()]

    def _counts_more(
        self, model: Model, found: StoredItem, deleted: dict[tuple[ItemIdentity, str], Decimal]
    ) -> Counter | None:
        identity = item_identity(model.table.name, key_of(model, values_of(model, found.entity)))
        for counter in self._tree.inside[model]:
            counted = Decimal(number_text(getattr(found.entity, counter.attribute.field)))
            if counted > deleted.get((identity, counter.attribute.name), Decimal(0)):
                return counter
        return None

    # Walking what is owned

    def _each_owned(self, owner: StoredItem, visit: Visit) -> Flow[None]:
        """Visits every item of the tree that can be read and has not expired."""

        def visit_page(owning: tuple[Model, Any], child: Model, items: list[Item]) -> Flow[list[StoredItem]]:
            found = [each for item in items if (each := self._living(child, item)) is not None]
            for each in found:
                yield from visit(child, each)
            return found

        yield from self._walk(owner, visit_page)

    def _living(self, model: Model, item: Item) -> StoredItem | None:
        try:
            entity = decoder_of(model).from_item(item)
            expired = has_expired(self._context, model, msgspec.Raw(msgspec.json.encode(item)))
        except StoredItemInvalid:
            return None
        return None if expired else StoredItem(item, entity)

    def _walk(
        self,
        owner: StoredItem,
        visit_page: Callable[[tuple[Model, Any], Model, list[Item]], Flow[list[StoredItem]]],
    ) -> Flow[None]:
        """Reads every page of the tree, each owner's once; `visit_page` returns the items to go on with."""
        seen = {_identity(self._model, owner.item)}
        waiting: list[tuple[Model, Any]] = [(self._model, owner.entity)]
        while waiting:
            owning = waiting.pop()
            for pages, child in self._ranges_of(*owning):
                while not pages.is_done:
                    items: list[Item] = [msgspec.json.decode(raw) for raw in (yield from pages.fetch_raw())]
                    others = [
                        each for each in items if item_identity(child.table.name, key_in_item(child, each)) not in seen
                    ]
                    found = yield from visit_page(owning, child, others)
                    if self._design.ownerships.get(child) or child.old_keys:  # then its ranges may overlap
                        seen.update(item_identity(child.table.name, key_in_item(child, each.item)) for each in found)
                    if self._design.ownerships.get(child):
                        waiting += ((child, each.entity) for each in found)

    def _ranges_of(self, model: Model, owner: Any) -> Iterator[tuple[QueryPages[Any], Model]]:
        """All that is stored in the ranges of what an owner owns, with the entity of each range."""
        for ownership in self._design.ownerships[model]:
            sources = (EntityKey(ownership.child, ownership.keys),)
            for values in ownership.query_values(owner):
                query = Query[Any](Read(sources, values))
                yield QueryPages[Any](self._context, query, consistent=True, copies=True), ownership.child

    # Deleting

    def _delete_owned(self, owner: StoredItem) -> Flow[None]:
        """Deletes what is owned: first the items that own nothing, then owners, each after what it owns."""
        owners: list[tuple[Model, Values]] = []

        def delete_page(owning: tuple[Model, Any], child: Model, items: list[Item]) -> Flow[list[StoredItem]]:
            if not items or not (yield from self._is_being_deleted(*owning)):
                return []  # the owner was deleted meanwhile; these may be the children of a new one
            if self._in_batches(child):
                yield from batch_write(self._context, [BatchWrite(child, key_in_item(child, item)) for item in items])
                return []
            found = []
            for item in items:
                each = yield from self._in_current_form(child, item)
                if each is None:
                    continue
                if self._design.ownerships.get(child):
                    if BEING_DELETED not in each.item:
                        yield from self._mark(child, each)
                    owners.append((child, _key_values(child, each)))
                    found.append(each)
                else:
                    yield from self._delete_one(child, _key_values(child, each))
            return found

        yield from self._walk(owner, delete_page)
        for model, key in reversed(owners):
            yield from self._delete_one(model, key)
        yield from self._delete_counting()

    def _in_batches(self, child: Model) -> bool:
        """Whether the items of an entity can be deleted many at once: they have no invariants."""
        is_free = can_delete_without_read(self._design, child) and not child.counters
        return is_free and not self._design.ownerships.get(child)

    def _delete_one(self, model: Model, key: Values) -> Flow[None]:
        """Deletes an item of the tree; one that still counts others is left for the end."""
        try:
            yield from self._delete_item(model, key)
        except StillReferenced:
            self._counting.append((model, key))

    def _delete_counting(self) -> Flow[None]:
        """Deletes the items that counted others of the tree.

        Where all that are left count each other, one goes first: that none counts anything else has been compared.
        """
        while self._counting:
            waiting, self._counting = self._counting, []
            for model, key in waiting:
                yield from self._delete_one(model, key)
            if len(self._counting) == len(waiting):
                yield from self._delete_item(*self._counting.pop(0), gone=self._tree.models)

    def _delete_item(self, model: Model, key: Values, gone: frozenset[Model] = frozenset()) -> Flow[None]:
        if self._design.ownerships.get(model):
            yield from self._delete_marked(model, key, gone)
            return

        def plan(skip: SkippedItems) -> Planning:
            return (yield from planned_deletion(self._context, self._design, model, key, None, skip, gone=gone))[0]

        yield from retry_on_race(self._context, model.name, plan)

    def _delete_marked(self, model: Model, key: Values, gone: frozenset[Model] = frozenset()) -> Flow[Any]:
        """Deletes a marked owner; one that was deleted meanwhile, and perhaps created again, has no mark and stays."""
        design = self._design
        deleted: list[Any] = [None]
        settled = gone | {each.child for each in design.ownerships[model]}

        def plan(skip: SkippedItems) -> Planning:
            found = yield from fetch_stored_item(self._context, model, key_of(model, key))
            deleted[0] = None if found is None or BEING_DELETED not in found.item else found.entity
            if found is None or deleted[0] is None:
                return []
            first, *others = deletion(design, model, key, found, self._context.clock(), None, skip, gone=settled)
            marked = Clause(present(BEING_DELETED), lambda _: Raced(model.name))
            return [msgspec.structs.replace(first, clauses=(*first.clauses, marked)), *others]

        yield from retry_on_race(self._context, model.name, plan)
        return deleted[0]

    def _is_being_deleted(self, model: Model, owner: Any) -> Flow[bool]:
        found = yield from fetch_stored_item(self._context, model, key_of(model, values_of(model, owner)))
        return found is not None and BEING_DELETED in found.item

    def _in_current_form(self, child: Model, item: Item) -> Flow[StoredItem | None]:
        """A child for its deletion; if other code wrote its key in another form, it is moved first.

        An item that cannot be decoded, or that exists under both keys, is deleted where it is.
        """
        try:
            found = StoredItem(item, decoder_of(child).from_item(item))
        except StoredItemInvalid:
            yield from batch_write(self._context, [BatchWrite(child, key_in_item(child, item))])
            return None
        for attempt in range(ATTEMPTS):
            values, stored_key = values_of(child, found.entity), key_in_item(child, found.item)
            if key_of(child, values) == stored_key:
                return found
            try:
                moved = yield from move_or_delete_copy(self._context, self._design, child, found.item)
                return found if moved else None
            except Raced:
                yield pause_after_conflict(self._context, child.name, attempt)
            again = yield from fetch_stored_item(self._context, child, stored_key)
            if again is None:  # another writer has moved it, or deleted it
                again = yield from fetch_stored_item(self._context, child, key_of(child, values))
            if again is None:
                return None
            found = again
        raise retries_exhausted(child.name)


def _identity(model: Model, item: Item) -> ItemIdentity:
    return item_identity(model.table.name, key_in_item(model, item))


def _is_marked(raw: msgspec.Raw) -> bool:
    return BEING_DELETED in msgspec.json.decode(raw)


def _key_values(model: Model, found: StoredItem) -> Values:
    return {name: getattr(found.entity, name) for name in model.key.fields}

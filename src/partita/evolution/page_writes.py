"""Doing the work of a page: many items in one transaction where other items are involved, else one by one.

A transaction that fails is done again item by item, each read anew: an item that changed meanwhile is judged as it is
then, and one that was deleted is left alone.
"""

from collections.abc import Iterator, Sequence

import msgspec

from partita.dynamodb.canonical import ItemIdentity
from partita.errors import AlreadyExists, InvalidTransaction, InvalidValue, NotUnique, RetriesExhausted, StoreError
from partita.evolution.batch_updates import ItemUpdate, update_items
from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.item_work import ItemWork, WorkKind, item_work, wanted_effects
from partita.evolution.pages import PageItem, Removed, fetch_one_item
from partita.plan.design import Design
from partita.plan.races import NothingToTake, Raced
from partita.store.context import StoreContext
from partita.store.execution import ATTEMPTS, execute, pause_after_conflict
from partita.store.flows import Flow
from partita.store.old_items import fetch_current_item

TRANSACTION_ITEMS = 90


class PageResult(msgspec.Struct):
    """How many items were changed, by the kind of their work, and those that people have to decide about."""

    done: dict[tuple[str, str, str], int] = msgspec.field(default_factory=dict)
    written: int = 0
    conflicts: list[str] = msgspec.field(default_factory=list)

    def count(self, work: ItemWork) -> None:
        self.written += 1
        for kind, names in work.kinds.items():
            for name in names or ("",):
                place = (work.stored.model.name, str(kind), name)
                self.done[place] = self.done.get(place, 0) + 1


def do_page(db: EvolutionStore, removed: Removed, items: list[PageItem], result: PageResult) -> None:
    """Does the work of all items of a page."""
    updates = [_update(each.work) for each in items if each.work is not None and each.work.is_alone]
    done = update_items(db, updates)
    db.run_flow(_do_rest(db.context, db.design, removed, items, done, result))


def _do_rest(
    context: StoreContext,
    design: Design,
    removed: Removed,
    items: list[PageItem],
    done: Sequence[bool],
    result: PageResult,
) -> Flow[None]:
    """Does the work of a page of which the updates that touch no other item have been tried."""
    waiting = [each for each in items if each.work is not None]
    alone = [each for each in waiting if each.work is not None and each.work.is_alone]
    for each, is_done in zip(alone, done, strict=True):
        if is_done and each.work is not None:
            result.count(each.work)
        else:
            yield from _do_item(context, design, removed, each, result)
    for group in transactions_of([each for each in waiting if each.work is not None and not each.work.is_alone]):
        works = [each.work for each in group if each.work is not None]
        if len(group) > 1:
            try:
                yield from execute(context, [action for work in works for action in work.actions])
            except (StoreError, InvalidValue, NothingToTake, Raced):
                pass  # one of them stands in the way of the others
            else:
                for work in works:
                    result.count(work)
                continue
        for each in group:
            yield from _do_item(context, design, removed, each, result)


def _update(work: ItemWork) -> ItemUpdate:
    (action,) = work.actions
    conditions = tuple(clause.condition for clause in action.clauses)
    return ItemUpdate(action.table, action.key, action.steps, conditions)


def transactions_of(items: list[PageItem]) -> Iterator[list[PageItem]]:
    """Items whose work fits into one transaction; those that need no transaction are alone."""
    group: list[PageItem] = []
    touched: set[ItemIdentity] = set()
    for each in items:
        work = each.work
        assert work is not None
        identities = {action.identity for action in work.actions}
        if work.is_alone or WorkKind.REKEY in work.kinds or WorkKind.GUARDS in work.kinds:
            yield [each]
            continue
        if len(touched | identities) > TRANSACTION_ITEMS:
            yield group
            group, touched = [], set()
        group.append(each)
        touched |= identities
    if group:
        yield group


def _do_item(context: StoreContext, design: Design, removed: Removed, each: PageItem, result: PageResult) -> Flow[None]:
    """Does the work of one item; it is read again after a conflict."""
    now: PageItem | None = each
    skip: set[ItemIdentity] = set()
    for attempt in range(ATTEMPTS):
        if now is None or now.work is None or now.stored is None:
            return
        work = now.work
        if skip:
            effects = wanted_effects(design, now.stored)
            work = item_work(design, now.stored, effects, work.guards, context.clock(), skip) or work
        try:
            if WorkKind.REKEY in work.kinds:
                yield from _check_not_twice(context, work)
            yield from execute(context, list(work.actions))
            result.count(work)
            return
        except NothingToTake as missing:
            skip.add(missing.identity)
        except Raced:
            skip.clear()
            yield pause_after_conflict(context, work.stored.model.name, attempt)
            now = yield from fetch_one_item(context, design, removed, each.table, each.key)
        except (NotUnique, AlreadyExists, InvalidTransaction, InvalidValue) as error:  # it may have become too large
            again = yield from fetch_one_item(context, design, removed, each.table, each.key)
            left = None if again is None else again.work
            if again is not None and left is not None and again.item == now.item and left.guards == work.guards:
                result.conflicts.append(f"{each.name}: {error}")
                return
            now = again
    raise RetriesExhausted(each.name, ATTEMPTS)


def _check_not_twice(context: StoreContext, work: ItemWork) -> Flow[None]:
    """AlreadyExists where an item is stored under its current key as well, and has not expired there."""
    model = work.stored.model
    if (yield from fetch_current_item(context, model, work.stored.values)) is not None:
        raise AlreadyExists(model.name, {name: work.stored.values[name] for name in model.key.fields})

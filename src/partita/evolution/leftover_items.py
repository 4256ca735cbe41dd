"""Removing what an application leaves behind once it is public: marks, tallies, and guards of no unique value."""

from collections.abc import Iterable

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import ConditionalCheckFailedException
from partita.evolution.batch_updates import ItemUpdate, update_items
from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.guards import unique_value_of, unique_values
from partita.evolution.item_work import leftovers
from partita.evolution.pages import PageItem, ScannedPage
from partita.plan.actions import RemoveAttribute
from partita.plan.effects import OWNER
from partita.store.retries import send_idempotent


def remove_leftovers(db: EvolutionStore, pages: Iterable[ScannedPage]) -> int:
    """Removes them; returns the number of items that had some."""
    uniques = unique_values(db.design)
    done = 0
    for page in pages:
        marked = [(each, leftovers(each.item, None)) for each in page.items]
        updates = [
            ItemUpdate(each.table.name, each.key, {name: RemoveAttribute() for name in names})
            for each, names in marked
            if names
        ]
        made = update_items(db, updates)
        done += sum(is_made or _remove(db, each) for each, is_made in zip(updates, made, strict=True))
        for each in page.items:
            if each.is_guard and unique_value_of(each, uniques) is None:
                done += delete_if_unchanged(db, each, OWNER)
    return done


def _remove(db: EvolutionStore, update: ItemUpdate) -> bool:
    aliases = {f"#n{at}": name for at, name in enumerate(update.steps)}
    request = wire.UpdateItem(
        table_name=update.table,
        key=update.key,
        update_expression=f"REMOVE {', '.join(aliases)}",
        condition_expression="attribute_exists(#k)",
        expression_attribute_names={**aliases, "#k": next(iter(update.key))},
    )
    return _sent(db, request)


def delete_if_unchanged(db: EvolutionStore, each: PageItem, attribute: str) -> bool:
    """Deletes an item, if an attribute has still the value that was read: the owner of a guard, or a TTL."""
    request = wire.DeleteItem(
        table_name=each.table.name,
        key=each.key,
        condition_expression="#a = :value",
        expression_attribute_names={"#a": attribute},
        expression_attribute_values={":value": each.item[attribute]},
    )
    return _sent(db, request)


def _sent(db: EvolutionStore, request: wire.UpdateItem | wire.DeleteItem) -> bool:
    try:
        db.run_flow(send_idempotent(db.context, request))
    except ConditionalCheckFailedException:
        return False
    return True

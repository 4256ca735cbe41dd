"""Setting counters from their tallies, and comparing them with the children that exist."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.key_parts import EXACT
from partita.design.models import model_of
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.exceptions import ConditionalCheckFailedException
from partita.dynamodb.values import Item
from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.pages import ScannedPage
from partita.plan.design import Counter, CounterBuild, Design
from partita.plan.items import key_text
from partita.store.item_reads import fetch_item
from partita.store.retries import send_idempotent


def counters_of(design: Design, build: CounterBuild) -> dict[str, list[Counter]]:
    """The counters of a build by the entity that has them."""
    found: dict[str, list[Counter]] = {}
    for several in design.counters.values():
        for counter in several:
            if build.tally(counter) is not None:
                found.setdefault(counter.parent.name, []).append(counter)
    return found


def set_counters(db: EvolutionStore, build: CounterBuild, pages: Iterable[ScannedPage]) -> int:
    """Sets every counter of the build to its tally, as it is at that moment; returns how many were set.

    From then on, programs add to both alike.
    """
    counters, done = counters_of(db.design, build), 0
    for page in pages:
        for each in page.items:
            if each.model is None or each.effects is None:
                continue
            for counter in counters.get(each.model.name, ()):
                tally = build.tally(counter) or ""
                if each.item.get(tally, {"N": "0"}) != each.item.get(counter.attribute.name):
                    done += _set(db, counter, each.key, tally)
    return done


def _set(db: EvolutionStore, counter: Counter, key: Item, tally: str) -> bool:
    request = wire.UpdateItem(
        table_name=counter.parent.table.name,
        key=key,
        update_expression="SET #c = if_not_exists(#t, :zero)",
        condition_expression="attribute_exists(#k)",
        expression_attribute_names={"#c": counter.attribute.name, "#t": tally, "#k": counter.parent.table.pk},
        expression_attribute_values={":zero": {"N": "0"}},
    )
    try:
        db.run_flow(send_idempotent(db.context, request))
    except ConditionalCheckFailedException:
        return False
    return True


class CounterTotals:
    """The children that a pass over all items meets, added up for each counter."""

    def __init__(self, design: Design, build: CounterBuild) -> None:
        self._counters = counters_of(design, build)
        self._totals: dict[Any, Decimal] = {}
        self._stored: dict[Any, tuple[Counter, Item, str]] = {}
        self.wrong_counters: set[str] = set()

    def add(self, page: ScannedPage) -> None:
        """Adds the items of a page."""
        for each in page.items:
            if each.model is None or each.effects is None:
                continue
            for counter in self._counters.get(each.model.name, ()):
                where = (item_identity(each.table.name, each.key), counter.attribute.name)
                stored = each.item.get(counter.attribute.name, {"N": "0"})["N"]
                self._stored[where] = (counter, each.key, stored)
            for where, (_, _, amount) in each.effects.counts.items():
                self._totals[where] = EXACT.add(self._totals.get(where, Decimal(0)), amount)

    def wrong(self, db: EvolutionStore) -> set[str]:
        """The counters that differ from their children, and did not change while these were read."""
        found = set()
        for where, (counter, key, stored) in self._stored.items():
            total = self._totals.get(where, Decimal(0))
            if Decimal(stored) == total or (_may_expire(counter) and Decimal(stored) > total):
                continue  # DynamoDB deletes an expired child without telling its counter
            raw = db.run_flow(fetch_item(db.context, counter.parent.table.name, key))
            now = None if raw is None else msgspec.json.decode(raw).get(counter.attribute.name, {"N": "0"})["N"]
            if now == stored:
                name = f"{counter.parent.name} {key_text(key)}"
                found.add(f"{name}: {counter.attribute.name} is {stored}, its children make {total}")
                self.wrong_counters.add(f"{counter.parent.name}.{counter.attribute.name}")
        return found


def _may_expire(counter: Counter) -> bool:
    return model_of(counter.marker.child()).expires is not None

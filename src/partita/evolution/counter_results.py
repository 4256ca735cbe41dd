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
    """The children that a pass over all items meets, added up for each counter.

    `uncertain` are the counters, as Entity.attribute, of entities with an item that cannot be read.
    """

    def __init__(self, design: Design, build: CounterBuild) -> None:
        self._counters = counters_of(design, build)
        self._totals: dict[Any, Decimal] = {}
        self._of_children: dict[str, set[str]] = {}
        for counter in (each for several in self._counters.values() for each in several):
            name = f"{counter.parent.name}.{counter.attribute.name}"
            self._of_children.setdefault(model_of(counter.marker.child()).name, set()).add(name)
        self.uncertain: set[str] = set()
        self._stored: dict[Any, tuple[Counter, Item, str]] = {}

    def add(self, page: ScannedPage) -> None:
        """Adds the items of a page."""
        for each in page.items:
            if each.model is not None and each.error:
                self.uncertain |= self._of_children.get(each.model.name, set())
            if each.model is None or each.effects is None:
                continue
            for counter in self._counters.get(each.model.name, ()):
                where = (item_identity(each.table.name, each.key), counter.attribute.name)
                stored = each.item.get(counter.attribute.name, {"N": "0"})["N"]
                self._stored[where] = (counter, each.key, stored)
            for where, (_, _, amount) in each.effects.counts.items():
                self._totals[where] = EXACT.add(self._totals.get(where, Decimal(0)), amount)

    def wrong(self, db: EvolutionStore) -> "list[WrongCounter]":
        """The counters that differ from their children. Where writers work, such a difference may be one of time."""
        found = []
        for where, (counter, key, stored) in self._stored.items():
            total = self._totals.get(where, Decimal(0))
            if Decimal(stored) == total or (_may_expire(counter) and Decimal(stored) > total):
                continue  # DynamoDB deletes an expired child without telling its counter
            raw = db.run_flow(fetch_item(db.context, counter.parent.table.name, key))
            if raw is not None:
                now = msgspec.json.decode(raw).get(counter.attribute.name, {"N": "0"})["N"]
                found.append(WrongCounter(counter, key_text(key), Decimal(stored), total, is_still=now == stored))
        return found


class WrongCounter(msgspec.Struct, frozen=True):
    """A counter that differs from its children; `is_still` if it did not change while they were read."""

    counter: Counter
    key: str
    stored: Decimal
    total: Decimal
    is_still: bool

    @property
    def name(self) -> str:
        return f"{self.counter.parent.name}.{self.counter.attribute.name}"

    @property
    def same_difference(self) -> tuple[str, str, Decimal]:
        """What two passes over a counter that is wrong have in common."""
        return self.name, self.key, self.stored - self.total

    def __str__(self) -> str:
        words = f"{self.counter.attribute.name} is {self.stored}, its children make {self.total}"
        return f"{self.counter.parent.name} {self.key}: {words}"


def _may_expire(counter: Counter) -> bool:
    return model_of(counter.marker.child()).expires is not None

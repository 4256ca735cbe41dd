"""What it will cost to set new counters, and to remove the tallies that were counted in.

A counter is set where its tally differs from what is stored: a counter that was dropped and is added again may be right
already. So what each owner has stored, and what its children make, are added up in a temporary file. Of a sample, where
owners and children are not of the same families, both are estimated.
"""

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from partita.dynamodb.canonical import item_identity
from partita.evolution.costs import BilledTable, change_units
from partita.evolution.counter_results import counters_of
from partita.evolution.item_work import WorkKind
from partita.evolution.pages import PageItem
from partita.plan.design import CounterBuild, Design
from partita.plan.items import key_in_item

_TABLES = """
CREATE TABLE totals (entity TEXT, attribute TEXT, owner TEXT, total REAL, PRIMARY KEY (entity, attribute, owner));
CREATE TABLE owners (entity TEXT, attribute TEXT, owner TEXT, stored REAL, units REAL);
CREATE TABLE tallied (entity TEXT, attribute TEXT, owner TEXT, units REAL);
CREATE INDEX parents ON totals (entity, owner);
BEGIN
"""
_ADD = "INSERT INTO totals VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET total = total + excluded.total"
_TO_SET = """
SELECT coalesce(sum(units), 0) FROM owners LEFT JOIN totals USING (entity, attribute, owner)
WHERE entity = ? AND attribute = ? AND stored IS NOT coalesce(total, 0)
"""
_TO_CLEAN = """
SELECT coalesce(sum(units), 0) FROM tallied WHERE entity = ? AND attribute = ?
AND EXISTS (SELECT 1 FROM totals WHERE totals.entity = tallied.entity AND totals.owner = tallied.owner)
"""


class CounterCost(NamedTuple):
    """The owners of a counter, and the units of setting it, and of removing tallies."""

    entity: str
    attribute: str
    owners: float
    units: float


class CounterCosts:
    """Adds up the owners and children that a survey meets; `build` are the counters that are going to be counted."""

    def __init__(self, design: Design) -> None:
        self._build: CounterBuild | None = design.data.build
        self._counters = {} if self._build is None else counters_of(design, self._build)
        self._file: apsw.Connection | None = None
        if self._counters:
            self._file = apsw.Connection("")
            self._file.execute(_TABLES)

    def add(self, table: BilledTable, each: PageItem) -> None:
        """Adds an item of a table, as a child and as an owner."""
        if self._file is None or self._build is None or each.effects is None or each.stored is None:
            return
        if each.work is not None and WorkKind.COUNT in each.work.kinds:
            for (owner, attribute), (counter, _, amount) in each.effects.counts.items():
                if self._build.tally(counter) is not None:
                    self._file.execute(_ADD, (counter.parent.name, attribute, str(owner), float(amount)))
        self._add_owner(self._file, self._build, table, each)

    def _add_owner(self, file: apsw.Connection, build: CounterBuild, table: BilledTable, each: PageItem) -> None:
        assert each.model is not None
        assert each.stored is not None
        counters = self._counters.get(each.model.name, ())
        if not counters:
            return
        owner = str(item_identity(each.table.name, key_in_item(each.model, each.stored.wanted)))
        before = each.item
        for counter in counters:
            name = counter.attribute.name
            after = {**before, name: {"N": "1"}}
            units = change_units(table, before, after, in_transaction=False)
            stored = each.item[name].get("N") if name in each.item else None
            row = (each.model.name, name, owner, None if stored is None else float(stored), units)
            file.execute("INSERT INTO owners VALUES (?, ?, ?, ?, ?)", row)
            before = after
        if each.work is None or WorkKind.COUNT not in each.work.kinds:  # else they are removed together with its mark
            tallied = {**before, **{build.tally(counter) or "": {"N": "1"} for counter in counters}}
            units = change_units(table, tallied, before, in_transaction=False)
            place = (each.model.name, counters[0].attribute.name, owner)
            file.execute("INSERT INTO tallied VALUES (?, ?, ?, ?)", (*place, units))

    def costs(self, factors: dict[str, float], *, is_exact: bool) -> Iterator[CounterCost]:
        """By counter, with the number of items of each table that one of a sample stands for."""
        if self._file is None:
            return
        for entity, counters in self._counters.items():
            factor = factors.get(counters[0].parent.table.name, 1.0)
            for counter in counters:
                place = (entity, counter.attribute.name)
                owners = self._number("SELECT count(*) FROM owners WHERE entity = ? AND attribute = ?", place)
                if owners:
                    units = self._exact(place) if is_exact else self._estimate(place, owners * factor, factors)
                    yield CounterCost(*place, owners * factor, units * factor)

    def _exact(self, place: tuple[str, str]) -> float:
        return self._number(_TO_SET, place) + self._number(_TO_CLEAN, place)

    def _estimate(self, place: tuple[str, str], owners: float, factors: dict[str, float]) -> float:
        """As if every child of the sample had a parent of its own, and every value that is stored were wrong."""
        parents = self._number("SELECT count(DISTINCT owner) FROM totals WHERE entity = ?", place[:1])
        share = min(1.0, parents * max(factors.values()) / owners)
        where = "FROM owners WHERE entity = ? AND attribute = ? AND stored IS"
        stored = self._number(f"SELECT coalesce(sum(units), 0) {where} NOT 0", place)
        zeros = self._number(f"SELECT coalesce(sum(units), 0) {where} 0", place)
        tallied = "SELECT coalesce(sum(units), 0) FROM tallied WHERE entity = ? AND attribute = ?"
        return stored + share * (zeros + self._number(tallied, place))

    def _number(self, query: str, values: tuple[str, ...]) -> float:
        assert self._file is not None
        ((number,),) = self._file.execute(query, values)
        return float(number)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

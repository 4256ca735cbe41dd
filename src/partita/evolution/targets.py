"""The design that is to be applied, beside what is recorded about the data."""

from collections.abc import Iterator, Mapping, Set

import msgspec

from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.pages import Removed, attributes_in
from partita.plan.design import Counter, Design
from partita.plan.design_differences import (
    FactDifference,
    MovedEntity,
    fact_differences,
    moved_entities,
    skipped_releases,
)
from partita.plan.fingerprint import Facts, table_facts
from partita.store.design_records import DataDesign


class Target(msgspec.Struct, frozen=True):
    """A design, with its facts and the recorded ones by the tables' names on the backend."""

    design: Design
    names: Mapping[str, str]  # of tables on the backend, by those in the design
    facts: Mapping[str, Facts]
    records: Mapping[str, DataDesign]

    def is_recorded(self, tables: Set[str]) -> bool:
        """Whether it is known which design the data of each of some tables satisfies."""
        return tables <= self.records.keys()

    @property
    def differences(self) -> list[FactDifference]:
        """The differences between the recorded design and this one."""
        found = [fact_differences(each.facts, self.facts[name]) for name, each in self.records.items()]
        return [difference for several in found for difference in several]

    @property
    def moved_entities(self) -> list[MovedEntity]:
        """The entities that the design has in another table."""
        return list(moved_entities({name: each.facts for name, each in self.records.items()}, self.facts))

    @property
    def blocked(self) -> list[str]:
        """The changes that need another release first, in words."""
        return [each for name, record in self.records.items() for each in self._blocked(name, record)]

    def _blocked(self, name: str, record: DataDesign) -> Iterator[str]:
        return skipped_releases(record.facts, self.facts[name])

    @property
    def removed(self) -> Removed:
        """By entity, the attributes of index keys and TTLs that the recorded design wrote and this one does not.

        With those of designs that were rolled back: nobody would write them again, and their items would stay in an
        index of the same attributes, or expire.
        """
        found: dict[str, frozenset[str]] = {}
        for name, record in self.records.items():
            for several in (attributes_without(record.facts, self.facts[name]), record.abandoned):
                for entity, names in several.items():
                    found[entity] = found.get(entity, frozenset()) | names
        return found

    @property
    def new_counters(self) -> Iterator[Counter]:
        """The counters that the data does not have yet: those that are new or changed, or all if nothing is known."""
        changed = {each.fact for each in self.differences if each.new is not None}
        tables = (table for table in self.design.tables if self.names[table.name] not in self.records)
        unknown = {model.name for table in tables for model in table.models}
        for several in self.design.counters.values():
            for counter in several:
                fact = f"{counter.parent.name} counts {counter.attribute.name}"
                if fact in changed or counter.parent.name in unknown:
                    yield counter


def attributes_without(one: Facts, other: Facts) -> dict[str, set[str]]:
    """By entity, the attributes of index keys and TTLs that one design writes, and another one otherwise or not."""
    found: dict[str, set[str]] = {}
    for each in fact_differences(one, other):
        entity, _, rest = each.fact.partition(" ")
        if rest.startswith("in "):
            found.setdefault(entity, set()).update(attributes_in(each.old))
        elif rest == "expires" and "table TTL" in one:
            found.setdefault(entity, set()).add(one["table TTL"])
    return found


def target_of(db: EvolutionStore, records: Mapping[str, DataDesign]) -> Target:
    """The design of a store, beside the records of its tables."""
    names = {table.name: db.table_name(table) for table in db.design.tables}
    return Target(db.design, names, design_facts(db), records)


def design_facts(db: EvolutionStore) -> dict[str, Facts]:
    """The facts of a store's design, by the tables' names on the backend."""
    return {db.table_name(table): table_facts(db.design, table) for table in db.design.tables}

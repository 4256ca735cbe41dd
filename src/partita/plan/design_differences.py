"""The differences between two fingerprints: what the data of one design lacks for another.

A difference `needs_work` where data of the old design gives wrong answers with the new one: an index has no entries, a
counter was never counted. Others are only mentioned: an attribute that may be missing, an index that is no longer used.
"""

from collections.abc import Iterator, Mapping

import msgspec

from partita.plan.fingerprint import REMOVED, REQUIRED, Facts


class FactDifference(msgspec.Struct, frozen=True):
    """A fact that two designs do not share; `old` or `new` is None where one of them does not have it."""

    fact: str
    old: str | None
    new: str | None
    needs_work: bool

    def __str__(self) -> str:
        if self.old is None:
            return f"{self.fact} is new: {self.new}"
        if self.new is None:
            return f"{self.fact} is gone: {self.old}"
        return f"{self.fact} was {self.old}, is {self.new}"


def fact_differences(old: Facts, new: Facts) -> list[FactDifference]:
    """The differences, in the order of the facts."""
    return list(_differences(old, new))


def lacks(old: Facts, new: Facts) -> list[FactDifference]:
    """The differences for which data of the old design has to be changed before the new one is right."""
    return [] if old == new else [each for each in _differences(old, new) if each.needs_work]


def entities_in(facts: Facts) -> set[str]:
    """The names of the entities of a fingerprint."""
    return {fact.removesuffix(" key") for fact in facts if fact.endswith(" key") and fact != "table key"}


class MovedEntity(msgspec.Struct, frozen=True):
    """An entity that the data has in a table in which a design has it no longer, but in another one."""

    entity: str
    old_table: str
    table: str

    def __str__(self) -> str:
        return f"{self.entity} was in table {self.old_table}, is in table {self.table}"


def moved_entities(old: Mapping[str, Facts], new: Mapping[str, Facts]) -> Iterator[MovedEntity]:
    """Those between the designs of some tables: each table by itself would only have an entity more, or less."""
    places = {entity: name for name, facts in new.items() for entity in sorted(entities_in(facts))}
    for name, facts in old.items():
        for entity in sorted(entities_in(facts) - entities_in(new.get(name, facts))):
            if entity in places:
                yield MovedEntity(entity, name, places[entity])


def _differences(old: Facts, new: Facts) -> Iterator[FactDifference]:
    before, after = entities_in(old), entities_in(new)
    is_renaming = bool(before - after)  # an entity under another name: its guards and types have the old one
    added = set() if is_renaming else after - before
    for fact in sorted(old.keys() | new.keys()):
        was, now = old.get(fact), new.get(fact)
        if was != now:
            yield FactDifference(fact, was, now, _needs_work(fact, was, now, old, new, added))


def _needs_work(fact: str, old: str | None, new: str | None, before: Facts, after: Facts, added: set[str]) -> bool:
    subject, _, rest = fact.partition(" ")
    if subject.partition(".")[0] in added and " counts " not in fact:
        return False  # an entity of which nothing is stored yet
    if subject in ("table", "index"):
        return new is not None or fact == "table TTL"
    if rest.startswith("in "):
        return new is not None or f"index {rest.removeprefix('in ')}" in after
    if rest == "expires":
        return True
    if rest.startswith("converts "):
        return new is not None or not (old or "").endswith(REMOVED)
    if not rest and _is_converted(subject, after):
        return False  # the conversion is a fact of its own
    if not rest:  # an attribute
        return new is not None and (new.endswith(REQUIRED) if old is None else _is_other_form(old, new))
    return new is not None


def _is_converted(attribute: str, facts: Facts) -> bool:
    entity, _, name = attribute.partition(".")
    return f"{entity} converts {name}" in facts


def skipped_releases(old: Facts, new: Facts) -> Iterator[str]:
    """Conversions of attributes for which programs of both designs cannot work side by side, in words."""
    for fact in sorted(old.keys() | new.keys()):
        entity, converts, name = fact.partition(" converts ")
        was, now = old.get(fact), new.get(fact)
        if not converts or was == now:
            continue
        before = (was or now or "").partition(" ")[0]
        if now is None and was is not None and not was.endswith(REMOVED) and f"{entity}.{before}" not in new:
            yield f"{entity}.{name} still has its earlier form, {before}: first apply Was({before!r}, removed=True)"
        if was is None and now is not None and now.endswith(REMOVED) and f"{entity}.{before}" in old:
            yield f"{entity}.{before} was never converted: first apply Was({before!r}) without removed=True"
        if was is None and f"{entity}.{name}" in old and " as " not in (now or ""):
            yield f"{entity}.{name} exists already: give the attribute that {before} becomes another name"


def _is_other_form(old: str, new: str) -> bool:
    """Whether an attribute is stored otherwise, or has to be there where it may be missing."""
    if old.removesuffix(REQUIRED) != new.removesuffix(REQUIRED):
        return True
    return new.endswith(REQUIRED)

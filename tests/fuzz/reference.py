"""What a store should hold and answer, in plain Python over all items: the reference of every comparison.

A write is the difference between a state before and a state after: the steps are applied to a copy of all items, and
the invariants are then checked on the whole. Nothing here knows of conditions, guards or transactions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from partita import (
    AlreadyExists,
    ConditionFailed,
    InvalidTransaction,
    InvalidTransition,
    InvalidValue,
    LimitReached,
    NotFound,
    NotUnique,
    PartitaError,
    ReferenceMissing,
    StillReferenced,
    VersionConflict,
)
from tests.fuzz.conditions import Condition
from tests.fuzz.counters import contribution, recounted, target, total, zero_of
from tests.fuzz.designs import STEPS, CounterSpec, DesignSpec, EntitySpec
from tests.fuzz.stored import Identity, Items, State, Values, identity, is_alive, settled, unique_value
from tests.fuzz.write_spec import Write


@dataclass(frozen=True)
class Outcome:
    """What a write does: one of `errors` where there are some, perhaps one of `allowed`, otherwise the state after.

    `looks_done` is a write of values that the item has already, such as a creation of an equal one: after a lost reply
    it counts as done (docs/decisions/0023).
    """

    errors: frozenset[type[PartitaError]]
    allowed: frozenset[type[PartitaError]]
    after: State
    looks_done: bool = False


class Left(Exception):
    """A write that the fuzzer leaves out: the reference does not say what it does."""


class _Trial:
    """The steps of a write, applied one after the other."""

    def __init__(self, spec: DesignSpec, before: State, now: datetime) -> None:
        self.spec = spec
        self.before = before
        self.items: Items = dict(before.items)
        self.kept = set(before.kept)
        self.now = now
        self.errors: set[type[PartitaError]] = set()
        self.allowed: set[type[PartitaError]] = set()
        self.deleted: set[Identity] = set()
        self.created: set[Identity] = set()
        self.moved: dict[Identity, dict[str, Any]] = {}  # to a new key: the values before
        self.places: set[Identity] = set()  # the items that the parts of a transaction are about
        self.several = False
        self.has_equal = False  # the item has the written values already

    def alive(self, place: Identity) -> dict[str, Any] | None:
        found = self.items.get(place)
        return found[1] if found is not None and is_alive(*found, self.now) else None

    # Steps

    def apply(self, write: Write) -> None:
        {
            "create": self._create,
            "put": self._put,
            "replace": self._replace,
            "change": self._change,
            "update": self._change,
            "delete": self._delete,
            "check": self._check,
            "release": self._release,
        }[write.kind](write)

    def _create(self, write: Write) -> None:
        entity = write.entity
        values = self._complete(entity, write.values)
        place = identity(entity, values)
        if self.alive(place) is not None:
            self.errors.add(AlreadyExists)
        self.has_equal = place in self.items and self.items[place][1] == values
        if write.when is not None:
            self._judge(write.when, self.items.get(place))
        if entity.steps and values["n"] != 0:
            self.errors.add(InvalidTransition)
        if self._over_own_limit(entity, values):
            self.errors.add(LimitReached)
        self.created.add(place)
        self.items[place] = (entity, values)

    def _complete(self, entity: EntitySpec, given: Values) -> dict[str, Any]:
        values = settled(entity, given)
        values |= {each.name: zero_of(each) for each in entity.counters}
        if entity.version:
            values["version"] = 1
        if entity.times:
            values |= {"created": self.now, "updated": self.now}
        return values

    def _put(self, write: Write) -> None:
        entity = write.entity
        place = identity(entity, write.values)
        before = self.alive(place)
        if self.several and has_invariants(self.spec, entity):
            self.allowed.add(InvalidValue)
        if before is None:
            self._create(write)
            return
        self._check_own_limit(entity, before, write.values)
        if self._over_own_limit(entity, write.values) and not has_invariants(self.spec, entity):
            self.allowed.add(LimitReached)  # a put without a read cannot see whether the value grows
        self._edit(write, before, place, settled(entity, write.values))

    def _replace(self, write: Write) -> None:
        entity = write.entity
        place = identity(entity, write.values)
        before = self.alive(place)
        if before is None:
            self.errors.add(NotFound)
            expired = self.items.get(place)
            self.has_equal = expired is not None and self._has_values(write, expired[1])
            return
        if entity.version and write.version != before["version"]:
            self.errors.add(VersionConflict)
        self._check_own_limit(entity, before, write.values)
        self._edit(write, before, place, settled(entity, write.values))

    def _change(self, write: Write) -> None:
        entity = write.entity
        place = identity(entity, write.key)
        before = self.alive(place)
        if write.create and not self._can_create(write):
            self.errors.add(InvalidValue)
            return
        if before is None:
            if write.create:
                self._create_changed(write)
            else:
                self.errors.add(NotFound)
                expired = self.items.get(place)
                self.has_equal = expired is not None and self._has_values(write, expired[1])
            return
        if write.when is not None and not write.when.test(before):
            self.errors.add(ConditionFailed)
            others = [each for each in write.when.parts if each.fields.isdisjoint(write.values)]
            self.has_equal = all(each.test(before) for each in others) and self._has_values(write, before)
        if write.version is not None and write.version != before["version"]:
            self.errors.add(VersionConflict)
        edits = settled(entity, write.values)
        for name, amount in write.steps.items():
            if before[name] is None:
                raise Left("a step of nothing")
            edits[name] = before[name] + amount
            if name != "n":
                self.allowed.add(InvalidValue)  # it may not fit a key
        if write.kind == "update" and all(before[name] == value for name, value in edits.items()):
            return
        self._check_own_limit(entity, before, before | edits)
        self._edit(write, before, place, before | edits, transition="n" in edits)

    def _has_values(self, write: Write, before: Values) -> bool:
        """Whether the item has all values that a change assigns."""
        return not write.steps and {**before} | settled(write.entity, write.values) == before

    def _can_create(self, write: Write) -> bool:
        """Whether a change says enough to create its item, and not more than it could."""
        entity = write.entity
        edited = {*write.values, *write.steps}
        if write.when is not None or write.version is not None or edited & set(entity.key.fields):
            return False
        known = edited | set(entity.key.fields)
        return all(name in known or each.default is not None for name, each in entity.fields.items())

    def _create_changed(self, write: Write) -> None:
        """Creates the item of a change from its key, the defaults and the edits."""
        entity = write.entity
        values = {name: each.start for name, each in entity.fields.items()} | {"n": 0, "most": 2} | {**write.key}
        values = {name: value for name, value in values.items() if name in (*entity.own_fields, *entity.key.fields)}
        for name, amount in write.steps.items():
            if values[name] is None:
                raise Left("a step of nothing")
            values[name] += amount
        if write.steps.keys() - {"n"}:
            self.allowed.add(InvalidValue)  # it may not fit a key
        self._create(replace(write, kind="create", values=values | {**write.values}))

    def _edit(
        self, write: Write, before: dict[str, Any], place: Identity, after: dict[str, Any], transition: bool = True
    ) -> None:
        """Replaces an item's values, perhaps under another key."""
        entity = write.entity
        if entity.steps and transition and after["n"] not in (before["n"], *STEPS.get(before["n"], ())):
            self.errors.add(InvalidTransition)
        changed = before | after | {each.name: before[each.name] for each in entity.counters}
        if entity.version:
            changed["version"] = before["version"] + 1
        if entity.times:
            changed |= {"created": before["created"], "updated": self.now}
        moved = identity(entity, changed)
        if moved != place:
            self._check_move(entity, moved)
            self.moved[moved] = before
        del self.items[place]
        self.items[moved] = (entity, changed)

    def _check_move(self, entity: EntitySpec, moved: Identity) -> None:
        if entity.counters or entity.owns:
            self.allowed.add(InvalidValue)  # children would keep the old key
        if moved in self.places:
            self.allowed |= {InvalidTransaction, NotFound}  # two writes to one item, which may not have been there
        self.places.add(moved)
        if self.alive(moved) is not None:
            self.errors.add(AlreadyExists)
        elif moved in self.items:
            self.allowed.add(AlreadyExists)  # an expired item

    def _over_own_limit(self, entity: EntitySpec, values: Values) -> bool:
        return any(name == "n" and values["n"] > bound for name, bound in entity.limits)

    def _check_own_limit(self, entity: EntitySpec, before: Values, after: Values) -> None:
        if self._over_own_limit(entity, after) and after["n"] > before["n"]:
            self.errors.add(LimitReached)

    def _delete(self, write: Write) -> None:
        entity = write.entity
        place = identity(entity, write.key)
        found = self.items.get(place)
        if write.when is not None:
            self._judge(write.when, found)
            self.has_equal = self.alive(place) is None  # a deletion that was lost is done if there is no item
        if found is None or not is_alive(*found, self.now):
            return  # an expired item may stay until it is deleted by its TTL
        if self.several:
            self.deleted.add(place)
            self._remove(place)
        else:
            self._remove_with_owned(place)

    def _remove_with_owned(self, place: Identity) -> None:
        found = self.items[place]
        if is_alive(*found, self.now):
            self.deleted.add(place)
        self._remove(place)
        for number in found[0].owns:
            child = self.spec.entities[number]
            owned = [key for key, (each, values) in self.items.items() if each is child and _owned(values, found)]
            for key in owned:
                if key in self.items:  # or it was owned by another child as well
                    self._remove_with_owned(key)

    def _remove(self, place: Identity) -> None:
        entity, values = self.items.pop(place)
        for unique in entity.uniques:
            value = unique_value(entity, unique, values)
            if unique.keep and value is not None:
                self.kept.add((entity.name, unique.name, value))

    def _check(self, write: Write) -> None:
        assert write.when is not None
        self._judge(write.when, self.before.items.get(identity(write.entity, write.key)))

    def _judge(self, when: Condition, found: tuple[EntitySpec, Values] | None) -> None:
        """A condition of a deletion or a check; an expired item may exist or not."""
        results = {when.test(found[1]) if found is not None else when.holds_for_nothing}
        if found is not None and not is_alive(*found, self.now):
            results.add(when.holds_for_nothing)
        if True not in results:
            self.errors.add(ConditionFailed)
        elif False in results:
            self.allowed.add(ConditionFailed)

    def _release(self, write: Write) -> None:
        entity = write.entity
        unique = entity.uniques[0]
        value = unique_value(entity, replace(unique, sparse=False), write.values)
        alive = [values for each, values in self.items.values() if each is entity and is_alive(each, values, self.now)]
        if any(unique_value(entity, unique, values) == value for values in alive):
            self.errors.add(InvalidValue)
        self.kept.discard((entity.name, unique.name, value))

    # Invariants of the whole

    def outcome(self) -> Outcome:
        self._check_uniques()
        self._check_references()
        self._check_counters()
        errors = frozenset(self.errors)
        after = self.before if errors else State(recounted(self.spec, self.items), frozenset(self.kept))
        looks_done = self.has_equal and errors <= {AlreadyExists, ConditionFailed, NotFound}
        return Outcome(errors, frozenset(self.allowed), after, looks_done)

    def _new(self) -> Iterator[tuple[Identity, EntitySpec, dict[str, Any], dict[str, Any] | None]]:
        """Items that the write has changed or created, each with its values before."""
        for place, (entity, values) in self.items.items():
            before = self.before.items.get(place)
            if before is None or before[1] is not values:
                earlier = None if before is None or place in self.created else before[1]
                yield place, entity, values, self.moved.get(place, earlier)

    def _check_uniques(self) -> None:
        for place, entity, values, _ in self._new():
            for unique in entity.uniques:
                value = unique_value(entity, unique, values)
                if value is None:
                    continue
                others = (
                    key
                    for key, (each, held) in self.items.items()
                    if each is entity and key != place and unique_value(entity, unique, held) == value
                    if is_alive(each, held, self.now)
                )
                if next(others, None) is not None or (entity.name, unique.name, value) in self.kept:
                    self.errors.add(NotUnique)

    def _check_references(self) -> None:
        for _, entity, values, before in self._new():
            for link in entity.references:
                wanted = target(self.spec, link, values)
                if wanted is None or (before is not None and target(self.spec, link, before) == wanted):
                    continue
                if self.alive(wanted) is None:
                    self.errors.add(ReferenceMissing)

    def _check_counters(self) -> None:
        for parent in self.spec.entities:
            for counter in parent.counters:
                self._check_parents(counter)
                self._check_limits(parent, counter)
                for place in self.deleted:
                    if total(self.spec, counter, self.items, place) != 0:
                        found = self.allowed if place in self.items else self.errors
                        found.add(StillReferenced)

    def _check_parents(self, counter: CounterSpec) -> None:
        """An item that counts from now on needs its parent."""
        child = self.spec.entities[counter.child]
        for _, entity, values, before in self._new():
            if entity is not child:
                continue
            wanted, amount = contribution(self.spec, counter, values)
            earlier = (None, Decimal(0)) if before is None else contribution(self.spec, counter, before)
            same = earlier[1] if earlier[0] == wanted else Decimal(0)
            if wanted is not None and amount != same and self.alive(wanted) is None:
                self.errors.add(ReferenceMissing)

    def _check_limits(self, parent: EntitySpec, counter: CounterSpec) -> None:
        for name, bound in parent.limits:
            if name != counter.name:
                continue
            for place, (entity, values) in self.items.items():
                if entity is not parent:
                    continue
                before = total(self.spec, counter, self.before.items, place)
                after = total(self.spec, counter, self.items, place)
                most = bound if isinstance(bound, int) else values[bound]
                if after > before and after > most:
                    self.errors.add(LimitReached)
                if after > before + 1 and not isinstance(bound, int):
                    self.allowed.add(InvalidValue)  # the sum of several cannot be checked against an attribute
                if self._changes_bound(place, bound):
                    self.allowed |= {LimitReached, InvalidValue}

    def _changes_bound(self, place: Identity, bound: int | str) -> bool:
        before = self.before.items.get(place)
        return isinstance(bound, str) and (before is None or before[1][bound] != self.items[place][1][bound])


def _owned(values: Values, parent: tuple[EntitySpec, Values]) -> bool:
    form = parent[0].key.attributes[0].parts[0][1]
    return bool(form.part(values["p"]) == form.part(parent[1]["p"]))


def outcome(spec: DesignSpec, before: State, write: Write, now: datetime) -> Outcome:
    """What a write should do in a state."""
    trial = _Trial(spec, before, now)
    trial.several = write.kind == "transaction"
    alone = sum(each.kind != "delete" for each in write.parts) <= 1
    if write.kind in ("put_many", "delete_many"):
        if any(has_invariants(spec, each.entity) for each in write.parts):
            trial.allowed.add(InvalidValue)
        if len({identity(each.entity, each.key or each.values) for each in write.parts}) < len(write.parts):
            trial.allowed.add(InvalidValue)
    if trial.several:
        trial.places = {identity(each.entity, each.key or each.values) for each in write.parts}
    for each in write.parts or (write,):
        trial.apply(each)
    found = trial.outcome()
    return found if alone else replace(found, looks_done=False)


def has_invariants(spec: DesignSpec, entity: EntitySpec) -> bool:
    """Whether a put of the entity concerns other items, or values that must survive."""
    counted = any(each.child == entity.number for other in spec.entities for each in other.counters)
    own = entity.uniques or entity.counters or entity.references or entity.owns or entity.limits
    return bool(own) or counted or entity.version or entity.times or entity.steps

"""What a store should hold and answer, in plain Python over all items: the reference of every comparison.

A write is the difference between a state before and a state after: the steps are applied to a copy of all items, and
the invariants are then checked on the whole. Nothing here knows of conditions, guards or transactions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from partita import (
    AlreadyExists,
    ConditionFailed,
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
from tests.fuzz.designs import (
    STEPS,
    CounterSpec,
    DesignSpec,
    EntitySpec,
    KeySpec,
    Link,
    PatternSpec,
    Printed,
    UniqueSpec,
    literal,
)
from tests.fuzz.forms import escaped, folded, nfc, number_text, time_text

Values = Mapping[str, Any]
Identity = tuple[Any, ...]
Items = dict[Identity, tuple[EntitySpec, dict[str, Any]]]


@dataclass(frozen=True, eq=False, repr=False)
class Write(Printed):
    """One write: of a new item's values, or of the item with the values `key`; `parts` are those of a transaction."""

    kind: str  # create, put, replace, change, update, delete, check, put_many, delete_many, transaction, release
    entity: EntitySpec
    values: Values = field(default_factory=dict)
    key: Values = field(default_factory=dict)
    steps: Values = field(default_factory=dict)  # n += 1
    when: bool = False  # under the condition n == 0
    version: int | None = None
    parts: tuple["Write", ...] = ()

    def source(self, db: str = "db") -> str:
        """The write as a person would type it."""
        name = self.entity.name
        values = ", ".join(f"{field}={literal(value)}" for field, value in self.values.items())
        made = f"{name}({values}{f', version={self.version}' if self.kind == 'replace' and self.version else ''})"
        key = (
            f"get({name}, {', '.join(literal(self.key[each]) for each in self.entity.key.fields)})" if self.key else ""
        )
        when = ", when=F.n == 0" if self.when else ""
        version = f", version={self.version}" if self.version is not None else ""
        edits = [f"draft.{each} = {literal(value)}" for each, value in self.values.items()]
        edits += [f"draft.{each} += {literal(amount)}" for each, amount in self.steps.items()]
        if self.kind in ("create", "put", "replace"):
            return f"{db}.{self.kind}({made})"
        if self.kind == "change":
            if db == "t":
                return "\n    ".join([f"draft = t.change({key}{when}{version})", *edits])
            return f"with db.change({key}{when}{version}) as draft:\n    " + "\n    ".join(edits)
        if self.kind == "update":
            setting = "\n    ".join(each.replace("draft", "entity") for each in edits)
            return f"def edit(entity):\n    {setting}\ndb.update({key}, edit)"
        if self.kind == "put_many":
            return f"db.put_many([{self._listed('.put(')}])"
        if self.kind == "delete_many":
            return f"db.delete_many([{self._listed('.delete(')}])"
        if self.kind == "transaction":
            return "with db.transaction() as t:\n    " + "\n    ".join(each.source("t") for each in self.parts)
        if self.kind == "release":
            given = ", ".join(literal(value) for value in self.values.values())
            return f"db.release_unique({name}, 'u0', {given})"
        return f"{db}.{self.kind}({key}{', F.n == 0' if self.kind == 'check' else when})"

    def _listed(self, call: str) -> str:
        return ", ".join(each.source("").removeprefix(call)[:-1] for each in self.parts)

    def __repr__(self) -> str:
        return self.source()


def identity(entity: EntitySpec, values: Values) -> Identity:
    """Two items with the same identity are one: the parts of the table's key, as the key holds them."""
    parts = [(form, name) for each in entity.key.attributes for name, form in each.parts]
    return (entity.name, *(_comparable(form.part(values[name])) for form, name in parts))


def _comparable(part: Any) -> Any:
    return (type(part).__name__, part) if isinstance(part, bool) else part


@dataclass(frozen=True)
class State:
    """All items, and the unique values that are kept after a deletion."""

    items: Items = field(default_factory=dict)
    kept: frozenset[tuple[str, str, Any]] = frozenset()

    def stored(self, entity: EntitySpec) -> list[dict[str, Any]]:
        return [values for each, values in self.items.values() if each is entity]


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


def settled(entity: EntitySpec, values: Values) -> dict[str, Any]:
    """Values as they are read back."""
    plain = entity.plain_fields | set(entity.key.fields)
    return {name: nfc(value) if name in plain else value for name, value in values.items()}


def is_alive(entity: EntitySpec, values: Values, now: datetime) -> bool:
    """Whether an item has not expired."""
    second = expiry(entity, values)
    return second is None or second > int(now.timestamp())


def expiry(entity: EntitySpec, values: Values) -> int | None:
    if entity.expires is None or values[entity.expires] is None or (entity.expires_when and values["n"] != 0):
        return None
    return int(values[entity.expires].timestamp())


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
            self.has_equal = self.alive(place) == values
        if entity.steps and values["n"] != 0:
            self.errors.add(InvalidTransition)
        if self._over_own_limit(entity, values):
            self.errors.add(LimitReached)
        self.items[place] = (entity, values)

    def _complete(self, entity: EntitySpec, given: Values) -> dict[str, Any]:
        values = settled(entity, given)
        values |= {each.name: _zero(each) for each in entity.counters}
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
            return
        if entity.version and write.version != before["version"]:
            self.errors.add(VersionConflict)
        self._check_own_limit(entity, before, write.values)
        self._edit(write, before, place, settled(entity, write.values))

    def _change(self, write: Write) -> None:
        entity = write.entity
        place = identity(entity, write.key)
        before = self.alive(place)
        if before is None:
            self.errors.add(NotFound)
            return
        if write.when and before["n"] != 0:
            self.errors.add(ConditionFailed)
            written = settled(entity, write.values)
            self.has_equal = "n" in written and not write.steps and before | written == before
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
        del self.items[place]
        self.items[moved] = (entity, changed)

    def _check_move(self, entity: EntitySpec, moved: Identity) -> None:
        if entity.counters or entity.owns:
            self.allowed.add(InvalidValue)  # children would keep the old key
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
        if found is None:
            return
        if write.when and found[1]["n"] != 0:
            self.errors.add(ConditionFailed)
            return
        if write.when and not is_alive(*found, self.now):
            self.allowed.add(ConditionFailed)  # if the item is read first, it does not exist
        self.deleted.add(place)
        if not self.several:
            for number in entity.owns:
                child = self.spec.entities[number]
                owned = [key for key, (each, values) in self.items.items() if each is child and _owned(values, found)]
                for key in owned:
                    self._remove(key)
        self._remove(place)

    def _remove(self, place: Identity) -> None:
        entity, values = self.items.pop(place)
        for unique in entity.uniques:
            value = unique_value(entity, unique, values)
            if unique.keep and value is not None:
                self.kept.add((entity.name, unique.name, value))

    def _check(self, write: Write) -> None:
        place = identity(write.entity, write.key)
        found = self.before.items.get(place)
        if found is None or found[1]["n"] != 0:
            self.errors.add(ConditionFailed)
        elif not is_alive(*found, self.now):
            self.allowed.add(ConditionFailed)

    def _release(self, write: Write) -> None:
        entity = write.entity
        unique = entity.uniques[0]
        value = unique_value(entity, replace(unique, sparse=False), write.values)
        self.kept.discard((entity.name, unique.name, value))

    # Invariants of the whole

    def outcome(self) -> Outcome:
        self._check_uniques()
        self._check_references()
        self._check_counters()
        errors = frozenset(self.errors)
        after = self.before if errors else State(recounted(self.spec, self.items), frozenset(self.kept))
        looks_done = self.has_equal and errors <= {AlreadyExists, ConditionFailed}
        return Outcome(errors, frozenset(self.allowed), after, looks_done)

    def _new(self) -> Iterator[tuple[Identity, EntitySpec, dict[str, Any], dict[str, Any] | None]]:
        """Items that the write has changed or created, each with its values before."""
        for place, (entity, values) in self.items.items():
            before = self.before.items.get(place)
            if before is None or before[1] is not values:
                yield place, entity, values, None if before is None else before[1]

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


def _zero(counter: CounterSpec) -> Any:
    return {"int": int, "Decimal": Decimal, "float": float}[counter.type](0)


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
    for each in write.parts or (write,):
        trial.apply(each)
    found = trial.outcome()
    return found if alone else replace(found, looks_done=False)


def has_invariants(spec: DesignSpec, entity: EntitySpec) -> bool:
    """Whether a put of the entity concerns other items, or values that must survive."""
    counted = any(each.child == entity.number for other in spec.entities for each in other.counters)
    own = entity.uniques or entity.counters or entity.references or entity.owns or entity.limits
    return bool(own) or counted or entity.version or entity.times or entity.steps


def target(spec: DesignSpec, link: Link, values: Values) -> Identity | None:
    """The item that a link names; None where one of its parts is None."""
    found = {part: values[source] for part, source in link.parts.items()}
    return None if None in found.values() else identity(spec.entities[link.other], found)


def contribution(spec: DesignSpec, counter: CounterSpec, values: Values) -> tuple[Identity | None, Decimal]:
    """What an item adds to which parent."""
    if counter.sparse and values["n"] != 0:
        return None, Decimal(0)
    amount = Decimal(1) if counter.amount is None else Decimal(str(values[counter.amount] or 0))
    return target(spec, counter.link, values), amount


def total(spec: DesignSpec, counter: CounterSpec, items: Items, place: Identity) -> Decimal:
    """A counter, computed from the items."""
    child = spec.entities[counter.child]
    amounts = (contribution(spec, counter, values) for each, values in items.values() if each is child)
    return sum((amount for parent, amount in amounts if parent == place), Decimal(0))


def recounted(spec: DesignSpec, items: Items) -> Items:
    """The items with every counter computed from them."""
    counted = dict(items)
    for place, (entity, values) in items.items():
        fresh = {each.name: type(_zero(each))(total(spec, each, items, place)) for each in entity.counters}
        if any(values[name] != value for name, value in fresh.items()):
            counted[place] = (entity, values | fresh)
    return counted


# Unique values


def unique_value(entity: EntitySpec, unique: UniqueSpec, values: Values) -> tuple[str, ...] | None:
    """The value that no other item may have, as text; None where the item has none."""
    if any(values[name] is None for name in unique.fields) or (unique.sparse and values["n"] != 0):
        return None
    texts = (_unique_text(values[name]) for name in unique.fields)
    return tuple(folded(each) if unique.case_insensitive else nfc(each) for each in texts)


def _unique_text(value: Any) -> str:
    if isinstance(value, datetime):
        return time_text(value)
    return number_text(value) if isinstance(value, Decimal) else str(getattr(value, "value", value))


def guards(spec: DesignSpec, state: State, now: datetime) -> dict[str, Any]:
    """The key of every guard, with the key of its item; None for a value that is kept after a deletion."""
    found: dict[str, Any] = {_guard(entity, unique, value): None for entity, unique, value in state.kept}
    for entity, values in state.items.values():
        if is_alive(entity, values, now):
            for unique in entity.uniques:
                value = unique_value(entity, unique, values)
                if value is not None:
                    found[_guard(entity.name, unique.name, value)] = key_texts(entity.key, values)
    return found


def _guard(entity: str, unique: str, value: tuple[str, ...]) -> str:
    return "#".join(("UNIQUE", entity, unique, *(escaped(each, False) for each in value)))


# Keys


def key_texts(keys: KeySpec, values: Values) -> dict[str, str] | None:
    """The key attributes that templates write; None where the item is not in the index."""
    if keys.sparse and values["n"] != 0:
        return None
    found: dict[str, str] = {}
    for attribute in keys.attributes:
        if attribute.template is None:
            continue
        texts = []
        for at, each in enumerate(attribute.template):
            text = each.constant
            if each.field is not None and each.form is not None:
                if values[each.field] is None:
                    return None
                text += each.form.text(values[each.field], attribute in keys.sort and at + 1 < len(attribute.template))
            texts.append(text)
        found[attribute.name] = "#".join(texts)
    return found


def has_old_text(keys: KeySpec, values: Values) -> bool:
    """Whether other code can have written such an old key, and nothing but this item can have its text today."""
    for attribute in keys.attributes:
        for at, each in enumerate(attribute.template or ()):
            text = values[each.field] if each.field is not None else None
            if isinstance(text, str) and ("$" in text or ("#" in text and at + 1 < len(attribute.template or ()))):
                return False
    return True


def derived_attributes(spec: DesignSpec, entity: EntitySpec, values: Values) -> dict[str, str]:
    """Every attribute of an item that follows from others: its index keys and its TTL."""
    found: dict[str, str] = {}
    for keys in entity.indexes:
        found |= key_texts(keys, values) or {}
    second = expiry(entity, values)
    if second is not None:
        found["ttl"] = str(second)
    return {name: text for name, text in found.items() if name not in spec.key_names}


def stored_names(spec: DesignSpec, entity: EntitySpec, values: Values) -> set[str]:
    """The names of an item's attributes on disk."""
    fields = entity.fields
    own = {name for name, value in values.items() if value is not None and not (name in fields and fields[name].in_key)}
    return (
        own | set(spec.key_names) | set(derived_attributes(spec, entity, values)) | ({"type"} if spec.typed else set())
    )


# Answers


def answer(
    pattern: PatternSpec, state: State, given: list[Any], bounds: list[Any], now: datetime
) -> list[tuple[str, Values]]:
    """The items of a read, in no order."""
    found: list[tuple[str, Values]] = []
    for each, values in state.items.values():
        if each in pattern.entities and is_alive(each, values, now) and _matches(pattern, each, values, given, bounds):
            shown = {name: values[name] for name in each.view} if pattern.of_view(each) else values
            found.append((pattern.result(each), shown))
    return found


def _matches(pattern: PatternSpec, entity: EntitySpec, values: Values, given: list[Any], bounds: list[Any]) -> bool:
    """Parts are compared by their position in the key: entities of a collection may name them differently."""
    if pattern.filtered and values["n"] != 0:
        return False
    if pattern.single:
        wanted = dict(zip(entity.key.fields, given, strict=True))
        return identity(entity, wanted) == identity(entity, values)
    keys = entity.keys(pattern.index)
    if (keys.sparse and values["n"] != 0) or any(values[name] is None for name in keys.fields):
        return False
    slots = keys.slots
    if len(slots) < len(given):
        return False
    for at, (slot, wanted) in enumerate(zip(slots, given, strict=False)):
        if pattern.all_shards(at):
            continue
        choices = wanted if pattern.fan == at else [wanted]
        parts = choices if slot.form.query_type else [slot.form.part(each) for each in choices]
        if slot.form.part(values[slot.field]) not in parts:
            return False
    if not bounds:
        return True
    if pattern.given >= len(slots):
        return False
    slot = slots[pattern.given]
    held: Any = slot.form.part(values[slot.field])
    if pattern.bound == "starts_with":
        return bool(held.startswith(slot.form.part(bounds[0])))
    rank = slot.form.order or (lambda value: value)
    low = bounds[0] if pattern.bound in ("since", "after", "between") else None
    high = bounds[-1] if pattern.bound in ("until", "before", "between") else None
    low, high = (each if each is None or slot.form.query_type else slot.form.part(each) for each in (low, high))
    if pattern.bound in ("after", "before"):
        return bool(rank(low) < rank(held) if low is not None else rank(held) < rank(high))
    return (low is None or rank(low) <= rank(held)) and (high is None or rank(held) <= rank(high))

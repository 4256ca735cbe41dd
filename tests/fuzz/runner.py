"""A loaded design at work beside the reference: random writes with faults, and every answer compared."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from partita import NoReply, OutcomeUnknown, PartitaError, connect
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import InternalServerError
from tests.fuzz import forms, reference
from tests.fuzz.designs import EntitySpec, Loaded, PatternSpec, literal
from tests.fuzz.drivers import AsyncDriver, Driver
from tests.fuzz.faults import FAULTS, FaultyBackend
from tests.fuzz.reference import Identity, Left, Outcome, State, Values, Write, identity, is_alive

START = forms.TIMES[0] - timedelta(hours=12)
Raw = dict[str, Any]


class Difference(AssertionError):
    """The store and the reference disagree; the message ends with the design and its writes, as a script."""


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Run:
    """The store, its backend with faults, and the state that the reference expects."""

    loaded: Loaded
    backend: FaultyBackend
    clock: Clock
    drivers: tuple[Driver, Driver]
    quiet: Driver  # without faults
    state: State = field(default_factory=State)
    old: set[Identity] = field(default_factory=set)  # items under an old key
    history: list[str] = field(default_factory=list)
    requests: int = 0  # of the last write

    @classmethod
    def start(cls, loaded: Loaded, engine: Any = None) -> "Run":
        clock = Clock()
        backend = FaultyBackend(engine or connect("memory:", maintain=False, clock=clock))
        drivers = (Driver(loaded, backend, clock), AsyncDriver(loaded, backend, clock))
        quiet = Driver(loaded, backend.inner, clock)
        if engine is not None and "tab" in engine.call(wire.ListTables()).table_names:
            engine.call(wire.DeleteTable(table_name="tab"))
        quiet.store.create_tables()
        return cls(loaded, backend, clock, drivers, quiet)

    # Writes

    def advance(self, minutes: int) -> None:
        self.clock.now += timedelta(minutes=minutes)
        self.history.append(f"clock.now += timedelta(minutes={minutes})")

    def write(
        self, write: Write, driver: int = 0, plan: list[str] | None = None, other: Write | None = None, before: int = 0
    ) -> None:
        """Does a write, perhaps with faults or another one in its middle, and compares what happened."""
        plan = plan or []
        other = other if self._is_atomic(write) else None
        try:
            alone = self._outcome(self.state, write)
            orders = [] if other is None else self._orders(write, other)
        except Left:
            return
        self.history.append(self._told(write, driver, plan, other, before))
        ran: list[PartitaError | None] = []
        if other is not None:
            self.backend.start(plan, (before, lambda: ran.append(_attempt(self.quiet, other)[0])))
        else:
            self.backend.start(plan)
        error, answer = _attempt(self.drivers[driver], write)
        unsure, self.requests = self.backend.unsure, self.backend.requests
        self.backend.start([])
        if unsure and error is not None and _says_unknown(error) and not self._is_atomic(write):
            if ran == [None]:
                self.state = orders[0][0].after
            self.write(write)  # a part of it may be done: it can be done again
            return
        accepted: list[State] = []
        if not ran or (ran[0] is not None and any(_fits(theirs, ran[0]) for theirs, _, _ in orders)):
            accepted = self._accepted(alone, error, unsure)
        for theirs, ours, last in orders if ran == [None] else []:
            if _fits(theirs, None):
                accepted += self._accepted(ours, error, unsure, theirs.after, last)
        if not accepted:
            wanted = [sorted(each.__name__ for each in found.errors) for found in [alone, *(o for _, o, _ in orders)]]
            raise self.difference(f"{_name(error)}; expected {wanted}") from error
        self.state = self._stored_state(accepted)
        self._check_answer(write, error, answer, unsure or bool(ran))

    def _outcome(self, state: State, write: Write) -> Outcome:
        return reference.outcome(self.loaded.spec, state, write, self.clock.now)

    def _orders(self, write: Write, other: Write) -> list[tuple[Outcome, Outcome, State]]:
        """Both orders of two writes: their outcome, ours, and the state after both."""
        first = self._outcome(self.state, other)
        second = self._outcome(first.after, write)
        ours = self._outcome(self.state, write)
        theirs = self._outcome(ours.after, other)
        return [(first, second, second.after), (theirs, ours, theirs.after)]

    def _accepted(
        self,
        found: Outcome,
        error: PartitaError | None,
        unsure: bool,
        before: State | None = None,
        after: State | None = None,
    ) -> list[State]:
        """The states that an outcome and an error allow."""
        before, after = before or self.state, after or found.after
        if error is None:
            return [after] if not found.errors else [before] if unsure and found.looks_done else []
        if unsure and _says_unknown(error):
            return [before, after]
        return [before] if isinstance(error, (*found.errors, *found.allowed)) else []

    def _is_atomic(self, write: Write) -> bool:
        return write.kind not in ("put_many", "delete_many") and not (write.kind == "delete" and write.entity.owns)

    def _check_answer(self, write: Write, error: PartitaError | None, answer: Any, unsure: bool) -> None:
        """The answer of a write is what is stored, or what was."""
        if error is not None or unsure or write.kind not in ("create", "put", "update"):
            return
        place = identity(write.entity, _values(answer))
        stored = self.state.items.get(place)
        if stored is None or _shown("", stored[1]) != _shown("", _values(answer)):
            raise self.difference(f"answered {answer}, stored {stored}")

    def write_with_every_fault(self, write: Write, driver: int) -> None:
        """Does a write once with each fault at each of its requests, each time from the same state."""
        try:
            self._outcome(self.state, write)
        except Left:
            return
        items, state, old, history = self.scan(), self.state, set(self.old), len(self.history)
        self.write(write, driver)
        for at in range(self.requests):
            for fault in FAULTS:
                if fault != "ok":
                    self._restore(items, state, old, history)
                    self.write(write, driver, ["ok"] * at + [fault])
                    self.check()
        self._restore(items, state, old, history)
        self.write(write, driver)

    def _restore(self, items: list[Raw], state: State, old: set[Identity], history: int) -> None:
        for item in self.scan():
            if item not in items:
                self._delete_raw(item)
        present = self.scan()
        for item in items:
            if item not in present:
                self.backend.inner.call(wire.PutItem(table_name="tab", item=item))
        self.state, self.old = state, set(old)
        del self.history[history:]

    def _delete_raw(self, item: Raw) -> None:
        key = {name: item[name] for name in self.loaded.spec.key_names}
        self.backend.inner.call(wire.DeleteItem(table_name="tab", key=key))

    def put_under_old_key(self, write: Write) -> None:
        """Stores an item as other code did, under the old key of its entity."""
        entity = write.entity
        place = identity(entity, write.values)
        if entity.old is None or place in self.state.items or not reference.has_old_text(entity.old, write.values):
            return
        self.write(write)
        found = self.state.items.get(place)
        if found is None:
            return
        texts, new = reference.key_texts(entity.old, found[1]), reference.key_texts(entity.key, found[1])
        if texts is None or texts == new:
            return
        (item,) = [each for each in self.scan() if new == {name: each[name].get("S") for name in new or {}}]
        self._delete_raw(item)
        moved = item | {name: {"S": text} for name, text in texts.items()}
        if any(all(each[name] == moved[name] for name in texts) for each in self.scan()):
            self.backend.inner.call(wire.PutItem(table_name="tab", item=item))
            return
        self.backend.inner.call(wire.PutItem(table_name="tab", item=moved))
        self.history.append(f"# it lies under its old key {texts}")
        self.old.add(place)

    # The stored items

    def scan(self) -> list[Raw]:
        reply = self.backend.inner.call(wire.Scan(table_name="tab", consistent_read=True))
        return [msgspec.json.decode(raw) for raw in reply.items or ()]

    def _entities(self) -> list[tuple[Raw, Any]]:
        decode = self.quiet.store.decode_item
        return [(item, decode("tab", item)) for item in self.scan() if "guardOf" not in item]

    def _stored_state(self, accepted: list[State]) -> State:
        found = Counter(_shown(type(entity).__name__, _values(entity)) for _, entity in self._entities())
        fitting = [each for state in accepted if (each := self._without_deleted(state, found)) is not None]
        guards = set(self._guards())
        for each in fitting:
            if guards == set(reference.guards(self.loaded.spec, each, self.clock.now)):
                return each
        if fitting:
            return fitting[0]  # `check` reports the guards
        wanted = "\nor ".join(str([values for _, values in each.items.values()]) for each in accepted)
        raise self.difference(f"stored is\n{[_values(entity) for _, entity in self._entities()]}\nexpected\n{wanted}")

    def _without_deleted(self, state: State, found: Counter[str]) -> State | None:
        """The state, where it is what is stored: expired items may be deleted at any time."""
        left = +found
        items = dict(state.items)
        for place, (entity, values) in state.items.items():
            shown = _shown(entity.name, values)
            if left[shown]:
                left[shown] -= 1
            elif is_alive(entity, values, self.clock.now):
                return None
            else:
                del items[place]
        return replace(state, items=items) if not +left else None

    def check(self) -> None:
        """Every stored key follows from its item, and every guard belongs to one."""
        for item, decoded in self._entities():
            entity = self._entity(decoded)
            self._check_item(entity, item, _values(decoded))
        self._check_guards()

    def _entity(self, decoded: Any) -> EntitySpec:
        name = type(decoded).__name__
        return next(each for each in self.loaded.spec.entities if each.name == name)

    def _check_item(self, entity: EntitySpec, item: Raw, values: Values) -> None:
        spec = self.loaded.spec
        wanted = reference.derived_attributes(spec, entity, values)
        place = identity(entity, values)
        keys = [entity.key]
        if entity.old is not None and place in self.old:
            keys.append(entity.old)
        present = [{name: item[name].get("S") for name in spec.key_names if not spec.plain_table}]
        if not any(present == [reference.key_texts(each, values)] for each in keys):
            raise self.difference(f"stored is {item} under a key that does not follow from {values}")
        for name, text in wanted.items():
            if name not in item or str(next(iter(item[name].values()))) != text:
                raise self.difference(f"{name} is {item.get(name)} and should be {text!r} in {values}")
        if set(item) != reference.stored_names(spec, entity, values):
            names = set(item) ^ reference.stored_names(spec, entity, values)
            raise self.difference(f"stored is {item}, where {names} should not differ, for {values}")

    def _guards(self) -> dict[str, dict[str, Any]]:
        """The guards that have not expired: their keys, and the keys of their items."""
        now = int(self.clock.now.timestamp())
        pk = self.loaded.spec.key_names[0]
        return {
            item[pk]["S"]: {name: value.get("S") for name, value in item["guardOf"]["M"].items()}
            for item in self.scan()
            if "guardOf" in item and not ("ttl" in item and int(item["ttl"]["N"]) <= now)
        }

    def _check_guards(self) -> None:
        found, wanted = self._guards(), reference.guards(self.loaded.spec, self.state, self.clock.now)
        owners = {key: owner for key, owner in wanted.items() if owner is not None}
        wrong = any(found.get(key) != owner for key, owner in owners.items()) and not self.loaded.spec.plain_table
        if set(found) != set(wanted) or wrong:
            raise self.difference(f"guards are\n{found}\nexpected\n{wanted}")

    # Answers

    def check_read(self, pattern: PatternSpec, given: list[Any], bounds: list[Any]) -> None:
        """One call of a pattern: the whole answer, every page size, both drivers."""
        passed = [each for at, each in enumerate(given) if pattern.single or not pattern.all_shards(at)]
        call = self.loaded.names[pattern.name](*passed, *bounds)
        told = f"{pattern.name}({', '.join(map(literal, [*passed, *bounds]))})"
        wanted = reference.answer(pattern, self.state, given, bounds, self.clock.now)
        expected = Counter(_shown(name, values) for name, values in wanted)
        try:
            if pattern.single:
                found = [driver.one(call) for driver in self.drivers]
                lists = [[] if each is None else [each] for each in found]
            else:
                lists = [driver.all(call) for driver in self.drivers]
        except PartitaError as error:
            raise self.difference(f"{told} raises {_name(error)}") from error
        answers = lists[0]
        got = Counter(_shown(type(each).__name__, _values(each)) for each in answers)
        if got != expected:
            raise self.difference(f"{told} gives\n{got}\nexpected\n{expected}")
        if lists[1] != answers:
            raise self.difference(f"{told} differs when it is awaited")
        if pattern.single:
            return
        self._check_order(pattern, answers, told)
        for size in range(1, len(answers) + 2):
            if self._paged(self.drivers[size % 2], call, size) != answers:
                raise self.difference(f"{told} differs in pages of {size}")

    def _paged(self, driver: Driver, call: Any, size: int) -> list[Any]:
        found: list[Any] = []
        cursor = None
        for _ in range(1000):
            page = driver.page(call, size, cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found
            if len(page.items) > size:
                break
        raise self.difference(f"pages of {size} of {call} do not end")

    def _check_order(self, pattern: PatternSpec, answers: list[Any], told: str) -> None:
        if not pattern.promise:
            return
        ranks = []
        for each in answers:
            name = type(each).__name__
            entity = next(spec for spec in pattern.entities if pattern.result(spec) == name)
            slot = entity.keys(pattern.index).slots[pattern.given]
            if not hasattr(each, slot.field):
                return  # a view without the part
            rank = slot.form.order or (lambda value: value)
            ranks.append(rank(slot.form.part(getattr(each, slot.field))))
        if ranks != sorted(ranks, reverse=pattern.promise == "largest_first"):
            raise self.difference(f"{told} promises {pattern.promise}, and gives {ranks}")

    def check_other_reads(self) -> None:
        """Scans, batches of gets, and searches by a unique value."""
        alive = [(each, values) for each, values in self.state.items.values() if is_alive(each, values, self.clock.now)]
        store = self.quiet.store
        wanted = Counter(_shown(each.name, values) for each, values in alive)
        classes = [self.loaded.cls(each) for each in self.loaded.spec.entities]
        scanned = Counter(_shown(type(each).__name__, _values(each)) for each in store.scan(*classes))
        if scanned != wanted:
            raise self.difference(f"a scan gives\n{scanned}\nexpected\n{wanted}")
        many = store.get_many([self.quiet.get(each, values) for each, values in alive])
        got = Counter(_shown(type(each).__name__, _values(each)) for each in many if each is not None)
        if got != wanted:
            raise self.difference(f"get_many gives\n{got}\nexpected\n{wanted}")
        for each, values in alive:
            for unique in each.uniques:
                if reference.unique_value(each, unique, values) is not None:
                    given = [values[name] for name in unique.fields]
                    found = store.find_by_unique(self.loaded.cls(each), unique.name, *given)
                    if found is None or identity(each, _values(found)) != identity(each, values):
                        raise self.difference(f"find_by_unique({each}, {unique.name!r}, {given}) gives {found}")

    # Failures

    def _told(self, write: Write, driver: int, plan: list[str], other: Write | None, before: int) -> str:
        lines = [f"# faults of the next requests: {plan}"] if plan else []
        if other is not None:
            lines.append(f"# before request {before}, another store does: {other.source()}".replace("\n", "; "))
        return "\n".join([*lines, write.source() + ("  # awaited" if driver else "")])

    def difference(self, what: str) -> Difference:
        script = "\n".join(self.history)
        setup = 'db = connect("memory:", design)\ndb.create_tables()'
        return Difference(f"{what}\n\n{self.loaded.source}\n{setup}\n{script}\n")


def _attempt(driver: Driver, write: Write) -> tuple[PartitaError | None, Any]:
    try:
        return None, driver.write(write)
    except PartitaError as error:
        return error, None


def _place(write: Write) -> Identity:
    """The item that a write is about."""
    return () if write.kind == "release" else identity(write.entity, write.key or write.values)


def _says_unknown(error: PartitaError) -> bool:
    """Whether an error says that the write may have been done."""
    return isinstance(error, OutcomeUnknown | InternalServerError) or (
        isinstance(error, NoReply) and error.perhaps_executed
    )


def _fits(found: Outcome, error: PartitaError | None) -> bool:
    if error is None:
        return not found.errors
    return isinstance(error, (*found.errors, *found.allowed))


def _name(error: PartitaError | None) -> str:
    return "it was done" if error is None else f"{type(error).__name__}: {error}"


def _values(entity: Any) -> Values:
    return {name: getattr(entity, name) for name in entity.__struct_fields__}


def _shown(name: str, values: Values) -> str:
    return f"{name}({', '.join(f'{key}={_normal(value)!r}' for key, value in sorted(values.items()))})"


def _normal(value: Any) -> Any:
    """1.0 and 1 are one number, and so are -0.0 and 0.0."""
    return value.normalize() + 0 if isinstance(value, Decimal) else value + 0.0 if isinstance(value, float) else value

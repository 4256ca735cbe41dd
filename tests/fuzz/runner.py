"""A loaded design at work beside the reference: random writes with faults, and every answer compared."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec

from partita import NoReply, OutcomeUnknown, PartitaError
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import InternalServerError
from tests.fuzz import forms, reference, stored
from tests.fuzz.designs import EntitySpec
from tests.fuzz.drivers import AsyncDriver, Driver
from tests.fuzz.faults import FAULTS, FaultyBackend
from tests.fuzz.hosts import Clock
from tests.fuzz.patterns import Loaded
from tests.fuzz.reference import Left, Outcome
from tests.fuzz.shown import error_text, shown, values_of
from tests.fuzz.stored import Identity, State, Values, identity, is_alive
from tests.fuzz.write_spec import Write

Raw = dict[str, Any]


class Difference(AssertionError):
    """The store and the reference disagree; the message ends with the design and its writes, as a script."""


@dataclass
class Run:
    """The store, its backend with faults, and the state that the reference expects."""

    loaded: Loaded
    backend: FaultyBackend
    clock: Clock
    drivers: tuple[Driver, Driver]
    quiet: Driver  # without faults
    state: State = field(default_factory=State)
    old: dict[Identity, dict[str, str]] = field(default_factory=dict)  # the old keys of items that lie under them
    history: list[str] = field(default_factory=list)
    requests: int = 0  # of the last write

    @classmethod
    def start(cls, loaded: Loaded, engine: Any, clock: Clock) -> "Run":
        backend = FaultyBackend(engine)
        drivers = (Driver(loaded, backend, clock), AsyncDriver(loaded, backend, clock))
        quiet = Driver(loaded, backend.inner, clock)
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
            raise self.difference(f"{error_text(error)}; expected {wanted}") from error
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
        place = identity(write.entity, values_of(answer))
        kept = self.state.items.get(place)
        if kept is None or shown("", kept[1]) != shown("", values_of(answer)):
            raise self.difference(f"answered {answer}, stored {kept}")

    def write_with_every_fault(self, write: Write, driver: int) -> None:
        """Does a write once with each fault at each of its requests, each time from the same state."""
        try:
            self._outcome(self.state, write)
        except Left:
            return
        items, state, old, history = self.scan(), self.state, dict(self.old), len(self.history)
        self.write(write, driver)
        for at in range(self.requests):
            for fault in FAULTS:
                if fault != "ok":
                    self._restore(items, state, old, history)
                    self.write(write, driver, ["ok"] * at + [fault])
                    self.check()
        self._restore(items, state, old, history)
        self.write(write, driver)

    def _restore(self, items: list[Raw], state: State, old: dict[Identity, dict[str, str]], history: int) -> None:
        for item in self.scan():
            if item not in items:
                self._delete_raw(item)
        present = self.scan()
        for item in items:
            if item not in present:
                self.backend.inner.call(wire.PutItem(table_name="tab", item=item))
        self.state, self.old = state, dict(old)
        del self.history[history:]

    def _delete_raw(self, item: Raw) -> None:
        key = {name: item[name] for name in self.loaded.spec.key_names}
        self.backend.inner.call(wire.DeleteItem(table_name="tab", key=key))

    def put_under_old_key(self, write: Write, time_format: str, decomposed: set[str]) -> None:
        """Stores an item as other code did, under the old key of its entity.

        Perhaps its times are in another format there, and some texts decomposed.
        """
        entity, separator = write.entity, self.loaded.spec.separator
        place = identity(entity, write.values)
        if entity.old is None or place in self.state.items:
            return
        self.write(write)
        found = self.state.items.get(place)
        if found is None or not stored.has_old_text(entity, found[1], separator, time_format):
            return
        new = stored.key_texts(entity.key, found[1], separator)
        written = {name: forms.nfd(value) if name in decomposed else value for name, value in found[1].items()}
        old = stored.key_texts(entity.old, written, separator, time_format)
        if old is None or old == new:
            return
        (item,) = [each for each in self.scan() if new == {name: each[name].get("S") for name in new or {}}]
        moved = item | {name: {"S": text} for name, text in old.items()}
        if any(all(each[name] == moved[name] for name in old) for each in self.scan()):
            return
        self._delete_raw(item)
        self.backend.inner.call(wire.PutItem(table_name="tab", item=moved))
        key = {name: item[name] for name in old}
        for guard in [each for each in self.scan() if each.get("guardOf") == {"M": key}]:
            owner = {"M": {name: moved[name] for name in old}}
            self.backend.inner.call(wire.PutItem(table_name="tab", item=guard | {"guardOf": owner}))
        self.history.append(f"# it lies under its old key {old}")
        self.old[place] = old

    # The stored items

    def scan(self) -> list[Raw]:
        reply = self.backend.inner.call(wire.Scan(table_name="tab", consistent_read=True))
        return [msgspec.json.decode(raw) for raw in reply.items or ()]

    def _entities(self) -> list[tuple[Raw, Any]]:
        decode = self.quiet.store.decode_item
        return [(item, decode("tab", item)) for item in self.scan() if "guardOf" not in item]

    def _stored_state(self, accepted: list[State]) -> State:
        every = [(self._entity(decoded), values_of(decoded)) for _, decoded in self._entities()]
        found = Counter(shown(entity.name, values) for entity, values in every)
        expired = Counter(
            shown(each.name, values) for each, values in every if not is_alive(each, values, self.clock.now)
        )
        fitting = [each for state in accepted if (each := self._without_deleted(state, found, expired)) is not None]
        guards = set(self._guards())
        for each in fitting:
            if guards == set(stored.guards(self.loaded.spec, each, self.clock.now, {})):
                return each
        if fitting:
            return fitting[0]  # `check` reports the guards
        wanted = "\nor ".join(str([values for _, values in each.items.values()]) for each in accepted)
        raise self.difference(f"stored is\n{[values_of(entity) for _, entity in self._entities()]}\nexpected\n{wanted}")

    def _without_deleted(self, state: State, found: Counter[str], expired: Counter[str]) -> State | None:
        """The state, where it is what is stored.

        Expired items may be deleted at any time, or stay under an old key beside new ones.
        """
        left = +found
        items = dict(state.items)
        for place, (entity, values) in state.items.items():
            text = shown(entity.name, values)
            if left[text]:
                left[text] -= 1
            elif is_alive(entity, values, self.clock.now):
                return None
            else:
                del items[place]
        return replace(state, items=items) if left <= expired else None

    def check(self) -> None:
        """Every stored key follows from its item, and every guard belongs to one."""
        old, live = {}, {}
        for item, decoded in self._entities():
            entity = self._entity(decoded)
            self._check_item(entity, item, values_of(decoded))
            place = identity(entity, values_of(decoded))
            if place in self.old and all(item[name] == {"S": text} for name, text in self.old[place].items()):
                old[place] = self.old[place]
                if is_alive(entity, values_of(decoded), self.clock.now):  # an expired one may lie beside a new one
                    live[place] = old[place]
        self.old = old
        self._check_guards(live)

    def _entity(self, decoded: Any) -> EntitySpec:
        name = type(decoded).__name__
        for each in self.loaded.spec.entities:
            if each.name == name:
                return each
        raise self.difference(f"an item of no entity is stored: {self.scan()}")

    def _check_item(self, entity: EntitySpec, item: Raw, values: Values) -> None:
        spec = self.loaded.spec
        wanted = stored.derived_attributes(spec, entity, values)
        keys = [stored.key_texts(entity.key, values, spec.separator), self.old.get(identity(entity, values))]
        if {name: item[name].get("S") for name in spec.key_names if not spec.plain_table} not in keys:
            raise self.difference(f"stored is {item} under a key that does not follow from {values}")
        for name, text in wanted.items():
            if name not in item or str(next(iter(item[name].values()))) != text:
                raise self.difference(f"{name} is {item.get(name)} and should be {text!r} in {values}")
        if set(item) != stored.stored_names(spec, entity, values):
            names = set(item) ^ stored.stored_names(spec, entity, values)
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

    def _check_guards(self, old: dict[Identity, dict[str, str]]) -> None:
        """`old` has the keys of the items that lie under old ones."""
        found, wanted = self._guards(), stored.guards(self.loaded.spec, self.state, self.clock.now, old)
        owners = {key: owner for key, owner in wanted.items() if owner is not None}
        wrong = any(found.get(key) != owner for key, owner in owners.items()) and not self.loaded.spec.plain_table
        if set(found) != set(wanted) or wrong:
            raise self.difference(f"guards are\n{found}\nexpected\n{wanted}")

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

"""Random writes on a loaded design, each followed through in the reference, and every answer compared with it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import strategies as st

from partita import (
    AlreadyExists,
    AsyncStore,
    InvalidValue,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    Store,
    StoreError,
    connect,
)
from partita.dynamodb.requests import Scan
from tests.fuzz.designs import EntitySpec, Loaded, PatternSpec
from tests.fuzz.reference import Identity, Reference, Values, identity

PAGE_SIZES = (1, 2, 3, 7)


class Difference(AssertionError):
    """The store and the reference disagree; the design's source is part of the message."""


@dataclass(frozen=True)
class Write:
    """One write: of a new item's values, or of the `which`th stored item."""

    kind: str  # create, put, change, step, delete
    entity: EntitySpec
    values: Values = field(hash=False)
    which: int = 0


@st.composite
def entity_values(draw: st.DrawFn, entity: EntitySpec) -> Values:
    return {name: draw(form.values) for name, form in entity.forms.items()} | {"n": draw(st.integers(0, 1))}


@st.composite
def writes(draw: st.DrawFn, loaded: Loaded) -> Write:
    entity = draw(st.sampled_from(loaded.spec.entities))
    kind = draw(st.sampled_from(["create", "create", "create", "put", "change", "change", "step", "delete"]))
    return Write(kind, entity, draw(entity_values(entity)), draw(st.integers(0, 9)))


@dataclass
class Run:
    """A design at work: the store, and beside it the reference."""

    loaded: Loaded
    db: Store
    reference: Reference = field(default_factory=Reference)

    @classmethod
    def start(cls, loaded: Loaded, wrap: Callable[[Any], Any] = lambda backend: backend) -> "Run":
        db = Store(wrap(connect("memory:", maintain=False)), loaded.design, sleep=lambda seconds: None)
        db.create_tables()
        return cls(loaded, db)

    def cls_of(self, entity: EntitySpec) -> Any:
        return self.loaded.names[entity.name]

    def key_of(self, entity: EntitySpec, values: Values) -> Any:
        get = self.loaded.names["get"]
        return get(self.cls_of(entity), *(values[name] for name in dict.fromkeys(entity.key.fields)))

    # Writes

    def write(self, write: Write) -> None:
        """Do it, and hold what happened against the reference."""
        wanted = self._expected(write)
        if wanted is None:
            return None
        outcome, after = wanted
        try:
            self._do(write)
        except InvalidValue:
            return self._check_state(write, [self.reference.items])
        except OutcomeUnknown:
            self._check_state(write, [self.reference.items, after])
            if self._raw_identities() == set(after):
                self.reference.items = after
            return None
        except StoreError as error:
            if outcome is None or not isinstance(error, outcome):
                raise self.difference(f"{write} raised {type(error).__name__}: {error}") from error
            return self._check_state(write, [self.reference.items])
        if outcome is not None:
            raise self.difference(f"{write} should have raised {outcome.__name__}")
        self.reference.items = after
        return self._check_state(write, [after])

    def _expected(self, write: Write) -> tuple[type[StoreError] | None, dict[Identity, Any]] | None:
        """The error that is due, if any, and the items afterwards; None where there is nothing to write to."""
        entity, items = write.entity, dict(self.reference.items)
        if write.kind in ("create", "put"):
            place = identity(entity, write.values)
            holder = self.reference.holder(entity, write.values)
            if write.kind == "create" and place in items:
                return AlreadyExists, items
            if holder not in (None, place):
                return NotUnique, items
            before = items.get(place)
            kept = {} if before is None else {name: before[1][name] for name in _lossy(entity)}
            return None, items | {place: (entity, write.values | kept)}
        stored = self.reference.stored(entity)
        if not stored:
            return None
        values = stored[write.which % len(stored)]
        place = identity(entity, values)
        if write.kind == "delete":
            del items[place]
            return None, items
        changed = values | self._changes(write)
        holder = self.reference.holder(entity, changed)
        if holder not in (None, place):
            return NotUnique, items
        return None, items | {place: (entity, changed)}

    def _changes(self, write: Write) -> Values:
        """What a change assigns: everything that is not in the key."""
        if write.kind == "step":
            return {"n": self._stored(write)["n"] + 1}
        fixed = set(write.entity.key.fields)
        return {name: value for name, value in write.values.items() if name not in fixed}

    def _stored(self, write: Write) -> Values:
        stored = self.reference.stored(write.entity)
        return stored[write.which % len(stored)]

    def _do(self, write: Write) -> None:
        cls = self.cls_of(write.entity)
        if write.kind == "create":
            self.db.create(cls(**write.values))
        elif write.kind == "put":
            self.db.put(cls(**write.values))
        elif write.kind == "delete":
            self.db.delete(self.key_of(write.entity, self._stored(write)))
        else:
            changes = self._changes(write)
            with self.db.change(self.key_of(write.entity, self._stored(write))) as draft:
                if write.kind == "step":
                    draft.n += 1
                else:
                    for name, value in changes.items():
                        setattr(draft, name, value)

    # What is stored

    def _scan(self) -> list[dict[str, Any]]:
        reply = self.db.backend.call(Scan(table_name="tab", consistent_read=True))
        return [msgspec.json.decode(raw) for raw in reply.items or ()]

    def _entities(self) -> list[tuple[dict[str, Any], Any]]:
        found = ((item, self.db.decode_item("tab", item)) for item in self._scan())
        return [(item, entity) for item, entity in found if entity is not None]

    def _raw_identities(self) -> set[Identity]:
        by_name = {each.name: each for each in self.loaded.spec.entities}
        return {
            identity(by_name[type(entity).__name__], msgspec.structs.asdict(entity)) for _, entity in self._entities()
        }

    def _check_state(self, write: Write, allowed: list[dict[Identity, Any]]) -> None:
        found = Counter(_shown(type(entity).__name__, _values(entity)) for _, entity in self._entities())
        for each in allowed:
            if found == Counter(_shown(entity.name, values) for entity, values in each.values()):
                return
        raise self.difference(f"after {write} stored is\n{found}\nexpected one of\n{allowed}")

    def check_stored_keys(self) -> None:
        """Each item is as it would be written from its entity alone."""
        for item, entity in self._entities():
            fresh = Store(connect("memory:", maintain=False), self.loaded.design)
            fresh.create_tables()
            fresh.put(entity)
            reply = fresh.backend.call(Scan(table_name="tab"))
            written = [msgspec.json.decode(raw) for raw in reply.items or ()]
            if item not in written:
                raise self.difference(f"stored {item}\nwritten anew {written}")

    # Answers

    def check_read(self, pattern: PatternSpec, given: list[Any], bounds: list[Any]) -> None:
        """One call of a pattern: the whole answer, every page size, both drivers."""
        call = self.loaded.names[pattern.name](*given, *bounds)
        expected = Counter(_shown(name, values) for name, values in self._answer(pattern, given, bounds))
        if pattern.single:
            found = self.db(call)
            answers = [] if found is None else [found]
        else:
            answers = list(self.db(call))
        got = Counter(_shown(type(each).__name__, _values(each)) for each in answers)
        if got != expected:
            raise self.difference(f"{pattern.name}{(*given, *bounds)} gives\n{got}\nexpected\n{expected}")
        if pattern.single:
            return
        self._check_order(pattern, answers)
        for size in PAGE_SIZES:
            if self._paged(call, size) != answers:
                raise self.difference(f"{pattern.name}{(*given, *bounds)} differs in pages of {size}")
        if asyncio.run(self._awaited(call)) != answers:
            raise self.difference(f"{pattern.name}{(*given, *bounds)} differs when it is awaited")

    def _answer(self, pattern: PatternSpec, given: list[Any], bounds: list[Any]) -> list[tuple[str, Values]]:
        if not pattern.single:
            return self.reference.answer(pattern, given, bounds)
        entity = pattern.entities[0]
        values = dict(zip(dict.fromkeys(entity.key.fields), given, strict=True))
        found = self.reference.items.get(identity(entity, values))
        return [] if found is None else [(entity.name, found[1])]

    def _paged(self, call: Any, size: int) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = self.db(call).page(size, cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found
            if len(page.items) > size or len(found) > 1000:
                raise self.difference(f"a page of {size} has {len(page.items)} items")

    async def _awaited(self, call: Any) -> list[Any]:
        store = AsyncStore(self.db.backend, self.loaded.design)
        return [each async for each in store(call)]

    def _check_order(self, pattern: PatternSpec, answers: list[Any]) -> None:
        if not pattern.promise:
            return
        ranks = []
        for each in answers:
            entity = next(spec for spec in pattern.entities if spec.name == type(each).__name__)
            name = entity.keys(pattern.index).fields[pattern.given]
            rank = entity.forms[name].order or (lambda value: value)
            ranks.append(rank(getattr(each, name)))
        if ranks != sorted(ranks, reverse=pattern.promise == "largest_first"):
            raise self.difference(f"{pattern.name} promises {pattern.promise}, and gives {ranks}")

    def difference(self, what: str) -> Difference:
        return Difference(f"{what}\n\n{self.loaded.source}")


def _lossy(entity: EntitySpec) -> list[str]:
    """Fields of the key that the key does not hold in full; an item that is put again takes the new value."""
    return []


def _values(entity: Any) -> Values:
    return msgspec.structs.asdict(entity)


def _shown(name: str, values: Values) -> str:
    return f"{name}({', '.join(f'{key}={_normal(value)!r}' for key, value in sorted(values.items()))})"


def _normal(value: Any) -> Any:
    """1.0 and 1 are one number."""
    return value.normalize() + 0 if isinstance(value, Decimal) else value


@st.composite
def arguments(draw: st.DrawFn, run_values: list[Values], pattern: PatternSpec) -> tuple[list[Any], list[Any]]:
    """Arguments near what is stored: taken from an item, or drawn."""
    entity, keys = pattern.entities[0], pattern.keys
    near: bool = draw(st.integers(0, 5)) > 0
    like = draw(st.sampled_from(run_values)) if run_values and near else None

    def value(name: str) -> Any:
        form = entity.forms[name]
        held = like[name] if like is not None else draw(form.values)
        return held if pattern.single else form.part(held) if form.query_type else held

    given = [value(name) for name in keys.fields[: pattern.given]]
    count = {"since": 1, "until": 1, "between": 2, "starts_with": 1}.get(pattern.bound, 0)
    drawn = [draw(entity.forms[pattern.free].values) for _ in range(count)] if pattern.free else []
    form = entity.forms[pattern.free] if pattern.free else None
    bounds = [form.part(each) if form.query_type else each for each in drawn] if form else []
    if form is not None and len(bounds) > 1:
        bounds.sort(key=form.order or (lambda value: value if form.query_type else form.part(value)))
    return given, bounds


__all__ = ["Difference", "NotFound", "Run", "Write", "arguments", "entity_values", "writes"]

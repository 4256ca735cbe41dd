"""Strategies for random writes and arguments, near what is stored already."""

import unicodedata
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.conditions import FIRST_STATE, conditions
from tests.fuzz.designs import EntitySpec
from tests.fuzz.faults import FAULTS
from tests.fuzz.forms import Kind
from tests.fuzz.generate import chance
from tests.fuzz.patterns import PatternSpec
from tests.fuzz.runner import Run
from tests.fuzz.stored import State, Values, identity
from tests.fuzz.write_spec import Write

KINDS = ["create", "create", "create", "put", "change", "change", "change", "update", "replace", "delete"]
KINDS += ["transaction", "transaction", "put_many", "delete_many", "release"]


def _value(draw: st.DrawFn, kind: Kind, state: State) -> Any:
    """A value of a kind, in half of the cases one that some item has."""
    stored = [
        values[name]
        for entity, values in state.items.values()
        for name, each in entity.fields.items()
        if each.kind is kind and values[name] is not None and _fits(kind, values[name])
    ]
    if stored and chance(draw, 2):
        return draw(st.sampled_from(stored))
    return draw(st.sampled_from(kind.values))


def _fits(kind: Kind, value: Any) -> bool:
    """Whether a value fits the keys of its kind: a number that was stepped may be too large by now."""
    return type(value) is not int or min(kind.values) <= value <= max(kind.values)


def _field(draw: st.DrawFn, entity: EntitySpec, name: str, state: State) -> Any:
    if name == "n":
        return draw(st.sampled_from([0, 0, 1, 2]))
    if name == "most":
        return draw(st.integers(1, 3))
    each = entity.fields[name]
    return None if each.optional and chance(draw, 4) else _value(draw, each.kind, state)


@st.composite
def entity_values(draw: st.DrawFn, entity: EntitySpec, run: Run) -> dict[str, Any]:
    """The values of a new item; mostly with parents that exist."""
    state = run.state
    values = {name: _field(draw, entity, name, state) for name in entity.own_fields}
    for link in run.loaded.spec.links(entity):
        parents = state.stored(run.loaded.spec.entities[link.other])
        if parents and not chance(draw, 4):
            parent = draw(st.sampled_from(parents))
            values |= {source: parent[part] for part, source in link.parts.items()}
    values["n"] = 0 if entity.steps and not chance(draw, 4) else values["n"]
    return values


@st.composite
def _targets(draw: st.DrawFn, entity: EntitySpec, state: State) -> Values:
    """The key of an item, mostly of a stored one."""
    stored = state.stored(entity)
    if not stored or chance(draw, 6):
        return {name: _field(draw, entity, name, state) for name in entity.key.fields}
    values = draw(st.sampled_from(stored))
    return {name: _respelt(draw, entity, name, values[name]) for name in entity.key.fields}


def _respelt(draw: st.DrawFn, entity: EntitySpec, name: str, value: Any) -> Any:
    """The same part of the key, spelt differently: decomposed, or in another case where the key folds it."""
    if not isinstance(value, str) or entity.kind(name).name != "text" or not chance(draw, 4):
        return value
    forms = [form for each in entity.key.attributes for held, form in each.parts if held == name]
    other = unicodedata.normalize("NFD", value) if draw(st.booleans()) else value.swapcase()
    return other if all(form.part(other) == form.part(value) for form in forms) else value


@st.composite
def writes(draw: st.DrawFn, run: Run) -> Write:
    """Any write of the design."""
    kind = draw(st.sampled_from(KINDS))
    if len(run.state.items) < 3 and chance(draw, 2):
        kind = "create"
    if kind in ("put_many", "delete_many", "transaction"):
        return draw(_several(run, kind))
    entity = draw(st.sampled_from(run.loaded.spec.entities))
    if kind == "release":
        if not (entity.uniques and entity.uniques[0].keep):
            kind = "create"
        else:
            return draw(_releases(entity, run))
    return draw(_single(kind, entity, run))


@st.composite
def _releases(draw: st.DrawFn, entity: EntitySpec, run: Run) -> Write:
    """Frees a value that is kept, or one that nobody has; that of an item is refused."""
    unique, state = entity.uniques[0], run.state
    given = {name: _value(draw, entity.fields[name].kind, state) for name in unique.fields}
    return Write("release", entity, given)


@st.composite
def _single(draw: st.DrawFn, kind: str, entity: EntitySpec, run: Run, alone: bool = True) -> Write:
    state = run.state
    if kind in ("create", "put"):
        when = draw(conditions(entity, in_key=True)) if kind == "create" and alone and chance(draw, 6) else None
        return Write(kind, entity, draw(entity_values(entity, run)), when=when)
    key = draw(_targets(entity, state))
    stored = next((each for each in state.stored(entity) if identity(entity, each) == identity(entity, key)), None)
    version = None
    if entity.version and stored is not None:
        version = draw(st.sampled_from([None, stored["version"], stored["version"] + 1]))
    if kind == "replace":
        held = {name: (stored or key)[name] for name in entity.key.fields}
        values = draw(entity_values(entity, run)) | held
        return Write(kind, entity, values, version=version or 1 if entity.version else None)
    when = draw(conditions(entity, in_key=True)) if chance(draw, 3) else None
    if kind == "check":
        return Write(kind, entity, key=key, when=when or FIRST_STATE)
    if kind == "delete":
        return Write(kind, entity, key=key, when=when)
    create = kind == "change" and chance(draw, 4)
    names = [name for name in entity.own_fields if name not in entity.key.fields]
    if chance(draw, 8):
        names += entity.key.fields
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=3))
    if create and not chance(draw, 4):
        when, version = None, None
        chosen = [name for name in chosen if name not in entity.key.fields]
        chosen += [name for name in names if name not in chosen and _is_required(entity, name)]
    stepped = [name for name in chosen if kind == "change" and _can_step(entity, name, create) and chance(draw, 2)]
    values = {name: _field(draw, entity, name, state) for name in chosen if name not in stepped}
    amounts = {name: draw(st.sampled_from([1, 2])) for name in stepped}
    steps = {
        name: Decimal(amount) / 2 if entity.kind(name).name in ("money", "price") else amount
        for name, amount in amounts.items()
    }
    if kind == "update":
        return Write(kind, entity, values, key)
    return Write(kind, entity, values, key, steps, when, version, create=create)


def _is_required(entity: EntitySpec, name: str) -> bool:
    return name in entity.fields and entity.fields[name].default is None


def _can_step(entity: EntitySpec, name: str, create: bool) -> bool:
    if name == "n":
        return True
    each = entity.fields.get(name)
    if create and _is_required(entity, name):
        return False
    return each is not None and not each.optional and each.kind.name in ("whole", "signed", "money")


@st.composite
def _several(draw: st.DrawFn, run: Run, kind: str) -> Write:
    """A batch, or a transaction of writes to different items and checks of others."""
    parts: dict[Any, Write] = {}
    for _ in range(draw(st.integers(1, 3))):
        entity = draw(st.sampled_from(run.loaded.spec.entities))
        step = {"put_many": "put", "delete_many": "delete"}.get(kind)
        step = step or draw(st.sampled_from(["create", "create", "change", "change", "delete", "check", "put"]))
        write = draw(_single(step, entity, run, alone=False))
        if kind != "transaction":
            write = replace(write, when=None)
        parts.setdefault(identity(entity, write.key or write.values), write)
    first = next(iter(parts.values()), None)
    if first is None:
        return draw(_single("create", run.loaded.spec.entities[0], run))
    return Write(kind, first.entity, parts=tuple(parts.values()))


@st.composite
def fault_plans(draw: st.DrawFn) -> list[str]:
    """What the next requests meet."""
    return draw(st.lists(st.sampled_from(list(FAULTS)), max_size=5))


@st.composite
def arguments(draw: st.DrawFn, state: State, pattern: PatternSpec) -> tuple[list[Any], list[Any]]:
    """Arguments near what is stored: taken from an item, or drawn."""
    entity = pattern.entity
    stored = state.stored(entity)
    like = draw(st.sampled_from(stored)) if stored and draw(st.integers(0, 5)) > 0 else None
    if pattern.single:
        fields = entity.key.fields
        if like is not None:
            return [like[name] for name in fields], []
        return [_field(draw, entity, name, state) for name in fields], []

    def part(at: int, source: Values | None) -> Any:
        slot = pattern.slots[at]
        value = _argument(draw, entity, slot.field, source)
        return slot.form.part(value) if slot.form.query_type else value

    given: list[Any] = []
    for at in range(pattern.given):
        if pattern.fan == at and not pattern.all_shards(at):
            more = [part(at, None) for _ in range(draw(st.integers(0, 2)))]
            given.append(list(dict.fromkeys([part(at, like), *more])))
        else:
            given.append(part(at, like))
    slot = pattern.free
    bounds = [part(pattern.given, like if chance(draw, 3) else None) for _ in range(pattern.bounds)]
    if slot is not None and pattern.bound == ("between",):
        form = slot.form
        bounds.sort(
            key=lambda each: (form.order or (lambda value: value))(each if form.query_type else form.part(each))
        )
    return given, bounds


def _argument(draw: st.DrawFn, entity: EntitySpec, name: str, like: Values | None) -> Any:
    kind, held = entity.kind(name), like[name] if like is not None else None
    return draw(st.sampled_from(kind.values)) if held is None or not _fits(kind, held) else held

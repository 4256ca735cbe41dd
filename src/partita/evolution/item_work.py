"""The work that one stored item needs, so that it is as the design stores it.

An item is compared with what its entity would be stored as. It may lack index keys, a TTL or the guards of its unique
values, have attributes in an old form, be under an old key, or not be included in the tallies of counters that are
being counted. All of it is one write, fenced by what was read, so that a concurrent write is never undone and a
deleted item never comes back.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache, lru_cache

import msgspec

from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb.canonical import ItemIdentity, canonical_value
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import AlreadyExists
from partita.plan.actions import Clause, ItemAction, RemoveAttribute, SetAttribute, Step, equals, present
from partita.plan.changes import is_free, merged_with_unknown
from partita.plan.design import Design
from partita.plan.effects import COUNTED, OWNER, Effects, actions, counted_mark, effects, is_counted
from partita.plan.fences import dependencies
from partita.plan.items import GUARD, Derived, Values, derivations, key_in_item, key_parts, key_text, values_of
from partita.plan.races import Raced
from partita.store.adoption import with_all_members
from partita.store.decoding import decoder_of

TALLY = "partita-tally-"
STALE_OWNER = "partita-stale-owner"  # of a guard that was read: its owner does not hold the value; never stored


class WorkKind(StrEnum):
    """What an item needs."""

    REKEY = "re-key"
    INDEX = "index keys"
    TTL = "TTL"
    ATTRIBUTES = "attributes"
    REMOVE = "removed attributes"
    GUARDS = "guards"
    COUNT = "counters"
    LEFTOVERS = "leftovers"


class StoredEntity(msgspec.Struct, frozen=True, gc=False):
    """An item of an entity, with the item that the entity would be stored as now."""

    model: Model
    item: Item
    values: Values
    wanted: Item

    @property
    def key(self) -> Item:
        return key_in_item(self.model, self.item)

    @property
    def name(self) -> str:
        return f"{self.model.name} {key_text(self.key)}"

    @property
    def changed(self) -> list[str]:
        """The attributes that differ."""
        item, wanted = self.item, self.wanted
        differing = [name for name, each in wanted.items() if item.get(name) != each]
        differing += [name for name in item if name not in wanted]
        return [name for name in differing if not _same(item.get(name), wanted.get(name))]

    @property
    def is_moved(self) -> bool:
        """Whether the item has to get another key."""
        return key_in_item(self.model, self.wanted) != self.key


def _same(one: AttributeValue | None, other: AttributeValue | None) -> bool:
    if one is None or other is None:
        return one is other
    return one == other or canonical_value(one) == canonical_value(other)


def is_guard(table: Table, item: Item) -> bool:
    """Whether an item is the guard of a unique value."""
    return OWNER in item and key_text({table.pk: item[table.pk]}).startswith(GUARD)


def stored_entity(model: Model, item: Item, removed: frozenset[str] = frozenset()) -> StoredEntity:
    """An item with what its entity would be stored as; StoredItemInvalid if it cannot be read.

    `removed` are attributes of the earlier design that the entity no longer has, such as keys of an index.
    """
    values = values_of(model, decoder_of(model).from_item(item))
    wanted = merged_with_unknown(model, item, values, values)
    for name, value in wanted.items():
        if ("M" in value or "L" in value) and name in item:
            wanted[name] = with_all_members(item[name], value)
    for attribute, _ in model.counters:
        if attribute.name not in item:
            wanted.pop(attribute.name, None)
    for name in removed - item_names(model) if removed else ():
        wanted.pop(name, None)
    return StoredEntity(model, item, values, wanted)


@cache
def item_names(model: Model) -> frozenset[str]:
    """The attributes that an entity may write."""
    derived = {name for group in derivations(model) for name in group.names}
    return frozenset({*model.table.key_names, *(member.name for member in model.members), *derived})


class ItemWork(msgspec.Struct, frozen=True, gc=False):
    """The work of one item: the kinds of it, the actions, and whether these write other items as well."""

    stored: StoredEntity
    kinds: dict[WorkKind, tuple[str, ...]]  # with the names of indexes, counters or attributes
    actions: tuple[ItemAction, ...]
    guards: Mapping[ItemIdentity, Item]  # those that were read

    @property
    def is_alone(self) -> bool:
        return len(self.actions) == 1


def wanted_effects(design: Design, stored: StoredEntity) -> Effects:
    """The effects of an item as it should be stored: its guards, and what it adds to counters."""
    return effects(design, stored.model, stored.values, stored.wanted, key_in_item(stored.model, stored.wanted))


def item_work(
    design: Design,
    stored: StoredEntity,
    after: Effects,
    guards: Mapping[ItemIdentity, Item],
    now: datetime,
    skip: set[ItemIdentity] | None = None,
) -> ItemWork | None:
    """The work of an item, or None; `guards` are those of its unique values that exist."""
    changed = stored.changed
    removed = frozenset(name for name in changed if name not in stored.wanted)
    kinds = dict(_attribute_kinds(stored.model, tuple(changed), removed, stored.is_moved)) if changed else {}
    outdated, missing = _guards(stored, after, guards)
    if missing.guards:
        kinds[WorkKind.GUARDS] = tuple(dict.fromkeys(each.unique.name for each in missing.guards.values()))
    mark = {} if is_counted(design, stored.item) else counted_mark(design, stored.model)
    if mark:
        kinds[WorkKind.COUNT] = tuple(counter.attribute.name for counter, _, _ in after.counts.values())
        outdated.counts = missing.counts = after.counts  # nothing changes but the tallies
        outdated.build = missing.build = after.build
        outdated.counted = False
    if not kinds:
        return None
    relied_on = dependencies(design, stored.model) if mark or missing.guards else set()
    own = list(_own_actions(stored, changed, mark, now, relied_on))
    others = list(actions(design, stored.model, outdated, missing, skip or set(), now))
    return ItemWork(stored, kinds, (*own, *others), guards)


@cache
def _index_keys(model: Model) -> dict[str, set[str]]:
    """By index, the attributes of its keys that are not keys of the table."""
    return {index.name: {*index.pk, *index.sk} - set(model.table.key_names) for index in model.table.indexes}


@lru_cache(maxsize=4096)
def _attribute_kinds(
    model: Model, names: tuple[str, ...], removed: frozenset[str], is_moved: bool
) -> tuple[tuple[WorkKind, tuple[str, ...]], ...]:
    """What an item needs whose attributes of these names differ; most items of a pass need the same."""
    return tuple(_kinds_of(model, set(names), removed, is_moved))


def _kinds_of(
    model: Model, changed: set[str], removed: frozenset[str], is_moved: bool
) -> Iterator[tuple[WorkKind, tuple[str, ...]]]:
    if is_moved:
        yield WorkKind.REKEY, (model.name,)
        changed -= set(model.table.key_names)
    indexes = _index_keys(model)
    touched = tuple(name for name, keys in indexes.items() if keys & changed)
    if touched:
        yield WorkKind.INDEX, touched
        changed -= {name for keys in indexes.values() for name in keys}
    if model.table.ttl in changed:
        yield WorkKind.TTL, (model.table.ttl or "",)
        changed.discard(model.table.ttl or "")
    if stored := changed - removed:
        yield WorkKind.ATTRIBUTES, tuple(sorted(stored))
    if gone := changed & removed:
        yield WorkKind.REMOVE, tuple(sorted(gone))


def _guards(stored: StoredEntity, after: Effects, found: Mapping[ItemIdentity, Item]) -> tuple[Effects, Effects]:
    """The guards that name the item by its old key, and those to be created or to replace them."""
    outdated, missing = Effects(), Effects()
    for identity, guard in after.guards.items():
        owner = found.get(identity, {}).get(OWNER)
        if owner == {"M": guard.owner}:
            continue
        missing.guards[identity] = guard
        if owner is not None and (owner == {"M": stored.key} or STALE_OWNER in found[identity]):
            outdated.guards[identity] = msgspec.structs.replace(guard, owner=owner["M"])
    return outdated, missing


def _own_actions(
    stored: StoredEntity, changed: list[str], mark: Item, now: datetime, relied_on: set[str]
) -> Iterator[ItemAction]:
    model, item = stored.model, stored.item
    table, name = model.table.name, model.name

    def raced(_: Item) -> Raced:
        return Raced(name)

    def unchanged(each: str) -> Clause:
        return Clause(equals(each, item.get(each)), raced)

    exists = Clause(present(model.table.pk), raced)
    if stored.is_moved:
        seen = tuple(unchanged(each) for each in item if each not in model.table.key_names)
        fence = (exists, *seen, unchanged(COUNTED))
        yield ItemAction("delete", table, stored.key, name, clauses=fence, at_old_key=True)
        new_key = key_in_item(model, stored.wanted)
        free = Clause(is_free(model, now), lambda _: AlreadyExists(name, key_parts(model, stored.values)))
        yield ItemAction("put", table, new_key, name, item=stored.wanted | mark, clauses=(free,))
        return
    steps: dict[str, Step] = {}
    for each in changed:
        steps[each] = SetAttribute(stored.wanted[each]) if each in stored.wanted else RemoveAttribute()
    steps |= {each: SetAttribute(value) for each, value in mark.items()}
    fenced = _fenced_names(model, tuple(changed), frozenset(relied_on))
    clauses = [exists, *[unchanged(each) for each in fenced]]
    if mark:
        clauses.append(unchanged(COUNTED))
    yield ItemAction(
        "update" if steps else "check", table, stored.key, name, steps=steps, clauses=tuple(clauses), own=True
    )


@lru_cache(maxsize=4096)
def _fenced_names(model: Model, changed: tuple[str, ...], relied_on: frozenset[str]) -> tuple[str, ...]:
    """The attributes that must be as they were read: those that change, and those from which they are made."""
    fields = relied_on | {field for group in _derived(model, changed) for field in group.fields}
    sources = (*model.fenced_names(fields - model.known_fields), *_other_forms(model, changed))
    return tuple(dict.fromkeys((*changed, *sources)))


def _other_forms(model: Model, changed: tuple[str, ...]) -> Iterator[str]:
    """The forms of attributes that are being migrated, one of which is made from the other."""
    for each in model.migrations:
        forms = (each.old.name, each.new.name)
        if not set(forms).isdisjoint(changed):
            yield from forms


def _derived(model: Model, changed: tuple[str, ...]) -> Iterator[Derived]:
    """The groups of derived attributes in which some have changed."""
    return (group for group in derivations(model) if not set(group.names).isdisjoint(changed))


def leftovers(item: Item, build: str | None) -> list[str]:
    """The attributes of an item that counting has left behind; `build` is the one that still goes on."""
    marked = [COUNTED] if COUNTED in item and item[COUNTED] != {"S": build} else []
    return marked + [name for name in item if name.startswith(TALLY) and not name.startswith(f"{TALLY}{build}-")]

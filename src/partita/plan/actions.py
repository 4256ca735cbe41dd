"""Actions: the writes of one request, each to one item, with the clauses of its condition.

A single action becomes PutItem, UpdateItem or DeleteItem, several become one TransactWriteItems: see `write_requests`.
Each clause has the error to raise if it fails: when DynamoDB rejects a write, the clauses are evaluated on the item
that it returns, and the error of the first that is false is raised.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from partita.design.conditions import All, AnyOf, Comparison, Condition, Exists, Field, Not
from partita.design.key_parts import EXACT
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import InvalidTransaction, InvalidValue, StoreError
from partita.plan.predicates import evaluate

Kind = Literal["put", "update", "delete", "check"]


class Clause(msgspec.Struct, frozen=True, gc=False):
    """A condition on one stored item, and the error to raise if it is false, given the item.

    It is about the item before the transaction, or `after` it. It is not `own` where a write of another item requires
    it, such as the limit of a counter.
    """

    condition: Condition
    on_failure: Callable[[Item], StoreError | InvalidValue]
    after: bool = False
    own: bool = True


class Tally(msgspec.Struct, frozen=True):
    """A condition on a counter after all increments of the transaction.

    DynamoDB's conditions see the counter before it and cannot add, so `before` makes the clause for a total. It is
    also given the attributes that the transaction sets, the item if it was read, and its other increments.
    `of_deleted`: the counter of an item that is deleted.
    """

    counter: str
    name: str  # of two tallies of one counter with the same name one is enough
    condition: Condition
    on_failure: Callable[[Item], StoreError]
    before: Callable[[Decimal, Item, Item | None, Mapping[str, Decimal]], Clause | None]
    of_deleted: bool = False


class SetAttribute(msgspec.Struct, frozen=True, gc=False):
    value: AttributeValue

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        """The values of a step in its update expression, in their order."""
        return (self.value,)


class SetIfAbsent(msgspec.Struct, frozen=True, gc=False):
    """The value of an attribute where the item does not have it."""

    value: AttributeValue

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return (self.value,)


class IncrementAttribute(msgspec.Struct, frozen=True, gc=False):
    """`absent` is the value of the attribute for an older item without it."""

    by: str
    absent: str = "0"

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return {"N": self.absent}, {"N": self.by}


class AppendToList(msgspec.Struct, frozen=True, gc=False):
    values: AttributeValue

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return {"L": []}, self.values


class AddToSet(msgspec.Struct, frozen=True, gc=False):
    values: AttributeValue

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return (self.values,)


class DeleteFromSet(msgspec.Struct, frozen=True, gc=False):
    values: AttributeValue

    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return (self.values,)


class RemoveAttribute(msgspec.Struct, frozen=True, gc=False):
    @property
    def operands(self) -> tuple[AttributeValue, ...]:
        return ()


Step = SetAttribute | SetIfAbsent | IncrementAttribute | AppendToList | AddToSet | DeleteFromSet | RemoveAttribute


class ItemAction(msgspec.Struct, frozen=True, gc=False):
    """One write of the item under `key`, or a check of its condition."""

    kind: Kind
    table: str
    key: Item
    entity: str
    item: Item | None = None
    steps: dict[str, Step] = msgspec.field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()
    tallies: tuple[Tally, ...] = ()
    own: bool = True  # false for what a write of another item causes: a guard, a counter, a check of a reference
    at_old_key: bool = False  # an old key of the entity: if nothing is there, another writer may have moved the item
    from_read: bool = False  # its values were computed from the item that was read, such as the sum of `n += 1`

    @property
    def identity(self) -> ItemIdentity:
        return item_identity(self.table, self.key)


@lru_cache(maxsize=4096)
def present(name: str) -> Condition:
    return Exists(Field((name,)))


@lru_cache(maxsize=4096)
def absent(name: str) -> Condition:
    return Not(Exists(Field((name,))))


def equals(name: str, value: AttributeValue | None) -> Condition:
    return absent(name) if value is None else Comparison("=", _field(name), value)


@lru_cache(maxsize=4096)
def _field(name: str) -> Field:
    return Field((name,))


def alive(ttl: str, now: AttributeValue) -> Condition:
    """The item has not expired; DynamoDB may take days to delete an expired one."""
    return AnyOf((absent(ttl), Comparison(">", Field((ttl,)), now)))


def failed_clause(action: ItemAction, item: Item | None) -> Clause | None:
    """The first clause that is false for the item; one of its own writes comes before those of others."""
    failed = [clause for clause in action.clauses if not evaluate(clause.condition, item or {})]
    return next((clause for clause in failed if clause.own), failed[0] if failed else None)


def combine(actions: Iterable[ItemAction], seen: Mapping[ItemIdentity, Item] = {}) -> list[ItemAction]:
    """One action for each item, from its state before all of the actions to its state after them.

    DynamoDB rejects two actions on one item in a transaction, and its conditions see the state before it. `seen` are
    items that were read for a tally; it raises `BoundUnread` for one that it needs.
    """
    by_item: dict[ItemIdentity, list[ItemAction]] = {}
    actions = list(actions)
    if len(actions) == 1 and not actions[0].tallies:
        return [_combined(actions, None)]
    for action in actions:
        by_item.setdefault(item_identity(action.table, action.key), []).append(action)
    return [_combined(several, seen.get(identity)) for identity, several in by_item.items()]


def _combined(several: list[ItemAction], seen: Item | None) -> ItemAction:
    """The one action for all actions on one item."""
    first = several[0]
    if len(several) == 1 and not first.tallies and not _decides_itself(first):
        return first
    put = _only(several, "put")
    gone = _only(several, "delete")
    own = [each for each in several if each.own and each.kind != "check"]
    if len(own) > 1 and (len(own) != 2 or put is None or gone is None):
        kinds = " and ".join(each.kind for each in own)
        raise InvalidTransaction(f"the transaction writes the same item twice ({kinds})", first.entity)
    steps = _steps_of(several, put, gone)
    clauses = [
        _owned(clause, each.own)
        for each in several
        if each is not put or gone is None  # what a put requires of the item holds once it is deleted
        for clause in each.clauses
        if not clause.after
    ]
    tallied = _tally_clauses(several, put, gone, steps, seen)
    item = None if put is None else _apply_steps(put.item or {}, steps)
    needed = [_owned(clause, each.own) for each in several for clause in each.clauses if clause.after]
    if put is not None or gone is not None:
        _check_after(needed, item or {})
    else:
        clauses = [*(rest for clause in needed if (rest := _undecided(clause, steps)) is not None), *clauses]
    kind: Kind = "put" if put else "delete" if gone else "update" if steps else "check"
    return ItemAction(
        kind,
        first.table,
        first.key,
        (own or several)[0].entity,
        item,
        {} if put or gone else steps,
        (*clauses, *(_owned(clause, False) for clause in tallied)),
        own=any(each.own for each in several),
        at_old_key=any(each.at_old_key for each in several),
        from_read=any(each.from_read for each in several),
    )


def _owned(clause: Clause, own: bool) -> Clause:
    return clause if clause.own is own else msgspec.structs.replace(clause, own=own)


def _decides_itself(action: ItemAction) -> bool:
    """Whether an action must be combined with itself: it writes what its own clauses require of the state after."""
    for clause in action.clauses:
        if clause.after:
            others = any(type(step) is not IncrementAttribute for step in action.steps.values())
            return others or action.kind in ("put", "delete")
    return False


def _only(several: list[ItemAction], kind: Kind) -> ItemAction | None:
    """The action of a kind; two of one item are an error, but for the guard of an item that has already expired."""
    found = [each for each in several if each.kind == kind]
    for earlier, later in pairwise(found):
        if not later.clauses:
            wrong = f"the transaction writes the same item twice ({kind} and {kind})"
            raise InvalidTransaction(wrong, earlier.entity)
        failed = failed_clause(later, earlier.item) if kind == "put" and not later.own else later.clauses[0]
        if failed is not None:  # it would have met what the first has written
            raise failed.on_failure(earlier.item or {})
    return found[-1] if found else None


def _steps_of(several: list[ItemAction], put: ItemAction | None, gone: ItemAction | None) -> dict[str, Step]:
    """The steps of all updates; what is given back to an item that is deleted is dropped."""
    steps: dict[str, Step] = {}
    for each in several:
        for name, step in each.steps.items():
            if gone is not None and put is None:
                continue
            if gone is not None and isinstance(step, IncrementAttribute) and Decimal(step.by) < 0:
                continue
            steps[name] = _merge_steps(each.entity, name, steps.get(name), step)
    for name, step in list(steps.items()):
        if isinstance(step, IncrementAttribute) and Decimal(step.by) == 0:
            del steps[name]
    return steps


def _tally_clauses(
    several: list[ItemAction],
    put: ItemAction | None,
    gone: ItemAction | None,
    steps: dict[str, Step],
    seen: Item | None,
) -> list[Clause]:
    """The conditions on counters, each for the sum of all increments."""
    known = {name: step.value for name, step in steps.items() if isinstance(step, SetAttribute)}
    stepped = {name: Decimal(step.by) for name, step in steps.items() if isinstance(step, IncrementAttribute)}
    clauses: list[Clause] = []
    tallies = {(tally.counter, tally.name): tally for each in several for tally in each.tallies}
    for tally in tallies.values():
        if tally.of_deleted:
            total = sum((_increment(each, tally.counter, below_zero=True) for each in several), Decimal(0))
        elif gone is not None and put is None:
            continue
        else:
            total = sum((_increment(each, tally.counter) for each in several), Decimal(0))
        if put is not None and not tally.of_deleted:
            assert put.item is not None
            if not evaluate(tally.condition, _apply_steps(put.item, steps)):
                raise tally.on_failure({})
            continue
        clause = tally.before(total, known, seen, stepped)
        if clause is not None:
            clauses.append(clause)
    return clauses


def _increment(action: ItemAction, name: str, *, below_zero: bool = False) -> Decimal:
    step = action.steps.get(name)
    by = Decimal(step.by) if isinstance(step, IncrementAttribute) else Decimal(0)
    return Decimal(0) if below_zero and by > 0 else by


def _check_after(needed: list[Clause], item: Item) -> None:
    for clause in needed:
        if not evaluate(clause.condition, item):
            raise clause.on_failure(item)


def _undecided(clause: Clause, steps: dict[str, Step]) -> Clause | None:
    """The clause without the terms that the steps decide; its error where they decide that it is false."""
    terms = clause.condition.terms if isinstance(clause.condition, All) else (clause.condition,)
    written = {name: step.value for name, step in steps.items() if isinstance(step, SetAttribute)}
    removed = {name for name, step in steps.items() if isinstance(step, RemoveAttribute)}
    decided = written.keys() | removed
    left = []
    for term in terms:
        if not set(term.fields) <= decided:
            left.append(term)
        elif not evaluate(term, written):
            raise clause.on_failure(written)
    if not left:
        return None
    return Clause(All(tuple(left)) if len(left) != 1 else left[0], clause.on_failure, own=clause.own)


def _merge_steps(entity: str, name: str, one: Step | None, other: Step) -> Step:
    if isinstance(one, IncrementAttribute) and isinstance(other, IncrementAttribute):
        return IncrementAttribute(_sum_of(one.by, other.by), one.absent)
    if one is not None:
        raise InvalidTransaction(f"the transaction changes {name!r} twice", entity)
    return other


def _apply_steps(item: Item, steps: dict[str, Step]) -> Item:
    changed = dict(item)
    for name, step in steps.items():
        if isinstance(step, IncrementAttribute):
            changed[name] = {"N": _sum_of(item.get(name, {"N": step.absent})["N"], step.by)}
        elif isinstance(step, SetAttribute):
            changed[name] = step.value
    return changed


def _sum_of(one: str, other: str) -> str:
    return str(EXACT.add(Decimal(one), Decimal(other)))

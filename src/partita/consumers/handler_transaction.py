"""The transaction of a handler: its writes take effect together with the record that the change is done.

Each item that the handler has read is a condition of the transaction: it is stored as it was read. Changes that share
a transaction look like changes one after the other, because none of them has read what an earlier one writes. An item
that is new in the range of a query cannot be noticed: DynamoDB has no condition on a range.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.design.conditions import Condition
from partita.design.models import Model
from partita.design.reads import Get, Query
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import Item
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    CorruptRow,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    PartitaError,
    StorageError,
    StoreError,
)
from partita.plan.actions import Clause, ItemAction, absent, equals, present
from partita.plan.items import key_in_item, key_of
from partita.plan.read_requests import get_plan, key_values, query_plan
from partita.store.arguments import check_count, check_flag
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.execution import Planning, SkippedItems
from partita.store.reading import QueryPages, decoder_for_read
from partita.store.retries import is_transient
from partita.store.transactions import Step, Transaction

E = TypeVar("E")
EntityName = tuple[str, str]  # its table and its name


class ReadChanged(StoreError):
    """An item that a handler has read was written since; the handler runs again."""

    def __init__(self, entity: str) -> None:
        super().__init__(f"{entity} has changed since the handler read it")


class Unavailable(StoreError):
    """Something that every change needs does not answer, or rejects requests for now: not a failure of the handler."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason) or type(reason).__name__)


class DatabaseUnavailable(Unavailable):
    """The database does not answer, or rejects requests for now."""


class TakenOver(PartitaError):
    """Another process runs the consumer now."""

    def __init__(self, consumer: str) -> None:
        super().__init__(f"consumer {consumer}: another process has taken it over")


class HandlerTransaction(Transaction):
    """Writes as in any transaction, and reads whose items must be unchanged when it is committed."""

    def __init__(self, db: ConsumerStore, planned: Callable[[list[ItemAction]], None] | None = None) -> None:
        super().__init__(db.context, db.design)
        self._db = db
        self._planned = planned  # receives what is about to be written
        self._fenced: set[ItemIdentity] = set()
        self._queried: set[EntityName] = set()
        self._parts: list[_ChangeSteps] = []  # of changes that share this transaction
        self.reads = 0

    @property
    def size(self) -> int:
        """How many writes and checks it has, without those that invariants add."""
        return len(self._steps) - len(self._fenced & self._writes.keys())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not self._writes

    def now(self) -> datetime:
        """The time by the store's clock."""
        return self._db.context.clock()

    def get(self, call: Get[E], *, fenced: bool = True) -> E | None:
        """The entity as it is now, or None; the handler runs again if it changes before the transaction's end.

        Without `fenced` it may change: for what never does, such as the author of a post that others like meanwhile.
        """
        check_flag("fenced", fenced)
        if not fenced:
            return self._db.get(call, consistent=True)
        plan = get_plan(call)
        model = plan.model
        decode = decoder_of(model)
        found: list[Item] = []

        def keep(raw: msgspec.Raw, now: int | None) -> Any:
            found.append(msgspec.json.decode(raw))  # also one that has expired, and is still stored
            return decode(raw, now)

        with _noticing_outages():
            entity: E | None = self._db.read(call, keep, consistent=True)
        if found:
            self._fence(model, key_in_item(model, found[0]), _unchanged(model, found[0], is_whole=True))
        else:
            key = key_of(model, key_values(plan, call.arguments))
            self._fence(model, key, [absent(model.table.pk)])
        return entity

    def find(self, call: Query[E], limit: int | None = None, *, fenced: bool = True) -> list[E]:
        """The entities of a query, as they are now; the handler runs again if one changes before the transaction's end.

        Each of them counts as an action of the transaction. Without `fenced` they may change, and there may be any
        number of them. A new item in the range of the query is not noticed, unless this consumer has written it.
        """
        check_flag("fenced", fenced)
        if limit is not None:
            check_count("find", "limit", limit)
        plan = query_plan(call)
        self.reads += 1
        self._queried |= {(model.table.name, model.name) for model in plan.models}
        read = self._db(call)
        if not fenced:
            with _noticing_outages():
                return read.first(limit) if limit is not None else list(read)
        if call.read.view is not None:
            raise InvalidValue(call.read.name, "a view has a part of its items; pass fenced=False to t.find")
        decode = decoder_for_read(call.read)
        raws: list[msgspec.Raw] = []

        def keep(raw: msgspec.Raw, now: int | None) -> Any:
            entity = decode(raw, now)
            if entity is not None:
                raws.append(raw)
            return entity

        with _noticing_outages():
            entities: list[E] = self._entities_of(call, limit, keep, consistent=plan.can_be_consistent)
        models = {model.name: model for model in plan.models}
        for raw in raws:
            item: Item = msgspec.json.decode(raw)
            model = plan.model if len(models) == 1 else recogniser_of(plan.model.table).model_of(raw) or plan.model
            self._fence(model, key_in_item(model, item), _unchanged(model, item, is_whole=plan.reads_whole_items))
        return entities

    def _entities_of(
        self, call: Query[E], limit: int | None, decode: Callable[[msgspec.Raw, int | None], Any], *, consistent: bool
    ) -> list[E]:
        if limit == 0:
            return []
        pages: QueryPages[E] = QueryPages(self._db.context, call, consistent=consistent)
        entities: list[E] = []
        while not pages.is_done and (limit is None or len(entities) < limit):
            entities += self._db.run(pages.fetch(limit, decode))
        return entities

    def check(self, call: Get[Any], condition: Condition) -> None:
        super().check(call, condition)
        self.reads += 1

    def _add(self, step: Step) -> None:
        planned = self._planned
        if planned is None:
            super()._add(step)
            return

        def observed(skip: SkippedItems, read: bool) -> Planning:
            actions = yield from step(skip, read)
            planned(actions)
            return actions

        super()._add(observed)

    def _fence(self, model: Model, key: Item, conditions: Iterable[Condition]) -> None:
        self.reads += 1
        self._fenced.add(item_identity(model.table.name, key))

        def changed(_: Item) -> ReadChanged:
            return ReadChanged(model.name)

        clauses = tuple([Clause(each, changed) for each in conditions])

        def step(skip: SkippedItems, read: bool) -> Planning:
            yield from ()
            return [ItemAction("check", model.table.name, key, model.name, clauses=clauses)]

        self._add(step)

    def _plan_steps(self, skip: SkippedItems, read: bool) -> Planning:
        """All actions; ReadChanged if a change has read what an earlier one in this transaction writes."""
        if not self.reads or len(self._parts) < 2:
            return (yield from super()._plan_steps(skip, read))
        actions: list[ItemAction] = []
        written: set[ItemIdentity] = set()
        entities: set[EntityName] = set()
        steps = iter(self._steps)
        for part in [*self._parts, _ChangeSteps(len(self._steps), frozenset())]:
            own: list[ItemAction] = []
            for step in islice(steps, part.steps):
                own += yield from step(skip, read)
            for each in own:
                if each.kind == "check" and each.own and each.identity in written:
                    raise ReadChanged(each.entity)
            for _, entity in part.queried & entities:
                raise ReadChanged(entity)
            writes = [each for each in own if each.kind != "check"]
            written |= {each.identity for each in writes}
            entities |= {(each.table, each.entity) for each in writes}
            actions += own
        return actions

    def commit(self) -> None:
        """Sends the writes, all or nothing."""
        with _noticing_outages():
            self._db.run(self.flow())

    def commit_as_owner(self, consumer: str, *fences: type[Any]) -> None:
        """Sends the writes; TakenOver if another process has written one of the entities that say who runs it."""
        try:
            self.commit()
        except (AlreadyExists, ConditionFailed, NotFound) as failed:
            if failed.entity in [each.__name__ for each in fences]:
                raise TakenOver(consumer) from None
            raise

    def ended(self) -> "HandlerTransaction":
        """A transaction with the same writes; this one takes no more, if a handler has kept it."""
        found = HandlerTransaction(self._db)
        found.include(self)
        return found

    def include(self, other: "HandlerTransaction") -> bool:
        """Moves the writes of another transaction here.

        False, and nothing is moved, where both write one item, or the other has read what is written here.
        """
        if not self._writes.keys().isdisjoint(other._writes) or other._has_read_of(self):
            return False
        rest = len(self._steps) - sum(each.steps for each in self._parts)
        self._parts += [_ChangeSteps(rest, frozenset())] if rest else []
        self._parts += other._parts or [_ChangeSteps(len(other._steps), frozenset(other._queried))]
        self._writes |= other._writes
        self._steps += other._steps
        self._fenced |= other._fenced
        self._queried |= other._queried
        other._steps = []
        other._has_ended = True
        self.reads += other.reads
        return True

    def _has_read_of(self, other: "HandlerTransaction") -> bool:
        """Whether it has read items that another transaction writes, or queried entities that it writes."""
        if not self._fenced.isdisjoint(other._writes):
            return True
        queried = self._queried
        return bool(queried) and any(
            (each.model.table.name, each.model.name) in queried for each in other._writes.values()
        )


class _ChangeSteps(msgspec.Struct, frozen=True):
    """The steps of one change in a transaction, and the entities that it has queried."""

    steps: int
    queried: frozenset[EntityName]


def _unchanged(model: Model, item: Item, *, is_whole: bool) -> list[Condition]:
    """The conditions that an item is stored as it was read; without `is_whole`, a part of its attributes was read."""
    names = dict.fromkeys(name for name in item if name not in model.table.key_names)
    if is_whole:
        names |= dict.fromkeys(model.fenced_names(each for each in model.attributes if each not in model.known_fields))
    return [present(model.table.pk), *(equals(name, item.get(name)) for name in names)]


@contextmanager
def _noticing_outages() -> Iterator[None]:
    """Raises DatabaseUnavailable in place of errors that pass without the handler's doing."""
    try:
        yield
    except (PartitaError, OSError) as error:
        is_storage = isinstance(error, StorageError) and not isinstance(error, CorruptRow)
        if is_storage or isinstance(error, OutcomeUnknown) or is_transient(error):
            raise DatabaseUnavailable(error) from error
        raise

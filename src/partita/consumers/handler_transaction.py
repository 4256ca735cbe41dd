"""The transaction of a handler: its writes take effect together with the record that the change is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.design.models import Model
from partita.design.reads import Get, Query
from partita.dynamodb.values import Item
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    CorruptRow,
    NotFound,
    OutcomeUnknown,
    PartitaError,
    StorageError,
    StoreError,
)
from partita.plan.actions import Clause, ItemAction, absent, equals
from partita.plan.items import key_of
from partita.plan.read_requests import get_plan, key_values, query_plan
from partita.store.arguments import check_flag
from partita.store.decoding import decoder_of
from partita.store.execution import Planning, SkippedItems
from partita.store.retries import is_transient
from partita.store.transactions import Step, Transaction

E = TypeVar("E")


class ReadChanged(StoreError):
    """An item that a handler has read was written since; the handler runs again."""

    def __init__(self, entity: str) -> None:
        super().__init__(f"{entity} has changed since the handler read it")


class DatabaseUnavailable(StoreError):
    """The database does not answer, or rejects requests for now: not a failure of the handler."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason) or type(reason).__name__)


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
        self.reads = 0

    @property
    def size(self) -> int:
        """How many writes and checks it has, without those that invariants add."""
        return len(self._steps)

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
        key = key_values(plan, call.arguments)
        self._fence(model, key, found[0] if found else None)
        return entity

    def find(self, call: Query[E], limit: int | None = None) -> list[E]:
        """The entities of a query, as they are now; they may change before the transaction's end."""
        query_plan(call)
        with _noticing_outages():
            return self._db(call).first(limit) if limit is not None else list(self._db(call))

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

    def _fence(self, model: Model, key: dict[str, Any], item: Item | None) -> None:
        self.reads += 1

        def changed(_: Item) -> ReadChanged:
            return ReadChanged(model.name)

        names = model.table.key_names
        if item is None:
            clauses: tuple[Clause, ...] = (Clause(absent(names[0]), changed),)
        else:
            clauses = tuple(Clause(equals(name, value), changed) for name, value in item.items() if name not in names)

        def step(skip: SkippedItems, read: bool) -> Planning:
            yield from ()
            return [ItemAction("check", model.table.name, key_of(model, key), model.name, clauses=clauses)]

        self._add(step)

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
        """Moves the writes of another transaction here; false, and nothing is moved, where both write one item."""
        if not self._writes.keys().isdisjoint(other._writes):
            return False
        self._writes |= other._writes
        self._steps += other._steps
        other._steps = []
        other._has_ended = True
        self.reads += other.reads
        return True


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

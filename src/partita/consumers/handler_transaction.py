"""The transaction of a handler: its writes take effect together with the record that the change is done."""

from typing import Any, TypeVar

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.design.models import Model
from partita.design.reads import Get, Query
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, ConditionFailed, NotFound, PartitaError, StoreError
from partita.plan.actions import Clause, ItemAction, absent, equals
from partita.plan.items import key_of
from partita.plan.read_requests import get_plan, key_values
from partita.store.decoding import decoder_of
from partita.store.execution import Planning, SkippedItems
from partita.store.transactions import Transaction

E = TypeVar("E")


class ReadChanged(StoreError):
    """An item that a handler has read was written since; the handler runs again."""

    def __init__(self, entity: str) -> None:
        super().__init__(f"{entity} has changed since the handler read it")


class TakenOver(PartitaError):
    """Another process runs the consumer now."""

    def __init__(self, consumer: str) -> None:
        super().__init__(f"consumer {consumer}: another process has taken it over")


class HandlerTransaction(Transaction):
    """Writes as in any transaction, and reads whose items must be unchanged when it is committed."""

    def __init__(self, db: ConsumerStore) -> None:
        super().__init__(db.context, db.design)
        self._db = db
        self.reads = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not self._writes

    def get(self, call: Get[E]) -> E | None:
        """The entity as it is now, or None; the handler runs again if it changes before the transaction's end."""
        plan = get_plan(call)
        model = plan.model
        decode = decoder_of(model)
        found: list[Item] = []

        def keep(raw: msgspec.Raw, now: int | None) -> Any:
            entity = decode(raw, now)
            if entity is not None:
                found.append(msgspec.json.decode(raw))
            return entity

        entity: E | None = self._db.read(call, keep, consistent=True)
        key = key_values(plan, call.arguments)
        self._fence(model, key, found[0] if found else None)
        return entity

    def find(self, call: Query[E], limit: int | None = None) -> list[E]:
        """The entities of a query, as they are now; they may change before the transaction's end."""
        return self._db(call).first(limit) if limit is not None else list(self._db(call))

    def _fence(self, model: Model, key: dict[str, Any], item: Item | None) -> None:
        self.reads += 1

        def changed(_: Item) -> ReadChanged:
            return ReadChanged(model.name)

        names = model.table.key_names
        if item is None:
            clauses: tuple[Clause, ...] = (Clause(absent(names[0]), changed),)
        else:
            clauses = tuple(Clause(equals(name, value), changed) for name, value in item.items() if name not in names)

        def step(_: SkippedItems) -> Planning:
            yield from ()
            return [ItemAction("check", model.table.name, key_of(model, key), model.name, clauses=clauses)]

        self._add(step)

    def commit(self) -> None:
        """Sends the writes, all or nothing."""
        self._db.run(self.flow())

    def commit_as_owner(self, consumer: str, *fences: type[Any]) -> None:
        """Sends the writes; TakenOver if another process has written one of the entities that say who runs it."""
        try:
            self.commit()
        except (AlreadyExists, ConditionFailed, NotFound) as failed:
            if failed.entity in [each.__name__ for each in fences]:
                raise TakenOver(consumer) from None
            raise

    def include(self, other: "HandlerTransaction") -> None:
        """Adds the writes of another transaction; InvalidTransaction where both write one item."""
        for each in other._touched:
            if each.write != "check":
                self._claim(each.write, each.model, each.values, each.when)
            else:
                self._touched.append(each)
        self._steps += other._steps
        self.reads += other.reads

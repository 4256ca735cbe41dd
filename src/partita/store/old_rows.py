"""Items under old keys in the pages of a query: read as a whole, and merged by the keys that they would have now."""

import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from partita.dynamodb.requests import Query
from partita.dynamodb.values import Item, sort_value
from partita.errors import InvalidValue
from partita.plan.adjacent_values import EmptyRange
from partita.plan.normal_forms import value_forms
from partita.plan.range_conditions import AttributeCondition
from partita.plan.read_requests import Plan, conditions_of, fan_out_values, query, time_filter
from partita.store.context import StoreContext
from partita.store.cursors import DONE, START, State
from partita.store.flows import Flow
from partita.store.old_items import OldPlace, has_expired, is_item_of, old_place, replaced_items
from partita.store.retries import send_idempotent

_COMPARE = {"=": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
SortKey = Callable[[Item], tuple[Any, ...]]


class OldRow(msgspec.Struct, frozen=True):
    place: OldPlace
    raw: msgspec.Raw
    key: Item  # the key that it would have now
    order: tuple[Any, ...]


class OldRows:
    """The items under old keys that belong to one query, from the state of a cursor on."""

    def __init__(self, plan: Plan, arguments: tuple[Any, ...], state: State, sort_key: SortKey) -> None:
        self._plan = plan
        self._arguments = arguments
        self._sort_key = sort_key
        self._position = state
        self.waiting: list[OldRow] = []
        self.ended = state == DONE

    @property
    def is_exhausted(self) -> bool:
        """Whether all of them have been taken."""
        return self.ended and not self.waiting

    @property
    def state(self) -> State:
        """The state in a cursor: the key of the last item that was taken, as it would be now.

        It stays when there are no more: what was taken may be moved later, and is not to be listed twice.
        """
        return DONE if self.is_exhausted and self._position == START else self._position

    def read(self, context: StoreContext, *, consistent: bool) -> Flow[None]:
        """Reads all of them."""
        found: dict[str, OldRow] = {}
        for old, first in self._requests(consistent=consistent).values():
            live = yield from self._read_range(context, old, first)
            for row in self._rows(old, live):
                found.setdefault(str(row.key), row)  # of two old keys, the one that is declared first
        forward = self._plan.proof.forward
        ordered = sorted(found.values(), key=lambda row: row.order, reverse=not forward)
        if self._position != START:
            last = self._order(self._position)  # type: ignore[arg-type]
            ordered = [row for row in ordered if (row.order > last if forward else row.order < last)]
        places = {at: row.place for at, row in enumerate(ordered)}
        replaced = yield from replaced_items(context, places, consistent=consistent)
        self.waiting = [row for at, row in enumerate(ordered) if at not in replaced]
        self.ended = True

    def _requests(self, *, consistent: bool) -> dict[str, tuple[Plan, Query]]:
        """The first request of each range, once: two forms of the arguments may ask for the same."""
        found: dict[str, tuple[Plan, Query]] = {}
        for old in self._plan.old_plans:
            for arguments in value_forms(self._arguments, old.varied_arguments):
                for value in fan_out_values(old, arguments, possible_only=True):
                    with suppress(InvalidValue):  # a value that the old key cannot hold was never stored under it
                        asked = query(
                            old,
                            arguments,
                            fan_out_value=value,
                            consistent=consistent,
                            filter_arguments=self._arguments,
                        )
                        found.setdefault(f"{id(old.model)} {asked}", (old, asked))
        return found

    def _read_range(self, context: StoreContext, old: Plan, asked: Query) -> Flow[list[msgspec.Raw]]:
        """All items of one range, but those that have expired."""
        live: list[msgspec.Raw] = []
        while True:
            reply = yield from send_idempotent(context, asked)
            live += [raw for raw in reply.items or () if not has_expired(context, old.model, raw)]
            if reply.last_evaluated_key is None:
                return live
            start = msgspec.json.decode(reply.last_evaluated_key)
            asked = msgspec.structs.replace(asked, exclusive_start_key=start)

    def _rows(self, old: Plan, items: Iterable[msgspec.Raw]) -> Iterable[OldRow]:
        """The items that are stored under an old key, and whose key would now be in the range of the query."""
        model = old.model
        ranges = []
        for value in fan_out_values(self._plan, self._arguments):
            with suppress(EmptyRange):
                ranges.append(conditions_of(self._plan, self._arguments, value))
        for raw in items:
            place = old_place((model,), msgspec.json.decode(raw))
            key = None if place is None else place.current_key
            if place is None or key is None:
                continue  # it is another entity's, or one that adoption reports
            in_range = any(all(_holds(condition, key) for condition in conditions) for conditions in ranges)
            if in_range and self._belongs(key):
                yield OldRow(place, raw, key, self._order(key))

    def _belongs(self, key: Item) -> bool:
        belongs, bounds = time_filter(self._plan, self._arguments), self._plan.time_bounds
        return belongs is None or bounds is None or belongs(sort_value(key[bounds.attribute.name]))

    def has_passed(self, item: Item) -> bool:
        """Whether an item comes before the last one that was taken, or is that one, under its current key by now.

        It was listed as it was under its old key, or stored later.
        """
        if not isinstance(self._position, dict):
            return False
        here, last = self._sort_key(item), self._sort_key(self._position)
        return (here < last if self._plan.proof.forward else here > last) or _is_at(item, self._position)

    def leave_out(self, context: StoreContext, item: Item, raw: msgspec.Raw) -> None:
        """Removes an item that waits here and has been moved to its current key, unless it has expired there."""
        self.waiting = [row for row in self.waiting if not (_is_at(item, row.key) and _is_of(context, row.place, raw))]

    def _order(self, key: Item) -> tuple[Any, ...]:
        return (*self._sort_key(key), *(str(value) for value in key.values()))

    def peek_sort_key(self) -> tuple[Any, ...]:
        return self._sort_key(self.waiting[0].key)

    def take_next(self) -> list[msgspec.Raw]:
        row = self.waiting.pop(0)
        self._position = row.key
        return [row.raw]


def _is_at(item: Item, key: Item) -> bool:
    return all(item.get(name) == value for name, value in key.items())


def _is_of(context: StoreContext, place: OldPlace, raw: msgspec.Raw) -> bool:
    return is_item_of(context, place.model, place.values or {}, raw)


def _holds(condition: AttributeCondition, key: Item) -> bool:
    """Whether a key is in a range; its values compare as DynamoDB's do."""
    stored = sort_value(key[condition.attribute.name])
    ends = [sort_value(value) for value in condition.values]
    if condition.operator == "begins_with":
        return bool(stored.startswith(ends[0]))
    if condition.operator == "between":
        return bool(ends[0] <= stored <= ends[1])
    return bool(_COMPARE[condition.operator](stored, ends[0]))

"""Merging the ranges of a query: items in the order of their sort keys, read as they are needed.

A declared fan-out reads one range for each of its values; a plain query has one range.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from partita.design.codecs import shape_of
from partita.dynamodb import limits
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import Item, sort_value
from partita.plan.adjacent_values import EmptyRange
from partita.plan.read_requests import Plan, check_lengths, fan_out_values, query, start_key, time_filter
from partita.store.context import StoreContext
from partita.store.cursors import DONE, START, State, binding, cursor_text, states_of
from partita.store.flows import Flow
from partita.store.old_items import old_place, without_replaced
from partita.store.old_rows import OldRows
from partita.store.retries import send_idempotent


class Merge:
    """The merged ranges of one query from a cursor on: `fill` reads, `take` removes what comes first."""

    def __init__(
        self,
        context: StoreContext,
        plan: Plan,
        arguments: tuple[Any, ...],
        cursor: str | None,
        consistent: bool,
        *,
        copies: bool = False,
    ) -> None:
        self._context = context
        self._plan = plan
        self._arguments = arguments
        self._consistent = consistent
        values = fan_out_values(plan, arguments)
        states: Sequence[State] = [START] * len(values)
        if cursor is not None:
            states = states_of(plan.read.name, cursor, binding(plan, arguments), context.cursor_keys)
        self._belongs = time_filter(plan, arguments)
        self._old: OldRows | None = None
        self._hides_copies = plan.has_old_keys and not plan.old_plans and not copies
        if plan.old_plans and not copies:
            state = START if cursor is None else states[-1]
            states = states if cursor is None else states[:-1]
            self._old = OldRows(plan, arguments, state, lambda key: _open_sort_key(plan, key))
        self._ranges = [_start_range(value, state) for value, state in zip(values, states, strict=True)]

    @property
    def must_read_on(self) -> bool:
        """Whether the next item can only be known after another request."""
        return any(not each.waiting and not each.ended for each in self._ranges)

    @property
    def _all_ranges(self) -> "list[_Range | OldRows]":
        return [*self._ranges, *([self._old] if self._old is not None else [])]

    def fill(self, room: int | None) -> Flow[bool]:
        """Reads each range on until it has items or is at its end; false where all of them are at their end."""
        limit = None
        if room is not None and not self._plan.read.is_filtered:  # a limit counts items before the filter
            limit = min(room, limits.LARGEST_INTEGER)
        if self._old is not None and not self._old.ended:  # first: items move from old keys to current ones alone
            yield from self._old.read(self._context, consistent=self._consistent)
        for each in self._ranges:
            while not each.waiting and not each.ended:
                try:
                    request = query(
                        self._plan,
                        self._arguments,
                        fan_out_value=each.fan_out_value,
                        limit=limit,
                        start=each.resume,
                        consistent=self._consistent,
                    )
                    reply = yield from send_idempotent(self._context, request)
                except EmptyRange:
                    each.add((), None)
                    break
                except ValidationException:
                    check_lengths(self._plan, self._arguments)
                    raise
                items: Sequence[msgspec.Raw] = reply.items or ()
                if self._belongs is not None:
                    items = [raw for raw in items if self._belongs(_time_attribute(self._plan)(raw).x.S)]
                if self._old is not None:
                    items = self._without_old(self._old, items)
                elif self._hides_copies:
                    models = self._plan.models
                    items = yield from without_replaced(
                        self._context, models, items, consistent=self._consistent, whole=self._plan.reads_whole_items
                    )
                each.add(items, reply.last_evaluated_key)
        return any(each.waiting for each in self._all_ranges)

    def _without_old(self, old: OldRows, items: Sequence[msgspec.Raw]) -> list[msgspec.Raw]:
        """The items of a range without those under old keys, which are read in their own order.

        One that was read there and has been moved since is not listed twice.
        """
        current = []
        for raw in items:
            item = msgspec.json.decode(raw)
            if old_place(self._plan.models, item) is None and not old.has_passed(item):
                current.append(raw)
                old.leave_out(self._context, item, raw)
        return current

    def take(self, room: int | None) -> list[msgspec.Raw]:
        """The items that come first: of a single range all that fit, of several the one next item."""
        ready = [each for each in self._ranges if each.waiting]
        old = self._old if self._old is not None and self._old.waiting else None
        if len(ready) == 1 and old is None:
            return ready[0].take_next(room, self._plan)
        if not ready and old is not None:
            return old.take_next()
        choose = min if self._plan.proof.forward else max
        chosen = choose(ready, key=lambda each: each.peek_sort_key(self._plan))
        if old is None:
            return chosen.take_next(1, self._plan)
        here, there = chosen.peek_sort_key(self._plan), old.peek_sort_key()
        if here != there and choose(here, there) == there:
            return old.take_next()
        return chosen.take_next(1, self._plan)

    @property
    def is_done(self) -> bool:
        """Whether every range is at its end, and nothing waits."""
        return all(each.is_exhausted for each in self._all_ranges)

    def cursor(self) -> str | None:
        """Where the next page begins; None at the end of every range."""
        if self.is_done:
            return None
        states = [each.state for each in self._ranges]
        if self._old is not None:
            if self._old.state != DONE:  # items move from there to places that were read already
                states = [each.last_taken for each in self._ranges]
            states.append(self._old.state)
        bound = binding(self._plan, self._arguments)
        return cursor_text(self._plan.read.name, bound, states, self._context.cursor_keys)


class _Range:
    """One range: the items that were read and not yet taken, and where to read on."""

    __slots__ = ("_position", "_sort_key", "ended", "fan_out_value", "last_taken", "resume", "waiting")

    def __init__(self, fan_out_value: Any, position: State, resume: Item | None, ended: bool) -> None:
        self.fan_out_value = fan_out_value
        self.resume = resume  # where the next request of this range begins
        self.ended = ended
        self.waiting: list[msgspec.Raw] = []
        self._position = position  # where the next page of this range begins
        self.last_taken = position  # the key of the last item that was taken, which may be before that
        self._sort_key: tuple[Any, ...] | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether all of its items have been taken."""
        return self.ended and not self.waiting

    @property
    def state(self) -> State:
        """The state of this range in a cursor."""
        return DONE if self.is_exhausted else self._position

    def add(self, items: Sequence[msgspec.Raw], last_evaluated_key: msgspec.Raw | None) -> None:
        """Takes in the reply to a request of this range."""
        self.waiting = list(items)
        if last_evaluated_key is None:
            self.ended = True
            return
        self.resume = msgspec.json.decode(last_evaluated_key)
        if not items and self.resume is not None:
            self._position = self.resume

    def peek_sort_key(self, plan: Plan) -> tuple[Any, ...]:
        """The sort key of the next item."""
        if self._sort_key is None:
            item = msgspec.json.decode(self.waiting[0])
            self._sort_key = _open_sort_key(plan, item)
        return self._sort_key

    def take_next(self, room: int | None, plan: Plan) -> list[msgspec.Raw]:
        """Removes the next items, at most `room`."""
        taken, self.waiting = self.waiting[:room], [] if room is None else self.waiting[room:]
        self._sort_key = None
        if plan.old_plans:
            self.last_taken = start_key(plan, msgspec.json.decode(taken[-1]))
        if self.waiting:
            self._position = start_key(plan, msgspec.json.decode(taken[-1]))
        elif self.resume is not None:
            self._position = self.resume
        return taken


@lru_cache(maxsize=1024)
def _time_attribute(plan: Plan) -> Callable[[msgspec.Raw], Any]:
    """Decodes the one attribute of an item that has the time by which a range is bounded."""
    assert plan.time_bounds is not None
    return msgspec.json.Decoder(shape_of("Time", (), {"x": plan.time_bounds.attribute.name})).decode


def _open_sort_key(plan: Plan, item: Item) -> tuple[Any, ...]:
    """The sort key of an item without the parts that its range fixes: the order of what is left is the promised one."""
    first, *others = plan.sort_names or ("",)
    if not plan.given_segments:
        return tuple(sort_value(item[name]) for name in plan.sort_names)
    rest = item[first]["S"].split(plan.model.table.separator, plan.given_segments)[plan.given_segments :]
    return (sort_value({"S": "".join(rest)}), *(sort_value(item[name]) for name in others))


def _start_range(fan_out_value: Any, state: State) -> _Range:
    return _Range(fan_out_value, state, None if isinstance(state, int) else state, state == DONE)

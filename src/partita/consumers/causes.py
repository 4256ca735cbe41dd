"""Notices consumers that trigger themselves without an end.

A handler whose effects are changes that it handles itself, directly or through other consumers of the process, may run
for ever. So it is counted how many changes in a row were each caused by the one before:

    order 7 changed ──handler writes──> order 7 ──handler writes──> order 7 ── ... more than 100: reported
"""

from collections.abc import Iterable
from typing import Any

from partita.consumers.consumer import Consumer
from partita.consumers.delivery import Delivery, item_id
from partita.plan.actions import ItemAction

ENDLESS = 100  # changes in a row, each caused by the one before
MAX_ITEMS = 10_000  # whose causes are remembered


class Causes:
    """The causes of changes, for all consumers of a process."""

    def __init__(self) -> None:
        self._consumers: list[ConsumerCauses] = []

    def of(self, consumer: Consumer) -> "ConsumerCauses":
        found = ConsumerCauses(self, consumer)
        self._consumers.append(found)
        return found

    def note(self, depth: int, actions: Iterable[ItemAction]) -> None:
        """Notes the writes of a handler before they are sent, for the consumers that handle them."""
        for action in actions:
            wanted = [each for each in self._consumers if (action.table, action.entity) in each.entities]
            if wanted and action.kind != "check":
                item = item_id(action.table, action.key)
                for each in wanted:
                    each.expect(item, depth)


class ConsumerCauses:
    """How many changes in a row have caused each change of one consumer; `deepest` since it was reset."""

    def __init__(self, causes: Causes, consumer: Consumer) -> None:
        self.all = causes
        self._expected: dict[str, int] = {}
        self._current: dict[str, tuple[str, int]] = {}  # the change of an item that is handled, and its depth
        self.entities = {(model.table.name, model.name) for each in consumer.handlers for model in each.models}
        self.deepest = 0
        self.entity = ""

    @property
    def is_endless(self) -> bool:
        return self.deepest >= ENDLESS

    def expect(self, item: str, depth: int) -> None:
        """Notes that the next change of an item is caused by a handler."""
        self._expected[item] = depth
        _forget_oldest(self._expected)

    def depth(self, delivery: Delivery) -> int:
        """How many changes in a row have caused a change that is handled now."""
        change, known = self._current.get(delivery.item, ("", 0))
        if change == delivery.change.id:  # its handlers run again
            return known
        depth = self._expected.pop(delivery.item, 0)
        self._current[delivery.item] = (delivery.change.id, depth)
        _forget_oldest(self._current)
        if depth > self.deepest:
            self.deepest, self.entity = depth, delivery.entity
        return depth


def _forget_oldest(items: dict[str, Any]) -> None:
    while len(items) > MAX_ITEMS:
        del items[next(iter(items))]

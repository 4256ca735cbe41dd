"""Noticing items under keys that the design does not write: a list has them, but neither a get nor a put finds them.

They are of other code: text without our escapes, a time of another width. To compute the key of every item would cost
up to a third of a list's time, so only the first items of some pages are looked at, and every item of a scan.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from partita.design.models import Model
from partita.dynamodb.values import Item
from partita.errors import PartitaError
from partita.plan.items import key_in_item, key_of, old_keys, values_of
from partita.store import log
from partita.store.decoding import decoder_of, is_old_form, recogniser_among

PAGES = 100
"""How many pages of each entity are looked at in the life of a store."""


class KeyWatch:
    """Logs a warning for each entity of which an item has such a key, once."""

    def __init__(self) -> None:
        self._left: dict[Model, int] = {}
        self._reported: set[Model] = set()

    def wants(self, models: Sequence[Model]) -> bool:
        """Whether pages of the entities are still looked at."""
        return self._left.get(models[0], PAGES) > 0

    def look(self, models: Sequence[Model], raw: msgspec.Raw) -> None:
        """Looks at the first item of a page of the entities."""
        self._left[models[0]] = self._left.get(models[0], PAGES) - 1
        model = models[0] if len(models) == 1 else recogniser_among(tuple(models)).model_of(raw)
        if model is None:
            return
        try:
            item: Item = msgspec.json.decode(raw)
            self.compare(model, item, decoder_of(model).from_item(item))
        except PartitaError:
            return  # it cannot be decoded, which is reported elsewhere

    def compare(self, model: Model, item: Item, entity: Any) -> None:
        """Compares the key of an item with the one that its entity would be stored under."""
        stored, values = key_in_item(model, item), values_of(model, entity)
        if model in self._reported or stored == key_of(model, values):
            return
        if model.old_keys and (is_old_form(model, stored) or stored in old_keys(model, values)):
            return
        self._reported.add(model)
        log.unexpected_key(model.name)

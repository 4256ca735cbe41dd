"""Scans for jobs that read every stored entity: adoption, repairs, exports.

Access patterns never scan. A scan reads its tables page by page, and consumes capacity for every item in them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from partita.design.conditions import AnyOf, Condition
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, StoredItemInvalid
from partita.plan.condition_expressions import Expression, check_length, to_stored
from partita.plan.design import Design
from partita.plan.effects import OWNER
from partita.plan.predicates import evaluate
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.flows import Flow
from partita.store.reading import now_seconds
from partita.store.retries import send_idempotent


class TableScan(msgspec.Struct, frozen=True):
    """The scan of one table: the entities that it returns, each with its condition on stored attributes."""

    table: Table
    conditions: dict[Model, Condition | None]

    def request(self, start: Item | None = None) -> wire.Scan:
        """One page; an item that no condition can hold for is read and billed, but not sent."""
        found = wire.Scan(table_name=self.table.name, exclusive_start_key=start, consistent_read=True)
        terms = [each for each in self.conditions.values() if each is not None]
        if terms:
            expression = Expression()
            found.filter_expression = expression.condition(terms[0] if len(terms) == 1 else AnyOf(tuple(terms)))
            check_length(" | ".join(each.name for each in self.conditions), found.filter_expression)
            found.expression_attribute_names = expression.names
            found.expression_attribute_values = expression.values or None
        return found

    def accepts(self, model: Model, item: Item) -> bool:
        """Whether the item is one of the entities; of several, the filter may have been another's."""
        condition = self.conditions[model]
        return OWNER not in item and (condition is None or len(self.conditions) == 1 or evaluate(condition, item))


def scans(design: Design, entities: Sequence[type[Any]], where: Condition | None) -> list[TableScan]:
    """The scans that read the entities; a condition has to hold for each of them."""
    if not entities:
        raise ConfigurationError("scan: no entities; name those to read, such as db.scan(Order)")
    wanted: dict[Table, dict[Model, Condition | None]] = {}
    for entity in entities:
        model = design.holding(entity)
        stored = None if where is None else to_stored(model, where)
        wanted.setdefault(model.table, {})[model] = stored
    return [TableScan(table, conditions) for table, conditions in wanted.items()]


def scan_page(context: StoreContext, scan: TableScan, start: Item | None) -> Flow[tuple[list[Any], Item | None]]:
    """The entities of one page of a table, and the start of the next page; undecodable items are left out."""
    reply = yield from send_idempotent(context, scan.request(start))
    found = []
    for raw in reply.items or ():
        model = recogniser_of(scan.table).model_of(raw)
        if model not in scan.conditions or not scan.accepts(model, msgspec.json.decode(raw)):
            continue
        try:
            entity = decoder_of(model)(raw, now_seconds(context))
        except StoredItemInvalid as error:
            if context.on_unreadable is not None:
                context.on_unreadable(error)
            continue
        if entity is not None:
            found.append(entity)
    last = reply.last_evaluated_key
    return found, None if last is None else msgspec.json.decode(last)

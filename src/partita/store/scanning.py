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
from partita.plan.items import item_of, values_of
from partita.plan.predicates import evaluate
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.flows import Flow
from partita.store.old_items import now_seconds, without_replaced
from partita.store.readiness import check_scannable, without_unready_counters
from partita.store.retries import send_idempotent


class ScanCondition(msgspec.Struct, frozen=True):
    """A condition on stored attributes.

    `on_current_key`: it compares a key that items may have in another form, under an old key or with a time of other
    code. So DynamoDB cannot evaluate it, and it is evaluated here on the item as it would be stored now.
    """

    stored: Condition
    on_current_key: bool


class TableScan(msgspec.Struct, frozen=True):
    """The scan of one table: the entities that it returns, each with its condition."""

    table: Table
    conditions: dict[Model, ScanCondition | None]
    where: Condition | None = None

    def request(self, start: Item | None = None) -> wire.Scan:
        """One page; an item that no condition can hold for is read and billed, but not sent."""
        found = wire.Scan(table_name=self.table.name, exclusive_start_key=start, consistent_read=True)
        terms = [each.stored for each in self.conditions.values() if each is not None and not each.on_current_key]
        if terms and len(terms) == len(self.conditions):
            expression = Expression()
            found.filter_expression = expression.condition(terms[0] if len(terms) == 1 else AnyOf(tuple(terms)))
            check_length(" | ".join(each.name for each in self.conditions), found.filter_expression)
            found.expression_attribute_names = expression.names
            found.expression_attribute_values = expression.values or None
        return found

    def accepts(self, model: Model, item: Item, entity: Any) -> bool:
        """Whether the item is one of those to return; of several entities, the filter may have been another's."""
        condition = self.conditions[model]
        if condition is None:
            return True
        current = item | item_of(model, values_of(model, entity)) if condition.on_current_key else item
        return evaluate(condition.stored, current)


def scans(design: Design, entities: Sequence[type[Any]], where: Condition | None) -> list[TableScan]:
    """The scans that read the entities; a condition has to hold for each of them."""
    if not entities:
        raise ConfigurationError("scan: no entities; name those to read, such as db.scan(Order)")
    wanted: dict[Table, dict[Model, ScanCondition | None]] = {}
    for entity in entities:
        model = design.holding(entity)
        found = None if where is None else ScanCondition(to_stored(model, where), _is_on_current_key(model, where))
        wanted.setdefault(model.table, {})[model] = found
    return [TableScan(table, conditions, where) for table, conditions in wanted.items()]


def _is_on_current_key(model: Model, where: Condition) -> bool:
    """Whether a condition compares an attribute in a key that other code may have written in another form."""
    named = {field for field in where.fields if model.attributes[field].in_key}
    index_keys = [model.index_key_fields[field] for field in named if field in model.index_key_fields]
    in_table = named - model.index_key_fields.keys()
    keys = [*index_keys, *(each for each in model.key.attributes if in_table.intersection(each.fields))]
    return bool(in_table and model.old_keys) or any(each.template and each.template.has_times for each in keys)


def scan_page(context: StoreContext, scan: TableScan, start: Item | None) -> Flow[tuple[list[Any], Item | None]]:
    """The entities of one page of a table, and the start of the next page; undecodable items are left out."""
    for read in scan.conditions:
        check_scannable(context.design, read, scan.where)
    reply = yield from send_idempotent(context, scan.request(start))
    items: Sequence[msgspec.Raw] = reply.items or ()
    if any(model.old_keys for model in scan.conditions):
        items = yield from without_replaced(context, scan.conditions, items, consistent=True)
    found = []
    for raw in items:
        model = recogniser_of(scan.table).model_of(raw)
        item: Item = msgspec.json.decode(raw)
        if model not in scan.conditions or OWNER in item:
            continue
        try:
            entity = decoder_of(model)(raw, now_seconds(context))
        except StoredItemInvalid as error:
            if context.on_unreadable is not None:
                context.on_unreadable(error)
            continue
        if entity is not None and scan.accepts(model, item, entity):
            context.key_watch.compare(model, item, entity)
            found.append(without_unready_counters(context.design, (model,), entity))
    last = reply.last_evaluated_key
    return found, None if last is None else msgspec.json.decode(last)

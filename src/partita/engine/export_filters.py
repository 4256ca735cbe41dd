"""The filter of an export: which items are in it, and with which attributes."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.transfer_shapes import FilterSpecification
from partita.dynamodb.values import Item
from partita.engine.expressions.key_conditions import key_conditions, key_range
from partita.engine.expressions.projection import project
from partita.engine.expressions.scope import Scope, run_expression
from partita.engine.operations.selection import check_filter
from partita.engine.parameters import parse_condition_parameter, projection_of, scope_of
from partita.engine.schema import StoredTable


class ExportFilter:
    """A FilterSpecification for one table; raises ValidationException where it is invalid."""

    def __init__(self, specification: FilterSpecification | None, table: StoredTable) -> None:
        self._table = table
        self._keep = self._paths = self._range = None
        if specification is None:
            return
        scope = scope_of(specification)
        conditions = specification.key_condition_expression
        if conditions is not None:
            found = run_expression("KeyConditionExpression", lambda: key_conditions(conditions, scope or Scope()))
            self._range = key_range(table.keys, found)
        if specification.filter_expression is not None:
            condition = parse_condition_parameter("FilterExpression", specification.filter_expression, scope)
            if conditions is not None:
                check_filter(table, None, condition, "Filter Expression")
            table.check_scalar_paths(iter(condition.paths))
            self._keep = condition.keep
        self._paths = projection_of(specification, scope)
        if scope:
            scope.check_all_used()
        if self.is_empty:
            raise ValidationException("FilterSpecification must have at least one expression")

    @property
    def is_empty(self) -> bool:
        return self._keep is None and self._paths is None and self._range is None

    def image(self, item: Item | None) -> Item | None:
        """What is exported of an item; None if it is not in the export, or there is none."""
        if item is None or (self._keep is not None and not self._keep(item)):
            return None
        if self._range is not None:
            key = self._table.keys.storage_key(item)
            if key < self._range.low or (self._range.high is not None and key >= self._range.high):
                return None
        return item if self._paths is None else project(item, self._paths)

"""The common part of `Store` and `AsyncStore`: the design, the settings, and the methods that send nothing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from partita.design.conditions import Condition
from partita.design.entities import Entity
from partita.design.reads import Get, Query, VectorSearch
from partita.design.tables import Table
from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, NotFound
from partita.plan.design import Design
from partita.plan.proof.prove import prove
from partita.plan.read_requests import get_plan, key_values
from partita.setting_rules import check_settings
from partita.store.arguments import check_flag, check_function, check_text
from partita.store.context import StoreContext
from partita.store.cursors import checked_keys, position_cursor, position_of
from partita.store.drafts import Draft
from partita.store.entity_flows import EntityFlows
from partita.store.observation import CapacityMeter, Observers
from partita.store.settings import RULES, StoreSettings
from partita.store.table_names import TableNames

if TYPE_CHECKING:
    from typing import Unpack

    from partita.store.design_watch import DesignWatch

E = TypeVar("E")


def proven(design: Design | Table, *more: Table) -> Design:
    """A proven design; tables alone are proven here."""
    if isinstance(design, Design):
        if more:
            raise ConfigurationError(f"pass the design {design.name!r}, or tables; the design has its tables already")
        return design
    if not isinstance(design, Table):
        raise ConfigurationError(f"{design!r} is not a design; pass the result of prove(), or tables")
    return prove(design.name, design, *more)


def not_found(call: Get[Any]) -> NotFound:
    """The error of a get whose item does not exist."""
    plan = get_plan(call)
    return NotFound(plan.model.name, key_values(plan, call.arguments))


class BaseStore:
    """A design with the settings of a store; its subclasses send requests."""

    def __init__(
        self, backend: Any, design: Design | Table, tables: Sequence[Table], **settings: "Unpack[StoreSettings]"
    ) -> None:
        check_settings(RULES, settings)
        self.design = proven(design, *tables)
        self.context = _context(self.design, settings, getattr(backend, "cursor_key", None))
        self._settings = settings
        self._tracing = self.context.observers.tracing
        self._flows = EntityFlows(self.design, self.context)
        self.watch: DesignWatch | None = None  # follows the state of the data; `connect` sets it

    def now(self) -> datetime:
        """The current time, by the store's clock."""
        return self.context.clock()

    def table_name(self, table: Table | str) -> str:
        """The name that a table of the design has on the backend; `table_names` may have set another one."""
        if not isinstance(table, Table | str):
            raise ConfigurationError(f"{table!r} is not a table; pass a Table of the design, or its name")
        declared = self.context.declared_table_name(table if isinstance(table, str) else table.name)
        if all(each.name != declared for each in self.design.tables):
            raise ConfigurationError(f"design {self.design.name!r} has no table {declared!r}")
        return self.context.table_name(declared)

    def sign_cursor(self, name: str, position: str) -> str:
        """A cursor for a list of your own, put together from several queries; signed as those of queries are.

        `name` is the list's, and `position` any text from which the list is read on. It is signed, not encrypted.
        """
        check_text("sign_cursor", "name", name)
        check_text("sign_cursor", "position", position)
        return position_cursor(name, position, self.context.cursor_keys)

    def cursor_position(self, name: str, cursor: str) -> str:
        """The position in a cursor that `sign_cursor` made for the list; InvalidCursor for any other text."""
        check_text("cursor_position", "name", name)
        return position_of(name, cursor, self.context.cursor_keys)

    @contextmanager
    def measure(self) -> Iterator[CapacityMeter]:
        """Counts the capacity that is used inside the block, by any thread or task."""
        meter = CapacityMeter()
        self.context.observers.meters.append(meter)
        try:
            yield meter
        finally:
            self.context.observers.meters.remove(meter)

    def decode_item(self, table: str, item: Item) -> Any:
        """The entity of a stored item, for streams, exports and scans; None for guards and items of no entity.

        `table` is the name in the design or the one on the backend.
        """
        return self._flows.decode_item(table, item)

    def explain(self, call: Get[Any] | Query[Any] | VectorSearch[Any], item_bytes: int = 1024) -> str:
        """The requests of a read, their cost, and why they are right."""
        from partita.describe.explain import explain

        if type(item_bytes) is not int or item_bytes < 1:
            raise ConfigurationError(f"explain: item_bytes is {item_bytes!r}; pass the size of an item in bytes")
        return explain(call, item_bytes, self.context.table_name)

    def explain_scan(self, *entities: type[Any], where: Condition | None = None) -> str:
        """The requests of a scan and their cost."""
        from partita.describe.explain import explain_scan
        from partita.store.scanning import scans

        found = scans(self.design, entities, where)
        each = (([model.name for model in scan.conditions], scan.request()) for scan in found)
        return "\n".join(explain_scan(names, request, self.context.table_name) for names, request in each)

    def explain_create(self, entity: Entity) -> str:
        """The items that creating the entity would write, under which conditions, for how many units."""
        return self._flows.explain_create(entity)

    def explain_change(self, call: Get[E], edit: Callable[[E], None], *, create: bool = False) -> str:
        """The items that a change would write, or what it would read first; `edit` receives the draft."""
        draft: Any = Draft(get_plan(call).model)
        check_flag("create", create)
        check_function("explain_change", "edit", edit)
        edit(draft)
        return self._flows.explain_change(call, draft, create)


def _context(design: Design, settings: StoreSettings, backend_key: bytes | None) -> StoreContext:
    """The context of a store with these settings; one that is None has its default."""
    naming = settings.get("table_names")
    tracer = settings.get("tracer")
    tracing = None
    if tracer is not None:
        from partita.store.tracing import Tracing

        tracing = Tracing(tracer)
    observers = Observers(tuple(settings.get("on_call") or ()), settings.get("slow_call_seconds"), tracing)
    names = None if naming is None else TableNames(design, naming)
    chosen: dict[str, Any] = {name: settings.get(name) for name in ("clock", "random", "retries", "on_unreadable")}
    given = {name: value for name, value in chosen.items() if value is not None}
    keys = settings.get("cursor_keys")
    cursor_keys = checked_keys(keys) if keys is not None else () if backend_key is None else (backend_key,)
    return StoreContext(design, table_names=names, observers=observers, cursor_keys=cursor_keys, **given)

"""Needs: what companies look for."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from partita import AUTO, CreatedAt, Entity, Expires, F, InKey, Item, Items, Keys, Transitions, fan_out, pattern, query
from partita_systems.eecar.categories import Category
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import NEW, Count, Line, Party, Text, Won, whole


class Priority(StrEnum):  # in sort order
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


NeedStatus = Literal["active", "fulfilled", "cancelled"]


class RequiredSpecs(msgspec.Struct, kw_only=True, rename="camel"):
    category: Category | None = None
    min_quantity: Count | None = None
    max_price: Won | None = None
    material_preferences: list[Line] = []

    def __post_init__(self) -> None:
        self.max_price = None if self.max_price is None else whole(self.max_price)


class Need(Entity, table=table, key=("COMPANY#{company_id}", "NEED#{need_id}")):
    company_id: Annotated[Party, InKey()]
    need_id: Annotated[str, InKey()] = NEW
    company_name: Line
    industry: Line
    required_specs: RequiredSpecs
    production_process: Text = ""
    target_application: Line
    priority: Priority = Priority.MEDIUM
    status: Annotated[NeedStatus, Transitions({"active": ("fulfilled", "cancelled")}, start=("active",))] = "active"
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    expires_at: datetime | None = None

    in_order = Keys("GSI1", "NEED#{status}", "PRIORITY#{priority:ranked}#CREATED#{created_at}")
    expiry = Expires("expires_at", when=F.status == "active")


@pattern(query(Need).where(F.status == "active"))
def active_needs_of_company(company_id: str) -> Items[Need]:
    """2. A company's active needs; reads all its needs and filters them."""


@pattern
def need(company_id: str, need_id: str) -> Item[Need]: ...


@pattern(Need.in_order.smallest_first("priority"))
def needs_by_status(status: NeedStatus) -> Items[Need]:
    """Needs with one status, by priority, then oldest first."""


@pattern
def needs_in(statuses: Sequence[NeedStatus]) -> Items[Need]:
    """Needs with any of these statuses, by priority, then oldest first."""
    return Need.in_order.query(fan_out(statuses, limit=3)).smallest_first("priority")

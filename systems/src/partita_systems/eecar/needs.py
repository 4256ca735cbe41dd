"""Needs of companies, until they are fulfilled, cancelled or expired."""

from datetime import datetime

from msgspec.structs import replace

from partita import InvalidValue, Page
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.service_base import ServiceBase


class Needs(ServiceBase):
    def post(self, need: d.Need) -> d.Need:
        """Create a need, until `expires_at` if it is set."""
        self._check_future(need.expires_at)
        required = canonical(need.required_specs, "Need", "requiredSpecs", "category")
        return self.db.create(replace(need, need_id=self.new_id("n"), required_specs=required))

    def set_required_specs(self, company_id: str, need_id: str, required: d.RequiredSpecs) -> d.Need:
        """Change the required specifications."""
        required = canonical(required, "RequiredSpecs", "category")
        return self.assign(d.need(company_id, need_id), required_specs=required)

    def set_expiry(self, company_id: str, need_id: str, expires_at: datetime | None) -> d.Need:
        """Set when an active need expires; None for never."""
        self._check_future(expires_at)
        return self.assign(d.need(company_id, need_id), expires_at=expires_at)

    def fulfil(self, company_id: str, need_id: str) -> d.Need:
        """Mark a need as fulfilled; it no longer expires."""
        return self.assign(d.need(company_id, need_id), status="fulfilled")

    def cancel(self, company_id: str, need_id: str) -> d.Need:
        return self.assign(d.need(company_id, need_id), status="cancelled")

    def in_statuses(self, *statuses: d.NeedStatus, size: int = 20, cursor: str | None = None) -> Page[d.Need]:
        """Needs of all companies, by priority, then oldest first: one Query for each status."""
        return self.db(d.needs_in(statuses)).page(size, cursor)

    def _check_future(self, expires_at: datetime | None) -> None:
        if expires_at is not None and (expires_at.tzinfo is None or expires_at <= self.now()):
            raise InvalidValue("Need", f"{expires_at.isoformat()} is in the past or has no time zone", "expiresAt")


def canonical(required: d.RequiredSpecs, *where: str) -> d.RequiredSpecs:
    """The specifications with their canonical category."""
    if required.category is None:
        return required
    return replace(required, category=category_of(required.category, *where))

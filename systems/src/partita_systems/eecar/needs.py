"""Needs: what companies look for, until it is found, cancelled or out of date."""

from datetime import datetime

from msgspec.structs import replace

from partita import InvalidValue
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.service_base import ServiceBase


class Needs(ServiceBase):
    def post(self, need: d.Need) -> d.Need:
        """A company needs something, until `expires_at` where it says so."""
        self._check_future(need.expires_at)
        required = canonical(need.required_specs, "Need", "requiredSpecs", "category")
        return self.db.create(replace(need, need_id=self.new_id("n"), required_specs=required))

    def require(self, company_id: str, need_id: str, required: d.RequiredSpecs) -> None:
        """Something else is needed."""
        with self.db.change(d.need(company_id, need_id)) as draft:
            draft.required_specs = canonical(required, "RequiredSpecs.category")

    def prolong(self, company_id: str, need_id: str, expires_at: datetime | None) -> None:
        """It is needed until then, or for as long as it is active."""
        self._check_future(expires_at)
        with self.db.change(d.need(company_id, need_id)) as draft:
            draft.expires_at = expires_at

    def fulfil(self, company_id: str, need_id: str) -> None:
        """It was found; the need is kept for good."""
        with self.db.change(d.need(company_id, need_id)) as draft:
            draft.status = "fulfilled"

    def cancel(self, company_id: str, need_id: str) -> None:
        with self.db.change(d.need(company_id, need_id)) as draft:
            draft.status = "cancelled"

    def _check_future(self, expires_at: datetime | None) -> None:
        if expires_at is not None and (expires_at.tzinfo is None or expires_at <= self.now()):
            raise InvalidValue("Need", f"{expires_at.isoformat()} is past, or has no time zone", "expiresAt")


def canonical(required: d.RequiredSpecs, *where: str) -> d.RequiredSpecs:
    """With the one word for its category."""
    if required.category is None:
        return required
    return replace(required, category=category_of(required.category, *where))

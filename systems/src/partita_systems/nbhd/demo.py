"""The demo of nbhd.city: a site that was built after the server had started."""

from urllib.parse import urlsplit

from partita import F, Store
from partita_systems.nbhd import design as d


def prepare(db: Store, address: str) -> None:
    """The demo data has builds that wait for the builder."""


def sight(db: Store, address: str) -> str | None:
    """The page of a site, once it is published."""
    is_shown = (F.status == d.SiteStatus.PUBLISHED) & F.build_id.exists() & F.deleted_at.is_absent()
    site = next(iter(db.scan(d.Site, where=is_shown)), None)
    if site is None:
        return None
    port = urlsplit(address).port
    here = f"{address}/sites/{site.subdomain}/"
    return f"a site that was just built opens at http://{site.subdomain}.localhost:{port}/ and at {here}"

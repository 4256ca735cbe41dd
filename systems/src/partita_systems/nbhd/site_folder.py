"""Sites as files for version control: one file of JSON for each, below the DID of its owner."""

from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from partita import AlreadyExists, InvalidValue, NotFound, PartitaError, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.building.templates import checked_template
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.site_source import SiteSource, source_of, written
from partita_systems.nbhd.validation import checked_config, checked_subdomain, public_url


def write_sites(db: Store, folder: Path) -> int:
    """Write every site that is not deleted, and remove the files of those that are gone; returns the number of sites.

    A site that has not changed gives the same bytes, so that a diff shows what has.
    """
    count = 0
    before = set(folder.glob("*/*.json"))
    for site in db.scan(d.Site):
        if site.shelf == d.Shelf.SITE:
            file = folder / _named(site.did) / f"{_named(site.site_id)}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(written(source_of(site)))
            before.discard(file)
            count += 1
    for file in before:
        file.unlink()
    return count


def read_sites(db: Store, folder: Path) -> tuple[int, list[str]]:
    """Put sites back as their files say; returns how many have changed, and why others could not be put back."""
    changed, problems = 0, []
    for file in sorted(folder.glob("*/*.json")):
        did, site_id = unquote(file.parent.name), unquote(file.stem)
        try:
            changed += _put_back(Nbhd(db), did, site_id, msgspec.json.decode(file.read_bytes(), type=SiteSource))
        except (PartitaError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            problems.append(f"{file.relative_to(folder)}: {error}")
    return changed, problems


def _put_back(nbhd: Nbhd, did: str, site_id: str, source: SiteSource) -> bool:
    """Make a site what its source says; one that is lost is created again, under its own id."""
    try:
        if written(nbhd.source(did, site_id)) == written(source):
            return False
        nbhd.put_source(did, site_id, source)
    except NotFound:
        label = checked_subdomain(source.subdomain)
        lost = d.Site(
            did=did,
            site_id=site_id,
            title=source.title,
            template=checked_template(source.template),
            subdomain=label,
            config=checked_config(source.config),
            public_url=public_url(label),
        )
        try:
            nbhd.db.create(lost)
        except AlreadyExists:
            raise InvalidValue("Site", "changed while it was put back; try again", "site_id") from None
    return True


def _named(text: str) -> str:
    """An id as the name of a file: never `..`, nor hidden."""
    name = quote(text, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name

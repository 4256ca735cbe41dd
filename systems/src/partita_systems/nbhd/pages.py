"""What nbhd.city publishes as files: the pages of sites, archives of exports and logs of builds.

An archive and a log are found by ids with 80 random bits, which their owner alone learns: everybody who has the address
may fetch it, as a browser does, without a token.
"""

from hashlib import sha256

from partita import InvalidValue, NotFound
from partita.rest import HostedFile
from partita_systems.nbhd import design as d
from partita_systems.nbhd.access import SiteAccess, is_public
from partita_systems.nbhd.building.build import content_type
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.site_files import log_key


def page(service: Nbhd, subdomain: str, path: str) -> HostedFile | None:
    """A file of the last good build of a published site."""
    try:
        site = service.find_by_subdomain(subdomain)
    except InvalidValue:
        return None
    if site is None or site.build_id is None or not is_public(SiteAccess(site, service.db(d.user(site.did)))):
        return None
    built = service.files.built(site.site_id, site.build_id) or {}
    data = built.get(path)
    return None if data is None else HostedFile(data, content_type(path), _tag(data))


def download(service: Nbhd, kind: str, path: str) -> HostedFile | None:
    """The archive of an export, or the log of a build."""
    match kind, path.split("/"):
        case "exports", [did, site_id, name] if name.endswith(".zip"):
            return _archive(service, did, site_id, name.removesuffix(".zip"))
        case "logs", [site_id, name] if name.endswith(".txt"):
            return _log(service, site_id, name.removesuffix(".txt"))
    return None


def _archive(service: Nbhd, did: str, site_id: str, export_id: str) -> HostedFile | None:
    try:
        data = service.archive(did, site_id, export_id)
    except (NotFound, InvalidValue):
        return None
    return HostedFile(data, "application/zip", _tag(data), download=f"{site_id}.zip")


def _log(service: Nbhd, site_id: str, job_id: str) -> HostedFile | None:
    if service.find_build(site_id, job_id) is None:
        return None
    data = service.files.objects.get(log_key(site_id, job_id))
    return None if data is None else HostedFile(data, "text/plain; charset=utf-8", _tag(data))


def _tag(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]

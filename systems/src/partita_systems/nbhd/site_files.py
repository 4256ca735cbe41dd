"""The files of a table in the object store: built sites, logs of builds, archives, and the ledger of purges.

Each object belongs to an item and is deleted after it (`consumers`); what is left over is swept (`jobs`). Keys begin
with a name that the table has for itself, its space, so that tables never see each other's files. A table that is
restored keeps its space, and with it the pages of its sites.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from urllib.parse import quote

from partita_systems.nbhd.building.build import unpacked
from partita_systems.objects import ObjectsBelow, ObjectStore

CACHED_BUILDS = 32


class SiteFiles:
    """The files of one table."""

    def __init__(self, objects: ObjectStore, space: str) -> None:
        self.objects = ObjectsBelow(objects, space)

    def built(self, site_id: str, job_id: str) -> Mapping[str, bytes] | None:
        """The files of a build by their path; None if they are gone."""
        try:
            return self._built(build_key(site_id, job_id))
        except KeyError:
            return None

    @cached_property
    def _built(self) -> Callable[[str], Mapping[str, bytes]]:
        return lru_cache(CACHED_BUILDS)(self._read_built)

    def _read_built(self, key: str) -> Mapping[str, bytes]:
        archive = self.objects.get(key)
        if archive is None:
            raise KeyError(key)  # so that it is not cached
        return unpacked(archive)


def build_key(site_id: str, job_id: str) -> str:
    """Ids of other code may have any characters; a key is a path of two names."""
    return f"builds/{_name(site_id, job_id)}.zip"


def log_key(site_id: str, job_id: str) -> str:
    return f"logs/{_name(site_id, job_id)}.txt"


def export_key(site_id: str, export_id: str) -> str:
    return f"exports/{_name(site_id, export_id)}.zip"


def _name(site_id: str, own_id: str) -> str:
    return f"{quote(site_id, safe='')}.{quote(own_id, safe='')}"

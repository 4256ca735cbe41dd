"""The services around nbhd.city, as the environment names them.

| variable | value |
|---|---|
| `NBHD_OBJECTS` | of files: `s3://bucket/prefix`, or a folder; by default `partita/nbhd` among the user's data |
| `NBHD_DOMAIN` | the domain of the sites, `nbhd.city` by default |
"""

import os
from functools import cache

from partita_systems.objects import ObjectStore, open_objects


@cache
def objects() -> ObjectStore:
    """Built sites, logs and archives, of any number of tables."""
    return open_objects("NBHD_OBJECTS", "nbhd")


def domain() -> str:
    """The domain whose subdomains are sites."""
    return os.environ.get("NBHD_DOMAIN", "nbhd.city").lower()

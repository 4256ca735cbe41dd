"""The daily export: the whole table in DynamoDB's own layout, kept for 35 days like its recovery.

| variable | value |
|---|---|
| `NBHD_EXPORTS` | where exports go: `s3://bucket/prefix`; without it there are none |
| `PARTITA_BUCKETS` | for an engine in this process: the folder whose folders take the place of buckets |
"""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from partita import ConfigurationError, Store
from partita.recovery import Place, export_table
from partita_systems.nbhd import design as d
from partita_systems.objects import FolderObjects, ObjectStore, objects_at

SETTING, BUCKETS = "NBHD_EXPORTS", "PARTITA_BUCKETS"
KEPT = timedelta(days=35)  # so that what was purged is gone from every copy 35 days later
_EXPORT = re.compile(r"(?:^|.*/)AWSDynamoDB/(\d+)-[^/]+/")


def export_daily(db: Store) -> int | None:
    """Export the table, and delete exports that are older than 35 days; returns the number of items.

    None where no place for exports is set.
    """
    place = export_place()
    if place is None:
        return None
    items = export_table(db, d.nbhd, place).item_count
    expire_exports(exported_objects(place), db.now())
    return items or 0


def expire_exports(objects: ObjectStore, now: datetime) -> int:
    """Delete the objects of old exports; returns how many. The id of an export begins with its time."""
    old = [each.key for each in objects.list("") if (at := _exported_at(each.key)) is not None and at < now - KEPT]
    for key in old:
        objects.delete(key)
    return len(old)


def export_place() -> Place | None:
    """The bucket and the prefix that the operator has set."""
    address = os.environ.get(SETTING)
    if not address:
        return None
    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    if not address.startswith("s3://") or not bucket:
        raise ConfigurationError(f"{SETTING}={address!r} is not valid; use s3://bucket/prefix")
    return Place(bucket, prefix.strip("/") or None)


def exported_objects(place: Place) -> ObjectStore:
    """The objects at a place: in S3, or in the folder that stands for a bucket."""
    buckets = os.environ.get(BUCKETS)
    if buckets:
        return FolderObjects(Path(buckets) / place.bucket / (place.prefix or ""))
    return objects_at(str(place))


def _exported_at(key: str) -> datetime | None:
    found = _EXPORT.match(key)
    return None if found is None else datetime.fromtimestamp(int(found[1]) / 1000, UTC)

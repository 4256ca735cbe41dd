"""The ledger of purges, beside the data: a restored table may have an account that was purged since.

It has digests of DIDs, not the DIDs, and forgets them when no copy of the data can have the account any more.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec

from partita_systems.objects import ObjectStore

KEPT = timedelta(days=36)  # recovery and daily exports go back 35 days


class PurgeLedger:
    """Purges by the digest of the DID, in an object store."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def record(self, did: str, at: datetime) -> None:
        self._objects.put(_key(did), msgspec.json.encode(at.astimezone(UTC)))

    def purged_at(self, did: str) -> datetime | None:
        """When an account with this DID was purged last; None if it was not, or too long ago."""
        data = self._objects.get(_key(did))
        return None if data is None else msgspec.json.decode(data, type=datetime)

    def forget(self, now: datetime) -> int:
        """Delete entries that no copy of the data needs any more; returns how many."""
        keys = [each.key for each in self._objects.list("purged/")]
        old = [key for key in keys if (at := self._at(key)) is not None and at < now - KEPT]
        for key in old:
            self._objects.delete(key)
        return len(old)

    def _at(self, key: str) -> datetime | None:
        data = self._objects.get(key)
        return None if data is None else msgspec.json.decode(data, type=datetime)


def _key(did: str) -> str:
    return f"purged/{sha256(f'nbhd-purge {did}'.encode()).hexdigest()}.json"

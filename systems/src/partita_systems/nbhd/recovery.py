"""A restore of nbhd.city: what has to follow it, and its rehearsal.

A restored table is older than the purges since its moment, so they are repeated before it is used: no purged account
comes back. The ledger of purges is beside the data, in the object store of the present table.
"""

import time
from datetime import datetime, timedelta

import msgspec

from partita import Store
from partita.recovery import restored_copy
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd

PROMISED = timedelta(hours=24)


class RestoreRehearsal(msgspec.Struct, frozen=True):
    """The result of a rehearsal: how many items and accounts there were, and which purges were repeated."""

    accounts: int
    sites: int
    replayed: list[str]
    duration: timedelta

    @property
    def is_in_time(self) -> bool:
        return self.duration < PROMISED


def replay_purges(present: Store, restored: Store) -> list[str]:
    """Purge the accounts of a restored table that were purged since; returns their DIDs. Repeating it is safe."""
    return Nbhd(restored).replay_purges(Nbhd(present).purge_ledger)


def rehearse_restore(db: Store, at: datetime | None = None) -> RestoreRehearsal:
    """Restore the table into a scratch table, as at a second, repeat the purges, count, and delete it again."""
    begun = time.monotonic()
    with restored_copy(db, at) as restored:
        replayed = replay_purges(db, restored)
        kinds = [type(each) for each in restored.scan(d.User, d.Site)]
        duration = timedelta(seconds=time.monotonic() - begun)
    return RestoreRehearsal(kinds.count(d.User), kinds.count(d.Site), replayed, duration)

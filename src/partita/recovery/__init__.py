"""Backups, restores and rehearsals of a design's tables, through DynamoDB's API: on a file, over HTTP, on Amazon.

back_up(db, "before-release")
restore(db, at=datetime(2026, 1, 31, 12, 0, tzinfo=UTC))
rehearse(db)
"""

from partita.recovery.rehearsal import Rehearsal, rehearse, restored_copy
from partita.recovery.restoring import RestoredTable, back_up, restore

__all__ = ["Rehearsal", "RestoredTable", "back_up", "rehearse", "restore", "restored_copy"]

"""Backups, restores, exports and imports of a design's tables, through DynamoDB's API: on a file, over HTTP, on Amazon.

back_up(db, "before-release")
restore(db, at=datetime(2026, 1, 31, 12, 0, tzinfo=UTC))
rehearse(db)
"""

from partita.recovery.data_files import Place, export_table, import_table, put_in_bulk
from partita.recovery.moving import LateWrite, Move, MovedTable, move
from partita.recovery.rehearsal import Rehearsal, rehearse, restored_copy
from partita.recovery.restoring import RestoredTable, back_up, restore

__all__ = [
    "LateWrite",
    "Move",
    "MovedTable",
    "Place",
    "Rehearsal",
    "RestoredTable",
    "back_up",
    "export_table",
    "import_table",
    "move",
    "put_in_bulk",
    "rehearse",
    "restore",
    "restored_copy",
]

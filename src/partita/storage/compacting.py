"""Rewrites a database file, so that nothing of what was deleted is left in it or in its log.

A deleted row leaves its bytes: in the free part of a page, in free pages, in older copies of pages in the log. SQLite
uses all of that again, some day. VACUUM builds the file anew from the rows that exist; then the log, which has old and
new pages, is copied into the file and cut to nothing.

    file   | rows | free part with old bytes | free page |     ->    | rows | rows |
    log    | page of an hour ago | page now |                        (empty)
"""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from partita.errors import StorageBusy, StorageError
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import BUSY_SECONDS


class Sizes(NamedTuple):
    """The bytes of a file with its log, before and after."""

    before: int
    after: int


def compact_file(path: str) -> Sizes:
    """Rewrites a file, which may be in use: its writers wait, at most for half a minute.

    Raises StorageError where another program kept reading an old state from the log, which still has it then.
    """
    before = _size(path)
    storage = SqliteStorage(path)  # checks that it is a file of Partita, and the log its own
    try:
        with storage.transaction():
            pass  # the log begins with a stamp (`stale_log`)
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            connection.execute("PRAGMA synchronous = FULL; PRAGMA temp_store = FILE")  # as large as the file
            _rewrite(connection, path)
            _empty_log(connection, path)
    finally:
        storage.close()
    return Sizes(before, _size(path))


def _rewrite(connection: apsw.Connection, path: str) -> None:
    try:
        connection.execute("VACUUM")
    except apsw.BusyError:
        raise StorageBusy(path, BUSY_SECONDS) from None
    except apsw.Error as error:
        raise StorageError(f"{path}: {error}; the file is as it was") from error


def _empty_log(connection: apsw.Connection, path: str) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        raise StorageError(
            f"{path}: was rewritten, but another program reads its log, which still has old content; "
            "repeat this while no other program uses the file"
        ) from None
    except apsw.Error as error:
        raise StorageError(f"{path}: {error}") from error


def _size(path: str) -> int:
    """The bytes of a file and its log."""
    return sum(each.stat().st_size for each in (Path(path), Path(f"{path}-wal")) if each.exists())

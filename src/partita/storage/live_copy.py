"""A copy of a database file that is in use: SQLite's online backup, in one state, without stopping writers."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from partita.errors import ConfigurationError, StorageError

_PAGES = 2000  # of a step, 16 MB


def copy_file(
    source: str,
    target: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
    check: Callable[[str], None] = lambda copy: None,
) -> None:
    """Copies a file, as it is at one moment, to a path where there is none; `progress` gets pages done and in total.

    The copy has its name once it is complete and on the disk, and `check` of its path has not raised. The log of the
    source grows while it is copied.
    """
    if Path(target).exists():
        raise ConfigurationError(f"{target}: exists already; name a new file")
    partial = f"{target}.partial"
    _remove(partial)
    try:
        _copy(source, partial, progress)
        check(partial)
        _sync_and_rename(partial, target)
    except apsw.CantOpenError:
        raise ConfigurationError(f"{target}: cannot be written; check that its folder exists") from None
    except apsw.FullError:
        raise StorageError(f"{target}: there is no space left for the copy") from None
    except apsw.Error as error:
        raise StorageError(f"{source}: {error}") from error
    finally:
        _remove(partial)


def _copy(source: str, partial: str, progress: Callable[[int, int], None]) -> None:
    with (
        closing(apsw.Connection(source, flags=apsw.SQLITE_OPEN_READWRITE)) as reader,
        closing(apsw.Connection(partial)) as writer,
    ):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # the state that is copied
        with writer.backup("main", reader, "main") as backup:
            while not backup.done:
                backup.step(_PAGES)
                progress(backup.page_count - backup.remaining, backup.page_count)
        reader.execute("ROLLBACK")


def _remove(partial: str) -> None:
    """Removes an unfinished copy, with what SQLite leaves beside a file that was read."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(partial + suffix).unlink(missing_ok=True)


def _sync_and_rename(partial: str, target: str) -> None:
    with open(partial, "rb") as file:  # noqa: PTH123 - for its descriptor
        os.fsync(file.fileno())
    Path(partial).rename(target)
    folder = os.open(Path(target).absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

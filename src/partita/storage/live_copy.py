"""A copy of a database file that is in use: SQLite's online backup, in one state, without stopping writers."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from partita.errors import ConfigurationError, StorageError

_PAGES = 2000  # of a step, 16 MB


def copy_file(source: str, target: str, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Copies a file, as it is at one moment, to a path where there is none; `progress` gets pages done and in total.

    The copy has its name once it is complete and on the disk. The log of the source grows while it is copied.
    """
    if Path(target).exists():
        raise ConfigurationError(f"{target}: exists already; name a new file")
    partial = f"{target}.partial"
    Path(partial).unlink(missing_ok=True)
    try:
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
    except apsw.CantOpenError:
        raise ConfigurationError(f"{target}: cannot be written; check that its folder exists") from None
    except apsw.Error as error:
        Path(partial).unlink(missing_ok=True)
        raise StorageError(f"{source}: {error}") from error
    _replace(partial, target)


def _replace(partial: str, target: str) -> None:
    with open(partial, "rb") as file:  # noqa: PTH123 - for its descriptor
        os.fsync(file.fileno())
    Path(partial).rename(target)
    folder = os.open(Path(target).absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

"""The format of a database file: recognizes Partita's files, creates empty ones, upgrades older ones.

    spaces  (name, n, w)   the number of rows of each space, and the sum of their weights
    large   (id, v)        values that would overflow a page
    s1 ...  (k, w, v, c)   the rows of a space: key, weight, value or its number in `large`, checksum
    log2    (k, w, v, c)   the same, of a space whose keys are numbers: SQLite appends to such a table faster

Format 1 had no checksums, format 2 no numbers as keys. The version number of SQLite's header is the format and a stamp
(`stale_log`).
"""

from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import apsw

from partita.errors import ConfigurationError, OlderFileInUse
from partita.storage.contract import is_log
from partita.storage.sqlite_connection import BUSY_SECONDS, SqliteConnection, define_checksum
from partita.storage.stale_log import FORMAT_BITS, is_missing, is_stale, next_version

APPLICATION_ID = 0x50415254  # "PART"
FORMAT = 3
_OLDEST = 1
_ATTEMPT_MILLISECONDS = 100  # to be alone with a file, which keeps others from opening it


def create_space(space: str) -> str:
    """The statement that creates the table of a space."""
    key, clustering = ("INTEGER", "") if is_log(space) else ("BLOB", " WITHOUT ROWID")
    columns = f"k {key} PRIMARY KEY, w INTEGER NOT NULL, v NOT NULL, c INTEGER NOT NULL DEFAULT 0"
    return f'CREATE TABLE "{space}" ({columns}){clustering}'


def check_existing_file(path: str) -> None:
    """Checks a file before anything is written: setting the journal mode already changes it. Upgrades an older one."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return
    check_log(path)
    until = monotonic() + BUSY_SECONDS
    while (version := _format_of_file(path)) is not None and version < FORMAT:
        if monotonic() >= until:
            raise OlderFileInUse(path, BUSY_SECONDS)
        with suppress(apsw.BusyError):  # programs that start together all try, and the first one does it
            _upgrade(path)


def _format_of_file(path: str) -> int | None:
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        return format_of(connection, path)


def check_log(path: str) -> None:
    """Raises where the log beside a file is that of another file, before SQLite applies it, or was deleted."""
    if is_missing(path):
        raise ConfigurationError(
            f"{path}: its log {path}-wal was deleted, with commits that are not in the file; put the log back, or, to "
            f"go on without these commits, delete {path}-shm"
        )
    if is_stale(path):
        raise ConfigurationError(
            f"{path}: its log {path}-wal belongs to another file, or to another state of this one; put back the file "
            f"that the log belongs to, or, if {path} is complete without it, move {path}-wal and {path}-shm away"
        )


def stamp(connection: apsw.Connection) -> None:
    """Marks the log that the open transaction is the first of (`stale_log`)."""
    version: Any = connection.pragma("user_version")
    connection.pragma("user_version", next_version(version, FORMAT))


def format_of(connection: apsw.Connection, path: str) -> int | None:
    """The format of a Partita database; None for an empty file, an error for any other file."""
    row: Any = connection.execute(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id a, pragma_user_version v"
    ).fetchall()[0]
    application, stamped, entries = row
    version = stamped & FORMAT_BITS
    if application == APPLICATION_ID and _OLDEST <= version <= FORMAT:
        return int(version)
    if application == APPLICATION_ID:
        raise ConfigurationError(f"{path}: has format {version}, of another version of Partita; this one has {FORMAT}")
    if entries:
        raise ConfigurationError(f"{path}: an SQLite file of another program; name another file")
    return None


def initialize(connection: SqliteConnection) -> None:
    """Creates the tables of an empty file, also when several processes open it at once."""
    connection.apsw.execute("BEGIN IMMEDIATE")
    with connection.apsw:
        if format_of(connection.apsw, connection.path) is None:
            connection.apsw.execute("CREATE TABLE spaces (name TEXT PRIMARY KEY, n INTEGER, w INTEGER) WITHOUT ROWID")
            connection.apsw.execute("CREATE TABLE large (id INTEGER PRIMARY KEY, v BLOB NOT NULL)")
            connection.apsw.pragma("application_id", APPLICATION_ID)
            stamp(connection.apsw)
    connection.apsw.execute("COMMIT")


def _upgrade(path: str) -> None:
    """Gives a file today's format, in one transaction; no other process may have it open, of an older version."""
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(_ATTEMPT_MILLISECONDS)
        define_checksum(connection)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            if format_of(connection, path) == _OLDEST:
                _add_checksums(connection)
            version: Any = connection.pragma("user_version")
            connection.pragma("user_version", version & ~FORMAT_BITS | FORMAT)
        connection.execute("COMMIT")


def _add_checksums(connection: apsw.Connection) -> None:
    for (space,) in connection.execute("SELECT name FROM spaces").fetchall():
        connection.execute(f'ALTER TABLE "{space}" ADD COLUMN c INTEGER NOT NULL DEFAULT 0')
        connection.execute(
            f'UPDATE "{space}" AS s SET c = row_checksum(k, w, '
            "CASE typeof(v) WHEN 'integer' THEN (SELECT l.v FROM large l WHERE l.id = s.v) ELSE v END)"
        )


def open_read_only(path: str) -> SqliteConnection:
    """Opens a file to read it without any change, also where neither it nor its folder can be written."""
    check_log(path)
    connection = _read_only_connection(path)
    version = format_of(connection, path)
    if version is None:
        raise ConfigurationError(f"{path}: the file is empty")
    return SqliteConnection.read_only(connection, path, has_checksums=version > _OLDEST)


def _read_only_connection(path: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    address = Path(path).absolute().as_uri()
    connection = apsw.Connection(f"{address}?mode=ro", flags=flags)
    connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):  # no -shm file can be created beside it
        connection.close()
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise ConfigurationError(
                f"{path}: its log {path}-wal has changes that cannot be read in a folder that cannot be written; "
                "copy both files to another folder"
            ) from None
        connection = apsw.Connection(f"{address}?mode=ro&immutable=1", flags=flags)
    return connection

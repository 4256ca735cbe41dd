"""Text indexes in SQLite's FTS5: a file beside the database, or memory.

    builds       each build of the index: searches use the last finished one, writes go to the newest
    marks        how far each source of changes is applied, in the transaction of its documents
    documents_N  item, sequence number and key of each document of build N; a deleted item stays for a while
    text_N       FTS5 without contents: a column for each weight, one for forms of words, one for filters

The tokens are ours (`words`), joined by spaces. FTS5's `ascii` tokenizer splits exactly there, since a token has only
letters and digits among its ASCII characters. So a document contains the tokens that a query is compared with, whatever
Unicode version SQLite knows.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw
import msgspec

from partita.errors import StorageBusy, StorageError
from partita.search.fts5_queries import Fts5Build, builds_of, column_names, search_in, visible_build
from partita.search.text_columns import TextColumns, Weights
from partita.search.text_target import (
    KEEP_DELETED,
    PURGE_SECONDS,
    DocumentChange,
    SourceMark,
    TextBuild,
    TextDocument,
    TextHits,
    TextSearch,
    TextStatus,
)
from partita.search.words import Analyzer

BUSY_SECONDS = 30
SEPARATOR = " \u241e "  # between the texts of a column, so that no phrase reaches into the next one; never a token

_SCHEMA = """
CREATE TABLE IF NOT EXISTS builds (
    number INTEGER PRIMARY KEY, scans TEXT NOT NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS marks (source TEXT PRIMARY KEY, before TEXT NOT NULL, after TEXT NOT NULL) WITHOUT ROWID;
"""


class SqliteText:
    """An FTS5 index in one file, or in memory where the path is ":memory:"."""

    def __init__(self, path: str, weights: Weights, analyzer: Analyzer) -> None:
        self.path = path
        self._columns = TextColumns(weights, analyzer)
        self._writing = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._purged_at = 0.0
        with self._errors():
            self._writer = self._connect()
            self._writer.execute(_SCHEMA)

    def accepts(self, build: TextBuild, positions: Mapping[str, str]) -> bool:
        with self._writing, self._errors():
            newest = self._newest()
            if newest is None or (newest.scans, newest.fingerprint) != (build.scans, build.fingerprint):
                return False
            marks = {source: (before, after) for source, before, after in self._writer.execute("SELECT * FROM marks")}
            return all(position in marks.get(source, ("",)) for source, position in positions.items())

    def begin(self, build: TextBuild) -> None:
        with self._transaction():
            found = [each.number for each in self._builds()]
            number = max(found, default=0) + 1
            self._drop([each for each in self._builds() if not each.is_done])
            self._writer.execute("DELETE FROM marks")
            columns = column_names(len(self._columns.weights))
            self._writer.execute(
                f"CREATE TABLE documents_{number} (id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, "
                "sequence TEXT NOT NULL, entity TEXT, tbl TEXT, key TEXT, deleted_at REAL)"
            )
            self._writer.execute(
                f"CREATE VIRTUAL TABLE text_{number} USING "
                f"fts5({columns}, content='', contentless_delete=1, tokenize='ascii')"
            )
            self._writer.execute(
                "INSERT INTO builds VALUES (?, ?, ?, ?, 0)",
                (number, build.scans, build.fingerprint, msgspec.json.encode(self._columns.weights).decode()),
            )

    def finish(self) -> None:
        with self._transaction():
            newest = self._newest()
            if newest is not None and not newest.is_done:
                self._drop([each for each in self._builds() if each.number != newest.number])
                self._writer.execute("UPDATE builds SET is_done = 1 WHERE number = ?", (newest.number,))

    def apply(self, changes: Iterable[DocumentChange], mark: SourceMark | None) -> None:
        rows = {each.item: (each.sequence, self._row(each.document)) for each in changes}
        with self._transaction():
            newest = self._newest()
            if newest is None:
                raise StorageError(f"{self.path}: the text index has no build; it was replaced while it was written")
            self._write(newest.number, rows)
            if mark is not None:
                self._writer.execute(
                    "INSERT INTO marks VALUES (?, ?, ?) ON CONFLICT (source) DO UPDATE SET before = excluded.before, "
                    "after = excluded.after WHERE excluded.after > after",
                    (mark.source, mark.before, mark.after),
                )
            self._purge(newest.number)

    def search(self, search: TextSearch) -> TextHits:
        with self._errors(), self._reader() as connection:
            build = visible_build(connection)
            if build is None or not search.query.terms:
                return TextHits([], 0)
            return search_in(connection, build, search)

    def status(self) -> TextStatus:
        with self._errors(), self._reader() as connection:
            newest = next(builds_of(connection), None)
            ((pages,),) = connection.execute(
                "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            )
            count = 0
            if newest is not None:
                query = f"SELECT count(*) FROM documents_{newest.number} WHERE deleted_at IS NULL"
                ((count,),) = connection.execute(query)
            return TextStatus(self.path, count, pages, newest is None or not newest.is_done)

    def close(self) -> None:
        with self._writing:
            for each in (self._writer, *self._idle):
                each.close()
            self._idle = []

    def _row(self, document: TextDocument | None) -> tuple[str, ...] | None:
        """Entity, table and key of a document, and its columns."""
        if document is None:
            return None
        row = self._columns.row(document)
        words = map(SEPARATOR.join, row.columns)
        return document.entity, document.table, document.key, *words, " ".join(row.forms), " ".join(row.filters)

    def _write(self, number: int, rows: dict[str, tuple[str, tuple[str, ...] | None]]) -> None:
        """Writes the changes that are newer than what is known of their items."""
        known = self._known(number, list(rows))
        ((identity,),) = self._writer.execute(f"SELECT ifnull(max(id), 0) FROM documents_{number}")
        documents: list[tuple[object, ...]] = []
        texts: list[tuple[object, ...]] = []
        removed: list[tuple[int]] = []
        now = time.time()
        for item, (sequence, row) in rows.items():
            found = known.get(item)
            if found is not None and found[1] >= sequence:
                continue
            if found is None:
                identity += 1
            at = identity if found is None else found[0]
            if row is not None:
                documents.append((at, item, sequence, *row[:3], None))
                texts.append((at, *row[3:]))
                continue
            documents.append((at, item, sequence, None, None, None, now))
            if found is not None and not found[2]:
                removed.append((at,))
        self._writer.executemany(f"INSERT OR REPLACE INTO documents_{number} VALUES (?, ?, ?, ?, ?, ?, ?)", documents)
        self._writer.executemany(f"DELETE FROM text_{number} WHERE rowid = ?", removed)
        columns = len(self._columns.weights)
        names, places = column_names(columns), ", ".join("?" * (columns + 3))
        self._writer.executemany(f"INSERT OR REPLACE INTO text_{number} (rowid, {names}) VALUES ({places})", texts)

    def _known(self, number: int, items: list[str]) -> dict[str, tuple[int, str, bool]]:
        """The id and the sequence number of items that are known, and whether they are deleted."""
        query = (
            f"SELECT item, id, sequence, deleted_at IS NOT NULL FROM documents_{number} "
            "WHERE item IN (SELECT value FROM json_each(?))"
        )
        found: Iterable[Any] = self._writer.execute(query, (msgspec.json.encode(items).decode(),))
        return {item: (identity, sequence, bool(is_deleted)) for item, identity, sequence, is_deleted in found}

    def _purge(self, number: int) -> None:
        """Forgets items that were deleted long ago, now and then: no change of theirs can come again."""
        now = time.time()
        if now - self._purged_at > PURGE_SECONDS:
            self._purged_at = now
            self._writer.execute(f"DELETE FROM documents_{number} WHERE deleted_at < ?", (now - KEEP_DELETED,))

    def _builds(self) -> list[Fts5Build]:
        return list(builds_of(self._writer))

    def _newest(self) -> Fts5Build | None:
        return next(builds_of(self._writer), None)

    def _drop(self, builds: Sequence[Fts5Build]) -> None:
        for each in builds:
            self._writer.execute(f"DROP TABLE text_{each.number}")
            self._writer.execute(f"DROP TABLE documents_{each.number}")
            self._writer.execute("DELETE FROM builds WHERE number = ?", (each.number,))

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self.path)
        connection.set_busy_timeout(BUSY_SECONDS * 1000)
        if self.path != ":memory:":
            connection.execute(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216"
            )
        connection.execute("PRAGMA cache_size = -32768")
        return connection

    @contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        """A connection for one search; in memory, the only one."""
        if self.path == ":memory:":
            with self._writing:
                yield self._writer
            return
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            with connection:  # one state of the index for all statements
                yield connection
        finally:
            self._idle.append(connection)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._writing, self._errors():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(apsw.Error):
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.BusyError:
            raise StorageBusy(self.path, BUSY_SECONDS) from None
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise StorageError(f"{self.path}: {error}; delete the file, and the index is built again") from error
        except apsw.Error as error:
            raise StorageError(f"{self.path}: {error}") from error

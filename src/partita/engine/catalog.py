"""The catalogue of tables: records in storage, and `StoredTable`s cached in the process.

Several processes may share a file, so the cache can be outdated. That is safe for reads, because the name of a space is
never used twice and the format of its rows never changes: a read through an old record either reads the right rows or
raises `SpaceMissing`. Then the catalogue is loaded again and the read repeated (`Engine.call`). A write transaction
first compares the catalogue's version, which no other process can change while the transaction is open.

An engine has two catalogues: that of readers has the committed tables, that of the writer also the changes of its open
transaction. After each commit the first is synchronized to the second.
"""

import os
import threading
import time
import uuid

import msgspec

from partita.dynamodb.exceptions import ResourceNotFoundException, ValidationException
from partita.engine.key_encoding import prefix_end
from partita.engine.schema import StoredTable, TableRecord
from partita.errors import SpaceMissing
from partita.storage.contract import Reader, Row, Storage, StorageTransaction, Write

SPACE = "catalogue"
TOKENS = "tokens"
_STATE = b"\0state"  # sorts before, and is never equal to, a table's name
_CURSOR_KEY = b"\0cursor-key"  # signs the cursors of stores on this database
_DELETED = b"\0departed/"  # deleted tables whose streams can still be read, by the table's id

_encode = msgspec.json.encode
_decode_record = msgspec.json.Decoder(TableRecord).decode


class _State(msgspec.Struct, frozen=True):
    version: int = 0
    spaces: int = 0


_decode_state = msgspec.json.Decoder(_State).decode


class Catalog:
    """The tables of one storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self.version = -1
        self.tables: dict[str, StoredTable] = {}
        self.deleted: dict[str, StoredTable] = {}
        self.restoring: dict[str, StoredTable] = {}
        with storage.transaction() as txn:
            if not has_catalogue(txn):
                txn.create_space(SPACE)
                txn.create_space(TOKENS)
                txn.apply([Write(SPACE, _STATE, None, Row(0, _encode(_State())))])
            self.cursor_key = _cursor_key(txn)
            self.refresh(txn)

    def refresh(self, reader: Reader | None = None) -> None:
        """Loads the tables again if the catalogue has changed."""
        if reader is None:
            with self._storage.snapshot() as snapshot:
                self.refresh(snapshot)
            return
        with self._lock:
            version = _state(reader).version
            if version == self.version:
                return
            tables: dict[str, StoredTable] = {}
            restoring: dict[str, StoredTable] = {}
            for key, _, value in reader.range(SPACE, b"\1", None):
                name = key.decode()
                record = _decode_record(value)
                known = self.tables.get(name)
                found = known if known is not None and known.record == record else StoredTable(record)
                (restoring if found.is_restoring else tables)[name] = found
            self.deleted = {
                key.decode(): StoredTable(_decode_record(value))
                for key, _, value in reader.range(SPACE, _DELETED, prefix_end(_DELETED))
            }
            self.tables, self.restoring, self.version = tables, restoring, version

    @property
    def all_tables(self) -> dict[str, StoredTable]:
        """The tables, and those that a restore is filling, which cannot be read or written yet."""
        return self.tables | self.restoring if self.restoring else self.tables

    def table(self, name: str) -> StoredTable:
        """The table by name or ARN, for a read; refreshes before it reports an unknown one."""
        try:
            return self.tables[name]
        except KeyError:
            pass
        try:
            return self.table_in_txn(name)
        except ResourceNotFoundException:
            self.refresh()
        return self.table_in_txn(name)

    def table_in_txn(self, name: str) -> StoredTable:
        """The table by name or ARN, for a write, whose transaction has refreshed the catalogue."""
        try:
            return self.tables[name_of(name)]
        except KeyError:
            raise ResourceNotFoundException("Requested resource not found") from None

    def sync_to(self, writing: "Catalog") -> None:
        """Takes over the tables that a writer has committed, without reading them again."""
        if writing.version > self.version:
            with self._lock:
                self.tables, self.restoring, self.deleted = writing.tables, writing.restoring, writing.deleted
                self.version = writing.version

    def invalidate(self) -> None:
        """Makes the next refresh load everything: the cache may have the changes of a failed transaction."""
        self.version = -1

    def save(self, txn: StorageTransaction, record: TableRecord | None, before: TableRecord | None) -> None:
        """Writes a table's record (None: deletes it) and creates and drops the spaces that differ."""
        wanted = spaces_of(record) if record else set()
        existing = spaces_of(before) if before else set()
        self._write(txn, (record or before).name.encode(), record, wanted, existing)  # type: ignore[union-attr]

    def delete(self, txn: StorageTransaction, record: TableRecord, *, keeps_items: bool) -> None:
        """Deletes a table; its change log stays for the readers of its streams, and its items for a backup."""
        wanted = {record.space} if keeps_items else set()
        if record.streams:
            log = {record.changes}
            self._write(txn, _deleted_key(record), record, log, log)
            wanted |= log
        self._write(txn, record.name.encode(), None, wanted, spaces_of(record))

    def save_deleted(self, txn: StorageTransaction, record: TableRecord) -> None:
        """Writes the record of a deleted table."""
        self._write(txn, _deleted_key(record), record, {record.changes}, {record.changes})

    def drop_log(self, txn: StorageTransaction, record: TableRecord) -> None:
        """Drops the change log of a deleted table."""
        self._write(txn, _deleted_key(record), None, set(), {record.changes})

    def _write(
        self, txn: StorageTransaction, key: bytes, record: TableRecord | None, wanted: set[str], existing: set[str]
    ) -> None:
        for space in sorted(existing - wanted):
            txn.drop_space(space)
        for space in sorted(wanted - existing):
            txn.create_space(space)
        old = txn.get(SPACE, key)
        new = Row(0, _encode(record)) if record else None
        state = _state(txn)
        txn.apply(
            [
                Write(SPACE, key, old, new),
                Write(
                    SPACE,
                    _STATE,
                    Row(0, b""),
                    Row(0, _encode(_State(state.version + 1, state.spaces))),
                ),
            ]
        )
        self.refresh(txn)

    def new_spaces(self, txn: StorageTransaction, count: int, kind: str = "s") -> list[str]:
        """Reserves names of spaces that have never been used; of the kind `log` for keys that are numbers."""
        state = _state(txn)
        after = Row(0, _encode(_State(state.version, state.spaces + count)))
        txn.apply([Write(SPACE, _STATE, Row(0, b""), after)])
        return [f"{kind}{number}" for number in range(state.spaces + 1, state.spaces + count + 1)]


def stored_tables(reader: Reader) -> list[StoredTable]:
    """The tables of one state of a storage that has a catalogue."""
    return [StoredTable(_decode_record(value)) for _, _, value in reader.range(SPACE, b"\1", None)]


def spaces_of(record: TableRecord) -> set[str]:
    spaces = {record.space, record.changes, *(index.space for index in record.indexes)}
    spaces |= {space for index in record.vector_indexes for space in (index.space, index.log)}
    spaces |= {each.saved for each in record.snapshots}
    if record.recovery is not None:
        spaces |= {record.recovery.history, *filter(None, [record.recovery.by_item])}
    return spaces | {record.ttl_space} if record.ttl_space else spaces


def _deleted_key(record: TableRecord) -> bytes:
    return _DELETED + record.id.encode()


def has_catalogue(reader: Reader) -> bool:
    """Whether an engine has used the storage."""
    try:
        return reader.get(SPACE, _STATE) is not None
    except SpaceMissing:
        return False


def _cursor_key(txn: StorageTransaction) -> bytes:
    """The key of the database, which is created when it is opened for the first time."""
    found = txn.get(SPACE, _CURSOR_KEY)
    if found is None:
        found = Row(0, os.urandom(32))
        txn.apply([Write(SPACE, _CURSOR_KEY, None, found)])
    return found.value


def _state(reader: Reader) -> _State:
    row = reader.get(SPACE, _STATE)
    return _decode_state(row.value) if row else _State()


def name_of(name_or_arn: str) -> str:
    """The name of a table that a request names, or its ARN does."""
    return table_of_arn(name_or_arn) if name_or_arn.startswith("arn:") else name_or_arn


def table_of_arn(arn: str) -> str:
    """`arn:aws:dynamodb:eu-west-1:123456789012:table/notes` names the table `notes`."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("table/"):
        raise ValidationException(f"Invalid table ARN: {arn}")
    return parts[5].split("/")[1]


def new_table_id() -> str:
    return str(uuid.uuid4())


def now() -> float:
    """Seconds since 1970; the default clock of an engine."""
    return time.time()

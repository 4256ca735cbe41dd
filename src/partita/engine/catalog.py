"""Which tables there are: records in storage, and ready-made `Table`s cached in the process.

Several processes may share a file, so the cache can be old. That is safe for reads because a space's name is never
used twice and what a space holds never changes its form: a read through an old record either reads the right rows or
meets `SpaceMissing`, and then the catalogue is loaded anew and the read tried again (`Engine.call`). A write
transaction compares the catalogue's version first, which no other process can move while it lasts.

An engine has two of them: the readers', which knows what is committed, and the writer's, which also knows what its
transaction has done so far. The first follows the second after each commit.
"""

import threading
import time
import uuid

import msgspec

from partita.dynamodb.exceptions import ResourceNotFoundException, ValidationException
from partita.engine.key_encoding import after_prefix
from partita.engine.schema import StoredTable, TableRecord
from partita.errors import SpaceMissing
from partita.storage.contract import Reader, Row, Storage, StorageTransaction, Write

SPACE = "catalogue"
TOKENS = "tokens"
_STATE = b"\0state"  # sorts before, and is never equal to, a table's name
_DEPARTED = b"\0departed/"  # deleted tables whose streams can still be read, by the table's id

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
        self.departed: dict[str, StoredTable] = {}
        with storage.transaction() as txn:
            if not _exists(txn):
                txn.create_space(SPACE)
                txn.create_space(TOKENS)
                txn.apply([Write(SPACE, _STATE, None, Row(0, _encode(_State())))])
            self.refresh(txn)

    def refresh(self, reader: Reader | None = None) -> None:
        """Loads what changed since it was last looked at."""
        if reader is None:
            with self._storage.snapshot() as snapshot:
                self.refresh(snapshot)
            return
        with self._lock:
            version = _state(reader).version
            if version == self.version:
                return
            tables: dict[str, StoredTable] = {}
            for key, _, value in reader.range(SPACE, b"\1", None):
                name = key.decode()
                record = _decode_record(value)
                known = self.tables.get(name)
                tables[name] = known if known is not None and known.record == record else StoredTable(record)
            self.departed = {
                key.decode(): StoredTable(_decode_record(value))
                for key, _, value in reader.range(SPACE, _DEPARTED, after_prefix(_DEPARTED))
            }
            self.tables, self.version = tables, version

    def table(self, name: str) -> StoredTable:
        """The table by name or ARN, for a read: one that is not known is looked for again in storage."""
        try:
            return self.tables[name]
        except KeyError:
            pass
        try:
            return self.known(name)
        except ResourceNotFoundException:
            self.refresh()
        return self.known(name)

    def known(self, name: str) -> StoredTable:
        """The table by name or ARN, for a write, whose transaction has just brought the catalogue up to date."""
        try:
            return self.tables[table_of_arn(name) if name.startswith("arn:") else name]
        except KeyError:
            raise ResourceNotFoundException("Requested resource not found") from None

    def follow(self, writing: "Catalog") -> None:
        """Takes over what a writer has committed, without reading it again."""
        if writing.version > self.version:
            with self._lock:
                self.tables, self.departed, self.version = writing.tables, writing.departed, writing.version

    def forget(self) -> None:
        """Makes the next look load everything: what was cached may come from a transaction that failed."""
        self.version = -1

    def save(self, txn: StorageTransaction, record: TableRecord | None, before: TableRecord | None) -> None:
        """Writes a table's record (None: deletes it) and creates and drops the spaces that differ."""
        wanted = spaces_of(record) if record else set()
        existing = spaces_of(before) if before else set()
        self._write(txn, (record or before).name.encode(), record, wanted, existing)  # type: ignore[union-attr]

    def depart(self, txn: StorageTransaction, record: TableRecord) -> None:
        """Deletes a table, but keeps its change log for the readers of its streams."""
        log = {record.changes}
        self._write(txn, _departed_key(record), record, log, log)
        self._write(txn, record.name.encode(), None, log, spaces_of(record))

    def bury(self, txn: StorageTransaction, record: TableRecord) -> None:
        """Drops the change log of a deleted table."""
        self._write(txn, _departed_key(record), None, set(), {record.changes})

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

    def new_spaces(self, txn: StorageTransaction, count: int) -> list[str]:
        """Names that no space has, had, or will have."""
        state = _state(txn)
        after = Row(0, _encode(_State(state.version, state.spaces + count)))
        txn.apply([Write(SPACE, _STATE, Row(0, b""), after)])
        return [f"s{number}" for number in range(state.spaces + 1, state.spaces + count + 1)]


def spaces_of(record: TableRecord) -> set[str]:
    spaces = {record.space, record.changes, *(index.space for index in record.indexes)}
    return spaces | {record.ttl_space} if record.ttl_space else spaces


def _departed_key(record: TableRecord) -> bytes:
    return _DEPARTED + record.id.encode()


def _exists(reader: Reader) -> bool:
    try:
        return reader.get(SPACE, _STATE) is not None
    except SpaceMissing:
        return False


def _state(reader: Reader) -> _State:
    row = reader.get(SPACE, _STATE)
    return _decode_state(row.value) if row else _State()


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

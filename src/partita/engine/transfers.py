"""Records of exports, imports and bulk puts in the catalogue: listed, described, found by token, dropped after 90 days.

Each record has an id in the order of time, which is the end of its ARN.
"""

import os
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from partita.dynamodb.exceptions import DynamoDBError, ValidationException
from partita.engine.catalog import SPACE
from partita.engine.context import EngineContext
from partita.engine.key_encoding import prefix_end
from partita.process_identity import is_dead, this_process
from partita.storage.contract import Reader, Row, StorageTransaction, Write

TOKEN_SECONDS = 8 * 3600.0  # that a client token is remembered
LIST = 25  # [A] ListExports, ListImports
LIST_BULK = 10  # [A] ListBulkOperations
KEEP_SECONDS = 90 * 86_400.0  # that a record is listed
_MIN_TOKEN = 112  # characters of a NextToken of ListImports (botocore's model)
_encode = msgspec.json.encode


ABANDONED_SECONDS = 3600.0  # after which a process that lacks its buckets ends a transfer that nobody goes on with
ENDED_SECONDS = 60.0  # the same where the process that did the work has ended: another one may have its buckets


class TransferRecord(msgspec.Struct, kw_only=True, frozen=True):
    """What the three have in common. Counts are of records; `failure` is the code and the message.

    `buckets` is the folder of the engine that accepted the request: only engines with the same folder do the work;
    `worker` is the process that does it. Both are empty in records of versions that did not store them.
    """

    id: str
    table: str
    table_id: str
    token: str | None
    started: float
    request: Any
    ended: float | None = None
    status: str = "IN_PROGRESS"
    failure: tuple[str, str] | None = None
    processed: int = 0
    errors: int = 0
    size: int = 0
    buckets: str | None = None
    worker: str = ""

    @property
    def is_running(self) -> bool:
        return self.ended is None


AnyRecord = TypeVar("AnyRecord", bound=TransferRecord)


class Transfers(Generic[AnyRecord]):
    """The records of one kind."""

    def __init__(
        self, name: str, kind: type[AnyRecord], missing: type[DynamoDBError], *, tokens_from_start: bool = False
    ) -> None:
        self.name = name  # in their ARNs
        self._tokens_from_start = tokens_from_start
        self._title = name.capitalize().replace("-", " ")
        self._missing = missing
        self._prefix = b"\0" + name.encode() + b"/"
        self._decode = msgspec.json.Decoder(kind).decode

    def all(self, reader: Reader) -> list[AnyRecord]:
        """The records, the newest first."""
        rows = reader.range(SPACE, self._prefix, prefix_end(self._prefix), reverse=True)
        return [self._decode(value) for _, _, value in rows]

    def find(self, reader: Reader, record_id: str) -> AnyRecord | None:
        row = reader.get(SPACE, self._prefix + record_id.encode())
        return None if row is None else self._decode(row.value)

    def arn(self, context: EngineContext, record: AnyRecord) -> str:
        return f"{context.table_arn(record.table)}/{self.name}/{record.id}"

    def check_arn(self, arn: str) -> None:
        """Raises ValidationException for a text that is not the ARN of any record of this kind."""
        if not arn.rpartition(f"/{self.name}/")[0]:
            raise ValidationException(f"Invalid {self._title} ARN")

    def existing(self, context: EngineContext, reader: Reader, arn: str) -> AnyRecord:
        record = self.find(reader, arn.rpartition(f"/{self.name}/")[2])
        if record is None or self.arn(context, record) != arn:
            raise self._missing(f"{self._title} not found: {arn}")
        return record

    def take_over(self, txn: StorageTransaction, record: AnyRecord) -> None:
        """Makes this process the worker of a transfer whose worker has ended."""
        if self.find(txn, record.id) == record:
            self.save(txn, replace(record, worker=this_process()))

    def save(self, txn: StorageTransaction, record: AnyRecord) -> None:
        key = self._prefix + record.id.encode()
        txn.apply([Write(SPACE, key, txn.get(SPACE, key), Row(0, _encode(record)))])

    def repeated(self, reader: Reader, request: Any, now: float, conflict: DynamoDBError) -> AnyRecord | None:
        """The record of an earlier request with the same client token; raises `conflict` if that had other members."""
        if request.client_token is None:
            return None
        for record in self.all(reader):
            if record.token == request.client_token and now - self._token_began(record, now) < TOKEN_SECONDS:
                if record.request != request:
                    raise conflict
                return record
        return None

    def _token_began(self, record: AnyRecord, now: float) -> float:
        """When the hours of a client token begin: an export and an import has ended, a bulk put was requested."""
        return record.started if self._tokens_from_start else record.ended or now

    def page(
        self, reader: Reader, table: str | None, limit: int, token: str | None
    ) -> tuple[list[AnyRecord], str | None]:
        """Some records, the newest first, and the token of the next page."""
        before = id_of_token(token)
        found = [
            each
            for each in self.all(reader)
            if (table is None or each.table == table) and (before is None or each.id < before)
        ]
        return found[:limit], token_of(found[limit - 1].id) if len(found) > limit else None

    def drop_old(self, txn: StorageTransaction, now: float) -> None:
        for record in self.all(txn):
            if record.ended is not None and record.ended < now - KEEP_SECONDS:
                key = self._prefix + record.id.encode()
                txn.apply([Write(SPACE, key, txn.get(SPACE, key), None)])
            elif record.ended is not None and record.ended > now:  # the clock was set back: it counts from now on
                self.save(txn, replace(record, ended=now))


class WaitingTransfers:
    """The transfers that this process cannot do, since their buckets are those of another: a server, perhaps.

    The others may have ended for ever, and a transfer keeps its table from being deleted. So one that has not changed
    for an hour is abandoned, or for a minute if its worker has ended: another process with its buckets, if there is
    one, becomes its worker at once.
    """

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._seen: dict[str, tuple[TransferRecord, float]] = {}

    def is_here(self, record: TransferRecord) -> bool:
        """Whether this process has the buckets of a transfer."""
        folder = self._context.buckets.folder
        return folder is not None and record.buckets in (None, folder)

    def failure(self, record: TransferRecord) -> tuple[str, str] | None:
        """Why a transfer that is not here ends now; None while it waits."""
        now = self._context.clock()
        seen, since = self._seen.get(record.id, (None, now))
        if seen != record or now < since:
            self._seen[record.id] = (record, now)
            return None
        has_ended = is_dead(record.worker)
        if now - since < (ENDED_SECONDS if has_ended else ABANDONED_SECONDS):
            return None
        del self._seen[record.id]
        reason = "the process that did it has ended" if has_ended else "it has not gone on for an hour"
        folder = f"--buckets {record.buckets}" if record.buckets else "--buckets"
        here = self._context.buckets.folder
        return "S3InternalError", (
            f"{reason}, and this engine has {f'--buckets {here}' if here else 'no buckets'}: start an engine with "
            f"{folder}, or connect with that folder as buckets, and request it again"
        )


def has_records(reader: Reader, name: str) -> bool:
    """Whether there are records of a kind, found out without the module of that kind."""
    prefix = b"\0" + name.encode() + b"/"
    return next(iter(reader.range(SPACE, prefix, prefix_end(prefix))), None) is not None


def new_id(now: float) -> str:
    """An id in the order of time, as those of DynamoDB are."""
    return f"{round(now * 1000):014d}-{os.urandom(4).hex()}"


def token_of(record_id: str) -> str:
    """A NextToken, in the form that the model of ListImports requires."""
    return record_id.encode().hex().ljust(_MIN_TOKEN, "0")


def id_of_token(token: str | None) -> str | None:
    """The id in a NextToken; a text that is no token comes before every id.

    >>> id_of_token(token_of("01700000000000-0a1b2c3d"))
    '01700000000000-0a1b2c3d'
    """
    if token is None:
        return None
    try:
        return bytes.fromhex(token).rstrip(b"\0").decode()
    except (ValueError, UnicodeDecodeError):
        return ""

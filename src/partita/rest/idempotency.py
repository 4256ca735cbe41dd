"""Idempotency-Key: a POST that is sent again with its key is not executed again, and gets the first response.

A record is written before the operation and completed after it. Where the process ended in between, the outcome is
unknown: a request with the key is then a 409, and is never executed a second time.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from partita.dynamodb.backend import Backend
from partita.errors import AlreadyExists, OutcomeUnknown, TableNotFound
from partita.rest.error_mapping import problem_kind
from partita.rest.problems import Problem
from partita.rest.responses import Response
from partita.store.store import Store

if TYPE_CHECKING:
    from partita.rest.request_records import RequestRecord

HEADER = b"idempotency-key"
LONGEST_KEY = 255
LARGEST_RESPONSE = 300_000  # bytes; an item has at most 400 KB
REPLAYED = (b"idempotency-replayed", b"true")


class IdempotentRequests:
    """Executes requests with a key once; `create_tables` lets the first of them create the table."""

    def __init__(self, backend: Backend, *, create_tables: bool) -> None:
        self._backend = backend
        self._create_tables = create_tables
        self._opened: Store | None = None

    def execute(
        self, key: bytes, owner: tuple[str, str], request: tuple[bytes, ...], run: Callable[[], Response]
    ) -> Response:
        """The response of `run`, or the one of an earlier request; keys of another owner (API, caller) do not count."""
        name = _checked_key(key)
        record_id = _digest(*(each.encode() for each in (*owner, name)))
        fingerprint = _digest(*request)
        earlier = self._begin(record_id, fingerprint)
        if earlier is not None:
            return _replayed(earlier, fingerprint)
        response = self._run(record_id, run)
        self._end(record_id, response)
        return response

    def _run(self, record_id: str, run: Callable[[], Response]) -> Response:
        """Forgets a request that was rejected: it may be corrected and sent again."""
        from partita.rest.request_records import request_record

        try:
            return run()
        except Exception as error:
            if _is_rejection(error):
                self._db().delete(request_record(record_id))
            raise

    def _begin(self, record_id: str, fingerprint: str) -> "RequestRecord | None":
        """Writes the record of a request; returns the one of an earlier request with the same key."""
        from partita.rest.request_records import RequestRecord, request_record

        db = self._db()
        for _ in db.retrying(RequestRecord.__name__):
            try:
                db.create(RequestRecord(record_id=record_id, fingerprint=fingerprint, begun_at=db.now()))
            except AlreadyExists:
                earlier = db.get(request_record(record_id), consistent=True)
                if earlier is not None:
                    return earlier
            except TableNotFound:
                detail = (
                    f"Idempotency-Key cannot be used here: there is no table {RequestRecord.__model__.table.name}; the "
                    "operator creates it with create_tables=True"
                )
                raise Problem(400, "malformed", detail, "Idempotency-Key") from None
            else:
                return None
        raise AssertionError("retrying raises at its end")

    def _end(self, record_id: str, response: Response) -> None:
        from partita.rest.request_records import SavedResponse, request_record

        if len(response.body) <= LARGEST_RESPONSE:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
            with self._db().change(request_record(record_id)) as draft:
                draft.response = SavedResponse(response.status, headers, response.body.decode())

    def _db(self) -> Store:
        from partita.rest.request_records import design

        if self._opened is None:
            db = Store(self._backend, design)
            if self._create_tables:
                db.create_tables()
            self._opened = db
        return self._opened


def _checked_key(key: bytes) -> str:
    if not 1 <= len(key) <= LONGEST_KEY or not all(0x20 <= each < 0x7F for each in key):
        detail = f"Idempotency-Key must have 1 to {LONGEST_KEY} printable ASCII characters, such as a UUID"
        raise Problem(400, "malformed", detail, "Idempotency-Key")
    return key.decode()


def _digest(*parts: bytes) -> str:
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8) + part)
    return whole.hexdigest()


def _replayed(record: "RequestRecord", fingerprint: str) -> Response:
    if record.fingerprint != fingerprint:
        detail = "this Idempotency-Key was used for another request; use a new key"
        raise Problem(422, "invalid", detail, "Idempotency-Key")
    if record.response is None:
        detail = (
            "a request with this Idempotency-Key is being executed, or its outcome is unknown; "
            "read the current state before you send it with a new key"
        )
        raise Problem(409, "conflict", detail, "Idempotency-Key")
    saved = record.response
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in saved.headers.items()]
    return Response(saved.status, saved.body.encode(), [*headers, REPLAYED])


def _is_rejection(error: Exception) -> bool:
    """Whether the error means that the request was not executed: it is the client's, or the database was busy."""
    if isinstance(error, OutcomeUnknown) or getattr(error, "perhaps_executed", False):
        return False
    return isinstance(error, Problem) or problem_kind(error) is not None

"""The tree of Partita's errors; what DynamoDB itself would say lives in `dynamodb.exceptions`.

PartitaError
├── DynamoDBError          what the DynamoDB contract answers, word for word (dynamodb.exceptions)
├── StorageError           the database file cannot be read or written
│   ├── StorageBusy        another process kept the file locked for too long
│   └── SpaceMissing       a table of the file vanished under a reader
├── NoReply                an endpoint gave no answer, or none that can be read
└── ConfigurationError     a setting, address or argument that cannot work
"""


class PartitaError(Exception):
    """Everything that Partita raises on purpose."""


class ConfigurationError(PartitaError):
    """A setting, address or argument that cannot work; the sentence says what to write instead."""


class StorageError(PartitaError):
    """The database file cannot be read or written; nothing of the failed transaction is kept."""


class StorageBusy(StorageError):
    """Another process held the file's write lock for longer than the time-out."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(f"{path}: another process kept the write lock for more than {seconds:g} seconds")


class SpaceMissing(StorageError):
    """A read met a space that does not exist (any more): the caller's catalogue is older than the file."""

    def __init__(self, space: str) -> None:
        super().__init__(f"there is no space named {space!r}")


class NoReply(PartitaError, ConnectionError):
    """An endpoint gave no answer, or none that can be read.

    `perhaps_executed` is true where the request had already left: it may have been done although nobody said so.
    """

    def __init__(self, endpoint: str, reason: str, *, perhaps_executed: bool) -> None:
        outcome = "the request may have been executed" if perhaps_executed else "the request was not executed"
        super().__init__(f"{endpoint}: {reason}; {outcome}")
        self.endpoint = endpoint
        self.reason = reason
        self.perhaps_executed = perhaps_executed

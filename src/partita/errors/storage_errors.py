"""Errors of a database file."""

from partita.errors.base_error import PartitaError


class StorageError(PartitaError):
    """The database file cannot be read or written; nothing of the failed transaction is kept."""


class StorageBusy(StorageError):
    """Another process held the file's write lock for longer than the time-out."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(path, seconds)
        self.path = path
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.path}: another process kept the write lock for more than {self.seconds:g} seconds"


class OlderFileInUse(StorageBusy):
    """A file of an older format cannot be upgraded while another process has it open."""

    def __str__(self) -> str:
        return (
            f"{self.path} has the format of an older version of Partita, and another process has it open; end all "
            "programs that use it, then open it again"
        )


class StorageClosed(StorageError):
    """The database was closed before the request; nothing of it was done."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is closed; open it again with connect()"


class UsedAfterFork(StorageClosed):
    """The database was opened before the process was forked; nothing of the request was done."""

    def __str__(self) -> str:
        return (
            f"{self.path} was opened before this process was forked; open it after the fork, or start the process with "
            "'spawn'"
        )


class SpaceMissing(StorageError):
    """A read met a space that does not exist (any more): the caller's catalogue is older than the file."""

    def __init__(self, space: str) -> None:
        super().__init__(space)
        self.space = space

    def __str__(self) -> str:
        return f"there is no space named {self.space!r}"


class CorruptRow(StorageError):
    """A row that does not match its checksum: the file was damaged, or changed by another program.

    The key is empty where it is not known.
    """

    def __init__(self, path: str, space: str, key: bytes) -> None:
        super().__init__(path, space, key)
        self.path = path
        self.space = space
        self.key = key

    def __str__(self) -> str:
        row = f"the row {self.key.hex()} of {self.space}" if self.key else f"a row of {self.space}"
        return f"{self.path}: {row} is damaged: it does not match its checksum; run `partita verify {self.path}`"


class FileReplaced(StorageError):
    """The database file, or its log, was deleted, replaced or truncated while it was open; writes would be lost."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: the file was deleted, replaced or truncated while it was open; close it and open it again"

"""A lock that is taken where it is free, and not waited for."""

from typing import Protocol

from partita.errors import StorageBusy


class Lock(Protocol):
    def acquire(self, blocking: bool = ...) -> bool: ...

    def release(self) -> None: ...


class FreeLock:
    """Takes the lock of a storage for a block; raises `StorageBusy` where another thread has it."""

    def __init__(self, lock: Lock, path: str) -> None:
        self._lock = lock
        self._path = path

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StorageBusy(self._path, 0)

    def __exit__(self, *error: object) -> None:
        self._lock.release()

"""Requests within a budget of time and capacity, counted for the page that sends them."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.operations import WRITES
from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import ConsumedCapacity, VectorCapacity
from partita.errors import PartitaError

Reply = TypeVar("Reply")

SECONDS = 5.0
READ_UNITS = 500.0


class BudgetExceeded(PartitaError):
    """A page needs more time or capacity than it may use."""

    def __init__(self, used: "UsedCapacity", limit: str) -> None:
        spent = f"{used.requests} requests, {used.read_units:g} read units and {used.seconds:.1f} s"
        super().__init__(f"stopped after {spent}: the budget of a page is {limit}; ask for less")
        self.used = used


class UsedCapacity(msgspec.Struct):
    """The requests of a page: how many, the capacity units that were billed, and the seconds until the last reply."""

    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    searched_bytes: float = 0.0
    seconds: float = 0.0

    def add(self, other: "UsedCapacity") -> None:
        """Adds what another backend of the same page has used."""
        self.requests += other.requests
        self.read_units += other.read_units
        self.write_units += other.write_units
        self.searched_bytes += other.searched_bytes
        self.seconds += other.seconds


class MeteredBackend:
    """A backend that counts what a page uses, and sends no further request when its budget is used up."""

    def __init__(
        self,
        backend: Backend,
        seconds: float = SECONDS,
        read_units: float = READ_UNITS,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._backend = backend
        self._seconds = seconds
        self._read_units = read_units
        self._timer = timer
        self._began = timer()
        self.used = UsedCapacity()
        self.writes = 0  # requests that have written
        self.cursor_key: bytes | None = getattr(backend, "cursor_key", None)
        self.engine: Any = getattr(backend, "engine", backend)  # by which a text index knows the data

    def call(self, request: Request[Reply], /) -> Reply:
        used = self.used
        if used.read_units >= self._read_units:
            raise BudgetExceeded(used, f"{self._read_units:g} read units")
        if self._timer() - self._began >= self._seconds:
            raise BudgetExceeded(used, f"{self._seconds:g} seconds")
        if hasattr(request, "return_consumed_capacity"):
            request.return_consumed_capacity = "TOTAL"
        try:
            reply = self._backend.call(request)
        finally:
            used.requests += 1
            used.seconds = self._timer() - self._began
        if type(request) in WRITES and not _is_select(reply):
            self.writes += 1
        self._count(request, reply)
        return reply

    def _count(self, request: Request[Any], reply: Any) -> None:
        consumed = getattr(reply, "consumed_capacity", None) or ()
        if isinstance(consumed, VectorCapacity):
            self.used.searched_bytes += consumed.vector_search_request_bytes or 0.0
            return
        several = (consumed,) if isinstance(consumed, ConsumedCapacity) else consumed
        units = sum(each.capacity_units or 0.0 for each in several)
        if type(request) in WRITES and not _is_select(reply):
            self.used.write_units += units
        else:
            self.used.read_units += units


def _is_select(reply: Any) -> bool:
    """Whether a PartiQL statement has read."""
    return getattr(reply, "items", None) is not None

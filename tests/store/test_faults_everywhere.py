"""Faults at any request of any write, beside another writer: done once, not done, or said to be unknown."""

from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import OutcomeUnknown, PartitaError, Store, connect
from partita.design.models import model_of
from partita.dynamodb import requests as wire
from partita.plan.items import item_of, values_of
from tests.fuzz.faults import FAULTS, FaultyBackend
from tests.store.ledger_design import OTHER_WRITES, PARTIAL_WRITES, WRITES, Act, design, fill

pytestmark = pytest.mark.slow


Raw = dict[str, Any]
State = tuple[str, ...]
Outcome = tuple[State, str]  # the state after a write, and the name of its error or ""

EVERY_WRITE = WRITES | PARTIAL_WRITES
INJECTED = [each for each in FAULTS if each != "ok"]
UNKNOWN = OutcomeUnknown.__name__
INDEX_KEYS = ("GSI1PK", "GSI1SK")
RETRIES = 8
GIVING_UP = {
    "NoReply",
    "InternalServerError",
    "ThrottlingException",
    "TransactionConflictException",
    "RetriesExhausted",
}
"""Errors of requests that fail as often as they are retried; they say that nothing was written."""


class World:
    """A ledger that can be set back to its first state."""

    def __init__(self) -> None:
        self.backend = FaultyBackend(connect("memory:", maintain=False))
        self.store = self._open(self.backend)
        self.other = self._open(self.backend.inner)
        self.store.create_tables()
        fill(self.store)
        self.first = self._items()

    def _open(self, backend: Any) -> Store:
        return Store(backend, design, sleep=lambda _: None, random=lambda: 0.5)

    def _items(self) -> list[Raw]:
        reply = self.backend.inner.call(wire.Scan(table_name="ledger", consistent_read=True))
        return [msgspec.json.decode(raw) for raw in reply.items or ()]

    def reset(self) -> None:
        for item in self._items():
            if item not in self.first:
                key = {name: item[name] for name in ("PK", "SK")}
                self.backend.inner.call(wire.DeleteItem(table_name="ledger", key=key))
        present = self._items()
        for item in self.first:
            if item not in present:
                self.backend.inner.call(wire.PutItem(table_name="ledger", item=item))

    @property
    def state(self) -> State:
        """Every entity and every guard, whichever key format they are stored under, and index keys that are wrong."""
        return tuple(sorted(self._shown(item) for item in self._items()))

    def _shown(self, item: Raw) -> str:
        if "guardOf" in item:
            return f"guard {item['PK']['S']} of {item['guardOf']['M']['PK']['S']}"
        entity = self.other.decode_item("ledger", item)
        values = values_of(model_of(type(entity)), entity)
        derived = item_of(model_of(type(entity)), values)
        wrong = {name: item.get(name) for name in INDEX_KEYS if item.get(name) != derived.get(name)}
        return f"{type(entity).__name__} {values}" + (f" with a wrong index key {wrong}" if wrong else "")

    def attempt(self, act: Act, store: Store | None = None) -> str:
        """The name of the error of a write, or "" if it succeeds."""
        try:
            act(store or self.other)
        except PartitaError as error:
            return type(error).__name__
        return ""


@cache
def world() -> World:
    return World()


@cache
def serial(*names: str) -> tuple[State, tuple[str, ...]]:
    """The state after writes one after the other, and their errors."""
    here = world()
    here.reset()
    acts = EVERY_WRITE | OTHER_WRITES
    errors = tuple(here.attempt(acts[name]) for name in names)
    return here.state, errors


@cache
def requests_of(write: str) -> int:
    """How many requests a write sends without faults."""
    here = world()
    here.reset()
    here.backend.start([])
    here.attempt(EVERY_WRITE[write], here.store)
    return here.backend.requests


def check(write: str, plan: list[str], other: str = "", before: int = 0) -> None:
    """Does a write with faults; its outcome is that of the write and the other one, in one of the two orders."""
    here = world()
    here.reset()
    theirs: list[str] = []
    here.backend.start(plan, (before, lambda: theirs.append(here.attempt(OTHER_WRITES[other]))) if other else None)
    error = here.attempt(EVERY_WRITE[write], here.store)
    unsure = here.backend.unsure or "in progress" in here.backend.met
    here.backend.start([])
    state = here.state
    told = f"{write} with {plan}" + (f", {other} before request {before} ({theirs})" if other else "")
    orders = [[write, other], [other, write]] if theirs else [[write]]
    outcomes = [serial(*order) for order in orders]
    errors = {met[order.index(write)] for order, (_, met) in zip(orders, outcomes, strict=True)}
    done = [found for order, (found, met) in zip(orders, outcomes, strict=True) if not met[order.index(write)]]
    not_done = serial(other)[0] if theirs == [""] else serial()[0]
    if error == UNKNOWN:
        assert unsure, f"{told}: unknown, where every request was answered"
        if write in WRITES:
            assert state in [not_done, *done], f"{told}: unknown, and {_difference(state)}"
            return
        error, state = here.attempt(EVERY_WRITE[write]), here.state  # a part of it may be done: it can be done again
    if error in GIVING_UP and sum(each != "ok" for each in plan) > RETRIES:
        errors.add(error)
        if write in PARTIAL_WRITES:
            error, state = here.attempt(EVERY_WRITE[write]), here.state
    assert error in errors, f"{told}: {error}"
    assert state in ([not_done] if error else done), f"{told}: {error or 'done'}, and {_difference(state)}"


def _difference(state: State) -> set[str]:
    return set(state) ^ set(serial()[0])


@pytest.mark.parametrize("write", EVERY_WRITE)
def test_fault_at_any_request_leaves_a_write_done_once_or_not_done_or_unknown(write: str) -> None:
    for at in range(requests_of(write)):
        for fault in INJECTED:
            check(write, ["ok"] * at + [fault])


@pytest.mark.parametrize("write", EVERY_WRITE)
def test_faults_without_end_are_no_false_error(write: str) -> None:
    for at in range(requests_of(write)):
        for fault in INJECTED:
            check(write, ["ok"] * at + [fault] * 2 * RETRIES)
            check(write, ["ok"] * at + ["lost"] + [fault] * 2 * RETRIES)


@pytest.mark.parametrize("write", EVERY_WRITE)
def test_other_writer_before_any_request_loses_and_doubles_nothing(write: str) -> None:
    for other in OTHER_WRITES:
        for before in range(requests_of(write)):
            check(write, [], other, before)


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(
    st.sampled_from(sorted(EVERY_WRITE)),
    st.lists(st.sampled_from(["ok", *FAULTS]), max_size=RETRIES),
    st.sampled_from(sorted(OTHER_WRITES)),
    st.integers(0, 4),
)
def test_random_faults_beside_another_writer_lose_and_double_nothing(
    write: str, plan: list[str], other: str, before: int
) -> None:
    check(write, plan, other, before)


@pytest.mark.slow
@pytest.mark.parametrize("write", EVERY_WRITE)
def test_every_other_writer_beside_a_lost_reply_loses_and_doubles_nothing(write: str) -> None:
    for other in OTHER_WRITES:
        for at in range(requests_of(write)):
            for fault in ("lost", "dropped"):
                for before in (at, at + 1):
                    check(write, ["ok"] * at + [fault], other, before)

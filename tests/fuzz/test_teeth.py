"""The fuzzer finds planted faults: each of these mutations of the library makes a difference within 2,000 designs."""

import importlib
import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from tests.fuzz.fuzz import first_difference

pytestmark = pytest.mark.slow

DESIGNS = 2_000
Mutation = Callable[[Any], Any]  # from the function as it is to the function with a fault


def _nothing(_: Any) -> Any:
    return lambda *_args, **_options: ()


def _never(_: Any) -> Any:
    return lambda *_args, **_options: False


def _true(_: Any) -> Any:
    return lambda *_args: True


def _returns_none(_: Any) -> Any:
    return lambda *_args, **_options: None


def _without_n(derivations: Any) -> Any:
    """Index keys are not computed again when the attribute of their `when` changes."""
    replace = importlib.import_module("msgspec").structs.replace
    return lambda model: tuple(replace(each, fields=each.fields - {"n"}) for each in derivations(model))


def _without_removals(derived_attributes: Any) -> Any:
    """An index key whose parts become None stays."""

    def mutated(*args: Any) -> dict[str, Any]:
        return {name: value for name, value in derived_attributes(*args).items() if value is not None}

    return mutated


def _without_deletions(guard_actions: Any) -> Any:
    """A unique value stays reserved when its item gives it up."""

    def mutated(*args: Any) -> Iterator[Any]:
        return (each for each in guard_actions(*args) if each.kind != "delete")

    return mutated


def _without_decrements(count_action: Any) -> Any:
    """A counter does not fall when a child leaves."""
    return lambda model, before, after, *rest: None if after is None else count_action(model, before, after, *rest)


def _without_checks(actions: Any) -> Any:
    """References are not checked."""

    def mutated(*args: Any) -> Iterator[Any]:
        return (each for each in actions(*args) if each.kind != "check")

    return mutated


def _positive(write: Any) -> Any:
    """A negative number is written like its absolute value."""
    return lambda part, value: write(part, abs(value))


def _rising(_: Any) -> Any:
    return lambda _form: False


def _without_token(transaction_request: Any) -> Any:
    """A transaction that is sent again is another one."""
    return lambda actions, _token: transaction_request(actions, None)


def _again(send: Any) -> Any:
    """A write is sent again whatever happened to it."""
    return lambda context, request, **options: send(context, request, entity=options["entity"])


def _empty(_: Any) -> Any:
    return lambda *_args: {}


def _no_text(_: Any) -> Any:
    return lambda *_args: ""


def _with_bound(_: Any) -> Any:
    """`after` includes its bound."""
    return lambda query, low: query.since(low)


def _always(condition_clause: Any) -> Any:
    """The condition of a creation or a deletion is true for every item."""
    return lambda model, key, when, *now: condition_clause(model, key, when | ~when, *now)


def _without_lookup(_: Any) -> Any:
    """A parent that is not under its key of today does not exist."""
    return lambda target, wanted, error: error


def _finds_nothing(_: Any) -> Any:
    """A flow that reads and writes nothing."""

    def mutated(*_args: Any) -> Generator[Any, Any, dict[str, Any]]:
        yield from ()
        return {}

    return mutated


def _as_it_is(_: Any) -> Any:
    return lambda value: [value]


def _no_values(_: Any) -> Any:
    return ()


MUTATIONS: dict[str, tuple[str, str, Mutation]] = {
    # ranges
    "range: an upper bound leaves out what continues": ("partita.plan.range_conditions", "after_open_part", _no_text),
    "range: bounds of a falling part are not exchanged": ("partita.plan.key_ranges", "descends", _rising),
    "range: items of other entities are not looked for": ("partita.plan.proof.contents", "meeting", _returns_none),
    "range: lost order is not noticed": ("partita.plan.proof.order", "_sorts", _true),
    "range: after includes its bound": ("partita.design.reads", "Query.after", _with_bound),
    "range: items under old keys are not looked for": ("partita.plan.read_requests", "old_reads", _nothing),
    "range: texts of old keys have one form": ("partita.plan.normal_forms", "_forms", _as_it_is),
    "range: a filter of a search is not sent": ("partita.plan.search_requests", "_equal", _empty),
    # stored keys
    "stored key: the condition of a key is forgotten": ("partita.plan.changes", "derivations", _without_n),
    "stored key: a key that lost its part stays": ("partita.plan.changes", "derived_attributes", _without_removals),
    "stored key: a sign is lost": ("partita.design.key_parts", "NumberPart.write", _positive),
    # invariants
    "invariant: a guard is never deleted": ("partita.plan.effects", "_guard_actions", _without_deletions),
    "invariant: a reference is not checked": ("partita.plan.effects", "actions", _without_checks),
    "invariant: a condition is not checked": ("partita.plan.writes", "_condition_clause", _always),
    # lost replies
    "lost reply: it is taken for a failure": ("partita.store.retries", "may_have_been_applied", _never),
    "lost reply: a step is sent again": ("partita.store.execution", "send", _again),
    "lost reply: any item shows that the write was done": ("partita.store.execution", "_shows", _true),
    "lost reply: a transaction has no token": ("partita.store.execution", "transaction_request", _without_token),
}
RARE: dict[str, tuple[str, str, Mutation]] = {
    "range: an index by the table's key has old items elsewhere": ("partita.plan.old_ranges", "_differs", _never),
    "range: times of old keys have one width": ("partita.design.key_templates", "OTHER_FORMS", _no_values),
    "range: fan-outs are not merged in order": ("partita.store.merge", "_open_sort_key", _nothing),
    "stored key: an expiry is not stored": ("partita.plan.items", "expiry_of", _returns_none),
    "invariant: a counter never falls": ("partita.plan.effects", "_count_action", _without_decrements),
    "invariant: a limit is not checked": ("partita.plan.effects", "_is_limit_of", _never),
    "invariant: a parent under an old key is missing": ("partita.plan.effects", "_missing", _without_lookup),
    "invariant: a guard of an item under an old key stays": ("partita.store.old_keys", "_guard_owners", _finds_nothing),
    "invariant: an owner under an old key is not moved": (
        "partita.store.entity_flows",
        "EntityFlows._move_before_deletion",
        _finds_nothing,
    ),
    "invariant: a transition is not checked": ("partita.plan.changes", "transition_clauses", _nothing),
    "lost reply: what a batch left over is dropped": ("partita.store.batches", "_decode_left", _empty),
}
"""Faults that need a hundred designs or more; tried where more designs than usual are asked for."""


@pytest.mark.parametrize("fault", [*MUTATIONS, *(RARE if "PARTITA_FUZZ_DESIGNS" in os.environ else ())])
def test_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, path, mutation = (MUTATIONS | RARE)[fault]
    owner: Any = importlib.import_module(module)
    *classes, name = path.split(".")
    for each in classes:
        owner = getattr(owner, each)
    monkeypatch.setattr(owner, name, mutation(owner.__dict__[name]))
    found = first_difference(DESIGNS)
    print(found.partition("from collections.abc")[0])
    assert "Difference: " in found

"""The metrics of consumers, for Prometheus."""

from collections.abc import Callable, Iterable
from typing import Literal

from partita.consumers.administration import ConsumerAdministration, ConsumerStatus
from partita.consumers.monitor import ConsumerProblem
from partita.errors import NotFound
from partita.prometheus import Metric
from partita.store.store import Store

Kind = Literal["counter", "gauge"]

_METRICS: tuple[tuple[str, Kind, str, Callable[[ConsumerStatus], float | None]], ...] = (
    ("handled_total", "counter", "Changes, and items of a scan, that are done or parked.", lambda each: each.handled),
    ("skipped_total", "counter", "Records that no handler wants.", lambda each: each.skipped),
    ("retries_total", "counter", "Tries of changes that had failed before.", lambda each: each.retries),
    ("gaps_total", "counter", "Times that changes expired before they were read.", lambda each: each.gaps),
    ("parked_changes", "gauge", "Changes that wait for another try, or behind one.", lambda each: each.parked),
    ("dead_letters", "gauge", "Changes that were given up.", lambda each: each.dead_letters),
    (
        "lag_records",
        "gauge",
        "Records that are not read; a count ends at 10000.",
        lambda each: None if each.backlog is None else each.backlog.records,
    ),
    (
        "lag_seconds",
        "gauge",
        "Age of the oldest record that is not read.",
        lambda each: None if each.backlog is None else each.lag.total_seconds(),
    ),
    (
        "retention_left_seconds",
        "gauge",
        "Time until the oldest record that is not read expires.",
        lambda each: None if each.time_left is None else each.time_left.total_seconds(),
    ),
    ("running", "gauge", "1 if a process has the lease.", lambda each: each.is_running),
    ("paused", "gauge", "1 if the consumer is paused.", lambda each: each.is_paused),
)


def consumer_metrics(db: Store, consumers: Iterable[str], problems: Iterable[ConsumerProblem]) -> list[Metric]:
    """The metrics of consumers by their names; one that has never run has only those of its problems."""
    metrics = [Metric(f"partita_consumer_{name}", kind, text) for name, kind, text, _ in _METRICS]
    stalled = Metric("partita_consumer_stalled", "gauge", "1 if the consumer does not read its changes.")
    failing = Metric("partita_consumer_failing", "gauge", "1 if a change fails again and again.")
    endless = Metric("partita_consumer_endless", "gauge", "1 if the consumer triggers itself without an end.")
    kinds = {each.consumer: each.kind for each in problems}
    for consumer in consumers:
        stalled.add(kinds.get(consumer) == "stalled", consumer=consumer)
        failing.add(kinds.get(consumer) == "failing", consumer=consumer)
        endless.add(kinds.get(consumer) == "endless", consumer=consumer)
        try:
            status = ConsumerAdministration(db, consumer).status()
        except NotFound:
            continue
        for metric, (*_, value_of) in zip(metrics, _METRICS, strict=True):
            value = value_of(status)
            if value is not None:
                metric.add(value, consumer=consumer)
    return [*metrics, stalled, failing, endless]

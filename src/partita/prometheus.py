"""Metrics in Prometheus' text format, version 0.0.4.

>>> lag = Metric("partita_consumer_lag_seconds", "gauge", "The age of the oldest unread change.")
>>> lag.add(2.5, consumer="emails")
>>> print(rendered([lag]).decode(), end="")
# HELP partita_consumer_lag_seconds The age of the oldest unread change.
# TYPE partita_consumer_lag_seconds gauge
partita_consumer_lag_seconds{consumer="emails"} 2.5
"""

from collections.abc import Iterable
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric:
    """A metric with its samples; a counter's name ends with `_total`, and a unit is the end of the name before that."""

    def __init__(self, name: str, kind: Literal["counter", "gauge"], help_text: str) -> None:
        self.name = name
        self.kind = kind
        self.help_text = help_text
        self.samples: list[tuple[dict[str, str], float]] = []

    def add(self, value: float, **labels: str) -> None:
        self.samples.append((labels, float(value)))


def rendered(metrics: Iterable[Metric]) -> bytes:
    """The text of metrics; those without samples are left out, and the samples of one name are together."""
    by_name: dict[str, Metric] = {}
    for each in metrics:
        first = by_name.setdefault(each.name, Metric(each.name, each.kind, each.help_text))
        first.samples += each.samples
    return "".join(line for each in by_name.values() if each.samples for line in _lines(each)).encode()


def _lines(metric: Metric) -> Iterable[str]:
    help_text = metric.help_text.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {metric.name} {help_text}\n"
    yield f"# TYPE {metric.name} {metric.kind}\n"
    for labels, value in metric.samples:
        listed = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{metric.name}{{{listed}}} {value!r}\n" if listed else f"{metric.name} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

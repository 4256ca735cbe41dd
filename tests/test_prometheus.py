"""Metrics in Prometheus' text format are read back as they were written."""

from hypothesis import given
from hypothesis import strategies as st

from partita.prometheus import Metric, rendered
from tests.prometheus_text import parsed, value_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, TEXTS, st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**60) | st.booleans())
def test_labels_and_values_are_read_back(text: str, help_text: str, value: float) -> None:
    metric = Metric("partita_lag_seconds", "gauge", help_text)
    metric.add(value, consumer=text, table="t")
    metric.add(1.0, consumer=text, table="other")
    found = parsed(rendered([metric]).decode())
    assert value_of(found, "partita_lag_seconds", consumer=text, table="t") == float(value)


def test_samples_of_one_name_from_two_sources_are_together() -> None:
    one, other = (Metric("partita_runs_total", "counter", "Runs.") for _ in range(2))
    between = Metric("partita_lag_seconds", "gauge", "Lag.")
    one.add(1, job="a")
    other.add(2, job="b")
    between.add(3)
    found = parsed(rendered([one, between, other]).decode())
    assert found["partita_runs_total"].samples == {(("job", "a"),): 1.0, (("job", "b"),): 2.0}
    assert found["partita_lag_seconds"].samples == {(): 3.0}


def test_metric_without_samples_is_left_out() -> None:
    assert rendered([Metric("partita_runs_total", "counter", "Runs.")]) == b""

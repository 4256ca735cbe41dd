"""The metrics of jobs: the last run, its duration, failures and the next run."""

from partita import Jobs, Store
from partita.jobs.job_metrics import job_metrics
from partita.prometheus import rendered
from tests.jobs.conftest import BEGIN, Runner, Time
from tests.prometheus_text import parsed, value_of


def test_metrics_tell_the_last_run_and_the_next(runner: Runner, time: Time) -> None:
    jobs, errors = Jobs("shop"), [ValueError("no")]

    @jobs.every(minutes=10)
    def clean(db: Store) -> None:
        time.passes(seconds=90)
        if errors:
            raise errors.pop()

    @jobs.every(days=1)
    def report(db: Store) -> None: ...

    started = runner(jobs)
    for failures in (1, 1):
        time.passes(minutes=10)
        assert started.step() == 1
        found = parsed(rendered(job_metrics(started)).decode())
        assert value_of(found, "partita_job_failures_total", group="shop", job="clean") == failures
    clean_values = {
        name.removeprefix("partita_job_"): value_of(found, name, group="shop", job="clean") for name in found
    }
    begin = BEGIN.timestamp()
    assert clean_values == {
        "runs_total": 2,
        "failures_total": 1,
        "running": 0,
        "next_run_timestamp_seconds": begin + 30 * 60,
        "last_run_timestamp_seconds": begin + 23 * 60,
        "last_run_duration_seconds": 90,
        "last_run_failed": 0,
    }
    assert value_of(found, "partita_job_runs_total", group="shop", job="report") == 0
    assert ("group", "shop") in next(iter(found["partita_job_last_run_failed"].samples))
    assert len(found["partita_job_last_run_failed"].samples) == 1

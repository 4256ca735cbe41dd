"""The metrics of jobs, for Prometheus."""

from partita.jobs.job_records import JobOutcome
from partita.jobs.job_runner import JobRunner
from partita.prometheus import Metric


def job_metrics(runner: JobRunner) -> list[Metric]:
    """The metrics of all jobs of a runner; those of a last run from the first one on."""
    runs = Metric("partita_job_runs_total", "counter", "Runs that have ended.")
    failures = Metric("partita_job_failures_total", "counter", "Runs that have ended with an error.")
    running = Metric("partita_job_running", "gauge", "1 if a run has not ended.")
    next_run = Metric("partita_job_next_run_timestamp_seconds", "gauge", "When the next tick is due.")
    last_run = Metric("partita_job_last_run_timestamp_seconds", "gauge", "When the last run ended.")
    duration = Metric("partita_job_last_run_duration_seconds", "gauge", "How long the last run took.")
    failed = Metric("partita_job_last_run_failed", "gauge", "1 if the last run ended with an error.")
    for each in runner.status():
        labels = {"group": runner.jobs.name, "job": each.name}
        runs.add(each.runs, **labels)
        failures.add(each.failures, **labels)
        running.add(each.running is not None, **labels)
        next_run.add(each.next_run.timestamp(), **labels)
        if each.last_run is not None:
            last = each.last_run
            last_run.add(last.ended_at.timestamp(), **labels)
            duration.add((last.ended_at - last.begun_at).total_seconds(), **labels)
            failed.add(last.outcome == JobOutcome.FAILED, **labels)
    return [runs, failures, running, next_run, last_run, duration, failed]

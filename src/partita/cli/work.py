"""`partita work`: runs consumers and jobs, as a process of its own."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from partita.cli.options import Address, BucketsFolder, Port

if TYPE_CHECKING:
    from partita.cli.open_systems import OpenSystem
    from partita.http.metrics_endpoint import MetricsEndpoint
    from partita.jobs.job import Jobs
    from partita.prometheus import Metric
    from partita.system import System

MetricSource: TypeAlias = "Callable[[], list[Metric]]"

PARTS = ("design", "consumers", "jobs")
JOB_THREADS = 4
REPORT_SECONDS = 5.0  # that a run may take to end, until it is reported

_log = logging.getLogger("partita.jobs")


def work(
    *what: str,
    on: Address = "partita.db",
    buckets: BucketsFolder = None,
    metrics_port: Port | None = None,
    metrics_host: str = "127.0.0.1",
) -> None:
    """Run the consumers and jobs of systems until interrupted: they react to changes by any process, and to the time.

    Several processes may run the same ones: one of them runs each, and another takes over when it ends. The first
    SIGINT or SIGTERM lets handlers and jobs finish what they have begun; the next one ends the process at once.

    Parameters
    ----------
    what
        Installed systems, or module or module:attribute of your own: shop.consumers. Every installed system by default.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION. On a file, changes are
        handled as they are committed; elsewhere, they are looked for every second.
    buckets
        A folder whose folders take the place of S3's buckets in exports of jobs, where the data is in a file.
    metrics_port
        Serve metrics for Prometheus at /metrics on this port; 0 chooses a free one.
    metrics_host
        The address to serve metrics on. An address other than loopback requires a bearer token, which is set in the
        environment variable PARTITA_METRICS_TOKEN.
    """
    from partita.cli.design_loader import load_installed_systems, load_system
    from partita.cli.interrupts import call_at_signal
    from partita.cli.open_systems import open_systems
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.http.metrics_endpoint import serve_metrics

    names = list(dict.fromkeys(what))
    systems = [load_system(each, *PARTS) for each in names] or load_installed_systems(*PARTS)
    working = [each for each in systems if each.consumers or each.jobs]
    if not working:
        listed = ", ".join(each.name for each in systems)
        raise ConfigurationError(f"{listed}: no consumers or jobs to run; name a module that declares some")
    if on == "memory:":
        raise ConfigurationError("memory: belongs to one process; use a file, or partita serve, which works as well")
    stopping = threading.Event()
    call_at_signal(stopping.set)
    with connect(on, buckets=buckets) as backend, ExitStack() as running:
        sources = [running.enter_context(at_work(opened)) for opened in open_systems(backend, working)]
        if metrics_port is not None:
            endpoint = metrics_endpoint(sources, metrics_host)
            at = running.enter_context(serve_metrics(endpoint, metrics_host, metrics_port))
            shown = f"[{metrics_host}]" if ":" in metrics_host else metrics_host
            print(f"partita: metrics at http://{shown}:{at}/metrics", flush=True)
        print(f"partita: working on {', '.join(names_of(working))}, data in {on}", flush=True)
        stopping.wait()


def names_of(systems: "list[System]") -> list[str]:
    """The names of the consumers and jobs of systems."""
    consumers = [each.name for system in systems for each in system.consumers]
    return consumers + [each.name for system in systems for each in system.jobs or ()]


@contextmanager
def at_work(opened: "OpenSystem", *, runs: bool = True) -> "Iterator[MetricSource]":
    """Runs the consumers and jobs of a system while the context lasts, and gives their metrics.

    Without `runs`, it only watches the consumers, and logs those that stand still.
    """
    sources: list[MetricSource] = []
    with ExitStack() as running:
        if opened.system.consumers:
            sources.append(running.enter_context(_consumers_at_work(opened, runs=runs)))
        if opened.system.jobs is not None:
            sources.append(running.enter_context(_jobs_at_work(opened, opened.system.jobs, runs=runs)))
        yield lambda: [metric for source in sources for metric in source()]


@contextmanager
def _consumers_at_work(opened: "OpenSystem", *, runs: bool) -> "Iterator[MetricSource]":
    from partita.consumers.consumer_metrics import consumer_metrics
    from partita.consumers.monitor import ConsumerMonitor
    from partita.consumers.worker import Worker, create_state_tables

    db, consumers = opened.db, opened.system.consumers
    names = [each.name for each in consumers]
    if runs:
        with Worker(db, consumers) as worker:
            yield lambda: consumer_metrics(db, names, worker.monitor.problems)
    else:
        create_state_tables(db)
        with ConsumerMonitor(db, names) as monitor:
            yield lambda: consumer_metrics(db, names, monitor.problems)


@contextmanager
def _jobs_at_work(opened: "OpenSystem", jobs: "Jobs", *, runs: bool) -> "Iterator[MetricSource]":
    from partita.jobs.job_metrics import job_metrics
    from partita.jobs.job_runner import JobRunner

    runner = JobRunner(opened.db, jobs)
    runner.create_tables()
    with ExitStack() as running:
        if runs:
            thread = threading.Thread(target=runner.run, kwargs={"threads": JOB_THREADS}, name="partita-jobs")
            thread.start()
            running.callback(_join_jobs, thread, jobs.name)
            running.callback(runner.stop)
        yield lambda: job_metrics(runner)


def _join_jobs(thread: threading.Thread, name: str) -> None:
    thread.join(REPORT_SECONDS)
    if thread.is_alive():
        _log.warning("jobs %s: waiting for a run that has not ended; a long one should look at run.should_stop", name)
        thread.join()


def metrics_endpoint(sources: "Sequence[MetricSource]", host: str) -> "MetricsEndpoint":
    """The endpoint of metrics; its token is in the environment."""
    from partita.http.metrics_endpoint import TOKEN_VARIABLE, MetricsEndpoint
    from partita.prometheus import CONTENT_TYPE, rendered

    def render() -> bytes:
        return rendered(metric for source in sources for metric in source())

    return MetricsEndpoint(render, CONTENT_TYPE, host=host, token=os.environ.get(TOKEN_VARIABLE) or None)

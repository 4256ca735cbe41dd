"""Jobs of Checks: due checks are run by one process at a time, which another one replaces when it ends."""

from datetime import timedelta

from partita import JobRun, Jobs, Store
from partita_systems.checks.probes import Prober
from partita_systems.checks.runner import CheckRunner

SECONDS = 10

jobs = Jobs("checks", keep=timedelta(days=1))


@jobs.every(seconds=SECONDS)
def run_checks(db: Store, run: JobRun) -> None:
    """Run checks as they become due, for ten seconds."""
    end = run.begun_at + timedelta(seconds=SECONDS)
    CheckRunner(db, Prober()).run(lambda: run.should_stop or db.now() >= end)

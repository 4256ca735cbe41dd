"""A program with one job, to be killed: `python -m tests.jobs.killed_program DATABASE LOG`."""

import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

from partita import JobRun, JobRunner, Jobs, Store, connect
from tests.jobs.conftest import design

LEASE = timedelta(hours=1)  # no other process waits for its end: it sees at once that one was killed


def main(database: Path, log: Path) -> None:
    jobs = Jobs("killed")
    with log.open("a", buffering=1) as file:

        @jobs.every(seconds=1)
        def job(db: Store, run: JobRun) -> None:
            tick = run.scheduled_at.timestamp()
            file.write(f"begin {tick:.0f} {os.getpid()} {time.monotonic_ns()} {run.cursor}\n")
            run.save("half")
            time.sleep(0.25)
            file.write(f"end {tick:.0f} {os.getpid()} {time.monotonic_ns()} {run.cursor}\n")

        with connect(database, design) as db:
            runner = JobRunner(db, jobs, lease=LEASE)
            signal.signal(signal.SIGTERM, lambda *_: runner.stop())
            runner.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

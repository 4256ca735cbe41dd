"""The table of jobs, stored with the data.

JOBS#group         JOB#job                the state of a job: what is handled, its lease, the tick that runs
TICKS#group#job    TICK#time#number       a tick, or several that were missed or skipped, and what became of it
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from partita.design.conditions import F
from partita.design.entities import Entity
from partita.design.markers import Expires
from partita.design.patterns import pattern
from partita.design.reads import Item, Items, query
from partita.design.tables import Table
from partita.plan.proof.prove import prove

table = Table("partita-jobs", "PK", "SK", ttl="ttl", naming="camel")


class JobOutcome(StrEnum):
    """What became of a tick."""

    RUN = "run"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The job was still busy with an earlier run."""
    MISSED = "missed"
    """No process ran the job."""


class RunningTick(msgspec.Struct, frozen=True):
    """The tick that a job works on; `number` is 0 for a tick of the schedule, and counts runs by hand."""

    scheduled_at: datetime
    begun_at: datetime
    number: int = 0
    crashes: int = 0


class LastRun(msgspec.Struct, frozen=True):
    """The last run of a job that has ended."""

    scheduled_at: datetime
    begun_at: datetime
    ended_at: datetime
    outcome: JobOutcome
    error: str | None = None
    by_hand: bool = False


class JobState(Entity, table=table, key=("JOBS#{group}", "JOB#{job}")):
    """A job: all ticks up to `handled_until` are recorded or running.

    `epoch` changes with every lease and every decision. `owner` is None while the lease is free, and `heartbeat` counts
    while the owner is alive. `running` without an owner is a tick that was interrupted. `runs` counts those that have
    ended, `failures` those of them that have failed.
    """

    group: str
    job: str
    schedule: str
    handled_until: datetime
    epoch: int = 0
    heartbeat: int = 0
    owner: str | None = None
    process: str = ""  # where the owner runs, so that others on the same machine see at once that it has ended
    running: RunningTick | None = None
    cursor: str | None = None
    done: int | None = None
    total: int | None = None
    last: LastRun | None = None
    runs: int = 0
    failures: int = 0


class JobTick(Entity, table=table, key=("TICKS#{group}#{job}", "TICK#{scheduled_at}#{number:+15}")):
    """A tick of a job and its outcome.

    Ticks that follow each other and were all missed, or all skipped, are one record: `count` ticks from `scheduled_at`
    to `last_at`. `seconds` and `process` (host:pid:lease) are those of the process that has ended the run.
    """

    group: str
    job: str
    scheduled_at: datetime
    last_at: datetime
    outcome: JobOutcome
    expires_at: datetime
    number: int = 0
    count: int = 1
    begun_at: datetime | None = None
    seconds: float | None = None
    error: str | None = None
    process: str | None = None

    history = Expires("expires_at")

    @property
    def by_hand(self) -> bool:
        return self.number > 0


@pattern
def job_state(group: str, job: str) -> Item[JobState]:
    """The state of a job."""


@pattern
def job_states(group: str) -> Items[JobState]:
    """The states of all jobs of a group."""


@pattern
def job_tick(group: str, job: str, scheduled_at: datetime, number: int) -> Item[JobTick]:
    """A tick of a job."""


@pattern
def job_history(group: str, job: str) -> Items[JobTick]:
    """The ticks of a job, the last one first."""
    return query(JobTick, group, job).newest_first()


@pattern
def recorded_ticks(group: str, job: str, after: datetime, until: datetime) -> Items[JobTick]:
    """The recorded ticks of a period, the first one first; not the runs by hand."""
    return query(JobTick, group, job).after(after).until(until).where(F.number == 0).oldest_first()


design = prove("partita-jobs", table)

"""Jobs as they are declared.

jobs = Jobs("shop")

@jobs.every(minutes=10)
def close_old_orders(db: Store) -> None: ...

@jobs.cron("0 3 * * *", timezone="Europe/Berlin")
async def send_reports(db: AsyncStore, run: JobRun) -> None: ...
"""

import inspect
import re
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from partita.errors import ConfigurationError, DesignError
from partita.jobs.job_run import JobRun
from partita.jobs.schedules import Schedule, cron_schedule, interval_schedule
from partita.store.async_store import AsyncStore
from partita.store.store import Store

JobFunction: TypeAlias = (
    Callable[[Store], None]
    | Callable[[Store, JobRun], None]
    | Callable[[AsyncStore], Coroutine[Any, Any, None]]
    | Callable[[AsyncStore, JobRun], Coroutine[Any, Any, None]]
)
FunctionOfJob = TypeVar("FunctionOfJob", bound=JobFunction)
Missed = Literal["skip", "once", "all"]

_NAME = re.compile(r"[\w.-]{1,100}")


class JobDecorator(Protocol):
    """Registers a function and returns it as it is."""

    def __call__(self, function: FunctionOfJob, /) -> FunctionOfJob: ...


class Job(msgspec.Struct, frozen=True, eq=False):
    """A function and its schedule."""

    name: str
    schedule: Schedule
    function: Callable[..., Any]
    missed: Missed
    grace: timedelta
    is_async: bool
    takes_run: bool


class Jobs:
    """The jobs of a program.

    name   Their name in the database. Programs whose jobs have the same name and the same database share these jobs:
           each tick runs in one of them.
    keep   How long the record of a tick is kept.
    """

    def __init__(self, name: str, *, keep: timedelta = timedelta(days=30)) -> None:
        self.name = _checked_name("Jobs", name)
        if not _is_duration(keep, timedelta(hours=1)):
            raise DesignError(f"Jobs {name}", f"keep={keep!r} is not valid", "use a timedelta of an hour or more")
        self.keep = keep
        self._jobs: dict[str, Job] = {}

    def __repr__(self) -> str:
        return f"Jobs({self.name!r}: {', '.join(self._jobs) or 'no jobs'})"

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    def __len__(self) -> int:
        return len(self._jobs)

    def __getitem__(self, name: str) -> Job:
        if name not in self._jobs:
            known = ", ".join(self._jobs) or "not declared yet"
            raise ConfigurationError(f"Jobs {self.name!r} has no job {name!r}; its jobs are {known}")
        return self._jobs[name]

    def every(
        self,
        *,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        name: str | None = None,
        missed: Missed = "once",
        grace: timedelta = timedelta(minutes=1),
    ) -> JobDecorator:
        """Runs a function at every multiple of an interval, counted from 1970 in UTC: `every(hours=1)` on the hour.

        name    By default the function's.
        missed  What happens with ticks that nothing could run: "once" runs the last of them, "all" each of them, "skip"
                none. Those that do not run are recorded: as skipped if the job was busy, as missed otherwise.
        grace   With missed="skip", how late a tick still runs.
        """
        return self._register(interval_schedule(seconds, minutes, hours, days), name, missed, grace)

    def cron(
        self,
        expression: str,
        *,
        timezone: str = "UTC",
        name: str | None = None,
        missed: Missed = "once",
        grace: timedelta = timedelta(minutes=1),
    ) -> JobDecorator:
        """Runs a function by a cron expression of five fields, in a time zone; the other settings as for `every`."""
        return self._register(cron_schedule(expression, timezone), name, missed, grace)

    def _register(self, schedule: Schedule, name: str | None, missed: Missed, grace: timedelta) -> JobDecorator:
        where = f"Jobs {self.name}"
        if missed not in ("skip", "once", "all"):
            raise DesignError(where, f"missed={missed!r} is not valid", 'use "skip", "once" or "all"')
        if not _is_duration(grace, timedelta(0)):
            raise DesignError(where, f"grace={grace!r} is not valid", "use a timedelta")

        def register(function: FunctionOfJob, /) -> FunctionOfJob:
            given = getattr(function, "__name__", "") if name is None else name
            chosen = _checked_name(where, given)
            if chosen in self._jobs:
                raise DesignError(where, f"two jobs are named {chosen!r}", "pass name= to one of them")
            count = _parameters(f"{where}, job {chosen}", function)
            is_async = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004
            self._jobs[chosen] = Job(chosen, schedule, function, missed, grace, is_async, count == 2)
            return function

        return register


def _is_duration(value: object, least: timedelta) -> bool:
    return isinstance(value, timedelta) and value >= least


def _checked_name(where: str, name: object) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DesignError(where, f"{name!r} is not a valid name", "use 1 to 100 letters, digits, '_', '-' or '.'")
    return name


def _parameters(where: str, function: object) -> int:
    """How many arguments the function takes: the store, or the store and the run."""
    instead = "write a function of the store, or of the store and a JobRun"
    if not callable(function):
        raise DesignError(where, f"{function!r} is not a function", instead)
    signature = inspect.signature(function)
    for count in (2, 1):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise DesignError(where, f"the function cannot be called with these arguments: {signature}", instead)

"""Time in tests that holds on a busy machine.

A claim is about processor time, and the shortest of a few runs counts. A deadline only bounds a failure: a machine may
stand still for seconds.
"""

import time
from collections.abc import Callable

CPUCLOCK_SCHED = 2  # of Linux: the processor time of a process, as a clock
PATIENCE = 120.0  # seconds until a test gives up on something that should take no time


def thread_seconds(run: Callable[[], object]) -> float:
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


def process_seconds(pid: int) -> float:
    """The processor time that a running process has taken, all its threads together."""
    return time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED)


def shortest(run: Callable[[], object], enough: float, attempts: int = 4) -> float:
    """The shortest time of some runs; ends with the first that takes no longer than is enough."""
    took = thread_seconds(run)
    for _ in range(attempts - 1):
        if took <= enough:
            break
        took = min(took, thread_seconds(run))
    return took

"""Claims about time that hold on a busy machine: the shortest of a few runs counts, in processor time of the thread."""

import time
from collections.abc import Callable


def thread_seconds(run: Callable[[], object]) -> float:
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


def shortest(run: Callable[[], object], enough: float, attempts: int = 4) -> float:
    """The shortest time of some runs; ends with the first that takes no longer than is enough."""
    took = thread_seconds(run)
    for _ in range(attempts - 1):
        if took <= enough:
            break
        took = min(took, thread_seconds(run))
    return took

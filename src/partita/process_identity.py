"""Identifies processes, so that others on the same machine see at once that one has ended."""

import os
from functools import cache

_ENDED = ("Z", "X")  # states of a process that was killed, and whose parent has not noticed it yet


def this_process() -> str:
    """Identifies this process among all on this machine; "" where that cannot be known."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}" if _machine() else ""


def is_dead(process: str) -> bool:
    """Whether a process of this machine, as `this_process` names it, has ended; false for one of another machine."""
    machine, _, rest = process.rpartition("/")[0].rpartition("/")
    started = process.rpartition("/")[2]
    return bool(machine) and machine == _machine() and rest.isdigit() and _started(int(rest)) != started


@cache
def _machine() -> str:
    """Identifies this machine since it was started, and its space of process ids."""
    from pathlib import Path  # slow to import, and few programs ask

    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was; "" if there is no such process."""
    from pathlib import Path

    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "" if stat[0] in _ENDED else stat[19]
    except (OSError, IndexError):
        return ""

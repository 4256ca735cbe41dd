"""A fork with an open database: the child cannot use it, and gets an error at once instead of a wrong answer or a hang.

SQLite's connections, the locks of a file and the threads that commit do not survive a fork. So the child's copy of
every open storage and engine is invalidated as the first thing in the child. Its connections are never closed there:
closing would release or delete files that the parent uses. The file cannot be opened again in the child either: SQLite
keeps one state for each file in a process, and the child's says that it has the parent's locks.
"""

import os
from typing import Any, Protocol
from weakref import WeakSet


class Invalidated(Protocol):
    """An object that a fork invalidates."""

    def after_fork(self) -> None:
        """Called in the child, which has one thread: every later use raises an error."""
        ...


_open: WeakSet[Any] = WeakSet()
_held: list[Any] = []
inherited_files: set[tuple[int, int]] = set()
"""Device and inode of the database files that were open when this process was forked."""


def register(each: Invalidated) -> None:
    _open.add(each)


def leak(each: object) -> None:
    """Keeps an object from being finalized, also at the end of the process."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def _before() -> None:
    """The child ends all other threads before it runs `_in_child`, and with them the objects that only they have."""
    for each in list(_open):
        _held.append(each)
        _held.extend(getattr(each, "connections", ()))


def _in_child() -> None:
    for each in list(_open):
        each.after_fork()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_held.clear, after_in_child=_in_child)

"""Database files that are mapped into memory, and stay readable as errors where a mapping fails.

A page of a mapping that cannot be read, because the file has become shorter or the disk has failed, is not an error of
SQLite but the signal SIGBUS, which ends the process. Here a handler of that signal replaces the mapping by zeros and
counts the fault, and the read goes on:

    read a page  ->  SIGBUS  ->  zeros in place of the mapping, `faults` grows  ->  the read ends
                                 SQLite rejects the zeros, or the reader sees that `faults` has grown: an error

The signal comes at an instruction of SQLite that reads the mapping, at no other point of the program, so the handler
may do what any function may do. SIGBUS at other addresses goes to the handler that was there before. The index of a log
(`-shm`), which SQLite maps too, is no such file: a process must not go on without what it has written there.
"""

import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

_MACHINES = ("x86_64", "aarch64")
_ADDRESS_IN_SIGINFO = 16  # bytes before `si_addr` where pointers have 64 bits
_SA_SIGINFO = 4
_READ_WRITE = 1 | 2
_PRIVATE_FIXED_ANONYMOUS = 0x02 | 0x10 | 0x20
_FAILED = ctypes.c_void_p(-1).value

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """`struct sigaction` of glibc and musl."""

    _fields_ = (
        ("handler", _Handler),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class MappedFile:
    """A file that this process maps; `faults` grows when one of its mappings fails."""

    def __init__(self, path: str) -> None:
        found = os.stat(path)  # noqa: PTH116 - the number is what a mapping names
        self.path, self.inode = os.path.realpath(path), found.st_ino
        self.faults = 0


_files: WeakValueDictionary[str, MappedFile] = WeakValueDictionary()
_lock = threading.Lock()
_before = _Action()


def mapped_file(path: str) -> MappedFile | None:
    """The file to be mapped; None where a fault of a mapping would end the process."""
    if not _is_possible():
        return None
    with _lock:
        _libc()
        found = _files.get(path)
        if found is None:
            found = _files[path] = MappedFile(path)
        return found


def _is_possible() -> bool:
    return (
        sys.platform == "linux"
        and sys.implementation.name == "cpython"
        and sys.maxsize > 2**32
        and platform.machine() in _MACHINES
    )


@cache
def _libc() -> Any:
    """The C library, once it calls the handler of this module."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    libc.sigaction(signal.SIGBUS, ctypes.byref(_action), ctypes.byref(_before))
    return libc


def _on_fault(number: int, information: int, context: int) -> None:
    address = ctypes.c_void_p.from_address(information + _ADDRESS_IN_SIGINFO).value or 0
    for begin, end, inode, path in _mappings():
        if begin <= address < end:
            file = next((each for each in _files.values() if path == each.path or inode == each.inode), None)
            if file is not None and not path.removesuffix(" (deleted)").endswith("-shm"):
                file.faults += 1
                found = _libc().mmap(begin, end - begin, _READ_WRITE, _PRIVATE_FIXED_ANONYMOUS, -1, 0)
                if found != _FAILED:
                    return
            break
    _libc().sigaction(signal.SIGBUS, ctypes.byref(_before), None)  # the instruction is repeated, and that one is called


def _mappings() -> Iterator[tuple[int, int, int, str]]:
    """The mappings of this process: first and last address, the file's number and path (proc(5))."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:  # noqa: PTH123 - see `_on_fault`
        for line in lines:
            addresses, _, _, _, inode, *path = line.rstrip("\n").split(None, 5)
            begin, end = addresses.split("-")
            yield int(begin, 16), int(end, 16), int(inode), path[0] if path else ""


_action = _Action(_Handler(_on_fault), (ctypes.c_ulong * 16)(), _SA_SIGINFO, None)

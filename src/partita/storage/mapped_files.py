"""Database files that are mapped into memory, and stay readable as errors where a mapping fails.

A page of a mapping that cannot be read, because the file has become shorter or the disk has failed, is not an error of
SQLite but the signal SIGBUS, which ends the process. Here a handler of that signal replaces the mapping by zeros and
counts the fault, and the read goes on:

    read a page  ->  SIGBUS  ->  zeros in place of the mapping, `faults` changes  ->  the read ends
                                 SQLite rejects the zeros, or the reader sees that `faults` has changed: an error

The signal comes at an instruction of SQLite that reads the mapping, at no other point of the program, so the handler
may do what any function may do. It opens no file and takes no memory of the size of the mapping: neither may be left.
SIGBUS at other addresses, or sent by a process, goes to the handler that was there before. The index of a log
(`-shm`), which SQLite maps too, is no such file: a process must not go on without what it has written there.
"""

import ctypes
import faulthandler
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

_MACHINES = ("x86_64", "aarch64")
_CODE_IN_SIGINFO, _ADDRESS_IN_SIGINFO = 8, 16  # bytes before `si_code` and `si_addr` where pointers have 64 bits
_SA_SIGINFO = 4
_SI_TKILL = -6  # the code of a signal that a thread sent; those of faults are positive
_READ = 1  # a mapping that can be written would need as much free memory
_PRIVATE_FIXED_ANONYMOUS = 0x02 | 0x10 | 0x20
_FAILED = ctypes.c_void_p(-1).value
_BLOCK = 65536

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
    """A file that this process maps; `faults` changes when one of its mappings fails."""

    def __init__(self, path: str) -> None:
        found = os.stat(path)  # noqa: PTH116 - the number is what a mapping names
        self.path, self.inode = os.path.realpath(path), found.st_ino
        self.faults = 0


class _FaultHandler:
    """The handler of SIGBUS; raises OSError or MemoryError where the system does not allow one."""

    def __init__(self) -> None:
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        self._numbers = count(1)  # of faults
        self._open_mappings()
        self._had_faulthandler = faulthandler.is_enabled()
        self._before = _Action()
        self._action = _Action(_Handler(self._on_signal), (ctypes.c_ulong * 16)(), _SA_SIGINFO, None)
        self._libc.sigaction(signal.SIGBUS, ctypes.byref(self._action), ctypes.byref(self._before))

    def _open_mappings(self) -> None:
        self._mappings_of_process = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """The descriptor lists the mappings of the parent, and another thread of it may have held the lock."""
        os.close(self._mappings_of_process)
        self._open_mappings()

    def _on_signal(self, number: int, information: int, context: int) -> None:
        code = ctypes.c_int.from_address(information + _CODE_IN_SIGINFO).value
        if code > 0:
            address = ctypes.c_void_p.from_address(information + _ADDRESS_IN_SIGINFO).value or 0
            if not self._replace_mapping(address):
                self._restore()  # the instruction is repeated, and that handler is called
        elif code == _SI_TKILL and faulthandler.is_enabled() and not self._had_faulthandler:
            pass  # it was enabled later, has written its report and calls the handler before it: the fault is repeated
        else:
            self._restore()
            signal.raise_signal(signal.SIGBUS)

    def _restore(self) -> None:
        self._libc.sigaction(signal.SIGBUS, ctypes.byref(self._before), None)

    def _replace_mapping(self, address: int) -> bool:
        """Replaces the mapping of a file that has an address by zeros; false where that is impossible."""
        try:
            for begin, end, inode, path in self._mappings():
                if begin <= address < end:
                    file = _file_of(inode, path)
                    if file is None:
                        return False
                    file.faults = next(self._numbers)
                    found = self._libc.mmap(begin, end - begin, _READ, _PRIVATE_FIXED_ANONYMOUS, -1, 0)
                    return bool(found != _FAILED)
        except (OSError, ValueError):
            pass
        return False

    def _mappings(self) -> Iterator[tuple[int, int, int, str]]:
        """The mappings of this process: first and last address, the file's number and path (proc(5))."""
        with self._lock:  # a read goes on where the last one of this descriptor ended
            text = b""
            while block := os.pread(self._mappings_of_process, _BLOCK, len(text)):
                text += block
        for line in os.fsdecode(text).split("\n")[:-1]:
            addresses, _, _, _, inode, *path = line.split(None, 5)
            begin, end = addresses.split("-")
            yield int(begin, 16), int(end, 16), int(inode), path[0] if path else ""


_files: WeakValueDictionary[str, MappedFile] = WeakValueDictionary()
_handlers: list[_FaultHandler] = []  # the one of this process
_lock = threading.Lock()


def mapped_file(path: str) -> MappedFile | None:
    """The file to be mapped; None where a fault of a mapping would end the process."""
    if not _is_possible():
        return None
    with _lock:
        try:
            if not _handlers:
                _handlers.append(_FaultHandler())
            found = _files.get(path)
            if found is None:
                found = _files[path] = MappedFile(path)
        except (OSError, MemoryError):
            return None
        return found


def _is_possible() -> bool:
    return (
        sys.platform == "linux"
        and sys.implementation.name == "cpython"
        and sys.maxsize > 2**32
        and platform.machine() in _MACHINES
    )


def _file_of(inode: int, path: str) -> MappedFile | None:
    """The file that a mapping names; its path may be another one by now, or have no file any more."""
    name = path.removesuffix(" (deleted)")
    if name.endswith("-shm"):
        return None
    files = (reference() for reference in _files.valuerefs())
    return next((each for each in files if each and (each.inode == inode or each.path in (path, name))), None)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()
    for each in _handlers:
        each.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

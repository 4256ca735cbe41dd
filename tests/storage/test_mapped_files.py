"""Files that readers map: the same answers as from a cache, and an error where a mapping fails, never a signal."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from partita.errors import StorageClosed, StorageError
from partita.storage import sqlite
from partita.storage.contract import Row, Write
from partita.storage.mapped_files import mapped_file
from partita.storage.sqlite import SqliteStorage
from tests.timing import PATIENCE

ROWS = 2000


def key(number: int) -> bytes:
    return b"k%05d" % number


def row(number: int) -> Row:
    return Row(number, (b"%05d" % number) * 200)


def fill(storage: SqliteStorage, first: int, last: int) -> None:
    with storage.transaction() as txn:
        if first == 0:
            txn.create_space("s")
        txn.apply(Write("s", key(each), None, row(each)) for each in range(first, last))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that is large enough to be mapped."""
    monkeypatch.setattr(sqlite, "MAP_FROM", 1_000_000)
    found = str(tmp_path / "rows.db")
    storage = SqliteStorage(found)
    fill(storage, 0, ROWS)
    storage.close()
    return found


def is_mapped(path: str) -> bool:
    return any(line.rstrip().endswith(path) for line in Path("/proc/self/maps").read_text().splitlines())


def test_large_file_is_mapped_and_answers_as_before(path: str) -> None:
    storage = SqliteStorage(path)
    assert storage.get("s", key(7)) == row(7)
    assert is_mapped(path)
    assert [each[0] for each in storage.range("s", b"", None)] == [key(each) for each in range(ROWS)]
    assert storage.get("s", b"missing") is None
    storage.close()
    assert not is_mapped(path)


def test_small_file_is_not_mapped(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.db")
    storage = SqliteStorage(path)
    fill(storage, 0, 10)
    assert storage.get("s", key(7)) == row(7)
    assert not is_mapped(path)
    storage.close()


def test_file_that_grows_is_mapped_while_threads_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges that were begun before go on."""
    monkeypatch.setattr(sqlite, "MAP_FROM", 1_000_000)
    path = str(tmp_path / "rows.db")
    storage = SqliteStorage(path)
    fill(storage, 0, 10)
    assert storage.get("s", key(3)) == row(3)
    fill(storage, 10, ROWS)
    with storage._checkpointer._open() as connection:
        connection.wal_checkpoint()
    begun = storage.range("s", b"", None)
    assert next(begun)[0] == key(0)
    assert not is_mapped(path)
    fill(storage, ROWS, ROWS + 1)
    assert storage.get("s", key(3)) == row(3)
    assert is_mapped(path)
    assert [each[0] for each in begun] == [key(each) for each in range(1, ROWS)]
    assert storage.get("s", key(ROWS)) == row(ROWS)
    found: list[Row | None] = []
    thread = threading.Thread(target=lambda: found.append(storage.get("s", key(3))))
    thread.start()
    thread.join()
    assert found == [row(3)]
    storage.close()


def run(path: str, code: str) -> "subprocess.CompletedProcess[str]":
    """Runs code with an open storage whose log has a commit; with an empty log SQLite looks at the size of the file."""
    whole = f"import os, threading\nfrom tests.storage.test_mapped_files import *\npath = {path!r}\n"
    whole += f"sqlite.MAP_FROM = 1_000_000\nstorage = SqliteStorage(path)\nfill(storage, ROWS, ROWS + 1)\n{code}"
    return subprocess.run([sys.executable, "-c", whole], check=False, capture_output=True, text=True, timeout=PATIENCE)


READ = """
outcomes = []
def read(number):
    try:
        found = storage.get("s", key(number))
        outcomes.append("right" if found == row(number) else f"wrong: {found}")
    except StorageError as error:
        outcomes.append("error")
assert storage.get("s", key(0)) == row(0) and is_mapped(path)
file = storage._reader()._mapped
"""


@pytest.mark.parametrize("left", [2, 3, 8, 100])
def test_truncated_file_is_an_error_and_no_signal(path: str, left: int) -> None:
    """Whatever is read then is right or an error: in every thread, and however often."""
    code = f"""{READ}
mapped, truncated = threading.Barrier(5), threading.Barrier(5)
def read_all():
    read(0)
    mapped.wait()
    truncated.wait()
    for each in range(0, ROWS, 7): read(each)
threads = [threading.Thread(target=read_all) for _ in range(4)]
for each in threads: each.start()
mapped.wait()
os.truncate(path, {left} * 8192)
truncated.wait()
for each in threads: each.join()
assert file.faults
print(sorted(set(outcomes) - {{"right"}}))
try:
    print(len(list(storage.range("s", b"", None))))
except StorageError:
    print("error")
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "['error']\nerror\n"), done.stderr


def test_page_that_can_be_read_again_is_read(path: str) -> None:
    """The file is as before: nothing has to be closed and opened."""
    code = f"""{READ}
content = open(path, "rb").read()
os.truncate(path, 8192 * 3)
read(1900)
assert file.faults
with open(path, "r+b") as restored:
    restored.write(content)
for each in range(ROWS): read(each)
print(outcomes.count("error") >= 1, outcomes[-ROWS + 1:].count("right"))
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, f"True {ROWS - 1}\n"), done.stderr


def test_fault_of_another_mapping_ends_the_process_as_before(path: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" * 8192)
    code = f"""{READ}
import mmap
with open({str(other)!r}, "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 8192)
os.truncate({str(other)!r}, 0)
mapped[4096]
"""
    assert run(path, code).returncode == -7


def test_handler_that_was_there_before_is_called_for_other_mappings(path: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" * 8192)
    code = f"""
import faulthandler, mmap
faulthandler.enable()
{READ}
with open({str(other)!r}, "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 8192)
os.truncate({str(other)!r}, 0)
mapped[4096]
"""
    done = run(path, code)
    assert (done.returncode, "Bus error" in done.stderr) == (-7, True)


def test_files_with_odd_names_are_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "a b\nc (deleted).db")
    monkeypatch.setattr(sqlite, "MAP_FROM", 1_000_000)
    storage = SqliteStorage(path)
    fill(storage, 0, ROWS)
    storage.close()
    code = f"{READ}\nos.truncate(path, 8192 * 2)\nread(1500)\nprint(outcomes, file.faults > 0)"
    done = run(path, code.replace(" and is_mapped(path)", ""))
    assert (done.returncode, done.stdout) == (0, "['error'] True\n"), done.stderr


def test_a_file_has_one_count_of_faults(path: str) -> None:
    first = mapped_file(path)
    assert first is not None
    assert first is mapped_file(path)
    assert first.faults == 0


def test_pages_that_were_copied_as_zeros_are_read_again(path: str) -> None:
    """Page 1 is copied even where the file is mapped, and no commit tells SQLite that its copy is old."""
    code = f"""{READ}
storage._reader().apsw.execute("PRAGMA shrink_memory").fetchall()
content = open(path, "rb").read()
os.truncate(path, 0)
for each in range(20): read(each)
assert file.faults and set(outcomes) == {{"error"}}
with open(path, "r+b") as restored:
    restored.write(content)
outcomes.clear()
for each in range(ROWS): read(each)
print(outcomes.count("right") >= ROWS - 1)
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_rows_that_may_have_ended_at_zeros_are_an_error(path: str) -> None:
    storage = SqliteStorage(path)
    rows = storage.range("s", key(0), key(3))
    assert len([next(rows) for _ in range(3)]) == 3
    mapped = mapped_file(path)
    assert mapped is not None
    mapped.faults += 1
    with pytest.raises(StorageError, match="could not be read"):
        next(rows)
    storage.close()
    storage = SqliteStorage(path)
    for _ in range(2):  # the second is stored
        list(storage.batches("s", key(0), key(3), expected=9))
    mapped.faults += 1
    with pytest.raises(StorageError, match="could not be read"):
        list(storage.batches("s", key(0), key(3), expected=9))
    storage.close()


def test_file_larger_than_memory_that_is_truncated_is_an_error(path: str) -> None:
    """Zeros in place of its mapping need no memory."""
    code = f"""
storage.close()
os.truncate(path, 1 << 42)
storage = SqliteStorage(path)
fill(storage, ROWS + 1, ROWS + 2)
{READ}
os.truncate(path, 8192 * 3)
read(1900)
print(outcomes, file.faults > 0)
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "['error'] True\n"), done.stderr


def test_fault_without_a_free_descriptor_is_an_error(path: str) -> None:
    code = f"""{READ}
import resource
used = len(os.listdir("/proc/self/fd")) - 1
resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
os.truncate(path, 8192 * 3)
read(1900)
print(outcomes, file.faults > 0)
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "['error'] True\n"), done.stderr


def test_fault_is_an_error_where_faulthandler_is_enabled_later(path: str) -> None:
    code = f"""{READ}
import faulthandler
faulthandler.enable()
os.truncate(path, 8192 * 3)
read(1900)
read(1900)
print(outcomes, file.faults > 0)
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "['error', 'error'] True\n"), done.stderr


def test_signal_that_a_process_sends_ends_the_process_as_before(path: str) -> None:
    code = f"""{READ}
import signal
os.kill(os.getpid(), signal.SIGBUS)
print("goes on")
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (-7, "")


def test_child_of_a_fork_handles_faults_of_its_own_files(path: str) -> None:
    """Another thread may be opening a file at that moment."""
    code = f"""{READ}
import shutil
from partita.storage import mapped_files
shutil.copy(path, path + "2")
with mapped_files._lock, mapped_files._handlers[0]._lock:
    child = os.fork()
if child == 0:
    path += "2"
    storage = SqliteStorage(path)
    fill(storage, ROWS + 1, ROWS + 2)
    {READ.strip().splitlines()[-2]}
    os.truncate(path, 8192 * 3)
    try:
        storage.get("s", key(1900))
    except StorageError:
        os._exit(42 if storage._reader()._faults == 0 else 43)
    os._exit(44)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(path, code)
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


@pytest.mark.parametrize("closed", [True, False])
def test_read_of_a_thread_that_does_not_map_the_file_yet(
    path: str, closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was deleted, or the storage closed, before its turn came."""
    monkeypatch.setattr(sqlite, "MAP_FROM", 1 << 40)
    storage = SqliteStorage(path)
    assert storage.get("s", key(3)) == row(3)
    assert storage._unmapped is None
    monkeypatch.setattr(sqlite, "MAP_FROM", 1_000_000)
    fill(storage, ROWS, ROWS + 1)
    if closed:
        storage.close()
        with pytest.raises(StorageClosed):
            storage.get("s", key(3))
    else:
        Path(path).rename(tmp_path / "elsewhere")
        assert storage.get("s", key(3)) == row(3)
        storage.close()

"""Files that readers map: the same answers as from a cache, and an error where a mapping fails, never a signal."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from partita.errors import StorageError  # noqa: F401 - of the code that `run` runs
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
    whole = f"import os, threading\nfrom tests.storage.test_mapped_files import *\npath = {path!r}\n"
    whole += f"sqlite.MAP_FROM = 1_000_000\nstorage = SqliteStorage(path)\n{code}"
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
"""


@pytest.mark.parametrize("left", [2, 3, 8, 100])
def test_truncated_file_is_an_error_and_no_signal(path: str, left: int) -> None:
    """Whatever is read then is right or an error: in every thread, and however often."""
    code = f"""{READ}
os.truncate(path, {left} * 8192)
threads = [threading.Thread(target=lambda: [read(each) for each in range(0, ROWS, 7)]) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
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
with open(path, "r+b") as file:
    file.write(content)
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
    done = run(
        path, f"{READ}\nos.truncate(path, 8192 * 2)\nread(1500)\nprint(outcomes)".replace(" and is_mapped(path)", "")
    )
    assert (done.returncode, done.stdout) == (0, "['error']\n"), done.stderr


def test_a_file_has_one_count_of_faults(path: str) -> None:
    first = mapped_file(path)
    assert first is not None
    assert first is mapped_file(path)
    assert first.faults == 0

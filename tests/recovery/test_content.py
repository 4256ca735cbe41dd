"""Contents of tables are compared outside of memory, and nothing of them is left behind."""

import sys
from pathlib import Path

import pytest

from partita.recovery.content import contents

ITEMS = 30_000


def _deleted_files() -> set[str]:
    """The files without a name that this process has open."""
    links = (str(each.resolve()) for each in Path("/proc/self/fd").iterdir())
    return {each for each in links if each.endswith("(deleted)")}


@pytest.mark.skipif(sys.platform != "linux", reason="the open files of a process are found in /proc")
def test_digests_are_in_a_file_without_a_name() -> None:
    """A process that is killed left the keys of items."""
    before = _deleted_files()
    with contents(["pk"], "before") as found:
        rows = ((f"{number:060}".encode(), b"digest") for number in range(ITEMS))
        found._connection.executemany("INSERT INTO items (k, before) VALUES (?, ?)", rows)
        assert found.count("before IS NOT NULL") == ITEMS
        assert _deleted_files() > before
    assert _deleted_files() == before

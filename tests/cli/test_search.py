"""`partita search`, as people use it."""

import subprocess
import sys
from pathlib import Path

import pytest

from partita import connect
from tests.search import cards
from tests.search.cards import Card

pytestmark = pytest.mark.slow

MODULE = """
from tests.search.cards import design, new_index
search = new_index()
other = new_index("other")
"""


def run(folder: Path, *arguments: str, fails: bool = False) -> str:
    root = str(Path(cards.__file__).parents[2])
    command = [sys.executable, "-m", "partita", "search", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": f"{folder}:{root}"}
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def test_index_is_built_shown_and_searched(tmp_path: Path) -> None:
    (tmp_path / "workshop.py").write_text(MODULE)
    with connect(str(tmp_path / "partita.db"), cards.design) as db:
        db.create_tables()
        db.put(Card(card_id="c1", title="Mesas de carvalho"))
    assert run(tmp_path, "rebuild", "workshop", "--index", "search") == "search: 1 document\n"
    found = run(tmp_path, "query", "workshop", "mesa", "--index", "search").splitlines()
    assert found[0].endswith("Card c1")
    assert found[1:] == ["          title: [Mesas] de carvalho", "1 found"]
    shown = run(tmp_path, "status", "workshop")
    assert "complete" in shown
    assert "never run" in shown
    error = run(tmp_path, "query", "workshop", "mesa", fails=True)
    assert error == "partita: workshop has the text indexes search, other; choose one with --index\n"

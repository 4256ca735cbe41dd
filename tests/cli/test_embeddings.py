"""`partita embeddings`, as people use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from partita import connect, settle
from tests.search import meanings as example
from tests.search.meanings import NEW, OLD, Part, declared, design, found

pytestmark = pytest.mark.slow

MODULE = """
import os
from tests.search.meanings import NEW, OLD, declared, design

class Dying(type(NEW)):
    left = int(os.environ.get("DIE_AFTER", "-1"))
    def vectors(self, texts, purpose):
        type(self).left -= 1
        if type(self).left == 0:
            os._exit(9)
        return super().vectors(texts, purpose)

meanings = declared(Dying("new/1", flipped=True), OLD)
"""


def run(folder: Path, *arguments: str, status: int = 0, **environment: str) -> str:
    root = str(Path(example.__file__).parents[2])
    command = [sys.executable, "-m", "partita", "embeddings", *arguments]
    paths = {"PYTHONPATH": f"{folder}:{root}", "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **paths, **environment}
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_killed_migration_continues_and_old_vectors_are_cleaned(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(MODULE)
    file = str(tmp_path / "partita.db")
    with connect(file, design) as db:
        db.create_tables()
        for number in range(300):
            db.put(Part(part_id=str(number), name=str(number)))
        settle(db, *declared(OLD).consumers)
    run(tmp_path, "migrate", "parts", status=9, DIE_AFTER="200")
    with connect(file, design) as db:
        both = declared(NEW, OLD)
        assert both.embedder(db).model == "old/1"
        assert len(found(db, both, "7")) == 100
    assert "incomplete" in run(tmp_path, "status", "parts")
    shown = run(tmp_path, "migrate", "parts")
    assert shown.splitlines()[0] == "meanings: searches use new/1 now, and used old/1 before"
    assert "no other process runs its consumer" in shown
    assert run(tmp_path, "migrate", "parts") == "meanings: searches use new/1 already\n"
    with connect(file, design) as db:
        assert both.embedder(db).model == "new/1"
        assert found(db, both, "7")[0] == "7"
        assert sum(each.model == "new/1" for each in db.scan(example.Meaning)) == 300
    error = run(tmp_path, "clean", "parts", status=2)
    assert "the model has just been changed" in error
    (tmp_path / "plain.py").write_text("from tests.search.meanings import design\n")
    assert "has no embeddings; declare them" in run(tmp_path, "status", "plain", status=2)

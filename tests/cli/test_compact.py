"""`partita compact`: what is due is dropped, and the file becomes smaller."""

from pathlib import Path

import pytest

from partita import connect
from partita.cli.compact import compact
from partita.errors import ConfigurationError
from tests.cli import ledger
from tests.cli.ledger import Entry


def test_file_is_rewritten_without_what_was_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ledger.db"
    with connect(file, ledger.design) as db:
        db.create_tables()
        db.put_many([Entry(entry_id=f"{number:0500}", amount=number) for number in range(200)])
        db.delete_many([ledger.entry(f"{number:0500}") for number in range(199)])
    before = file.stat().st_size
    compact(file)
    assert capsys.readouterr().out.startswith(f"{file}: {before / 1e6:.1f} MB before, ")
    with connect(file, ledger.design) as db:
        assert [each.amount for each in db.scan(Entry)] == [199]


def test_only_database_files_are_rewritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a file"):
        compact(tmp_path)
    with pytest.raises(ConfigurationError, match="no such file"):
        compact(tmp_path / "missing.db")
    file = tmp_path / "text.db"
    file.touch()
    with pytest.raises(ConfigurationError, match="nothing to rewrite"):
        compact(file)
    file.write_text("not a database" * 100)
    with pytest.raises(ConfigurationError, match="not a Partita database file"):
        compact(file)

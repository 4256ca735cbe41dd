"""The guide to AWS Lambda: its function runs, needs no botocore, and its table has what `make size` measures."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.installed_size import GUIDE, MB, OURS, PYNAMODB, SUBJECTS, TABLE, Size, installed_size, page_table

(SOURCE,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_function_of_the_guide_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", "memory:")
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(SOURCE, GUIDE.name, "exec"), names)  # noqa: S102 - the guide is ours
    with names["db"] as db:
        db.create_tables()
        db.create(names["Order"](customer_id="c1", order_id="o1"))
        assert names["handler"]({"customerId": "c1", "orderId": "o1"}, None) == {"found": True, "status": "OPEN"}
        assert names["handler"]({"customerId": "c1", "orderId": "o2"}, None) == {"found": False, "status": None}


def test_function_loads_neither_botocore_nor_the_engine(tmp_path: Path) -> None:
    """With what Lambda puts into the environment."""
    (tmp_path / "shop.py").write_text(SOURCE, encoding="utf-8")
    keys = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | keys
    code = "import sys, shop; print(shop.db.backend.endpoint, [m for m in ('apsw', 'botocore') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment | {"AWS_SESSION_TOKEN": "token"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split(" ", 1) == ["https://dynamodb.eu-west-1.amazonaws.com", "[]\n"]


def test_sizes_in_the_guide_are_of_one_run_and_ours_is_below_pynamodbs() -> None:
    found = TABLE.search(GUIDE.read_text(encoding="utf-8"))
    assert found is not None
    rows = dict(re.findall(r"^\| `(\S+?)` +\| +(\d+) MB", found.group(), re.MULTILINE))
    assert tuple(rows) == SUBJECTS
    assert int(rows[OURS]) < int(rows[PYNAMODB])


def test_size_is_that_of_all_files(tmp_path: Path) -> None:
    for name, size in (("one/a.py", 2), ("one/__pycache__/a.pyc", 3), ("two/b.so", 7), ("c.py", 1)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size * MB)
    found = installed_size(tmp_path)
    assert found == Size(13 * MB, 10 * MB, (("two", 7 * MB), ("one", 5 * MB), ("c.py", MB)))
    assert "| `x` |     13 MB |" in page_table({"x": found})

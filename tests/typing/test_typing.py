"""Static types reach the call: mypy and pyright, strict and without a plugin, flag every mistake and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RIGHT = [HERE / "right.py", HERE.parent / "design" / "shop.py"]
MISTAKES = HERE / "mistakes.py.txt"  # not .py: the repository itself is free of errors

BLOCK = re.compile(r"^```python ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITHOUT_TYPES = {"boto3-and-pytest.md"}  # boto3's own types are not strict
VERSION = re.compile(r"\w+_\d")  # a block of one version of a module

Place = tuple[str, int]


@pytest.fixture
def mistakes(tmp_path: Path) -> Path:
    copy = tmp_path / "mistakes.py"
    copy.write_text(MISTAKES.read_text())
    return copy


def planted(*files: Path) -> set[Place]:
    """The lines that both checkers have to flag."""
    return {
        (file.name, number)
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "# mistake:" in line
    }


@pytest.fixture
def guide(tmp_path: Path) -> list[Path]:
    """The programs of the guide, one for each page or version of a module; blocks of pytest have no types."""
    programs: dict[str, list[str]] = {}
    for page in sorted((ROOT / "docs" / "guide").glob("*.md")):
        if page.name not in WITHOUT_TYPES:
            for label, text in BLOCK.findall(page.read_text(encoding="utf-8")):
                version = f"_{label}" if VERSION.fullmatch(label) else ""
                if label != "pytest":
                    programs.setdefault(f"guide_{page.stem.replace('-', '_')}{version}", []).append(text)
    files = [tmp_path / f"{name}.py" for name in programs]
    for file, blocks in zip(files, programs.values(), strict=True):
        file.write_text("\n".join(blocks), encoding="utf-8")
    return files


def mypy(*files: Path) -> set[Place]:
    """Where mypy sees errors, as (file name, line)."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    found = subprocess.run([*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stdout + found.stderr
    located = re.findall(r"^(.*?):(\d+): error", found.stdout, re.MULTILINE)
    names = {file.name for file in files}
    return {(Path(name).name, int(line)) for name, line in located if Path(name).name in names}


def pyright(folder: Path, *files: Path) -> set[Place]:
    """Where pyright sees errors, as (file name, line)."""
    program = shutil.which("pyright") or str(Path(sys.executable).parent / "pyright")
    if not Path(program).exists():
        pytest.skip("pyright is not installed")
    settings = {
        "include": [os.path.relpath(file, folder) for file in files],
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "pythonVersion": "3.11",
    }
    config = folder / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    command = [program, "--project", str(config), "--pythonpath", sys.executable, "--outputjson"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(found.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    }


def test_mypy_accepts_a_design_and_its_use() -> None:
    assert mypy(*RIGHT) == set()


def test_mypy_flags_every_planted_mistake_and_nothing_else(mistakes: Path) -> None:
    assert mypy(mistakes) == planted(mistakes)


def test_pyright_accepts_a_design_and_its_use(tmp_path: Path) -> None:
    assert pyright(tmp_path, *RIGHT) == set()


def test_pyright_flags_every_planted_mistake_and_nothing_else(tmp_path: Path, mistakes: Path) -> None:
    assert pyright(tmp_path, mistakes) == planted(mistakes)


def test_mypy_accepts_the_programs_of_the_guide(guide: list[Path]) -> None:
    assert mypy(*guide) == planted(*guide)


def test_pyright_accepts_the_programs_of_the_guide(tmp_path: Path, guide: list[Path]) -> None:
    assert pyright(tmp_path, *guide) == planted(*guide)

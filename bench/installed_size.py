"""Installed size, for AWS Lambda: Partita with the extras for Amazon beside PynamoDB and boto3, in one run.

pip installs each into a folder of its own, so a package index has to be reachable. `make size` prints the table and
writes it into the guide.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.report import Target, table

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide" / "aws-lambda.md"
MB = 1_000_000
OURS, PYNAMODB = "partita[remote]", "pynamodb"
SUBJECTS = (OURS, "partita[remote,aws]", PYNAMODB, "boto3")
TABLE = re.compile(r"(?<=<!-- make size -->\n).*?(?=<!-- end -->)", re.DOTALL)


class Size(NamedTuple):
    """The bytes of an installation: all of them, those without compiled Python, and the packages with most of them."""

    whole: int
    without_bytecode: int
    largest: tuple[tuple[str, int], ...]


def installed_size(folder: Path) -> Size:
    """The size of the files in a folder."""
    packages: dict[str, int] = {}
    whole = bytecode = 0
    for file in folder.rglob("*"):
        if file.is_file():
            size = file.stat().st_size
            whole += size
            bytecode += size * ("__pycache__" in file.parts)
            name = file.relative_to(folder).parts[0]
            packages[name] = packages.get(name, 0) + size
    largest = sorted(packages.items(), key=lambda each: -each[1])[:3]
    return Size(whole, whole - bytecode, tuple(largest))


def measured() -> Iterator[tuple[str, Size]]:
    """Each subject, installed as a user would install it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = folder.glob("*.whl")
        for subject in SUBJECTS:
            wanted = f"{subject} @ {wheel.as_uri()}" if subject.startswith("partita") else subject
            target = folder / subject
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), wanted]
            subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
            yield subject, installed_size(target)


def page_table(sizes: dict[str, Size]) -> str:
    rows = [
        [
            f"`{subject}`",
            f"{size.whole / MB:.0f} MB",
            f"{size.without_bytecode / MB:.0f} MB",
            ", ".join(f"{name} {of / MB:.1f}" for name, of in size.largest),
        ]
        for subject, size in sizes.items()
    ]
    return table(["", "installed", "without `__pycache__`", "most of it, MB"], rows)


def main() -> None:
    sizes = dict(measured())
    printed = page_table(sizes)
    print(printed)
    guide = GUIDE.read_text(encoding="utf-8")
    GUIDE.write_text(TABLE.sub(lambda _: f"\n{printed}\n\n", guide), encoding="utf-8")
    ratio = sizes[OURS].whole / sizes[PYNAMODB].whole
    target = Target(f"{OURS} installed, of PynamoDB's", ratio, 1, "times", below=True)
    print(target)
    sys.exit(not target.met)


if __name__ == "__main__":
    main()

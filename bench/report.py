"""Sections of a bench's results, the targets in them, and the page that they make together."""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Target:
    """Something that must be reached: at least `bound`, or at most (`below`)."""

    what: str
    reached: float
    bound: float
    unit: str
    below: bool = False

    @property
    def met(self) -> bool:
        return self.reached <= self.bound if self.below else self.reached >= self.bound

    def __str__(self) -> str:
        word = "at most" if self.below else "at least"
        verdict = "reached" if self.met else "MISSED"
        return f"{verdict}: {self.what}: {self.reached:.3g} {self.unit} (wanted {word} {self.bound:g} {self.unit})"


@dataclass(frozen=True)
class Section:
    """One part of the results, as Markdown."""

    title: str
    text: str
    targets: Sequence[Target] = field(default=())

    def __str__(self) -> str:
        verdicts = "".join(f"- {target}\n" for target in self.targets)
        return f"## {self.title}\n\n{self.text}\n" + (f"\n{verdicts}" if verdicts else "")


def not_measured(part: str, error: Exception) -> Section:
    """The section of a part that failed, which misses its target."""
    return Section(part, f"Not measured: {type(error).__name__}", [Target("measured", 0, 1, "times")])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its columns aligned for people who read it as text."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        first, *rest = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join([first, *rest]) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if at == 0 else ":") for at, width in enumerate(widths)) + "|"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def machine() -> str:
    """What the numbers were measured on, without saying where it is."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = models[0].partition(":")[2].strip() if models else platform.machine()
    return (
        f"{os.cpu_count()} cores ({model}), {platform.system()}, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}"
    )


def write(name: str, sections: Sequence[Section], plot: str | None) -> Path:
    """`results/<name>.md`."""
    RESULTS.mkdir(exist_ok=True)
    picture = f"\n![requests a second, by operation]({plot})\n" if plot else ""
    page = f"# What Partita reaches\n\nMeasured by `make bench` on {machine()}.\n{picture}\n"
    path = RESULTS / f"{name}.md"
    path.write_text(page + "\n".join(map(str, sections)))
    return path


def verdict(sections: Sequence[Section]) -> int:
    """The exit code: 1 when a target was missed, which is said once more at the end."""
    missed = [target for section in sections for target in section.targets if not target.met]
    for target in missed:
        print(target, file=sys.stderr)
    return 1 if missed else 0


def alone(measure: Callable[[bool], Section]) -> None:
    """Runs one part from its own command line."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: fewer and shorter rounds")
    section = measure(parser.parse_args().quick)
    print(section)
    raise SystemExit(verdict([section]))

"""Tells a story on an embedded engine and writes down each request that it takes, for golden transcripts."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from partita import Design, Store, connect
from partita.store import SentRequest


class Narrator:
    """`say("Ana likes the post.")` writes a sentence; `say.db` is the store whose requests are written under it."""

    def __init__(self, design: Design) -> None:
        self.lines: list[str] = []
        self.now = datetime(2025, 1, 1, 9, 0, tzinfo=UTC)
        self._backend = connect("memory:", clock=self._seconds, maintain=False)
        self.db = Store(
            self._backend,
            design,
            clock=lambda: self.now,
            sleep=lambda _: None,
            random=lambda: 0.5,
            on_call=[self._heard],
        )
        self.db.create_tables()
        self.lines.clear()

    def __call__(self, sentence: str) -> None:
        self.lines += ["", sentence] if self.lines else [sentence]

    def passes(self, **duration: float) -> None:
        """Time goes on."""
        self.now += timedelta(**duration)

    def shows(self, found: object) -> None:
        """What somebody sees."""
        self.lines.append(f"    = {found}")

    def _seconds(self) -> float:
        return self.now.timestamp()

    def _heard(self, call: SentRequest) -> None:
        body = msgspec.json.decode(msgspec.json.encode(call.request))
        body.pop("ReturnConsumedCapacity", None)
        body.pop("ClientRequestToken", None)
        ended = f"{call.units:g} units" if call.error is None else type(call.error).__name__
        self.lines.append(f"    {type(call.request).__name__} ({ended})")
        self.lines += [f"      {line}" for line in _told(body)]


def _told(body: dict[str, Any]) -> list[str]:
    """A member a line, in alphabetical order; the actions of a transaction or batch get a line each."""
    lines: list[str] = []
    for name in sorted(body):
        value = body[name]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{name}:", *(f"  {_compact(each)}" for each in value)]
        else:
            lines.append(f"{name}: {_compact(value)}")
    return lines


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()


def check_story(design: Design, tell: Callable[[Narrator], None], golden: Path) -> None:
    """The story is told as the golden file has it; PARTITA_UPDATE=1 writes the file anew."""
    narrator = Narrator(design)
    tell(narrator)
    told = "\n".join(narrator.lines) + "\n"
    if os.environ.get("PARTITA_UPDATE"):
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")

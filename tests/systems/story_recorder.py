"""Runs a story on an embedded engine and records each request that it sends, for golden transcripts."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from partita import Design, SentRequest, connect
from partita_systems.service_base import MakeId, ids_from


class StoryRecorder:
    """`story("Ana likes the post.")` records a sentence; the requests of `story.db` are recorded below it."""

    def __init__(self, design: Design) -> None:
        self.lines: list[str] = []
        self.now = datetime(2025, 1, 1, 9, 0, tzinfo=UTC)
        self.db = connect(
            "memory:",
            design,
            clock=lambda: self.now,
            maintain=False,
            sleep=lambda _: None,
            random=lambda: 0.5,
            cursor_keys=[bytes(16)],
            on_call=[self._record],
        )
        self.db.create_tables()
        self.lines.clear()

    def __call__(self, sentence: str) -> None:
        self.lines += ["", sentence] if self.lines else [sentence]

    def advance(self, **duration: float) -> None:
        """Move the clock: `story.advance(minutes=5)`."""
        self.now += timedelta(**duration)

    def show(self, value: object) -> None:
        """Record what a person sees."""
        self.lines.append(f"    = {value}")

    def show_error(self, act: Callable[[], object], *expected: type[Exception]) -> None:
        """Record the error that an action raises, where it raises one of these."""
        try:
            act()
        except expected as error:
            self.show(error)

    def _record(self, sent: SentRequest) -> None:
        body = msgspec.json.decode(msgspec.json.encode(sent.request))
        body.pop("ReturnConsumedCapacity", None)
        body.pop("ClientRequestToken", None)
        outcome = f"{sent.units:g} units" if sent.error is None else type(sent.error).__name__
        self.lines.append(f"    {type(sent.request).__name__} ({outcome})")
        self.lines += [f"      {line}" for line in _request_lines(body)]


def counted_ids() -> MakeId:
    """Ids whose random part is 1, 2, 3, ...: the same in every run."""
    numbers = count(1)
    return ids_from(lambda _: next(numbers))


def _request_lines(body: dict[str, Any]) -> list[str]:
    """One line for each member, in alphabetical order; each action of a transaction or batch gets its own line."""
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


def check_story(design: Design, record: Callable[[StoryRecorder], None], golden: Path) -> None:
    """The transcript equals the golden file; PARTITA_UPDATE=1 writes the file."""
    story = StoryRecorder(design)
    record(story)
    transcript = "\n".join(story.lines) + "\n"
    if os.environ.get("PARTITA_UPDATE"):
        golden.write_text(transcript, encoding="utf-8")
    assert transcript == golden.read_text(encoding="utf-8")

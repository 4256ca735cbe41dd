"""The programs that work on data, and waiting for them."""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from partita.evolution.evolution_store import EvolutionStore
from partita.plan.fingerprint import Facts
from partita.process_identity import is_dead
from partita.store import design_watch
from partita.store.design_records import ProgramRecord, are_compatible, fetch_programs


class ObservedPrograms:
    """The programs on some tables. No clock of another machine is trusted: one whose record does not change for some
    time, by the clock of this one, has ended, or will read the state before it does anything else. So a program that
    has nothing to do is waited for once, and not at each state again.
    """

    def __init__(self, db: EvolutionStore, facts: Mapping[str, Facts]) -> None:
        self._db = db
        self._facts = facts
        self._seen: dict[str, tuple[Any, float]] = {}

    def in_the_way(self, number: int) -> list[str]:
        """The programs with another design, or that do not know a state yet, in words; each once."""
        return self._in_words(self._working(), number)

    def recently_in_the_way(self, number: int) -> list[str]:
        """The same at a first look, without those that have not been seen for an hour, if their clocks are right."""
        since = self._db.now() - RECENT
        return self._in_words([each for each in self._working() if each.seen_at > since], number)

    def _working(self) -> list[ProgramRecord]:
        found = self._db.run_flow(fetch_programs(self._db.context, list(self._facts)))
        return [each for each in found if self._works(each)]

    def _in_words(self, programs: list[ProgramRecord], number: int) -> list[str]:
        words = (self._words(each, number) for each in programs)
        return list(dict.fromkeys(each for each in words if each))

    def _works(self, each: ProgramRecord) -> bool:
        """Whether a program still works, as far as its record shows."""
        state, now = (each.seen_at, each.number), time.monotonic()
        last, since = self._seen.get(each.program, (None, now))
        if last != state:
            since = now
        self._seen[each.program] = (state, since)
        return not is_dead(each.identity) and now - since < design_watch.VALID_FOR.total_seconds()

    def _words(self, each: ProgramRecord, number: int) -> str:
        name = f"process {each.process} on {each.host}"
        if not are_compatible(dict(each.facts), self._facts[each.table]):
            return f"{name} has another design"
        return f"{name} has not read the new state yet" if each.number < number else ""

    def wait(self, number: int, report: Callable[[list[str]], None], patience: float | None) -> list[str]:
        """Waits until no program is in the way; returns those that still are when the patience, in seconds, ends."""
        begun = time.monotonic()
        while True:
            left = self.in_the_way(number)
            if not left or (patience is not None and time.monotonic() - begun >= patience):
                return left
            report(left)
            self._db.sleep(POLL)


POLL = 0.5
RECENT = timedelta(hours=1)

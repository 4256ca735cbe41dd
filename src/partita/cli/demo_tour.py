"""A tour of systems with demo data: what each has done by itself, printed once it is there."""

import sys
import threading
from collections.abc import Sequence
from types import TracebackType

from partita.cli.open_systems import OpenSystem
from partita.errors import PartitaError
from partita.system import Demo

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 120


class DemoTour:
    """Prepares the demos of systems when it is entered, and prints their sights in the background."""

    def __init__(self, systems: Sequence[OpenSystem], address: str) -> None:
        self._demos = [(each, each.system.demo) for each in systems if each.system.demo is not None]
        self._address = address
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="partita-demo", daemon=True)

    def __enter__(self) -> "DemoTour":
        self._demos = [each for each in self._demos if self._is_prepared(*each)]
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def _look(self) -> None:
        waiting = list(self._demos)
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if not waiting or self._stopping.wait(LOOK_SECONDS):
                return
            waiting = [each for each in waiting if not self._shows(*each)]

    def _is_prepared(self, opened: OpenSystem, demo: Demo) -> bool:
        try:
            demo.prepare(opened.db, self._address)
        except PartitaError as error:
            self._report(opened, error)
            return False
        return True

    def _shows(self, opened: OpenSystem, demo: Demo) -> bool:
        """Whether there is something to see, which is printed, or nothing to wait for."""
        try:
            sight = demo.sight(opened.db, self._address)
        except PartitaError as error:
            self._report(opened, error)
            return True
        if sight is None:
            return False
        print(f"{opened.name}: {sight}", flush=True)
        return True

    @staticmethod
    def _report(opened: OpenSystem, error: PartitaError) -> None:
        print(f"partita: the demo of {opened.name} has ended: {error}", file=sys.stderr)

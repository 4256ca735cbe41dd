"""Ending programs by signals: the first one lets a program finish what it has begun, the next one ends it at once."""

import signal
import threading
from collections.abc import Callable

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def call_at_signal(stop: Callable[[], object]) -> None:
    """Calls a function at the first signal; the next one ends the process."""

    def handle(*_: object) -> None:
        end_at_next_signal()
        stop()

    for each in _SIGNALS:
        signal.signal(each, handle)


def end_at_next_signal() -> None:
    """Lets the next signal end the process: whatever it is doing is finished by another one, or when it is started."""
    if threading.current_thread() is threading.main_thread():
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)

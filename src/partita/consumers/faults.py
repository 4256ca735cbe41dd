"""Faults that a test injects into consumers: handlers that fail, and changes that are delivered more than once."""

from collections import Counter
from collections.abc import Iterator

from partita.consumers.consumer import Consumer
from partita.errors import InvalidValue


class InjectedFailure(Exception):
    """The failure of a handler that a test has ordered."""


class ConsumerFaults:
    """The faults of some consumers, as `settle` applies them.

    faults = ConsumerFaults()
    faults.fail(notifications, times=2)
    settle(db, notifications, faults=faults)
    """

    def __init__(self) -> None:
        self._failures: dict[str, list[BaseException]] = {}
        self._duplicates: Counter[str] = Counter()

    def fail(self, consumer: Consumer, times: int = 1, error: BaseException | None = None) -> None:
        """Lets the next changes of a consumer fail: its handlers run, and then the error is raised."""
        _check_times(times)
        errors = [InjectedFailure("a failure that the test has ordered") if error is None else error] * times
        self._failures.setdefault(consumer.name, []).extend(errors)

    def duplicate(self, consumer: Consumer, times: int = 1) -> None:
        """Delivers each change so many times more from now on, as after crashes between the handler and its commit.

        Nothing of the first deliveries is committed, so what the handlers write through their transaction still takes
        effect once. What they do besides, such as sending an e-mail, happens each time.
        """
        _check_times(times)
        self._duplicates[consumer.name] += times

    def deliveries(self, consumer: str) -> Iterator[None]:
        """One element for each delivery of a change, the last of which is committed; raises its failure after that."""
        for _ in range(self._duplicates[consumer] + 1):
            yield
        failures = self._failures.get(consumer)
        if failures:
            raise failures.pop(0)


def _check_times(times: int) -> None:
    if type(times) is not int or times < 1:
        raise InvalidValue("ConsumerFaults", f"times={times!r} is not valid; use a number from 1", argument="times")

"""That a counter is still as it was read, in rows of the team's own code too: they have none."""

from partita import Condition
from partita.design.conditions import Field


def counts(counter: Field, seen: int) -> Condition:
    same: Condition = counter == seen
    return same if seen else same | counter.is_absent()

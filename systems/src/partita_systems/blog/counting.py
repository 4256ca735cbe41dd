"""That a counter is still as it was read, in rows of the team's own code too: they have none."""

from partita import Condition, F


def counts(name: str, seen: int) -> Condition:
    same: Condition = F[name] == seen
    return same if seen else same | F[name].is_absent()

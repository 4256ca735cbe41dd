"""Running checks one after the other, in the order in which they are due."""

from partita_systems.checks.runner import CheckRunner
from partita_systems.checks.service import Checks, Probe


def run_due(checks: Checks, probe: Probe) -> int:
    return CheckRunner(checks.db, probe, concurrency=1).run_due()

"""The audit log: one line of JSON for every write that the studio is asked for, with its outcome."""

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

log = logging.getLogger("partita.studio.audit")


def record(session: str, design: str, action: str, targets: list[str], outcome: str, **more: Any) -> None:
    """Writes one line; `outcome` is "done" or the error."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = {"at": at, "session": session, "design": design, "action": action, "targets": targets, "outcome": outcome}
    log.info("%s", msgspec.json.encode({**line, **more}).decode())

"""Items that lists leave out because they cannot be decoded: counted, and reported to the operator by their keys."""

import logging

from partita.errors import StoredItemInvalid

MOST_KNOWN = 1000

_log = logging.getLogger("partita.rest")


class UnreadableItems:
    """How often each unreadable item was left out, by its description; the log has a line for each of them."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def report(self, error: StoredItemInvalid) -> None:
        """Counts the item, and logs it when it is found for the first time."""
        description = str(error)
        if description not in self.counts:
            if len(self.counts) == MOST_KNOWN:
                return  # `adopt` lists all of them
            _log.error("left out of a list: %s", description)
        self.counts[description] = self.counts.get(description, 0) + 1

"""Consumers whose effect is outside the database, such as a text index: they receive changes page by page.

The changes of a page are applied first, and then the position moves. After a crash between the two they come again, and
a process that has lost its lease may still apply some. So what they are applied to has to recognise old changes, by the
sequence numbers of their items. In return nothing is stored for each change, and one commit serves a page.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from partita.consumers.consumer import Consumer
from partita.consumers.delivery import Delivery
from partita.store.store import Store


class BatchSink(Protocol):
    """What the changes are applied to."""

    def accepts(self, scans: str, positions: Mapping[str, str]) -> bool:
        """Whether it was begun by these scans, and has all changes up to the position of each source."""

    def begin(self, scans: str) -> None:
        """Begins anew, with nothing; the items of scans and the changes since then follow."""

    def apply(self, deliveries: Sequence[Delivery]) -> None:
        """Applies items of a scan, which are older than any change."""

    def apply_page(self, deliveries: Sequence[Delivery], source: str, before: str, after: str) -> None:
        """Applies changes of a source, and notes its position before and after them; older ones change nothing."""

    def finish(self) -> None:
        """The scans are done."""


class BatchConsumer(Consumer):
    """A consumer that starts from a scan and applies pages of changes to a sink."""

    is_idempotent = True

    def __init__(self, name: str) -> None:
        super().__init__(name, start="scan")

    def open_sink(self, db: Store) -> BatchSink:
        raise NotImplementedError

"""Follows the stream of a table while somebody listens, and passes each change to its subscribers.

    stream of a table --> one thread --> topics: (entity, fields, their values) --> subscribers, each in its own loop

However many clients listen, a stream is read once. The id of an event is the position of its record: a shard and a
sequence number. A client that comes back with one gets what it has missed from the stream itself, which keeps changes
for 24 hours.
"""

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from partita.consumers.backend_watch import table_watch
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.stream_reader import ShardReader, TableStream, latest_stream
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record
from partita.errors import PartitaError, StoredItemInvalid
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.store import Store

PAUSE_SECONDS = 0.05  # between two reads, so that many small commits are read together
LOOK_SECONDS = 60.0  # between two looks for new shards
RETRY_SECONDS = 1.0
OPEN_SECONDS = 10.0  # until a stream must have been opened
MAX_REPLAYED = 10_000  # records that are read again for a client that comes back

_KINDS = {"INSERT": "created", "MODIFY": "updated", "REMOVE": "deleted"}
_log = logging.getLogger("partita.consumers")


class Topic(NamedTuple):
    """The changes of an entity whose fields have certain values."""

    model: Model
    fields: tuple[str, ...]
    values: tuple[Any, ...]

    def includes(self, model: Model, entity: Any) -> bool:
        return model is self.model and values_of(entity, self.fields) == self.values


class Event(NamedTuple):
    """A change; of a deleted entity as it was before."""

    id: str
    kind: str
    model: Model
    entity: Any


class Subscriber(Protocol):
    """Receives events, in a thread of the feed."""

    def offer(self, events: list[Event]) -> None: ...

    def reset(self) -> None:
        """Events were lost."""


def values_of(entity: Any, fields: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(entity, name) for name in fields)


class ChangeFeed:
    """The changes of one table; a thread follows its stream while there are subscribers."""

    def __init__(self, db: Store, table: Table) -> None:
        self._db = ConsumerStore(db, uses_state=False)
        self._table = table
        self._events = EventDecoder(table)
        self._lock = threading.Lock()
        self._follower: _Follower | None = None

    def subscribe(self, topic: Topic, subscriber: Subscriber) -> None:
        """Passes all events of the topic from now on to the subscriber."""
        with self._lock:
            if self._follower is None:
                self._follower = _Follower(self._db, self._table, self._events)
            follower = self._follower
            follower.add(topic, subscriber)
        follower.wait_until_open()

    def unsubscribe(self, topic: Topic, subscriber: Subscriber) -> None:
        with self._lock:
            if self._follower is not None and self._follower.remove(topic, subscriber):
                self._follower.stop()
                self._follower = None

    def close(self) -> None:
        with self._lock:
            follower, self._follower = self._follower, None
        if follower is not None:
            follower.stop()
            follower.join()

    def events_after(self, event_id: str, topic: Topic) -> list[Event] | None:
        """The events after one with this id; None where they are not known."""
        shard, _, sequence = event_id.rpartition(":")
        if not (sequence.isascii() and sequence.isdigit() and len(sequence) <= 40):
            return None
        stream = TableStream(self._db, latest_stream(self._db, self._table.name))
        shards = stream.shards()
        if [each.shard_id for each in shards] != [shard]:
            return None  # the order of several shards is not known
        reader = stream.read(shard, sequence)
        found: list[Event] = []
        for _ in range(MAX_REPLAYED // 1000):
            records = reader.next_page()
            if reader.has_lost:
                return None
            if not records:
                return found
            events = self._events.decoded(shard, records)
            found += [each for each in events if topic.includes(each.model, each.entity)]
        return None


class EventDecoder:
    """Turns records of a table's stream into events; records that no entity explains are left out."""

    def __init__(self, table: Table) -> None:
        self._recogniser = recogniser_of(table)

    def decoded(self, shard: str, records: list[Record]) -> Iterator[Event]:
        for record in records:
            stored = record.dynamodb
            image = None if stored is None else stored.new_image or stored.old_image
            model = self._recogniser.model_of(image) if image else None
            if stored is None or model is None or image is None:
                continue
            try:
                entity = decoder_of(model)(image)
            except StoredItemInvalid:
                continue
            kind = _KINDS[record.event_name or "MODIFY"]
            yield Event(f"{shard}:{stored.sequence_number}", kind, model, entity)


class _Follower(threading.Thread):
    """Reads the stream of a table from now on."""

    def __init__(self, db: ConsumerStore, table: Table, events: EventDecoder) -> None:
        super().__init__(name=f"partita-events-{table.name}", daemon=True)
        self._db = db
        self._table = table
        self._events = events
        self._topics: dict[Topic, set[Subscriber]] = {}
        self._fields: dict[Model, set[tuple[str, ...]]] = {}
        self._changing = threading.Lock()
        self._readers: dict[str, ShardReader] = {}
        self._ended: set[str] = set()
        self._is_open = threading.Event()
        self._stopping = threading.Event()
        self._watch = table_watch(db.backend, [db.table_name(table.name)], self._stopping)
        self.start()

    def add(self, topic: Topic, subscriber: Subscriber) -> None:
        with self._changing:
            self._topics.setdefault(topic, set()).add(subscriber)
            self._fields.setdefault(topic.model, set()).add(topic.fields)

    def remove(self, topic: Topic, subscriber: Subscriber) -> bool:
        """Whether there are no subscribers any more."""
        with self._changing:
            found = self._topics.get(topic, set())
            found.discard(subscriber)
            if not found:
                self._topics.pop(topic, None)
            return not self._topics

    def wait_until_open(self) -> None:
        """Waits until no change can be missed any more."""
        self._is_open.wait(OPEN_SECONDS)

    def stop(self) -> None:
        self._stopping.set()
        self._watch.wake()

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._follow()
                except (PartitaError, OSError) as error:
                    _log.error("events of table %s cannot be read, and are tried again: %s", self._table.name, error)
                    self._stopping.wait(RETRY_SECONDS)
        finally:
            self._watch.close()

    def _follow(self) -> None:
        stream = TableStream(self._db, latest_stream(self._db, self._table.name))
        self._open_shards(stream)
        self._is_open.set()
        while not self._stopping.is_set():
            self._stopping.wait(PAUSE_SECONDS)
            while self._read() and not self._stopping.is_set():
                pass
            is_quiet = not self._watch.wait(LOOK_SECONDS)
            if is_quiet or any(each.has_ended for each in self._readers.values()):
                self._open_shards(stream)

    def _open_shards(self, stream: TableStream) -> None:
        """Opens new shards: the first ones after their present records, later ones from their beginning."""
        self._ended |= {shard for shard, reader in self._readers.items() if reader.has_ended}
        for shard in self._ended & self._readers.keys():
            del self._readers[shard]
        for each in stream.shards():
            shard = each.shard_id or ""
            if shard in self._readers or shard in self._ended:
                continue
            self._readers[shard] = reader = stream.read(shard, "")
            if not self._is_open.is_set():
                reader.start_at(reader.iterator_of_now())

    def _read(self) -> bool:
        """Passes on what is there; whether there may be more."""
        found = False
        for shard, reader in self._readers.items():
            records = reader.next_page()
            found = found or bool(records)
            if reader.has_lost:
                reader.has_lost = False
                self._reset()
            self._publish(self._events.decoded(shard, records))
        return found

    def _publish(self, events: Iterable[Event]) -> None:
        offered: dict[Subscriber, list[Event]] = {}
        with self._changing:
            for event in events:
                for fields in self._fields.get(event.model, ()):
                    topic = Topic(event.model, fields, values_of(event.entity, fields))
                    for subscriber in self._topics.get(topic, ()):
                        offered.setdefault(subscriber, []).append(event)
        for subscriber, found in offered.items():
            subscriber.offer(found)

    def _reset(self) -> None:
        with self._changing:
            subscribers = {each for found in self._topics.values() for each in found}
        for each in subscribers:
            each.reset()

"""The stream of a table while it happens, and the partition keys that are written most while one looks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DescribeTable
from partita.dynamodb.stream_shapes import DescribeStream, GetRecords, GetShardIterator, Record
from partita.dynamodb.values import Item
from partita.plan.items import key_text
from partita.store.decoding import recogniser_of
from partita.studio.attribute_display import attribute_text, json_text, shortened
from partita.studio.components import colour_of, empty, heading
from partita.studio.markup import Markup, el
from partita.studio.shell import page
from partita.studio.streaming import LiveEvents, event
from partita.studio.visits import Visit

MAX_RECORDS, MAX_READS = 1000, 5  # of a shard in a second: what DynamoDB Streams allows


class StreamView(msgspec.Struct, frozen=True):
    """The streams of a design's tables; `arn` is empty for a table without one."""

    table: str
    arn: str
    tables: list[str]


class StreamChange(msgspec.Struct, frozen=True):
    """A change as the live page gets it."""

    at: str
    kind: str
    entity: str
    colour: int
    key: str
    partition: str
    changed: list[str]
    url: str


def read_stream(visit: Visit) -> StreamView:
    table = visit.table(visit.param("table"))
    try:
        found = visit.backend.call(DescribeTable(table_name=visit.db.table_name(table))).table
    except DynamoDBError:
        found = None
    arn = (found.latest_stream_arn if found else None) or ""
    return StreamView(table.name, arn, [each.name for each in visit.design.tables])


def render_stream(view: StreamView, visit: Visit) -> Markup:
    tabs = [
        el(
            "li",
            el(
                "a",
                each,
                href=visit.url("stream", table=each),
                aria_current="page" if each == view.table else None,
            ),
        )
        for each in view.tables
    ]
    nav = el("nav", el("ul", tabs, cls="tabs"), aria_label="Tables")
    head = heading("Stream", "Changes by any process, as they are committed. Nothing is stored here.")
    if not view.arn:
        text = "The table has no stream. Declare it with Table(..., stream=...), and apply the design."
        return page(visit, "Stream", head, nav, empty("No stream", text), section="stream")
    names = ("Time", "Change", "Entity", "Key", "Attributes that differ")
    columns = el("tr", [el("th", each, scope="col") for each in names])
    live = el(
        "div",
        el("p", "Waiting for changes.", id="stream-state", role="status"),
        el(
            "div",
            el("table", el("thead", columns), el("tbody", id="stream-rows")),
            cls="grid",
            role="region",
            aria_label="Changes",
            tabindex="0",
        ),
        el("h2", "Most written partition keys"),
        el("p", "Counted since this page was opened.", cls="faint"),
        el("ol", id="stream-keys", cls="plain"),
        data_stream=visit.url("stream", "events", table=view.table),
    )
    return page(visit, "Stream", head, nav, live, section="stream")


def read_events(visit: Visit) -> LiveEvents:
    """The changes from now on."""
    view = read_stream(visit)
    follower = _LiveShards(visit.opened.backend, view.arn)

    def read() -> list[bytes]:
        return [event("change", _change(visit, view.table, each)) for each in follower.records()]

    return LiveEvents(read if view.arn else list)


class _LiveShards:
    """Reads the open shards of a stream from now on, and those that follow them."""

    def __init__(self, backend: Backend, arn: str) -> None:
        self._backend = backend
        self._arn = arn
        self._iterators: dict[str, str | None] = {}
        if arn:
            self._open("LATEST")

    def _open(self, kind: str) -> None:
        described = self._backend.call(DescribeStream(stream_arn=self._arn)).stream_description
        for shard in (described.shards if described else None) or ():
            name = shard.shard_id or ""
            ended = shard.sequence_number_range is not None and shard.sequence_number_range.ending_sequence_number
            if name in self._iterators or (ended and kind == "LATEST"):
                continue
            request = GetShardIterator(stream_arn=self._arn, shard_id=name, shard_iterator_type=kind)
            self._iterators[name] = self._backend.call(request).shard_iterator

    def records(self) -> list[Record]:
        found: list[Record] = []
        try:
            for name in self._iterators:
                found += self._records_of(name)
            if None in self._iterators.values():
                self._open("TRIM_HORIZON")
        except DynamoDBError:  # the iterator has expired, or the stream has ended: begin again from now on
            self._iterators.clear()
            self._open("LATEST")
        return found

    def _records_of(self, name: str) -> Iterator[Record]:
        """The new records of a shard, so many that the page keeps up with its writers."""
        for _ in range(MAX_READS):
            iterator = self._iterators[name]
            if iterator is None:
                return
            reply = self._backend.call(GetRecords(shard_iterator=iterator, limit=MAX_RECORDS))
            self._iterators[name] = reply.next_shard_iterator
            records = reply.records or ()
            yield from records
            if len(records) < MAX_RECORDS:
                return


def _change(visit: Visit, table_name: str, record: Record) -> StreamChange:
    table = visit.table(table_name)
    data = record.dynamodb
    assert data is not None
    keys: Item = data.keys or {}
    old: dict[str, Any] = {} if data.old_image is None else msgspec.json.decode(data.old_image)
    new: dict[str, Any] = {} if data.new_image is None else msgspec.json.decode(data.new_image)
    model = recogniser_of(table).model_of(msgspec.json.encode(new or old or keys))
    entity = "" if model is None else model.name
    at = datetime.fromtimestamp(data.approximate_creation_date_time or 0, UTC)
    changed = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    partition = attribute_text(keys[table.pk]) if table.pk in keys else ""
    return StreamChange(
        at.strftime("%H:%M:%S"),
        (record.event_name or "").lower(),
        entity or "unexplained",
        colour_of(visit.design, entity),
        shortened(key_text(keys), 200),
        shortened(partition, 100),
        changed[:20],
        visit.url("item", table=table_name, key=json_text(keys)),
    )

"""A backend whose streams are scripted: splits, expiry, trimming, throttling, repeated records, empty pages.

Everything but the operations of streams goes to an engine in memory, which has the effects and the consumers' state.
"""

from typing import Any

import msgspec

from partita.design.models import model_of
from partita.dynamodb.exceptions import (
    ExpiredIteratorException,
    ProvisionedThroughputExceededException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
)
from partita.dynamodb.requests import DescribeTable
from partita.dynamodb.stream_shapes import (
    DescribeStream,
    DescribeStreamOutput,
    GetRecords,
    GetRecordsOutput,
    GetShardIterator,
    GetShardIteratorOutput,
    ListStreams,
    ListStreamsOutput,
    Record,
    Shard,
    StreamDescription,
    StreamRecord,
    StreamSummary,
)
from partita.dynamodb.values import Item
from partita.plan.items import item_of, key_of, values_of
from tests.consumers.shop import Order

FIRST_SEQUENCE = 10**21 - 7  # the numbers soon have one digit more, so that text order is not their order
ORDER = model_of(Order)


def image_of(order: Order) -> Item:
    return item_of(ORDER, values_of(ORDER, order))


class ScriptedShard:
    def __init__(self, stream: str, number: int, parent: str | None) -> None:
        self.stream = stream
        self.id = f"shardId-{number:020d}-00000000"
        self.parent = parent
        self.records: list[Record] = []
        self.trimmed = 0  # how many of the first records are deleted
        self.is_closed = False
        self.is_expired = False


class ScriptedStreams:
    """Writes of orders as records of shards."""

    def __init__(self, engine: Any, table: str = "shop") -> None:
        self._engine = engine
        self._table = table
        self.shards: list[ScriptedShard] = []
        self._arns: list[str] = []
        self._leaves: dict[int, ScriptedShard] = {}  # of the two halves of all items
        self._orders: dict[str, Order] = {}
        self._iterators: dict[str, tuple[ScriptedShard, int]] = {}
        self._issued = 0
        self._sequence = FIRST_SEQUENCE
        self.now = 0.0
        self.faults: list[str] = []
        self.page = 3
        self.opened: list[str] = []
        self.written: dict[str, list[int]] = {}
        self.enable()

    # what happens to the streams

    def enable(self) -> None:
        """Enables the stream again: a new one with new shards."""
        for each in self._leaves.values():
            each.is_closed = True
        self._arns.append(f"arn:aws:dynamodb:eu-west-1:0:table/{self._table}/stream/2026-01-{len(self._arns) + 1:02d}")
        self._leaves = {half: self._new_shard(None) for half in (0, 1)}

    def split(self, half: int) -> None:
        """Closes a shard, and opens its child."""
        parent = self._leaves[half]
        parent.is_closed = True
        self._leaves[half] = self._new_shard(parent.id)

    def _new_shard(self, parent: str | None) -> ScriptedShard:
        shard = ScriptedShard(self._arns[-1], len(self.shards), parent)
        self.shards.append(shard)
        return shard

    def write(self, order_id: str) -> None:
        """Creates an order, or adds one to its number."""
        before = self._orders.get(order_id)
        number = 0 if before is None else before.number + 1
        after = Order(order_id=order_id, customer_id="c", number=number)
        self._orders[order_id] = after
        self._sequence += 1
        stored = StreamRecord(
            approximate_creation_date_time=self.now,
            keys=key_of(ORDER, values_of(ORDER, after)),
            new_image=msgspec.Raw(msgspec.json.encode(image_of(after))),
            old_image=None if before is None else msgspec.Raw(msgspec.json.encode(image_of(before))),
            sequence_number=str(self._sequence),
            stream_view_type="NEW_AND_OLD_IMAGES",
        )
        name = "INSERT" if before is None else "MODIFY"
        self._leaves[int(order_id) % 2].records.append(Record(event_name=name, dynamodb=stored))
        self.written.setdefault(order_id, []).append(number)

    def trim(self, shard: ScriptedShard, count: int) -> None:
        """Deletes the first records of a shard."""
        shard.trimmed = min(len(shard.records), shard.trimmed + count)

    def expire_iterators(self) -> None:
        self._iterators = {}

    # the operations

    def close(self) -> None:
        self._engine.close()

    def call(self, request: Any, /) -> Any:
        if isinstance(request, DescribeTable) and request.table_name == self._table:
            found = self._engine.call(request)
            found.table.latest_stream_arn = self._arns[-1]
            return found
        answers: dict[Any, Any] = {
            ListStreams: self._list_streams,
            DescribeStream: self._describe,
            GetShardIterator: self._iterator,
            GetRecords: self._records,
        }
        answer = answers.get(type(request))
        if answer is None:
            return self._engine.call(request)
        if self.faults and self.faults[0] == "throttle":
            self.faults.pop(0)
            raise ProvisionedThroughputExceededException("Rate exceeded for shard")
        return answer(request)

    def _list_streams(self, request: ListStreams) -> ListStreamsOutput:
        arns = list(reversed(self._arns))
        start = arns.index(request.exclusive_start_stream_arn) + 1 if request.exclusive_start_stream_arn else 0
        page = [StreamSummary(stream_arn=arn, table_name=self._table) for arn in arns[start : start + 1]]
        last = arns[start] if start + 1 < len(arns) else None
        return ListStreamsOutput(streams=page, last_evaluated_stream_arn=last)

    def _describe(self, request: DescribeStream) -> DescribeStreamOutput:
        """Two shards a page, children before their parents."""
        found = [each for each in self.shards if each.stream == request.stream_arn and not each.is_expired]
        if not found:
            raise ResourceNotFoundException("Requested resource not found: Stream")
        found.reverse()
        ids = [each.id for each in found]
        start = ids.index(request.exclusive_start_shard_id) + 1 if request.exclusive_start_shard_id else 0
        page = [Shard(shard_id=each.id, parent_shard_id=each.parent) for each in found[start : start + 2]]
        last = ids[start + 1] if start + 2 < len(ids) else None
        return DescribeStreamOutput(stream_description=StreamDescription(shards=page, last_evaluated_shard_id=last))

    def _iterator(self, request: GetShardIterator) -> GetShardIteratorOutput:
        (shard,) = (each for each in self.shards if each.id == request.shard_id)
        if shard.is_expired:
            raise ResourceNotFoundException("Requested resource not found: Shard")
        self.opened.append(shard.id)
        at = shard.trimmed
        if request.shard_iterator_type == "LATEST":
            at = len(shard.records)
        elif request.shard_iterator_type == "AFTER_SEQUENCE_NUMBER":
            numbers = [each.dynamodb.sequence_number for each in shard.records if each.dynamodb is not None]
            at = numbers.index(request.sequence_number or "") + 1
            if at <= shard.trimmed and shard.trimmed:
                raise TrimmedDataAccessException("The data you are trying to access has been trimmed")
        return GetShardIteratorOutput(shard_iterator=self._issue(shard, at))

    def _issue(self, shard: ScriptedShard, at: int) -> str:
        self._issued += 1
        self._iterators[str(self._issued)] = (shard, at)
        return str(self._issued)

    def _records(self, request: GetRecords) -> GetRecordsOutput:
        if request.shard_iterator not in self._iterators:
            raise ExpiredIteratorException("The shard iterator has expired")
        shard, at = self._iterators[request.shard_iterator]
        if shard.is_expired:
            raise ResourceNotFoundException("Requested resource not found: Shard")
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "empty":
            return GetRecordsOutput(records=[], next_shard_iterator=self._issue(shard, at))
        if fault == "repeat":
            at = max(shard.trimmed, at - 2)
        if at < shard.trimmed:
            raise TrimmedDataAccessException("The data you are trying to access has been trimmed")
        end = min(len(shard.records), at + self.page)
        is_over = shard.is_closed and end == len(shard.records)
        following = None if is_over else self._issue(shard, end)
        return GetRecordsOutput(records=shard.records[at:end], next_shard_iterator=following)

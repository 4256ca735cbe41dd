"""Background work: items expire, indexes are backfilled, change records and tokens are dropped in time."""

from typing import Any

import pytest

from partita.engine import maintenance
from partita.engine.context import EngineContext
from partita.errors import CorruptRow
from partita.storage.contract import StorageTransaction, Totals
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, Clock, index, plain, problems_of

DAY = 24 * 3600.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def enable_expiry(bench: Bench, table: str = "notes", attribute: str = "ends") -> None:
    bench.ok("UpdateTimeToLive", TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute})


def keys(bench: Bench, table: str = "notes") -> set[str]:
    return {row["pk"]["S"] for row in bench.rows(table)}


def sound(bench: Bench) -> bool:
    return problems_of(bench.engine) == []


# Time to live --------------------------------------------------------------------------------------------------


def test_item_is_deleted_after_its_expiry(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byGroup", "g:S"), StreamSpecification=STREAM)
    enable_expiry(anywhere)
    now = int(anywhere.clock.now)
    anywhere.put("notes", pk="past", ends=now - 1, g="x")
    anywhere.put("notes", pk="now", ends=now, g="x")
    anywhere.put("notes", pk="future", ends=now + 10, g="x")
    anywhere.put("notes", pk="never", g="x")
    assert len(keys(anywhere)) == 4, "until the background work runs"
    anywhere.settle()
    assert keys(anywhere) == {"now", "future", "never"}
    anywhere.clock.now += 10.5
    anywhere.settle()
    assert keys(anywhere) == {"never"}
    assert [row["pk"]["S"] for row in anywhere.rows("notes", "byGroup")] == ["never"]
    expired = [change for change in anywhere.changes("notes") if change.event == "REMOVE"]
    assert [(change.keys["pk"]["S"], change.expired) for change in expired] == [
        ("past", True),
        ("now", True),
        ("future", True),
    ]
    assert sound(anywhere)


@pytest.mark.parametrize(
    "ends",
    [
        {"S": "1"},
        {"NULL": True},
        {"NS": ["1"]},
        {"N": "-1"},
        {"N": "1E125"},
        {"N": "0"},
        {"N": str(1_800_000_000 - 5 * 365 * 24 * 3600 - 1)},
    ],
)
def test_invalid_or_old_expiry_times_do_not_expire(anywhere: Bench, ends: Json) -> None:
    """Developer Guide, "Using time to live": a number of seconds, at most five years in the past."""
    anywhere.table("notes", "pk:S")
    enable_expiry(anywhere)
    anywhere.put("notes", pk="a", ends=ends)
    anywhere.settle()
    assert keys(anywhere) == {"a"}
    assert sound(anywhere)


def test_changed_expiry_time_applies(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable_expiry(anywhere)
    now = int(anywhere.clock.now)
    anywhere.put("notes", pk="a", ends=now + 5)
    for expression, value in (("SET ends = :v", now + 50), ("SET ends = :v", now + 100)):
        anywhere.ok(
            "UpdateItem",
            TableName="notes",
            Key=plain({"pk": "a"}),
            UpdateExpression=expression,
            ExpressionAttributeValues=plain({":v": value}),
        )
    anywhere.clock.now += 60
    anywhere.settle()
    assert keys(anywhere) == {"a"}
    anywhere.ok("UpdateItem", TableName="notes", Key=plain({"pk": "a"}), UpdateExpression="REMOVE ends")
    anywhere.clock.now += 1000
    anywhere.settle()
    assert keys(anywhere) == {"a"}
    assert sound(anywhere)


def test_many_items_expire_in_batches(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable_expiry(anywhere)
    now = int(anywhere.clock.now)
    for number in range(500):
        anywhere.put("notes", pk=str(number), ends=now - 1)
    assert anywhere.engine.maintenance.step(), "there is more to do"
    left = len(keys(anywhere))
    assert 0 < left < 500
    anywhere.settle()
    assert keys(anywhere) == set()
    assert sound(anywhere)


def test_items_written_before_ttl_was_enabled_expire(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    now = int(anywhere.clock.now)
    for number in range(1300):
        anywhere.put("notes", pk=str(number), ends=now + (100 if number % 2 else -1))
    enable_expiry(anywhere)
    status = anywhere.ok("DescribeTimeToLive", TableName="notes")["TimeToLiveDescription"]
    assert status == {"TimeToLiveStatus": "ENABLING", "AttributeName": "ends"}
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "1"}))
    anywhere.put("notes", pk="0", ends=now + 100)
    anywhere.settle()
    assert len(keys(anywhere)) == 650
    status = anywhere.ok("DescribeTimeToLive", TableName="notes")["TimeToLiveDescription"]
    assert status["TimeToLiveStatus"] == "ENABLED"
    assert sound(anywhere)


def test_disabled_ttl_expires_nothing(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable_expiry(anywhere)
    anywhere.put("notes", pk="a", ends=int(anywhere.clock.now) + 1)
    anywhere.ok(
        "UpdateTimeToLive",
        TableName="notes",
        TimeToLiveSpecification={"Enabled": False, "AttributeName": "ends"},
    )
    anywhere.clock.now += 100
    anywhere.settle()
    assert keys(anywhere) == {"a"}
    enable_expiry(anywhere)
    anywhere.settle()
    assert keys(anywhere) == set()


def test_expiry_goes_on_after_a_restart(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    enable_expiry(filed)
    filed.put("notes", pk="a", ends=int(filed.clock.now) + 1)
    filed.reopen()
    filed.clock.now += 100
    filed.settle()
    assert keys(filed) == set()


# New indexes of a table in use ---------------------------------------------------------------------------------


def add_index(bench: Bench, made: Json) -> Json:
    types = made.pop("_types")
    definitions = [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]
    return bench.ok(
        "UpdateTable",
        TableName="notes",
        AttributeDefinitions=definitions,
        GlobalSecondaryIndexUpdates=[{"Create": made}],
    )


@pytest.mark.parametrize("restarts", [False, True])
def test_index_created_during_writes_is_exact(filed: Bench, restarts: bool) -> None:
    filed.table("notes", "pk:S")
    for number in range(1700):
        filed.put("notes", pk=f"{number:04}", g=f"g{number % 5}", x="x")
    add_index(filed, index("byGroup", "g:S", "KEYS_ONLY"))
    step = 0
    while filed.engine.maintenance.step():
        step += 1
        for number in range(step * 7, 1700, 211):  # before the mark and after it
            filed.ok("DeleteItem", TableName="notes", Key=plain({"pk": f"{number:04}"}))
            filed.put("notes", pk=f"{number + 1:04}", g=f"moved{step}")
            filed.put("notes", pk=f"new{step}-{number}", g="new")
        assert sound(filed)
        if restarts:
            filed.reopen()
    assert step >= 2
    assert sound(filed)
    assert len(filed.rows("notes", "byGroup")) == len(filed.rows("notes"))


def test_item_with_an_invalid_key_value_is_not_in_the_new_index(anywhere: Bench) -> None:
    """Developer Guide, "Detecting and correcting index key violations"."""
    anywhere.table("notes", "pk:S")
    for name, value in {"good": "x", "number": 1, "empty": "", "bool": True, "list": [1], "long": "x" * 3000}.items():
        anywhere.put("notes", pk=name, g=value)
    add_index(anywhere, index("byGroup", "g:S"))
    anywhere.settle()
    assert [row["pk"]["S"] for row in anywhere.rows("notes", "byGroup")] == ["good"]
    for name in ("number", "empty", "bool", "long"):
        anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": name}))
    assert sound(anywhere)


# The change log ------------------------------------------------------------------------------------------------


def test_change_is_recorded_only_with_a_stream(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.put("notes", pk="a")
    assert anywhere.changes("notes") == []


def test_every_change_and_nothing_else_is_recorded(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    anywhere.put("notes", pk="a", n=1)
    anywhere.put("notes", pk="a", n={"N": "1.0"})  # the same
    anywhere.put("notes", pk="a", n=2)
    update = {"TableName": "notes", "Key": plain({"pk": "a"}), "UpdateExpression": "SET n = :v"}
    anywhere.ok("UpdateItem", **update, ExpressionAttributeValues=plain({":v": 2}))  # the same
    anywhere.ok("UpdateItem", **update, ExpressionAttributeValues=plain({":v": 3}))
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "none"}))  # nothing
    anywhere.failed("PutItem", TableName="notes", Item=plain({"pk": "a"}), ConditionExpression="attribute_exists(zzz)")
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "a"}))
    assert [change.event for change in anywhere.changes("notes")] == ["INSERT", "MODIFY", "MODIFY", "REMOVE"]


def test_transaction_and_batch_leave_a_record_for_each_item(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    items = [plain({"pk": f"{number:02}"}) for number in range(20)]
    anywhere.ok("TransactWriteItems", TransactItems=[{"Put": {"TableName": "notes", "Item": item}} for item in items])
    anywhere.ok("BatchWriteItem", RequestItems={"notes": [{"DeleteRequest": {"Key": item}} for item in items]})
    changes = anywhere.changes("notes")
    assert [change.event for change in changes] == ["INSERT"] * 20 + ["REMOVE"] * 20
    assert [change.keys for change in changes[:20]] == items


def test_records_are_kept_when_the_clock_goes_back(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    for step, move in enumerate((0, -100, 50, -0.000001, 0)):
        anywhere.clock.now += move
        items = [plain({"pk": f"{step}-{number}"}) for number in range(3)]
        anywhere.ok("BatchWriteItem", RequestItems={"notes": [{"PutRequest": {"Item": item}} for item in items]})
    keys_in_order = [change.keys["pk"]["S"] for change in anywhere.changes("notes")]
    assert keys_in_order == [f"{step}-{number}" for step in range(5) for number in range(3)]


def test_records_of_one_transaction_are_kept_when_the_clock_runs_backwards() -> None:
    class Backwards(Clock):
        def __call__(self) -> float:
            self.now -= 0.000001
            return self.now

    bench = Bench("memory:", Backwards())
    bench.table("notes", "pk:S", StreamSpecification=STREAM)
    bench.clock.now += 100
    items = [plain({"pk": f"{number:02}"}) for number in range(20)]
    bench.ok("TransactWriteItems", TransactItems=[{"Put": {"TableName": "notes", "Item": item}} for item in items])
    bench.clock.now += 100
    bench.ok("BatchWriteItem", RequestItems={"notes": [{"DeleteRequest": {"Key": item}} for item in items]})
    assert [change.keys for change in bench.changes("notes")] == items * 2
    bench.engine.close()


def log_size(bench: Bench) -> Totals:
    context = bench.engine._context
    return context.storage.totals(context.catalog.table_in_txn("notes").record.changes)


def test_records_of_a_stream_are_dropped_after_a_day(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    for number in range(450):
        anywhere.put("notes", pk=str(number))
    anywhere.clock.now += DAY / 2
    anywhere.put("notes", pk="young")
    anywhere.settle()
    assert log_size(anywhere).rows == 451
    anywhere.clock.now += DAY / 2 + 3600
    anywhere.settle()
    assert log_size(anywhere).rows == 1


def test_log_without_stream_is_emptied(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")

    def turn(on: bool) -> None:
        wanted: Json = STREAM if on else {"StreamEnabled": False}
        anywhere.ok("UpdateTable", TableName="notes", StreamSpecification=wanted)

    turn(on=True)
    for number in range(450):
        anywhere.put("notes", pk=str(number))
    turn(on=False)
    assert log_size(anywhere).rows == 450
    for _ in range(8):
        anywhere.clock.now += DAY / 2
        anywhere.settle()
    assert log_size(anywhere).rows == 0


def test_old_tokens_are_dropped_among_many_new_ones(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")

    def transact(token: str) -> None:
        action = {"Put": {"TableName": "notes", "Item": plain({"pk": token})}}
        anywhere.ok("TransactWriteItems", TransactItems=[action], ClientRequestToken=token)

    for number in range(30):
        transact(f"z-old-{number}")
    anywhere.clock.now += 601
    for number in range(450):
        transact(f"a-young-{number}")
    for _ in range(5):
        anywhere.settle()
    assert anywhere.engine._context.storage.totals("tokens").rows == 450


def test_new_tokens_are_not_read_at_every_step(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy server has hundreds of thousands of them."""
    looked: list[float] = []
    really = maintenance.drop_tokens

    def counted(context: EngineContext, low: bytes, txn: StorageTransaction) -> bytes:
        looked.append(anywhere.clock.now)
        return really(context, low, txn)

    monkeypatch.setattr(maintenance, "drop_tokens", counted)
    began = anywhere.clock.now
    for _ in range(601):
        anywhere.settle()
        anywhere.clock.now += 1
    assert looked == [began, began + 300, began + 600]


# At rest -------------------------------------------------------------------------------------------------------


def test_work_that_is_not_due_takes_no_write_lock(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    enable_expiry(anywhere)
    anywhere.put("notes", pk="a", ends=int(anywhere.clock.now) + 100)
    anywhere.settle()
    taken: list[Any] = []
    monkeypatch.setattr(anywhere.engine._writer, "run", taken.append)
    assert not anywhere.engine.maintenance.step()
    assert taken == []


@pytest.mark.parametrize("error", [ZeroDivisionError("unexpected"), CorruptRow("a.db", "s1", b"k")])
def test_work_that_fails_does_not_keep_the_rest_waiting(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for name in ("first", "notes"):
        bench.table(name, "pk:S")
        enable_expiry(bench, name)
        bench.put(name, pk="past", ends=int(bench.clock.now) - 1)
    expire = maintenance.expire

    def failing(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
        if name == "first":
            raise error
        return expire(context, name, txn)

    with monkeypatch.context() as broken:
        broken.setattr(maintenance, "expire", failing)
        with pytest.raises(type(error)):
            bench.engine.maintenance.step()
    assert (keys(bench, "first"), keys(bench)) == ({"past"}, set())
    bench.settle()
    assert keys(bench, "first") == set()


def test_thread_rests_until_something_is_committed_or_expires(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable_expiry(anywhere)
    now = anywhere.clock.now
    work = anywhere.engine.maintenance
    assert work._next_expiry(now) == float("inf")
    anywhere.put("notes", pk="late", ends=int(now) + 100)
    anywhere.put("notes", pk="early", ends=int(now) + 20)
    assert work._next_expiry(now) == int(now) + 20


def test_transactions_do_not_wake_the_thread(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    engine = anywhere.engine
    monkeypatch.setattr(engine, "_maintains", True)
    monkeypatch.setattr(type(engine.maintenance), "is_running", True)
    woken: list[int] = []
    monkeypatch.setattr(engine.maintenance, "wake", lambda: woken.append(1))
    put = {"Put": {"TableName": "notes", "Item": {"pk": {"S": "a"}}}}
    anywhere.ok("TransactWriteItems", TransactItems=[put], ClientRequestToken="token")
    assert not woken
    anywhere.table("others", "pk:S")
    assert woken

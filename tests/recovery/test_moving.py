"""Moves between backends under writers: nothing is lost or doubled, and a short pause is all that writers notice."""

import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from partita import Entity, Item, Store, Table, connect, pattern, prove
from partita.cli import move as command
from partita.dynamodb.backend import Backend
from partita.dynamodb.exceptions import AccessDeniedException, TrimmedDataAccessException
from partita.dynamodb.requests import BatchWriteItem, DescribeTable, DescribeTimeToLive, PutItem, UpdateTable
from partita.dynamodb.shapes import StreamSpecification
from partita.dynamodb.stream_shapes import GetRecords
from partita.errors import ConfigurationError, TransferFailed
from partita.recovery import Move, move
from partita.remote.credentials import Credentials
from tests.peers import started
from tests.store.clocks import Clock
from tests.timing import PATIENCE

stock = Table("stock", pk="PK", sk="SK", ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=3)


class Article(Entity, table=stock, key=("ARTICLE#{article_id}", "ARTICLE")):
    article_id: str
    count: int


@pattern
def article(article_id: str) -> Item[Article]: ...


design = prove("stock", stock)
THIS = "tests.recovery.test_moving"
PATIENT = PATIENCE  # of a pause: a busy machine is no reason to call a switch off


class Program:
    """Threads that write through the store of the moment, and the model of what was acknowledged."""

    def __init__(self, db: Store, threads: int = 2) -> None:
        self.db = db
        self.model: dict[str, int] = {}
        self.switched = 0
        self._gate = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(each,)) for each in range(threads)]

    def _write(self, thread: int) -> None:
        random = Random(thread)
        while not self._stop.is_set():
            key = f"{thread}.{random.randrange(40)}"
            with self._gate:
                self._change(key, random)

    def _change(self, key: str, random: Random) -> None:
        if key in self.model and random.random() < 0.2:
            self.db.delete(article(key))
            del self.model[key]
        elif key in self.model:
            with self.db.change(article(key)) as draft:
                draft.count += 1
            self.model[key] += 1
        else:
            self.db.create(Article(article_id=key, count=1))
            self.model[key] = 1

    @contextmanager
    def pause_and_use(self, target: Store) -> Iterator[None]:
        with self._gate:
            yield
            self.db = target
            self.switched += 1

    def __enter__(self) -> "Program":
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()


def counts(db: Store) -> dict[str, int]:
    return {each.article_id: each.count for each in db.scan(Article)}


def filled(db: Store, items: int) -> Program:
    db.create_tables()
    program = Program(db)
    for number in range(items):
        db.create(Article(article_id=f"old.{number}", count=number))
        program.model[f"old.{number}"] = number
    return program


def moved(program: Program, source: Store, target: Store) -> Move:
    with program:
        done = move(source, target, lambda: program.pause_and_use(target), max_pause=PATIENT)
    assert program.switched == 1
    assert counts(target) == program.model
    return done


def test_store_is_moved_under_writers_with_its_settings() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source, target = Store(one, design), Store(other, design, table_names={"stock": "stock-2"})
        done = moved(filled(source, 300), source, target)
        assert done.tables[0].name == "stock-2"
        assert done.tables[0].items >= 300
        described = other.call(DescribeTable(table_name="stock-2")).table
        assert described is not None
        assert described.stream_specification == StreamSpecification(
            stream_enabled=True, stream_view_type="NEW_AND_OLD_IMAGES"
        )
        ttl = other.call(DescribeTimeToLive(table_name="stock-2")).time_to_live_description
        assert ttl is not None
        assert ttl.attribute_name == "ttl"


def test_table_without_a_stream_gets_one_for_the_time_of_the_move() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source, target = Store(one, design), Store(other, design)
        program = filled(source, 20)
        one.call(UpdateTable(table_name="stock", stream_specification=StreamSpecification(stream_enabled=False)))
        moved(program, source, target)
        described = one.call(DescribeTable(table_name="stock")).table
        assert described is not None
        assert described.stream_specification is None


class Forgetful:
    """A backend that acknowledges some puts and forgets them."""

    def __init__(self, backend: Any, forgets: int) -> None:
        self._backend = backend
        self._forgets = forgets

    def call(self, request: Any) -> Any:
        if isinstance(request, BatchWriteItem) and self._forgets:
            self._forgets -= 1
            for requests in (request.request_items or {}).values():
                del requests[0]
            if not any((request.request_items or {}).values()):
                return self._backend.call(DescribeTable(table_name="stock")) and type(
                    "Reply", (), {"unprocessed_items": None}
                )
        return self._backend.call(request)


class TrimmedOnce:
    """A backend whose first iterators point at records that are trimmed, `times` times for each stream."""

    def __init__(self, backend: Backend, times: int) -> None:
        self._backend = backend
        self._times = times

    def call(self, request: Any) -> Any:
        if type(request) is GetRecords and self._times:
            self._times -= 1
            raise TrimmedDataAccessException("trimmed")
        return self._backend.call(request)


def test_iterator_that_is_trimmed_before_its_first_record_begins_with_the_oldest_one() -> None:
    source, target = Store(connect("memory:"), design), Store(connect("memory:"), design)
    program = filled(source, 5)
    done = moved(program, Store(TrimmedOnce(source.backend, 1), design), target)
    assert done.tables[0].changes >= 5  # those before the move come again
    twice = Store(TrimmedOnce(source.backend, 2), design)
    with pytest.raises(TransferFailed, match="StreamTrimmed: stock: changes were not followed in time"):
        move(twice, Store(connect("memory:"), design), nullcontext, max_pause=PATIENT)


def test_missing_rows_are_repaired_alone() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source, target = Store(one, design), Store(Forgetful(other, 3), design)
        program = filled(source, 100)
        done = move(source, target, lambda: program.pause_and_use(target), max_pause=PATIENT)
        assert done.tables[0].repaired == 3
        assert counts(Store(other, design)) == program.model


def test_switch_that_takes_too_long_is_called_off_and_writers_go_on_with_the_source() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source, target = Store(one, design), Store(other, design)
        program = filled(source, 5)
        called_off: list[bool] = []

        @contextmanager
        def pause() -> Iterator[None]:
            source.put(Article(article_id="last", count=len(called_off)))  # a change that the pause has to follow
            try:
                yield
            except BaseException:
                called_off.append(True)
                raise

        with pytest.raises(TransferFailed, match="the last changes took longer"):
            move(source, target, pause, max_pause=0.0)
        assert len(called_off) == 20
        assert program.db is source


class SlowTarget:
    """A target on whose clock each BatchWriteItem takes a second, and something happens meanwhile."""

    def __init__(self, backend: Any, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._backend = backend
        self._meanwhile = meanwhile
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def call(self, request: Any) -> Any:
        if isinstance(request, BatchWriteItem):
            self._now += 1
            self._meanwhile()
        return self._backend.call(request)


def test_changes_that_a_switch_has_read_and_not_copied_are_copied_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect("memory:") as one, connect("memory:") as other:
        slow = SlowTarget(other)
        monkeypatch.setattr("partita.recovery.moving.time", slow)
        monkeypatch.setattr("partita.recovery.moving.MAX_KEYS", 1)
        source, target = Store(one, design), Store(slow, design)
        program = filled(source, 5)
        pauses: list[bool] = []

        @contextmanager
        def pause() -> Iterator[None]:
            if not pauses:
                for key in program.model:
                    source.put(Article(article_id=key, count=100))
            pauses.append(True)
            yield

        done = move(source, target, pause, max_pause=2.5)
        assert len(pauses) == 2
        assert done.last_changes == 0
        assert done.tables[0].changes == 5
        assert counts(target) == dict.fromkeys(program.model, 100)


def test_writers_that_are_faster_than_the_copy_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source = Store(one, design)
        filled(source, 5)

        def write() -> None:
            for number in range(5):
                with source.change(article(f"old.{number}")) as draft:
                    draft.count += 1

        slow = SlowTarget(other, write)
        monkeypatch.setattr("partita.recovery.moving.time", slow)
        monkeypatch.setattr("partita.recovery.moving.FEW_CHANGES", 2)
        with pytest.raises(TransferFailed, match="changed faster than they can be copied; nothing was switched"):
            move(source, Store(slow, design), lambda: pytest.fail("paused"))


def test_writes_to_the_source_after_the_switch_are_found() -> None:
    source, target = Store(connect("memory:"), design), Store(connect("memory:"), design)
    program = filled(source, 5)

    def forgotten(step: str, items: int) -> None:
        if step == "watching the source" and source.get(article("late")) is None:
            source.create(Article(article_id="late", count=1))
            source.delete(article("old.1"))
            with source.change(article("old.2")) as draft:
                draft.count += 1
            source.put(Article(article_id="old.3", count=3))  # no change
            with source.change(article("old.4")) as draft:
                draft.count = 7
            target.put(Article(article_id="old.4", count=7))  # not lost

    with program:
        done = move(
            source, target, lambda: program.pause_and_use(target), max_pause=PATIENT, watch=1e-9, progress=forgotten
        )
    late = {"ARTICLE#late", "ARTICLE#old.1", "ARTICLE#old.2"}
    assert {each.key["PK"]["S"] for each in done.late} == late
    assert counts(target) == program.model | {"old.4": 7}


def test_items_that_expire_in_the_source_are_no_late_writes() -> None:
    clock = Clock()
    source = Store(connect("memory:", clock=clock, maintain=False), design)
    target = Store(connect("memory:", clock=clock, maintain=False), design)
    filled(source, 1)
    expiring = {"PK": {"S": "ARTICLE#x"}, "SK": {"S": "ARTICLE"}, "ttl": {"N": f"{clock.now.timestamp() + 1:.0f}"}}
    source.backend.call(PutItem(table_name="stock", item=expiring))

    def expire(step: str, items: int) -> None:
        if step == "watching the source":
            clock.passes(seconds=2)
            source.backend.maintenance.step()  # type: ignore[attr-defined]

    done = move(source, target, nullcontext, max_pause=PATIENT, watch=1e-9, progress=expire)
    assert (counts(source), done.late) == ({"old.0": 0}, [])


@pytest.mark.slow
def test_command_reports_a_program_that_still_writes_to_a_server(tmp_path: Path) -> None:
    command_line = [sys.executable, "-m", "partita", "engine", "--memory"]
    with started(lambda port: [*command_line, "--port", str(port)]) as running:
        with connect(running.endpoint, design) as db:
            filled(db, 3)
        write = f"from {THIS} import *; connect('{running.endpoint}', design).put(Article(article_id='late', count=1))"
        with pytest.raises(
            TransferFailed, match=r"LateWrites: .* which the target lacks: stock ARTICLE#late, ARTICLE; "
        ):
            command.move(
                THIS,
                source=running.endpoint,
                to=str(tmp_path / "new.db"),
                pause="true",
                switch=shlex.join([sys.executable, "-c", write]),
                max_pause=PATIENT,
                watch=0.01,
            )
    with connect(tmp_path / "new.db", design) as db:
        assert len(counts(db)) == 3


def test_target_with_items_is_refused() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        source, target = Store(one, design), Store(other, design)
        filled(source, 1)
        filled(target, 1)
        with pytest.raises(ConfigurationError, match="table stock of the target has items"):
            move(source, target, lambda: pytest.fail("paused"))
        assert len(counts(target)) == 1


@pytest.mark.slow
def test_rehearsal_from_a_file_to_dynamodb_local_and_back(dynamodb_local: str, tmp_path: Path) -> None:
    names = {"stock": f"stock-{tmp_path.name}"}
    with (
        connect(tmp_path / "one.db", durability="process") as one,
        connect(dynamodb_local, credentials=Credentials("a", "b"), region="us-east-1") as there,
        connect(tmp_path / "two.db", durability="process") as two,
    ):
        source, remote, back = Store(one, design), Store(there, design, table_names=names), Store(two, design)
        program = filled(source, 200)
        moved(program, source, remote)
        again = Program(remote)
        again.model = program.model
        moved(again, remote, back)
        assert counts(back) == again.model


def test_command_moves_a_file_and_runs_the_switch_while_writers_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, noted = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "switched"
    with connect(old, durability="process") as engine:
        program = filled(Store(engine, design), 10)
    switch = f"{sys.executable} -c \"import pathlib; pathlib.Path('{noted}').touch()\""
    command.move("tests.recovery.test_moving", source=str(old), to=str(new), switch=switch, max_pause=PATIENT)
    printed = capsys.readouterr().out
    assert "stock: 10 items copied, 0 changes followed, 0 items repaired; the content is the same" in printed
    assert "writers were paused for" in printed
    assert noted.exists()
    with connect(new, design) as db:
        assert counts(db) == program.model


def test_moved_file_rejects_writes_in_every_process_until_the_move_is_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with connect(old, design, durability="process") as running:  # open all the time, as another process has it
        filled(running, 3)
        command.move(THIS, source=str(old), to=str(new), max_pause=PATIENT)
        late = Article(article_id="late", count=1)
        writes: list[Callable[[], object]] = [
            lambda: running.put(late),
            lambda: running.create(late),
            lambda: running.delete(article("old.1")),
        ]
        for write in writes:
            with pytest.raises(AccessDeniedException, match=f"Table stock was moved to {new}"):
                write()
        assert len(counts(running)) == 3
    with connect(old, design) as restarted, pytest.raises(AccessDeniedException, match="partita move --unfence"):
        restarted.put(Article(article_id="late", count=1))
    command.move(THIS, source=str(old), unfence=True)
    assert "stock: writes are accepted again" in capsys.readouterr().out
    with connect(old, design) as again:
        again.put(Article(article_id="late", count=1))
        assert len(counts(again)) == 4


def test_move_that_is_killed_at_the_switch_has_lost_nothing_and_is_finished_by_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, noted = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "switched"
    with connect(old, design, durability="process") as running:
        program = filled(running, 3)
        arguments = ["move", THIS, "--from", str(old), "--to", str(new), "--max-pause", "600"]
        arguments += ["--switch", "sh -c 'kill -9 $PPID'"]
        root = Path(__file__).parent.parent.parent
        killed = subprocess.run([sys.executable, "-m", "partita", *arguments], cwd=root, check=False)
        assert killed.returncode == -signal.SIGKILL
        with pytest.raises(AccessDeniedException, match=f"Table stock was moved to {new}"):
            running.put(Article(article_id="late", count=1))
    with connect(new, design) as moved_to:
        assert counts(moved_to) == program.model
        moved_to.put(Article(article_id="next", count=1))  # a program that uses the target already
    command.move(THIS, source=str(old), to=str(new), switch=f"touch {noted}")
    assert "the tables were moved to" in capsys.readouterr().out
    assert noted.exists()
    with connect(new, design) as moved_to:
        assert len(counts(moved_to)) == 4
    with pytest.raises(ConfigurationError, match="--unfence lets programs write to them again"):
        command.move(THIS, source=str(old), to=str(tmp_path / "third.db"))


def test_place_is_not_moved_to_itself(tmp_path: Path) -> None:
    """An empty table would pass for an empty target, and end fenced."""
    file, link = tmp_path / "stock.db", tmp_path / "link.db"
    with connect(file, design) as db:
        db.create_tables()
    link.symlink_to(file)
    for source, target in ((file, file), (file, link), ("http://127.0.0.1:1", "http://127.0.0.1:1/")):
        with pytest.raises(ConfigurationError, match="is the place that the tables are in"):
            command.move(THIS, source=str(source), to=str(target), pause="true")
    with connect(file, design) as db:
        db.create(Article(article_id="a", count=1))


def test_table_is_not_moved_to_itself_by_another_address(tmp_path: Path) -> None:
    with connect(tmp_path / "stock.db", design) as one, connect(tmp_path / "stock.db", design) as other:
        for items in (0, 1):
            filled(one, items)
            with pytest.raises(ConfigurationError, match="table stock of the source is table stock of the target"):
                move(one, other, lambda: pytest.fail("paused"))


def test_dynamodb_local_is_not_moved_to_itself_by_another_address(dynamodb_local: str) -> None:
    """It has no ids of tables; the advice was to delete the target, which is the source."""
    other_address = dynamodb_local.replace("127.0.0.1", "localhost")
    names, keys = {"stock": "stock-by-two-addresses"}, Credentials("a", "b")
    with (
        connect(dynamodb_local, credentials=keys, region="us-east-1") as one,
        connect(other_address, credentials=keys, region="us-east-1") as other,
    ):
        source, target = Store(one, design, table_names=names), Store(other, design, table_names=names)
        for items in (0, 1):
            filled(source, items)
            with pytest.raises(ConfigurationError, match="of the source is table stock-by-two-addresses of the target"):
                move(source, target, lambda: pytest.fail("paused"))


def test_fenced_file_knows_its_target_by_every_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with connect("old.db", design) as db:
        filled(db, 1)
    command.move(THIS, source="old.db", to="new.db", max_pause=PATIENT)
    command.move(THIS, source=str(tmp_path / "old.db"), to="./new.db", switch="touch noted")
    assert (tmp_path / "noted").exists()


@pytest.mark.parametrize("failing", ["pause", "switch"])
def test_programs_go_on_with_the_source_where_a_command_fails(tmp_path: Path, failing: str) -> None:
    old, new, noted = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "resumed"
    with connect(old, design) as db:
        filled(db, 1)
    pause, switch = ("false" if failing == each else "true" for each in ("pause", "switch"))
    with pytest.raises(TransferFailed, match="CommandFailed: false: ended with status 1"):
        command.move(
            THIS, source=str(old), to=str(new), pause=pause, resume=f"touch {noted}", switch=switch, max_pause=PATIENT
        )
    assert noted.exists()
    with connect(old, design) as db:
        db.put(Article(article_id="later", count=1))


@pytest.mark.parametrize(("resume", "reason"), [(None, "there is no command of --resume"), ("false", "with status 1")])
def test_programs_that_stay_stopped_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], resume: str | None, reason: str
) -> None:
    old = tmp_path / "old.db"
    with connect(old, design) as db:
        filled(db, 1)
    with pytest.raises(TransferFailed):
        command.move(THIS, source=str(old), to=str(tmp_path / "new.db"), pause="false", resume=resume)
    message = capsys.readouterr().err
    assert reason in message
    assert "let programs go on with the source" in message


def test_file_is_fenced_also_where_a_command_stops_the_programs(tmp_path: Path) -> None:
    old, new, stopped = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "stopped"
    with connect(old, design) as db:
        filled(db, 3)
    command.move(THIS, source=str(old), to=str(new), pause=f"touch {stopped}", max_pause=PATIENT)
    assert stopped.exists()
    with connect(old, design) as forgotten, pytest.raises(AccessDeniedException, match="Table stock was moved to"):
        forgotten.put(Article(article_id="late", count=1))


class Requests:
    """A backend that notes the size of each BatchWriteItem as JSON."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.sizes: list[int] = []

    def call(self, request: Any) -> Any:
        if isinstance(request, BatchWriteItem):
            self.sizes.append(len(msgspec.json.encode(request.request_items)))
        return self._backend.call(request)


def test_items_that_are_long_as_json_are_written_in_small_batches() -> None:
    """An item of many small values takes ten times its size as JSON, and requests have limits."""
    with connect("memory:") as one, connect("memory:") as other:
        source, noting = Store(one, design), Requests(other)
        source.create_tables()
        for number in range(60):
            long = [{"S": ""}] * (40_000 if number % 20 == 0 else 1000)
            item: Any = {
                "PK": {"S": f"ARTICLE#{number}"},
                "SK": {"S": "ARTICLE"},
                "count": {"N": "1"},
                "long": {"L": long},
            }
            one.call(PutItem(table_name="stock", item=item))
        done = move(source, Store(noting, design), nullcontext, max_pause=PATIENT)
        assert done.tables[0].items == 60
        assert max(noting.sizes) < 1_100_000


def test_command_that_fails_calls_the_switch_off(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with connect(old, durability="process") as engine:
        filled(Store(engine, design), 1)
    with pytest.raises(TransferFailed, match="CommandFailed: false: ended with status 1"):
        command.move("tests.recovery.test_moving", source=str(old), to=str(new), switch="false", max_pause=PATIENT)
    with connect(old, design) as db:
        db.put(Article(article_id="later", count=1))  # the switch was called off: the file is not fenced
    with pytest.raises(ConfigurationError, match="name a command that stops the programs"):
        command.move("tests.recovery.test_moving", source="http://127.0.0.1:1", to=str(new))

"""`partita work`, `partita consumers` and `partita jobs`, as people use them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from partita import Store, connect
from partita.consumers.administration import ConsumerAdministration, known_consumers
from partita.prometheus import CONTENT_TYPE
from tests.consumers import shop
from tests.consumers.shop import Order
from tests.peers import started, wait_until
from tests.prometheus_text import parsed
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

PARTITA = [sys.executable, "-m", "partita"]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(Path.cwd())]))
}

MODULE = """
from partita import Change, Consumer, HandlerTransaction, Jobs, Store
from partita.rest import Api, anyone
from tests.consumers import shop
from tests.consumers.shop import Order, design, tallies

strict = Consumer("strict", tries=1)


@strict.on(Order)
def copy(change: Change[Order], t: HandlerTransaction) -> None:
    shop.copy(change, t)
    if change.after.number == 13:
        raise ValueError("thirteen")


jobs = Jobs("shop")


@jobs.every(seconds=1)
def tick(db: Store) -> None:
    with db.change(shop.tally("ticks"), create=True) as draft:
        draft.total += 1


@jobs.every(days=1)
def fail(db: Store) -> None:
    raise ValueError("not today")


api = Api("shop", "Shop", design)
api.expose_get("/orders/{order_id}", shop.order, who=anyone)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop_app.py").write_text(MODULE)
    with connect(tmp_path / "shop.db", shop.design) as db:
        db.create_tables()
    return tmp_path


@pytest.fixture
def db(folder: Path) -> Iterator[Store]:
    with connect(folder / "shop.db", shop.design) as db:
        yield db


def partita(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [*PARTITA, *arguments, "--on", "shop.db"]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@contextmanager
def working(folder: Path, *options: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*PARTITA, "work", "shop_app", "--on", "shop.db", *options]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            if "--metrics-port" in options:
                yield process
                return
            assert process.stdout.readline() == "partita: working on tallies, strict, tick, fail, data in shop.db\n"
            yield process
        finally:
            process.kill()


def has_created(db: Store, count: int) -> bool:
    found = db(shop.tally("orders"))
    return found is not None and found.created == count


def dead_letters(db: Store) -> int:
    return len(ConsumerAdministration(db, "strict").dead_letters())


def test_work_handles_changes_until_it_is_interrupted(folder: Path, db: Store) -> None:
    with working(folder) as process:
        db.create(Order(order_id="1", customer_id="c"))
        wait_until(partial(has_created, db, 1))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    db.create(Order(order_id="2", customer_id="c"))
    with working(folder):
        wait_until(partial(has_created, db, 2))


def test_second_signal_ends_a_handler_that_hangs_and_its_change_is_handled_later(folder: Path, db: Store) -> None:
    module = folder / "shop_app.py"
    hangs = MODULE.replace("shop.copy(change, t)", 'print("hangs", flush=True)\n    threading.Event().wait()')
    module.write_text(f"import threading\n{hangs}")
    with working(folder) as process:
        db.create(Order(order_id="1", customer_id="c"))
        assert process.stdout is not None
        assert process.stdout.readline() == "hangs\n"
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        process.stderr.readline()  # that it waits for the handler
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGTERM
    module.write_text(MODULE)
    with working(folder):
        wait_until(lambda: db(shop.copy_of("1")) is not None)


def test_dead_letter_is_listed_retried_and_dropped(folder: Path, db: Store) -> None:
    with working(folder):
        for number in (13, 5):
            db.create(Order(order_id=str(number), customer_id="c", number=number))
        wait_until(lambda: dead_letters(db) == 1)
        shown = partita(folder, "consumers").stdout
        assert "strict" in shown
        assert "running" in shown
        line = partita(folder, "consumers", "dead", "strict").stdout
        assert "ORDER#13 ORDER" in line
        assert "ValueError: thirteen" in line
        sequence = line.split()[0]
        assert partita(folder, "consumers", "retry", "strict", sequence).stdout == f"{sequence}: it is tried again\n"
        wait_until(lambda: "1 tries" in partita(folder, "consumers", "dead", "strict").stdout)
        assert partita(folder, "consumers", "drop", "strict", "all").stdout == f"{sequence}: dropped\n"
        assert partita(folder, "consumers", "dead", "strict").stdout == ""


def test_forgotten_consumer_leaves_nothing_and_a_running_one_is_not_forgotten(folder: Path, db: Store) -> None:
    with working(folder) as process:
        db.create(Order(order_id="13", customer_id="c", number=13))
        wait_until(lambda: dead_letters(db) == 1)
        refused = partita(folder, "consumers", "forget", "strict")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
        assert "strict" in refused.stderr
        assert dead_letters(db) == 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert partita(folder, "consumers", "forget", "strict").stdout == "strict: forgotten\n"
    assert known_consumers(db) == ["tallies"]
    again = partita(folder, "consumers", "forget", "strict")
    assert (again.returncode, again.stdout, len(again.stderr.splitlines())) == (2, "", 1)


def test_paused_consumer_waits_until_it_is_resumed(folder: Path, db: Store) -> None:
    with working(folder):
        db.create(Order(order_id="1", customer_id="c"))
        wait_until(partial(has_created, db, 1))
    assert partita(folder, "consumers", "pause", "tallies").returncode == 0
    assert "paused" in partita(folder, "consumers").stdout
    db.create(Order(order_id="2", customer_id="c"))
    with working(folder):
        wait_until(lambda: db(shop.copy_of("2")) is not None)
        assert has_created(db, 1)
        assert partita(folder, "consumers", "resume", "tallies").returncode == 0
        wait_until(partial(has_created, db, 2))


def test_consumer_that_stands_still_is_listed_with_the_hours_left(folder: Path, db: Store) -> None:
    db.create(Order(order_id="1", customer_id="c"))
    with working(folder):
        wait_until(partial(has_created, db, 1))
    partita(folder, "consumers", "pause", "tallies")
    db.create(Order(order_id="2", customer_id="c"))
    shown = partita(folder, "consumers").stdout.splitlines()
    assert "paused" in next(line for line in shown if "tallies" in line)
    assert "consumer tallies stands still: it is paused; its oldest unread change expires in 24.0 hours" in shown


def test_changes_are_replayed_from_a_time(folder: Path, db: Store) -> None:
    db.create(Order(order_id="1", customer_id="c"))
    with working(folder):
        wait_until(partial(has_created, db, 1))
    assert partita(folder, "consumers", "replay", "tallies", "2026-01-01T00:00:00Z").returncode == 0
    with working(folder):
        wait_until(partial(has_created, db, 2))
    assert "in the future" in partita(folder, "consumers", "replay", "tallies", "2999-01-01T00:00:00Z").stderr


def read_metrics(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(url, headers=headers), timeout=PATIENCE) as reply:  # noqa: S310 - a local server
            assert reply.headers["content-type"] == CONTENT_TYPE
            return reply.status, reply.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def check_metrics(url: str) -> None:
    """Whether the metrics of consumers and jobs are served."""

    def has_run() -> bool:
        status, text = read_metrics(url)
        assert status == 200
        found = parsed(text)
        handled = found["partita_consumer_handled_total"].samples if "partita_consumer_handled_total" in found else {}
        return handled.get((("consumer", "tallies"),)) == 1 and "partita_job_last_run_failed" in found

    wait_until(has_run)


def test_work_serves_metrics_on_a_port_of_their_own(folder: Path, db: Store) -> None:
    db.create(Order(order_id="1", customer_id="c"))
    with working(folder, "--metrics-port", "0") as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        check_metrics(url)
        assert read_metrics(url, Host="evil.example")[0] == 421
        assert read_metrics(url.removesuffix("metrics"))[0] == 404
    with working(folder, "--metrics-port", "0", PARTITA_METRICS_TOKEN="secret") as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert read_metrics(url)[0] == 401
        assert read_metrics(url, Authorization="Bearer other")[0] == 401
        assert read_metrics(url, Authorization="Bearer secret")[0] == 200


def has_ticked(db: Store) -> bool:
    return db(shop.tally("ticks")) is not None


def test_work_runs_jobs_and_they_are_listed(folder: Path, db: Store) -> None:
    with working(folder):
        wait_until(partial(has_ticked, db))
    shown = partita(folder, "jobs", "shop_app").stdout
    assert "tick" in shown
    assert "every" in shown
    assert "None" not in shown


def test_job_is_run_by_hand(folder: Path, db: Store) -> None:
    assert partita(folder, "jobs", "run", "shop_app", "tick").stdout == "tick: run\n"
    assert db.one(shop.tally("ticks")).total == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("consumers", "dead", "nobody"), "Consumer nobody does not exist"),
        (("work", "tests.design.shop"), "no consumers or jobs to run"),
        (("work", "nowhere"), "neither an installed system"),
        (("jobs", "run", "shop_app", "nothing"), "shop_app has no job 'nothing'; it has tick, fail"),
        (("jobs", "run", "shop_app", "fail"), "fail failed: ValueError: not today"),
        (("jobs", "tests.design.shop"), "tests.design.shop has no jobs"),
        (("work", "shop_app", "--metrics-port", "0", "--metrics-host", "0.0.0.0"), "set PARTITA_METRICS_TOKEN"),  # noqa: S104
    ],
)
def test_mistake_is_one_line(folder: Path, arguments: tuple[str, ...], error: str) -> None:
    found = partita(folder, *arguments)
    assert found.returncode == 2
    assert error in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["consumers", "jobs"])
def test_file_that_does_not_exist_is_an_error_and_not_created(folder: Path, command: str) -> None:
    (folder / "shop.db").unlink()
    found = partita(folder, command, *(["shop_app"] if command == "jobs" else []))
    assert found.stderr == "partita: --on shop.db: no such file\n"
    assert not (folder / "shop.db").exists()


@pytest.mark.parametrize("works", [True, False])
def test_serve_runs_the_consumers_of_its_systems(folder: Path, db: Store, works: bool) -> None:
    options = ["shop_app", "--on", str(folder / "shop.db"), "--no-seed", *([] if works else ["--no-work"])]
    environment = {"PYTHONPATH": f"{folder}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    with started(lambda port: [*PARTITA, "serve", *options, "--port", str(port)], environment=environment) as running:
        db.create(Order(order_id="1", customer_id="c"))
        url = f"{running.endpoint}/metrics"
        if works:
            wait_until(partial(has_created, db, 1))
            wait_until(partial(has_ticked, db))
            check_metrics(url)
            assert read_metrics(url, Host="evil.example")[0] == 421
        else:
            wait_until(lambda: 'partita_consumer_stalled{consumer="tallies"} 1.0' in read_metrics(url)[1])
    assert has_created(db, 1) == has_ticked(db) == works

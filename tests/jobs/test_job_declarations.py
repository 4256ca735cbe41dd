"""Jobs as they are declared: names, functions and settings, and the errors of wrong ones."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from partita import DesignError, JobRun, Jobs, Store


def test_decorator_returns_the_function_itself() -> None:
    jobs = Jobs("shop")

    def close_old_orders(db: Store) -> None: ...

    assert jobs.every(minutes=10)(close_old_orders) is close_old_orders
    assert [job.name for job in jobs] == ["close_old_orders"]
    assert jobs["close_old_orders"].schedule.text == "every(minutes=10)"
    assert repr(jobs) == "Jobs('shop': close_old_orders)"


def test_cron_job_has_a_zone_and_a_name() -> None:
    jobs = Jobs("shop")
    jobs.cron("0  3 * * *", timezone="Europe/Berlin", name="nightly.report-1")(lambda db: None)
    assert jobs["nightly.report-1"].schedule.text == "cron('0 3 * * *', timezone='Europe/Berlin')"


def one(db: Store) -> None: ...
def two(db: Store, run: JobRun) -> None: ...
def with_default(db: Store, run: JobRun, size: int = 7) -> None: ...
async def later(db: Any) -> None: ...


class Callback:
    async def __call__(self, db: Any, run: JobRun) -> None: ...


@pytest.mark.parametrize(
    ("function", "is_async", "takes_run"),
    [
        (one, False, False),
        (two, False, True),
        (with_default, False, True),
        (later, True, False),
        (Callback(), True, True),
        (partial(with_default, size=8), False, True),
    ],
)
def test_function_may_take_the_store_or_the_run_too(function: Any, is_async: bool, takes_run: bool) -> None:
    jobs = Jobs("shop")
    jobs.every(hours=1, name="job")(function)
    assert (jobs["job"].is_async, jobs["job"].takes_run) == (is_async, takes_run)


def declare(settings: Callable[[Any], Any], function: Any = one) -> Callable[[], Any]:
    return lambda: settings(Jobs("shop"))(function)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (lambda: Jobs(""), "Jobs: '' is not a valid name; use 1 to 100 letters"),
        (lambda: Jobs("a b"), "Jobs: 'a b' is not a valid name"),
        (lambda: Jobs("shop", keep=timedelta(0)), "Jobs shop: keep=datetime.timedelta(0) is not valid"),
        (lambda: Jobs("shop", keep=30), "Jobs shop: keep=30 is not valid; use a timedelta of an hour or more"),  # type: ignore[arg-type]
        (declare(lambda jobs: jobs.every()), "every(): 0 seconds is not a valid interval"),
        (declare(lambda jobs: jobs.every(hours=1, missed="never")), "missed='never' is not valid; use \"skip\""),
        (declare(lambda jobs: jobs.every(hours=1, grace=-1)), "grace=-1 is not valid; use a timedelta"),
        (declare(lambda jobs: jobs.every(hours=1, name="")), "Jobs shop: '' is not a valid name"),
        (declare(lambda jobs: jobs.every(hours=1), lambda db: None), "Jobs shop: '<lambda>' is not a valid name"),
        (declare(lambda jobs: jobs.every(hours=1, name="x"), 7), "Jobs shop, job x: 7 is not a function"),
        (
            declare(lambda jobs: jobs.every(hours=1, name="x"), lambda: None),
            "cannot be called with these arguments",
        ),
        (
            declare(lambda jobs: jobs.every(hours=1, name="x"), lambda a, b, c: None),
            "write a function of the store",
        ),
        (declare(lambda jobs: jobs.cron("0 3 * *")), "cron '0 3 * *': it needs minute, hour"),
        (declare(lambda jobs: jobs.cron("0 3 * * *", timezone="CEST")), "'CEST' is not a known time zone"),
    ],
)
def test_wrong_declaration_is_an_error_when_it_is_loaded(declaration: Callable[[], Any], message: str) -> None:
    with pytest.raises(DesignError) as raised:
        declaration()
    assert message in str(raised.value)


def test_two_jobs_cannot_have_one_name() -> None:
    jobs = Jobs("shop")
    jobs.every(hours=1)(one)
    with pytest.raises(DesignError, match="Jobs shop: two jobs are named 'one'; pass name= to one of them"):
        jobs.every(hours=2)(one)

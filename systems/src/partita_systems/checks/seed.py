"""Demo data: users, their checks, and the results of the last two days.

The content follows from the seed. Times are relative to the hour of seeding, because results expire.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from partita import AlreadyExists, NotUnique, SeedStep, Store
from partita_systems.checks import design as d
from partita_systems.seed_steps import NumberedStep

FIRST = "ana bruno carla diego elena faisal greta hugo ines jonas kira luis mina noor olga pavel".split()
PLACES = ["shop", "status", "blog", "docs", "api", "mail", "learn", "jobs", "maps", "news"]
WORDS = ["welcome", "all systems operational", "in stock", "sign in", "today"]
CHECKS_EACH = 4
RESULTS_EACH = 48  # one an hour


def total(scale: float) -> int:
    """The number of steps."""
    return 2 * _people(scale)


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1: 20 users with four checks each, and two days of results."""
    people = _people(scale)
    yield from (_Person(random_seed, number) for number in range(people))
    yield from (_History(random_seed, number) for number in range(people))


def _people(scale: float) -> int:
    return max(1, round(20 * scale))


class _Step(NumberedStep):
    @property
    def user_id(self) -> str:
        return f"u_{self.seed}x{self.number}"

    def check_id(self, number: int) -> str:
        return f"c_{self.seed}x{self.number}x{number}"


class _Person(_Step):
    """A user and the user's checks; existing ones stay when the step is repeated."""

    def load(self, db: Store) -> None:
        name = f"{self.random.choice(FIRST)}{self.number}.{self.seed}"
        tier = d.Tier.PRO if self.number % 5 == 0 else d.Tier.FREE
        user = d.User(user_id=self.user_id, email=f"{name}@example.com", tier=tier, check_limit=5)
        with suppress(AlreadyExists, NotUnique):
            db.create(user)
        for number in range(CHECKS_EACH):
            with suppress(AlreadyExists):
                db.create(self._check(number, db.now()))

    def _check(self, number: int, now: datetime) -> d.Check:
        is_shop = number == CHECKS_EACH - 1
        place = self.random.choice(PLACES)
        return d.Check(
            check_id=self.check_id(number),
            user_id=self.user_id,
            url=f"https://{place}{self.number}.example.com/" + ("item/1" if is_shop else ""),
            check_type=d.CheckType.EBAY if is_shop else d.CheckType.AVAILABILITY,
            delay_ms=self.random.choice([60_000, 300_000, 3_600_000]),
            status=d.CheckStatus.PAUSED if self.random.random() < 0.1 else d.CheckStatus.ACTIVE,
            attributes={"maxPrice": "120.00"} if is_shop else {"keyword": self.random.choice(WORDS)},
            due_at=now + timedelta(seconds=self.random.randrange(60)),
        )


class _History(_Step):
    """The results of one user's checks. Nothing depends on them, so they are written in batches."""

    def load(self, db: Store) -> None:
        hour = db.now().replace(minute=0, second=0, microsecond=0)
        for number in range(CHECKS_EACH):
            db.put_many([self._result(number, hour - timedelta(hours=ago)) for ago in range(RESULTS_EACH)])

    def _result(self, number: int, at: datetime) -> d.Result:
        outcome = d.Outcome(status="UP", response_time=self.random.randrange(40, 900), keyword_found=True)
        if self.random.random() < 0.03:
            outcome = d.Outcome(status="DOWN", reason="the server answered 503")
        return d.Result(check_id=self.check_id(number), at=at, outcome=outcome)

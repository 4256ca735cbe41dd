"""Demo data: users, neighborhoods, memberships, sites and builds.

All of it follows from the seed, times included, except builds and deleted sites: they expire, so their times are
relative to the time of seeding.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from partita import AlreadyExists, InvalidValue, NotFound, NotUnique, SeedStep, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from partita_systems.seed_steps import NumberedStep, store_at
from partita_systems.service_base import ids_from

FIRST = "Alice Bruno Chloé Dmitri Eun-ji Farah Gabriel Hana Ines João Kofi Léa Minjun Nora Óscar Priya".split()
LAST = "Abara Bright Costa Dubois Eriksen Ferreira Green Haddad Ito Jones Kim Lopes Moreau Novak Park Quinn".split()
TRADES = ["baker", "carpenter", "community organizer", "gardener", "nurse", "teacher", "translator", "violinist"]
PLACES = ["Maple Street", "Harbour", "Old Mill", "Rua das Flores", "Café", "한강", "North Park", "Station Road"]
KINDS = ["Collective", "Neighbors", "Garden Club", "Tool Library", "Parents", "Repair Café", "Choir", "Watch"]
TEMPLATES = ["blog", "portfolio", "events", "shop"]
SUBJECTS = [
    "Bread without hurry",
    "Tomatoes on a balcony",
    "What we found in the attic",
    "Lost: a grey cat 🐈",
    "봄 시장",
]
COLORS = ["#007bff", "#2a9d8f", "#e76f51", "#6d597a"]
OPENED = datetime(2025, 6, 1, 8, tzinfo=UTC)


def total(scale: float) -> int:
    """The number of steps."""
    return sum(_sizes(scale))


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1: 60 users, 8 neighborhoods and 30 sites."""
    people, neighborhoods, sites = _sizes(scale)
    yield from (_Person(random_seed, number) for number in range(people))
    yield from (_Neighborhood(random_seed, number, people) for number in range(neighborhoods))
    yield from (_Site(random_seed, number, people) for number in range(sites))


def _sizes(scale: float) -> tuple[int, int, int]:
    return max(2, round(60 * scale)), max(1, round(8 * scale)), max(1, round(30 * scale))


class _Step(NumberedStep):
    def __init__(self, seed: int, number: int, people: int = 0) -> None:
        super().__init__(seed, number)
        self.people = people

    def service(self, db: Store, at: datetime) -> Nbhd:
        """The service at that time, with the ids of this step."""
        return Nbhd(store_at(db, at), ids_from(self.random.getrandbits))

    def unique(self, text: str) -> str:
        """The text, made unique by number and seed."""
        return f"{text}-{self.number}-{self.seed}" if self.seed else f"{text}-{self.number}"

    def did(self, number: int) -> str:
        return f"did:plc:{self.seed}x{number}"


class _Person(_Step):
    def load(self, db: Store) -> None:
        first, last = self.random.choice(FIRST), self.random.choice(LAST)
        handle = self.unique(f"{first}-{last}".lower())
        nbhd = self.service(db, OPENED + timedelta(minutes=self.random.randrange(200 * 24 * 60)))
        with suppress(AlreadyExists, NotUnique):
            nbhd.register(
                self.did(self.number),
                f"{handle}.bsky.social",
                f"{first} {last}",
                avatar_url=f"https://cdn.nbhd.city/avatars/{self.number}.jpg",
                bio=f"{self.random.choice(TRADES)} by day, neighbor always".capitalize(),
            )


class _Neighborhood(_Step):
    def load(self, db: Store) -> None:
        place, kind = PLACES[self.number % len(PLACES)], self.random.choice(KINDS)
        name = f"{place} {kind}"
        founder, *others = self.random.sample(range(self.people), min(self.people, self.random.randint(8, 30)))
        at = OPENED + timedelta(days=210 + self.number % 60)
        nbhd = self.service(db, at)
        with suppress(AlreadyExists, NotUnique):
            nbhd.create_neighborhood(
                self.did(founder),
                name,
                self.unique(name),
                description=f"Everything that happens around {place}, and who can help with it.",
                privacy=d.Privacy.PRIVATE if self.number % 7 == 5 else d.Privacy.PUBLIC,
                settings=d.Settings(require_email_verification=self.number % 3 == 2),
            )
        home = nbhd.find_by_slug(self.unique(name))
        assert home is not None
        for days, other in enumerate(others, 1):
            self._member(db, home, self.did(other), at + timedelta(days=days), stays=days % 6 != 0)

    def _member(self, db: Store, home: d.Neighborhood, did: str, at: datetime, *, stays: bool) -> None:
        until = at + timedelta(days=20)
        if db(d.past_member(home.neighborhood_id, until, did)) is not None:
            return
        nbhd = self.service(db, at)
        with suppress(AlreadyExists, InvalidValue):  # a member already
            if home.privacy == d.Privacy.PRIVATE:
                assert home.creator_did is not None
                nbhd.invite(home.neighborhood_id, did, home.creator_did)
            nbhd.join(home.neighborhood_id, did)
        if not stays:
            self.service(db, until).leave(home.neighborhood_id, did)


class _Site(_Step):
    def load(self, db: Store) -> None:
        owner = self.did(self.random.randrange(self.people))
        topic = self.random.choice(SUBJECTS)
        subdomain = self.unique(self.random.choice(TRADES).replace(" ", "-"))
        at = OPENED + timedelta(days=220, hours=self.number % 900)
        nbhd = self.service(db, at)
        with suppress(AlreadyExists, NotUnique):
            nbhd.create_site(owner, topic, self.random.choice(TEMPLATES), subdomain, self._config(at))
        site = nbhd.find_by_subdomain(subdomain)
        if site is None:  # deleted by an earlier run
            return
        self._build(db, owner, site)
        if self.number % 10 == 9:
            with suppress(NotFound):
                Nbhd(db).delete_site(owner, site.site_id)

    def _config(self, at: datetime) -> dict[str, Any]:
        chosen = self.random.sample(SUBJECTS, self.random.randint(1, 3))
        posts = [
            {"title": title, "date": (at + timedelta(days=day)).date().isoformat(), "text": f"{title}. " * 12}
            for day, title in enumerate(chosen)
        ]
        accent = self.random.choice(COLORS)
        return {"author": self.random.choice(FIRST), "accent_color": accent, "posts": posts, "custom_fields": {}}

    def _build(self, db: Store, owner: str, site: d.Site) -> None:
        """Up to three builds of the last days; the first failed. Builds of an interrupted run are counted."""
        wanted = self.number % 4
        existing = list(db(d.builds_of_site(site.site_id)))
        for running in (each for each in existing if each.status == d.BuildStatus.RUNNING):
            Nbhd(db).finish_build(owner, running)
        for ago in range(wanted - len(existing), 0, -1):
            start = db.now() - timedelta(days=ago)
            job = self.service(db, start).start_build(owner, site.site_id)
            error = "template 'posts.html': undefined variable" if ago == 3 else None
            logs = f"https://logs.nbhd.city/{job.job_id}"
            self.service(db, start + timedelta(seconds=41)).finish_build(owner, job, error=error, log_url=logs)

"""Demo data: users, neighborhoods, memberships, sites and builds.

All of it follows from the seed, times included, except builds and deleted sites: they expire, so their times are
relative to the time of seeding. Builds are left to the builder.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from partita import AlreadyExists, InvalidValue, NotFound, NotUnique, SeedStep, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.building.templates import TEMPLATES
from partita_systems.nbhd.service import Nbhd
from partita_systems.seed_steps import NumberedStep, store_at
from partita_systems.service_base import ids_from

FIRST = "Alice Bruno Chloé Dmitri Eun-ji Farah Gabriel Hana Ines João Kofi Léa Minjun Nora Óscar Priya".split()
LAST = "Abara Bright Costa Dubois Eriksen Ferreira Green Haddad Ito Jones Kim Lopes Moreau Novak Park Quinn".split()
TRADES = ["baker", "carpenter", "community organizer", "gardener", "nurse", "teacher", "translator", "violinist"]
PLACES = ["Maple Street", "Harbour", "Old Mill", "Rua das Flores", "Café", "한강", "North Park", "Station Road"]
KINDS = ["Collective", "Neighbors", "Garden Club", "Tool Library", "Parents", "Repair Café", "Choir", "Watch"]
POSTS = [
    (
        "Bread without hurry",
        "The dough rests overnight, and so do I.\n\nYou need:\n\n- 500 g of flour\n- 350 g of water\n- patience",
    ),
    (
        "Tomatoes on a balcony",
        "South side, deep pots, water in the evening.\n\nI have seedlings to give away in May. Bring your own pot.",
    ),
    (
        "What we found in the attic",
        "Letters, a violin, and a map of the street as it was in 1911.\n\nThe map is hung up in the hall.",
    ),
    (
        "Lost: a grey cat 🐈",
        "She answers to Mimi, if she feels like it. Last seen on the wall behind the old mill.",
    ),
    (
        "봄 시장",
        "강변에서 열리는 봄 시장에 오세요. 빵과 채소, 그리고 이웃들이 기다립니다.\n\n비가 오면 마을 회관에서 열립니다.",
    ),
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
                today = self.service(db, db.now())  # an invitation of then has expired, and may be deleted at once
                today.invite(home.neighborhood_id, did, home.creator_did)
            nbhd.join(home.neighborhood_id, did)
        if not stays:
            self.service(db, until).leave(home.neighborhood_id, did)


class _Site(_Step):
    def load(self, db: Store) -> None:
        owner = self.did(self.random.randrange(self.people))
        topic = self.random.choice(POSTS)[0]
        subdomain = self.unique(self.random.choice(TRADES).replace(" ", "-"))
        at = OPENED + timedelta(days=220, hours=self.number % 900)
        nbhd = self.service(db, at)
        with suppress(AlreadyExists, NotUnique):
            nbhd.create_site(owner, topic, self.random.choice(list(TEMPLATES)), subdomain, self._config(at))
        site = nbhd.find_by_subdomain(subdomain)
        if site is None:  # deleted by an earlier run
            return
        self._build(db, owner, site)
        if self.number % 10 == 9:
            with suppress(NotFound):
                Nbhd(db).delete_site(owner, site.site_id)

    def _config(self, at: datetime) -> dict[str, Any]:
        author, trade, place = (self.random.choice(each) for each in (FIRST, TRADES, PLACES))
        posts = [
            {
                "title": title,
                "date": (at + timedelta(days=40 * number)).date().isoformat(),
                "text": text,
                "place": place,
            }
            for number, (title, text) in enumerate(self.random.sample(POSTS, self.random.randint(2, len(POSTS))))
        ]
        return {
            "author": author,
            "accent_color": self.random.choice(COLORS),
            "tagline": f"{author}, {trade} near {place}",
            "about": "Everyone from around here is welcome. Say hello when you see me.",
            "links": [{"label": "Bluesky", "url": f"https://bsky.app/search?q={quote(author)}"}],
            "posts": posts,
            "custom_fields": {"Open": "Saturdays, 9 to 13"},
        }

    def _build(self, db: Store, owner: str, site: d.Site) -> None:
        """A build for three of four sites, which the builder runs as soon as it works; some have one that failed."""
        if self.number % 4 == 0 or list(db(d.builds_of_site(site.site_id)).first(1)):
            return
        start = db.now() - timedelta(days=3)
        if self.number % 4 == 3:
            failed = self.service(db, start).start_build(owner, site.site_id)
            error = "config.posts[0].date: expected RFC3339 encoded date"
            self.service(db, start + timedelta(seconds=1)).finish_build(owner, failed, error=error)
        self.service(db, db.now()).start_build(owner, site.site_id)

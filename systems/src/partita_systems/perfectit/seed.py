"""Demo data: users, cards, votes, comments, collections and metrics.

The content follows from the seed. Times are relative to the midnight before seeding, so that recent cards are recent
and drafts have not expired.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from partita import AlreadyExists, NotUnique, SeedStep, Store
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from partita_systems.seed_steps import NumberedStep, last_midnight, seeded_random, store_at
from partita_systems.service_base import ids_from

OPENED = datetime(2025, 1, 1, tzinfo=UTC)  # the time in ids that other steps use: independent of the day of seeding
SPREAD = 60  # cards are published over so many days
FIRST = "Ada Ben Chiara Dev Elif Femi Grace Hugo Ines Jun Karin Liam Maya Noor Otto Priya Quinn Rosa Sam Tove".split()
LAST = "Abara Becker Costa Dubois Eriksen Fischer Garcia Hansen Ito Jensen Kim Lopez Moreau Novak Okafor Park".split()
CATEGORIES = {
    "home": ("Home", ["woodworking", "textiles", "plants"]),
    "kitchen": ("Kitchen", ["baking", "coffee", "knives"]),
    "outdoors": ("Outdoors", ["bicycles", "camping"]),
}
TWISTS = [
    "the slow way",
    "in one evening",
    "without power tools",
    "on a small budget",
    "for the first time",
    "with children",
    "in a tiny flat",
    "like my grandmother did",
    "again after a failure",
]
REMARKS = [
    "Tried it on Sunday, and it worked at once. Thank you!",
    "Step two deserves more patience than the card says.",
    "I used half of the material, and it was still enough.",
    "Mine cracked. What did I do wrong?",
    "Best explanation of this that I have read 👏",
    "Would not do it this way: the old method is safer.",
    "A photo of the last step would help.",
    "Did it with my daughter. Now she explains it to me 😄",
]
NAMES = ["To try", "Weekend", "For the workshop", "With friends", "Someday"]


class Craft(NamedTuple):
    """The subject of a card."""

    title: str
    category: str
    tags: list[str]
    materials: dict[str, str]
    tools: list[str]
    steps: list[str]


CRAFTS = [
    Craft(
        "Perfect wood finish",
        "woodworking",
        ["furniture", "finishing"],
        {"linseed oil": "250 ml", "sandpaper 240": "3 sheets"},
        ["cotton cloth", "tack rag"],
        ["Sand along the grain.", "Wipe on a thin coat.", "Wait a day, sand lightly, and repeat twice."],
    ),
    Craft(
        "A drawer that never sticks",
        "woodworking",
        ["furniture", "repair"],
        {"paraffin wax": "1 candle"},
        ["block plane", "square"],
        ["Find where it rubs.", "Take off a shaving at a time.", "Wax both runners."],
    ),
    Craft(
        "Invisible darning",
        "textiles",
        ["mending", "wool"],
        {"matching wool": "2 m"},
        ["darning egg", "blunt needle"],
        ["Stretch the hole over the egg.", "Lay the warp.", "Weave, and leave slack at the edges."],
    ),
    Craft(
        "Monstera from a cutting",
        "plants",
        ["propagation", "houseplants"],
        {"sphagnum moss": "1 handful"},
        ["clean knife", "glass jar"],
        ["Cut below a node.", "Let the cut dry for an hour.", "Keep it in moss until roots are as long as a finger."],
    ),
    Craft(
        "Sourdough with an open crumb",
        "baking",
        ["bread", "fermentation"],
        {"strong flour": "500 g", "water": "375 g", "salt": "10 g"},
        ["dutch oven", "scale"],
        ["Mix and rest.", "Fold four times in two hours.", "Shape, chill overnight, and bake at 250 °C."],
    ),
    Craft(
        "Crème brûlée that cracks",
        "baking",
        ["dessert", "custard"],
        {"cream": "400 ml", "egg yolks": "5", "vanilla": "1 pod"},
        ["water bath", "torch"],
        ["Heat the cream with the vanilla.", "Pour over the yolks, and bake at 95 °C.", "Chill, sugar, and burn."],
    ),
    Craft(
        "Espresso in balance",
        "coffee",
        ["espresso", "dialling in"],
        {"coffee beans": "18 g"},
        ["grinder", "scale", "tamper"],
        ["Weigh the dose.", "Tamp level.", "Stop at 36 g, and change the grind until that takes 28 seconds."],
    ),
    Craft(
        "A knife as sharp as new",
        "knives",
        ["sharpening", "whetstone"],
        {"water": "a bowl"},
        ["whetstone 1000", "whetstone 6000"],
        ["Soak the stone.", "Hold 15 degrees.", "Raise a burr on one side, then on the other, and strop."],
    ),
    Craft(
        "Gears that shift in silence",
        "bicycles",
        ["maintenance", "derailleur"],
        {"chain oil": "10 drops"},
        ["hex key 5 mm", "repair stand"],
        ["Clean the chain.", "Set the end stops.", "Turn the barrel by quarters until the chain runs straight."],
    ),
    Craft(
        "One match, one fire",
        "camping",
        ["fire", "survival"],
        {"birch bark": "a strip", "dry twigs": "3 handfuls"},
        ["knife", "match"],
        ["Feather a stick.", "Build a small log cabin around the bark.", "Light it from the side of the wind."],
    ),
]


def total(scale: float) -> int:
    """The number of steps."""
    return 1 + sum(_sizes(scale))


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1: 16 users, 24 cards and 8 collections."""
    people, cards, collections = _sizes(scale)
    yield _categories
    yield from (_Person(random_seed, number, people, cards) for number in range(people))
    yield from (_Card(random_seed, number, people, cards) for number in range(cards))
    yield from (_Collection(random_seed, number, people, cards) for number in range(collections))


def _sizes(scale: float) -> tuple[int, int, int]:
    return max(3, round(16 * scale)), max(2, round(24 * scale)), max(1, round(8 * scale))


def _categories(db: Store) -> None:
    perfectit = PerfectIt(db)
    for order, (root, (name, children)) in enumerate(CATEGORIES.items()):
        with suppress(AlreadyExists):
            perfectit.add_category(root, name, sort_order=order)
        for place, child in enumerate(children):
            with suppress(AlreadyExists):
                perfectit.add_category(child, child.capitalize(), root, place)


class _Step(NumberedStep):
    def __init__(self, seed: int, number: int, people: int, cards: int) -> None:
        super().__init__(seed, number)
        self.people, self.cards = people, cards

    def __call__(self, db: Store) -> None:
        self.midnight = last_midnight(db)
        super().__call__(db)

    def service(self, db: Store, at: datetime, number: int = 0) -> PerfectIt:
        """PerfectIt at another time; the id that it makes is the `number`th of its kind."""

        def make_id(prefix: str, now: datetime) -> str:
            return self.id_of(prefix, number, now if prefix == "m" else OPENED)  # a comment has the time of its id

        return PerfectIt(store_at(db, at), make_id)

    def id_of(self, prefix: str, number: int, at: datetime = OPENED) -> str:
        """The id of the `number`th of a kind, whichever step creates it."""
        return ids_from(seeded_random(self.seed, f"{prefix} {number}").getrandbits)(prefix, at)


class _Person(_Step):
    def load(self, db: Store) -> None:
        first, last = self.random.choice(FIRST), self.random.choice(LAST)
        joined = self.midnight - timedelta(days=SPREAD + 30 + self.random.random() * 300)
        with suppress(AlreadyExists, NotUnique):
            self.service(db, joined, self.number).register(f"{first}.{last}.{self.number}", f"{first} {last}")


class _Card(_Step):
    """A card; every sixth is a draft, the others have votes and comments."""

    def load(self, db: Store) -> None:
        days = 9 if is_draft(self.number) else SPREAD
        at = self.midnight - timedelta(days=days * self.random.random() ** 2)
        author = self.id_of("u", self.random.randrange(self.people))
        card_id = self.id_of("c", self.number)
        perfectit = self.service(db, at, self.number)
        drafted = at if is_draft(self.number) else db.now()  # a draft of then has expired, and may be deleted at once
        with suppress(AlreadyExists):
            self.service(db, drafted, self.number).cards.draft(author, self._content(card_id))
        if not is_draft(self.number):
            perfectit.cards.publish(card_id)
            self._react(db, card_id, at)

    def _content(self, card_id: str) -> Content:
        craft = CRAFTS[self.number % len(CRAFTS)]
        return Content(
            title=f"{craft.title}, {self.random.choice(TWISTS)}",
            description=f"{craft.title} is mostly patience. Here is what finally worked.",
            image_urls=[f"https://images.perfectit.example/{card_id}/{shot}.jpg" for shot in (1, 2)],
            instructions=craft.steps,
            materials=craft.materials,
            tools=craft.tools,
            category=craft.category,
            tags=craft.tags,
            difficulty=self.random.choice(list(d.Difficulty)),
            estimated_time=self.random.choice([20, 45, 60, 120, 240]),
            estimated_cost=self.random.choice([0, 5, 10, 25, 50]),
        )

    def _react(self, db: Store, card_id: str, at: datetime) -> None:
        voters = self.random.sample(range(self.people), min(self.people, self.random.randrange(3, 9)))
        commented = {each.author_id for each in db(d.comments_of_card(card_id))}
        for hour, voter in enumerate(voters):
            user_id, number = self.id_of("u", voter), self.number * self.people + voter
            then = at.replace(microsecond=0) + timedelta(hours=hour, minutes=self.random.randrange(60))
            perfectit = self.service(db, then, number)
            vote = d.VoteType.UP if self.random.random() < 0.75 else d.VoteType.DOWN
            perfectit.votes.on_card(user_id, card_id, vote)
            remark, talks = self.random.choice(REMARKS), self.random.random() < 0.4
            if talks and user_id not in commented:
                perfectit.comment(user_id, card_id, remark)
        if not db.one(d.card(card_id)).view_count:
            perfectit.cards.count_views(card_id, len(voters) * self.random.randrange(10, 30))


class _Collection(_Step):
    def load(self, db: Store) -> None:
        owner, collection_id = self.id_of("u", self.number % self.people), self.id_of("l", self.number)
        perfectit = self.service(db, self.midnight - timedelta(days=1), self.number)
        with suppress(AlreadyExists):
            perfectit.new_collection(owner, self.random.choice(NAMES))
        published = [number for number in range(self.cards) if not is_draft(number)]
        for number in self.random.sample(published, min(len(published), 4)):
            perfectit.collect(owner, collection_id, self.id_of("c", number))


def is_draft(number: int) -> bool:
    return number % 6 == 5

"""Demo data: Korean companies that dismantle electric cars, and companies that use the parts.

The content and the ids follow from the seed. Times are relative to the day of seeding, because matches, notifications
and needs expire.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from partita import AlreadyExists, InvalidTransition, SeedStep, Store, VersionConflict
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY
from partita_systems.eecar.matches import query_hash
from partita_systems.eecar.proposals import Answer
from partita_systems.eecar.reasons import TEMPLATE, Fit, TemplateReasons
from partita_systems.eecar.seed_catalogue import CARS, COMPANY_WORDS, KINDS, QUERIES, TRADES, Kind, Use
from partita_systems.eecar.service import Eecar
from partita_systems.seed_steps import NumberedStep, last_midnight, seeded_random, store_at
from partita_systems.service_base import MakeId, ids_from

CATEGORIES = list(KINDS)
EMBEDDING_MODEL = "demo"  # of cached matches; parts are embedded by the consumer
OPENED = datetime(2025, 1, 1, tzinfo=UTC)


def total(scale: float) -> int:
    """The number of steps."""
    return 1 + sum(_sizes(scale))


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1: 40 parts, 24 needs, 10 watches, 20 proposals and 5 cached matches."""
    parts, needs, watches, proposals, matches = _sizes(scale)
    yield [d.Catalogue(category=category, version=1) for category in (*CATEGORIES, ANY)]
    yield from (_Part(random_seed, number, parts) for number in range(parts))
    yield from (_Need(random_seed, number, parts) for number in range(needs))
    yield from (_Watch(random_seed, number, parts) for number in range(watches))
    yield from (_Proposal(random_seed, number, parts) for number in range(proposals))
    yield from (_Match(random_seed, number, parts) for number in range(matches))


def _sizes(scale: float) -> tuple[int, ...]:
    return tuple(max(1, round(size * scale)) for size in (40, 24, 10, 20, 5))


def _id(seed: int, step: str, prefix: str, number: int = 1) -> str:
    """The `number`th id with this prefix that a step makes."""
    return ids_from(seeded_random(seed, f"{step} {prefix} {number}").getrandbits)(prefix, OPENED)


def _ids(seed: int, step: str) -> MakeId:
    counts: Counter[str] = Counter()

    def make(prefix: str, _: datetime) -> str:
        counts[prefix] += 1
        return _id(seed, step, prefix, counts[prefix])

    return make


class _Step(NumberedStep):
    def __init__(self, seed: int, number: int, parts: int) -> None:
        super().__init__(seed, number)
        self.parts = parts

    def __call__(self, db: Store) -> None:
        self.today = last_midnight(db)
        super().__call__(db)

    def ago(self, least: int, most: int) -> datetime:
        """A random time between `least` and `most` days before today."""
        return self.today - timedelta(days=self.random.randint(least, most), minutes=self.random.randrange(600))

    def service(self, db: Store, at: datetime) -> Eecar:
        """The service at that time, with the ids of this step."""
        return Eecar(store_at(db, at), _ids(self.seed, self.name))

    def id(self, prefix: str) -> str:
        return _id(self.seed, self.name, prefix)

    def part_id(self, number: int) -> str:
        return _id(self.seed, f"_Part {number % self.parts}", "p")

    def company(self, number: int) -> tuple[str, str]:
        """The id and name of a company; there is one company for about two parts."""
        number %= max(4, self.parts // 2)
        word, trade = COMPANY_WORDS[number % len(COMPANY_WORDS)], TRADES[number // len(COMPANY_WORDS) % len(TRADES)]
        return _id(self.seed, f"company {number}", "c"), f"{word} {trade}"


class _Part(_Step):
    def load(self, db: Store) -> None:
        category = CATEGORIES[self.number % len(CATEGORIES)]
        kind = KINDS[category]
        maker, model = self.random.choice(CARS)
        year = self.random.randint(2017, 2024)
        name = self.random.choice(kind.names)
        price = self.random.randrange(150, 9_000) * 1_000
        eecar = self.service(db, self.ago(3, 200))
        part = d.Part(
            name=f"{model} {name}",
            category=category,
            manufacturer=maker,
            model=model,
            year=year,
            condition=self.random.choice(list(d.PartCondition)),
            price=price,
            quantity=self.random.randint(1, 40),
            seller_id=self.company(self.number // 2)[0],
            description=f"{year}년식 {maker} {model}에서 분리한 {name}입니다. 시험 성적서를 함께 드립니다.",
            images=[f"https://images.example.com/{self.id('p')}/{number}.jpg" for number in range(2)],
        )
        uses = self.random.sample(kind.uses, self.random.randint(1, 2))
        with suppress(AlreadyExists):
            eecar.parts.offer(part, spec=self.spec(kind), usages=[self.usage(each) for each in uses])

    def spec(self, kind: Kind) -> d.Spec:
        primary, secondary = kind.material
        capacity = None if kind.capacity is None else self.random.randint(*kind.capacity)
        voltage, power = self.random.choice(kind.voltages), self.random.randint(*kind.power)
        return d.Spec(
            material_composition=d.Materials(primary=primary, secondary=secondary),
            dimensions=d.Dimensions(
                length=self.random.randint(100, 2000), width=self.random.randint(80, 900), height=120
            ),
            weight=self.random.randint(*kind.weight),
            electrical_props=d.ElectricalProps(voltage=voltage, capacity=capacity, power=power),
            thermal_props={"최고온도": self.random.randint(45, 90), "단위": "°C"},
            recycling_info={"회수율": self.random.randint(60, 95), "등급": self.random.choice(["A", "B", "C"])},
        )

    def usage(self, use: Use) -> d.Usage:
        return d.Usage(
            industry=use.industry,
            application=use.application,
            requirements={"인증": "KC"},
            success_case=self.random.random() < 0.5,
            description=use.description,
        )


class _Need(_Step):
    def load(self, db: Store) -> None:
        at = self.ago(1, 20)
        eecar = self.service(db, at)
        company_id, company_name = self.company(self.number)
        category = self.random.choice(CATEGORIES)
        use = self.random.choice(KINDS[category].uses)
        need = d.Need(
            company_id=company_id,
            company_name=company_name,
            industry=use.industry,
            required_specs=d.RequiredSpecs(
                category=category,
                min_quantity=self.random.randint(1, 20),
                max_price=self.random.randrange(500, 9_000) * 1_000,
                material_preferences=[KINDS[category].material[0]],
            ),
            production_process=use.description,
            target_application=use.application,
            priority=self.random.choice(list(d.Priority)),
            expires_at=at + timedelta(days=self.random.randint(30, 90)),
        )
        with suppress(AlreadyExists):
            eecar.needs.post(need)
        end = {3: eecar.needs.fulfil, 4: eecar.needs.cancel}.get(self.number % 5)
        if end is not None:
            end(company_id, self.id("n"))


class _Watch(_Step):
    """A watch; every second is triggered by a part."""

    def load(self, db: Store) -> None:
        eecar = self.service(db, self.ago(1, 25))
        watch = d.Watch(
            buyer_id=self.company(self.number + 1)[0],
            email=f"buyer{self.number}@example.com",
            phone=f"010-{self.random.randrange(10_000):04}-{self.random.randrange(10_000):04}",
            criteria=d.Criteria(
                category=None if self.number % 4 == 3 else CATEGORIES[self.number % len(CATEGORIES)],
                min_specs={"전압": f"{self.random.choice([48, 400, 800])}V"},
                max_price=self.random.randrange(1_000, 9_000) * 1_000,
            ),
            once=self.number % 3 == 2,
        )
        with suppress(AlreadyExists):
            eecar.watches.add(watch)
        part = db(d.part(self.part_id(self.number)))
        if part is not None and self.number % 2 == 0:
            eecar.watches.trigger(self.id("w"), part, round(self.random.uniform(0.6, 0.99), 2))


class _Proposal(_Step):
    def load(self, db: Store) -> None:
        at = self.ago(2, 25)
        make_id = _ids(self.seed, self.name)
        eecar = Eecar(store_at(db, at), make_id)
        seller, buyer = (
            self.company(self.number % self.parts // 2)[0],
            self.company(self.number % self.parts // 2 + 1)[0],
        )
        proposal = d.Proposal(
            from_company_id=buyer,
            to_company_id=seller,
            part_ids=[self.part_id(self.number)],
            proposal_type="buy",
            message="견적을 부탁드립니다. 빠른 납품을 희망합니다.",
            quantity=self.random.randint(1, 10),
            price_offer=self.random.randrange(500, 20_000) * 1_000,
            terms={"납기": f"{self.random.randint(1, 6)}주", "보증": {"개월": 6}},
        )
        with suppress(AlreadyExists):
            eecar.proposals.create(proposal)
        answers: dict[int, Answer] = {1: "accepted", 2: "rejected", 3: "negotiating"}
        answer = answers.get(self.number % 5)
        if answer is not None:
            later = Eecar(store_at(db, at + timedelta(days=1)), make_id)
            with suppress(VersionConflict, InvalidTransition):
                later.proposals.answer(self.id("o"), seller, answer, version=1)


class _Match(_Step):
    def load(self, db: Store) -> None:
        words, category = QUERIES[self.number % len(QUERIES)]
        query = f"{words}, {self.number + 1}개"
        key = query_hash(query, {}, EMBEDDING_MODEL, TEMPLATE)
        scores = sorted((round(self.random.uniform(0.5, 0.99), 3) for _ in range(3)), reverse=True)
        first, step = CATEGORIES.index(category), len(CATEGORIES)
        parts = [db.one(d.part(self.part_id(first + rank * step))) for rank in range(len(scores))]
        fits = [Fit(part, score, []) for part, score in zip(parts, scores, strict=True)]
        reasons = TemplateReasons().write(query, fits)
        found = [
            d.MatchedPart(part_id=fit.part.part_id, score=fit.similarity, reason=reason)
            for fit, reason in zip(fits, reasons, strict=True)
        ]
        db.put(
            d.Match(
                query_hash=key,
                query=query,
                query_embedding=f"queries/{key}.bin",
                matched_parts=found,
                model_used=TEMPLATE,
                created_at=self.ago(0, 4),
                hit_count=self.random.randrange(200),
                catalogue={ANY.value: 1},
            )
        )

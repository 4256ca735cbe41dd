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
from partita_systems.eecar.categories import ANY, Category
from partita_systems.eecar.matches import query_hash
from partita_systems.eecar.proposals import Answer
from partita_systems.eecar.service import Eecar
from partita_systems.seed_steps import NumberedStep, last_midnight, seeded_random, store_at
from partita_systems.service_base import MakeId, ids_from

CARS = [
    ("현대", "아이오닉 5"),
    ("현대", "코나 일렉트릭"),
    ("기아", "EV6"),
    ("기아", "니로 EV"),
    ("테슬라", "모델 3"),
    ("테슬라", "모델 Y"),
    ("쉐보레", "볼트 EV"),
    ("KG모빌리티", "토레스 EVX"),
]
NAMES = {
    Category.BATTERY: ["고전압 배터리 팩", "배터리 모듈", "배터리 셀 묶음 🔋"],
    Category.MOTOR: ["구동 모터", "후륜 모터", "모터 회전자"],
    Category.ELECTRONICS: ["배터리 관리 장치", "차량 제어기", "계기판 화면"],
    Category.INVERTER: ["구동 인버터", "직류 변환기"],
    Category.CHARGER: ["완속 충전기", "급속 충전구"],
    Category.COOLING: ["배터리 냉각판", "히트펌프", "냉각수 펌프"],
}
CATEGORIES = list(NAMES)
MATERIALS = [("리튬", ["니켈", "코발트"]), ("구리", ["네오디뮴"]), ("알루미늄", ["구리"]), ("실리콘", ["구리", "주석"])]
WORDS = "한빛 새벽 다솔 가온 누리 마루 아라 온새미 푸른 해든 미르 도담".split()
TRADES = ["에너지", "모빌리티", "해체산업", "전동공구", "자원순환", "솔라"]
USES = [
    ("재생에너지", "태양광 에너지 저장", "낮에 모은 전기를 밤에 씁니다."),
    ("ESS", "공장 비상 전원", "정전 때 설비를 두 시간 동안 지킵니다."),
    ("건설", "전동 공구 전원", "현장에서 발전기를 대신합니다."),
    ("농업", "전동 운반차", "과수원에서 하루 한 번 충전으로 움직입니다."),
    ("해양", "소형 전기 보트", "조용하고 매연이 없습니다 ⛵."),
]
QUERIES = [
    "ESS용 중고 배터리",
    "50kW 이상 구동 모터",
    "저렴한 완속 충전기",
    "battery modules for solar storage",
    "히트펌프 재생품",
]
EMBEDDING_MODEL, REASON_MODEL = "offline-hangul-256", "template"
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
        word, trade = WORDS[number % len(WORDS)], TRADES[number // len(WORDS) % len(TRADES)]
        return _id(self.seed, f"company {number}", "c"), f"{word} {trade}"


class _Part(_Step):
    def load(self, db: Store) -> None:
        category = CATEGORIES[self.number % len(CATEGORIES)]
        maker, model = self.random.choice(CARS)
        year = self.random.randint(2017, 2024)
        name = self.random.choice(NAMES[category])
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
        uses = self.random.sample(USES, self.random.randint(1, 2))
        with suppress(AlreadyExists):
            eecar.parts.offer(part, spec=self.spec(), usages=[self.usage(*each) for each in uses])
        eecar.parts.set_vector(self.id("p"), f"vectors/{self.id('p')}.bin", EMBEDDING_MODEL, 256)

    def spec(self) -> d.Spec:
        primary, secondary = self.random.choice(MATERIALS)
        voltage, power = self.random.choice([48, 355, 400, 650, 800]), self.random.randint(3, 240)
        return d.Spec(
            material_composition=d.Materials(primary=primary, secondary=secondary),
            dimensions=d.Dimensions(
                length=self.random.randint(100, 2000), width=self.random.randint(80, 900), height=120
            ),
            weight=self.random.randint(2, 480),
            electrical_props=d.ElectricalProps(voltage=voltage, capacity=self.random.randint(10, 99), power=power),
            thermal_props={"최고온도": self.random.randint(45, 90), "단위": "°C"},
            recycling_info={"회수율": self.random.randint(60, 95), "등급": self.random.choice(["A", "B", "C"])},
        )

    def usage(self, industry: str, application: str, description: str) -> d.Usage:
        return d.Usage(
            industry=industry,
            application=application,
            requirements={"인증": "KC"},
            success_case=self.random.random() < 0.5,
            description=description,
        )


class _Need(_Step):
    def load(self, db: Store) -> None:
        at = self.ago(1, 20)
        eecar = self.service(db, at)
        company_id, company_name = self.company(self.number)
        industry, application, process = self.random.choice(USES)
        need = d.Need(
            company_id=company_id,
            company_name=company_name,
            industry=industry,
            required_specs=d.RequiredSpecs(
                category=self.random.choice(CATEGORIES),
                min_quantity=self.random.randint(1, 20),
                max_price=self.random.randrange(500, 9_000) * 1_000,
                material_preferences=[self.random.choice(MATERIALS)[0]],
            ),
            production_process=process,
            target_application=application,
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
        query = f"{QUERIES[self.number % len(QUERIES)]}, {self.number + 1}개"
        key = query_hash(query, {}, EMBEDDING_MODEL, REASON_MODEL)
        scores = sorted((round(self.random.uniform(0.5, 0.99), 3) for _ in range(3)), reverse=True)
        found = [
            d.MatchedPart(
                part_id=self.part_id(self.number * 3 + rank), score=score, reason="소재와 출력이 조건에 맞습니다."
            )
            for rank, score in enumerate(scores)
        ]
        db.put(
            d.Match(
                query_hash=key,
                query=query,
                query_embedding=f"queries/{key}.bin",
                matched_parts=found,
                model_used=REASON_MODEL,
                created_at=self.ago(0, 4),
                hit_count=self.random.randrange(200),
                catalogue={ANY.value: 1},
            )
        )

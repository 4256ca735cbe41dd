"""A battery finds its second life in EECAR, told request by request."""

from itertools import count
from typing import Protocol

from partita import Store, VersionConflict, new_id
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.matches import query_hash
from partita_systems.eecar.service import Eecar

HANBIT, SAEBYEOK = "c_hanbit", "c_saebyeok"  # 한빛 takes cars apart, 새벽 builds energy storage


class Narrator(Protocol):
    """Who writes the story down: sentences, what people see, and every request of `db`."""

    db: Store

    def __call__(self, sentence: str) -> None: ...
    def passes(self, **duration: float) -> None: ...
    def shows(self, found: object) -> None: ...


def tell(say: Narrator) -> None:
    """Two companies and one battery."""
    numbers = count(1)
    eecar = Eecar(say.db, lambda prefix, now: new_id(prefix, now, lambda _: next(numbers)))
    wishes(say, eecar)
    battery = listing(say, eecar)
    news(say, eecar, battery)
    searching(say, eecar, battery)
    deal(say, eecar, battery)
    endings(say, eecar, battery)


def wishes(say: Narrator, eecar: Eecar) -> None:
    say("새벽 needs batteries for home storage, with high priority, until the end of the month.")
    need = d.Need(
        company_id=SAEBYEOK,
        company_name="새벽 에너지",
        industry="ESS",
        required_specs=d.RequiredSpecs(category=Category("battery"), min_quantity=2, max_price=5_000_000),
        target_application="가정용 에너지 저장",
        priority=d.Priority.HIGH,
        expires_at=say.db.context.clock().replace(day=31),
    )
    eecar.needs.post(need)
    say("It also watches for batteries: the watch, and the way to it from the category, in one transaction.")
    criteria = d.Criteria(category=Category("battery"), max_price=5_000_000)
    eecar.watches.begin(d.Watch(buyer_id=SAEBYEOK, email="buy@saebyeok.example", criteria=criteria, once=True))


def listing(say: Narrator, eecar: Eecar) -> d.Part:
    say.passes(hours=3)
    say("한빛 lists a battery pack with what it is made of and what it is good for: all or nothing.")
    battery = eecar.parts.list_(
        d.Part(
            name="고전압 배터리 팩",
            category=Category("battery"),
            manufacturer="현대",
            model="아이오닉 5",
            year=2022,
            condition="중고",
            price=4_500_000,
            quantity=3,
            seller_id=HANBIT,
        ),
        spec=d.Spec(weight=450, electrical_props=d.ElectricalProps(voltage=650, capacity=72.6)),
        usages=[d.Usage(industry="재생에너지", application="에너지 저장", success_case=True)],
    )
    say("Its vector is stored elsewhere; the part refers to it afterwards.")
    eecar.parts.refer_to_vector(battery.part_id, f"vectors/{battery.part_id}.bin", "offline-hangul-256", 256)
    say("The whole part is one Query, and each item is what it is.")
    say.shows([type(each).__name__ for each in say.db(d.whole_part(battery.part_id))])
    return battery


def news(say: Narrator, eecar: Eecar, battery: d.Part) -> None:
    say("Who watches this category, or all of them? Two Queries, whatever word the category is called by.")
    watching = list(eecar.watches.who_watches("밧데리"))
    say.shows([each.buyer_id for each in watching])
    say("새벽 is told. The watch was for once, so it ends in the same transaction.")
    say.shows(eecar.watches.trigger(watching[0].watch_id, battery, 0.93))
    say("Telling it again of the same part changes nothing.")
    say.shows(eecar.watches.trigger(watching[0].watch_id, battery, 0.93))
    say("Its notifications, newest first.")
    say.shows([each.title for each in say.db(d.notifications(SAEBYEOK))])


def searching(say: Narrator, eecar: Eecar, battery: d.Part) -> None:
    say("새벽 asks for batteries in its own words. The answer is cached with how far the catalogue has come.")
    asked = query_hash("ESS용 중고 배터리", {"category": "배터리"}, "offline-hangul-256", "template")
    seen = eecar.matches.catalogue([Category.BATTERY])
    found = d.MatchedPart(part_id=battery.part_id, score=0.93, reason="용량과 가격이 조건에 맞습니다")
    eecar.matches.remember(
        d.Match(
            query_hash=asked,
            query="ESS용 중고 배터리",
            query_embedding=f"queries/{asked}.bin",
            matched_parts=[found],
            model_used="template",
            created_at=say.db.context.clock(),
            catalogue=seen,
        )
    )
    say("The next time the cache answers, and nothing is written for the hit.")
    match = eecar.matches.recall(asked)
    say.shows(None if match is None else [each.reason for each in match.matched_parts])
    say("Hits are written later, together; the number in the index keeps its order.")
    eecar.matches.write_hits()


def deal(say: Narrator, eecar: Eecar, battery: d.Part) -> None:
    say.passes(days=1)
    say("새벽 offers eight million won for two. 한빛 is told in the same transaction.")
    made = eecar.proposals.make(
        d.Proposal(
            from_company_id=SAEBYEOK,
            to_company_id=HANBIT,
            part_ids=[battery.part_id],
            proposal_type="buy",
            message="두 개 구매하고 싶습니다",
            quantity=2,
            price_offer=8_000_000,
        )
    )
    say("한빛 looks at what waits for an answer.")
    say.shows([each.message for each in say.db(d.received_proposals(HANBIT, "pending"))])
    say.passes(hours=2)
    say("It would rather negotiate.")
    eecar.proposals.answer(made.proposal_id, HANBIT, "negotiating", version=1)
    say("새벽 offers more.")
    eecar.proposals.revise(made.proposal_id, SAEBYEOK, version=2, quantity=2, price_offer=8_600_000)
    say("Somebody at 한빛 rejects the offer that they saw an hour ago, and is told to look again.")
    try:
        eecar.proposals.answer(made.proposal_id, HANBIT, "rejected", version=2)
    except VersionConflict as refusal:
        say.shows(refusal)
    say("The new offer is accepted.")
    eecar.proposals.answer(made.proposal_id, HANBIT, "accepted", version=3)
    say("새벽 sees it among what it has sent.")
    say.shows([(each.status, each.price_offer) for each in eecar.proposals.sent(SAEBYEOK, "accepted").items])


def endings(say: Narrator, eecar: Eecar, battery: d.Part) -> None:
    say("The need is fulfilled, and no longer expires.")
    (need,) = say.db(d.active_needs_of_company(SAEBYEOK))
    eecar.needs.fulfil(SAEBYEOK, need.need_id)
    say.passes(days=60)
    say("Two months later the need is still there. What expired, the notifications, is not.")
    say.shows([each.target_application for each in say.db(d.needs_by_status("fulfilled"))])
    say.shows([each.title for each in say.db(d.notifications(SAEBYEOK))])
    say("The last pack is sold elsewhere: the part goes with everything that was known of it.")
    eecar.parts.withdraw(battery.part_id)
    say.shows(eecar.parts.of_seller(HANBIT).items)

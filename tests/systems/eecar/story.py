"""A battery is listed, watched, matched and sold, with the requests that this sends."""

from partita import VersionConflict
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.matches import query_hash
from partita_systems.eecar.service import Eecar
from tests.systems.story_recorder import StoryRecorder, counted_ids

HANBIT, SAEBYEOK = "c_hanbit", "c_saebyeok"  # 한빛 takes cars apart, 새벽 builds energy storage


def record(story: StoryRecorder) -> None:
    """Two companies and one battery."""
    eecar = Eecar(story.db, counted_ids())
    wishes(story, eecar)
    battery = listing(story, eecar)
    news(story, eecar, battery)
    searching(story, eecar, battery)
    deal(story, eecar, battery)
    endings(story, eecar, battery)


def wishes(story: StoryRecorder, eecar: Eecar) -> None:
    story("새벽 needs batteries for home storage, with high priority, until the end of the month.")
    need = d.Need(
        company_id=SAEBYEOK,
        company_name="새벽 에너지",
        industry="ESS",
        required_specs=d.RequiredSpecs(category=Category("battery"), min_quantity=2, max_price=5_000_000),
        target_application="가정용 에너지 저장",
        priority=d.Priority.HIGH,
        expires_at=story.db.now().replace(day=31),
    )
    eecar.needs.post(need)
    story("It also watches for batteries: the watch and its lookup item under the category, in one transaction.")
    criteria = d.Criteria(category=Category("battery"), max_price=5_000_000)
    eecar.watches.add(d.Watch(buyer_id=SAEBYEOK, email="buy@saebyeok.example", criteria=criteria, once=True))


def listing(story: StoryRecorder, eecar: Eecar) -> d.Part:
    story.advance(hours=3)
    story("한빛 lists a battery pack with its specification and usages, in one transaction.")
    battery = eecar.parts.offer(
        d.Part(
            name="고전압 배터리 팩",
            category=Category("battery"),
            manufacturer="현대",
            model="아이오닉 5",
            year=2022,
            condition=d.PartCondition.USED,
            price=4_500_000,
            quantity=3,
            seller_id=HANBIT,
        ),
        spec=d.Spec(weight=450, electrical_props=d.ElectricalProps(voltage=650, capacity=72.6)),
        usages=[d.Usage(industry="재생에너지", application="에너지 저장", success_case=True)],
    )
    story("Its vector is stored elsewhere; the part refers to it afterwards.")
    eecar.parts.set_vector(battery.part_id, f"vectors/{battery.part_id}.bin", "offline-hangul-256", 256)
    story("One Query reads the whole part; each item has its own type.")
    story.show([type(each).__name__ for each in story.db(d.whole_part(battery.part_id))])
    return battery


def news(story: StoryRecorder, eecar: Eecar, battery: d.Part) -> None:
    story("Who watches this category, or all categories? Two Queries; any alias of the category works.")
    watching = list(eecar.watches.of_category("밧데리"))
    story.show([each.buyer_id for each in watching])
    story("새벽 is notified. The watch is marked `once`, so it ends in the same transaction.")
    story.show(eecar.watches.trigger(watching[0].watch_id, battery, 0.93))
    story("A second trigger for the same part changes nothing.")
    story.show(eecar.watches.trigger(watching[0].watch_id, battery, 0.93))
    story("The notifications of 새벽, newest first.")
    story.show([each.title for each in story.db(d.notifications(SAEBYEOK))])


def searching(story: StoryRecorder, eecar: Eecar, battery: d.Part) -> None:
    story("새벽 searches for batteries. The answer is cached with the version of the catalogue.")
    asked = query_hash("ESS용 중고 배터리", {"category": "배터리"}, "offline-hangul-256", "template")
    seen = eecar.matches.catalogue_versions([Category.BATTERY])
    found = d.MatchedPart(part_id=battery.part_id, score=0.93, reason="용량과 가격이 조건에 맞습니다")
    eecar.matches.cache(
        d.Match(
            query_hash=asked,
            query="ESS용 중고 배터리",
            query_embedding=f"queries/{asked}.bin",
            matched_parts=[found],
            model_used="template",
            created_at=story.db.now(),
            catalogue=seen,
        )
    )
    story("The next time the cache answers. The hit is counted in memory.")
    match = eecar.matches.lookup(asked)
    story.show(None if match is None else [each.reason for each in match.matched_parts])
    story("Hits are written in batches; the index key has a fixed width, so it sorts by number.")
    eecar.matches.write_hits()


def deal(story: StoryRecorder, eecar: Eecar, battery: d.Part) -> None:
    story.advance(days=1)
    story("새벽 offers eight million won for two. 한빛 is notified in the same transaction.")
    created = eecar.proposals.create(
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
    story("한빛 lists its pending proposals.")
    story.show([each.message for each in story.db(d.received_proposals(HANBIT, "pending"))])
    story.advance(hours=2)
    story("한빛 wants to negotiate.")
    eecar.proposals.answer(created.proposal_id, HANBIT, "negotiating", version=1)
    story("새벽 offers more.")
    eecar.proposals.revise(created.proposal_id, SAEBYEOK, version=2, quantity=2, price_offer=8_600_000)
    story("Another person at 한빛 rejects the earlier version of the offer.")
    story.show_error(
        lambda: eecar.proposals.answer(created.proposal_id, HANBIT, "rejected", version=2), VersionConflict
    )
    story("The new offer is accepted.")
    eecar.proposals.answer(created.proposal_id, HANBIT, "accepted", version=3)
    story("새벽 sees it among its sent proposals.")
    story.show([(each.status, each.price_offer) for each in eecar.proposals.sent_by(SAEBYEOK, "accepted").items])


def endings(story: StoryRecorder, eecar: Eecar, battery: d.Part) -> None:
    story("The need is fulfilled, and no longer expires.")
    (need,) = story.db(d.active_needs_of_company(SAEBYEOK))
    eecar.needs.fulfil(SAEBYEOK, need.need_id)
    story.advance(days=60)
    story("Two months later the need still exists. The notifications have expired.")
    story.show([each.target_application for each in story.db(d.needs_by_status("fulfilled"))])
    story.show([each.title for each in story.db(d.notifications(SAEBYEOK))])
    story("한빛 withdraws the part: it is deleted with its specification, vector and usages.")
    eecar.parts.withdraw(battery.part_id)
    story.show(eecar.parts.of_seller(HANBIT).items)

"""For each system, one new entity of each kind, and its owner."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from partita import new_id
from partita_systems.blog import design as blog_design
from partita_systems.blog.service import Blog
from partita_systems.checks import design as checks_design
from partita_systems.checks.service import Checks
from partita_systems.eecar import design as eecar_design
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from partita_systems.nbhd import design as nbhd_design
from partita_systems.nbhd.service import Nbhd
from partita_systems.perfectit import design as perfectit_design
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt

Things = dict[str, str]
_numbers: Iterator[int] = count(1)


def checks(service: Checks, owner: str) -> Things:
    service.register(f"{owner}@example.com".replace(":", "."), user_id=owner)
    check = service.add(owner, "https://example.com/", checks_design.CheckType.AVAILABILITY, 60_000)
    return {"user_id": owner, "check_id": check.check_id}


def perfectit(service: PerfectIt, owner: str) -> Things:
    name = f"user{next(_numbers)}"
    service.register(name, "Somebody", user_id=owner)
    category = f"cat{next(_numbers)}"
    service.add_category(category, "Things")
    card = service.cards.draft(owner, Content(title="Sharpen a knife", instructions=["Slowly."], category=category))
    draft = service.cards.draft(owner, Content(title="Not yet"))
    service.cards.publish(card.card_id)
    comment = service.comment(owner, card.card_id, "Good")
    service.votes.on_card(owner, card.card_id, perfectit_design.VoteType.UP)
    collection = service.new_collection(owner, "Later")
    at = datetime(2030, 1, 1, tzinfo=UTC)
    notification = perfectit_design.Notification(
        notification_id=new_id("n", at),
        user_id=owner,
        notification_type=perfectit_design.NotificationType.VOTED,
        actor_id="x",
        card_id=card.card_id,
        created_at=at,
    )
    service.db.create(notification)
    return {
        "user_id": owner,
        "author_id": owner,
        "username": name,
        "card_id": card.card_id,
        "target_id": card.card_id,
        "draft_id": draft.card_id,
        "comment_id": comment.comment_id,
        "notification_id": notification.notification_id,
        "collection_id": collection.collection_id,
        "category": category,
        "category_id": category,
        "parent_id": category,
        "day": "2025-01-01",
    }


def blog(service: Blog, owner: str) -> Things:
    service.register(owner, "Conceição", groups=["AUTHOR"])
    root = _root(service)
    below = service.categories.add("Choro", root.category_id)
    post = service.write(owner, "Um guia", "Era uma vez", subcategory_id=below.category_id)
    draft = service.write(owner, "Ainda não", "…")
    service.publish(post.post_id)
    comment = service.comments.add(post.post_id, owner, "Obrigada 😄")
    service.like(owner, post.post_id)
    service.bookmark(owner, post.post_id)
    notification = service.notify(owner, blog_design.NotificationType.LIKE, "x", post.post_id)
    withdrawn = service.write(owner, "Não mais", "…", subcategory_id=below.category_id)
    service.publish(withdrawn.post_id)
    hidden = service.comments.add(withdrawn.post_id, owner, "Que pena")
    service.unpublish(withdrawn.post_id)
    return {
        "author_id": owner,
        "user_id": owner,
        "role": "AUTHOR",
        "post_id": post.post_id,
        "draft_id": draft.post_id,
        "comment_id": comment.comment_id,
        "hidden_id": hidden.comment_id,
        "category_id": below.category_id,
        "subcategory_id": below.category_id,
        "parent_id": root.category_id,
        "notification_id": notification.notification_id,
    }


def _root(service: Blog) -> blog_design.Category:
    """A category that several fixtures share: the number of roots is limited."""
    for root in service.db(blog_design.root_categories()):
        if root.name == "Outra música" and root.child_count < blog_design.MAX_CHILDREN / 2:
            return root
    return service.categories.add("Outra música")


def nbhd(service: Nbhd, owner: str) -> Things:
    number = next(_numbers)
    service.register(owner, f"user{number}.bsky.social", "Léa")
    at = service.create_neighborhood(owner, f"Maple Street {number}")
    hidden = service.create_neighborhood(owner, f"Hidden {number}", privacy=nbhd_design.Privacy.PRIVATE)
    site = service.create_site(owner, "Bread", "blog", f"bread-{number}")
    deleted = service.create_site(owner, "Old", "blog", f"old-{number}")
    service.delete_site(owner, deleted.site_id)
    job = service.start_build(owner, site.site_id)
    return {
        "did": owner,
        "handle": f"user{number}.bsky.social",
        "neighborhood_id": at.neighborhood_id,
        "hidden_id": hidden.neighborhood_id,
        "slug": at.slug,
        "hidden_slug": hidden.slug,
        "site_id": site.site_id,
        "deleted_id": deleted.site_id,
        "subdomain": site.subdomain,
        "job_id": job.job_id,
    }


def eecar(service: Eecar, owner: str) -> Things:
    part = service.parts.offer(
        eecar_design.Part(
            name="배터리 모듈",
            category=Category.BATTERY,
            manufacturer="기아",
            model="EV6",
            year=2023,
            condition=eecar_design.PartCondition.USED,
            price=1_000_000,
            quantity=3,
            seller_id=owner,
        ),
        spec=eecar_design.Spec(weight=12.5),
    )
    usage = service.parts.add_usage(part.part_id, eecar_design.Usage(industry="ESS", application="저장"))
    need = service.needs.post(
        eecar_design.Need(
            company_id=owner,
            company_name="한빛",
            industry="ESS",
            required_specs=eecar_design.RequiredSpecs(),
            target_application="저장",
        )
    )
    watch = service.watches.add(
        eecar_design.Watch(buyer_id=owner, email="a@example.com", criteria=eecar_design.Criteria())
    )
    sent, received = (
        service.proposals.create(
            eecar_design.Proposal(
                from_company_id=sender,
                to_company_id=receiver,
                part_ids=[part.part_id],
                proposal_type="sell" if sender == owner else "buy",
                quantity=1,
                price_offer=1,
            )
        )
        for sender, receiver in ((owner, "another"), ("another", owner))
    )
    notification = service.notifications.send(
        eecar_design.Notification(
            recipient_id=owner,
            type=eecar_design.NotificationType.COMPLIANCE_VIOLATION,
            title="!",
            message="!",
            sent_at=service.parts.now(),
        )
    )
    return {
        "part_id": part.part_id,
        "usage_id": usage.usage_id,
        "category": "battery",
        "seller_id": owner,
        "company_id": owner,
        "to_company_id": owner,
        "buyer_id": owner,
        "recipient_id": owner,
        "party_id": owner,
        "need_id": need.need_id,
        "watch_id": watch.watch_id,
        "proposal_id": sent.proposal_id,
        "received_id": received.proposal_id,
        "notification_id": notification.notification_id,
        "query_hash": "none",
    }


SYSTEM_FIXTURES: dict[str, Callable[[Any, str], Things]] = {
    "checks": checks,
    "perfectit": perfectit,
    "blog": blog,
    "nbhd": nbhd,
    "eecar": eecar,
}

"""EECAR over HTTP: sellers, buyers and companies are one kind of party, and the token says which one you are."""

from typing import Annotated

from msgspec import UNSET, Meta

from partita import NotFound, Page
from partita.rest import Api, Caller, PageSize, group, myself, owner, signed_in
from partita.systems.eecar import bodies as b
from partita.systems.eecar import design as d
from partita.systems.eecar.parts import WholePart
from partita.systems.eecar.service import Eecar

admin = group("admin")
machines = group("machine") | admin  # the embedder and the matcher
seller = owner("seller_id")
buyer = owner("buyer_id")
sender = owner("from_company_id")
receiver = owner("to_company_id")
recipient = owner("recipient_id")

api = Api("eecar", "EECAR", Eecar, "Parts of electric cars, matched to who needs them. 전기차 부품 거래.")

Word = Annotated[str, Meta(min_length=1, max_length=60, examples=["배터리"])]


# Parts


@api.post("/parts", who=signed_in, location="/parts/{part_id}")
def list_part(service: Eecar, caller: Caller, new: b.NewPart) -> d.Part:
    """Offer a part, with what it is made of and good for."""
    spec = new.spec.entity() if new.spec is not None else None
    return service.parts.list_(new.entity(caller.name), spec=spec, usages=[each.entity() for each in new.usages])


api.reads("/parts/{part_id}", d.part)
api.changes(
    "/parts/{part_id}",
    d.part,
    *("name", "manufacturer", "model", "year", "condition", "price", "quantity", "description", "images"),
    who=seller,
)


@api.get("/parts/{part_id}/whole")
def whole_part(service: Eecar, part_id: str) -> WholePart:
    """A part with everything that is known of it, in one Query."""
    found = service.parts.whole(part_id)
    if found is None:
        raise NotFound(d.Part.__name__, part_id)
    return found


@api.delete("/parts/{part_id}", who=seller | admin, of=d.part)
def withdraw(service: Eecar, part_id: str) -> None:
    """The part goes, with all that is known of it."""
    service.parts.withdraw(part_id)


@api.put("/parts/{part_id}/category", who=seller | admin, of=d.part)
def categorise(service: Eecar, part_id: str, new: b.NewCategory) -> None:
    """It belongs to another category."""
    service.parts.categorise(part_id, new.category)


@api.put("/parts/{part_id}/seller", who=seller, of=d.part)
def hand_over(service: Eecar, part_id: str, new: b.NewSeller) -> None:
    """It is another seller's from now on."""
    service.parts.hand_over(part_id, new.seller_id)


@api.get("/categories/{category}/parts")
def parts_in_category(
    service: Eecar, category: Word, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.PartSummary]:
    """The newest parts of a category, by any of its words: 배터리, battery."""
    return service.parts.in_category(category, limit, cursor)


@api.get("/sellers/{seller_id}/parts")
def parts_of_seller(service: Eecar, seller_id: str, limit: PageSize = 20, cursor: str | None = None) -> Page[d.Part]:
    """What a seller offers, the newest first."""
    return service.parts.of_seller(seller_id, min(limit, 100), cursor)


api.reads("/parts/{part_id}/spec", d.spec)
api.reads("/parts/{part_id}/vector", d.vector)
api.lists("/parts/{part_id}/usages", d.usages)
api.reads("/parts/{part_id}/usages/{usage_id}", d.usage)


@api.put("/parts/{part_id}/spec", who=seller, of=d.part)
def specify(service: Eecar, part_id: str, new: b.NewSpec) -> d.Spec:
    """What the part is made of, in place of what was known before."""
    return service.parts.specify(part_id, new.entity())


@api.delete("/parts/{part_id}/spec", who=seller, of=d.part)
def forget_spec(service: Eecar, part_id: str) -> None:
    """Nothing is known of what it is made of."""
    service.db.delete(d.spec(part_id))


@api.put("/parts/{part_id}/vector", who=machines)
def refer_to_vector(service: Eecar, part_id: str, new: b.NewVector) -> d.VectorReference:
    """Where the part's vector lies, once the object is there."""
    return service.parts.refer_to_vector(part_id, new.s3_key, new.embedding_model, new.dimension)


@api.delete("/parts/{part_id}/vector", who=machines)
def forget_vector(service: Eecar, part_id: str) -> None:
    """The part has no vector any more."""
    service.db.delete(d.vector(part_id))


@api.post("/parts/{part_id}/usages", who=seller, of=d.part, location="/parts/{part_id}/usages/{usage_id}")
def add_usage(service: Eecar, part_id: str, new: b.NewUsage) -> d.Usage:
    """Something that the part is good for."""
    return service.parts.add_usage(part_id, new.entity())


@api.patch("/parts/{part_id}/usages/{usage_id}", who=seller, of=d.part)
def change_usage(service: Eecar, part_id: str, usage_id: str, change: b.ChangedUsage) -> d.Usage:
    """How it went."""
    with service.db.change(d.usage(part_id, usage_id)) as draft:
        if change.application is not UNSET:
            draft.application = change.application
        if change.success_case is not UNSET:
            draft.success_case = change.success_case
        if change.description is not UNSET:
            draft.description = change.description
    return service.db.one(d.usage(part_id, usage_id), consistent=True)


@api.delete("/parts/{part_id}/usages/{usage_id}", who=seller, of=d.part)
def remove_usage(service: Eecar, part_id: str, usage_id: str) -> None:
    """It is not good for that."""
    service.db.delete(d.usage(part_id, usage_id))


# Needs

NEED = "/companies/{company_id}/needs/{need_id}"
api.lists("/companies/{company_id}/needs", d.active_needs_of_company, who=signed_in)
api.lists("/needs", d.needs_by_status, who=signed_in)
api.reads(NEED, d.need, who=signed_in)
api.changes(NEED, d.need, "industry", "production_process", "target_application", "priority", who=myself("company_id"))
api.deletes(NEED, d.need, who=myself("company_id"))


@api.post("/companies/{company_id}/needs", who=myself("company_id"), location=NEED)
def post_need(service: Eecar, company_id: str, new: b.NewNeed) -> d.Need:
    """Say what your company looks for."""
    return service.needs.post(new.entity(company_id))


@api.put(NEED + "/end", who=myself("company_id"))
def prolong(service: Eecar, company_id: str, need_id: str, new: b.NewEnd) -> None:
    """It is needed until then."""
    service.needs.prolong(company_id, need_id, new.expires_at)


@api.post(NEED + "/fulfilment", who=myself("company_id"))
def fulfil(service: Eecar, company_id: str, need_id: str) -> None:
    """It was found."""
    service.needs.fulfil(company_id, need_id)


@api.post(NEED + "/cancellation", who=myself("company_id"))
def cancel_need(service: Eecar, company_id: str, need_id: str) -> None:
    """It is no longer looked for."""
    service.needs.cancel(company_id, need_id)


# Matches

api.lists("/matches", d.most_hit_matches, who=signed_in)
api.deletes("/matches/{query_hash}", d.match, who=machines)


@api.get("/matches/{query_hash}", who=signed_in)
def match(service: Eecar, query_hash: str) -> d.Match:
    """A cached match, unless parts have changed since."""
    found = service.matches.recall(query_hash)
    if found is None:
        raise NotFound(d.Match.__name__, query_hash)
    return found


@api.put("/matches/{query_hash}", who=machines)
def remember(service: Eecar, query_hash: str, new: b.NewMatch) -> None:
    """Cache a match; one that is there is renewed and keeps its hits."""
    made = d.Match(
        query_hash=query_hash,
        query=new.query,
        query_embedding=new.query_embedding,
        matched_parts=new.matched_parts,
        model_used=new.model_used,
        created_at=service.matches.now(),
        catalogue=new.catalogue,
    )
    service.matches.remember(made)


# Watches


@api.post("/watches", who=signed_in, location="/watches/{watch_id}")
def begin_watch(service: Eecar, caller: Caller, new: b.NewWatch) -> d.Watch:
    """Be told of parts that meet the criteria: of every one, or of the first."""
    watch = d.Watch(
        buyer_id=caller.name, email=new.email, phone=new.phone, criteria=new.criteria.entity(), once=new.once
    )
    return service.watches.begin(watch)


api.reads("/watches/{watch_id}", d.watch, who=buyer | admin)
api.lists("/watches/{watch_id}/triggers", d.watch_with_triggers, who=buyer | admin, of=d.watch)
api.lists("/buyers/{buyer_id}/watches", d.watches_of_buyer, who=myself("buyer_id"))
api.deletes("/watches/{watch_id}", d.watch, who=buyer | admin)


@api.put("/watches/{watch_id}/criteria", who=buyer, of=d.watch)
def revise_watch(service: Eecar, watch_id: str, criteria: b.WatchedFor) -> None:
    """Watch for something else, while it is active."""
    service.watches.revise(watch_id, criteria.entity())


@api.post("/watches/{watch_id}/cancellation", who=buyer, of=d.watch)
def cancel_watch(service: Eecar, watch_id: str) -> None:
    """Be told of nothing more."""
    service.watches.cancel(watch_id)


# Proposals


@api.post("/proposals", who=signed_in, location="/proposals/{proposal_id}")
def propose(service: Eecar, caller: Caller, new: b.NewProposal) -> d.Proposal:
    """Offer something to another company, which is told of it."""
    proposal = d.Proposal(
        from_company_id=caller.name,
        to_company_id=new.to_company_id,
        part_ids=new.part_ids,
        proposal_type=new.proposal_type,
        quantity=new.quantity,
        price_offer=new.price_offer,
        message=new.message,
        terms=new.terms,
    )
    return service.proposals.make(proposal)


api.reads("/proposals/{proposal_id}", d.proposal, who=sender | receiver | admin)
api.deletes("/proposals/{proposal_id}", d.proposal, who=sender | admin)
api.lists("/companies/{to_company_id}/received-proposals", d.received_proposals, who=myself("to_company_id"))


@api.get("/companies/{company_id}/sent-proposals", who=myself("company_id"))
def sent_proposals(
    service: Eecar, company_id: str, status: d.ProposalStatus, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Proposal]:
    """What your company has proposed, the newest first."""
    return service.proposals.sent(company_id, status, min(limit, 100), cursor)


@api.post("/proposals/{proposal_id}/answer", who=receiver, of=d.proposal)
def answer(service: Eecar, caller: Caller, proposal_id: str, new: b.NewAnswer) -> None:
    """Accept, reject or negotiate; of two answers to one offer, one wins."""
    service.proposals.answer(proposal_id, caller.name, new.answer, version=new.version)


@api.post("/proposals/{proposal_id}/revision", who=sender, of=d.proposal)
def revise_proposal(service: Eecar, caller: Caller, proposal_id: str, new: b.NewOffer) -> None:
    """Offer otherwise, and wait for an answer again."""
    service.proposals.revise(
        proposal_id, caller.name, version=new.version, quantity=new.quantity, price_offer=new.price_offer
    )


# Notifications

api.lists("/recipients/{recipient_id}/notifications", d.notifications, who=myself("recipient_id"))
api.reads("/notifications/{notification_id}", d.notification, who=recipient)
api.deletes("/notifications/{notification_id}", d.notification, who=recipient)


@api.post("/notifications", who=admin, location="/notifications/{notification_id}")
def notify(service: Eecar, new: b.NewNotification) -> d.Notification:
    """Tell somebody; watches and proposals tell by themselves."""
    notification = d.Notification(
        recipient_id=new.recipient_id,
        type=new.type,
        title=new.title,
        message=new.message,
        data=new.data,
        sent_at=service.notifications.now(),
    )
    return service.notifications.send(notification)


@api.put("/notifications/{notification_id}/read", who=recipient, of=d.notification)
def mark_read(service: Eecar, notification_id: str) -> None:
    """It has been seen."""
    service.notifications.mark_read(notification_id)


api.tries(open="/categories/battery/parts?limit=3", signed="/needs?status=active&limit=3")

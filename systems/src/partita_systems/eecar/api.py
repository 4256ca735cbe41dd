"""EECAR over HTTP: sellers, buyers and companies are one kind of party, and the token says which one you are."""

from partita import NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, caller_is, group, owned_by, signed_in
from partita_systems.eecar import bodies as b
from partita_systems.eecar import design as d
from partita_systems.eecar.parts import WholePart
from partita_systems.eecar.service import Eecar

HITS_EVERY = 2.0  # seconds

admin = group("admin")
machines = group("machine") | admin  # the embedder and the matcher
seller = owned_by("seller_id")
buyer = owned_by("buyer_id")
sender = owned_by("from_company_id")
receiver = owned_by("to_company_id")
recipient = owned_by("recipient_id")

api = Api(
    "eecar",
    "EECAR",
    d.design,
    service=Eecar,
    about="Parts of electric cars, matched to who needs them. 전기차 부품 거래.",
)
api.background_job(lambda service: service.matches.write_hits(), every=HITS_EVERY)

USAGE = "/parts/{part_id}/usages/{usage_id}"
NEED = "/companies/{company_id}/needs/{need_id}"


# Parts


@api.post("/parts", who=signed_in, location="/parts/{part_id}")
def list_part(service: Eecar, caller: Caller, new: b.NewPart) -> d.Part:
    """Offer a part, with what it is made of and good for."""
    spec = new.spec.entity() if new.spec is not None else None
    return service.parts.list_(new.entity(caller.name), spec=spec, usages=[each.entity() for each in new.usages])


api.expose_get("/parts/{part_id}", d.part)
api.expose_patch("/parts/{part_id}", d.part, *b.PART, who=seller)


@api.get("/parts/{part_id}/whole")
def whole_part(service: Eecar, part_id: str) -> WholePart:
    """A part with everything that is known of it, in one Query."""
    found = service.parts.whole(part_id)
    if found is None:
        raise NotFound(d.Part.__name__, {"part_id": part_id})
    return found


@api.delete("/parts/{part_id}", who=seller | admin, on=d.part)
def withdraw(service: Eecar, part_id: str, match: IfMatch) -> None:
    """The part goes, with all that is known of it."""
    found = service.db.one(d.part(part_id), consistent=True)
    service.parts.withdraw(part_id, when=match.when(found))


@api.put("/parts/{part_id}/category", who=seller | admin, on=d.part)
def categorise(service: Eecar, part_id: str, new: b.NewCategory) -> None:
    """It belongs to another category."""
    service.parts.categorise(part_id, new.category)


@api.put("/parts/{part_id}/seller", who=seller, on=d.part)
def hand_over(service: Eecar, part_id: str, new: b.NewSeller) -> None:
    """It is another seller's from now on."""
    service.parts.hand_over(part_id, new.seller_id)


@api.get("/categories/{category}/parts")
def parts_in_category(
    service: Eecar, category: b.CategoryWord, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.PartSummary]:
    """The newest parts of a category, by any of its words: 배터리, battery."""
    return service.parts.in_category(category, limit, cursor)


@api.get("/sellers/{seller_id}/parts")
def parts_of_seller(service: Eecar, seller_id: str, limit: PageSize = 20, cursor: str | None = None) -> Page[d.Part]:
    """What a seller offers, the newest first."""
    return service.parts.of_seller(seller_id, min(limit, 100), cursor)


api.expose_get("/parts/{part_id}/spec", d.spec)
api.expose_get("/parts/{part_id}/vector", d.vector)
api.expose_list("/parts/{part_id}/usages", d.usages)
api.expose_get(USAGE, d.usage)
api.expose_patch(USAGE, d.usage, *b.USAGE, who=seller, on=d.part)
api.expose_delete(USAGE, d.usage, who=seller, on=d.part, name="remove_usage")
api.expose_delete("/parts/{part_id}/spec", d.spec, who=seller, on=d.part, name="forget_spec")
api.expose_delete("/parts/{part_id}/vector", d.vector, who=machines, name="forget_vector")


@api.put("/parts/{part_id}/spec", who=seller, on=d.part)
def specify(service: Eecar, part_id: str, new: b.NewSpec) -> d.Spec:
    """What the part is made of, in place of what was known before."""
    return service.parts.specify(part_id, new.entity())


@api.put("/parts/{part_id}/vector", who=machines)
def refer_to_vector(service: Eecar, part_id: str, new: b.NewVector) -> d.VectorReference:
    """Where the part's vector lies, once the object is there."""
    return service.parts.refer_to_vector(part_id, new.s3_key, new.embedding_model, new.dimension)


@api.post("/parts/{part_id}/usages", who=seller, on=d.part, location=USAGE)
def add_usage(service: Eecar, part_id: str, new: b.NewUsage) -> d.Usage:
    """Something that the part is good for."""
    return service.parts.add_usage(part_id, new.entity())


# Needs

# Needs

api.expose_list("/companies/{company_id}/needs", d.active_needs_of_company, who=signed_in)
api.expose_list("/needs", d.needs_by_status, who=signed_in)
api.expose_get(NEED, d.need, who=signed_in)
api.expose_patch(NEED, d.need, *b.NEED, who=caller_is("company_id"))
api.expose_delete(NEED, d.need, who=caller_is("company_id"))


@api.post("/companies/{company_id}/needs", who=caller_is("company_id"), location=NEED)
def post_need(service: Eecar, company_id: str, new: b.NewNeed) -> d.Need:
    """Say what your company looks for."""
    return service.needs.post(new.entity(company_id))


@api.put(NEED + "/required-specs", who=caller_is("company_id"))
def require(service: Eecar, company_id: str, need_id: str, required: b.Required) -> None:
    """Something else is needed."""
    service.needs.require(company_id, need_id, required.entity())


@api.put(NEED + "/end", who=caller_is("company_id"))
def prolong(service: Eecar, company_id: str, need_id: str, new: b.NewEnd) -> None:
    """It is needed until then."""
    service.needs.prolong(company_id, need_id, new.expires_at)


@api.post(NEED + "/fulfilment", who=caller_is("company_id"))
def fulfil(service: Eecar, company_id: str, need_id: str) -> None:
    """It was found."""
    service.needs.fulfil(company_id, need_id)


@api.post(NEED + "/cancellation", who=caller_is("company_id"))
def cancel_need(service: Eecar, company_id: str, need_id: str) -> None:
    """It is no longer looked for."""
    service.needs.cancel(company_id, need_id)


# Matches

api.expose_list("/matches", d.most_hit_matches, who=signed_in)
api.expose_delete("/matches/{query_hash}", d.match, who=machines)


@api.get("/matches/{query_hash}", who=signed_in)
def match(service: Eecar, query_hash: str) -> d.Match:
    """A cached match, unless parts have changed since."""
    found = service.matches.recall(query_hash)
    if found is None:
        raise NotFound(d.Match.__name__, {"query_hash": query_hash})
    return found


@api.put("/matches/{query_hash}", who=machines)
def remember(service: Eecar, query_hash: str, new: b.NewMatch) -> None:
    """Cache a match; one that is there is renewed and keeps its hits."""
    service.matches.remember(new.entity(query_hash, service.matches.now()))


@api.get("/catalogues/{category}", who=machines)
def catalogue(service: Eecar, category: b.CategoryWord) -> d.Catalogue:
    """What the parts of a category, or of ANY, have come to: read before matching, sent with the match."""
    return service.matches.reached(category)


@api.post("/catalogues/{category}/moves", who=machines)
def move_catalogue(service: Eecar, category: b.CategoryWord) -> d.Catalogue:
    """Parts of the category have changed: matches of it, and of ANY, are stale."""
    service.matches.move(category)
    return service.matches.reached(category)


# Watches


@api.post("/watches", who=signed_in, location="/watches/{watch_id}")
def begin_watch(service: Eecar, caller: Caller, new: b.NewWatch) -> d.Watch:
    """Be told of parts that meet the criteria: of every one, or of the first."""
    return service.watches.begin(new.entity(caller.name))


api.expose_get("/watches/{watch_id}", d.watch, who=buyer | admin)
api.expose_list("/watches/{watch_id}/triggers", d.watch_with_triggers, who=buyer | admin, on=d.watch)
api.expose_list("/buyers/{buyer_id}/watches", d.watches_of_buyer, who=caller_is("buyer_id"))
api.expose_delete("/watches/{watch_id}", d.watch, who=buyer | admin)


@api.put("/watches/{watch_id}/criteria", who=buyer, on=d.watch)
def revise_watch(service: Eecar, watch_id: str, criteria: b.WatchedFor) -> None:
    """Watch for something else, while it is active."""
    service.watches.revise(watch_id, criteria.entity())


@api.put("/watches/{watch_id}/address", who=buyer, on=d.watch)
def reach(service: Eecar, watch_id: str, new: b.NewAddress) -> None:
    """Be told there, in place of where it was before."""
    service.watches.reach(watch_id, new.email, new.phone)


@api.put("/watches/{watch_id}/triggers/{part_id}", who=machines)
def tell(service: Eecar, watch_id: str, part_id: str, new: b.NewTrigger) -> d.Trigger:
    """Tell the buyer of a part, while the watch is active; twice is once."""
    return service.watches.tell(watch_id, part_id, new.match_score)


@api.post("/watches/{watch_id}/cancellation", who=buyer, on=d.watch)
def cancel_watch(service: Eecar, watch_id: str) -> None:
    """Be told of nothing more."""
    service.watches.cancel(watch_id)


# Proposals


@api.post("/proposals", who=signed_in, location="/proposals/{proposal_id}")
def propose(service: Eecar, caller: Caller, new: b.NewProposal) -> d.Proposal:
    """Offer something to another company, which is told of it."""
    return service.proposals.make(new.entity(caller.name))


api.expose_get("/proposals/{proposal_id}", d.proposal, who=sender | receiver | admin)
api.expose_delete("/proposals/{proposal_id}", d.proposal, who=sender | admin)
api.expose_list("/companies/{to_company_id}/received-proposals", d.received_proposals, who=caller_is("to_company_id"))


@api.get("/companies/{company_id}/sent-proposals", who=caller_is("company_id"))
def sent_proposals(
    service: Eecar, company_id: str, status: d.ProposalStatus, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Proposal]:
    """What your company has proposed, the newest first."""
    return service.proposals.sent(company_id, status, min(limit, 100), cursor)


@api.post("/proposals/{proposal_id}/answer", who=receiver, on=d.proposal)
def answer(service: Eecar, caller: Caller, proposal_id: str, new: b.NewAnswer) -> None:
    """Accept, reject or negotiate; of two answers to one offer, one wins."""
    service.proposals.answer(proposal_id, caller.name, new.answer, version=new.version)


@api.post("/proposals/{proposal_id}/revision", who=sender, on=d.proposal)
def revise_proposal(service: Eecar, caller: Caller, proposal_id: str, new: b.NewOffer) -> None:
    """Offer otherwise, and wait for an answer again."""
    service.proposals.revise(
        proposal_id, caller.name, version=new.version, quantity=new.quantity, price_offer=new.price_offer
    )


# Notifications

api.expose_list("/recipients/{recipient_id}/notifications", d.notifications, who=caller_is("recipient_id"))
api.expose_get("/notifications/{notification_id}", d.notification, who=recipient)
api.expose_delete("/notifications/{notification_id}", d.notification, who=recipient)


@api.post("/notifications", who=admin, location="/notifications/{notification_id}")
def notify(service: Eecar, new: b.NewNotification) -> d.Notification:
    """Tell somebody; watches and proposals tell by themselves."""
    return service.notifications.send(new.entity(service.notifications.now()))


@api.put("/notifications/{notification_id}/read", who=recipient, on=d.notification)
def mark_read(service: Eecar, notification_id: str) -> None:
    """It has been seen."""
    service.notifications.mark_read(notification_id)


api.examples(anonymous="/categories/battery/parts?limit=3", signed_in="/needs?status=active&limit=3")

"""The HTTP API of EECAR: parts, needs, matches, watches, proposals and notifications."""

from partita import F, NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, Related, caller_is, signed_in
from partita_systems.conditions import both
from partita_systems.eecar import bodies as b
from partita_systems.eecar import design as d
from partita_systems.eecar.access import admin, buyer, machines, receiver, recipient, seller, sender
from partita_systems.eecar.categories import ALIASES
from partita_systems.eecar.parts import WholePart
from partita_systems.eecar.service import Eecar
from partita_systems.unread import Unread

HITS_EVERY = 2.0  # seconds
POPULAR = "public, max-age=10"  # lists that everyone reads: a shared cache may answer for ten seconds

api = Api(
    "eecar",
    "EECAR",
    d.design,
    service=Eecar,
    about="A market for parts of electric cars. 전기차 부품 거래.",
)
api.background_job(lambda service: service.matches.write_hits(), every=HITS_EVERY)

USAGE = "/parts/{part_id}/usages/{usage_id}"
NEED = "/companies/{company_id}/needs/{need_id}"
SUMMARY = (
    "part_id",
    "name",
    "category",
    "manufacturer",
    "model",
    "year",
    "condition",
    "price",
    "quantity",
    "seller_id",
)
PART = Related("part", d.part, SUMMARY, part_id="part_id")
PARTS = Related("parts", d.part, SUMMARY, several=True, part_id="part_ids")


# Parts


@api.post("/parts", who=signed_in, location="/parts/{part_id}")
def offer_part(service: Eecar, caller: Caller, new: b.NewPart) -> d.Part:
    """Offer a part, with its specification and usages."""
    return service.parts.offer_many([new.parts(caller.name)])[0]


@api.post("/parts/bulk", who=signed_in, status=201)
def offer_parts(service: Eecar, caller: Caller, new: b.NewParts) -> b.Parts:
    """Offer several parts in one request, all or none; with specifications and usages, at most 100 items."""
    parts = [each.parts(caller.name, "parts", number) for number, each in enumerate(new.parts)]
    return b.Parts(service.parts.offer_many(parts))


api.expose_me()
api.expose_get_many("/parts/by-id", d.part, name="parts_by_id")
api.expose_get("/parts/{part_id}", d.part)


@api.patch("/parts/{part_id}", who=seller, on=d.part)
def change_part(service: Eecar, caller: Caller, part_id: str, change: b.ChangedPart, match: IfMatch) -> d.Part:
    """Change the given fields of a part; `condition` may be given in Korean or English."""

    def edit(part: d.Part) -> None:
        seller.check(caller, {}, part)
        match.check(part)
        change.apply(part)

    service.db.update(d.part(part_id), edit)
    return service.db.one(d.part(part_id), consistent=True)


@api.get("/parts/{part_id}/whole")
def whole_part(service: Eecar, part_id: str) -> WholePart:
    """Get a part with its specification, usages and vector reference."""
    found = service.parts.whole(part_id)
    if found is None:
        raise NotFound(d.Part.__name__, {"part_id": part_id})
    return found


@api.delete("/parts/{part_id}", who=seller | admin, on=d.part)
def withdraw_part(service: Eecar, caller: Caller, part_id: str, match: IfMatch) -> None:
    """Delete a part with its specification, usages and vector reference."""
    found = _own_part(service, caller, part_id)
    service.parts.withdraw(part_id, when=both(F.seller_id == found.seller_id, match.when(found)))


@api.put("/parts/{part_id}/category", who=seller | admin, on=d.part)
def set_category(service: Eecar, caller: Caller, part_id: str, new: b.NewCategory) -> d.Part:
    """Move a part to another category."""
    found = _own_part(service, caller, part_id)
    return service.parts.set_category(part_id, new.category, when=F.seller_id == found.seller_id)


@api.put("/parts/{part_id}/seller", who=seller, on=d.part)
def transfer_part(service: Eecar, caller: Caller, part_id: str, new: b.NewSeller) -> d.Part:
    """Transfer a part to another seller."""
    return service.parts.transfer(part_id, new.seller_id, by=caller.name)


def _own_part(service: Eecar, caller: Caller, part_id: str) -> d.Part:
    """The part as it is now: the rule may have seen an earlier seller."""
    found = service.db.one(d.part(part_id), consistent=True)
    (seller | admin).check(caller, {}, found)
    return found


@api.get("/categories", cache=POPULAR)
def categories(service: Eecar) -> b.Categories:
    """List the known categories and the words that name them; other words are categories as well."""
    return b.Categories([b.CategoryWords(each, list(words)) for each, words in ALIASES.items()])


@api.get("/categories/{category}/parts", cache=POPULAR)
def parts_in_category(
    service: Eecar, category: b.CategoryWord, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.PartSummary]:
    """List the parts of a category, newest first; aliases such as `battery` for 배터리 work."""
    return service.parts.in_category(category, limit, cursor)


@api.get("/sellers/{seller_id}/parts")
def parts_of_seller(service: Eecar, seller_id: str, limit: PageSize = 20, cursor: str | None = None) -> Page[d.Part]:
    """List the parts of a seller, newest first."""
    return service.parts.of_seller(seller_id, min(limit, 100), cursor)


api.expose_get("/parts/{part_id}/spec", d.spec)
api.expose_get("/parts/{part_id}/vector", d.vector)
api.expose_list("/parts/{part_id}/usages", d.usages)
api.expose_get(USAGE, d.usage)


@api.patch(USAGE, who=seller, on=d.part)
def change_usage(service: Eecar, part_id: str, usage_id: str, change: b.ChangedUsage, match: IfMatch) -> d.Usage:
    """Change the given fields of a usage."""

    def edit(usage: d.Usage) -> None:
        match.check(usage)
        change.apply(usage)

    return service.db.update(d.usage(part_id, usage_id), edit)


api.expose_delete(USAGE, d.usage, who=seller, on=d.part, name="delete_usage")
api.expose_delete("/parts/{part_id}/spec", d.spec, who=seller, on=d.part, name="delete_spec")
api.expose_delete("/parts/{part_id}/vector", d.vector, who=machines, name="delete_vector")


@api.put("/parts/{part_id}/spec", who=seller, on=d.part)
def set_spec(service: Eecar, part_id: str, new: b.NewSpec) -> d.Spec:
    """Set the specification of a part, replacing an earlier one."""
    return service.parts.set_spec(part_id, new.entity())


@api.put("/parts/{part_id}/vector", who=machines)
def set_vector(service: Eecar, part_id: str, new: b.NewVector) -> d.VectorReference:
    """Set the reference to the vector of a part, after the object was stored."""
    return service.parts.set_vector(part_id, new.s3_key, new.embedding_model, new.dimension)


@api.post("/parts/{part_id}/usages", who=seller, on=d.part, location=USAGE)
def add_usage(service: Eecar, part_id: str, new: b.NewUsage) -> d.Usage:
    """Add a usage to a part."""
    return service.parts.add_usage(part_id, new.entity())


# Needs

api.expose_list("/companies/{company_id}/needs", d.active_needs_of_company, who=signed_in)


@api.get("/needs", who=signed_in)
def needs(
    service: Eecar, status: b.NeedFilter = "open", limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Need]:
    """List the needs of all companies, by priority, then oldest first."""
    return service.needs.in_statuses(*b.NEED_STATUSES[status], size=limit, cursor=cursor)


api.expose_get(NEED, d.need, who=signed_in)
api.expose_patch(NEED, d.need, *b.NEED, who=caller_is("company_id"))
api.expose_delete(NEED, d.need, who=caller_is("company_id"))


@api.post("/companies/{company_id}/needs", who=caller_is("company_id"), location=NEED)
def post_need(service: Eecar, company_id: str, new: b.NewNeed) -> d.Need:
    """Create a need of a company."""
    return service.needs.post(new.entity(company_id))


@api.put(NEED + "/required-specs", who=caller_is("company_id"))
def set_required_specs(service: Eecar, company_id: str, need_id: str, required: b.NewRequiredSpecs) -> d.Need:
    """Change the required specifications of a need."""
    return service.needs.set_required_specs(company_id, need_id, required.entity())


@api.put(NEED + "/expiry", who=caller_is("company_id"))
def set_need_expiry(service: Eecar, company_id: str, need_id: str, new: b.NewExpiry) -> d.Need:
    """Set when a need expires; null for never."""
    return service.needs.set_expiry(company_id, need_id, new.expires_at)


@api.post(NEED + "/fulfilment", who=caller_is("company_id"))
def fulfil_need(service: Eecar, company_id: str, need_id: str) -> d.Need:
    """Mark a need as fulfilled."""
    return service.needs.fulfil(company_id, need_id)


@api.post(NEED + "/cancellation", who=caller_is("company_id"))
def cancel_need(service: Eecar, company_id: str, need_id: str) -> d.Need:
    """Cancel a need."""
    return service.needs.cancel(company_id, need_id)


# Matches

api.expose_delete("/matches/{query_hash}", d.match, who=machines)


@api.get("/matches", who=signed_in)
def most_hit_matches(service: Eecar, limit: PageSize = 20, cursor: str | None = None) -> Page[d.MatchSummary]:
    """List cached matches, most hits first, without those of which parts have changed since; a page may be short."""
    return service.matches.most_hit(limit, cursor)


@api.post("/matches", who=signed_in)
def match_query(service: Eecar, new: b.NewQuery) -> d.Match:
    """Find the parts that fit a query, best first; `cut` says that a category has more than the 100 compared."""
    return service.matching.of_query(new.wanted())


@api.get("/matches/similar", who=signed_in)
def similar_queries(service: Eecar, query: str) -> b.SimilarQueries:
    """List earlier queries like this one, most similar first."""
    found = service.matching.similar_queries(query)
    return b.SimilarQueries(
        [
            b.SimilarQuery(each.item.query_hash, each.item.query, round(1 - each.score, 4), each.item.hit_count)
            for each in found
        ]
    )


@api.post(NEED + "/matches", who=caller_is("company_id"))
def match_need(service: Eecar, company_id: str, need_id: str) -> d.Match:
    """Find the parts that fit a need: category, price and quantity are hard, preferred materials come first."""
    return service.matching.of_need(company_id, need_id)


@api.get("/matches/{query_hash}", who=signed_in)
def match(service: Eecar, query_hash: str) -> d.Match:
    """Get a cached match; 404 if parts of its categories have changed since."""
    found = service.matches.lookup(query_hash)
    if found is None:
        raise NotFound(d.Match.__name__, {"query_hash": query_hash})
    return found


@api.put("/matches/{query_hash}", who=machines)
def cache_match(service: Eecar, query_hash: str, new: b.NewMatch) -> d.Match:
    """Cache a match; an existing one is replaced and keeps its hits."""
    return service.matches.cache(new.entity(query_hash, service.matches.now()))


@api.get("/catalogues/{category}", who=machines)
def catalogue(service: Eecar, category: b.CategoryWord) -> d.Catalogue:
    """Get the catalogue version of a category, or of ANY: read it before matching, and send it with the match."""
    return service.matches.catalogue(category)


@api.post("/catalogues/{category}/moves", who=machines)
def advance_catalogue(service: Eecar, category: b.CategoryWord) -> d.Catalogue:
    """Report that parts of a category have changed: matches of it, and of ANY, are stale."""
    service.matches.advance_catalogue(category)
    return service.matches.catalogue(category)


# Watches


@api.post("/watches", who=signed_in, location="/watches/{watch_id}")
def add_watch(service: Eecar, caller: Caller, new: b.NewWatch) -> d.Watch:
    """Create a watch: the caller is notified of every part that meets the criteria, or of the first."""
    return service.watches.add(new.entity(caller.name))


api.expose_get("/watches/{watch_id}", d.watch, who=buyer | admin)
api.expose_list("/watches/{watch_id}/triggers", d.triggers, who=buyer | admin, on=d.watch, include=[PART])
api.expose_delete("/watches/{watch_id}", d.watch, who=buyer | admin)


@api.get("/buyers/{buyer_id}/watches", who=caller_is("buyer_id"))
def watches_of_buyer(
    service: Eecar, buyer_id: str, status: b.WatchFilter = "open", limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Watch]:
    """List the watches of a buyer, newest first."""
    statuses = b.WATCH_STATUSES[status]
    return service.watches.of_buyer(buyer_id, *statuses, size=limit, cursor=cursor)


@api.put("/watches/{watch_id}/criteria", who=buyer, on=d.watch)
def set_watch_criteria(service: Eecar, watch_id: str, criteria: b.NewCriteria) -> d.Watch:
    """Change the criteria of an active watch."""
    return service.watches.set_criteria(watch_id, criteria.entity())


@api.put("/watches/{watch_id}/contact", who=buyer, on=d.watch)
def set_watch_contact(service: Eecar, watch_id: str, new: b.NewContact) -> d.Watch:
    """Set the e-mail address and phone number of a watch, replacing earlier ones."""
    return service.watches.set_contact(watch_id, new.email, new.phone)


@api.put("/watches/{watch_id}/triggers/{part_id}", who=machines)
def trigger_watch(service: Eecar, watch_id: str, part_id: str, new: b.NewTrigger) -> d.Trigger:
    """Notify the buyer of a part while the watch is active; repeating it changes nothing."""
    return service.watches.ensure_trigger(watch_id, part_id, new.match_score)


@api.post("/watches/{watch_id}/cancellation", who=buyer, on=d.watch)
def cancel_watch(service: Eecar, watch_id: str) -> d.Watch:
    """Cancel a watch."""
    return service.watches.cancel(watch_id)


# Proposals


@api.post("/proposals", who=signed_in, location="/proposals/{proposal_id}")
def create_proposal(service: Eecar, caller: Caller, new: b.NewProposal) -> d.Proposal:
    """Send a proposal to another company, which is notified: to buy its parts, or to sell it own parts."""
    return service.proposals.create(new.entity(caller.name))


api.expose_get("/proposals/{proposal_id}", d.proposal, who=sender | receiver | admin)


@api.delete("/proposals/{proposal_id}", who=sender | admin, on=d.proposal)
def delete_proposal(service: Eecar, proposal_id: str, match: IfMatch) -> None:
    """Delete a proposal; an accepted one cannot be deleted."""
    found = service.db.one(d.proposal(proposal_id), consistent=True)
    service.proposals.delete(proposal_id, when=match.when(found))


@api.get("/companies/{company_id}/received-proposals", who=caller_is("company_id"), include=[PARTS])
def received_proposals(
    service: Eecar, company_id: str, status: b.ProposalFilter = "open", limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Proposal]:
    """List the proposals to a company, newest first."""
    statuses = b.PROPOSAL_STATUSES[status]
    return service.proposals.received_by(company_id, *statuses, size=limit, cursor=cursor)


@api.get("/companies/{company_id}/sent-proposals", who=caller_is("company_id"), include=[PARTS])
def sent_proposals(
    service: Eecar, company_id: str, status: b.ProposalFilter = "open", limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Proposal]:
    """List the proposals that a company has sent, newest first."""
    statuses = b.PROPOSAL_STATUSES[status]
    return service.proposals.sent_by(company_id, *statuses, size=min(limit, 100), cursor=cursor)


@api.post("/proposals/{proposal_id}/answer", who=receiver, on=d.proposal)
def answer_proposal(service: Eecar, caller: Caller, proposal_id: str, new: b.NewAnswer) -> d.Proposal:
    """Accept, reject or negotiate; of two answers to one offer, one succeeds. The sender is notified."""
    return service.proposals.answer(proposal_id, caller.name, new.answer, version=new.version)


@api.post("/proposals/{proposal_id}/revision", who=sender, on=d.proposal)
def revise_proposal(service: Eecar, caller: Caller, proposal_id: str, new: b.NewOffer) -> d.Proposal:
    """Revise an offer; the proposal is pending again, and the recipient is notified."""
    return service.proposals.revise(
        proposal_id, caller.name, version=new.version, quantity=new.quantity, price_offer=new.price_offer
    )


# Notifications

api.expose_list("/recipients/{recipient_id}/notifications", d.notifications, who=caller_is("recipient_id"))
api.expose_events("/recipients/{recipient_id}/notifications/events", d.Notification, who=caller_is("recipient_id"))
api.expose_get("/notifications/{notification_id}", d.notification, who=recipient)
api.expose_delete("/notifications/{notification_id}", d.notification, who=recipient)


@api.get("/parties/{party_id}/settings", who=caller_is("party_id"))
def party_settings(service: Eecar, party_id: str) -> d.PartySettings:
    """Get the settings of a company, buyer or seller."""
    return service.notifications.settings(party_id)


@api.put("/parties/{party_id}/settings", who=caller_is("party_id"))
def choose_settings(service: Eecar, party_id: str, new: b.NewSettings) -> d.PartySettings:
    """Set the language of notifications: `ko` or `en`."""
    return service.notifications.choose(new.entity(party_id))


@api.post("/notifications", who=admin, location="/notifications/{notification_id}")
def notify(service: Eecar, new: b.NewNotification) -> d.Notification:
    """Create a notification; watches and proposals notify by themselves."""
    return service.notifications.send(new.entity(service.notifications.now()))


@api.put("/notifications/{notification_id}/read", who=recipient, on=d.notification)
def mark_read(service: Eecar, notification_id: str) -> d.Notification:
    """Mark a notification as read."""
    return service.notifications.mark_read(notification_id)


@api.get("/recipients/{recipient_id}/notifications/unread", who=caller_is("recipient_id"))
def unread_notifications(service: Eecar, recipient_id: str) -> Unread:
    """Get the number of unread notifications, counted up to 100."""
    return service.notifications.unread(recipient_id)


@api.put("/recipients/{recipient_id}/notifications/read", who=caller_is("recipient_id"))
def mark_all_read(service: Eecar, recipient_id: str) -> Unread:
    """Mark all notifications as read; returns how many are unread now."""
    service.notifications.mark_all_read(recipient_id)
    return service.notifications.unread(recipient_id)


api.examples(anonymous="/categories/battery/parts?limit=3", signed_in="/needs?status=active&limit=3")

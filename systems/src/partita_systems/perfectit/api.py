"""PerfectIt over HTTP: cards for everybody, drafts for their authors, one vote each."""

from typing import Annotated

from msgspec import Meta, Struct

from partita import NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, caller_is, signed_in
from partita_systems.perfectit import bodies as b
from partita_systems.perfectit import comment_routes, machine_routes
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import admin, author, machines, published
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.comment_keys import GivenTime, made_at
from partita_systems.perfectit.service import PerfectIt

api = Api("perfectit", "PerfectIt", d.design, service=PerfectIt, about="How-to cards, votes, comments and collections.")


class Marked(Struct):
    read: int


class Swept(Struct):
    removed: int


# Users


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: PerfectIt, caller: Caller, new: b.NewUser) -> d.User:
    """Become a user; the token says who you are."""
    return service.register(new.username, new.display_name, user_id=caller.name)


api.expose_get("/users/{user_id}", d.user)
api.expose_patch("/users/{user_id}", d.user, "display_name", "bio", "avatar_url", who=caller_is("user_id"))
api.expose_delete("/users/{user_id}", d.user, who=caller_is("user_id") | admin)


@api.put("/users/{user_id}/username", who=caller_is("user_id"))
def rename(service: PerfectIt, user_id: str, new: b.NewUsername) -> None:
    """Another username; it must not be somebody else's."""
    service.rename(user_id, new.username)


@api.get("/usernames/{username}")
def user_by_username(service: PerfectIt, username: str) -> d.User:
    """Whose username it is, whatever its case."""
    found = service.db(d.users_by_username(username)).one()
    if found is None:
        raise NotFound(d.User.__name__, username)
    return found


@api.get("/users/{author_id}/cards")
def cards_by_author(
    service: PerfectIt, author_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.CardSummary]:
    """Cards of one author, a page at a time."""
    return service.cards.by_author(author_id, limit, cursor)


api.expose_list("/users/{author_id}/drafts", d.drafts_of_author, who=caller_is("author_id"))
api.expose_list("/users/{author_id}/comments", d.comments_of_user)


# Cards


@api.get("/cards")
def recent_cards(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.CardSummary]:
    """The newest cards; a page may be short before the end."""
    return service.cards.recent(limit, cursor)


api.expose_list("/cards/top", d.top_voted, about="The cards with the highest score, a page at a time.")
api.expose_list("/days/{day}/cards", d.cards_of_day)


@api.get("/cards/controversial")
def controversial(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
    """The most divided cards first."""
    return service.cards.controversial(limit, cursor)


@api.get("/cards/trending")
def trending(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
    """What gathers attention."""
    return service.cards.trending(limit, cursor)


@api.get("/cards/search")
def search(
    service: PerfectIt,
    text: Annotated[str, Meta(min_length=1, max_length=200)],
    limit: PageSize = 20,
    cursor: str | None = None,
) -> Page[d.PerfectionCard]:
    """Cards that have every word; a page may be short."""
    return service.cards.search(text, limit, cursor)


@api.post("/cards", who=signed_in, location="/cards/{card_id}")
def draft(service: PerfectIt, caller: Caller, content: Content) -> d.PerfectionCard:
    """A draft, which only you see, for thirty days after its last edit."""
    return service.cards.draft(caller.name, content)


api.expose_get("/cards/{card_id}", d.card, who=published | author | admin)


@api.patch("/cards/{card_id}", who=author | admin, on=d.card)
def edit(service: PerfectIt, card_id: str, content: Content, match: IfMatch) -> d.PerfectionCard:
    """Change what is given; a published card is found by its new words at once."""
    card = service.db.one(d.card(card_id), consistent=True)
    match.check(card)
    service.cards.edit(card_id, content, version=card.version)
    return service.db.one(d.card(card_id), consistent=True)


@api.put("/cards/{card_id}/publication", who=author, on=d.card)
def publish(service: PerfectIt, card_id: str) -> None:
    """Show it to everybody; it needs a category and at least one step."""
    service.cards.publish(card_id)


@api.delete("/cards/{card_id}", who=author | admin, on=d.card)
def remove(service: PerfectIt, card_id: str, match: IfMatch) -> None:
    """The card goes with its comments, terms and votes."""
    card = service.db.one(d.card(card_id), consistent=True)
    unchanged = match.when(card)
    if unchanged is not None and card.status == d.CardStatus.DRAFT:
        service.db.delete(d.card(card_id), when=unchanged)
        return
    if unchanged is not None and card.status == d.CardStatus.PUBLISHED:
        with service.db.change(d.card(card_id), when=unchanged) as leaving:
            leaving.status = d.CardStatus.REMOVED
    service.cards.remove(card_id)


comment_routes.declare(api)


# Collections

COLLECTION = "/users/{user_id}/collections/{collection_id}"
api.expose_list("/users/{user_id}/collections", d.collections_of_user)
api.expose_get(COLLECTION, d.collection)
api.expose_patch(COLLECTION, d.collection, "name", who=caller_is("user_id"))
api.expose_delete(COLLECTION, d.collection, who=caller_is("user_id"))


@api.post("/users/{user_id}/collections", who=caller_is("user_id"), location=COLLECTION)
def new_collection(service: PerfectIt, user_id: str, new: b.NewCollection) -> d.Collection:
    """A place for cards that you want to find again."""
    return service.new_collection(user_id, new.name)


@api.get("/collections/{collection_id}")
def collection_by_id(service: PerfectIt, collection_id: str) -> d.Collection:
    """A collection, whosever it is."""
    found = service.db(d.collection_by_id(collection_id)).one()
    if found is None:
        raise NotFound(d.Collection.__name__, collection_id)
    return found


@api.get("/collections/{collection_id}/cards")
def collected(
    service: PerfectIt, collection_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.PerfectionCard]:
    """The cards of a collection; those that are gone are skipped."""
    return service.collected(collection_id, min(limit, 100), cursor)


@api.put(COLLECTION + "/cards/{card_id}", who=caller_is("user_id"))
def collect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> None:
    """Put a published card into your collection; twice is once."""
    service.collect(user_id, collection_id, card_id)


@api.delete(COLLECTION + "/cards/{card_id}", who=caller_is("user_id"))
def uncollect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> None:
    """Take a card out."""
    service.db.one(d.collection(user_id, collection_id))
    service.uncollect(collection_id, card_id)


@api.post(COLLECTION + "/sweep", who=caller_is("user_id") | machines)
def sweep(service: PerfectIt, user_id: str, collection_id: str) -> Swept:
    """Take out the cards that are gone; how many there were."""
    service.db.one(d.collection(user_id, collection_id))
    return Swept(service.sweep(collection_id))


# Categories

api.expose_list("/categories", d.root_categories)
api.expose_get("/categories/{category_id}", d.category)
api.expose_list("/categories/{parent_id}/subcategories", d.subcategories)


@api.get("/categories/{category}/cards")
def cards_by_category(
    service: PerfectIt, category: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.CardSummary]:
    """Cards of one category, a page at a time."""
    return service.cards.by_category(category, limit, cursor)


@api.post("/categories", who=admin, location="/categories/{category_id}")
def add_category(service: PerfectIt, new: b.NewCategory) -> d.Category:
    """A category under another, or under none."""
    return service.add_category(new.id, new.name, new.parent_id, new.sort_order)


@api.patch("/categories/{category_id}", who=admin)
def change_category(service: PerfectIt, category_id: str, change: b.ChangedCategory, match: IfMatch) -> d.Category:
    """Rename it, move it among its siblings, or put it under another parent."""
    service.change_category(
        category_id, name=change.name, parent_id=change.parent_id, sort_order=change.sort_order, check=match.check
    )
    return service.db.one(d.category(category_id), consistent=True)


@api.delete("/categories/{category_id}", who=admin)
def remove_category(service: PerfectIt, category_id: str, match: IfMatch) -> None:
    """An empty category goes."""
    found = service.db.one(d.category(category_id), consistent=True)
    service.remove_category(category_id, when=match.when(found))


# Notifications

NOTIFICATION = "/users/{user_id}/notifications/{notification_id}"
api.expose_list("/users/{user_id}/notifications", d.notifications_of_user, who=caller_is("user_id"))


@api.get(NOTIFICATION, who=caller_is("user_id"))
def notification(
    service: PerfectIt, user_id: str, notification_id: str, created_at: GivenTime = None
) -> d.Notification:
    """One notification."""
    with made_at(notification_id, created_at) as at:
        return service.db.one(d.notification(user_id, at, notification_id))


@api.delete(NOTIFICATION, who=caller_is("user_id"))
def delete_notification(
    service: PerfectIt, user_id: str, notification_id: str, match: IfMatch, created_at: GivenTime = None
) -> None:
    """Delete a notification."""
    with made_at(notification_id, created_at) as at:
        found = service.db.one(d.notification(user_id, at, notification_id), consistent=True)
        service.db.delete(found, when=match.when(found))


@api.put(NOTIFICATION + "/read", who=caller_is("user_id"))
def read_notification(service: PerfectIt, user_id: str, notification_id: str, created_at: GivenTime = None) -> None:
    """It has been seen."""
    with made_at(notification_id, created_at) as at:
        service.read_notification(user_id, at, notification_id)


@api.put("/users/{user_id}/notifications/read", who=caller_is("user_id"))
def read_all_notifications(service: PerfectIt, user_id: str) -> Marked:
    """All have been seen; how many were not."""
    return Marked(service.read_all_notifications(user_id))


machine_routes.declare(api)
api.examples(anonymous="/cards/top?limit=3", signed_in="/metrics?since=2025-01-01&until=2030-01-01")

"""The HTTP API of PerfectIt: cards are public, drafts belong to their authors, each user has one vote."""

from typing import Annotated

from msgspec import Meta, Struct

from partita import NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, caller_is, signed_in
from partita_systems.perfectit import bodies as b
from partita_systems.perfectit import comment_routes, machine_routes
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import admin, author, machines, published
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.comment_keys import CreatedAtParameter, key_time
from partita_systems.perfectit.related import ACTOR, CARD, ON_CARDS
from partita_systems.perfectit.service import PerfectIt
from partita_systems.unread import Unread

VIEWS_EVERY = 3.0  # seconds between two writes of counted views

api = Api("perfectit", "PerfectIt", d.design, service=PerfectIt, about="How-to cards, votes, comments and collections.")


POPULAR = "public, max-age=30"  # a shared cache may answer for half a minute without asking


class SweepResult(Struct):
    removed: int


# Users


api.expose_me(d.user, register="POST /users")


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: PerfectIt, caller: Caller, new: b.NewUser) -> d.User:
    """Register the caller as a user."""
    return service.register(new.username, new.display_name, user_id=caller.name)


api.expose_get_many("/users/by-id", d.user, name="users_by_id")
api.expose_get("/users/{user_id}", d.user)
api.expose_patch("/users/{user_id}", d.user, "display_name", "bio", "avatar_url", who=caller_is("user_id"))
api.expose_delete("/users/{user_id}", d.user, who=caller_is("user_id") | admin)


@api.put("/users/{user_id}/username", who=caller_is("user_id"))
def change_username(service: PerfectIt, user_id: str, new: b.NewUsername) -> d.User:
    """Change the username; it must be free."""
    return service.rename(user_id, new.username)


@api.get("/usernames/{username}")
def user_by_username(service: PerfectIt, username: str) -> d.User:
    """Get a user by username, in any case."""
    found = service.db(d.users_by_username(username)).one()
    if found is None:
        raise NotFound(d.User.__name__, {"username": username})
    return found


@api.get("/users/{author_id}/cards", include=ON_CARDS)
def cards_by_author(
    service: PerfectIt, author_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.CardSummary]:
    """List the cards of an author, newest first."""
    return service.cards.by_author(author_id, limit, cursor)


api.expose_list("/users/{author_id}/drafts", d.drafts_of_author, who=caller_is("author_id"))
api.expose_list("/users/{author_id}/comments", d.comments_of_user, include=[CARD])


# Cards


@api.get("/cards", cache=POPULAR, include=ON_CARDS)
def recent_cards(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.CardSummary]:
    """List the newest cards; a page may be short before the end."""
    return service.cards.recent(limit, cursor)


api.expose_list(
    "/cards/top", d.top_voted, about="List the cards with the highest score.", cache=POPULAR, include=ON_CARDS
)
api.expose_list("/days/{day}/cards", d.cards_of_day, cache=POPULAR, include=ON_CARDS)


@api.get("/cards/controversial", cache=POPULAR, include=ON_CARDS)
def controversial(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
    """List the cards with the most divided votes first."""
    return service.cards.controversial(limit, cursor)


@api.get("/cards/trending", cache=POPULAR, include=ON_CARDS)
def trending(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
    """List the cards that gather attention fastest."""
    return service.cards.trending(limit, cursor)


@api.get("/cards/search", include=ON_CARDS)
def search(
    service: PerfectIt,
    text: Annotated[str, Meta(min_length=1, max_length=200)],
    limit: PageSize = 20,
    cursor: str | None = None,
) -> Page[d.PerfectionCard]:
    """Search for cards that contain every word, in their title, text, materials, tools or tags; a page may be short.

    The last word may be unfinished. New cards are found within a second.
    """
    return service.cards.search(text, limit, cursor)


@api.post("/cards", who=signed_in, location="/cards/{card_id}")
def create_draft(service: PerfectIt, caller: Caller, content: Content) -> d.PerfectionCard:
    """Create a draft. Only its author sees it, and it expires 30 days after its last edit."""
    return service.cards.draft(caller.name, content)


@api.post("/cards/bulk", who=signed_in, status=201)
def create_drafts(service: PerfectIt, caller: Caller, new: b.NewCards) -> b.Cards:
    """Create up to 25 drafts in one request, all or none."""
    return b.Cards(service.cards.draft_many(caller.name, new.cards))


api.expose_get_many("/cards/by-id", d.card, who=published | author | admin, name="cards_by_id")
api.expose_get(
    "/cards/{card_id}", d.card, who=published | author | admin, on_read=lambda service, card: service.cards.view(card)
)
api.background_job(lambda service: service.cards.write_views(), every=VIEWS_EVERY)


@api.patch("/cards/{card_id}", who=author | admin, on=d.card)
def edit_card(service: PerfectIt, card_id: str, content: Content, match: IfMatch) -> d.PerfectionCard:
    """Change the given fields; the search terms of a published card change at once.

    Without If-Match concurrent changes are merged by field.
    """
    version = None
    if match.present:
        card = service.db.one(d.card(card_id), consistent=True)
        match.check(card)
        version = card.version
    service.cards.edit(card_id, content, version=version)
    return service.db.one(d.card(card_id), consistent=True)


@api.put("/cards/{card_id}/publication", who=author, on=d.card)
def publish_card(service: PerfectIt, card_id: str) -> d.PerfectionCard:
    """Publish a draft; it needs a category and at least one instruction."""
    service.cards.publish(card_id)
    return service.db.one(d.card(card_id), consistent=True)


@api.delete("/cards/{card_id}", who=author | admin, on=d.card)
def remove_card(service: PerfectIt, card_id: str, match: IfMatch) -> None:
    """Delete a card with its comments, terms and votes."""
    card = service.db.one(d.card(card_id), consistent=True)
    unchanged = match.when(card)
    if unchanged is not None and card.status == d.CardStatus.DRAFT:
        service.db.delete(d.card(card_id), when=unchanged)
        return
    if unchanged is not None and card.status == d.CardStatus.PUBLISHED:
        with service.db.change(d.card(card_id), when=unchanged) as draft:
            draft.status = d.CardStatus.REMOVED
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
    """Create a collection."""
    return service.new_collection(user_id, new.name)


@api.get("/collections/{collection_id}")
def collection_by_id(service: PerfectIt, collection_id: str) -> d.Collection:
    """Get a collection by id."""
    found = service.db(d.collection_by_id(collection_id)).one()
    if found is None:
        raise NotFound(d.Collection.__name__, {"collection_id": collection_id})
    return found


@api.get("/collections/{collection_id}/cards", include=ON_CARDS)
def cards_of_collection(
    service: PerfectIt, collection_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.PerfectionCard]:
    """List the cards of a collection; removed cards are skipped."""
    return service.cards_of_collection(collection_id, min(limit, 100), cursor)


@api.put(COLLECTION + "/cards/{card_id}", who=caller_is("user_id"))
def collect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> d.CardInCollection:
    """Add a published card to a collection; repeating it changes nothing."""
    return service.collect(user_id, collection_id, card_id)


@api.post(COLLECTION + "/cards", who=caller_is("user_id"), status=201)
def collect_many(service: PerfectIt, user_id: str, collection_id: str, new: b.NewEntries) -> b.Entries:
    """Add several published cards to a collection; repeating it changes nothing."""
    return b.Entries(service.collect_many(user_id, collection_id, new.card_ids))


@api.delete(COLLECTION + "/cards/{card_id}", who=caller_is("user_id"))
def uncollect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> None:
    """Remove a card from a collection."""
    service.db.one(d.collection(user_id, collection_id))
    service.uncollect(collection_id, card_id)


@api.post(COLLECTION + "/sweep", who=caller_is("user_id") | machines)
def sweep_collection(service: PerfectIt, user_id: str, collection_id: str) -> SweepResult:
    """Delete the entries of removed cards; returns their number."""
    service.db.one(d.collection(user_id, collection_id))
    return SweepResult(service.sweep(collection_id))


# Categories

api.expose_list("/categories", d.root_categories, cache=POPULAR)
api.expose_get("/categories/{category_id}", d.category)
api.expose_list("/categories/{parent_id}/subcategories", d.subcategories, cache=POPULAR)


@api.get("/categories/{category}/cards", cache=POPULAR, include=ON_CARDS)
def cards_by_category(
    service: PerfectIt, category: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.CardSummary]:
    """List the cards of a category, newest first."""
    return service.cards.by_category(category, limit, cursor)


@api.post("/categories", who=admin, location="/categories/{category_id}")
def add_category(service: PerfectIt, new: b.NewCategory) -> d.Category:
    """Create a category under a parent, or at the top level."""
    return service.add_category(new.category_id, new.name, new.parent_id, new.sort_order)


@api.patch("/categories/{category_id}", who=admin)
def change_category(service: PerfectIt, category_id: str, change: b.ChangedCategory, match: IfMatch) -> d.Category:
    """Change the name, the sort order or the parent of a category."""
    service.change_category(
        category_id, name=change.name, parent_id=change.parent_id, sort_order=change.sort_order, check=match.check
    )
    return service.db.one(d.category(category_id), consistent=True)


@api.delete("/categories/{category_id}", who=admin)
def remove_category(service: PerfectIt, category_id: str, match: IfMatch) -> None:
    """Delete an empty category."""
    found = service.db.one(d.category(category_id), consistent=True)
    service.remove_category(category_id, when=match.when(found))


# Notifications

api.expose_events("/users/{user_id}/notifications/events", d.Notification, who=caller_is("user_id"))
NOTIFICATION = "/users/{user_id}/notifications/{notification_id}"
api.expose_list(
    "/users/{user_id}/notifications", d.notifications_of_user, who=caller_is("user_id"), include=[ACTOR, CARD]
)


@api.get(NOTIFICATION, who=caller_is("user_id"))
def notification(
    service: PerfectIt, user_id: str, notification_id: str, created_at: CreatedAtParameter = None
) -> d.Notification:
    """Get a notification."""
    with key_time(notification_id, created_at) as at:
        return service.db.one(d.notification(user_id, at, notification_id))


@api.delete(NOTIFICATION, who=caller_is("user_id"))
def delete_notification(
    service: PerfectIt, user_id: str, notification_id: str, match: IfMatch, created_at: CreatedAtParameter = None
) -> None:
    """Delete a notification."""
    with key_time(notification_id, created_at) as at:
        found = service.db.one(d.notification(user_id, at, notification_id), consistent=True)
        service.db.delete(found, when=match.when(found))


@api.put(NOTIFICATION + "/read", who=caller_is("user_id"))
def read_notification(
    service: PerfectIt, user_id: str, notification_id: str, created_at: CreatedAtParameter = None
) -> d.Notification:
    """Mark a notification as read."""
    with key_time(notification_id, created_at) as at:
        return service.read_notification(user_id, at, notification_id)


@api.get("/users/{user_id}/notifications/unread", who=caller_is("user_id"))
def unread_notifications(service: PerfectIt, user_id: str) -> Unread:
    """Get the number of unread notifications, counted up to 100."""
    service.db.one(d.user(user_id))
    return service.unread(user_id)


@api.put("/users/{user_id}/notifications/read", who=caller_is("user_id"))
def read_all_notifications(service: PerfectIt, user_id: str) -> Unread:
    """Mark all notifications as read; returns how many are unread now."""
    service.read_all_notifications(user_id)
    return service.unread(user_id)


machine_routes.declare(api)
api.examples(anonymous="/cards/top?limit=3", signed_in="/metrics?since=2025-01-01&until=2030-01-01")

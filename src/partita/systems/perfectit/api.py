"""PerfectIt over HTTP: cards for everybody, drafts for their authors, one vote each."""

from datetime import date
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from partita import NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, group, myself, owner, shown, signed_in
from partita.systems.perfectit import bodies as b
from partita.systems.perfectit import design as d
from partita.systems.perfectit.addresses import GivenTime, made_at
from partita.systems.perfectit.cards import Content
from partita.systems.perfectit.service import PerfectIt

admin = group("admin")
author = owner("author_id")
published = shown("a published card", lambda card: card.status == d.CardStatus.PUBLISHED)

api = Api("perfectit", "PerfectIt", PerfectIt, "How-to cards, votes, comments and collections.")


class Marked(Struct):
    read: int


# Users


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: PerfectIt, caller: Caller, new: b.NewUser) -> d.User:
    """Become a user; the token says who you are."""
    return service.register(new.username, new.display_name, user_id=caller.name)


api.reads("/users/{user_id}", d.user)
api.changes("/users/{user_id}", d.user, "display_name", "bio", "avatar_url", who=myself("user_id"))
api.deletes("/users/{user_id}", d.user, who=myself("user_id") | admin)


@api.put("/users/{user_id}/username", who=myself("user_id"))
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


api.lists("/users/{author_id}/cards", d.cards_by_author)
api.lists("/users/{author_id}/drafts", d.drafts_of_author, who=myself("author_id"))
api.lists("/users/{author_id}/comments", d.comments_of_user)


# Cards


@api.get("/cards")
def recent_cards(service: PerfectIt, limit: PageSize = 20, cursor: str | None = None) -> Page[d.CardSummary]:
    """The newest cards; a page may be short before the end."""
    return service.cards.recent(limit, cursor)


api.lists("/cards/top", d.top_voted, about="The cards with the highest score, a page at a time.")
api.lists("/days/{day}/cards", d.cards_of_day)


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


api.reads("/cards/{card_id}", d.card, who=published | author | admin)


@api.patch("/cards/{card_id}", who=author | admin, of=d.card)
def edit(service: PerfectIt, card_id: str, content: Content, match: IfMatch) -> d.PerfectionCard:
    """Change what is given; a published card is found by its new words at once."""
    card = service.db.one(d.card(card_id), consistent=True)
    match.check(card)
    service.cards.edit(card_id, content, version=card.version)
    return service.db.one(d.card(card_id), consistent=True)


@api.put("/cards/{card_id}/publication", who=author, of=d.card)
def publish(service: PerfectIt, card_id: str) -> None:
    """Show it to everybody; it needs a category and at least one step."""
    service.cards.publish(card_id)


@api.delete("/cards/{card_id}", who=author | admin, of=d.card)
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


# Comments

COMMENT = "/cards/{card_id}/comments/{comment_id}"
api.lists("/cards/{card_id}/comments", d.comments_of_card)


@api.get(COMMENT)
def comment(service: PerfectIt, card_id: str, comment_id: str, created_at: GivenTime = None) -> d.Comment:
    """One comment."""
    with made_at(comment_id, created_at) as at:
        return service.db.one(d.comment(card_id, at, comment_id))


@api.patch(COMMENT, who=author, of=comment)
def change_comment(
    service: PerfectIt,
    card_id: str,
    comment_id: str,
    change: b.ChangedComment,
    match: IfMatch,
    created_at: GivenTime = None,
) -> d.Comment:
    """Change text of a comment."""

    def edit(found: d.Comment) -> None:
        match.check(found)
        if change.text is not UNSET:
            found.text = change.text

    with made_at(comment_id, created_at) as at:
        service.db.update(d.comment(card_id, at, comment_id), edit)
        return service.db.one(d.comment(card_id, at, comment_id), consistent=True)


@api.post("/cards/{card_id}/comments", who=signed_in, location=COMMENT)
def add_comment(service: PerfectIt, caller: Caller, card_id: str, new: b.NewComment) -> d.Comment:
    """Say something about a published card."""
    return service.comment(caller.name, card_id, new.text)


@api.delete(COMMENT, who=author | admin, of=comment)
def remove_comment(service: PerfectIt, card_id: str, comment_id: str, created_at: GivenTime = None) -> None:
    """The comment goes with its votes."""
    with made_at(comment_id, created_at) as at:
        service.remove_comment(card_id, at, comment_id)


# Votes

api.lists("/cards/{target_id}/votes", d.votes_of_target, who=admin)
api.reads("/users/{user_id}/votes/{target_id}", d.vote, who=myself("user_id") | admin)


@api.put("/cards/{card_id}/votes/{user_id}", who=myself("user_id"))
def cast_vote(service: PerfectIt, card_id: str, user_id: str, new: b.NewVote) -> None:
    """Vote, or change your vote."""
    service.votes.on_card(user_id, card_id, new.vote_type)


@api.delete("/cards/{card_id}/votes/{user_id}", who=myself("user_id"))
def withdraw(service: PerfectIt, card_id: str, user_id: str) -> None:
    """Take your vote back."""
    service.votes.on_card(user_id, card_id, None)


@api.put(COMMENT + "/votes/{user_id}", who=myself("user_id"))
def vote_on_comment(
    service: PerfectIt, card_id: str, comment_id: str, user_id: str, new: b.NewVote, created_at: GivenTime = None
) -> None:
    """Vote on a comment, or change your vote."""
    with made_at(comment_id, created_at) as at:
        service.votes.on_comment(user_id, card_id, at, comment_id, new.vote_type)


@api.delete(COMMENT + "/votes/{user_id}", who=myself("user_id"))
def withdraw_from_comment(
    service: PerfectIt, card_id: str, comment_id: str, user_id: str, created_at: GivenTime = None
) -> None:
    """Take your vote back."""
    with made_at(comment_id, created_at) as at:
        service.votes.on_comment(user_id, card_id, at, comment_id, None)


# Collections

COLLECTION = "/users/{user_id}/collections/{collection_id}"
api.lists("/users/{user_id}/collections", d.collections_of_user)
api.reads(COLLECTION, d.collection)
api.changes(COLLECTION, d.collection, "name", who=myself("user_id"))
api.deletes(COLLECTION, d.collection, who=myself("user_id"))


@api.post("/users/{user_id}/collections", who=myself("user_id"), location=COLLECTION)
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


@api.put(COLLECTION + "/cards/{card_id}", who=myself("user_id"))
def collect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> None:
    """Put a published card into your collection; twice is once."""
    service.collect(user_id, collection_id, card_id)


@api.delete(COLLECTION + "/cards/{card_id}", who=myself("user_id"))
def uncollect(service: PerfectIt, user_id: str, collection_id: str, card_id: str) -> None:
    """Take a card out."""
    service.db.one(d.collection(user_id, collection_id))
    service.uncollect(collection_id, card_id)


# Categories

api.lists("/categories", d.root_categories)
api.reads("/categories/{category_id}", d.category)
api.lists("/categories/{parent_id}/subcategories", d.subcategories)
api.lists("/categories/{category}/cards", d.cards_by_category)


@api.post("/categories", who=admin, location="/categories/{category_id}")
def add_category(service: PerfectIt, new: b.NewCategory) -> d.Category:
    """A category under another, or under none."""
    return service.add_category(new.id, new.name, new.parent_id, new.sort_order)


@api.patch("/categories/{category_id}", who=admin)
def change_category(service: PerfectIt, category_id: str, change: b.ChangedCategory) -> d.Category:
    """Rename it, move it among its siblings, or put it under another parent."""
    with service.db.change(d.category(category_id)) as changed:
        if change.name is not UNSET:
            changed.name = change.name
        if change.sort_order is not UNSET:
            changed.sort_order = change.sort_order
    if change.parent_id is not UNSET:
        service.move_category(category_id, change.parent_id)
    return service.db.one(d.category(category_id), consistent=True)


@api.delete("/categories/{category_id}", who=admin)
def remove_category(service: PerfectIt, category_id: str) -> None:
    """An empty category goes."""
    service.remove_category(category_id)


# Notifications and metrics

NOTIFICATION = "/users/{user_id}/notifications/{notification_id}"
api.lists("/users/{user_id}/notifications", d.notifications_of_user, who=myself("user_id"))


@api.get(NOTIFICATION, who=myself("user_id"))
def notification(
    service: PerfectIt, user_id: str, notification_id: str, created_at: GivenTime = None
) -> d.Notification:
    """One notification."""
    with made_at(notification_id, created_at) as at:
        return service.db.one(d.notification(user_id, at, notification_id))


@api.delete(NOTIFICATION, who=myself("user_id"))
def delete_notification(
    service: PerfectIt, user_id: str, notification_id: str, match: IfMatch, created_at: GivenTime = None
) -> None:
    """Delete a notification."""
    with made_at(notification_id, created_at) as at:
        found = service.db.one(d.notification(user_id, at, notification_id), consistent=True)
        service.db.delete(found, when=match.when(found))


@api.put(NOTIFICATION + "/read", who=myself("user_id"))
def read_notification(service: PerfectIt, user_id: str, notification_id: str, created_at: GivenTime = None) -> None:
    """It has been seen."""
    with made_at(notification_id, created_at) as at:
        service.read_notification(user_id, at, notification_id)


@api.put("/users/{user_id}/notifications/read", who=myself("user_id"))
def read_all_notifications(service: PerfectIt, user_id: str) -> Marked:
    """All have been seen; how many were not."""
    return Marked(service.read_all_notifications(user_id))


api.lists("/metrics", d.metrics_between, who=admin)


@api.get("/metrics/{day}", who=admin)
def metrics_of_day(service: PerfectIt, day: date) -> d.DailyMetrics:
    """What happened on one day."""
    return service.db.one(d.metrics(day))


api.tries(open="/cards/top?limit=3", signed="/metrics?since=2025-01-01&until=2030-01-01")

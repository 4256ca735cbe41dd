"""The PerfectIt service: users, comments, collections, categories, notifications and trends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from msgspec import UNSET, UnsetType

from partita import (
    AlreadyExists,
    Condition,
    ConditionFailed,
    F,
    InvalidValue,
    NotFound,
    Page,
    ReferenceMissing,
    Store,
    Transaction,
    new_id,
    time_in_id,
)
from partita_systems.conditions import both, counter_is
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Cards
from partita_systems.perfectit.search_terms import canonical_name
from partita_systems.perfectit.visibility import unpublished
from partita_systems.perfectit.votes import Votes
from partita_systems.service_base import MakeId, ServiceBase
from partita_systems.unread import Unread, count_unread

_EMPTY = counter_is("child_count", 0) & counter_is("card_count", 0)
_COUNTED = F.child_count.exists() & F.card_count.exists()


class PerfectIt(ServiceBase):
    """Users, comments, collections, categories and notifications; `cards` and `votes` are services of their own."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        super().__init__(db, make_id)
        self.votes = Votes(db)
        self.cards = Cards(db, self.votes, make_id)

    # Users

    def register(self, username: str, display_name: str, *, user_id: str | None = None) -> d.User:
        """Create a user. Usernames are unique, compared without case."""
        user = d.User(user_id=user_id or self.new_id("u"), username=canonical_name(username), display_name=display_name)
        return self.db.create(user)

    def rename(self, user_id: str, username: str) -> d.User:
        return self.assign(d.user(user_id), username=canonical_name(username))

    # Comments

    def comment(self, author_id: str, card_id: str, text: str) -> d.Comment:
        """Comment on a published card. The comment's time is the time in its id, so the id gives the key."""
        comment_id = self.new_id("m")
        created_at = time_in_id(comment_id) or self.now()
        comment = d.Comment(
            comment_id=comment_id, card_id=card_id, author_id=author_id, text=text, created_at=created_at
        )
        with self._while_published("Comment", card_id) as transaction:
            return transaction.create(comment)

    def find_comment(self, card_id: str, created_at: datetime, comment_id: str) -> d.Comment:
        """A comment by its key. One whose key has a time format of other code is found by a query over its card."""
        found = self.db(d.comment(card_id, created_at, comment_id))
        if found is None and time_in_id(comment_id) != created_at:
            others = (each for each in self.db(d.comments_of_card(card_id)) if each.comment_id == comment_id)
            found = next((each for each in others if each.created_at == created_at), None)
        if found is None:
            raise NotFound("Comment", {"comment_id": comment_id})
        return found

    def edit_comment(self, card_id: str, created_at: datetime, comment_id: str, text: str) -> None:
        with self.db.change(d.comment(card_id, created_at, comment_id)) as draft:
            draft.text = text

    def remove_comment(
        self, card_id: str, created_at: datetime, comment_id: str, *, when: Condition | None = None
    ) -> None:
        """Delete a comment with its votes.

        The comment is marked first, under the condition, and accepts no more votes. An interrupted removal can be
        repeated.
        """
        key = d.comment(card_id, created_at, comment_id)
        with suppress(NotFound), self.db.change(key, when=when) as draft:
            draft.status = d.CardStatus.REMOVED.value
        self.votes.delete_all(comment_id)
        self.db.delete(key)

    @contextmanager
    def _while_published(self, entity: str, card_id: str, *, user_id: str | None = None) -> Iterator[Transaction]:
        """A transaction that checks that the card is published; raises NotPublished for a draft.

        With a `user_id`, a draft of another author raises ReferenceMissing, as if it did not exist.
        """
        try:
            with self.db.transaction() as transaction:
                transaction.check(d.card(card_id), d.PUBLISHED)
                yield transaction
        except ConditionFailed:
            raise unpublished(self.db, entity, card_id, user_id) from None

    # Collections

    def new_collection(self, user_id: str, name: str) -> d.Collection:
        return self.db.create(d.Collection(collection_id=self.new_id("l"), user_id=user_id, name=name))

    def collect(self, user_id: str, collection_id: str, card_id: str) -> d.CardInCollection:
        """Add a published card to a collection of the user; repeating it changes nothing."""
        entry = d.CardInCollection(collection_id=collection_id, card_id=card_id, user_id=user_id)
        try:
            with self._while_published("CardInCollection", card_id, user_id=user_id) as transaction:
                return transaction.create(entry)
        except AlreadyExists:
            if self.db(d.collection(user_id, collection_id)) is None:
                raise ReferenceMissing(
                    "CardInCollection", "Collection", {"collection_id": collection_id}, "collection_id"
                ) from None
            return self.db.one(d.card_in_collection(collection_id, card_id), consistent=True)

    def collect_many(self, user_id: str, collection_id: str, card_ids: Sequence[str]) -> list[d.CardInCollection]:
        """Add several published cards in one transaction, all or none; those that are in the collection stay."""
        ids = list(dict.fromkeys(card_ids))
        for _ in self.db.retrying("CardInCollection"):
            self.db.one(d.collection(user_id, collection_id), consistent=True)
            stored = self.existing([d.card_in_collection(collection_id, each) for each in ids])
            missing = [each for each in ids if each not in {entry.card_id for entry in stored}]
            try:
                with self.db.transaction() as transaction:
                    for card_id in missing:
                        transaction.check(d.card(card_id), d.PUBLISHED)
                        entry = d.CardInCollection(collection_id=collection_id, card_id=card_id, user_id=user_id)
                        stored.append(transaction.create(entry))
            except ConditionFailed as failed:
                card_id = str(failed.key["card_id"])
                wrong = f"card {card_id!r} does not exist or is not published"
                raise InvalidValue("CardInCollection", wrong, "cardIds", list(card_ids).index(card_id)) from None
            except AlreadyExists:
                continue  # added concurrently
            found = {entry.card_id: entry for entry in stored}
            return [found[each] for each in ids]
        raise AssertionError("retrying ends with an error")

    def uncollect(self, collection_id: str, card_id: str) -> None:
        self.db.delete(d.card_in_collection(collection_id, card_id))

    def cards_of_collection(
        self, collection_id: str, size: int = 20, cursor: str | None = None
    ) -> Page[d.PerfectionCard]:
        """The cards of a collection; removed cards are skipped."""
        return self.cards.published_cards(self.db(d.cards_in_collection(collection_id)).page(size, cursor))

    def sweep(self, collection_id: str) -> int:
        """Delete the entries of removed cards from a collection; returns their number."""
        entries = [d.card_in_collection(collection_id, each.card_id) for each in self._dangling(collection_id)]
        self.db.delete_many(entries)
        return len(entries)

    def _dangling(self, collection_id: str) -> Iterator[d.CardInCollection]:
        entries = list(self.db(d.cards_in_collection(collection_id)))
        cards = self.db.get_many([d.card(each.card_id) for each in entries])
        missing = [entry for entry, card in zip(entries, cards, strict=True) if card is None]
        return (entry for entry in missing if self.db(d.card(entry.card_id), consistent=True) is None)

    # Categories

    def add_category(self, category_id: str, name: str, parent_id: str = d.ROOT, sort_order: int = 0) -> d.Category:
        """Create a category under an existing parent, or at the top level."""
        category = d.Category(category_id=canonical_name(category_id), name=name, sort_order=sort_order)
        if category.category_id == d.ROOT:
            raise InvalidValue("Category", f"{d.ROOT} is reserved for the top level", "categoryId")
        category.parent_id = checked_parent(category, canonical_name(parent_id))
        return self.db.create(category)

    def change_category(
        self,
        category_id: str,
        *,
        name: str | UnsetType = UNSET,
        parent_id: str | UnsetType = UNSET,
        sort_order: int | UnsetType = UNSET,
        check: Callable[[d.Category], None] = lambda found: None,
    ) -> None:
        """Change the given fields, all or nothing; `check` gets the category first and may raise."""

        def edit(found: d.Category) -> None:
            check(found)
            if name is not UNSET:
                found.name = name
            if sort_order is not UNSET:
                found.sort_order = sort_order
            if parent_id is not UNSET:
                found.parent_id = checked_parent(found, canonical_name(parent_id))

        self.db.update(d.category(category_id), edit)

    def move_category(self, category_id: str, parent_id: str) -> None:
        """Move a category under another parent; one that has subcategories can only move to the top level."""
        self.change_category(category_id, parent_id=parent_id)

    def remove_category(self, category_id: str, *, when: Condition | None = None) -> None:
        """Delete an empty category. One of other code has no counters, so its lists are queried."""
        empty = both(_EMPTY, when)
        try:
            self.db.delete(d.category(category_id), when=empty & _COUNTED)
        except ConditionFailed:
            found = self.db(d.category(category_id), consistent=True)
            if found is not None and (found.child_count or found.card_count or self._is_listed(category_id)):
                wrong = f"{category_id} still has cards or subcategories"
                raise InvalidValue("Category", wrong, "category_id") from None
            self.db.delete(d.category(category_id), when=empty)

    def _is_listed(self, category_id: str) -> bool:
        """Whether the lists show published cards or subcategories of a category."""
        cards = self.db(d.cards_by_category(category_id))
        under = self.db(d.subcategories(category_id)).one()
        return under is not None or any(each.status == d.CardStatus.PUBLISHED for each in cards)

    # Notifications and trends

    def notify(self, notification: d.Notification) -> d.Notification:
        """Store a notification. A repeated delivery changes nothing: a read notification stays read."""
        try:
            return self.db.create(notification)
        except ReferenceMissing:
            raise NotFound("User", {"user_id": notification.user_id}) from None
        except AlreadyExists:
            key = (notification.user_id, notification.created_at, notification.notification_id)
            return self.db.one(d.notification(*key), consistent=True)

    def set_trend(self, card_id: str, score: int) -> d.Trend:
        """Set how fast a published card gathers attention."""
        with self._while_published("Trend", card_id) as transaction:
            return transaction.put(d.Trend(card_id=card_id, score=score, seen_at=self.now()))

    def read_notification(self, user_id: str, created_at: datetime, notification_id: str) -> d.Notification:
        return self.assign(d.notification(user_id, created_at, notification_id), read=True)

    def unread(self, user_id: str) -> Unread:
        """The number of unread notifications, counted up to 100."""
        return count_unread(self.db, d.unread_notifications_of_user(user_id))

    def read_all_notifications(self, user_id: str) -> None:
        """Mark all notifications of a user as read."""
        for each in self.db(d.unread_notifications_of_user(user_id)):
            with suppress(NotFound):  # expired or deleted in the meantime
                self.read_notification(user_id, each.created_at, each.notification_id)


def checked_parent(category: d.Category, parent_id: str) -> str:
    """The parent, or InvalidValue if it would create a cycle."""
    if parent_id == category.category_id:
        raise InvalidValue("Category", "a category cannot be its own parent", "parentId")
    if parent_id not in (d.ROOT, category.parent_id) and category.child_count > 0:
        raise InvalidValue(
            "Category", f"{category.category_id} has subcategories and can only move to the top level", "parentId"
        )
    return parent_id

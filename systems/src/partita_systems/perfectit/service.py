"""PerfectIt: what people do with cards, and what the design cannot say about it."""

from collections.abc import Callable, Iterator
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
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Cards
from partita_systems.perfectit.search_terms import composed
from partita_systems.perfectit.votes import Votes
from partita_systems.service_base import MakeId, ServiceBase

_UNUSED = ((F.child_count == 0) | F.child_count.is_absent()) & ((F.card_count == 0) | F.card_count.is_absent())
_COUNTED = F.child_count.exists() & F.card_count.exists()


class PerfectIt(ServiceBase):
    """Users, comments, collections, categories and notifications; `cards` and `votes` are services of their own."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        super().__init__(db, make_id)
        self.votes = Votes(db)
        self.cards = Cards(db, self.votes, make_id)

    # Users

    def register(self, username: str, display_name: str, *, user_id: str | None = None) -> d.User:
        """A new user; a username is compared without case, and taken once."""
        made = d.User(user_id=user_id or self.new_id("u"), username=composed(username), display_name=display_name)
        return self.db.create(made)

    def rename(self, user_id: str, username: str) -> None:
        with self.db.change(d.user(user_id)) as draft:
            draft.username = composed(username)

    # Comments

    def comment(self, author_id: str, card_id: str, text: str) -> d.Comment:
        """Say something about a card that everybody sees; its time is the one in its id, which so says its key."""
        comment_id = self.new_id("m")
        made_at = time_in_id(comment_id) or self.now()
        comment = d.Comment(comment_id=comment_id, card_id=card_id, author_id=author_id, text=text, created_at=made_at)
        with self._while_published("Comment", card_id) as transaction:
            return transaction.create(comment)

    def find_comment(self, card_id: str, created_at: datetime, comment_id: str) -> d.Comment:
        """A comment; one whose key has a time as other code wrote it is found among those of its card."""
        found = self.db(d.comment(card_id, created_at, comment_id))
        if found is None and time_in_id(comment_id) != created_at:
            theirs = (each for each in self.db(d.comments_of_card(card_id)) if each.comment_id == comment_id)
            found = next((each for each in theirs if each.created_at == created_at), None)
        if found is None:
            raise NotFound("Comment", comment_id)
        return found

    def edit_comment(self, card_id: str, created_at: datetime, comment_id: str, text: str) -> None:
        with self.db.change(d.comment(card_id, created_at, comment_id)) as draft:
            draft.text = text

    def remove_comment(
        self, card_id: str, created_at: datetime, comment_id: str, *, when: Condition | None = None
    ) -> None:
        """A comment goes with its votes. It is marked first, under the condition: from then on nobody votes, and where
        this is interrupted it is still there, to be removed again."""
        place = d.comment(card_id, created_at, comment_id)
        with suppress(NotFound), self.db.change(place, when=when) as draft:
            draft.status = d.CardStatus.REMOVED.value
        self.votes.forget(comment_id)
        self.db.delete(place)

    @contextmanager
    def _while_published(self, entity: str, card_id: str) -> Iterator[Transaction]:
        """A transaction that is refused unless the card is there for everybody."""
        try:
            with self.db.transaction() as transaction:
                transaction.check(d.card(card_id), d.PUBLISHED)
                yield transaction
        except ConditionFailed:
            raise ReferenceMissing(entity, "PerfectionCard", card_id, "card_id") from None

    # Collections

    def new_collection(self, user_id: str, name: str) -> d.Collection:
        return self.db.create(d.Collection(collection_id=self.new_id("l"), user_id=user_id, name=name))

    def collect(self, user_id: str, collection_id: str, card_id: str) -> None:
        """Put a card into one's own collection; twice is once."""
        entry = d.CardInCollection(collection_id=collection_id, card_id=card_id, user_id=user_id)
        try:
            with self._while_published("CardInCollection", card_id) as transaction:
                transaction.create(entry)
        except AlreadyExists:
            if self.db(d.collection(user_id, collection_id)) is None:
                raise ReferenceMissing("CardInCollection", "Collection", collection_id, "collection_id") from None

    def uncollect(self, collection_id: str, card_id: str) -> None:
        self.db.delete(d.card_in_collection(collection_id, card_id))

    def collected(self, collection_id: str, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        """The cards of a collection; those that were removed meanwhile are skipped."""
        return self.cards.named(self.db(d.cards_in_collection(collection_id)).page(size, cursor))

    def sweep(self, collection_id: str) -> int:
        """Take removed cards out of a collection; how many there were."""
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
        """A category under another, which must exist, or under none."""
        made = d.Category(category_id=composed(category_id), name=name, sort_order=sort_order)
        if made.category_id == d.ROOT:
            raise InvalidValue("Category.id", f"{d.ROOT} stands for no parent")
        made.parent_id = parent_of(made, composed(parent_id))
        return self.db.create(made)

    def change_category(
        self,
        category_id: str,
        *,
        name: str | UnsetType = UNSET,
        parent_id: str | UnsetType = UNSET,
        sort_order: int | UnsetType = UNSET,
        check: Callable[[d.Category], None] = lambda found: None,
    ) -> None:
        """Change what is given, all or nothing; `check` may raise when it is given what is there."""

        def edit(found: d.Category) -> None:
            check(found)
            if name is not UNSET:
                found.name = name
            if sort_order is not UNSET:
                found.sort_order = sort_order
            if parent_id is not UNSET:
                found.parent_id = parent_of(found, composed(parent_id))

        self.db.update(d.category(category_id), edit)

    def move_category(self, category_id: str, parent_id: str) -> None:
        """Put it under another parent; one that has subcategories stays where it is, or becomes a root."""
        self.change_category(category_id, parent_id=parent_id)

    def remove_category(self, category_id: str, *, when: Condition | None = None) -> None:
        """An empty category goes. One that other code wrote has no counts yet: what lists it is looked at."""
        empty = _UNUSED if when is None else _UNUSED & when
        try:
            self.db.delete(d.category(category_id), when=empty & _COUNTED)
        except ConditionFailed:
            found = self.db(d.category(category_id), consistent=True)
            if found is not None and (found.child_count or found.card_count or self._is_listed(category_id)):
                raise InvalidValue("Category.id", f"{category_id} still has cards or subcategories") from None
            self.db.delete(d.category(category_id), when=empty)

    def _is_listed(self, category_id: str) -> bool:
        """Whether a list shows cards or subcategories of a category."""
        cards = self.db(d.cards_by_category(category_id))
        under = self.db(d.subcategories(category_id)).one()
        return under is not None or any(each.status == d.CardStatus.PUBLISHED for each in cards)

    # Notifications and trends

    def tell(self, notification: d.Notification) -> d.Notification:
        """Tell a user of an event; telling twice is once, and what was read stays so."""
        try:
            return self.db.create(notification)
        except ReferenceMissing:
            raise NotFound("User", notification.user_id) from None
        except AlreadyExists:
            where = (notification.user_id, notification.created_at, notification.notification_id)
            return self.db.one(d.notification(*where), consistent=True)

    def set_trend(self, card_id: str, score: int) -> d.Trend:
        """How fast a published card gathers attention just now."""
        with self._while_published("Trend", card_id) as transaction:
            return transaction.put(d.Trend(card_id=card_id, score=score, seen_at=self.now()))

    def read_notification(self, user_id: str, created_at: datetime, notification_id: str) -> None:
        with self.db.change(d.notification(user_id, created_at, notification_id)) as draft:
            draft.read = True

    def read_all_notifications(self, user_id: str) -> int:
        """Mark everything read; how many were not."""
        unread = [each for each in self.db(d.notifications_of_user(user_id)) if not each.read]
        for each in unread:
            self.read_notification(user_id, each.created_at, each.notification_id)
        return len(unread)


def parent_of(category: d.Category, parent_id: str) -> str:
    """The parent that a category may get: there is never a circle."""
    if parent_id == category.category_id:
        raise InvalidValue("Category.parentId", "a category is not its own parent")
    if parent_id not in (d.ROOT, category.parent_id) and category.child_count > 0:
        raise InvalidValue("Category.parentId", f"{category.category_id} has subcategories of its own")
    return parent_id

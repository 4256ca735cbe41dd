"""Cards from draft to removal, and the lists of them."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from partita import (
    Condition,
    ConditionFailed,
    ConfigurationError,
    F,
    InvalidCursor,
    InvalidValue,
    NotFound,
    Page,
    Store,
    Transaction,
    VersionConflict,
    convert,
    new_id,
)
from partita_systems import fields as fields_of_text
from partita_systems.batched_counts import BatchedCounts
from partita_systems.perfectit import design as d
from partita_systems.perfectit.consumers import search as text_index
from partita_systems.perfectit.day_cursor import RECENT_PERIOD, day_cursor, parse_day_cursor
from partita_systems.perfectit.search_terms import canonical_name, terms_of, words
from partita_systems.perfectit.votes import Votes
from partita_systems.service_base import MakeId, ServiceBase

MAX_DAYS_PER_PAGE = 30  # of the list of recent cards: one Query for each day
MAX_NAME_LENGTH = 120  # of a material
LINE: Any = fields_of_text.Line
IMAGES = os.environ.get("PERFECTIT_IMAGES", "")  # the base address of images, such as https://images.example.com/


class Content(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The fields of a card that an author writes. Fields that are left out stay unchanged."""

    title: d.Line | UnsetType = UNSET
    description: fields_of_text.FreeText | UnsetType = UNSET
    image_urls: list[fields_of_text.Line] | UnsetType = UNSET
    instructions: list[d.Text] | UnsetType = UNSET
    materials: dict[d.Line, d.Line] | UnsetType = UNSET
    tools: list[d.Line] | UnsetType = UNSET
    category: fields_of_text.Line | UnsetType | None = UNSET
    tags: list[d.Line] | UnsetType = UNSET
    difficulty: d.Difficulty | UnsetType = UNSET
    estimated_time: int | UnsetType = UNSET
    estimated_cost: int | UnsetType = UNSET

    def fields(self) -> dict[str, Any]:
        """The fields that are set, checked and normalised."""
        if isinstance(self.difficulty, d.Difficulty) and self.difficulty not in list(d.Difficulty):
            known = ", ".join(each.value for each in d.Difficulty)
            raise InvalidValue("PerfectionCard", f"{self.difficulty.value!r} is not valid; use {known}", "difficulty")
        fields = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not UNSET}
        names = self.materials if isinstance(self.materials, dict) else ()
        if not all(1 <= len(str(name)) <= MAX_NAME_LENGTH for name in names):
            raise InvalidValue(
                "PerfectionCard", f"the name of a material must have 1 to {MAX_NAME_LENGTH} characters", "materials"
            )
        for name in names:
            convert(name, LINE, "PerfectionCard", "materials")
        if isinstance(self.category, str):
            fields["category"] = canonical_name(self.category)
        if isinstance(self.image_urls, list):
            fields["image_urls"] = [image_address(url, at) for at, url in enumerate(self.image_urls)]
        return fields


_SENT_NAMES = {each.name: each.encode_name for each in msgspec.structs.fields(Content)}


def image_address(url: str, at: int = 0) -> str:
    """The address of an image. With a base address, it is below that, and may be given without it."""
    if not IMAGES or url.startswith(IMAGES):
        return url
    if "://" in url or url.startswith("/") or ".." in url.split("/"):
        raise InvalidValue("PerfectionCard", f"must be below {IMAGES}", "imageUrls", at)
    return IMAGES + url


class HasCardId(Protocol):
    """Anything that refers to a card."""

    card_id: str


C = TypeVar("C", bound=HasCardId)


class Cards(ServiceBase):
    """Cards from draft to removal, and the lists of them."""

    def __init__(self, db: Store, votes: Votes, make_id: MakeId = new_id) -> None:
        super().__init__(db, make_id)
        self._votes = votes
        self._views = BatchedCounts(self._add_views)

    def draft(self, author_id: str, content: Content) -> d.PerfectionCard:
        """Create a draft. Only its author sees it, and it expires 30 days after its last edit."""
        return self.db.create(self._new_card(author_id, content))

    def draft_many(self, author_id: str, contents: Sequence[Content]) -> list[d.PerfectionCard]:
        """Create several drafts in one transaction, all or none."""
        created = []
        with self.db.transaction() as transaction:
            for at, content in enumerate(contents):
                try:
                    created.append(transaction.create(self._new_card(author_id, content)))
                except InvalidValue as error:
                    field, *inside = error.path
                    path = ("cards", at, _SENT_NAMES.get(str(field), field), *inside)
                    raise InvalidValue(error.entity, error.reason, *path, fault=error.fault) from None
        return created

    def _new_card(self, author_id: str, content: Content) -> d.PerfectionCard:
        if content.title is UNSET:
            raise InvalidValue("PerfectionCard", "required", "title")
        return d.PerfectionCard(
            card_id=self.new_id("c"), author_id=author_id, created_at=self.now(), **content.fields()
        )

    def edit(self, card_id: str, content: Content, *, version: int | None = None) -> None:
        """Change the given fields; the search terms of a published card change in the same transaction.

        With a `version`, the card must still have it; without one, the edit applies to the current version.
        """
        for _ in self.db.retrying("PerfectionCard"):
            card = self._visible_card(card_id)
            try:
                self._change(card, content.fields(), card.version if version is None else version)
            except VersionConflict:
                if version is not None:
                    raise
            else:
                return

    def publish(self, card_id: str) -> None:
        """Publish a draft: it enters the indexes, gets its search terms, and no longer expires."""
        for _ in self.db.retrying("PerfectionCard"):
            card = self._visible_card(card_id)
            if card.status == d.CardStatus.PUBLISHED:
                return
            changes = {"status": d.CardStatus.PUBLISHED, "created_at": self.now()}
            with suppress(VersionConflict):
                self._change(card, changes, card.version)
                return

    def _change(self, card: d.PerfectionCard, changes: dict[str, Any], version: int) -> None:
        """Change the card and, if it is published, its search terms."""
        with self.db.transaction() as transaction:
            draft = transaction.change(d.card(card.card_id), version=version, seen=card)
            for name, value in changes.items():
                setattr(draft, name, value)
            changed = msgspec.structs.replace(card, **changes)
            if changed.status == d.CardStatus.PUBLISHED:
                check_complete(changed)
                self._update_terms(transaction, changed, self._stored_terms(card.card_id))

    def remove(self, card_id: str) -> None:
        """Delete a card with its comments, terms and votes.

        The card leaves every list first and accepts no more votes or comments. An interrupted removal can be repeated.
        """
        for _ in self.db.retrying("PerfectionCard"):
            card = self.db(d.card(card_id), consistent=True)
            hidden: Condition | None = F.status != d.CardStatus.PUBLISHED
            if card is not None and card.status == d.CardStatus.PUBLISHED:
                try:
                    with self.db.change(d.card(card_id)) as draft:
                        draft.status = d.CardStatus.REMOVED
                except NotFound:  # deleted, or marked by an interrupted deletion
                    hidden = None
            for comment in self.db(d.comments_of_card(card_id), consistent=True):
                self._votes.delete_all(comment.comment_id)
                self.db.delete(comment)
            self._votes.delete_all(card_id)
            with suppress(ConditionFailed):  # a draft that was published in the meantime
                self.db.delete(d.card(card_id), when=hidden)
                return

    def view(self, card: d.PerfectionCard) -> None:
        """Count a view of a published card, in memory."""
        if card.status == d.CardStatus.PUBLISHED:
            self._views.add(card.card_id)

    def write_views(self) -> int:
        """Write the counted views; returns the number of cards. Analytics adds them to the day."""
        return self._views.flush()

    def _add_views(self, card_id: str, views: int) -> None:
        with suppress(NotFound):  # removed since
            self.count_views(card_id, views)

    def count_views(self, card_id: str, views: int) -> None:
        """Add a batch of views that were counted elsewhere. The number is approximate; `updated_at` stays."""
        if views < 1:
            raise InvalidValue("PerfectionCard", f"{views} is not valid; use a number above 0", "viewCount")
        with self.db.change(d.card(card_id)) as draft:
            draft.view_count += views

    def _visible_card(self, card_id: str) -> d.PerfectionCard:
        card = self.db.one(d.card(card_id), consistent=True)
        if card.status == d.CardStatus.REMOVED:
            raise NotFound("PerfectionCard", {"card_id": card_id})
        return card

    def _stored_terms(self, card_id: str) -> set[str]:
        return {each.term for each in self.db(d.terms_of_card(card_id), consistent=True)}

    def _update_terms(self, transaction: Transaction, card: d.PerfectionCard, stored: set[str]) -> None:
        """Create and delete terms so that they are those of the card."""
        wanted = terms_of(card)
        for term in sorted(stored.difference(wanted)):
            transaction.delete(d.term(card.card_id, term))
        for term in wanted:
            if term not in stored:
                transaction.create(d.Term(card_id=card.card_id, term=term))

    def rebuild_terms(self, card_id: str) -> None:
        """Create the search terms of a published card of other code."""
        for _ in self.db.retrying("PerfectionCard"):
            card = self._visible_card(card_id)
            stored = self._stored_terms(card_id)
            with suppress(ConditionFailed):
                with self.db.transaction() as transaction:
                    unedited = F.version == card.version if card.version else F.version.is_absent() | (F.version == 0)
                    transaction.check(d.card(card_id), d.PUBLISHED & unedited)
                    self._update_terms(transaction, card, stored)
                return

    # Lists

    def by_category(self, category: str, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The newest cards of a category. Drafts of other code are left out, so a page may be short."""
        return _published_only(self.db(d.cards_by_category(category)).page(size, cursor))

    def by_author(self, author_id: str, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The newest cards of an author, as for a category."""
        return _published_only(self.db(d.cards_by_author(author_id)).page(size, cursor))

    def recent(self, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The newest cards, day by day; the cursor contains the day. A page may be short before the end."""
        today = self.now().date()
        day, inside = parse_day_cursor(self.db, cursor, today) if cursor else (today, None)
        cards: list[d.CardSummary] = []
        for _ in range(MAX_DAYS_PER_PAGE):
            page = self.db(d.cards_of_day(day)).page(size - len(cards), inside)
            cards += page.items
            if page.cursor is not None:
                return Page(cards, day_cursor(self.db, day, page.cursor))
            day, inside = day - timedelta(days=1), None
            if day <= today - RECENT_PERIOD:
                return Page(cards, None)
            if len(cards) == size:
                break
        return Page(cards, day_cursor(self.db, day, None))

    def controversial(self, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        """The cards with the most divided votes first."""
        return self.published_cards(self.db(d.controversial()).page(size, cursor))

    def trending(self, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        return self.published_cards(self.db(d.trending()).page(size, cursor))

    def search(self, text: str, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        """Cards that have every word of the text, the best first; the last word may be unfinished.

        The text index finds them, which follows the cards. Where it finds nothing, GSI4 may: it has the terms of a card
        at once. It finds the longest word, and the others are compared, so a page may be short.
        """
        if self._has_text_index():
            try:
                matches = text_index.find(self.db, text, size=size, cursor=cursor, complete=True)
            except InvalidCursor:  # of GSI4
                matches = None
            if matches:
                return Page(matches.entities, matches.cursor)
        wanted = set(words(text))
        if not wanted:
            return Page([], None)
        found = self.published_cards(self.db(d.cards_by_term(max(sorted(wanted), key=len))).page(size, cursor))
        return Page([card for card in found.items if wanted.issubset(terms_of(card))], found.cursor)

    def _has_text_index(self) -> bool:
        """Whether the consumer of the text index has built it."""
        try:
            status = text_index.status(self.db)
        except ConfigurationError:  # a remote database needs a place for the index
            return False
        return status.documents > 0 and not status.is_building

    def published_cards(self, page: Page[C]) -> Page[d.PerfectionCard]:
        """The published cards that the items of a page refer to: one BatchGetItem."""
        found = self.db.get_many([d.card(each.card_id) for each in page.items])
        return Page([card for card in found if card and card.status == d.CardStatus.PUBLISHED], page.cursor)


def _published_only(page: Page[d.CardSummary]) -> Page[d.CardSummary]:
    return Page([card for card in page.items if card.status == d.CardStatus.PUBLISHED], page.cursor)


def check_complete(card: d.PerfectionCard) -> None:
    """A published card needs a category and instructions."""
    if card.category is None:
        raise InvalidValue("PerfectionCard", "required in a published card", "category")
    if not card.instructions:
        raise InvalidValue("PerfectionCard", "a published card needs at least one step", "instructions")

"""Cards: written, published, edited, removed, and listed in the ways that people look for them."""

from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from partita import (
    Condition,
    ConditionFailed,
    F,
    InvalidValue,
    NotFound,
    Page,
    Store,
    Transaction,
    VersionConflict,
    new_id,
)
from partita_systems.perfectit import design as d
from partita_systems.perfectit.day_cursor import RECENT, day_cursor, day_of
from partita_systems.perfectit.search_terms import composed, terms_of, words
from partita_systems.perfectit.votes import Votes
from partita_systems.service_base import MakeId, ServiceBase

WALK = 30  # how many days, and so Queries, one page of `recent` may take
LONGEST_NAME = 120  # of a material


class Content(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What an author writes; what is not given stays as it is."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    image_urls: list[str] | UnsetType = UNSET
    instructions: list[str] | UnsetType = UNSET
    materials: dict[str, str] | UnsetType = UNSET
    tools: list[str] | UnsetType = UNSET
    category: str | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET
    difficulty: d.Difficulty | UnsetType = UNSET
    estimated_time: int | UnsetType = UNSET
    estimated_cost: int | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        if isinstance(self.difficulty, d.Difficulty) and self.difficulty not in list(d.Difficulty):
            known = ", ".join(each.value for each in d.Difficulty)
            raise InvalidValue("PerfectionCard.difficulty", f"{self.difficulty.value!r} is none of {known}")
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not UNSET}
        named = self.materials if isinstance(self.materials, dict) else ()
        if not all(1 <= len(str(name)) <= LONGEST_NAME for name in named):
            raise InvalidValue("PerfectionCard.materials", f"a material's name has 1 to {LONGEST_NAME} characters")
        if isinstance(self.category, str):
            given["category"] = composed(self.category)
        return given


class OfCard(Protocol):
    """Anything that names a card."""

    card_id: str


C = TypeVar("C", bound=OfCard)


class Cards(ServiceBase):
    """Cards from draft to removal, and the lists of them."""

    def __init__(self, db: Store, votes: Votes, make_id: MakeId = new_id) -> None:
        super().__init__(db, make_id)
        self._votes = votes

    def draft(self, author_id: str, content: Content) -> d.PerfectionCard:
        """A card that only its author sees, for thirty days after its last edit."""
        if content.title is UNSET:
            raise InvalidValue("PerfectionCard.title", "a card needs one")
        made = d.PerfectionCard(card_id=self.new_id("c"), author_id=author_id, created_at=self.now(), **content.given())
        return self.db.create(made)

    def edit(self, card_id: str, content: Content, *, version: int | None = None) -> None:
        """Change what is given; a published card's terms follow in the same transaction.

        With a `version`, the card must still be at it; without one, the edit is made to whatever others made of it.
        """
        for _ in self.db.retrying("PerfectionCard"):
            card = self._present(card_id)
            try:
                self._change(card, content.given(), card.version if version is None else version)
            except VersionConflict:
                if version is not None:
                    raise
            else:
                return

    def publish(self, card_id: str) -> None:
        """Show a draft to everybody: it enters the indexes, is found by its terms, and expires no more."""
        for _ in self.db.retrying("PerfectionCard"):
            card = self._present(card_id)
            if card.status == d.CardStatus.PUBLISHED:
                return
            shown = {"status": d.CardStatus.PUBLISHED, "created_at": self.now()}
            with suppress(VersionConflict):
                self._change(card, shown, card.version)
                return

    def _change(self, card: d.PerfectionCard, given: dict[str, Any], version: int) -> None:
        """The card and, where everybody sees it, the terms under which it is filed."""
        with self.db.transaction() as transaction:
            draft = transaction.change(d.card(card.card_id), version=version, seen=card)
            for name, value in given.items():
                setattr(draft, name, value)
            changed = msgspec.structs.replace(card, **given)
            if changed.status == d.CardStatus.PUBLISHED:
                filed = {each.term for each in self.db(d.terms_of_card(card.card_id), consistent=True)}
                self._file(transaction, complete(changed), filed)

    def remove(self, card_id: str) -> None:
        """A card goes with its comments, terms and votes; it leaves every list first, so an interrupted removal shows
        nothing and can be repeated. From then on nobody votes or comments, so what is forgotten stays so."""
        for _ in self.db.retrying("PerfectionCard"):
            card = self.db(d.card(card_id), consistent=True)
            hidden: Condition | None = F.status != d.CardStatus.PUBLISHED
            if card is not None and card.status == d.CardStatus.PUBLISHED:
                try:
                    with self.db.change(d.card(card_id)) as draft:
                        draft.status = d.CardStatus.REMOVED
                except NotFound:  # gone, or marked by a deletion that was interrupted
                    hidden = None
            for comment in self.db(d.comments_of_card(card_id), consistent=True):
                self._votes.forget(comment.comment_id)
                self.db.delete(comment)
            self._votes.forget(card_id)
            with suppress(ConditionFailed):  # a draft that was published meanwhile
                self.db.delete(d.card(card_id), when=hidden)
                return

    def count_views(self, card_id: str, views: int) -> None:
        """Views are counted elsewhere and arrive in batches: the number is approximate, and no edit."""
        if views < 1:
            raise InvalidValue("PerfectionCard.viewCount", f"{views} views cannot be added")
        with self.db.change(d.card(card_id)) as draft:
            draft.view_count += views

    def _present(self, card_id: str) -> d.PerfectionCard:
        card = self.db.one(d.card(card_id), consistent=True)
        if card.status == d.CardStatus.REMOVED:
            raise NotFound("PerfectionCard", card_id)
        return card

    def _file(self, transaction: Transaction, card: d.PerfectionCard, filed: set[str]) -> None:
        """Make the terms of a card what they should be, from those under which it is filed."""
        wanted = terms_of(card)
        for term in sorted(filed.difference(wanted)):
            transaction.delete(d.term(card.card_id, term))
        for term in wanted:
            if term not in filed:
                transaction.create(d.Term(card_id=card.card_id, term=term))

    def refile(self, card_id: str) -> None:
        """Make the terms of a published card that other code wrote what they should be."""
        for _ in self.db.retrying("PerfectionCard"):
            card = self._present(card_id)
            filed = {each.term for each in self.db(d.terms_of_card(card_id), consistent=True)}
            with suppress(ConditionFailed):
                with self.db.transaction() as transaction:
                    unedited = F.version == card.version if card.version else F.version.is_absent() | (F.version == 0)
                    transaction.check(d.card(card_id), d.PUBLISHED & unedited)
                    self._file(transaction, card, filed)
                return

    # Lists

    def by_category(self, category: str, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The newest cards of a category. Other code lists its drafts too: they are left out, and a page is short."""
        return _shown(self.db(d.cards_by_category(category)).page(size, cursor))

    def by_author(self, author_id: str, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The same for one author."""
        return _shown(self.db(d.cards_by_author(author_id)).page(size, cursor))

    def recent(self, size: int = 20, cursor: str | None = None) -> Page[d.CardSummary]:
        """The newest cards, day by day backwards; the cursor carries the day. A page may be short before the end."""
        today = self.now().date()
        day, inside = day_of(cursor, today) if cursor else (today, None)
        cards: list[d.CardSummary] = []
        for _ in range(WALK):
            page = self.db(d.cards_of_day(day)).page(size - len(cards), inside)
            cards += page.items
            if page.cursor is not None:
                return Page(cards, day_cursor(day, page.cursor))
            day, inside = day - timedelta(days=1), None
            if day <= today - RECENT:
                return Page(cards, None)
            if len(cards) == size:
                break
        return Page(cards, day_cursor(day, None))

    def controversial(self, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        """The most divided cards first."""
        return self.named(self.db(d.controversial()).page(size, cursor))

    def trending(self, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        return self.named(self.db(d.trending()).page(size, cursor))

    def search(self, text: str, size: int = 20, cursor: str | None = None) -> Page[d.PerfectionCard]:
        """Cards that have every word of the text among their terms: the longest word is looked up, the others are
        compared, so a page may be short."""
        wanted = set(words(text))
        if not wanted:
            return Page([], None)
        found = self.named(self.db(d.cards_by_term(max(sorted(wanted), key=len))).page(size, cursor))
        return Page([card for card in found.items if wanted.issubset(terms_of(card))], found.cursor)

    def named(self, page: Page[C]) -> Page[d.PerfectionCard]:
        """The published cards that a page names: one BatchGetItem; what is gone is skipped."""
        found = self.db.get_many([d.card(each.card_id) for each in page.items])
        return Page([card for card in found if card and card.status == d.CardStatus.PUBLISHED], page.cursor)


def _shown(page: Page[d.CardSummary]) -> Page[d.CardSummary]:
    return Page([card for card in page.items if card.status == d.CardStatus.PUBLISHED], page.cursor)


def complete(card: d.PerfectionCard) -> d.PerfectionCard:
    """A card that everybody may see says where it belongs and how it is done."""
    if card.category is None:
        raise InvalidValue("PerfectionCard.category", "a published card needs one")
    if not card.instructions:
        raise InvalidValue("PerfectionCard.instructions", "a published card needs at least one step")
    return card

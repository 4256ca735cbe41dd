"""The tree of categories: roots and, under them, subcategories in an order of their own. There is no third level.

A category's place is told twice, by its own index key and by the link under its parent; both move in one transaction.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from partita import (
    AlreadyExists,
    Condition,
    ConditionFailed,
    F,
    InvalidCursor,
    InvalidValue,
    NotFound,
    Page,
    ReferenceMissing,
    Transaction,
)
from partita_systems.blog import design as d
from partita_systems.blog.visibility import counter_is
from partita_systems.service_base import ServiceBase

MOST_IN_ORDER = 100  # what one transaction takes
MOST_ROOTS = 90  # the rest is for those who add one at the same moment
_IS_ROOT = F.parent_id.is_absent()


class Categories(ServiceBase):
    """Each change is one transaction; who comes second to the same place reads again."""

    def add(self, name: str, parent_id: str | None = None) -> d.Category:
        """A new category, last among its siblings."""
        category_id = self.new_id("k")
        for _ in self.db.retrying(d.Category.__name__):
            order = self._last_place(parent_id)
            try:
                with self.db.transaction() as transaction:
                    category = d.Category(category_id=category_id, name=name, parent_id=parent_id, order=order)
                    made = transaction.create(category)
                    self._link(transaction, category_id, parent_id, order)
            except (ConditionFailed, ReferenceMissing):
                continue
            break
        return made

    def rename(self, category_id: str, name: str) -> None:
        with self.db.change(d.category(category_id)) as draft:
            draft.name = name

    def move(self, category_id: str, parent_id: str | None) -> None:
        """Under another root, or out to the roots; a category that has subcategories stays a root."""
        for _ in self.db.retrying(d.Category.__name__):
            found = self.db.one(d.category(category_id), consistent=True)
            if found.parent_id == parent_id:
                return
            if parent_id is not None and (parent_id == category_id or self._has_children(found)):
                raise InvalidValue("Category.parent_id", f"{found.name!r} has subcategories and cannot become one")
            order = self._last_place(parent_id)
            try:
                with self.db.transaction() as transaction:
                    same = _unmoved(found) & counter_is("child_count", found.child_count)
                    draft = transaction.change(d.category(category_id), when=same)
                    draft.parent_id = parent_id
                    draft.order = order
                    self._unlink(transaction, found)
                    self._link(transaction, category_id, parent_id, order)
            except (ConditionFailed, AlreadyExists, ReferenceMissing):
                continue
            return

    def reorder(self, parent_id: str | None, category_ids: Sequence[str]) -> None:
        """Put all subcategories of a root, or all roots, into this order at once."""
        for _ in self.db.retrying(d.Category.__name__):
            siblings = {each.category_id: each for each in self._siblings(parent_id)}
            if parent_id is not None and not siblings:
                self.db.one(d.category(parent_id))
            if len(siblings) > MOST_IN_ORDER:
                raise InvalidValue("Category.category_ids", f"more than {MOST_IN_ORDER}; put some under others first")
            if sorted(category_ids) != sorted(siblings):
                raise InvalidValue("Category.category_ids", "name each of the categories that stand side by side once")
            try:
                with self.db.transaction() as transaction:
                    for place, category_id in enumerate(category_ids):
                        self._place(transaction, siblings[category_id], place)
            except (ConditionFailed, NotFound):
                for each in siblings.values():
                    self._own_link(each)
                continue
            return

    def remove(self, category_id: str, check: Callable[[d.Category], None] = lambda found: None) -> None:
        """An empty category goes; `check` may raise when it is given what would be removed."""
        for _ in self.db.retrying(d.Category.__name__):
            found = self.db.one(d.category(category_id), consistent=True)
            check(found)
            if self._has_children(found) or self._has_posts(found):
                raise InvalidValue("Category.category_id", f"{found.name!r} still has subcategories or posts")
            try:
                with self.db.transaction() as transaction:
                    same = _unmoved(found) & _as_full(found) & (F.name == found.name)
                    transaction.delete(d.category(category_id), when=same)
                    self._unlink(transaction, found)
            except ConditionFailed:
                continue
            return

    def posts(self, category_id: str, size: int | None = None, cursor: str | None = None) -> Page[d.Post]:
        """The newest posts of a category and of its subcategories: one Query each, merged.

        A cursor is of the subcategories that there were; with others the pages would have gaps.
        """
        ids = [category_id, *(link.child_id for link in self.db(d.children(category_id)))]
        try:
            return self.db(d.posts_by_categories(ids)).page(size, cursor)
        except InvalidCursor:
            reason = "it is broken, or the subcategories have changed since; begin again without it"
            raise InvalidCursor(d.posts_by_categories.name, reason) from None

    def _siblings(self, parent_id: str | None) -> list[d.Category]:
        if parent_id is None:
            return list(self.db(d.root_categories()))
        links = self.db(d.children(parent_id), consistent=True)
        return self.existing([d.category(link.child_id) for link in links])

    def _last_place(self, parent_id: str | None) -> int:
        if parent_id is not None:
            parent = self.db(d.category(parent_id), consistent=True) if parent_id else None
            if parent is None:
                raise ReferenceMissing(d.Category.__name__, d.Category.__name__, parent_id)
            if parent.parent_id is not None:
                raise InvalidValue("Category.parent_id", "it is a subcategory itself; there are two levels")
        siblings = self._siblings(parent_id)
        if parent_id is None and len(siblings) >= MOST_ROOTS:
            raise InvalidValue("Category.parent_id", f"there are {MOST_ROOTS} roots already; put it under one of them")
        return 1 + max((each.order for each in siblings), default=-1)

    def _has_children(self, category: d.Category) -> bool:
        """Whether it is the parent of any; the team's own code has not counted them."""
        return category.child_count > 0 or self.db(d.children(category.category_id), consistent=True).one() is not None

    def _has_posts(self, category: d.Category) -> bool:
        return category.post_count > 0 or self.db(d.posts_by_category(category.category_id)).one() is not None

    def _place(self, transaction: Transaction, category: d.Category, place: int) -> None:
        if category.order == place:
            return
        transaction.change(d.category(category.category_id), when=_unmoved(category)).order = place
        if category.parent_id is not None:
            transaction.change(d.child(category.parent_id, category.category_id, category.order)).order = place

    def _link(self, transaction: Transaction, category_id: str, parent_id: str | None, order: int) -> None:
        if parent_id is not None:
            transaction.check(d.category(parent_id), _IS_ROOT)
            transaction.create(d.CategoryChild(parent_id=parent_id, child_id=category_id, order=order))

    def _unlink(self, transaction: Transaction, category: d.Category) -> None:
        if category.parent_id is not None:
            self._own_link(category)
            transaction.delete(d.child(category.parent_id, category.category_id, category.order))

    def _own_link(self, category: d.Category) -> None:
        """Its link comes under our key, where other code wrote it under another."""
        if category.parent_id is not None:
            with suppress(NotFound):
                self.db.update(d.child(category.parent_id, category.category_id, category.order), lambda link: None)


def _unmoved(category: d.Category) -> Condition:
    """It still stands where it was read."""
    parent = _IS_ROOT if category.parent_id is None else F.parent_id == category.parent_id
    return parent & (F.order == category.order)


def _as_full(category: d.Category) -> Condition:
    """It has as many subcategories and posts as when it was read."""
    return counter_is("child_count", category.child_count) & counter_is("post_count", category.post_count)

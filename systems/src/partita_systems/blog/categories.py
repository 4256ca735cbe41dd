"""The category tree: roots, and subcategories in their own order under each root. There is no third level.

A category's position is stored twice, in its own index key and in the link under its parent. Both change in one
transaction. A CategorySequence under each parent has the next free position: the transaction that gives a position to
a category moves it on, so concurrent additions never share a position.
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
from partita_systems.conditions import counter_is
from partita_systems.service_base import ServiceBase

MAX_REORDERED = 99  # one transaction has at most 100 actions, one of them for the sequence
MAX_ROOTS = 90  # leaves room for roots that are added concurrently
_IS_ROOT = F.parent_id.is_absent()


class Categories(ServiceBase):
    """Each change is one transaction; a change that meets a concurrent one reads again and retries."""

    def add(self, name: str, parent_id: str | None = None) -> d.Category:
        """Create a category, last among its siblings."""
        category_id = self.new_id("k")
        for _ in self.db.retrying(d.Category.__name__):
            sequence, order = self._next_position(parent_id)
            try:
                with self.db.transaction() as transaction:
                    category = d.Category(category_id=category_id, name=name, parent_id=parent_id, order=order)
                    created = transaction.create(category)
                    self._link(transaction, category_id, parent_id, order)
                    _set_next_order(transaction, parent_id, sequence, order + 1)
            except AlreadyExists as existing:
                if existing.entity != d.CategorySequence.__name__:
                    raise
                continue
            except (ConditionFailed, ReferenceMissing):
                continue
            break
        return created

    def rename(self, category_id: str, name: str) -> None:
        with self.db.change(d.category(category_id)) as draft:
            draft.name = name

    def move(self, category_id: str, parent_id: str | None) -> d.Category:
        """Move a category under another root, or make it a root; a category with subcategories stays a root."""
        for _ in self.db.retrying(d.Category.__name__):
            found = self.db.one(d.category(category_id), consistent=True)
            if found.parent_id == parent_id:
                break
            if parent_id is not None and (parent_id == category_id or self._has_children(found)):
                raise InvalidValue("Category", f"{found.name!r} has subcategories and cannot become one", "parent_id")
            sequence, order = self._next_position(parent_id)
            try:
                with self.db.transaction() as transaction:
                    unchanged = _position_unchanged(found) & counter_is("child_count", found.child_count)
                    draft = transaction.change(d.category(category_id), when=unchanged)
                    draft.parent_id = parent_id
                    draft.order = order
                    self._unlink(transaction, found)
                    self._link(transaction, category_id, parent_id, order)
                    _set_next_order(transaction, parent_id, sequence, order + 1)
            except (ConditionFailed, AlreadyExists, ReferenceMissing):
                continue
            break
        return self.db.one(d.category(category_id), consistent=True)

    def reorder(self, parent_id: str | None, category_ids: Sequence[str]) -> list[d.Category]:
        """Set the order of all subcategories of a root, or of all roots, in one transaction; returns them in order."""
        for _ in self.db.retrying(d.Category.__name__):
            sequence = self.db(d.category_sequence(_parent_key(parent_id)), consistent=True)
            siblings = {each.category_id: each for each in self._siblings(parent_id)}
            if parent_id is not None and not siblings:
                self.db.one(d.category(parent_id))
            if len(siblings) > MAX_REORDERED:
                raise InvalidValue(
                    "Category",
                    f"at most {MAX_REORDERED} categories can be reordered; move some under other roots first",
                    "category_ids",
                )
            if sorted(category_ids) != sorted(siblings):
                raise InvalidValue("Category", "must contain each sibling exactly once", "category_ids")
            try:
                with self.db.transaction() as transaction:
                    for position, category_id in enumerate(category_ids):
                        self._set_position(transaction, siblings[category_id], position)
                    _set_next_order(transaction, parent_id, sequence, len(category_ids))
            except (ConditionFailed, NotFound, AlreadyExists):
                for each in siblings.values():
                    self._migrate_link(each)
                continue
            break
        return self.existing([d.category(each) for each in category_ids], consistent=True)

    def remove(self, category_id: str, check: Callable[[d.Category], None] = lambda found: None) -> None:
        """Delete an empty category; `check` gets the category first and may raise."""
        for _ in self.db.retrying(d.Category.__name__):
            found = self.db.one(d.category(category_id), consistent=True)
            check(found)
            if self._has_children(found) or self._has_posts(found):
                raise InvalidValue("Category", f"{found.name!r} still has subcategories or posts", "category_id")
            try:
                with self.db.transaction() as transaction:
                    unchanged = _position_unchanged(found) & _counters_unchanged(found) & (F.name == found.name)
                    transaction.delete(d.category(category_id), when=unchanged)
                    transaction.delete(d.category_sequence(category_id))
                    self._unlink(transaction, found)
            except ConditionFailed:
                continue
            return

    def posts(self, category_id: str, size: int | None = None, cursor: str | None = None) -> Page[d.Post]:
        """The newest posts of a category and its subcategories: one Query each, merged.

        A cursor is valid for the same set of subcategories only: with another set the pages would have gaps.
        """
        ids = [category_id, *(link.child_id for link in self.db(d.children(category_id)))]
        try:
            return self.db(d.posts_by_categories(ids)).page(size, cursor)
        except InvalidCursor:
            reason = "it is malformed, or the subcategories have changed since; start again without a cursor"
            raise InvalidCursor(d.posts_by_categories.name, reason) from None

    def _siblings(self, parent_id: str | None) -> list[d.Category]:
        if parent_id is None:
            return list(self.db(d.root_categories()))
        links = self.db(d.children(parent_id), consistent=True)
        return self.existing([d.category(link.child_id) for link in links])

    def _next_position(self, parent_id: str | None) -> tuple[d.CategorySequence | None, int]:
        """The sequence under a parent as it is now, and the position after all categories there."""
        sequence = self.db(d.category_sequence(_parent_key(parent_id)), consistent=True)
        if parent_id is not None:
            parent = self.db(d.category(parent_id), consistent=True) if parent_id else None
            if parent is None:
                key = {"category_id": parent_id}
                raise ReferenceMissing(d.Category.__name__, d.Category.__name__, key, "parent_id")
            if parent.parent_id is not None:
                raise InvalidValue("Category", "the parent is a subcategory; categories have two levels", "parent_id")
        siblings = self._siblings(parent_id)
        if parent_id is None and len(siblings) >= MAX_ROOTS:
            raise InvalidValue(
                "Category", f"there are {MAX_ROOTS} root categories already; choose one as the parent", "parent_id"
            )
        after_siblings = 1 + max((each.order for each in siblings), default=-1)
        order = max(after_siblings, 0 if sequence is None else sequence.next_order)
        if order <= d.MAX_ORDER:
            return sequence, order
        self.reorder(parent_id, [each.category_id for each in sorted(siblings, key=lambda each: each.order)])
        return self._next_position(parent_id)

    def _has_children(self, category: d.Category) -> bool:
        """By a query as well: other code does not count subcategories."""
        return category.child_count > 0 or self.db(d.children(category.category_id), consistent=True).one() is not None

    def _has_posts(self, category: d.Category) -> bool:
        return category.post_count > 0 or self.db(d.posts_by_category(category.category_id)).one() is not None

    def _set_position(self, transaction: Transaction, category: d.Category, position: int) -> None:
        if category.order == position:
            return
        transaction.change(d.category(category.category_id), when=_position_unchanged(category)).order = position
        if category.parent_id is not None:
            transaction.change(d.child(category.parent_id, category.category_id, category.order)).order = position

    def _link(self, transaction: Transaction, category_id: str, parent_id: str | None, order: int) -> None:
        if parent_id is not None:
            transaction.check(d.category(parent_id), _IS_ROOT)
            transaction.create(d.CategoryChild(parent_id=parent_id, child_id=category_id, order=order))

    def _unlink(self, transaction: Transaction, category: d.Category) -> None:
        if category.parent_id is not None:
            self._migrate_link(category)
            transaction.delete(d.child(category.parent_id, category.category_id, category.order))

    def _migrate_link(self, category: d.Category) -> None:
        """Move a link that other code stored under an old key to the current key."""
        if category.parent_id is not None:
            with suppress(NotFound):
                self.db.update(d.child(category.parent_id, category.category_id, category.order), lambda link: None)


def _parent_key(parent_id: str | None) -> str:
    return d.ROOTS if parent_id is None else parent_id


def _set_next_order(
    transaction: Transaction, parent_id: str | None, seen: d.CategorySequence | None, next_order: int
) -> None:
    """Set the next position under a parent, if it is still as it was seen."""
    parent = _parent_key(parent_id)
    if seen is None:
        transaction.create(d.CategorySequence(parent_id=parent, next_order=next_order))
    elif seen.next_order == next_order:
        transaction.check(d.category_sequence(parent), F.next_order == next_order)
    else:
        transaction.change(d.category_sequence(parent), when=F.next_order == seen.next_order).next_order = next_order


def _position_unchanged(category: d.Category) -> Condition:
    """The category still has the parent and the order that were read."""
    parent = _IS_ROOT if category.parent_id is None else F.parent_id == category.parent_id
    return parent & (F.order == category.order)


def _counters_unchanged(category: d.Category) -> Condition:
    """The category still has as many subcategories and posts as were read."""
    return counter_is("child_count", category.child_count) & counter_is("post_count", category.post_count)

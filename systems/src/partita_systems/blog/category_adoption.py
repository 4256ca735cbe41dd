"""Adoption of categories and their links, which both store the parent and the position.

Where they differ, the category is right; where the category has no parent, the link is.
"""

from partita import Adoption, F, InvalidValue, ReferenceMissing, Store
from partita_systems.blog import design as d


def link_category(db: Store, category: d.Category, done: Adoption) -> None:
    """Create the link of a subcategory under its root, if it is missing."""
    if category.parent_id is None:
        return
    _check_root(db, category.parent_id)
    links = db(d.children(category.parent_id), consistent=True)
    if any(link.child_id == category.category_id for link in links):
        return  # follow_link compares this link
    link = d.CategoryChild(parent_id=category.parent_id, child_id=category.category_id, order=category.order)
    with db.transaction() as transaction:
        here = (F.parent_id == category.parent_id) & (F.order == category.order)
        transaction.check(d.category(category.category_id), here)
        transaction.create(link)
    done.created += 1


def follow_link(db: Store, link: d.CategoryChild, done: Adoption) -> None:
    """Make a link and its category agree."""
    category = db(d.category(link.child_id), consistent=True)
    if category is None:
        raise ReferenceMissing(d.CategoryChild.__name__, d.Category.__name__, {"category_id": link.child_id})
    if (category.parent_id, category.order) == (link.parent_id, link.order):
        return
    here = d.child(link.parent_id, link.child_id, link.order)
    with db.transaction() as transaction:
        if category.parent_id is None:
            _check_root(db, link.parent_id)
            draft = transaction.change(d.category(link.child_id), when=F.parent_id.is_absent() & (F.child_count == 0))
            draft.parent_id, draft.order = link.parent_id, link.order
        elif category.parent_id != link.parent_id or _has_matching_link(db, category):
            transaction.delete(here)
        else:
            transaction.change(here).order = category.order
    done.rewritten += 1


def _has_matching_link(db: Store, category: d.Category) -> bool:
    """Whether there is a link with the parent and position of the category."""
    assert category.parent_id is not None
    return db(d.child(category.parent_id, category.category_id, category.order), consistent=True) is not None


def _check_root(db: Store, category_id: str) -> None:
    found = db(d.category(category_id), consistent=True)
    if found is None:
        raise ReferenceMissing(d.Category.__name__, d.Category.__name__, {"category_id": category_id})
    if found.parent_id is not None:
        raise InvalidValue("Category", f"{category_id} is a subcategory; categories have two levels", "parent_id")

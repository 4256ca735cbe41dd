"""Categories and their links as the team's own code wrote them, brought to say the same.

A category tells its parent and its place, and so does the link under the parent. Where they differ, the category is
right; where the category says nothing, the link is.
"""

from partita import Adoption, F, InvalidValue, ReferenceMissing, Store
from partita_systems.blog import design as d


def link_category(db: Store, category: d.Category, done: Adoption) -> None:
    """A subcategory has a link under its root."""
    if category.parent_id is None:
        return
    _check_root(db, category.parent_id)
    links = db(d.children(category.parent_id), consistent=True)
    if any(link.child_id == category.category_id for link in links):
        return  # it is followed by itself
    link = d.CategoryChild(parent_id=category.parent_id, child_id=category.category_id, order=category.order)
    with db.transaction() as transaction:
        here = (F.parent_id == category.parent_id) & (F.order == category.order)
        transaction.check(d.category(category.category_id), here)
        transaction.create(link)
    done.created += 1


def follow_link(db: Store, link: d.CategoryChild, done: Adoption) -> None:
    """A link and its category tell the same place."""
    category = db(d.category(link.child_id), consistent=True)
    if category is None:
        raise ReferenceMissing(d.CategoryChild.__name__, d.Category.__name__, link.child_id)
    if (category.parent_id, category.order) == (link.parent_id, link.order):
        return
    here = d.child(link.parent_id, link.child_id, link.order)
    with db.transaction() as transaction:
        if category.parent_id is None:
            _check_root(db, link.parent_id)
            draft = transaction.change(d.category(link.child_id), when=F.parent_id.is_absent() & (F.child_count == 0))
            draft.parent_id, draft.order = link.parent_id, link.order
        elif category.parent_id != link.parent_id or _is_told(db, category):
            transaction.delete(here)
        else:
            transaction.change(here).order = category.order
    done.rewritten += 1


def _is_told(db: Store, category: d.Category) -> bool:
    """Whether there is a link that says what the category says."""
    assert category.parent_id is not None
    return db(d.child(category.parent_id, category.category_id, category.order), consistent=True) is not None


def _check_root(db: Store, category_id: str) -> None:
    found = db(d.category(category_id), consistent=True)
    if found is None:
        raise ReferenceMissing(d.Category.__name__, d.Category.__name__, category_id)
    if found.parent_id is not None:
        raise InvalidValue("Category.parent_id", f"{category_id} is a subcategory itself; there are two levels")

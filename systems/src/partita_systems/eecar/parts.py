"""Parts with their specification, usages and vector, and finding them by category and by seller."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from partita import Condition, F, InvalidValue, NotFound, Page, ReferenceMissing, Transaction, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of, stored_words
from partita_systems.eecar.conditions import checked_condition
from partita_systems.eecar.lookup_items import create_entry_if_missing, seller_entry
from partita_systems.service_base import ServiceBase

E = TypeVar("E")
R = TypeVar("R")
MAX_ITEMS = 100  # of a transaction


@dataclass(frozen=True)
class WholePart:
    """A part with its specification, usages and vector reference."""

    part: d.Part
    spec: d.Spec | None
    vector: d.VectorReference | None
    usages: list[d.Usage]


class NewPart(NamedTuple):
    """A part to create, with its specification and usages."""

    part: d.Part
    spec: d.Spec | None = None
    usages: Sequence[d.Usage] = ()


class Parts(ServiceBase):
    _is_canonical = False

    def offer(self, part: d.Part, *, spec: d.Spec | None = None, usages: Sequence[d.Usage] = ()) -> d.Part:
        """Create a part with its seller entry, specification and usages, in one transaction."""
        return self.offer_many([NewPart(part, spec, usages)])[0]

    def offer_many(self, parts: Sequence[NewPart]) -> list[d.Part]:
        """Create several parts in one transaction, all or none; it has room for 100 items."""
        items = sum(2 + (each.spec is not None) + len(each.usages) for each in parts)
        if items > MAX_ITEMS:
            wrong = (
                f"with their specifications and usages they are {items} items; at most {MAX_ITEMS} fit in one request"
            )
            raise InvalidValue("Part", wrong, "parts")
        with self.db.transaction() as transaction:
            return [self._create(transaction, each) for each in parts]

    def _create(self, transaction: Transaction, new: NewPart) -> d.Part:
        category, condition = category_of(new.part.category), checked_condition(new.part.condition)
        part = replace(new.part, part_id=self.new_id("p"), category=category, condition=condition)
        created = transaction.create(part)
        transaction.create(seller_entry(created))
        if new.spec is not None:
            transaction.create(replace(new.spec, part_id=created.part_id))
        for usage in new.usages:
            transaction.create(replace(usage, part_id=created.part_id, usage_id=self.new_id("u")))
        return created

    def set_spec(self, part_id: str, spec: d.Spec) -> d.Spec:
        """Set the specification of a part, replacing an earlier one."""
        return self._with_seller_entry(part_id, lambda: self.db.put(replace(spec, part_id=part_id)))

    def add_usage(self, part_id: str, usage: d.Usage) -> d.Usage:
        usage = replace(usage, part_id=part_id, usage_id=self.new_id("u"))
        return self._with_seller_entry(part_id, lambda: self.db.create(usage))

    def set_vector(self, part_id: str, s3_key: str, embedding_model: str, dimension: int) -> d.VectorReference:
        """Set the reference to the vector of a part, after the object was stored."""
        reference = d.VectorReference(
            part_id=part_id,
            s3_key=s3_key,
            embedding_model=embedding_model,
            dimension=dimension,
            created_at=self.now(),
        )
        return self._with_seller_entry(part_id, lambda: self.db.put(reference))

    def set_category(self, part_id: str, category: str, *, when: Condition | None = None) -> d.Part:
        """Move a part to another category."""
        with self.db.change(d.part(part_id), when=when) as draft:
            draft.category = category_of(category)
        return self.db.one(d.part(part_id), consistent=True)

    def transfer(self, part_id: str, seller_id: str, *, by: str) -> d.Part:
        """Transfer a part from the seller `by` to another one."""

        def write() -> None:
            with self.db.transaction() as transaction:
                transaction.change(d.part(part_id), when=F.seller_id == by).seller_id = seller_id
                transaction.change(get(d.SellerEntry, part_id)).seller_id = seller_id

        self._with_seller_entry(part_id, write)
        return self.db.one(d.part(part_id), consistent=True)

    def withdraw(self, part_id: str, *, when: Condition | None = None) -> None:
        """Delete a part with its specification, usages and vector. An interrupted deletion can be repeated."""
        self.db.delete(d.part(part_id), when=when)

    def _with_seller_entry(self, part_id: str, write: Callable[[], R]) -> R:
        """Run `write`, which needs the seller entry of the part; raises NotFound if the part does not exist."""
        try:
            return create_entry_if_missing(
                self.db, d.part(part_id), seller_entry, lambda part: F.seller_id == part.seller_id, write
            )
        except ReferenceMissing:
            raise NotFound(d.Part.__name__, {"part_id": part_id}) from None

    def whole(self, part_id: str) -> WholePart | None:
        """A part with its specification, usages and vector reference, in one Query."""
        found = list(self.db(d.whole_part(part_id)))
        part = next(_of(d.Part, found), None)
        if part is None:
            return None
        spec, vector = next(_of(d.Spec, found), None), next(_of(d.VectorReference, found), None)
        return WholePart(part, spec, vector, list(_of(d.Usage, found)))

    def in_category(self, category: str, size: int = 20, cursor: str | None = None) -> Page[d.PartSummary]:
        """Parts of a category, newest first; any alias of the category works.

        Until adoption, other code may have stored parts under each alias: one Query for each.
        """
        known = category_of(category)
        if self._categories_are_canonical():
            return self.db(d.parts_in_category(known)).page(size, cursor)
        return self.db(d.parts_in_categories(stored_words(known))).page(size, cursor)

    def _categories_are_canonical(self) -> bool:
        """Whether adoption has finished; once it has, this is not read again."""
        self._is_canonical = self._is_canonical or self.db(d.adopted()) is not None
        return self._is_canonical

    def of_seller(self, seller_id: str, size: int = 20, cursor: str | None = None) -> Page[d.Part]:
        """Parts of a seller, newest first: one Query and one BatchGetItem per page."""
        page = self.db(d.parts_of_seller(seller_id)).page(size, cursor)
        return Page(self.existing([d.part(each.part_id) for each in page.items]), page.cursor)


def _of(kind: type[E], found: Iterable[object]) -> Iterator[E]:
    return (each for each in found if isinstance(each, kind))

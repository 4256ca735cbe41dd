"""Parts with their specification, usages and vector, and finding them by category and by seller."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from partita import Condition, F, NotFound, Page, ReferenceMissing, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.eecar.lookup_items import create_entry_if_missing, seller_entry
from partita_systems.service_base import ServiceBase

E = TypeVar("E")
R = TypeVar("R")


@dataclass(frozen=True)
class WholePart:
    """A part with its specification, usages and vector reference."""

    part: d.Part
    spec: d.Spec | None
    vector: d.VectorReference | None
    usages: list[d.Usage]


class Parts(ServiceBase):
    def offer(self, part: d.Part, *, spec: d.Spec | None = None, usages: Sequence[d.Usage] = ()) -> d.Part:
        """Create a part with its seller entry, specification and usages, in one transaction."""
        part = replace(part, part_id=self.new_id("p"), category=category_of(part.category))
        with self.db.transaction() as transaction:
            created = transaction.create(part)
            transaction.create(seller_entry(created))
            if spec is not None:
                transaction.create(replace(spec, part_id=created.part_id))
            for usage in usages:
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

    def set_category(self, part_id: str, category: str) -> None:
        """Move a part to another category."""
        with self.db.change(d.part(part_id)) as draft:
            draft.category = category_of(category)

    def transfer(self, part_id: str, seller_id: str) -> None:
        """Transfer a part to another seller."""

        def write() -> None:
            with self.db.transaction() as transaction:
                transaction.change(d.part(part_id)).seller_id = seller_id
                transaction.change(get(d.SellerEntry, part_id)).seller_id = seller_id

        self._with_seller_entry(part_id, write)

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
        """Parts of a category, newest first; any alias of the category works."""
        return self.db(d.parts_in_category(category_of(category))).page(size, cursor)

    def of_seller(self, seller_id: str, size: int = 20, cursor: str | None = None) -> Page[d.Part]:
        """Parts of a seller, newest first: one Query and one BatchGetItem per page."""
        page = self.db(d.parts_of_seller(seller_id)).page(size, cursor)
        return Page(self.existing([d.part(each.part_id) for each in page.items]), page.cursor)


def _of(kind: type[E], found: Iterable[object]) -> Iterator[E]:
    return (each for each in found if isinstance(each, kind))

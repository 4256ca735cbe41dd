"""Parts: listing them with all that is known, and finding them by category and by seller."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from partita import Condition, F, NotFound, Page, ReferenceMissing, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.eecar.lookup_items import beside, offered
from partita_systems.service_base import ServiceBase

E = TypeVar("E")
R = TypeVar("R")


@dataclass(frozen=True)
class WholePart:
    """A part with everything that is known of it."""

    part: d.Part
    spec: d.Spec | None
    vector: d.VectorReference | None
    usages: list[d.Usage]


class Parts(ServiceBase):
    def list_(self, part: d.Part, *, spec: d.Spec | None = None, usages: Sequence[d.Usage] = ()) -> d.Part:
        """A part, its seller's entry, what it is made of and what it is good for: all or nothing."""
        part = replace(part, part_id=self.new_id("p"), category=category_of(part.category))
        with self.db.transaction() as transaction:
            made = transaction.create(part)
            transaction.create(offered(made))
            if spec is not None:
                transaction.create(replace(spec, part_id=made.part_id))
            for usage in usages:
                transaction.create(replace(usage, part_id=made.part_id, usage_id=self.new_id("u")))
        return made

    def specify(self, part_id: str, spec: d.Spec) -> d.Spec:
        """What the part is made of, in place of what was known before."""
        return self._known(part_id, lambda: self.db.put(replace(spec, part_id=part_id)))

    def add_usage(self, part_id: str, usage: d.Usage) -> d.Usage:
        usage = replace(usage, part_id=part_id, usage_id=self.new_id("u"))
        return self._known(part_id, lambda: self.db.create(usage))

    def refer_to_vector(self, part_id: str, s3_key: str, embedding_model: str, dimension: int) -> d.VectorReference:
        """Say where the part's vector lies, once the object is there."""
        reference = d.VectorReference(
            part_id=part_id,
            s3_key=s3_key,
            embedding_model=embedding_model,
            dimension=dimension,
            created_at=self.now(),
        )
        return self._known(part_id, lambda: self.db.put(reference))

    def categorise(self, part_id: str, category: str) -> None:
        """The part belongs to another category."""
        with self.db.change(d.part(part_id)) as draft:
            draft.category = category_of(category)

    def hand_over(self, part_id: str, seller_id: str) -> None:
        """The part is another seller's from now on."""

        def write() -> None:
            with self.db.transaction() as transaction:
                transaction.change(d.part(part_id)).seller_id = seller_id
                transaction.change(get(d.Offered, part_id)).seller_id = seller_id

        self._known(part_id, write)

    def withdraw(self, part_id: str, *, when: Condition | None = None) -> None:
        """The part goes with all that is known of it, of which it gets no more. Interrupted, it is called again."""
        self.db.delete(d.part(part_id), when=when)

    def _known(self, part_id: str, write: Callable[[], R]) -> R:
        try:
            return beside(self.db, d.part(part_id), offered, lambda part: F.seller_id == part.seller_id, write)
        except ReferenceMissing:
            raise NotFound(d.Part.__name__, {"part_id": part_id}) from None

    def whole(self, part_id: str) -> WholePart | None:
        """One Query."""
        found = list(self.db(d.whole_part(part_id)))
        part = next(_of(d.Part, found), None)
        if part is None:
            return None
        spec, vector = next(_of(d.Spec, found), None), next(_of(d.VectorReference, found), None)
        return WholePart(part, spec, vector, list(_of(d.Usage, found)))

    def in_category(self, category: str, size: int = 20, cursor: str | None = None) -> Page[d.PartSummary]:
        """Newest first; the category by any of its words."""
        return self.db(d.parts_in_category(category_of(category))).page(size, cursor)

    def of_seller(self, seller_id: str, size: int = 20, cursor: str | None = None) -> Page[d.Part]:
        """Newest first: one Query and one BatchGetItem a page."""
        page = self.db(d.parts_of_seller(seller_id)).page(size, cursor)
        return Page(self.existing([d.part(each.part_id) for each in page.items]), page.cursor)


def _of(kind: type[E], found: Iterable[object]) -> Iterator[E]:
    return (each for each in found if isinstance(each, kind))

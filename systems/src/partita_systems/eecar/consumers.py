"""Reactions to changes of EECAR: parts are embedded, and cached matches become stale.

Watches (`watch_triggers`), their `deliveries` and rules (`compliance`) have consumers of their own, which are consumers
of the system, too.
"""

from hashlib import sha256

from partita import Change, Consumer, Created, Deleted, HandlerTransaction, Updated
from partita_systems.eecar import design as d
from partita_systems.eecar import ports
from partita_systems.eecar.categories import ANY, Category
from partita_systems.eecar.compliance import compliance
from partita_systems.eecar.deliveries import deliveries
from partita_systems.eecar.lookup_items import seller_entry
from partita_systems.eecar.part_texts import part_text, vector_bytes
from partita_systems.eecar.watch_triggers import watches

__all__ = ["catalogue", "compliance", "deliveries", "vectors", "watches"]

vectors = Consumer("eecar-vectors", start="scan")
catalogue = Consumer("eecar-catalogue")

VECTOR_FIELDS = ("s3_key", "embedding_model", "dimension", "created_at", "embedding", "category", "condition")


@vectors.on(d.Part, d.Spec, d.Usage)
def embed_part(change: Change[d.Part] | Change[d.Spec] | Change[d.Usage], t: HandlerTransaction) -> None:
    """A part has the vector of what it is now: the object first, the VECTOR item last."""
    part_id = (change.before if isinstance(change, Deleted) else change.after).part_id
    found = t.find(d.whole_part(part_id))
    part = next((each for each in found if isinstance(each, d.Part)), None)
    if part is None:
        return
    spec = next((each for each in found if isinstance(each, d.Spec)), None)
    stored = t.get(d.vector(part_id))
    text = part_text(part, spec, [each for each in found if isinstance(each, d.Usage)])
    embedding = ports.embedder().embed_one(text)
    data = vector_bytes(embedding.vector)
    if stored is not None and stored.embedding is not None:
        meaning = stored.embedding_model, stored.category, stored.condition, vector_bytes(stored.embedding)
        if meaning == (embedding.model, part.category, part.condition, data):
            return
    if not any(isinstance(each, d.SellerEntry) for each in found):
        t.create(seller_entry(part))
    key = f"vectors/{part_id}/{sha256(change.id.encode()).hexdigest()[:16]}.f32"
    ports.objects().put(key, data)
    reference = d.VectorReference(
        part_id=part_id,
        s3_key=key,
        embedding_model=embedding.model,
        dimension=len(embedding.vector),
        created_at=change.at,
        embedding=list(embedding.vector),
        category=part.category,
        condition=part.condition,
    )
    if stored is None:
        t.create(reference)
        return
    draft = t.change(d.vector(part_id))
    for name in VECTOR_FIELDS:
        setattr(draft, name, getattr(reference, name))


@vectors.on(d.VectorReference)
def delete_archived(change: Change[d.VectorReference], t: HandlerTransaction) -> None:
    """An object whose reference is gone or names another one is deleted."""
    if isinstance(change, Created):
        return
    if isinstance(change, Updated) and change.after.s3_key == change.before.s3_key:
        return
    ports.objects().delete(change.before.s3_key)


@catalogue.on(d.Part)
def part_changed(change: Change[d.Part], t: HandlerTransaction) -> None:
    """The category of a part has changed, before and after a move."""
    images = [getattr(change, name) for name in ("before", "after") if hasattr(change, name)]
    _advance(t, {image.category for image in images})


@catalogue.on(d.Spec)
def spec_changed(change: Change[d.Spec], t: HandlerTransaction) -> None:
    """Conditions on measures may have another outcome."""
    part_id = (change.before if isinstance(change, Deleted) else change.after).part_id
    _advance(t, {each.category for each in t.find(d.whole_part(part_id), 1, fenced=False) if isinstance(each, d.Part)})


@catalogue.on(d.VectorReference)
def vector_changed(change: Change[d.VectorReference], t: HandlerTransaction) -> None:
    """A part can be found, or no longer: only now a search has another result."""
    images = [getattr(change, name) for name in ("before", "after") if hasattr(change, name)]
    _advance(t, {image.category for image in images if image.category is not None})


def _advance(t: HandlerTransaction, categories: set[Category]) -> None:
    if not categories:
        return
    for category in sorted(categories, key=lambda each: each.value):
        t.change(d.catalogue(category), create=True).version += 1
    everywhere = t.change(d.catalogue(ANY), create=True)
    everywhere.version += 1
    known = t.get(d.catalogue(ANY))
    listed = [] if known is None else known.categories
    if new := [each for each in categories if each not in list(Category) and each not in listed]:
        everywhere.categories = [*listed, *sorted(new, key=lambda each: each.value)]

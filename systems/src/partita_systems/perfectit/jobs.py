"""Jobs of PerfectIt: entries of cards that were removed are swept out of collections."""

from contextlib import suppress

from partita import ConditionFailed, F, Jobs, NotFound, Store
from partita_systems.perfectit import design as d

BATCH = 100

jobs = Jobs("perfectit")


@jobs.cron("30 3 * * *")
def sweep_collections(db: Store) -> None:
    """Delete the entries of cards that do not exist any more."""
    batch: list[d.CardInCollection] = []
    for entry in db.scan(d.CardInCollection):
        batch.append(entry)
        if len(batch) == BATCH:
            _sweep(db, batch)
            batch = []
    _sweep(db, batch)


def _sweep(db: Store, entries: list[d.CardInCollection]) -> None:
    cards = db.get_many([d.card(each.card_id) for each in entries], consistent=True)
    for entry, card in zip(entries, cards, strict=True):
        if card is None:
            with suppress(NotFound, ConditionFailed):  # it was taken out meanwhile
                db.delete(entry, when=F.created_at == entry.created_at)

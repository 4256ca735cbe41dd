"""A design with all settings that a restore leaves out."""

from partita import Entity, Index, Item, Keys, Table, pattern, prove

ledger = Table(
    "ledger", "PK", "SK", (Index("GSI1", "GSI1PK", "GSI1SK"),), ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=7
)


class Entry(Entity, table=ledger, key=("ENTRY#{entry_id}", "ENTRY")):
    entry_id: str
    amount: int

    by_amount = Keys("GSI1", "ENTRIES", "{amount:+10}")


@pattern
def entry(entry_id: str) -> Item[Entry]: ...


design = prove("ledger", ledger)

"""What adoption has reached."""

from datetime import datetime

from partita import Entity, Item, pattern
from partita_systems.eecar.design.table import table


class Adopted(Entity, table=table, key=("ADOPTED", "CATEGORIES")):
    """Exists once all stored categories are canonical: from then on a category is one partition."""

    at: datetime


@pattern
def adopted() -> Item[Adopted]: ...

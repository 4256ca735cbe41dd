"""What the design of EECAR cannot say, by subject: `eecar.parts`, `eecar.needs`, `eecar.watches`, …

Entities are handed in as callers know them; the service gives them ids and the one word for their category.
"""

from partita import Store, new_id
from partita_systems.eecar.matches import Matches
from partita_systems.eecar.needs import Needs
from partita_systems.eecar.notifications import Notifications
from partita_systems.eecar.parts import Parts
from partita_systems.eecar.proposals import Proposals
from partita_systems.eecar.watches import Watches
from partita_systems.service_base import MakeId


class Eecar:
    """The service on a store; the clock is the store's own."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        self.db = db
        self.parts = Parts(db, make_id)
        self.needs = Needs(db, make_id)
        self.matches = Matches(db, make_id)
        self.watches = Watches(db, make_id)
        self.proposals = Proposals(db, make_id)
        self.notifications = Notifications(db, make_id)

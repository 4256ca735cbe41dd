"""The EECAR service, by subject: `eecar.parts`, `eecar.needs`, `eecar.watches`, ...

Callers pass entities without ids; the service assigns ids and canonical categories.
"""

from partita import Store, new_id
from partita_systems.eecar.matches import Matches
from partita_systems.eecar.matching import Matching
from partita_systems.eecar.needs import Needs
from partita_systems.eecar.notifications import Notifications
from partita_systems.eecar.parts import Parts
from partita_systems.eecar.proposals import Proposals
from partita_systems.eecar.watches import Watches
from partita_systems.service_base import MakeId


class Eecar:
    """One service for each subject, on one store."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        self.db = db
        self.parts = Parts(db, make_id)
        self.needs = Needs(db, make_id)
        self.matches = Matches(db, make_id)
        self.matching = Matching(db, make_id, self.matches)
        self.watches = Watches(db, make_id)
        self.proposals = Proposals(db, make_id)
        self.notifications = Notifications(db, make_id)

"""Access rules of PerfectIt, beside `caller_is` for the users that a path names."""

from partita.rest import group, owned_by, public_if
from partita_systems.perfectit import design as d

admin = group("admin")
machines = group("machine") | admin  # the consumers of the stream
author = owned_by("author_id")
published = public_if("a published card", lambda card: card.status == d.CardStatus.PUBLISHED)

"""Who may do what over HTTP, beside those whom a path or a thing itself names."""

from partita.rest import group, owner, shown
from partita_systems.perfectit import design as d

admin = group("admin")
machines = group("machine") | admin  # the consumers of the stream
author = owner("author_id")
published = shown("a published card", lambda card: card.status == d.CardStatus.PUBLISHED)

"""What a client may ask for beside the items of a list: `?include=author,ownVote`."""

from partita.rest import CALLER, Related
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import author, published

AUTHOR = Related("author", d.user, ("user_id", "username", "display_name", "avatar_url"), user_id="author_id")
ON_CARDS = (AUTHOR, Related("ownVote", d.vote, ("vote_type",), user_id=CALLER, target_id="card_id"))
CARD = Related("card", d.card, ("card_id", "title", "status"), who=published | author, card_id="card_id")
ACTOR = Related("actor", d.user, ("user_id", "username", "display_name", "avatar_url"), user_id="actor_id")
ON_COMMENTS = (AUTHOR, Related("ownVote", d.vote, ("vote_type",), user_id=CALLER, target_id="comment_id"))

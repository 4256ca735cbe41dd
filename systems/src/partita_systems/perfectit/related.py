"""What a client may ask for beside the items of a list: `?include=author,ownVote`."""

from partita.rest import CALLER, Related
from partita_systems.perfectit import design as d

AUTHOR = Related("author", d.user, ("user_id", "username", "display_name", "avatar_url"), user_id="author_id")
ON_CARDS = (AUTHOR, Related("ownVote", d.vote, ("vote_type",), user_id=CALLER, target_id="card_id"))
ON_COMMENTS = (AUTHOR, Related("ownVote", d.vote, ("vote_type",), user_id=CALLER, target_id="comment_id"))

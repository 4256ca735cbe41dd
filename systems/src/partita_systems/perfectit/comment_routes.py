"""API routes of comments and votes."""

from msgspec import UNSET

from partita.rest import Api, Caller, IfMatch, caller_is, signed_in
from partita_systems.perfectit import bodies as b
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import admin, author
from partita_systems.perfectit.comment_keys import CreatedAtParameter, key_time
from partita_systems.perfectit.related import ON_COMMENTS
from partita_systems.perfectit.service import PerfectIt
from partita_systems.perfectit.votes import VoteState

COMMENTS = "/cards/{card_id}/comments"
COMMENT = COMMENTS + "/{comment_id}"
VOTE = "/cards/{card_id}/votes/{user_id}"
VOTE_ON_COMMENT = COMMENT + "/votes/{user_id}"


def declare(api: Api[PerfectIt]) -> None:
    """Add these routes to the API."""
    api.expose_list(COMMENTS, d.comments_of_card, include=ON_COMMENTS)
    api.get(COMMENT)(comment)
    api.patch(COMMENT, who=author, on=comment)(change_comment)
    api.post(COMMENTS, who=signed_in, location=COMMENT)(add_comment)
    api.delete(COMMENT, who=author | admin, on=comment)(remove_comment)
    api.expose_list("/cards/{target_id}/votes", d.votes_of_target, who=admin)
    api.expose_get("/users/{user_id}/votes/{target_id}", d.vote, who=caller_is("user_id") | admin)
    api.put(VOTE, who=caller_is("user_id"))(cast_vote)
    api.delete(VOTE, who=caller_is("user_id"))(withdraw_vote)
    api.put(VOTE_ON_COMMENT, who=caller_is("user_id"))(vote_on_comment)
    api.delete(VOTE_ON_COMMENT, who=caller_is("user_id"))(withdraw_vote_on_comment)


# Comments


def comment(service: PerfectIt, card_id: str, comment_id: str, created_at: CreatedAtParameter = None) -> d.Comment:
    """Get a comment."""
    with key_time(comment_id, created_at) as at:
        return service.find_comment(card_id, at, comment_id)


def change_comment(
    service: PerfectIt,
    card_id: str,
    comment_id: str,
    change: b.ChangedComment,
    match: IfMatch,
    created_at: CreatedAtParameter = None,
) -> d.Comment:
    """Change the text of a comment."""

    def edit(found: d.Comment) -> None:
        match.check(found)
        if change.text is not UNSET:
            found.text = change.text

    with key_time(comment_id, created_at) as at:
        return service.db.update(d.comment(card_id, at, comment_id), edit)


def add_comment(service: PerfectIt, caller: Caller, card_id: str, new: b.NewComment) -> d.Comment:
    """Comment on a published card."""
    return service.comment(caller.name, card_id, new.text)


def remove_comment(
    service: PerfectIt, card_id: str, comment_id: str, match: IfMatch, created_at: CreatedAtParameter = None
) -> None:
    """Delete a comment with its votes."""
    with key_time(comment_id, created_at) as at:
        found = service.db.update(d.comment(card_id, at, comment_id), lambda comment: None)
        service.remove_comment(card_id, at, comment_id, when=match.when(found))


# Votes


def cast_vote(service: PerfectIt, card_id: str, user_id: str, new: b.NewVote) -> VoteState:
    """Vote on a card, or change the vote; answers with the new score."""
    return service.votes.on_card(user_id, card_id, new.vote_type)


def withdraw_vote(service: PerfectIt, card_id: str, user_id: str) -> VoteState:
    """Withdraw a vote on a card; answers with the new score."""
    return service.votes.on_card(user_id, card_id, None)


def vote_on_comment(
    service: PerfectIt,
    card_id: str,
    comment_id: str,
    user_id: str,
    new: b.NewVote,
    created_at: CreatedAtParameter = None,
) -> VoteState:
    """Vote on a comment, or change the vote; answers with the new score."""
    with key_time(comment_id, created_at) as at:
        return service.votes.on_comment(user_id, card_id, at, comment_id, new.vote_type)


def withdraw_vote_on_comment(
    service: PerfectIt, card_id: str, comment_id: str, user_id: str, created_at: CreatedAtParameter = None
) -> VoteState:
    """Withdraw a vote on a comment; answers with the new score."""
    with key_time(comment_id, created_at) as at:
        return service.votes.on_comment(user_id, card_id, at, comment_id, None)

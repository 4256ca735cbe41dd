"""Lists that carry what they show: related entities on demand, and several entities by their ids."""

import pytest

from partita.errors import DesignError
from partita.rest import Related
from partita_systems.perfectit import design as d
from tests.rest.client import Client

TOP = "/perfectit/cards/top"


@pytest.fixture
def ids(five: Client) -> list[str]:
    return [each["cardId"] for each in five.get(f"{TOP}?limit=5").json["items"]]


def test_authors_and_own_votes_are_added_on_demand(five: Client, ids: list[str]) -> None:
    author = five.get(f"/perfectit/cards/{ids[0]}").json["authorId"]
    me = five.by(author)
    voted = me.put(f"/perfectit/cards/{ids[0]}/votes/{author}", {"voteType": "DOWN"})
    assert voted.status in (200, 204)
    listed = {each["cardId"]: each for each in me.get(f"{TOP}?limit=50&include=author,ownVote").json["items"]}
    mine = listed[ids[0]]
    assert mine["author"] == {
        name: me.get(f"/perfectit/users/{author}").json[name]
        for name in ("userId", "username", "displayName", "avatarUrl")
    }
    assert mine["ownVote"] == {"voteType": "DOWN"}
    assert {each["ownVote"]["voteType"] for each in listed.values() if each["ownVote"] is not None} <= {"UP", "DOWN"}


def test_own_votes_of_another_caller_are_not_in_a_cached_reply(five: Client, ids: list[str]) -> None:
    path = f"{TOP}?limit=50&include=ownVote"
    for _ in range(3):
        reply = five.get(path)
        assert {str(each["ownVote"]) for each in reply.json["items"]} == {"None"}
        assert reply.headers["cache-control"] == "private, no-cache"
        assert {str(each["ownVote"]) for each in five.by("u_nobody").get(path).json["items"]} == {"None"}


def test_list_without_include_is_unchanged(five: Client) -> None:
    plain = five.get(f"{TOP}?limit=3").json["items"]
    included = five.get(f"{TOP}?limit=3&include=author").json["items"]
    assert [{name: each[name] for name in each if name != "author"} for each in included] == plain
    assert "author" not in plain[0]


def test_unknown_include_is_rejected(five: Client) -> None:
    rejected = five.get(f"{TOP}?include=author,wings")
    assert (rejected.status, rejected.json["field"]) == (422, "include")
    assert rejected.json["detail"] == "include: 'wings' is not one of author, ownVote"


def test_thread_of_comments_and_replies_has_its_authors(five: Client) -> None:
    roots = [each["categoryId"] for each in five.get("/blog/categories").json["items"]]
    lists = [five.get(f"/blog/categories/{root}/subcategories").json["items"] for root in roots]
    below = [each["categoryId"] for listed in lists for each in listed]
    pages = [five.get(f"/blog/categories/{each}/posts?include=author").json["items"] for each in below]
    posts = [each for page in pages for each in page]
    assert {each["author"]["cognitoSub"] == each["authorId"] for each in posts} == {True}
    busiest = max(posts, key=lambda each: each["commentCount"])["postId"]
    thread = five.get(f"/blog/posts/{busiest}/comments?include=author").json["items"]
    authors = [(each["author"]["cognitoSub"], each["authorId"]) for each in thread if each["author"] is not None]
    assert authors
    assert all(shown == wanted for shown, wanted in authors)


def test_entities_are_read_by_their_ids_in_order(five: Client, ids: list[str]) -> None:
    wanted = [ids[2], "c_nowhere", ids[0], ids[2]]
    found = five.get(f"/perfectit/cards/by-id?ids={','.join(wanted)}").json
    assert [each["cardId"] for each in found["items"]] == [ids[2], ids[0]]
    assert found["missing"] == ["c_nowhere"]


def test_hidden_entity_is_missing_from_a_batch(five: Client, ids: list[str]) -> None:
    author = five.get(f"/perfectit/cards/{ids[0]}").json["authorId"]
    draft = five.by(author).post("/perfectit/cards", {"title": "Secret"}).json["cardId"]
    path = f"/perfectit/cards/by-id?ids={draft}"
    assert five.get(path).json == {"items": [], "missing": [draft]}
    assert five.by(author).get(path).json["missing"] == []


@pytest.mark.parametrize("ids", ["", ",", ",".join(f"c_{number}" for number in range(101))])
def test_number_of_ids_is_bounded(five: Client, ids: str) -> None:
    rejected = five.get(f"/perfectit/cards/by-id?ids={ids}")
    assert (rejected.status, rejected.json["field"]) == (422, "ids")


def test_related_entity_needs_every_argument_of_its_pattern() -> None:
    with pytest.raises(DesignError, match="the pattern vote has the arguments user_id, target_id"):
        Related("vote", d.vote, target_id="card_id")

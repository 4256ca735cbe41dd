"""Lists that carry what they show: related entities on demand, and several entities by their ids."""

import pytest

from partita.errors import DesignError
from partita.rest import Related
from partita_systems.perfectit import design as d
from tests.rest.client import Client

TOP = "/perfectit/cards/top"
PART = {
    "name": "모터",
    "category": "motor",
    "manufacturer": "기아",
    "model": "EV6",
    "year": 2023,
    "condition": "used",
    "price": 1_000,
    "quantity": 1,
}


@pytest.fixture
def eecar(five: Client) -> Client:
    return five.at("/api/eecar")


@pytest.fixture
def ids(five: Client) -> list[str]:
    return [each["cardId"] for each in five.get(f"{TOP}?limit=5").json["items"]]


def test_authors_and_own_votes_are_added_on_demand(five: Client, ids: list[str]) -> None:
    author = five.get(f"/perfectit/cards/{ids[0]}").json["authorId"]
    me = five.by(author)
    voted = me.put(f"/perfectit/cards/{ids[0]}/votes/{author}", {"voteType": "UP"})  # it stays at the top
    assert voted.status in (200, 204)
    listed = {each["cardId"]: each for each in me.get(f"{TOP}?limit=50&include=author,ownVote").json["items"]}
    mine = listed[ids[0]]
    assert mine["author"] == {
        name: me.get(f"/perfectit/users/{author}").json[name]
        for name in ("userId", "username", "displayName", "avatarUrl")
    }
    assert mine["ownVote"] == {"voteType": "UP"}
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
    posts = [each for page in pages for each in page if each["author"] is not None]  # other tests write without one
    assert {each["author"]["userId"] == each["authorId"] for each in posts} == {True}
    busiest = max(posts, key=lambda each: each["commentCount"])["postId"]
    thread = five.get(f"/blog/posts/{busiest}/comments?include=author").json["items"]
    authors = [(each["author"]["userId"], each["authorId"]) for each in thread if each["author"] is not None]
    assert authors
    assert all(shown == wanted for shown, wanted in authors)


def test_proposals_carry_summaries_of_their_parts(eecar: Client) -> None:
    seller, buyer = eecar.by("c_seller"), eecar.by("c_buyer")
    parts = [seller.post("/parts", PART | {"name": name}).json["partId"] for name in ("모터 하나", "모터 둘")]
    offer = {"toCompanyId": "c_seller", "partIds": parts, "proposalType": "buy", "quantity": 1, "priceOffer": 1}
    assert buyer.post("/proposals", offer).status == 201
    (received,) = seller.get("/companies/c_seller/received-proposals?include=parts").json["items"]
    assert [each["name"] for each in received["parts"]] == ["모터 하나", "모터 둘"]
    assert "description" not in received["parts"][0]
    assert seller.delete(f"/parts/{parts[0]}").status == 204
    (sent,) = buyer.get("/companies/c_buyer/sent-proposals?include=parts").json["items"]
    assert [each["partId"] for each in sent["parts"]] == parts[1:]
    assert eecar.get(f"/parts/by-id?ids={','.join(parts)}").json["missing"] == parts[:1]


def test_number_of_related_entities_is_bounded(eecar: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.related.MOST_RELATED", 1)
    seller, buyer = eecar.by("c_maker"), eecar.by("c_taker")
    parts = [seller.post("/parts", PART).json["partId"] for _ in range(2)]
    offer = {"toCompanyId": "c_maker", "partIds": parts, "proposalType": "buy", "quantity": 1, "priceOffer": 1}
    buyer.post("/proposals", offer)
    rejected = buyer.get("/companies/c_taker/sent-proposals?include=parts")
    assert (rejected.status, rejected.json["field"]) == (422, "include")
    assert rejected.json["detail"] == "include: the page has 2 different parts; ask for fewer items with limit"


def test_triggers_of_a_watch_carry_their_parts(eecar: Client) -> None:
    buyer, machine = eecar.by("c_watcher"), eecar.by("m", "machine")
    part = eecar.by("c_seller").post("/parts", PART).json["partId"]
    watch = buyer.post("/watches", {"email": "a@example.com", "criteria": {}}).json["watchId"]
    machine.put(f"/watches/{watch}/triggers/{part}", {"matchScore": 0.5})
    (trigger,) = buyer.get(f"/watches/{watch}/triggers?include=part").json["items"]
    assert trigger["part"]["name"] == PART["name"]


def test_categories_of_parts_are_listed_with_their_words(eecar: Client) -> None:
    listed = {each["category"]: each["aliases"] for each in eecar.get("/categories").json["items"]}
    assert "battery" in listed["배터리"]
    for path in ("/categories", "/categories/battery/parts"):
        assert eecar.get(path).headers["cache-control"] == "public, max-age=10"


def test_checks_of_a_type_carry_their_details_and_users(five: Client) -> None:
    admin = five.by("boss", "admin").at("/api/checks")
    path = "/types/AVAILABILITY/ACTIVE/checks?limit=2&include=details,user"
    for each in admin.get(path).json["items"]:
        check = admin.get(f"/checks/{each['checkId']}").json
        assert each["details"] == {name: check[name] for name in each["details"]}
        assert each["details"]["url"].startswith("https://")
        assert "@" in each["user"]["email"]


def test_batch_of_checks_has_only_those_that_the_caller_may_see(five: Client) -> None:
    admin = five.by("boss", "admin").at("/api/checks")
    listed = admin.get("/types/AVAILABILITY/ACTIVE/checks?limit=50").json["items"]
    one, other, *_ = {each["userId"]: each for each in listed}.values()
    ids = f"{one['checkId']},{other['checkId']},c_nowhere"
    assert admin.get(f"/checks/by-id?ids={ids}").json["missing"] == ["c_nowhere"]
    own = five.by(one["userId"]).at("/api/checks").get(f"/checks/by-id?ids={ids}").json
    assert {each["userId"] for each in own["items"]} == {one["userId"]}


def test_related_entity_that_the_caller_may_not_see_is_null(five: Client, ids: list[str]) -> None:
    blog = five.at("/api/blog")
    author, reader = blog.by("sub-w", "AUTHOR"), blog.by("sub-r")
    author.post("/users", {"name": "W"})
    reader.post("/users", {"name": "R"})
    root = blog.get("/categories").json["items"][0]["categoryId"]
    below = blog.get(f"/categories/{root}/subcategories").json["items"][0]["categoryId"]
    post = author.post("/posts", {"title": "Novo", "content": "x", "subcategoryId": below}).json["postId"]
    author.put(f"/posts/{post}/publication")
    reader.put(f"/users/sub-r/bookmarks/{post}")
    listed = "/users/sub-r/bookmarks?include=post"
    assert reader.get(listed).json["items"][0]["post"]["title"] == "Novo"
    author.delete(f"/posts/{post}/publication")
    assert reader.get(listed).json["items"][0]["post"] is None
    assert reader.get(f"/posts/by-id?ids={post}").json["missing"] == [post]
    assert author.get(f"/posts/by-id?ids={post}").json["items"][0]["postId"] == post


def test_own_likes_are_added_to_posts(five: Client) -> None:
    blog = five.at("/api/blog")
    reader = blog.by("sub-fan")
    reader.post("/users", {"name": "Fan"})
    root = blog.get("/categories").json["items"][0]["categoryId"]
    path = f"/categories/{root}/all-posts?include=author,ownLike&limit=3"
    first = reader.get(path).json["items"][0]
    assert first["ownLike"] is None
    reader.put(f"/posts/{first['postId']}/likes/sub-fan")
    assert reader.get(path).json["items"][0]["ownLike"] is not None
    assert blog.get(path).json["items"][0]["ownLike"] is None


def test_memberships_carry_their_neighborhoods(five: Client) -> None:
    nbhd = five.at("/api/nbhd")
    did = "did:plc:related"
    me = nbhd.by(did)
    me.post("/users", {"bluesky_handle": "related.bsky.social", "display_name": "R"})
    place = me.post("/neighborhoods", {"name": "Related Street", "privacy": "private"}).json["neighborhood_id"]
    (membership,) = me.get(f"/users/{did}/memberships?include=neighborhood").json["items"]
    assert membership["neighborhood"]["name"] == "Related Street"
    assert nbhd.get(f"/neighborhoods/by-id?ids={place}").json["missing"] == [place]


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

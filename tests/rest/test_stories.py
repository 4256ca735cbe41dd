"""A story for each system, over HTTP."""

from itertools import count
from typing import Any

from tests.rest.client import Client, Request, Response

_numbers = count(1)


def _done(reply: Response, status: int) -> Any:
    assert reply.status == status, reply.body
    return reply.json if reply.body else None


def _below(client: Client, reply: Response) -> str:
    """The path of the created entity, below that of the system."""
    assert reply.status == 201, reply.body
    return reply.headers["location"].removeprefix(client.root)


def _anyone(five: Client, name: str) -> str:
    return f"did:plc:{name}{next(_numbers)}"


def test_perfectit_card_from_draft_to_collection(five: Client) -> None:
    guest = five.at("/api/perfectit")
    ana_id, bob_id = _anyone(five, "ana"), _anyone(five, "bob")
    ana, bob, admin = guest.by(ana_id), guest.by(bob_id), guest.by("root", "admin")
    for who, name in ((ana, f"ana.{next(_numbers)}"), (bob, f"박.{next(_numbers)}")):
        assert who.get(_below(guest, who.post("/users", {"username": name, "displayName": "👩‍🍳 Ana"}))).status == 200
    assert guest.get(f"/usernames/{name.upper()}").json["userId"] == bob_id
    category = f"kitchen-{next(_numbers)}"
    _done(admin.post("/categories", {"categoryId": category, "name": "Küche"}), 201)

    place = _below(guest, ana.post("/cards", {"title": "김치를 완벽하게", "tags": ["발효"]}))
    rejected = ana.put(place + "/publication")
    assert (rejected.status, rejected.json["field"]) == (422, "category")
    changed = ana.patch(
        place, {"category": category, "instructions": ["절인다", "기다린다"]}, if_match=ana.get(place).tag
    )
    assert _done(changed, 200)["instructions"] == ["절인다", "기다린다"]
    assert len(ana.get(f"/users/{ana_id}/drafts").json["items"]) == 1
    _done(ana.put(place + "/publication"), 200)
    assert guest.get(f"/categories/{category}/cards").json["items"][0]["title"] == "김치를 완벽하게"
    assert guest.get("/cards/search?text=김치를").json["items"][0]["authorId"] == ana_id

    for vote in ("UP", "UP", "DOWN", "UP"):
        _done(bob.put(f"{place}/votes/{bob_id}", {"voteType": vote}), 200)
    assert guest.get(place).json["voteScore"] == 1
    comment = _below(guest, bob.post(place + "/comments", {"text": "Worked at once 👍"}))
    assert bob.get(comment).json["text"] == "Worked at once 👍"
    _done(ana.put(f"{comment}/votes/{ana_id}", {"voteType": "UP"}), 200)
    assert guest.get(place + "/comments").json["items"][0]["voteScore"] == 1

    collection = _below(guest, bob.post(f"/users/{bob_id}/collections", {"name": "나중에"}))
    _done(bob.put(f"{collection}/cards{place.removeprefix('/cards')}"), 200)
    kept = f"/collections/{collection.rpartition('/')[2]}/cards"
    assert [each["title"] for each in guest.get(kept).json["items"]] == ["김치를 완벽하게"]

    assert ana.delete(place, if_match=changed.tag).status == 412
    _done(ana.delete(place, if_match=ana.get(place).tag), 204)
    assert (guest.get(place).status, guest.get(kept).json["items"]) == (404, [])


def test_checks_limit_is_enforced_until_an_admin_raises_it(five: Client) -> None:
    guest = five.at("/api/checks")
    me = _anyone(five, "eva")
    eva, admin = guest.by(me), guest.by("root", "admin")
    check = {"url": "https://example.com/상태?q=é", "checkType": "AVAILABILITY", "delayMs": 60_000}
    unknown = eva.post("/checks", check)
    assert (unknown.status, unknown.json["type"]) == (403, "urn:partita:problem:not-registered")
    assert unknown.json["detail"].endswith("does not exist; register with POST /users first")
    email = f"eva{next(_numbers)}@example.com"
    user = _below(guest, eva.post("/users", {"email": email}))
    taken = guest.by(_anyone(five, "x")).post("/users", {"email": email.upper()})
    assert (taken.status, taken.json["field"]) == (409, "email")
    replies = eva.concurrently([Request("POST", "/checks", check)] * 9)
    assert sorted(each.status for each in replies) == [201] * 5 + [409] * 4
    assert eva.get(user).json["checkCount"] == 5
    assert eva.put(user + "/allowance", {"checkLimit": 50, "tier": "PRO"}).status == 403
    _done(admin.put(user + "/allowance", {"checkLimit": 6, "tier": "PRO"}), 200)
    made = _below(guest, eva.post("/checks", check))
    _done(eva.post(made + "/pause"), 200)
    assert eva.get(made).json["status"] == "PAUSED"
    wrong = eva.patch(made, {"attributes": {"maxPrice": "5"}})
    assert (wrong.status, wrong.json["field"]) == (422, "attributes.maxPrice")
    uptime = eva.get(made + "/uptime?days=3").json
    assert [uptime[name] for name in ("runs", "share", "meanMs", "whole")] == [0, None, None, True]
    assert len(eva.get(f"{user}/checks?limit=4").json["items"]) == 4
    assert admin.get(f"/users?email={email}").json["userId"] == me
    _done(eva.delete(made), 204)
    assert eva.get(user).json["checkCount"] == 5


def test_eecar_part_from_offer_to_accepted_proposal(five: Client) -> None:
    guest = five.at("/api/eecar")
    seller_id, buyer_id = _anyone(five, "s"), _anyone(five, "b")
    seller, buyer = guest.by(seller_id), guest.by(buyer_id)
    part = {
        "name": "고전압 배터리 팩 🔋",
        "category": "Battery",
        "manufacturer": "현대",
        "model": "아이오닉 5",
        "year": 2023,
        "condition": "중고",
        "price": 4_500_000,
        "quantity": 2,
        "spec": {"weight": 430.5, "electricalProps": {"voltage": 697}},
        "usages": [{"industry": "ESS", "application": "태양광 저장"}],
    }
    place = _below(guest, seller.post("/parts", part))
    whole = guest.get(place + "/whole").json
    assert (whole["part"]["category"], whole["spec"]["weight"], len(whole["usages"])) == ("배터리", 430.5, 1)
    for word in ("battery", "배터리", "밧데리"):
        assert guest.get(f"/categories/{word}/parts?limit=1").json["items"][0]["name"] == part["name"]
    assert guest.get(f"/sellers/{seller_id}/parts").json["items"][0]["sellerId"] == seller_id
    wrong = seller.post("/parts", {**part, "year": 1800})
    assert (wrong.status, wrong.json["field"]) == (422, "year")

    watch = _below(guest, buyer.post("/watches", {"criteria": {"category": "모터"}, "email": "b@example.com"}))
    assert buyer.get(f"/buyers/{buyer_id}/watches?status=active").json["items"][0]["criteria"]["category"] == "모터"
    assert buyer.get(watch + "/triggers").json["items"] == []
    need = {
        "companyName": "한빛",
        "industry": "ESS",
        "requiredSpecs": {"category": "battery"},
        "targetApplication": "저장",
        "priority": "high",
    }
    made = _below(guest, buyer.post(f"/companies/{buyer_id}/needs", need))
    assert buyer.get(made).json["requiredSpecs"]["category"] == "배터리"
    _done(buyer.post(made + "/fulfilment"), 200)
    assert buyer.post(made + "/cancellation").status == 409

    offer = {
        "toCompanyId": seller_id,
        "partIds": [place.rpartition("/")[2]],
        "proposalType": "buy",
        "quantity": 1,
        "priceOffer": 4_000_000,
    }
    proposal = _below(guest, buyer.post("/proposals", offer))
    notifications = seller.get(f"/recipients/{seller_id}/notifications").json["items"]
    assert notifications[0]["type"] == "proposal_received"
    answers = [
        Request("POST", proposal + "/answer", {"answer": each, "version": 1}) for each in ("accepted", "rejected")
    ]
    assert sorted(each.status for each in seller.concurrently(answers)) in ([200, 409], [200, 412])
    assert buyer.get(f"/companies/{buyer_id}/sent-proposals?status=pending").json["items"] == []


def test_blog_post_from_draft_to_comments(five: Client) -> None:
    guest = five.at("/api/blog")
    ids = [_anyone(five, name) for name in ("ana", "rui", "eva")]
    ana, rui, editor = guest.by(ids[0], "AUTHOR"), guest.by(ids[1]), guest.by(ids[2], "EDITOR")
    _done(ana.post("/users", {"name": "Conceição Araújo"}), 201)
    _done(rui.post("/users", {"name": "Rui"}), 201)
    assert ana.get(f"/users/{ids[0]}").json["role"] == "AUTHOR"
    root = _done(editor.post("/categories", {"name": "Música"}), 201)["categoryId"]
    below = _done(editor.post("/categories", {"name": "Choro", "parentId": root}), 201)["categoryId"]
    assert rui.post("/posts", {"title": "Não posso", "content": "…"}).status == 403

    post = _below(guest, ana.post("/posts", {"title": "Coração de estudante", "content": "Era uma vez… 🎶"}))
    rejected = ana.put(post + "/publication")
    assert (rejected.status, rejected.json["field"]) == (422, "subcategoryId")
    missing = ana.patch(post, {"subcategoryId": "k_nowhere"})
    assert (missing.status, missing.json["field"]) == (422, "subcategoryId")
    _done(ana.patch(post, {"subcategoryId": below, "tags": ["crônica"]}, if_match=ana.get(post).tag), 200)
    assert guest.by(ids[0]).put(post + "/publication").status == 403  # the token no longer says AUTHOR
    assert _done(ana.put(post + "/publication"), 200)["status"] == "PUBLISHED"
    assert guest.get(f"/categories/{below}/posts").json["items"][0]["title"] == "Coração de estudante"
    assert len(guest.get(f"/categories/{root}/all-posts").json["items"]) == 1
    assert guest.get(post).json["content"] == "Era uma vez… 🎶"

    tag = ana.get(post).tag
    for _ in range(2):
        assert _done(rui.put(f"{post}/likes/{ids[1]}"), 200)["likeCount"] == 1
        marked = rui.put(f"/users/{ids[1]}/bookmarks{post.removeprefix('/posts')}")
        assert _done(marked, 200)["bookmarkCount"] == 1
    comment = _below(guest, rui.post(post + "/comments", {"content": "Que beleza! 👏"}))
    _done(ana.post(comment + "/replies", {"content": "Obrigada!"}), 201)
    counted = guest.get(post).json
    assert (counted["likeCount"], counted["bookmarkCount"], counted["commentCount"]) == (1, 1, 2)
    _done(ana.patch(post, {"title": "Coração"}, if_match=tag), 200)  # likes and comments are not edits
    assert ana.patch(post, {"title": "Outro"}, if_match=tag).status == 412
    assert [each["entityType"] for each in guest.get(post + "/comments").json["items"]] == ["COMMENT", "REPLY"]
    _done(editor.delete(comment), 204)
    assert guest.get(post + "/comments").json["items"][0]["content"] is None
    assert rui.get(f"/users/{ids[0]}/notifications").status == 403
    _done(ana.delete(post, if_match=ana.get(post).tag), 204)
    assert guest.get(post).status == 404
    assert rui.get(f"/users/{ids[1]}/bookmarks").json["items"] == []


def test_nbhd_neighborhood_from_creation_to_a_build(five: Client) -> None:
    guest = five.at("/api/nbhd")
    ids = [_anyone(five, name) for name in ("lea", "kim")]
    lea, kim, builder = (
        guest.by(ids[0]),
        guest.by(ids[1], email_verified=True),
        guest.by("machine", "builder"),
    )
    for who in (lea, kim):
        handle = f"neighbor{next(_numbers)}.bsky.social"
        _done(who.post("/users", {"bluesky_handle": handle, "display_name": "김하나"}), 201)
    assert guest.by("not-a-did").post("/users", {"bluesky_handle": "x.y.z", "display_name": "X"}).status == 422
    assert guest.get(f"/handles/{handle}").json["did"] == ids[1]
    name = f"Café 거리 {next(_numbers)}"
    settings = {"allow_site_creation": True, "require_email_verification": True}
    home = _below(guest, lea.post("/neighborhoods", {"name": name, "settings": settings}))
    slug = guest.get(home).json["slug"]
    assert slug.startswith("café-거리")
    assert guest.get(f"/slugs/{slug}").json["name"] == name
    again = kim.post("/neighborhoods", {"name": name})
    assert (again.status, again.json["field"]) == (409, "slug")
    _done(kim.put(f"{home}/members/{ids[1]}"), 200)
    assert kim.put(f"{home}/members/{ids[1]}").status == 409
    assert guest.get(home).json["member_count"] == 2

    site = {"title": "봄 시장", "template": "blog", "config": {"posts": [{"title": "🐈"}]}}
    here = home.removeprefix("/neighborhoods/")
    rejected = lea.post(f"/users/{ids[0]}/sites", {**site, "subdomain": f"l{next(_numbers)}", "neighborhood_id": here})
    assert (rejected.status, rejected.json["field"]) == (422, "neighborhood_id")
    label = f"market-{next(_numbers)}"
    made = _below(guest, kim.post(f"/users/{ids[1]}/sites", {**site, "subdomain": label, "neighborhood_id": here}))
    assert guest.get(f"/subdomains/{label}").status == 404  # not built yet
    job = _done(kim.post(made + "/builds"), 201)
    assert kim.post(made + "/builds").status == 409
    ended = f"{made}/builds/{job['job_id']}/end"
    assert builder.put(f"{made}/builds/j_another/end", {}).status == 404
    assert _done(builder.put(ended, {}), 200)["status"] == "completed"
    assert builder.put(ended, {}).status == 409
    assert guest.get(f"/subdomains/{label}").json["config"] == site["config"]
    assert kim.get(made + "/builds").json["items"][0]["status"] == "completed"

    _done(lea.patch(home, {"privacy": "private"}, if_match=lea.get(home).tag), 200)
    assert (guest.get(home).status, kim.get(home).status) == (404, 200)
    _done(kim.delete(f"{home}/members/{ids[1]}"), 204)
    assert (kim.get(home).status, lea.get(home + "/past-members").json["items"][0]["did"]) == (404, ids[1])
    _done(kim.delete(made), 204)
    _done(kim.post(made.replace("/sites/", "/deleted-sites/") + "/restoration"), 200)
    assert kim.get(made).status == 200
    _done(kim.delete(f"/users/{ids[1]}"), 204)
    assert (guest.get(f"/users/{ids[1]}").status, kim.get(f"/users/{ids[1]}").status) == (404, 200)

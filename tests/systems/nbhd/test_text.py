"""Text in every script is stored unchanged; invalid input is rejected, naming the field, and nothing is written."""

from collections.abc import Callable
from unicodedata import normalize

import pytest

from partita import InvalidValue, NotUnique, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.validation import checked_handle, slug_of
from tests.systems.nbhd.conftest import ALICE, BORA, disk

CAFE, HAN = "Café Crème", "한강 이웃"


@pytest.mark.parametrize("name", [CAFE, HAN])
def test_composed_and_decomposed_names_have_one_slug(nbhd: Nbhd, db: Store, name: str) -> None:
    decomposed = normalize("NFD", name)
    assert decomposed != name
    home = nbhd.create_neighborhood(ALICE, decomposed)
    assert home.slug == slug_of(name)
    assert nbhd.find_by_slug(name) == nbhd.find_by_slug(decomposed) == home
    assert [each.neighborhood_id for each in db(d.neighborhoods_by_slug(slug_of(name)))] == [home.neighborhood_id]
    with pytest.raises(NotUnique):
        nbhd.create_neighborhood(BORA, name)
    nbhd.rename(home.neighborhood_id, name)


def test_composed_and_decomposed_handles_are_the_same(nbhd: Nbhd) -> None:
    nbhd.register("did:plc:z", normalize("NFD", "Zoé.bsky.social"), "Zoé")
    with pytest.raises(NotUnique):
        nbhd.register("did:plc:other", "ZOÉ.bsky.social", "Other")
    assert checked_handle(" @zoé.bsky.social ") == "zoé.bsky.social"


def test_emoji_korean_and_accents_are_stored_unchanged(nbhd: Nbhd, db: Store) -> None:
    config = {"author": "보라", "posts": [{"title": "👩‍👩‍👧‍👦 산책 🌳", "likes": 3, "pinned": True, "cover": None}]}
    site = nbhd.create_site(BORA, "보라의 블로그 ✍️", "blog", "bora", config)
    assert db.one(d.site(BORA, site.site_id)) == site
    assert site.config == config
    home = nbhd.create_neighborhood(BORA, "🏘 Rua São João", description="Vizinhança à beira-rio 🌊")
    assert home.slug == "rua-são-joão"
    assert db.one(d.neighborhood(home.neighborhood_id)) == home


def test_the_longest_texts_are_accepted(nbhd: Nbhd, db: Store) -> None:
    did = "did:plc:" + "x" * 200
    user = nbhd.register(did, "h" * 249 + ".net", "이" * 100, bio="글" * 2000)
    home = nbhd.create_neighborhood(did, "n" * 63, description="글" * 2000)
    site = nbhd.create_site(did, "🙂" * 100, "blog", "s" * 63)
    nbhd.close(home.neighborhood_id, did)
    assert db.one(d.user(did)) == user
    assert db.one(d.site(did, site.site_id)) == site
    assert [each.did for each in db(d.past_members(home.neighborhood_id))] == [did]


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda nbhd: nbhd.register("alice", "z.bsky.social", "Z"), "User.did: 'alice' is not a valid DID"),
        (lambda nbhd: nbhd.register("did:plc:z", "z.bsky.social", "Z", bluesky_did="x"), "User.bluesky_did"),
        (lambda nbhd: nbhd.register("did:plc:z", "z", "Z"), "User.bluesky_handle: 'z' is not a valid handle"),
        (lambda nbhd: nbhd.register("did:plc:z", "z z.bsky.social", "Z"), "User.bluesky_handle"),
        (lambda nbhd: nbhd.register("did:plc:z", "z" * 250 + ".net", "Z"), "User.bluesky_handle"),
        (lambda nbhd: nbhd.register("did:plc:z", "z.bsky.social", ""), "User.display_name"),
        (lambda nbhd: nbhd.register("did:plc:z", "z.bsky.social", "z" * 101), "User.display_name"),
        (lambda nbhd: nbhd.register("did:plc:z", "z.bsky.social", "Z", bio="z" * 2001), "User.bio"),
        (lambda nbhd: nbhd.change_handle(ALICE, "@"), "User.bluesky_handle"),
        (lambda nbhd: nbhd.create_neighborhood(ALICE, "!?"), "Neighborhood.slug: '!\\?' does not give a slug"),
        (lambda nbhd: nbhd.create_neighborhood(ALICE, "n" * 64), "Neighborhood.slug"),
        (lambda nbhd: nbhd.create_neighborhood(ALICE, "", "downtown"), "Neighborhood.name"),
        (
            lambda nbhd: nbhd.create_neighborhood(ALICE, "X", privacy=d.Privacy("secret")),
            "Neighborhood.privacy: 'secret' is not valid; use",
        ),
        (
            lambda nbhd: nbhd.set_role("n_1", ALICE, d.Role("king")),
            "Membership.role: 'king' is not valid; use member, admin",
        ),
        (lambda nbhd: nbhd.create_site(ALICE, "T", "blog", "-a"), "Site.subdomain: '-a' is not"),
        (lambda nbhd: nbhd.create_site(ALICE, "T", "blog", "bóra"), "Site.subdomain"),
        (lambda nbhd: nbhd.create_site(ALICE, "T", "blog", "s" * 64), "Site.subdomain"),
        (lambda nbhd: nbhd.create_site(ALICE, "", "blog", "alice"), "Site.title"),
        (
            lambda nbhd: nbhd.create_site(ALICE, "T", "blog", "alice", {"n": 10**39 + 1}),
            "Site.config: 1.* more than the 38",
        ),
        (lambda nbhd: nbhd.create_site(ALICE, "T", "blog", "alice", {"n": 1e300}), "Site.config: 1e.300 is larger"),
    ],
)
def test_bad_input_is_rejected_naming_the_field_and_nothing_is_written(
    nbhd: Nbhd, db: Store, act: Callable[[Nbhd], object], named: str
) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match=f"^{named}"):
        act(nbhd)
    assert disk(db) == before


def test_unknown_enum_values_do_not_break_a_read(nbhd: Nbhd, db: Store) -> None:
    home = nbhd.create_neighborhood(ALICE, "Downtown")
    with db.change(d.member(home.neighborhood_id, ALICE)) as draft:
        draft.role = d.Role("founder")
    assert db.one(d.member(home.neighborhood_id, ALICE)).role.value == "founder"

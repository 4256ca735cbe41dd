"""Every entity can be created, read, changed and deleted; text in any script works, bad input names its field."""

import unicodedata
from datetime import timedelta
from typing import Any

import pytest

from partita import Get, InvalidValue, Store
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from partita_systems.unread import Unread
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, published

NOW = Clock().now


def example(kind: type[Any], ann: str) -> tuple[Any, Get[Any], str, Any]:
    """An entity, the read that finds it, and an attribute with a new value."""
    examples: dict[type[Any], tuple[Any, Get[Any], str, Any]] = {
        d.User: (d.User(user_id="u_1", username="bob", display_name="Bob"), d.user("u_1"), "bio", "I turn bowls."),
        d.PerfectionCard: (
            d.PerfectionCard(card_id="c_1", author_id=ann, title="Bowl", created_at=NOW),
            d.card("c_1"),
            "tags",
            ["turning"],
        ),
        d.Comment: (
            d.Comment(comment_id="m_1", card_id="c_0", author_id=ann, text="Nice.", created_at=NOW),
            d.comment("c_0", NOW, "m_1"),
            "text",
            "Very nice.",
        ),
        d.Vote: (
            d.Vote(user_id=ann, target_id="c_1", target_type=d.TargetType.CARD, vote_type=d.VoteType.UP),
            d.vote(ann, "c_1"),
            "vote_type",
            d.VoteType.DOWN,
        ),
        d.Collection: (
            d.Collection(collection_id="l_1", user_id=ann, name="Later"),
            d.collection(ann, "l_1"),
            "name",
            "Now",
        ),
        d.CardInCollection: (
            d.CardInCollection(collection_id="l_0", card_id="c_0", user_id=ann),
            d.card_in_collection("l_0", "c_0"),
            "user_id",
            ann,
        ),
        d.Category: (d.Category(category_id="clay", name="Clay"), d.category("clay"), "sort_order", -7),
        d.Term: (d.Term(card_id="c_1", term="bowl"), d.term("c_1", "bowl"), "term", "bowl"),
        d.Controversy: (d.Controversy(card_id="c_1", score=1), d.controversy("c_1"), "score", 2),
        d.Trend: (d.Trend(card_id="c_1", score=1, seen_at=NOW), d.trend("c_1"), "score", 2),
        d.Notification: (
            d.Notification(
                notification_id="n_1",
                user_id=ann,
                notification_type=d.NotificationType.COMMENTED,
                actor_id="u_1",
                card_id="c_1",
                created_at=NOW,
            ),
            d.notification(ann, NOW, "n_1"),
            "read",
            True,
        ),
        d.DailyMetrics: (d.DailyMetrics(day=NOW.date(), votes=4), d.metrics(NOW.date()), "votes", 5),
    }
    return examples[kind]


@pytest.mark.parametrize("kind", [model.cls for model in d.design.models], ids=lambda kind: kind.__name__)
def test_every_entity_is_created_read_changed_and_deleted(kind: type[Any], ann: str, db: Store) -> None:
    db.create(d.Collection(collection_id="l_0", user_id=ann, name="Owner of an entry"))
    db.create(d.PerfectionCard(card_id="c_0", author_id=ann, title="Plate", created_at=NOW))
    before = disk(db)
    entity, call, name, value = example(kind, ann)
    created = db.create(entity)
    assert db(call) == created
    if name not in d.Term.__struct_fields__:  # a term is all key
        with db.change(call) as draft:
            setattr(draft, name, value)
        assert getattr(db.one(call), name) == value
    db.delete(call)
    assert db(call) is None
    assert disk(db) == before


# Text -------------------------------------------------------------------------------------------------------------


def test_decomposed_and_composed_text_are_the_same_username_category_and_term(perfectit: PerfectIt, db: Store) -> None:
    user = perfectit.register(unicodedata.normalize("NFD", "한지민"), "한지민 🪵")
    assert [each.user_id for each in db(d.users_by_username("한지민"))] == [user.user_id]
    perfectit.add_category(unicodedata.normalize("NFD", "도자기"), "도자기")
    card = published(perfectit, user.user_id, title=unicodedata.normalize("NFD", "완벽한 달항아리"), category="도자기")
    for text in ("달항아리", unicodedata.normalize("NFD", "달항아리"), "도자기"):
        assert [each.card_id for each in perfectit.cards.search(text).items] == [card]
    for category in ("도자기", unicodedata.normalize("NFD", "도자기")):
        assert [each.card_id for each in db(d.cards_by_category(category))] == [card]


def test_accents_emoji_and_key_separators_survive_in_text(perfectit: PerfectIt, ann: str, db: Store) -> None:
    texts = {
        "title": "Crème brûlée #1 $ 100 % 🍮",
        "description": "Zeile\n\tzwei \u202ertl\u202c 👩‍🍳",
        "instructions": ["Caramélisez.", "# Serve #"],
        "materials": {"crème fraîche #2": "½ l"},
    }
    card = published(perfectit, ann, **texts)
    found = db.one(d.card(card))
    assert {name: getattr(found, name) for name in texts} == texts
    assert [each.card_id for each in perfectit.cards.search("BRU\u0302LE\u0301E").items] == [card]


def test_the_longest_values_fit_one_item_and_one_transaction(perfectit: PerfectIt, ann: str, db: Store) -> None:
    longest = {
        "title": "완" * 120,
        "description": "벽" * 5_000,
        "image_urls": ["https://example.com/" + "i" * 980] * 10,
        "instructions": [chr(0x1F300 + step) * 2_000 for step in range(60)],
        "materials": {f"{number:03} {'m' * 116}": "g" * 120 for number in range(50)},
        "tools": [f"{number:02} {'도구' * 58}" for number in range(50)],
        "tags": [f"{number} {'t' * 118}" for number in range(10)],
        "estimated_time": 1_000_000,
        "estimated_cost": 1_000_000,
    }
    card = published(perfectit, ann, **longest)
    found = db.one(d.card(card))
    assert {name: getattr(found, name) for name in longest} == longest
    assert len(terms_of(found)) <= d.MAX_TERMS


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"title": ""}, "PerfectionCard.title"),
        ({"title": "x" * 121}, "PerfectionCard.title"),
        ({"title": 5}, "PerfectionCard.title"),
        ({"description": "x" * 5_001}, "PerfectionCard.description"),
        ({"image_urls": ["u"] * 11}, "PerfectionCard.image_?urls"),
        ({"instructions": ["s"] * 61}, "PerfectionCard.instructions"),
        ({"instructions": ["s" * 2_001]}, "PerfectionCard.instructions"),
        ({"materials": {"oil": ""}}, "PerfectionCard.materials"),
        ({"materials": {"": "1 l"}}, "PerfectionCard.materials"),
        ({"materials": {"x" * 121: "1 l"}}, "PerfectionCard.materials"),
        ({"category": ""}, "PerfectionCard.category"),
        ({"tools": ["t" * 121]}, "PerfectionCard.tools"),
        ({"tags": ["t"] * 11}, "PerfectionCard.tags"),
        ({"difficulty": d.Difficulty("SILLY")}, "PerfectionCard.difficulty"),
        ({"estimated_time": -1}, "PerfectionCard.estimated_?time"),
        ({"estimated_cost": 1_000_001}, "PerfectionCard.estimated_?cost"),
    ],
)
def test_a_bad_card_is_rejected_naming_the_field_as_draft_and_as_edit(
    perfectit: PerfectIt, card: str, ann: str, db: Store, given: dict[str, Any], named: str
) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match=f"(?i){named}"):
        perfectit.cards.draft(ann, Content(**{"title": "Good", **given}))
    with pytest.raises(InvalidValue, match=f"(?i){named}"):
        perfectit.cards.edit(card, Content(**given))
    assert disk(db) == before


def test_an_incomplete_card_cannot_be_published(perfectit: PerfectIt, card: str, ann: str) -> None:
    with pytest.raises(InvalidValue, match=r"PerfectionCard.title: required"):
        perfectit.cards.draft(ann, Content())
    half = perfectit.cards.draft(ann, Content(title="Half")).card_id
    with pytest.raises(InvalidValue, match=r"PerfectionCard.category: required in a published card"):
        perfectit.cards.publish(half)
    perfectit.cards.edit(half, Content(category="woodworking"))
    with pytest.raises(InvalidValue, match=r"PerfectionCard.instructions: a published card needs at least one step"):
        perfectit.cards.publish(half)
    with pytest.raises(InvalidValue, match=r"PerfectionCard.category"):
        perfectit.cards.edit(card, Content(category=None))


@pytest.mark.parametrize("username", ["", "ab", "x" * 31, "two words", "a#b"])
def test_a_bad_username_is_rejected_naming_the_field(perfectit: PerfectIt, username: str) -> None:
    with pytest.raises(InvalidValue, match=r"User.username"):
        perfectit.register(username, "Somebody")


def test_other_bad_input_is_rejected_naming_the_field(perfectit: PerfectIt, card: str, ann: str) -> None:
    for named, rejected in (
        ("Comment.text", lambda: perfectit.comment(ann, card, "")),
        ("Comment.text", lambda: perfectit.comment(ann, card, "x" * 2_001)),
        ("Collection.name", lambda: perfectit.new_collection(ann, "")),
        ("Category.categoryId", lambda: perfectit.add_category("ROOT", "Root")),
        ("Category.category_?id", lambda: perfectit.add_category("a b", "Space")),
        ("Category.sort_?order", lambda: perfectit.add_category("far", "Far", sort_order=100_000)),
        ("PerfectionCard.viewCount", lambda: perfectit.cards.count_views(card, 0)),
    ):
        with pytest.raises(InvalidValue, match=f"(?i){named}"):
            rejected()


# Expiry, and values of other code ---------------------------------------------------------------------------------


def test_notifications_are_newest_first_can_be_marked_read_and_expire(
    perfectit: PerfectIt, ann: str, clock: Clock, db: Store
) -> None:
    created = [
        d.Notification(
            notification_id=f"n_{number}",
            user_id=ann,
            notification_type=d.NotificationType.VOTED,
            actor_id="u_1",
            card_id="c_1",
            created_at=NOW + timedelta(days=number),
        )
        for number in range(3)
    ]
    assert [perfectit.notify(each) for each in created] == created
    assert list(db(d.notifications_of_user(ann))) == created[::-1]
    perfectit.read_notification(ann, created[0].created_at, "n_0")
    assert [each.read for each in db(d.notifications_of_user(ann))] == [False, False, True]
    assert perfectit.unread(ann) == Unread(2, more=False)
    perfectit.read_all_notifications(ann)
    assert perfectit.unread(ann) == Unread(0, more=False)
    clock.passes(days=91)
    assert [each.notification_id for each in db(d.notifications_of_user(ann))] == ["n_2"]


def test_unknown_enum_values_do_not_break_a_read(card: str, db: Store) -> None:
    with db.change(d.card(card)) as draft:
        draft.difficulty = d.Difficulty("IMPOSSIBLE")
    assert db.one(d.card(card)).difficulty.value == "IMPOSSIBLE"


def test_deleting_a_user_deletes_collections_and_notifications_but_not_cards(
    perfectit: PerfectIt, ann: str, card: str, db: Store
) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    perfectit.collect(ann, later, card)
    db.delete(d.user(ann))
    assert list(db(d.cards_in_collection(later))) == []
    assert {item["PK"] for item in disk(db)} == {f"CARD#{card}", "CAT#woodworking"}
    assert OIL.title == db.one(d.card(card)).title

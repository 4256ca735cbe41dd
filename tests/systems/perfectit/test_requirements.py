"""Each problem of the document that the page lists, and the behaviour that solves it."""

from datetime import date, timedelta
from typing import Any

import pytest

from partita import InvalidCursor, InvalidValue, NotFound, NotUnique, ReferenceMissing, Store, VersionConflict
from partita.dynamodb.requests import DescribeTable, PutItem
from partita_systems.errors import NotPublished
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import MAX_DAYS_PER_PAGE, Content
from partita_systems.perfectit.day_cursor import RECENT_PERIOD, day_cursor, parse_day_cursor
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import OIL, disk, on_disk, people, published

UP, DOWN = d.VoteType.UP, d.VoteType.DOWN
AT = f"{Clock().now:%Y-%m-%dT%H:%M:%S.%fZ}"


def counts(db: Store, card_id: str) -> tuple[int, int, int]:
    card = db.one(d.card(card_id))
    return card.vote_score, card.up_count, card.down_count


# names on disk ----------------------------------------------------------------------------------------------------


def test_a_published_card_on_disk_has_the_document_s_names_and_keys(card: str, ann: str, db: Store) -> None:
    stored = on_disk(db, f"CARD#{card}", "METADATA")
    assert stored is not None
    documented = (
        "PK SK entityType id title description imageUrls instructions materials tools category tags difficulty "
        "estimatedTime estimatedCost viewCount voteScore authorId status createdAt updatedAt "
        "GSI1PK GSI1SK GSI2PK GSI2SK"
    )
    added = "GSI3PK GSI3SK GSI5PK GSI5SK upCount downCount version"
    assert stored.keys() == {*documented.split(), *added.split()}
    assert {name: stored[name] for name in stored if name.startswith("GSI")} == {
        "GSI1PK": "CAT#woodworking",
        "GSI1SK": f"CREATED#{AT}",
        "GSI2PK": f"USER#{ann}",
        "GSI2SK": f"CREATED#{AT}",
        "GSI3PK": f"DATE#{AT[:10]}",
        "GSI3SK": f"CREATED#{AT}#{card}",
        "GSI5PK": "VOTETYPE#CARD",
        "GSI5SK": f"SCORE#p0000000000#{card}",
    }
    assert (stored["entityType"], stored["id"], stored["createdAt"]) == ("PerfectionCard", card, AT)


def test_every_entity_of_the_document_has_its_keys(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    comment = perfectit.comment(ann, card, "Works.")
    perfectit.votes.on_card(ann, card, UP)
    later = perfectit.new_collection(ann, "Later").collection_id
    perfectit.collect(ann, later, card)
    assert {(item["PK"], item["SK"], item.get("GSI1PK"), item.get("GSI1SK")) for item in disk(db)} >= {
        (f"USER#{ann}", "PROFILE", "USERNAME#ann", "PROFILE"),
        (f"CARD#{card}", "METADATA", "CAT#woodworking", f"CREATED#{AT}"),
        (f"CARD#{card}", f"COMMENT#{AT}#{comment.comment_id}", f"USER#{ann}", f"COMMENT#{AT}"),
        (f"VOTE#{ann}#{card}", "VOTE", f"TARGET#{card}", f"VOTE#{AT}"),
        (f"USER#{ann}", f"COLLECTION#{later}", f"COLLECTION#{later}", "METADATA"),
        (f"COLLECTION#{later}", f"CARD#{card}", None, None),
        ("CAT#woodworking", "METADATA", "PARENT#ROOT", "SORT#p00000"),
    }


def test_the_example_item_of_the_document_is_read_and_adopted(perfectit: PerfectIt, db: Store) -> None:
    user = perfectit.register("documented", "Documented", user_id="user123").user_id
    at = "2025-01-01T00:00:00Z"
    texts = f"""
        PK=CARD#123 SK=METADATA entityType=PerfectionCard id=123 title=Varnish description=... category=woodworking
        difficulty=INTERMEDIATE authorId={user} status=PUBLISHED createdAt={at} updatedAt={at}
        GSI1PK=CAT#woodworking GSI1SK=CREATED#{at} GSI2PK=USER#{user} GSI2SK=CREATED#{at}
    """
    example = dict(pair.split("=") for pair in texts.split())
    item: dict[str, Any] = {name: {"S": value} for name, value in example.items()}
    item |= {name: {"N": number} for name, number in (("estimatedTime", "120"), ("estimatedCost", "50"))}
    item |= {name: {"N": "0"} for name in ("viewCount", "voteScore")}
    item |= {name: {"L": [{"S": "x"}]} for name in ("imageUrls", "instructions", "tools", "tags")}
    db.backend.call(PutItem(table_name="perfectit-main", item={**item, "materials": {"M": {"oil": {"S": "1 l"}}}}))
    card = db.one(d.card("123"))
    assert (card.title, card.instructions, card.estimated_time) == ("Varnish", ["x"], 120)
    assert [each.card_id for each in db(d.cards_by_author(user))] == ["123"]
    assert [each.card_id for each in db(d.cards_by_category("woodworking"))] == ["123"]
    db.adopt()
    assert [each.card_id for each in db(d.top_voted())] == ["123"]
    assert [each.card_id for each in db(d.cards_of_day(card.created_at.date()))] == ["123"]
    assert db.one(d.category("woodworking")).card_count == 1
    perfectit.votes.on_card(user, "123", UP)
    perfectit.cards.edit("123", Content(tags=["old"]))
    assert db.one(d.card("123")).vote_score == 1
    assert [each.card_id for each in perfectit.cards.search("old varnish").items] == ["123"]


def test_instructions_are_compressed(perfectit: PerfectIt, ann: str, db: Store) -> None:
    steps = ["Sand with the grain, never against it." for _ in range(50)]
    card = published(perfectit, ann, instructions=steps)
    stored = on_disk(db, f"CARD#{card}", "METADATA")
    assert stored is not None
    assert len(stored["instructions"]) < 200
    assert db.one(d.card(card)).instructions == steps


# SCORE# and SORT#: text order, 9 above 10, negatives backwards ----------------------------------------------------


def test_scores_sort_as_numbers_below_zero_too(perfectit: PerfectIt, ann: str, db: Store) -> None:
    voters = people(perfectit, 10)
    wanted = [10, 9, 2, 1, 0, -1, -2, -10]
    cards = {score: published(perfectit, ann) for score in sorted(wanted, key=abs)}
    for score, card in cards.items():
        for voter in voters[: abs(score)]:
            perfectit.votes.on_card(voter, card, UP if score > 0 else DOWN)
    assert [(each.card_id, each.vote_score) for each in db(d.top_voted())] == [(cards[s], s) for s in wanted]


def test_categories_sort_as_numbers_below_zero_too(perfectit: PerfectIt, db: Store) -> None:
    for order in (10, 9, -1, 100, -10):
        perfectit.add_category(f"wood{order}", "Wood", "woodworking", order)
    assert [each.sort_order for each in db(d.subcategories("woodworking"))] == [-10, -1, 9, 10, 100]


# GSI3, GSI4 and GSI5: no entity fills them ------------------------------------------------------------------------


def test_published_cards_alone_fill_the_indexes_by_day_and_score(perfectit: PerfectIt, ann: str, db: Store) -> None:
    draft = perfectit.cards.draft(ann, OIL)
    card = published(perfectit, ann)
    perfectit.comment(ann, card, "By day there are cards only.")
    assert [each.card_id for each in db(d.cards_of_day(perfectit.now().date()))] == [card]
    assert [each.card_id for each in db(d.top_voted())] == [card]
    assert {item["PK"] for item in disk(db) if "GSI4PK" in item} == {f"CARD#{card}"}
    perfectit.cards.remove(card)
    perfectit.cards.publish(draft.card_id)
    assert [each.card_id for each in db(d.top_voted())] == [draft.card_id]


# one card, many search terms --------------------------------------------------------------------------------------


def test_a_card_is_found_by_each_of_its_terms(perfectit: PerfectIt, card: str, db: Store) -> None:
    for term in "perfect wood finish furniture finishing woodworking linseed oil cotton cloth".split():
        assert [each.card_id for each in db(d.cards_by_term(term))] == [card]
    assert [each.card_id for each in perfectit.cards.search("Finish, wood!").items] == [card]
    assert perfectit.cards.search("wood floor").items == []
    assert perfectit.cards.search("?").items == []


def test_editing_rewrites_the_terms_with_the_card(perfectit: PerfectIt, card: str, db: Store) -> None:
    perfectit.cards.edit(card, Content(title="Perfect Varnish", materials={}))
    assert {each.term for each in db(d.terms_of_card(card))} == set(terms_of(db.one(d.card(card))))
    assert perfectit.cards.search("wood").items == []
    assert perfectit.cards.search("varnish").items != []


def test_a_card_has_at_most_45_terms_and_all_of_them_can_change_at_once(
    perfectit: PerfectIt, ann: str, db: Store
) -> None:
    def tools(kind: str) -> list[str]:
        return [f"{kind}{number} {kind}{number + 100}" for number in range(40)]

    card = published(perfectit, ann, title="Many tools", materials={}, tags=[], tools=tools("saw"))
    assert len(list(db(d.terms_of_card(card)))) == d.MAX_TERMS
    perfectit.add_category("metal", "Metal")
    perfectit.cards.edit(card, Content(title="Others now", category="metal", tools=tools("file")))
    assert len(list(db(d.terms_of_card(card)))) == d.MAX_TERMS
    assert not any(each.term.startswith("saw") for each in db(d.terms_of_card(card)))


def test_an_edit_of_an_old_version_changes_neither_card_nor_terms(perfectit: PerfectIt, card: str, db: Store) -> None:
    seen = db.one(d.card(card)).version
    perfectit.cards.edit(card, Content(title="First"))
    with pytest.raises(VersionConflict):
        perfectit.cards.edit(card, Content(title="Second"), version=seen)
    assert db.one(d.card(card)).title == "First"
    assert list(db(d.cards_by_term("second"))) == []


# "user's comments" under GSI2: comments carry only GSI1 keys ------------------------------------------------------


def test_a_user_s_comments_are_served_newest_first_from_gsi1(
    perfectit: PerfectIt, card: str, ann: str, clock: Clock, db: Store
) -> None:
    created = []
    for text in ("one", "two", "three"):
        created.append(perfectit.comment(ann, card, text))
        clock.passes(seconds=1)
    assert list(db(d.comments_of_user(ann))) == created[::-1]
    assert list(db(d.comments_of_card(card))) == created
    assert d.comments_of_user.read.sources[0].keys.index == "GSI1"


# "trending" is 'newest today', empty after midnight ---------------------------------------------------------------


def test_a_card_is_listed_under_its_day_of_publication_in_utc(
    perfectit: PerfectIt, ann: str, clock: Clock, db: Store
) -> None:
    draft = perfectit.cards.draft(ann, OIL)
    clock.passes(days=2, hours=23)
    perfectit.cards.publish(draft.card_id)
    day = clock().date()
    assert [each.card_id for each in db(d.cards_of_day(day))] == [draft.card_id]
    assert list(db(d.cards_of_day(day - timedelta(days=2)))) == []


def test_recent_cards_are_read_day_by_day_over_empty_days(perfectit: PerfectIt, ann: str, clock: Clock) -> None:
    created = []
    for hours in (1, 5, 30, 100, 1, 60, 0.5):
        clock.passes(hours=hours)
        created.append(published(perfectit, ann))
    clock.passes(hours=20)
    assert [each.card_id for each in perfectit.cards.recent(7).items] == created[::-1]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_cursor_of_recent_cards_carries_the_day(perfectit: PerfectIt, ann: str, clock: Clock, size: int) -> None:
    created = []
    for hours in (3, 3, 20, 2, 2, 60, 1, 1, 1, 500, 3):
        clock.passes(hours=hours)
        created.append(published(perfectit, ann))
    page = perfectit.cards.recent(size)
    found = [each.card_id for each in page.items]
    while page.cursor is not None:
        page = perfectit.cards.recent(size, page.cursor)
        found += [each.card_id for each in page.items]
    assert found == created[::-1]


def test_recent_cards_read_a_bounded_number_of_days(perfectit: PerfectIt, ann: str, clock: Clock, db: Store) -> None:
    published(perfectit, ann)
    clock.passes(days=RECENT_PERIOD.days - 1)
    requests, page = [], None
    while page is None or page.cursor is not None:
        with db.measure() as used:
            page = perfectit.cards.recent(20, page.cursor if page else None)
        requests.append(used.requests)
    assert requests == [MAX_DAYS_PER_PAGE, MAX_DAYS_PER_PAGE, MAX_DAYS_PER_PAGE]
    assert len(page.items) == 1


def test_an_invalid_cursor_is_rejected(perfectit: PerfectIt, card: str) -> None:
    with pytest.raises(InvalidCursor, match="invalid cursor for recent"):
        perfectit.cards.recent(1, "yesterday~")
    with pytest.raises(InvalidCursor):
        perfectit.cards.recent(1, f"{perfectit.now().date()}~garbage")


@pytest.mark.parametrize("day", [date.min, date.max, Clock().now.date() + timedelta(days=1), date(2025, 1, 1)])
def test_a_cursor_of_a_day_outside_the_period_is_rejected(perfectit: PerfectIt, card: str, day: date) -> None:
    for inside in (None, "WyJ4IixbXV0"):
        with pytest.raises(InvalidCursor, match="its day is not one of the last 90 days"):
            perfectit.cards.recent(1, day_cursor(perfectit.db, day, inside))


def test_the_day_of_a_cursor_is_signed(perfectit: PerfectIt, card: str) -> None:
    today = perfectit.now().date()
    signed = day_cursor(perfectit.db, today, None)
    assert len(perfectit.cards.recent(1, signed).items) == 1
    elsewhere = perfectit.db.with_settings(cursor_keys=[b"the key of another database"])
    for forged in (f"{today}~", signed[:-1], f"{signed}x", day_cursor(elsewhere, today, None)):
        with pytest.raises(InvalidCursor, match="it is not a cursor of this query"):
            perfectit.cards.recent(1, forged)


def test_the_cursor_within_a_day_is_signed_and_valid_for_that_day_only(db: Store, clock: Clock, ann: str) -> None:
    signing = PerfectIt(Store(db.backend, d.design, clock=clock))
    for _ in range(3):
        published(signing, ann)
    cursor = signing.cards.recent(1).cursor
    assert cursor is not None
    assert len(signing.cards.recent(1, cursor).items) == 1
    _, inside = parse_day_cursor(signing.db, cursor, clock().date())
    with pytest.raises(InvalidCursor, match="it is not a cursor of this query"):
        signing.cards.recent(1, f"{cursor}x")
    with pytest.raises(InvalidCursor, match="it is not a cursor of this query"):
        signing.cards.recent(1, day_cursor(signing.db, clock().date() - timedelta(days=1), inside))


# "controversial" in GSI5: a card has one GSI5SK -------------------------------------------------------------------


def test_controversial_cards_are_listed_most_divided_first(perfectit: PerfectIt, ann: str, db: Store) -> None:
    voters = people(perfectit, 8)
    divided, loved, half, calm = (published(perfectit, ann) for _ in range(4))
    for card, up, down in ((divided, 4, 4), (loved, 8, 0), (half, 4, 2)):
        for voter, vote in zip(voters, [UP] * up + [DOWN] * down, strict=False):
            perfectit.votes.on_card(voter, card, vote)
    assert [each.card_id for each in perfectit.cards.controversial().items] == [divided, half]
    assert [each.card_id for each in db(d.top_voted())][:2] == [loved, half]
    for voter in voters:
        perfectit.votes.on_card(voter, divided, None)
    assert [each.card_id for each in perfectit.cards.controversial().items] == [half]
    assert calm not in [each.card_id for each in db(d.controversial())]


def test_trending_cards_are_those_of_the_analytics_consumer(
    perfectit: PerfectIt, ann: str, clock: Clock, db: Store
) -> None:
    slow, fast = published(perfectit, ann), published(perfectit, ann)
    db.put_many([d.Trend(card_id=slow, score=9, seen_at=clock()), d.Trend(card_id=fast, score=10, seen_at=clock())])
    assert [each.card_id for each in perfectit.cards.trending().items] == [fast, slow]
    clock.passes(days=8)
    assert perfectit.cards.trending().items == []


# username looked up by GSI1: an index cannot make it unique -------------------------------------------------------


def test_a_username_is_unique_without_case(perfectit: PerfectIt, ann: str, db: Store) -> None:
    with pytest.raises(NotUnique, match=r"User.username: 'ANN' is taken"):
        perfectit.register("ANN", "Another Ann")
    assert [each.user_id for each in db(d.users_by_username("Ann"))] == [ann]


def test_a_changed_username_is_free_again(perfectit: PerfectIt, ann: str, db: Store) -> None:
    perfectit.rename(ann, "anna")
    other = perfectit.register("ann", "Another Ann")
    assert [each.user_id for each in db(d.users_by_username("ann"))] == [other.user_id]
    with pytest.raises(NotUnique):
        perfectit.register("Anna", "Anna")


def test_a_username_s_guard_is_in_no_index(perfectit: PerfectIt, ann: str, db: Store) -> None:
    (guard,) = [item for item in disk(db) if item["PK"].startswith("UNIQUE#")]
    assert not [name for name in guard if name.startswith("GSI")]


# drafts would appear in every index -------------------------------------------------------------------------------


def test_a_draft_is_listed_for_its_author_only(perfectit: PerfectIt, ann: str, db: Store) -> None:
    card = perfectit.cards.draft(ann, OIL)
    stored = on_disk(db, f"CARD#{card.card_id}", "METADATA")
    assert stored is not None
    indexed = {name: stored[name] for name in stored if name.startswith("GSI")}
    assert indexed == {"GSI2PK": f"USER#{ann}", "GSI2SK": f"DRAFT#{AT}"}
    assert [each.card_id for each in db(d.drafts_of_author(ann))] == [card.card_id]
    assert list(db(d.cards_by_author(ann))) == []
    assert list(db(d.cards_by_category("woodworking"))) == []


def test_drafts_are_listed_last_edited_first_and_expire_after_thirty_days(
    perfectit: PerfectIt, ann: str, clock: Clock, db: Store
) -> None:
    first, second = perfectit.cards.draft(ann, OIL).card_id, perfectit.cards.draft(ann, OIL).card_id
    clock.passes(days=20)
    perfectit.cards.edit(first, Content(title="Still at it"))
    assert [each.card_id for each in db(d.drafts_of_author(ann))] == [first, second]
    clock.passes(days=11)
    assert [each.card_id for each in db(d.drafts_of_author(ann))] == [first]
    assert db(d.card(second)) is None
    with pytest.raises(NotFound):
        perfectit.cards.publish(second)
    with pytest.raises(NotFound):
        perfectit.cards.edit(second, Content(title="Too late"))


def test_publishing_fills_the_indexes_and_removes_the_ttl(
    perfectit: PerfectIt, ann: str, clock: Clock, db: Store
) -> None:
    card = perfectit.cards.draft(ann, OIL).card_id
    before = on_disk(db, f"CARD#{card}", "METADATA")
    assert before is not None
    assert int(before["ttl"]) == (clock() + d.KEEP_DRAFTS).timestamp()
    perfectit.cards.publish(card)
    after = on_disk(db, f"CARD#{card}", "METADATA")
    assert after is not None
    assert "ttl" not in after
    clock.passes(days=365)
    assert [each.card_id for each in db(d.cards_by_category("woodworking"))] == [card]
    assert list(db(d.drafts_of_author(ann))) == []


def test_publishing_twice_changes_nothing(perfectit: PerfectIt, card: str, clock: Clock, db: Store) -> None:
    before = db.one(d.card(card))
    clock.passes(days=1)
    perfectit.cards.publish(card)
    assert db.one(d.card(card)) == before


# vote and score: the score is on another item, and in a text sort key ---------------------------------------------


def test_a_vote_its_change_and_its_withdrawal_update_score_counts_and_key(
    perfectit: PerfectIt, card: str, ann: str, db: Store
) -> None:
    for vote, expected, key in (
        (UP, (1, 1, 0), "p0000000001"),
        (UP, (1, 1, 0), "p0000000001"),
        (DOWN, (-1, 0, 1), "n9999999998"),
        (None, (0, 0, 0), "p0000000000"),
        (None, (0, 0, 0), "p0000000000"),
    ):
        perfectit.votes.on_card(ann, card, vote)
        assert counts(db, card) == expected
        stored = on_disk(db, f"CARD#{card}", "METADATA")
        assert stored is not None
        assert stored["GSI5SK"] == f"SCORE#{key}#{card}"
        stored_vote = db(d.vote(ann, card))
        assert (stored_vote.vote_type if stored_vote else None) == vote


def test_a_vote_does_not_count_as_an_edit(perfectit: PerfectIt, card: str, ann: str, clock: Clock, db: Store) -> None:
    before = db.one(d.card(card))
    clock.passes(hours=1)
    perfectit.votes.on_card(ann, card, UP)
    perfectit.cards.count_views(card, 250)
    after = db.one(d.card(card))
    assert (after.updated_at, after.version, after.view_count) == (before.updated_at, before.version, 250)
    perfectit.cards.edit(card, Content(title="Nobody was in the way"), version=before.version)


def test_a_rejected_vote_changes_nothing(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    draft = perfectit.cards.draft(ann, OIL).card_id
    with pytest.raises(NotPublished, match=f"PerfectionCard {draft} is not published; publish it first"):
        perfectit.votes.on_card(ann, draft, UP)
    with pytest.raises(NotFound):
        perfectit.votes.on_card(ann, "c_nowhere", UP)
    with pytest.raises(ReferenceMissing, match="Vote refers to User"):
        perfectit.votes.on_card("u_nobody", card, UP)
    assert counts(db, card) == (0, 0, 0)
    assert list(db(d.votes_of_target(card))) == []


# targetId: card 1 or comment 1? -----------------------------------------------------------------------------------


def test_a_vote_stores_its_target_type(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    comment = perfectit.comment(ann, card, "Thin coats!")
    perfectit.votes.on_card(ann, card, UP)
    perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, DOWN)
    assert [each.target_type for each in db(d.votes_of_target(card))] == [d.TargetType.CARD]
    assert [each.target_type for each in db(d.votes_of_target(comment.comment_id))] == [d.TargetType.COMMENT]
    voted = db.one(d.comment(card, comment.created_at, comment.comment_id))
    assert (voted.vote_score, voted.up_count, voted.down_count) == (-1, 0, 1)
    assert counts(db, card) == (1, 1, 0)
    perfectit.votes.on_comment(ann, card, comment.created_at, comment.comment_id, None)
    assert db.one(d.comment(card, comment.created_at, comment.comment_id)) == comment


# CardInCollection: no card data, no way from a card to its collections --------------------------------------------


def test_a_collection_is_read_with_one_query_and_one_batch(
    perfectit: PerfectIt, ann: str, card: str, db: Store
) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    cards = [card, published(perfectit, ann)]
    for each in (*cards, card):
        perfectit.collect(ann, later, each)
    with db.measure() as used:
        shown = perfectit.cards_of_collection(later)
    assert [each.card_id for each in shown.items] == sorted(cards)
    assert used.requests == 2


def test_dangling_entries_are_skipped_and_swept(perfectit: PerfectIt, ann: str, card: str, db: Store) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    gone = published(perfectit, ann)
    perfectit.collect(ann, later, card)
    perfectit.collect(ann, later, gone)
    perfectit.cards.remove(gone)
    assert [each.card_id for each in perfectit.cards_of_collection(later).items] == [card]
    assert perfectit.sweep(later) == 1
    assert [each.card_id for each in db(d.cards_in_collection(later))] == [card]
    assert perfectit.sweep(later) == 0


def test_only_published_cards_can_be_added_to_an_existing_collection(perfectit: PerfectIt, ann: str, card: str) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    draft = perfectit.cards.draft(ann, OIL).card_id
    with pytest.raises(NotPublished, match=f"PerfectionCard {draft} is not published"):
        perfectit.collect(ann, later, draft)
    (ben,) = people(perfectit, 1)
    with pytest.raises(ReferenceMissing, match="CardInCollection refers to PerfectionCard"):
        perfectit.collect(ben, perfectit.new_collection(ben, "Mine").collection_id, draft)
    with pytest.raises(ReferenceMissing, match="CardInCollection refers to Collection"):
        perfectit.collect("u_other", later, card)


def test_a_collection_of_another_user_is_rejected_even_if_the_card_is_in_it(
    perfectit: PerfectIt, ann: str, card: str
) -> None:
    later = perfectit.new_collection(ann, "Later").collection_id
    perfectit.collect(ann, later, card)
    (ben,) = people(perfectit, 1)
    with pytest.raises(ReferenceMissing, match=f"CardInCollection refers to Collection {later}"):
        perfectit.collect(ben, later, card)


# root category: no parent -----------------------------------------------------------------------------------------


def test_root_categories_and_subcategories_are_sorted(perfectit: PerfectIt, db: Store) -> None:
    perfectit.add_category("baking", "Baking", sort_order=-1)
    perfectit.add_category("carving", "Carving", "woodworking", 2)
    perfectit.add_category("turning", "Turning", "woodworking", 1)
    assert [each.category_id for each in db(d.root_categories())] == ["baking", "woodworking"]
    assert [each.category_id for each in db(d.subcategories("woodworking"))] == ["turning", "carving"]
    assert db.one(d.category("woodworking")).child_count == 2


def test_categories_have_no_cycles_and_are_kept_while_in_use(perfectit: PerfectIt, card: str, db: Store) -> None:
    perfectit.add_category("carving", "Carving", "woodworking")
    with pytest.raises(InvalidValue, match=r"Category.parentId: woodworking has subcategories"):
        perfectit.move_category("woodworking", "carving")
    with pytest.raises(InvalidValue, match=r"Category.parentId: a category cannot be its own parent"):
        perfectit.move_category("carving", "carving")
    with pytest.raises(ReferenceMissing, match="Category refers to Category"):
        perfectit.add_category("lost", "Lost", "nowhere")
    perfectit.move_category("carving", d.ROOT)
    with pytest.raises(InvalidValue, match=r"Category.category_id: woodworking still has cards"):
        perfectit.remove_category("woodworking")
    perfectit.cards.remove(card)
    perfectit.remove_category("woodworking")
    assert [each.category_id for each in db(d.root_categories())] == ["carving"]


@pytest.mark.parametrize("parent", ["nowhere", "woodworking", "carving"])
def test_a_category_that_cannot_be_moved_is_not_renamed_either(perfectit: PerfectIt, db: Store, parent: str) -> None:
    perfectit.add_category("carving", "Carving", "woodworking")
    before = disk(db)
    with pytest.raises((ReferenceMissing, InvalidValue)):
        perfectit.change_category("woodworking", name="Wood", sort_order=3, parent_id=parent)
    assert disk(db) == before


def test_a_category_is_renamed_sorted_and_moved_at_once(perfectit: PerfectIt, db: Store) -> None:
    perfectit.add_category("carving", "Carving", sort_order=1)
    perfectit.change_category("carving", name="Whittling", sort_order=-2, parent_id="woodworking")
    (moved,) = db(d.subcategories("woodworking"))
    assert (moved.name, moved.sort_order) == ("Whittling", -2)
    assert db.one(d.category("woodworking")).child_count == 1


def test_a_category_counts_its_published_cards(perfectit: PerfectIt, card: str, ann: str, db: Store) -> None:
    perfectit.add_category("metal", "Metal")
    perfectit.cards.draft(ann, OIL)
    assert db.one(d.category("woodworking")).card_count == 1
    perfectit.cards.edit(card, Content(category="metal"))
    assert (db.one(d.category("woodworking")).card_count, db.one(d.category("metal")).card_count) == (0, 1)
    assert [each.card_id for each in db(d.cards_by_category("metal"))] == [card]


# three Lambda triggers on one stream ------------------------------------------------------------------------------


def test_the_table_has_one_stream_with_both_images(db: Store) -> None:
    found = db.backend.call(DescribeTable(table_name="perfectit-main")).table
    assert found is not None
    assert found.stream_specification is not None
    assert found.stream_specification.stream_view_type == "NEW_AND_OLD_IMAGES"

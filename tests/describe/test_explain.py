"""What explain prints, word for word."""

from datetime import UTC, datetime

import pytest

from partita import Store, connect
from partita.describe.explain import explain_read
from tests.design import shop
from tests.store import kitchen_sink_design
from tests.store.clocks import Clock

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def db() -> Store:
    return Store(connect("memory:", maintain=False), shop.shop, clock=Clock())


def head(text: str) -> str:
    """Without the request."""
    return text.partition("  request")[0].rstrip()


def test_creation_is_explained_with_every_item_and_its_cost(db: Store) -> None:
    text = db.explain_create(shop.Order(customer_id="c1", order_id="o1", placed_at=NOON))
    assert head(text) == (
        "create Order: one TransactWriteItems of 2 actions\n"
        "  put      Order CUSTOMER#c1 ORDER#2025-01-01T12:00:00.000000Z#o1\n"
        "           if attribute_not_exists(PK), else AlreadyExists\n"
        "  update   Customer CUSTOMER#c1 PROFILE\n"
        "           open_orders += 1\n"
        "           if attribute_exists(PK), else ReferenceMissing\n"
        "  cost     write units: 2 for the items that are put, "
        "1 x 2 per KB of each item that is updated, checked or deleted, 1 for GSI1"
    )
    assert '"TransactItems": [' in text


def test_a_blind_change_is_one_update(db: Store) -> None:
    text = db.explain_change(shop.order("c1", NOON, "o1"), lambda draft: setattr(draft, "note", "hi"))
    assert head(text) == (
        "change Order: one UpdateItem\n"
        "  update   Order CUSTOMER#c1 ORDER#2025-01-01T12:00:00.000000Z#o1\n"
        "           note = hi\n"
        "           if attribute_exists(PK), else NotFound\n"
        "  cost     write units: 1 x 1 per KB of each item that is updated, checked or deleted"
    )


def test_change_that_needs_a_read_names_what_it_reads(db: Store) -> None:
    def ship(draft: shop.Order) -> None:
        draft.status = shop.Status.SHIPPED

    assert db.explain_change(shop.order("c1", NOON, "o1"), ship) == (
        "change Order: one GetItem, then one conditional write; repeated if the item changes in between\n"
        "  reads    priority, for GSI1PK, GSI1SK\n"
        "  updates  Customer.open_orders"
    )


def test_a_pattern_is_explained_before_it_is_called() -> None:
    assert explain_read(kitchen_sink_design.works_of_days.read, 500) == (
        "works_of_days -> Work\n"
        "  where    index GSI2 of table gallery\n"
        "  range    GSI2PK = DAY#<each of days> and GSI2SK has any value, in reverse order\n"
        "  cost     128 read units for a page of 2097 items of 500 bytes in each of 7 queries\n"
        "  proof    7 Queries, merged by sort key, per page\n"
        "  proof    one contiguous range\n"
        "  proof    index GSI2 holds no other entity\n"
        "  proof    newest first by published_at: the order of the key"
    )


def test_ranges_are_explained_with_their_arguments() -> None:
    assert "SK from NOTE#<low> to NOTE#<high>" in explain_read(kitchen_sink_design.notes_between.read)
    assert "SK begins with MENTION#<beginning>" in explain_read(kitchen_sink_design.mentions_like.read)
    assert "score from <at_least> to the last" in explain_read(kitchen_sink_design.works_of_kind.read)
    assert "0.5 read units (1 if strongly consistent) for an item of 1024 bytes" in explain_read(
        kitchen_sink_design.work.read
    )

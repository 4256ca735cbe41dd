"""The server counts views of published cards at each GET, in memory, and writes them as sums."""

from partita import F, Store, settle
from partita_systems.perfectit import design as d
from partita_systems.perfectit.consumers import analytics
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client
from tests.systems.perfectit.conftest import OIL


def service_of(client: Client) -> PerfectIt:
    handler = client.app._started()
    service: PerfectIt = handler.apis["perfectit"].service
    return service


def test_each_get_of_a_published_card_is_a_view_also_one_from_the_cache(
    perfectit: PerfectIt, db: Store, anonymous: Client
) -> None:
    author = perfectit.register("ana", "Ana").user_id
    card = perfectit.cards.draft(author, OIL).card_id
    assert anonymous.by(author).get(f"/cards/{card}").status == 200
    perfectit.cards.publish(card)
    tag = anonymous.get(f"/cards/{card}").tag
    for _ in range(8):
        anonymous.get(f"/cards/{card}")
    anonymous.get(f"/cards/{card}", if_none_match=tag)
    anonymous.request("HEAD", f"/cards/{card}")
    anonymous.get("/cards/none")
    before = db.one(d.card(card))
    assert before.view_count == 0
    served = service_of(anonymous).cards
    assert served.write_views() == 1
    assert served.write_views() == 0
    after = db.one(d.card(card))
    assert (after.view_count, after.updated_at) == (10, before.updated_at)
    settle(db, analytics)
    assert sum(each.views for each in db.scan(d.DailyMetrics)) == 10


def test_views_of_removed_cards_are_dropped(perfectit: PerfectIt, db: Store) -> None:
    author = perfectit.register("ana", "Ana").user_id
    cards = [perfectit.cards.draft(author, OIL).card_id for _ in range(2)]
    for each in cards:
        perfectit.cards.publish(each)
        perfectit.cards.view(db.one(d.card(each)))
    perfectit.cards.remove(cards[0])
    assert perfectit.cards.write_views() == 2
    assert [each.view_count for each in db.scan(d.PerfectionCard, where=F.view_count > 0)] == [1]

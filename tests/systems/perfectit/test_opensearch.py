"""The search indexer with OpenSearch as its target, chosen by a setting."""

import pytest

from partita import Store, connect, settle
from partita.store.seeding import load
from partita_systems.perfectit import design as d
from partita_systems.perfectit import seed
from partita_systems.perfectit.consumers import search_index
from tests.search.opensearch_stub import StubCluster
from tests.stub_service import serving


def test_cards_are_indexed_in_the_cluster_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = StubCluster()
    with serving(cluster.answer) as service, connect("memory:", maintain=False) as backend:
        monkeypatch.setenv("PERFECTIT_SEARCH", service.url)
        db = Store(backend, d.design)
        db.create_tables()
        load(db, "perfectit", seed.steps(0.05, 1))
        settle(db, search_index())
        published = [each for each in db.scan(d.PerfectionCard) if each.status == d.CardStatus.PUBLISHED]
        (index,) = cluster.indexes.values()
        assert len([name for name in index.documents if "mark" not in name]) == len(published) > 0
        assert any("_bulk" in each.path for each in service.requests)

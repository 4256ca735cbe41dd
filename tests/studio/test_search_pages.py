"""Search indexes in the studio: what they hold, and a search of each."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partita import Store, connect
from partita.consumers.batch_runner import runner_of
from partita.consumers.worker import create_state_tables
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import DescribeTable
from partita.engine.engine import Engine
from partita.plan.table_definitions import without_vector_indexes
from partita.store.read_only import ReadOnlyBackend
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from tests.search import cards
from tests.search.cards import Card, Note
from tests.store import parts_design as parts
from tests.studio.browser_client import TOKEN, StudioClient

VECTORS = {"a": [1.0, 0.0, 0.0, 0.0], "b": [0.9, 0.1, 0.0, 0.0], "c": [0.0, 0.0, 1.0, 0.0]}
HOSTILE = '<img src=x onerror="alert(1)">'


def _client(opened: StudioDesign) -> StudioClient:
    return StudioClient(StudioApplication({opened.name: opened}, DataPlace("memory:", writable=True), TOKEN))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory:") as backend:
        yield backend


@pytest.fixture
def vectors(engine: Engine) -> StudioClient:
    db = Store(engine, parts.design)
    db.create_tables()
    for name, vector in VECTORS.items():
        db.create(parts.Part(part_id=name, category="brakes", name=name, embedding=vector, size=len(name)))
    db.create(parts.Note(note_id="n", category="brakes"))
    return _client(StudioDesign("parts", parts.design, engine))


def _key(name: str) -> str:
    return json.dumps({"PK": {"S": f"PART#{name}"}, "SK": {"S": "PART"}})


def test_vector_index_shows_its_declaration_and_some_of_its_items(vectors: StudioClient) -> None:
    view = vectors.view("/studio/parts/vectors", index="ByMeaning")
    index = view["index"]
    assert (index["items"], index["dimensions"], index["entities"]) == (3, 4, ["Part", "Need"])
    assert "similar_parts" in index["patterns"]
    assert [each["entity"] for each in view["members"]["rows"]] == ["Part"] * 3
    assert view["matches"] is None
    assert vectors.get("/studio/parts/vectors").text.count("Nearest to ") == 3


def test_an_item_is_searched_for_by_its_own_vector_and_partition(vectors: StudioClient) -> None:
    view = vectors.view("/studio/parts/vectors", index="ByMeaning", key=_key("a"), count=2)
    assert view["error"] == ""
    assert [each["row"]["item"]["name"]["S"] for each in view["matches"]] == ["a", "b"]
    assert view["equal"]["VPK"] == "brakes"
    assert view["used"]["searched_bytes"] > 0
    assert "aws dynamodb search-vectors" in view["cli"]
    page = vectors.get("/studio/parts/vectors", index="ByMeaning", key=_key("a"), count=2)
    assert "2 matches" in page.text


def test_a_vector_is_searched_for_with_filters_of_their_own_types(vectors: StudioClient) -> None:
    query = {"index": "Everything", "vector": "[0, 0, 1, 0]", "equal.size": "1"}
    view = vectors.view("/studio/parts/vectors", **query)
    assert view["matches"][0]["row"]["item"]["name"]["S"] == "c"
    assert vectors.view("/studio/parts/vectors", **{**query, "equal.size": "2"})["matches"] == []
    assert "Nothing found" in vectors.get("/studio/parts/vectors", **{**query, "equal.size": "2"}).text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"vector": "[1, 2"}, "not a list of numbers"),
        ({"vector": '["x"]'}, "not a list of numbers"),
        ({"vector": "[1, 2]", "equal.VPK": "brakes"}, "dimension"),
        ({"vector": "[1e999, 0, 0, 0]", "equal.VPK": "brakes"}, "number"),
        ({"vector": "[1, 0, 0, 0]"}, "VPK"),
        ({"vector": "[1, 0, 0, 0]", "equal.VPK": "b", "equal.size": "x"}, "numeric value"),
        ({"key": json.dumps({"PK": {"S": "NOTE#n"}, "SK": {"S": "NOTE"}})}, "no vector"),
        ({"key": _key("none")}, "does not exist"),
    ],
)
def test_a_search_that_is_not_valid_says_why(vectors: StudioClient, query: dict[str, str], message: str) -> None:
    reply = vectors.get("/studio/parts/vectors.json", index="ByMeaning", **query)
    assert reply.status == 422, reply.text
    assert message in reply.json["error"]
    assert vectors.get("/studio/parts/vectors", index="ByMeaning", **query).status == 422


def test_unknown_vector_index_is_not_found(vectors: StudioClient) -> None:
    assert vectors.get("/studio/parts/vectors", index="Nothing").status == 404


def test_database_without_vector_indexes_still_shows_the_declaration(engine: Engine) -> None:
    engine.call(without_vector_indexes(parts.parts))
    assert engine.call(DescribeTable(table_name="parts")).table is not None
    client = _client(StudioDesign("parts", parts.design, engine))
    assert client.view("/studio/parts/vectors")["index"]["items"] is None
    assert "no such index yet" in client.get("/studio/parts/vectors").text


def _indexed(backend: Engine) -> tuple[StudioDesign, Any]:
    """Cards that a text index has read."""
    db, index = Store(backend, cards.design), cards.new_index()
    db.create_tables()
    create_state_tables(db)
    db.create(Card(card_id="c1", title=f"Oak table {HOSTILE}", tags=["wood"], level=2))
    db.create(Card(card_id="c2", title="Oak chair", tags=["wood", "small"]))
    db.create(Note(note_id="n1", text="The oak has to dry"))
    runner = runner_of(db, index)
    runner.take_over()
    while runner.step():
        pass
    runner.close()
    return StudioDesign("cards", cards.design, ReadOnlyBackend(backend), [index]), index


def test_text_index_shows_what_it_holds_and_finds_words(engine: Engine) -> None:
    client = _client(_indexed(engine)[0])
    view = client.view("/studio/cards/text", text="oak")
    assert (view["documents"], view["total"], view["problem"]) == (3, 3, "")
    found = next(each for each in view["matches"] if each["row"]["values"].get("card_id") == "c2")
    assert found["highlights"]["title"] == [[["Oak", True], [" chair", False]]]
    page = client.get("/studio/cards/text", text="oak table").text
    assert "<mark>Oak</mark> <mark>table</mark>" in page
    assert HOSTILE not in page
    assert "Nothing found" in client.get("/studio/cards/text", text="granite").text


def test_text_search_has_filters_and_pages(engine: Engine) -> None:
    client = _client(_indexed(engine)[0])

    def found(**query: str) -> list[str]:
        view = client.view("/studio/cards/text", text="oak", **query)
        assert view["error"] == ""
        return sorted(each["row"]["key"]["PK"]["S"] for each in view["matches"])

    assert found(**{"equal.level": "2"}) == ["CARD#c1"]
    assert found(**{"equal.tags": "small"}) == ["CARD#c2"]
    assert found(**{"equal.status": "PUBLISHED"}) == ["CARD#c1", "CARD#c2"]
    assert found(of="Note") == ["NOTE#n1"]
    first = client.view("/studio/cards/text", text="oak", size="2")
    assert found(size="2", cursor=first["cursor"]) not in ([], None)
    for query in ({"equal.level": "x"}, {"of": "Other"}, {"cursor": "x"}):
        assert client.get("/studio/cards/text.json", text="oak", **query).status == 422


def test_looking_at_a_text_index_that_was_never_built_creates_no_file(tmp_path: Path) -> None:
    with connect(tmp_path / "cards.db") as backend:
        Store(backend, cards.design).create_tables()
        client = _client(StudioDesign("cards", cards.design, ReadOnlyBackend(backend), [cards.new_index()]))
        view = client.view("/studio/cards/text", text="oak")
        assert "has not been built here" in view["problem"]
        assert view["matches"] is None
        assert client.get("/studio/cards/text").status == 200
        assert [each.name for each in tmp_path.glob("*.text")] == []


def test_text_index_of_data_elsewhere_says_what_to_declare(engine: Engine) -> None:
    class Elsewhere:
        def call(self, request: Any, /) -> Any:
            return engine.call(request)

    backend: Backend = Elsewhere()
    client = _client(StudioDesign("cards", cards.design, backend, [cards.new_index()]))
    assert "place=" in client.view("/studio/cards/text", text="oak")["problem"]


def test_search_leads_to_the_first_index_of_the_design(vectors: StudioClient, client: StudioClient) -> None:
    reply = vectors.get("/studio/parts/search")
    assert (reply.status, reply.headers["location"]) == (303, "/studio/parts/vectors?table=parts&index=ByMeaning")
    assert len(vectors.view("/studio/parts/search")["indexes"]) == 3
    assert "No search indexes" in client.get("/studio/shop/search").text
    assert client.get("/studio/shop/text").status == client.get("/studio/shop/vectors").status == 404

"""The map: every entity and index of a design, what writes touch, and the proofs of patterns."""

import pytest

from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from partita_systems import SYSTEMS
from tests.studio.browser_client import TOKEN, StudioClient


def test_entities_with_one_partition_key_are_one_collection(client: StudioClient) -> None:
    (table,) = client.view("/studio/shop/map")["tables"]
    (collection,) = table["collections"]
    assert collection["partition"] == "CUSTOMER#{customer_id}"
    assert [each["entity"] for each in collection["entries"]] == ["Customer", "Order"]
    (index,) = table["indexes"]
    assert [each["entity"] for each in index["entries"]] == ["Order"]


def test_entity_shows_what_its_writes_touch_and_the_proofs(client: StudioClient) -> None:
    selected = client.view("/studio/shop/map", entity="Order")["selected"]
    assert [(each["what"], each["where"]) for each in selected["writes"]] == [
        ("item", "shop"),
        ("index key", "GSI1"),
        ("counter", "Customer"),
    ]
    assert {each["name"] for each in selected["patterns"]} == {"order", "orders_of", "orders_with"}
    assert all(each["proof"] for each in selected["patterns"])
    owner = client.view("/studio/shop/map", entity="Customer")["selected"]
    assert {each["what"] for each in owner["writes"]} == {"item", "guard", "deletes"}


def test_index_shows_who_writes_there(client: StudioClient) -> None:
    selected = client.view("/studio/shop/map", index="GSI1")["selected"]
    assert [each["where"] for each in selected["writes"]] == ["Order"]
    assert [each["name"] for each in selected["patterns"]] == ["orders_with"]
    assert client.get("/studio/shop/map", entity="Nothing").status == 404
    assert client.get("/studio/shop/map", index="Nothing").status == 404


@pytest.mark.parametrize("name", SYSTEMS)
def test_drawing_has_every_entity_of_a_real_system(client: StudioClient, name: str) -> None:
    design = SYSTEMS[name].design
    opened = {name: StudioDesign(name, design, client.application.designs["shop"].backend)}
    studio = StudioClient(StudioApplication(opened, DataPlace("memory:"), TOKEN))
    page = studio.get(f"/studio/{name}/map").text
    for model in design.models:
        assert f'data-entity="{model.name}"' in page
    for table in design.tables:
        for index in table.all_indexes:
            assert f'aria-label="Index {index.name}"' in page

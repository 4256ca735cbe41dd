"""Effects on other items: what a write means for parents comes in the order of the design."""

from datetime import UTC, datetime
from typing import Annotated

from partita import CountOf, Entity, Table, prove
from partita.design.models import model_of
from partita.plan.writes import creation

town = Table("town", pk="PK")


class Street(Entity, table=town, key="STREET#{street_id}"):
    street_id: str
    houses: Annotated[int, CountOf(lambda: House)] = 0


class Builder(Entity, table=town, key="BUILDER#{builder_id}"):
    builder_id: str
    houses: Annotated[int, CountOf(lambda: House)] = 0


class Owner(Entity, table=town, key="OWNER#{owner_id}"):
    owner_id: str
    houses: Annotated[int, CountOf(lambda: House)] = 0


class House(Entity, table=town, key="HOUSE#{house_id}"):
    house_id: str
    owner_id: str
    street_id: str
    builder_id: str


def test_counters_of_several_parents_move_in_the_order_of_the_design() -> None:
    design = prove("town", town)
    for number in range(20):  # text hashes differ from process to process, and from value to value
        house = House(house_id="h", owner_id=f"o{number}", street_id=f"s{number}", builder_id=f"b{number}")
        actions = creation(design, model_of(House), house, datetime(2025, 1, 1, tzinfo=UTC))
        assert [action.entity for action in actions] == ["House", "Street", "Builder", "Owner"]

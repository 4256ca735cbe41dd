"""A list that is read page by page has every item once, though items move from old keys between any two requests."""

from random import Random
from typing import Any

import pytest

from partita import Design, Entity, F, Items, Store, Table, connect, fan_out, pattern, prove, query
from partita.dynamodb.backend import Backend
from partita.dynamodb.values import Item
from partita.evolution.evolution_store import EvolutionStore, evolution_store
from partita.evolution.page_writes import PageResult, do_page
from partita.evolution.pages import fetch_one_item

YEARS = ("2023", "2024", "2025")
KEYS = (
    ("C#{customer}#{year}", "ORDER#{number:4}"),
    ("C#{customer}#{year}", "A#{number:6}"),
    ("D#{customer}#{year}", "ORDER#{number:4}"),
)


class Version:
    """A design whose orders have one of the keys, and another one as an old key."""

    def __init__(self, key: tuple[str, str], old: tuple[str, str] | None) -> None:
        self.key = key
        table = Table("shop", "PK", "SK")

        class Order(Entity, table=table, key=key, old_keys=[old] if old else []):
            customer: str
            year: str
            number: int
            even: bool = False

        def orders(customer: str, year: str) -> Any: ...
        def newest(customer: str, year: str) -> Any: ...
        def even(customer: str, year: str) -> Any: ...
        def of_years(customer: str, years: list[str]) -> Any:
            return query(Order, customer, fan_out(years, 3))

        some: Any = Items
        for each in (orders, newest, even, of_years):
            each.__annotations__["return"] = some[Order]
        self.order: Any = Order
        self.orders: Any = pattern(orders)
        self.newest: Any = pattern(query(Order).reversed())(newest)
        self.of_years: Any = pattern(of_years)
        self.even: Any = pattern(query(Order).where(F.even == True))(even)  # noqa: E712
        self.design: Design = prove("shop", table)

    def key_of(self, year: str, number: int) -> Item:
        """The key of an order on disk."""
        parts = [each.replace("{customer}", "a").replace("{year}", year) for each in self.key]
        parts = [each.replace("{number:4}", f"{number:04}").replace("{number:6}", f"{number:06}") for each in parts]
        return {"PK": {"S": parts[0]}, "SK": {"S": parts[1]}}


class MovingBackend:
    """Moves items to their new keys between the requests of a reader."""

    def __init__(
        self, backend: Backend, old: Version, new: Version, left: list[tuple[str, int]], random: Random
    ) -> None:
        self._backend, self._old, self._left, self._random = backend, old, left, random
        self._mover: EvolutionStore = evolution_store(Store(backend, new.design))

    def call(self, request: Any) -> Any:
        while self._left and self._random.random() < 0.4:
            self._move(*self._left.pop())
        return self._backend.call(request)

    def _move(self, year: str, number: int) -> None:
        mover = self._mover
        key = self._old.key_of(year, number)
        item = mover.run_flow(fetch_one_item(mover.context, mover.design, {}, mover.design.tables[0], key))
        assert item is not None
        result = PageResult()
        do_page(mover, {}, [item], result)
        assert result.written == 1


@pytest.mark.parametrize("name", ["orders", "newest", "even", "of_years"])
@pytest.mark.parametrize("seed", range(40))
def test_list_has_every_item_once_while_items_are_moved(seed: int, name: str) -> None:
    random = Random(f"{seed} {name}")
    old_key, new_key = random.sample(KEYS, 2)
    old, new = Version(old_key, None), Version(new_key, old_key)
    with connect("memory:") as backend:
        db = Store(backend, old.design)
        db.create_tables()
        numbers = random.sample(range(60), 25)
        places = [(random.choice(YEARS) if name == "of_years" else YEARS[0], number) for number in numbers]
        for year, number in places:
            db.create(old.order(customer="a", year=year, number=number, even=number % 2 == 0))
        moving = MovingBackend(backend, old, new, random.sample(places, 25), random)
        call = getattr(new, name)("a", list(YEARS) if name == "of_years" else YEARS[0])
        reader = Store(moving, new.design, cursor_keys=[b"k" * 32])
        found: list[int] = []
        cursor = None
        while True:
            page = reader(call, consistent=True).page(random.choice([1, 3, 7]), cursor)
            found += [each.number for each in page.items]
            cursor = page.cursor
            if cursor is None:
                break
    wanted = [number for number in numbers if name != "even" or number % 2 == 0]
    assert found == sorted(wanted, reverse=name == "newest")

"""Random sequences of design changes, each applied while programs of both designs write between its requests.

PARTITA_DESIGN_CHANGES=200 tries as many sequences, instead of the default few.
"""

import os
import time
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AUTO,
    CountOf,
    Design,
    DesignMismatch,
    Entity,
    F,
    Index,
    Item,
    Items,
    Keys,
    NotFound,
    NotReady,
    NotUnique,
    Store,
    SumOf,
    Table,
    Unique,
    Was,
    connect,
    pattern,
    prove,
)
from partita.design.entities import EntityMeta
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import Request, Scan
from partita.evolution.apply import apply_design, roll_back
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration
from partita.plan.fingerprint import table_facts
from partita.store import design_watch
from partita.store.design_records import are_compatible, fetch_designs, record_design
from partita.store.design_watch import DesignWatch, own_design
from partita.store.flows import run
from tests.evolution.test_kills import Stopped, StoppingBackend

SEQUENCES = int(os.environ.get("PARTITA_DESIGN_CHANGES", "6"))
SIDE_BY_SIDE = 30  # steps of the earlier and the new program, before the earlier one ends
FEATURES = ("status index", "status text", "price index", "unique", "count", "sum", "open only", "note", "new key")


def grams(weight: str) -> int:
    return int(weight.removesuffix("g"))


def weight(grams: int) -> str:
    return f"{grams}g"


class Version:
    """A design with some features, and its entities.

    An order has a tag, which becomes a label, and a weight, which becomes grams; `stages` says how far each of the two
    is: as it was, in both forms, without the old one, or with a declaration of the new one only.
    """

    def __init__(self, features: frozenset[str], stages: tuple[int, int] = (0, 0)) -> None:
        self.features = features
        self.stages = stages
        self.label = "label" if stages[0] else "tag"
        self.grams = "grams" if stages[1] else "weight"
        indexes = [Index("ByStatus", "GSI1PK", "GSI1SK")] if "status index" in features else []
        indexes += [Index("ByPrice", "GSI2PK", "GSI2SK", project="KEYS_ONLY")] if "price index" in features else []
        table = Table("shop", "PK", "SK", indexes=tuple(indexes))
        old, new = ("O#{customer}", "ORDER#{order}"), ("O#{customer}", "O#{order}")
        key, others = (new, [old]) if "new key" in features else (old, [new])
        when = F.status == "OPEN" if "open only" in features else None
        body: dict[str, Any] = {"__annotations__": {"customer": str, "order": str, "status": str}, "status": "OPEN"}
        body["__annotations__"]["price"] = Annotated[int, msgspec.Meta(ge=0)]
        body["price"] = 1
        labels = (Was[str, str]("tag"), Was[str, str]("tag", removed=True))
        weights = (Was("weight", to=grams, back=weight), Was("weight", to=grams, removed=True))
        body["__annotations__"][self.label] = _of_stage(str | None, stages[0], *labels)
        body[self.label] = None
        body["__annotations__"][self.grams] = _of_stage(int if stages[1] else str, stages[1], *weights)
        if "note" in features:
            body["__annotations__"]["note"] = str
            body["note"] = "-"
        if "status index" in features:
            status = "STATE#{status}" if "status text" in features else "STATUS#{status}"
            body["by_status"] = Keys("ByStatus", status, f"{{order}}#{{{self.label}?}}")
        if "price index" in features:
            body["by_price"] = Keys("ByPrice", "{customer}", "{price:6}#{order}", when=when)
        order_class: Any = EntityMeta("Order", (Entity,), body, table=table, key=key, old_keys=others)
        self.order: Any = order_class
        body = {"__annotations__": {"customer": str, "email": str}}
        if "unique" in features:
            body["__annotations__"]["email"] = Annotated[str, Unique()]
        if "count" in features:
            body["__annotations__"]["orders"] = Annotated[int, CountOf(self.order, when=when)]
            body["orders"] = 0
        if "sum" in features:
            body["__annotations__"]["spent"] = Annotated[int, SumOf(self.order, "price")]
            body["spent"] = 0
        self.customer: Any = EntityMeta("Customer", (Entity,), body, table=table, key=("C#{customer}", "C"))
        one: Any = Item
        some: Any = Items

        def one_order(customer: str, order: str) -> Any: ...
        def orders_of(status: str) -> Any: ...
        def one_customer(customer: str) -> Any: ...

        one_order.__annotations__["return"] = one[self.order]
        one_customer.__annotations__["return"] = one[self.customer]
        self.one_order: Any = pattern(one_order)
        self.one_customer: Any = pattern(one_customer)
        if "status index" in features:
            orders_of.__annotations__["return"] = some[self.order]
            self.orders_of: Any = pattern(order_class.by_status)(orders_of)
        self.design: Design = prove("shop", table)
        self.facts = table_facts(self.design, table)

    def new_order(self, customer: str, order: str, price: int, grams: int) -> Any:
        return self.order(customer=customer, order=order, price=price, **{self.grams: self.weight_of(grams)})

    def weight_of(self, grams: int) -> Any:
        """A weight as this version has it."""
        return grams if self.stages[1] else weight(grams)

    def __repr__(self) -> str:
        return f"Version({', '.join(sorted(self.features)) or 'plain'}, {self.stages})"


def _of_stage(kind: Any, stage: int, both: Any, last: Any) -> Any:
    """The annotation of an attribute in a stage of its migration."""
    return Annotated[kind, both] if stage == 1 else Annotated[kind, last] if stage == 2 else kind


class ExpectedOrder(msgspec.Struct, frozen=True):
    """An order as the last program that wrote it has left it."""

    label: str | None
    grams: int
    price: int
    status: str = "OPEN"


Expected = dict[tuple[str, str], ExpectedOrder]


class Program:
    """A program of one version: each step does one random operation."""

    def __init__(self, backend: Backend, version: Version, random: Random, expected: Expected) -> None:
        self.version = version
        self.features = version.features  # without those that the next design drops, from its programs' first write on
        self.expected = expected
        self._random = random
        self._number = 0
        self.db = Store(backend, own_design(version.design))
        self.db.watch = DesignWatch(self.db.design, self.db.context)

    def step(self) -> None:
        random, version = self._random, self.version
        self._number += 1
        customer = f"c{random.randrange(4)}"
        order = f"o{random.randrange(4)}"
        place, amount, price = (customer, order), random.randrange(1, 6), random.randrange(5)
        call = version.one_order(customer, order)
        with suppress(NotFound, NotUnique):
            match random.randrange(12):
                case 0 | 1:
                    self.db.put(version.new_order(customer, order, price, amount))
                    self.expected[place] = ExpectedOrder(None, amount, price)
                case 2:
                    self.db.delete(call)
                    self.expected.pop(place, None)
                case 3:
                    status = random.choice(["OPEN", "DONE"])
                    self._change(place, "status", status, status=status)
                case 4:
                    self._change(place, "price", price, price=price)
                case 5:
                    with self.db.change(version.one_customer(customer)) as draft:
                        draft.email = f"{customer}-{random.randrange(3)}"
                case 6 | 9 | 10:
                    label = random.choice(["red", None])
                    self._change(place, version.label, label, label=label)
                case 7:
                    self._change(place, version.grams, version.weight_of(amount), grams=amount)
                case 8 | 11:
                    self.check(customer, order)

    def _change(self, place: tuple[str, str], name: str, value: Any, **expected: Any) -> None:
        with self.db.change(self.version.one_order(*place)) as draft:
            setattr(draft, name, value)
        self.expected[place] = msgspec.structs.replace(self.expected[place], **expected)

    def check(self, customer: str, order: str) -> None:
        """All answers are right: an order, its place in the index, and the counters of its customer."""
        found = self.db.get(self.version.one_order(customer, order))
        expected = self.expected.get((customer, order))
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            here = (getattr(found, self.version.label), getattr(found, self.version.grams), found.price, found.status)
            wanted = (expected.label, self.version.weight_of(expected.grams), expected.price, expected.status)
            assert here == wanted, self.version
        self.check_counters(customer)
        self.check_index()

    def check_index(self) -> None:
        if "status index" in self.features:
            with suppress(NotReady):
                open_orders = {(each.customer, each.order) for each in self.db(self.version.orders_of("OPEN"))}
                wanted = {place for place, each in self.expected.items() if each.status == "OPEN"}
                assert open_orders == wanted, self.version

    def check_counters(self, customer: str) -> None:
        found = self.db.one(self.version.one_customer(customer))
        orders = [each for (of, _), each in self.expected.items() if of == customer]
        if "count" in self.features and found.orders is not AUTO:
            is_open_only = "open only" in self.version.features
            assert found.orders == sum(each.status == "OPEN" or not is_open_only for each in orders), self.version
        if "sum" in self.features and found.spent is not AUTO:
            assert found.spent == sum(each.price for each in orders), self.version

    def close(self) -> None:
        assert self.db.watch is not None
        run(self.db.watch.leave(), self.db.backend, time.sleep)


class SharedBackend:
    """A backend on which programs work between the requests of an application.

    The program of the earlier design ends when the application waits for it, as in a deployment.
    """

    def __init__(self, backend: Backend, old: Version, new: Version, random: Random, expected: Expected) -> None:
        self._backend = backend
        self._random = random
        self._old: Program | None = Program(backend, old, random, expected)
        self._old.step()  # from now on it is recorded
        self._new = Program(backend, new, random, expected)

    def call(self, request: Request[Any]) -> Any:
        if self._random.random() < 0.3:
            self._step()
        return self._backend.call(request)

    def _step(self) -> None:
        if self._old is not None:
            self._old.features &= self._new.version.features
            if self._random.random() < 0.5:
                self._old.step()
                return
        with suppress(DesignMismatch, NotReady):  # it is not being applied yet, or to a new key
            self._new.step()

    def wait(self, seconds: float) -> None:
        """The application waits: for the earlier program, or for the new one to notice."""
        if self._old is not None:
            for _ in range(SIDE_BY_SIDE):
                self._step()
            self._old.close()
            self._old = None
        with suppress(NotReady):
            self._new.step()

    def close(self) -> None:
        if self._old is not None:
            self._old.close()
        self._new.close()


def next_stages(stages: tuple[int, int], random: Random) -> tuple[int, int]:
    """Each migration goes one stage on, or none."""
    label, grams = (min(3, each + random.randrange(2)) for each in stages)
    return label, grams


OF_FEATURES = {"note": "note", "orders": "count", "spent": "sum"}


def stored(backend: Backend, version: Version) -> dict[tuple[str, str], Any]:
    """Every item of the table by its key; attributes that the design no longer has are data, and stay."""
    items = [msgspec.json.decode(raw) for raw in backend.call(Scan(table_name="shop")).items or ()]
    unknown = {name for name, feature in OF_FEATURES.items() if feature not in version.features}
    return {
        (item["PK"]["S"], item["SK"]["S"]): {name: value for name, value in item.items() if name not in unknown}
        for item in items
    }


def built_from_nothing(backend: Backend, version: Version) -> dict[tuple[str, str], Any]:
    """The items of a new store into which every entity of this one is created."""
    db = Store(backend, version.design)
    with connect("memory:", version.design) as new:
        new.create_tables()
        for customer in db.scan(version.customer):
            new.create(version.customer(customer=customer.customer, email=customer.email))
        for order in db.scan(version.order):
            new.create(order)
        return stored(new.backend, version)


def abandon(backend: Backend, old: Version, new: Version, random: Random, expected: Expected) -> bool:
    """An application that ends somewhere, is rolled back, and leaves data that is right after a repair.

    False if it was public already.
    """
    shared = SharedBackend(backend, old, new, random, expected)
    stopping = StoppingBackend(shared, random.randrange(1, 60), after=random.random() < 0.5)
    with suppress(Stopped):
        apply_design(Store(stopping, new.design, sleep=shared.wait))
    shared.close()
    context = Store(backend, record_design()).context
    record = run(fetch_designs(context, ["shop"]), backend, time.sleep)["shop"]
    if record.state == "cleaning" or (record.target is None and dict(record.facts) != dict(old.facts)):
        return False
    roll_back(Store(backend, new.design))
    db = Store(backend, old.design)
    diagnose(db, repair=True)
    assert diagnose(db).findings.keys() <= {"tables"}, (old, new)
    program = Program(backend, old, random, expected)
    for _ in range(SIDE_BY_SIDE):
        program.step()
    for customer, order in expected:
        program.check(customer, order)
    program.close()
    return True


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_data_equals_data_built_with_the_new_design(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_watch, "CHECK_EVERY", timedelta(0))
    random = Random(seed)
    features: frozenset[str] = frozenset(random.sample(FEATURES, 2)) - {"unique"}
    with connect("memory:") as backend:
        version = Version(features)
        expected: Expected = {}
        first = Program(backend, version, random, expected)
        first.db.create_tables()
        for at in range(4):
            first.db.create(version.customer(customer=f"c{at}", email=f"c{at}-0"))
        for _ in range(40):
            first.step()
        first.close()
        for _ in range(4):
            features ^= frozenset(random.sample(FEATURES, random.randrange(1, 3)))
            following = Version(features, next_stages(version.stages, random))
            if random.random() < 0.7 or abandon(backend, version, following, random, expected):
                shared = SharedBackend(backend, version, following, random, expected)
                apply_design(Store(shared, following.design, sleep=shared.wait))
                shared.close()
            else:
                apply_design(Store(backend, following.design))
            if are_compatible(version.facts, following.facts):  # nothing waited for the earlier program's last writes
                apply_design(Store(backend, following.design))
            program = Program(backend, following, random, expected)
            for customer, order in expected:
                program.check(customer, order)
            program.close()
            assert stored(backend, following) == built_from_nothing(backend, following), (version, following)
            assert not plan_migration(Store(backend, following.design)).has_work
            assert diagnose(Store(backend, following.design)).findings == {}
            version = following

"""A system: a design and everything that belongs to it, so that one name is enough to serve, seed, adopt or prove it.

    system = System(
        "shop",
        design="shop.design:design",
        api="shop.api:api",
        seed="shop.seed",
        adopt="shop.adoption:adopt",
        page=Path(__file__).with_name("page.md"),
        consumers="shop.consumers",
        jobs="shop.jobs:jobs",
        demo="shop.demo",
    )

A part is the object itself or a reference, `module` or `module:attribute`, which is imported on first use: proving a
design does not import its API. A distribution makes its systems known through the entry point group `partita.systems`:

    [project.entry-points."partita.systems"]
    shop = "shop:system"
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from partita.errors import ConfigurationError

if TYPE_CHECKING:
    from partita.consumers.consumer import Consumer
    from partita.consumers.consumer_group import ConsumerGroup
    from partita.jobs.job import Jobs
    from partita.plan.design import Design
    from partita.rest.api import Api
    from partita.store.adoption import Adoption
    from partita.store.seeding import SeedStep
    from partita.store.store import Store

__all__ = ["System"]

GROUP = "partita.systems"

Adopt: TypeAlias = "Callable[[Store, Callable[[Adoption], None]], Adoption]"


class SeedData(Protocol):
    """Demo data: a module or an object with these two functions. The same arguments give the same steps."""

    def total(self, scale: float) -> int:
        """How many steps there are."""
        ...

    def steps(self, scale: float, random_seed: int) -> "Iterator[SeedStep]":
        """The steps, in the order in which they are written."""
        ...


class Demo(Protocol):
    """What `partita serve` shows of a system with demo data: a module or an object with these two functions."""

    def prepare(self, db: "Store", address: str) -> None:
        """Gives the system something to do, before its consumers and jobs start; it may be called again.

        The server listens at the address.
        """
        ...

    def sight(self, db: "Store", address: str) -> str | None:
        """A line that says what the system has done, and where to look at it; None until it is there."""
        ...


class System:
    """A design by a name, with its API, demo data, adoption and page where it has them."""

    def __init__(
        self,
        name: str,
        *,
        design: "Design | str",
        api: "Api[Any] | str | None" = None,
        seed: SeedData | str | None = None,
        adopt: "Adopt | str | None" = None,
        page: Path | None = None,
        consumers: "Sequence[Consumer | ConsumerGroup] | Consumer | ConsumerGroup | str | None" = None,
        jobs: "Jobs | str | None" = None,
        demo: Demo | str | None = None,
    ) -> None:
        """`adopt` migrates data that other code has stored; without it `Store.adopt` does. `page` is Markdown."""
        self.name = name
        self._design = design
        self._api = api
        self._seed = seed
        self._adopt = adopt
        self._page = page
        self._consumers = consumers
        self._jobs = jobs
        self._demo = demo

    def __repr__(self) -> str:
        return f"System({self.name!r})"

    @cached_property
    def design(self) -> "Design":
        from partita.plan.design import Design

        design = self._load(self._design)
        if not isinstance(design, Design):
            raise self._wrong_part("design", design, "a Design; end the module with design = prove(name, table)")
        return design

    @property
    def has_api(self) -> bool:
        return self._api is not None

    @cached_property
    def api(self) -> "Api[Any]":
        if self._api is None:
            raise ConfigurationError(f"{self.name} has no API to serve; declare one with partita.rest.Api")
        from partita.rest.api import Api

        api = self._load(self._api)
        if not isinstance(api, Api):
            raise self._wrong_part("api", api, "an Api")
        if api.design is not self.design:
            raise ConfigurationError(f"system {self.name}: its API is declared for another design, {api.design.name}")
        return api

    @property
    def has_seed(self) -> bool:
        return self._seed is not None

    @cached_property
    def seed(self) -> SeedData:
        if self._seed is None:
            raise ConfigurationError(f"{self.name} has no demo data; declare a System with seed=")
        seed: SeedData = self._load(self._seed)
        if not (hasattr(seed, "total") and hasattr(seed, "steps")):
            raise self._wrong_part("seed", seed, "a module with total(scale) and steps(scale, random_seed)")
        return seed

    @property
    def has_adoption(self) -> bool:
        """Whether it has steps of its own, before its design is applied to data of other code."""
        return self._adopt is not None

    @cached_property
    def adopt(self) -> "Adopt":
        adopt: Adopt | None = self._load(self._adopt)
        if adopt is None:
            return lambda db, progress: db.adopt(progress)
        if not callable(adopt):
            raise self._wrong_part("adopt", adopt, "a function of a store and a progress callback")
        return adopt

    @cached_property
    def consumers(self) -> "tuple[Consumer, ...]":
        """The consumers of the design; of a module, all that it has."""
        loaded = self._load(self._consumers)
        if loaded is None:
            return ()
        from partita.consumers.consumer import Consumer
        from partita.consumers.consumer_group import ConsumerGroup, consumers_among

        if isinstance(loaded, ModuleType):
            given: Sequence[object] = consumers_among(vars(loaded).values())
        else:
            given = (loaded,) if isinstance(loaded, Consumer | ConsumerGroup) else tuple(loaded)
        for each in given:
            if not isinstance(each, Consumer | ConsumerGroup):
                raise self._wrong_part("consumers", each, "a Consumer, several, or a module that has them")
        found = tuple(consumers_among(given))
        for each in found:
            tables = {table.name for table in self.design.tables}
            if foreign := [name for name in each.tables if name not in tables]:
                raise ConfigurationError(f"system {self.name}: {each!r} reacts to table {foreign[0]}, which it has not")
        return found

    @cached_property
    def jobs(self) -> "Jobs | None":
        """The jobs of the design, if it has any."""
        loaded = self._load(self._jobs)
        if loaded is None:
            return None
        from partita.jobs.job import Jobs

        if not isinstance(loaded, Jobs):
            raise self._wrong_part("jobs", loaded, "a Jobs, as module:attribute")
        return loaded

    @cached_property
    def demo(self) -> Demo | None:
        """What to show of the system with demo data, if it has any."""
        demo: Demo | None = self._load(self._demo)
        if demo is not None and not (hasattr(demo, "prepare") and hasattr(demo, "sight")):
            raise self._wrong_part("demo", demo, "a module with prepare(db, address) and sight(db, address)")
        return demo

    @cached_property
    def page(self) -> str:
        return "" if self._page is None else self._page.read_text(encoding="utf-8")

    def _load(self, part: Any) -> Any:
        if not isinstance(part, str):
            return part
        module, _, attribute = part.partition(":")
        loaded = self._import(module, part)
        if not attribute:
            return loaded
        if not hasattr(loaded, attribute):
            raise ConfigurationError(f"system {self.name}: module {module} has no {attribute!r}")
        return getattr(loaded, attribute)

    def _import(self, module: str, part: str) -> ModuleType:
        try:
            return import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
                raise  # the module exists, and imports another one that does not
            raise ConfigurationError(f"system {self.name}: {part!r}: there is no module {missing.name!r}") from None

    def _wrong_part(self, part: str, value: object, wanted: str) -> ConfigurationError:
        return ConfigurationError(f"system {self.name}: {part} is of type {type(value).__name__}; give it {wanted}")

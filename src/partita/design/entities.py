"""Entities: a class body is the declaration, and creating the class checks it.

    class Order(Entity, table=shop, key=("CUSTOMER#{customer_id}", "ORDER#{placed_at}#{order_id}")):
        customer_id: str
        ...
        to_ship = Keys("GSI1", "STATUS#{status}", "{priority:desc}#{placed_at}", when=F.status == Status.OPEN)

Underneath is a `msgspec.Struct` whose fields are given by keyword. `Order.to_ship` is the way into the index.
"""

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import msgspec

from partita.design import declare
from partita.design.errors import DesignError
from partita.design.keys import KeyTemplates
from partita.design.models import Model, ViewModel
from partita.design.names import naming
from partita.design.tables import Table

_ROOTS = ("Entity", "View")


class EntityMeta(msgspec.StructMeta):
    """Takes the declaration's arguments out of the class statement and reads the body into a `Model`."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **declared: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, kw_only=True, rename=_rename(name, declared))

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **declared: Any) -> None:
        super().__init__(name, bases, namespace)
        if "of" in declared:
            cls.__view__ = declare.view(cls, declared["of"])
        elif "table" in declared:
            body = {label: value for base in reversed(cls.__mro__) for label, value in vars(base).items()}
            cls.__model__ = declare.model(cls, body, **declared)
            cls.__model__.table.models.append(cls.__model__)
        elif name not in _ROOTS and not declared.get("abstract"):
            raise DesignError(name, "no table is named", f"write class {name}(Entity, table=..., key=...)")


def _rename(name: str, declared: dict[str, Any]) -> Any:
    """Plain JSON of an entity, as an API shows it, has the names on disk."""
    table = declared["of"].__model__.table if "of" in declared else declared.get("table")
    return None if table is None else naming(name, declared.get("naming") or table.naming)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Entity(msgspec.Struct, metaclass=EntityMeta):
    """The base of every entity; its class statement names the table and the key templates.

    `was` lists old key formats that are still read; `naming` overrides the table's. `abstract=True` is for what several
    entities have in common: it is in no table, and they inherit it.
    """

    if TYPE_CHECKING:
        __model__: ClassVar[Model]

        def __init_subclass__(
            cls,
            *,
            table: Table = ...,
            key: KeyTemplates = None,
            was: list[tuple[str, ...]] = ...,
            naming: str = ...,
            abstract: bool = ...,
        ) -> None: ...


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, metaclass=EntityMeta):
    """Some attributes of an entity, for an index that does not hold them all: `class Ref(View, of=Check)`."""

    if TYPE_CHECKING:
        __view__: ClassVar[ViewModel]

        def __init_subclass__(cls, *, of: type[Entity]) -> None: ...

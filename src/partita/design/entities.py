"""Entities: a class body is the declaration, and creating the class checks it.

    class Order(Entity, table=shop, key=("CUSTOMER#{customer_id}", "ORDER#{placed_at}#{order_id}")):
        customer_id: str
        ...
        to_ship = Keys("GSI1", "STATUS#{status}", "{priority:desc}#{placed_at}", when=F.status == Status.OPEN)

An entity is a `msgspec.Struct` with keyword arguments. `Order.to_ship` reads it by its key in the index.
"""

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import msgspec

from partita.design import build_model
from partita.design.argument_checks import TEMPLATES, TEXT, Kind, check_arguments, check_known, list_of
from partita.design.keys import KeyTemplates
from partita.design.markers import AUTO, auto
from partita.design.models import Model, ViewModel
from partita.design.naming import Naming, check_distinct, naming
from partita.design.tables import Table
from partita.design.view_bases import check_rules, fields_of, inherited_classes, take_bases
from partita.errors import DesignError

_ROOTS = ("Declared", "Entity", "View")


class EntityMeta(msgspec.StructMeta):
    """Builds the `Model` of an entity from its class statement: the keyword arguments and the body."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **declared: Any) -> Any:
        for label in [label for label, value in namespace.items() if value is AUTO]:
            namespace[label] = msgspec.field(default_factory=auto)  # a plain default would be in the JSON Schema
        _check_arguments(name, declared)
        for field, annotation in namespace.get("__annotations__", {}).items():
            if isinstance(annotation, str):
                check_arguments(f"{name}.{field}", annotation=(annotation, TEXT))
        inherited = take_bases(name, namespace, bases)
        rename = _rename(name, declared)
        try:
            return super().__new__(mcls, name, inherited, namespace, kw_only=True, rename=rename)
        except ValueError:
            check_distinct(name, _names_on_disk(namespace, inherited, rename))
            raise
        except TypeError as error:  # msgspec rejects an attribute, such as one with a list as its default
            raise DesignError(name, str(error)) from error

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **declared: Any) -> None:
        super().__init__(name, bases, namespace)
        if name in _ROOTS and namespace["__module__"] == __name__:
            return
        inherited = inherited_classes(cls)
        check_rules(cls)
        if "table" in declared:
            body = {label: value for base in reversed(cls.__mro__) for label, value in vars(base).items()}
            cls.__model__ = build_model.build_model(cls, body, **declared)
            cls.__model__.table.models.append(cls.__model__)
            for view in (base for base in inherited if "__views__" in vars(base)):
                vars(view)["__views__"].append(build_model.build_view(view, cls.__model__))
        elif any(base.__name__ == "Entity" for base in inherited):
            raise DesignError(name, "it has no table", f"write class {name}(Entity, table=..., key=...)")
        else:
            cls.__views__ = list[ViewModel]()
            cls.__stored__ = build_model.stored_names(cls)

    def __instancecheck__(cls, instance: Any) -> bool:
        """An entity is an instance of all of its views, also of those beside its bases."""
        return super().__instancecheck__(instance) or cls in inherited_classes(type(instance))

    def __subclasscheck__(cls, other: type) -> bool:
        return super().__subclasscheck__(other) or cls in inherited_classes(other)


_ARGUMENTS: dict[str, Kind] = {
    "table": Kind("a table", lambda value: isinstance(value, Table), 'write table=Table("shop", pk="PK", sk="SK")'),
    "key": TEMPLATES,
    "old_keys": list_of(TEMPLATES, "a list of keys", 'write old_keys=[("ORDER#{order_id:plain}", "ORDER")]'),
}


def _check_arguments(name: str, declared: dict[str, Any]) -> None:
    """The arguments of a class statement; a naming is checked where it is used."""
    check_known(name, declared, (*_ARGUMENTS, "naming"))
    check_arguments(name, **{each: (declared[each], kind) for each, kind in _ARGUMENTS.items() if each in declared})


def _rename(name: str, declared: dict[str, Any]) -> Any:
    """The names of an entity in plain JSON, as an API returns it, are those on disk."""
    table = declared.get("table")
    chosen = declared.get("naming") or (table.naming if table is not None else None)
    return None if chosen is None else naming(name, chosen)


def _names_on_disk(namespace: dict[str, Any], bases: tuple[type, ...], rename: Any) -> dict[str, str]:
    """The names of the fields of a class that could not be created, those that it inherits first."""
    names = {info.name: info.encode_name for base in bases if fields_of(base) for info in msgspec.structs.fields(base)}
    return names | {field: rename(field) for field in namespace.get("__annotations__", {}) if rename is not None}


class Declared(msgspec.Struct, metaclass=EntityMeta):
    """The keyword arguments of an entity's class statement."""

    if TYPE_CHECKING:

        def __init_subclass__(
            cls,
            *,
            table: Table = ...,
            key: KeyTemplates = None,
            old_keys: list[tuple[str, ...]] = ...,
            naming: Naming = ...,
        ) -> None: ...

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any:
        """Called by pydantic, and by FastAPI through it; nothing else here needs pydantic."""
        from partita.design.pydantic_bridge import pydantic_schema

        return pydantic_schema(cls)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Entity(Declared):
    """The base of every entity; its class statement names the table and the key templates.

    `old_keys` lists earlier key templates, under which items are still read; `naming` overrides the table's.
    """

    if TYPE_CHECKING:
        __model__: ClassVar[Model]


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class View(Declared):
    """Attributes that entities inherit: those of a list, of an index projection, or that several entities share.

        class CardSummary(View):
            card_id: str
            title: str
            by_title = Keys("ByTitle", "{title}")

        class Card(CardSummary, Entity, table=cards, key="CARD#{card_id}"):
            text: str

    `CardSummary.by_title` reads summaries, `Card.by_title` whole cards. `naming` is the table's. An entity may inherit
    several views, and these need not contain each other.
    """

    if TYPE_CHECKING:
        __views__: ClassVar[list[ViewModel]]
        __stored__: ClassVar[tuple[str, ...]]

"""The model of an entity: attributes, keys and invariants, collected from its class body and never changed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from partita.design.codecs import AttributeMember, Codec, OpenEnumCodec, TextCodec
from partita.design.conditions import Condition
from partita.design.key_templates import Ordered, PartType, Template, plain_pattern
from partita.design.markers import (
    AUTOMATIC,
    CountOf,
    CreatedAt,
    Expires,
    InKey,
    Limit,
    Owns,
    References,
    SumOf,
    Transitions,
    Unique,
    Version,
)
from partita.design.migrations import Migration
from partita.design.naming import upper_case
from partita.design.separators import HASH, Separator
from partita.errors import DesignError
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.design.tables import Table


class Attribute(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One attribute: its names, its codec, and the markers of its annotation."""

    member: AttributeMember
    hint: Any  # the annotation
    kind: Any  # the type without None and markers
    markers: tuple[Any, ...]
    in_key: bool  # stored in the key only, of the table or of an index
    untracked: bool

    @property
    def index_key(self) -> str | None:
        """The attribute of an index key in which it is stored, in place of an attribute of its own."""
        found = self.marker(InKey) if self.in_key else None
        return None if found is None else found.index_key

    @property
    def fenced_name(self) -> str:
        """The attribute on disk that changes whenever its value does."""
        return self.index_key or self.name

    @cached_property
    def field(self) -> str:
        return self.member.field

    @cached_property
    def name(self) -> str:
        return self.member.name

    @cached_property
    def codec(self) -> Codec:
        return self.member.codec

    @cached_property
    def optional(self) -> bool:
        return self.member.optional

    @property
    def is_composed(self) -> bool:
        """Whether its text is stored in NFC, as a key has it."""
        return isinstance(self.codec, TextCodec | OpenEnumCodec) and self.codec.normalizes

    @property
    def metas(self) -> Iterator[msgspec.Meta]:
        """The constraints of its type, also inside `| None`."""
        return (each for each in self.markers if isinstance(each, msgspec.Meta))

    def marker(self, wanted: type) -> Any:
        return next((marker for marker in self.markers if isinstance(marker, wanted)), None)


class KeyAttribute(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A key attribute on disk: formatted by a template, or an attribute of the entity itself."""

    name: str
    template: Template | None
    field: str | None = None
    type: str = "S"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        if self.template is not None:
            return self.template.fields
        assert self.field is not None
        return (self.field,)

    @cached_property
    def whole_fields(self) -> tuple[str, ...]:
        """The attributes whose whole values it holds."""
        if self.template is None:
            return self.fields
        return tuple(each.field for each in self.template.parts if each.field and each.form and each.form.lossless)

    @property
    def separator(self) -> Separator:
        return HASH if self.template is None else self.template.separator

    @property
    def required_fields(self) -> tuple[str, ...]:
        """The attributes without which an item does not have this key attribute."""
        return self.fields if self.template is None else self.template.required_fields


def _nothing(_: str) -> None:
    return None


class EntityKeys(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The key of an entity in its table (`index` is None) or in one index; `when` makes it sparse."""

    owner: str
    index: str | None
    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    when: Condition | None = None

    @cached_property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        return self.partition + self.sort

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(field for attribute in self.attributes for field in attribute.fields))

    @cached_property
    def required_fields(self) -> tuple[str, ...]:
        """The attributes without which an item does not have this key."""
        return tuple(dict.fromkeys(field for attribute in self.attributes for field in attribute.required_fields))

    @cached_property
    def constant_prefixes(self) -> tuple[str, ...]:
        """The text that each attribute of the key begins with."""
        return tuple("" if each.template is None else each.template.constant_prefix for each in self.attributes)

    @cached_property
    def plain_values(self) -> Callable[[str], re.Match[str] | None]:
        """Matches the texts of the key, joined by a zero, where that gives all values; nothing where it cannot."""
        templates = [each.template for each in self.attributes if each.template is not None]
        pattern = plain_pattern(templates) if len(templates) == len(self.attributes) else None
        return _nothing if pattern is None else pattern.fullmatch

    @property
    def where(self) -> str:
        return self.owner if self.index is None else f"{self.owner}.{self.index}"


class Model(msgspec.Struct, frozen=True, eq=False, dict=True):
    """An entity as its class statement declares it."""

    cls: type[Any]
    table: "Table"
    attributes: Mapping[str, Attribute]
    key: EntityKeys
    old_keys: tuple[EntityKeys, ...]
    indexes: Mapping[str, tuple[EntityKeys, ...]]  # several where conditions choose between them
    uniques: tuple[Unique, ...]
    limits: tuple[Limit, ...]
    owns: tuple[Owns, ...]
    expires: Expires | None
    migrations: tuple[Migration, ...] = ()

    def __repr__(self) -> str:
        attributes, indexes = quantity(self.attributes, "attribute"), quantity(self.indexes, "index", "indexes")
        return f"Model({self.name!r} in table {self.table.name!r}: {attributes}, {indexes})"

    @cached_property
    def name(self) -> str:
        return self.cls.__name__

    @property
    def type_name(self) -> str:
        """The value of the table's type attribute."""
        return upper_case(self.name) if self.table.type_naming == "upper" else self.name

    @cached_property
    def members(self) -> tuple[AttributeMember, ...]:
        """The attributes that are stored under their own names."""
        return tuple(attribute.member for attribute in self.attributes.values() if not attribute.in_key)

    @cached_property
    def automatic_fields(self) -> frozenset[str]:
        """The attributes whose values the store sets."""
        return frozenset(attribute.field for attribute, _ in self.marked(*AUTOMATIC))

    @cached_property
    def untracked_fields(self) -> frozenset[str]:
        """The attributes whose changes leave the version and the update time as they are."""
        return frozenset(attribute.field for attribute in self.attributes.values() if attribute.untracked)

    @cached_property
    def index_key_fields(self) -> Mapping[str, KeyAttribute]:
        """The attributes that are stored in an index key only, each with that key attribute."""
        every = {each.name: each for several in self.indexes.values() for keys in several for each in keys.attributes}
        held = ((field, each.index_key) for field, each in self.attributes.items())
        return {field: every[name] for field, name in held if name is not None}

    @cached_property
    def known_fields(self) -> frozenset[str]:
        """The attributes whose values follow from the key: those that a form in it gives back whole."""
        parts = [part for each in self.key.attributes if each.template is not None for part in each.template.parts]
        fields = [part.field for part in parts if part.form is not None and part.form.lossless]
        fields += [each.field for each in self.key.attributes]
        return frozenset(field for field in fields if field is not None)

    @cached_property
    def stored_members(self) -> tuple[AttributeMember, ...]:
        """The attributes that are stored under their own names, with those that some were before."""
        return (*self.members, *(each.old for each in self.migrations if not each.old.field))

    def fenced_names(self, fields: Iterable[str]) -> tuple[str, ...]:
        """The attributes on disk of which one changes whenever the value of one of the fields does."""
        names = {self.attributes[field].fenced_name for field in fields}
        return tuple(sorted(names | {each.old.name for each in self.migrations if each.new.name in names}))

    def marked(self, *kinds: type) -> tuple[tuple[Attribute, Any], ...]:
        """The attributes with markers of these kinds, each with its marker."""
        found = self._marked.get(kinds)
        if found is None:
            every = ((each, marker) for each in self.attributes.values() for marker in each.markers)
            found = self._marked[kinds] = tuple(pair for pair in every if isinstance(pair[1], kinds))
        return found

    @cached_property
    def _marked(self) -> dict[tuple[type, ...], tuple[tuple[Attribute, Any], ...]]:
        return {}

    def one_marked(self, kind: type) -> Attribute | None:
        return next((attribute for attribute, _ in self.marked(kind)), None)

    @property
    def transitions(self) -> tuple[tuple[Attribute, Transitions], ...]:
        return self.marked(Transitions)

    @property
    def references(self) -> tuple[tuple[Attribute, References], ...]:
        return self.marked(References)

    @property
    def counters(self) -> tuple[tuple[Attribute, CountOf | SumOf], ...]:
        return self.marked(CountOf, SumOf)

    @cached_property
    def must_be_read(self) -> bool:
        """Whether its stored item is read before it is replaced: values of it survive, or others depend on them."""
        return bool(self.marked(CreatedAt, Version, CountOf, SumOf, Transitions) or self.owns or self.uniques)

    def part_types(self) -> dict[str, PartType]:
        return part_types(self.attributes)


class ViewModel(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A view as part of an entity that inherits it."""

    cls: type[Any]
    of: Model
    attributes: Mapping[str, Attribute]

    def __repr__(self) -> str:
        return f"ViewModel({self.name!r} of {self.of.name!r}: {quantity(self.attributes, 'attribute')})"

    @property
    def name(self) -> str:
        return self.cls.__name__

    @cached_property
    def members(self) -> tuple[AttributeMember, ...]:
        return tuple(attribute.member for attribute in self.attributes.values() if not attribute.in_key)


def part_types(attributes: Mapping[str, Attribute]) -> dict[str, PartType]:
    """The types of the attributes that a template may name."""
    return {
        field: PartType(each.kind, each.marker(Ordered), each.optional, each.is_composed)
        for field, each in attributes.items()
    }


def model_of(entity: type[Any]) -> Model:
    """The model of an entity class."""
    model = getattr(entity, "__model__", None)
    if not isinstance(model, Model):
        name = getattr(entity, "__name__", str(entity))
        raise DesignError(name, "it is not an entity", f"declare it as class {name}(Entity, table=..., key=...)")
    return model


def view_of(cls: type[Any]) -> ViewModel | None:
    """The model of a view class as part of its entity; None for an entity."""
    views = vars(cls).get("__views__")
    if views is None:
        return None
    if len(views) != 1:
        heirs = " and ".join(view.of.name for view in views) or "no entity"
        wrong = f"the view is inherited by {heirs}, so its Keys do not name one entity"
        raise DesignError(cls.__name__, wrong, "read by the Keys of an entity")
    view: ViewModel = views[0]
    return view

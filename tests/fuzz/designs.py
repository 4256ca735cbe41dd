"""Designs as data, with their Python source: what the fuzzer draws, loads and prints."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.forms import BY_NAME, Kind
from tests.fuzz.keys import IndexSpec, KeySpec, VectorIndexSpec
from tests.fuzz.source_text import Printed

STEPS = {0: (1,), 1: (0, 2), 2: ()}
"""The transitions of `n`, where an entity declares them; it starts at 0."""


@dataclass(frozen=True)
class FieldSpec:
    """An attribute of an entity; `default` is source text."""

    kind: Kind
    optional: bool = False
    default: str | None = None
    start: Any = None  # the value of the default
    in_key: bool = False
    in_index: str = ""  # the index key that alone holds it
    markers: tuple[str, ...] = ()

    @property
    def hidden(self) -> bool:
        """Whether the item has no attribute of this name."""
        return self.in_key or bool(self.in_index)

    def source(self, name: str) -> str:
        kind = f"{self.kind.type} | None" if self.optional else self.kind.type
        place = f"InKey({self.in_index!r})" if self.in_index else "InKey()"
        markers = [*([place] if self.hidden else []), *self.markers]
        kind = f"Annotated[{kind}, {', '.join(markers)}]" if markers else kind
        return f"    {name}: {kind}" + (f" = {self.default}" if self.default is not None else "")


@dataclass(frozen=True)
class ViewSpec:
    """A view of an entity: some of its fields."""

    name: str
    fields: frozenset[str]


@dataclass(frozen=True)
class UniqueSpec:
    """A unique value, of one field or of several."""

    name: str
    fields: tuple[str, ...]
    case_insensitive: bool = False
    keep: bool = False
    sparse: bool = False

    def source(self) -> str:
        options = {"case_insensitive": self.case_insensitive, "keep_after_delete": self.keep}
        given = [repr(each) for each in self.fields] + [f"{name}=True" for name, on in options.items() if on]
        return f"    {self.name} = Unique({', '.join(given + (['when=F.n == 0'] if self.sparse else []))})"


@dataclass(frozen=True)
class Link:
    """How an item names another: for each field of the other's key, the field of this one."""

    other: int
    parts: dict[str, str] = field(hash=False)

    def via(self) -> str:
        differing = {part: source for part, source in self.parts.items() if part != source}
        return f", via={differing}" if differing else ""


@dataclass(frozen=True)
class CounterSpec:
    """A count of children, or a sum of one of their attributes; `link` is from the child to this parent."""

    name: str
    child: int
    link: Link
    amount: str | None = None
    type: str = "int"
    sparse: bool = False

    def source(self) -> str:
        amount = "" if self.amount is None else f", {self.amount!r}"
        when = ", when=F.n == 0" if self.sparse else ""
        marker = (
            f"{'CountOf' if self.amount is None else 'SumOf'}(lambda: E{self.child}{amount}{when}{self.link.via()})"
        )
        zero = {"int": "0", "float": "0.0", "Decimal": "Decimal(0)"}[self.type]
        return f"    {self.name}: Annotated[{self.type}, {marker}] = {zero}"


@dataclass(frozen=True, repr=False, eq=False)
class EntitySpec(Printed):
    """An entity: its attributes, keys and invariants."""

    number: int
    fields: dict[str, FieldSpec]
    key: KeySpec
    indexes: tuple[KeySpec, ...] = ()
    old: KeySpec | None = None
    views: tuple[ViewSpec, ...] = ()
    uniques: tuple[UniqueSpec, ...] = ()
    counters: tuple[CounterSpec, ...] = ()
    references: tuple[Link, ...] = ()
    limits: tuple[tuple[str, int | str], ...] = ()
    owns: tuple[int, ...] = ()
    expires: str | None = None
    expires_when: bool = False
    version: bool = False
    times: bool = False
    steps: bool = False
    implied: frozenset[str] = frozenset()  # attributes of indexes that the items are in without a declaration

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return f"E{self.number}"

    def kind(self, name: str) -> Kind:
        return BY_NAME["whole"] if name in ("n", "most") else self.fields[name].kind

    def keys(self, index: str | None) -> list[KeySpec]:
        """The keys in the table, or all that are declared in an index."""
        return [self.key] if index is None else [each for each in self.indexes if each.index == index]

    def parameter(self, name: str) -> str:
        """The annotation of a parameter that takes the value of a field."""
        kind = self.kind(name).type
        return f"{kind} | None" if name in self.fields and self.fields[name].optional else kind

    def view(self, name: str) -> ViewSpec:
        return next(each for each in self.views if each.name == name)

    @property
    def own_fields(self) -> list[str]:
        """The fields that a caller gives values for."""
        return [*self.fields, "n", *(["most"] if any(bound == "most" for _, bound in self.limits) else [])]

    @property
    def settled_fields(self) -> set[str]:
        """The fields whose text is stored in its composed form."""
        in_index = {name for name, each in self.fields.items() if each.in_index}
        return self.plain_fields | set(self.key.fields) | in_index

    @property
    def plain_fields(self) -> set[str]:
        """The fields that are themselves keys."""
        every = [self.key, *self.indexes]
        declared = {each.field for keys in every for each in keys.attributes if each.field is not None}
        return declared | self.implied

    def source(self, plain_table: bool, separator: str) -> Iterable[str]:
        def written(keys: KeySpec) -> str:
            return f"({', '.join(each.source(separator) for each in keys.attributes)})"

        bases = ", ".join([*(each.name for each in self.views), "Entity"])
        key = "" if plain_table else f", key={written(self.key)}"
        old = "" if self.old is None else f", old_keys=[{written(self.old)}]"
        viewed = {name for each in self.views for name in each.fields}
        yield f"class {self.name}({bases}, table=tab{key}{old}):"
        yield from (each.source(name) for name, each in self.fields.items() if name not in viewed)
        step = f"Transitions({ ({k: list(v) for k, v in STEPS.items()}) }, start=[0])"
        yield f"    n: {f'Annotated[int, {step}]' if self.steps else 'int'} = 0"
        yield from (each.source() for each in self.counters)
        if self.version:
            yield "    version: Annotated[int, Version()] = 0"
        if self.times:
            yield "    created: Annotated[datetime, CreatedAt()] = AUTO"
            yield "    updated: Annotated[datetime, UpdatedAt()] = AUTO"
        if any(bound == "most" for _, bound in self.limits):
            yield "    most: int = 2"
        yield from (f"    {keys.declaration(self.key, separator)}" for keys in self.indexes if not keys.view)
        yield from (each.source() for each in self.uniques)
        for name, bound in self.limits:
            yield f"    limit_{name} = Limit(F.{name} <= {bound if isinstance(bound, int) else f'F.{bound}'})"
        if self.owns:
            yield f"    children = Owns(lambda: ({', '.join(f'E{each}' for each in self.owns)},))"
        if self.expires is not None:
            yield f"    kept = Expires({self.expires!r}{', when=F.n == 0' if self.expires_when else ''})"

    def view_source(self, separator: str) -> Iterable[str]:
        for view in self.views:
            yield f"class {view.name}(View):"
            yield from (each.source(name) for name, each in self.fields.items() if name in view.fields)
            declared = [keys for keys in self.indexes if keys.view == view.name]
            yield from (f"    {keys.declaration(self.key, separator)}" for keys in declared)


@dataclass(frozen=True, repr=False, eq=False)
class DesignSpec(Printed):
    """A table with its indexes and entities."""

    entities: tuple[EntitySpec, ...]
    indexes: tuple[IndexSpec, ...] = ()
    key_names: tuple[str, ...] = ("PK", "SK")
    plain_table: bool = False
    typed: bool = False  # a type attribute
    separator: str = "#"
    vectors: VectorIndexSpec | None = None

    def __repr__(self) -> str:
        return self.source()

    def links(self, entity: EntitySpec) -> list[Link]:
        """How the items of an entity name others: for a reference, or to be counted."""
        counted = [each.link for parent in self.entities for each in parent.counters if each.child == entity.number]
        return [*entity.references, *counted]

    @property
    def ttl(self) -> bool:
        return any(each.expires for each in self.entities)

    def source(self) -> str:
        lines = [line for each in self.entities for line in each.view_source(self.separator)]
        used = [each for each in self.indexes if any(entity.keys(each.name) for entity in self.entities)]
        indexes = "".join(f"{each.source()}, " for each in used)
        pk, *sk = self.key_names
        options = "".join(f", sk={each!r}" for each in sk) + (', ttl="ttl"' if self.ttl else "")
        options += ', type_attribute="type"' if self.typed else ""
        options += "" if self.separator == "#" else f", separator={self.separator!r}"
        options += "" if self.vectors is None else f", vector_indexes=({self.vectors.source()},)"
        lines.append(f"tab = Table('tab', pk={pk!r}{options}, indexes=({indexes}))")
        for each in self.entities:
            lines += each.source(self.plain_table, self.separator)
        return "\n".join(lines) + "\n"

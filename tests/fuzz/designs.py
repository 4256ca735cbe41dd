"""Designs and access patterns as data, with their Python source: what the fuzzer draws, loads and prints."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from partita import Design, DesignError
from tests.fuzz.forms import BY_NAME, Form, Kind

HEADER = """\
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from partita import *
from tests.fuzz.forms import Mood, Size

"""
STEPS = {0: (1,), 1: (0, 2), 2: ()}
"""The transitions of `n`, where an entity declares them; it starts at 0."""


def literal(value: Any) -> str:
    """A value as source text."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, datetime):
        return f"datetime.fromisoformat({value.isoformat()!r})"
    if isinstance(value, date):
        return f"date.fromisoformat({value.isoformat()!r})"
    if isinstance(value, UUID):
        return f"UUID({str(value)!r})"
    if isinstance(value, Decimal):
        return f"Decimal({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


class Printed:
    """Printed by Hypothesis as its source."""

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))


@dataclass(frozen=True)
class Segment:
    """A piece of a template: constant text, then perhaps a field in some form."""

    constant: str
    field: str | None = None
    form: Form | None = None

    def source(self) -> str:
        if self.form is None:
            return self.constant
        return f"{self.constant}{{{self.field}{':' if self.form.spec else ''}{self.form.spec}}}"


@dataclass(frozen=True)
class KeyAttribute:
    """An attribute of a key on disk: written by a template, or an attribute of the entity itself."""

    name: str
    template: tuple[Segment, ...] | None = None
    field: str | None = None
    form: Form | None = None  # of a plain attribute

    def source(self) -> str:
        return "None" if self.template is None else repr("#".join(each.source() for each in self.template))

    @property
    def parts(self) -> list[tuple[str, Form]]:
        if self.template is None:
            assert self.field is not None
            assert self.form is not None
            return [(self.field, self.form)]
        return [(each.field, each.form) for each in self.template if each.field is not None and each.form is not None]


@dataclass(frozen=True)
class Slot:
    """A part of a key that a read gives a value for."""

    field: str
    form: Form
    partition: bool


@dataclass(frozen=True)
class KeySpec:
    """An entity's key in the table or in an index."""

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    index: str | None = None
    sparse: bool = False  # when=F.n == 0
    of_view: bool = False

    @property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        return self.partition + self.sort

    @property
    def label(self) -> str:
        return str(self.index).lower()

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys(name for each in self.attributes for name, _ in each.parts))

    @property
    def slots(self) -> list[Slot]:
        """The parts in order; a field takes one value, and a lossy form of it another one if it comes first."""
        found: dict[Any, Slot] = {}
        for each in self.attributes:
            for name, form in each.parts:
                identity = name if form.lossless or name in found else (name, form)
                found.setdefault(identity, Slot(name, form, each in self.partition))
        return list(found.values())

    def declaration(self, own: "KeySpec") -> str:
        """`Keys(...)`; the table's own key attributes have no template here."""
        held = {each.name for each in own.attributes}
        both = [
            [None if each.template is None or each.name in held else each.source() for each in several]
            for several in (self.partition, self.sort)
        ]
        parts = [repr(self.index)]
        for several in both if any(text for texts in both for text in texts) else ():
            if all(text is None for text in several):
                parts.append("None")
            else:
                inner = ", ".join(str(text) for text in several)
                parts.append(inner if len(several) == 1 else f"({inner})")
        if self.sparse:
            parts.append("when=F.n == 0")
        return f"{self.label} = Keys({', '.join(parts)})"


@dataclass(frozen=True)
class IndexSpec:
    """A secondary index of the table."""

    name: str
    pk: tuple[str, ...]
    sk: tuple[str, ...]
    local: bool = False
    project: str = '"ALL"'

    def source(self) -> str:
        keys = [repr(each[0]) if len(each) == 1 else repr(each) for each in (self.pk, self.sk) if each]
        local = ", local=True" if self.local else ""
        project = "" if self.project == '"ALL"' else f", project={self.project}"
        return f"Index({self.name!r}, {', '.join(keys)}{local}{project})"


@dataclass(frozen=True)
class FieldSpec:
    """An attribute of an entity; `default` is source text."""

    kind: Kind
    optional: bool = False
    default: str | None = None
    in_key: bool = False
    markers: tuple[str, ...] = ()

    def source(self, name: str) -> str:
        kind = f"{self.kind.type} | None" if self.optional else self.kind.type
        markers = [*(["InKey()"] if self.in_key else []), *self.markers]
        kind = f"Annotated[{kind}, {', '.join(markers)}]" if markers else kind
        return f"    {name}: {kind}" + (f" = {self.default}" if self.default is not None else "")


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
    view: frozenset[str] = frozenset()
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

    def keys(self, index: str | None) -> KeySpec:
        return self.key if index is None else next(each for each in self.indexes if each.index == index)

    def has(self, index: str | None) -> bool:
        return index is None or any(each.index == index for each in self.indexes)

    @property
    def plain_fields(self) -> set[str]:
        """The fields that are themselves keys."""
        every = [self.key, *self.indexes]
        declared = {each.field for keys in every for each in keys.attributes if each.field is not None}
        return declared | self.implied

    def source(self, plain_table: bool) -> Iterable[str]:
        bases = f"V{self.number}, Entity" if self.view else "Entity"
        key = "" if plain_table else f", key=({', '.join(each.source() for each in self.key.attributes)})"
        old = "" if self.old is None else f", old_keys=[({', '.join(each.source() for each in self.old.attributes)})]"
        yield f"class {self.name}({bases}, table=tab{key}{old}):"
        yield from (each.source(name) for name, each in self.fields.items() if name not in self.view)
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
        yield from (f"    {keys.declaration(self.key)}" for keys in self.indexes if not keys.of_view)
        yield from (each.source() for each in self.uniques)
        for name, bound in self.limits:
            yield f"    limit_{name} = Limit(F.{name} <= {bound if isinstance(bound, int) else f'F.{bound}'})"
        if self.owns:
            yield f"    children = Owns(lambda: ({', '.join(f'E{each}' for each in self.owns)},))"
        if self.expires is not None:
            yield f"    kept = Expires({self.expires!r}{', when=F.n == 0' if self.expires_when else ''})"

    def view_source(self) -> Iterable[str]:
        if self.view:
            yield f"class V{self.number}(View):"
            yield from (each.source(name) for name, each in self.fields.items() if name in self.view)
            yield from (f"    {keys.declaration(self.key)}" for keys in self.indexes if keys.of_view)


@dataclass(frozen=True, repr=False, eq=False)
class DesignSpec(Printed):
    """A table with its indexes and entities."""

    entities: tuple[EntitySpec, ...]
    indexes: tuple[IndexSpec, ...] = ()
    key_names: tuple[str, ...] = ("PK", "SK")
    plain_table: bool = False
    typed: bool = False  # a type attribute

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
        lines = [line for each in self.entities for line in each.view_source()]
        used = [each for each in self.indexes if any(entity.has(each.name) for entity in self.entities)]
        indexes = "".join(f"{each.source()}, " for each in used)
        pk, *sk = self.key_names
        options = "".join(f", sk={each!r}" for each in sk) + (', ttl="ttl"' if self.ttl else "")
        options += ', type_attribute="type"' if self.typed else ""
        lines.append(f"tab = Table('tab', pk={pk!r}{options}, indexes=({indexes}))")
        for each in self.entities:
            lines += each.source(self.plain_table)
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, repr=False, eq=False)
class PatternSpec(Printed):
    """A read: which entities, by which key, how many leading parts are given, what bounds the next, which order."""

    name: str
    entities: tuple[EntitySpec, ...]
    index: str | None
    given: int
    bound: str = ""  # since, until, after, before, between, starts_with
    promise: str = ""  # smallest_first, largest_first
    single: bool = False
    fan: int | None = None  # the position of a part that takes several values
    filtered: bool = False  # where(F.n == 0)

    def __repr__(self) -> str:
        return self.source()

    @property
    def keys(self) -> KeySpec:
        return self.entities[0].keys(self.index)

    @property
    def slots(self) -> list[Slot]:
        return self.keys.slots

    @property
    def free(self) -> Slot | None:
        """The part that the bounds and the promise are about."""
        return self.slots[self.given] if self.given < len(self.slots) else None

    @property
    def bounds(self) -> int:
        return {"since": 1, "until": 1, "after": 1, "before": 1, "between": 2, "starts_with": 1}.get(self.bound, 0)

    def all_shards(self, at: int) -> bool:
        return self.fan == at and bool(self.slots[at].form.shards)

    def parameter(self, slot: Slot) -> str:
        return slot.form.query_type or self.entities[0].kind(slot.field).type

    def source(self) -> str:
        entity = self.entities[0]
        if self.single:
            fields = self.keys.fields
            signature = ", ".join(f"{name}: {entity.kind(name).type}" for name in fields)
            read = f"get({entity.name}, {', '.join(fields)})"
            return f"@pattern\ndef {self.name}({signature}) -> Item[{entity.name}]:\n    return {read}\n"
        parameters: list[str] = []
        parts: list[str] = []
        for at, slot in enumerate(self.slots[: self.given]):
            if self.all_shards(at):
                parts.append("ALL_SHARDS")
                continue
            fan = self.fan == at
            parts.append(f"fan_out(a{at}, 3)" if fan else f"a{at}")
            kind = self.parameter(slot)
            parameters.append(f"a{at}: Sequence[{kind}]" if fan else f"a{at}: {kind}")
        if self.free is not None:
            parameters += [f"b{at}: {self.parameter(self.free)}" for at in range(self.bounds)]
        call = ", ".join(parts)
        readables = [self._readable(each) for each in self.entities]
        if len(readables) > 1:
            read = f"collection({', '.join(readables)})({call})"
        else:
            read = f"query({readables[0]}{', ' if call else ''}{call})"
        if self.bounds:
            read += f".{self.bound}({', '.join(f'b{at}' for at in range(self.bounds))})"
        if self.promise and self.free is not None:
            read += f".{self.promise}({self.free.field!r})"
        if self.filtered:
            read += ".where(F.n == 0)"
        result = " | ".join(map(self.result, self.entities))
        return f"@pattern\ndef {self.name}({', '.join(parameters)}) -> Items[{result}]:\n    return {read}\n"

    def result(self, entity: EntitySpec) -> str:
        """The class of the answers."""
        return f"V{entity.number}" if self.of_view(entity) else entity.name

    def of_view(self, entity: EntitySpec) -> bool:
        """Whether the answers are views: where one entity is read by the keys that its view declares."""
        return len(self.entities) == 1 and entity.keys(self.index).of_view

    def _readable(self, entity: EntitySpec) -> str:
        return entity.name if self.index is None else f"{self.result(entity)}.{entity.keys(self.index).label}"


@dataclass
class Loaded:
    """A design that was accepted, with the patterns that were."""

    spec: DesignSpec
    source: str
    names: dict[str, Any]
    design: Design
    patterns: list[PatternSpec]

    def cls(self, entity: EntitySpec) -> Any:
        return self.names[entity.name]


def load(spec: DesignSpec, wanted: list[PatternSpec]) -> Loaded | None:
    """The design and those of the patterns that are accepted; None where the design itself is rejected."""
    names: dict[str, Any] = {"__name__": "fuzzed"}
    source = spec.source()
    try:
        exec(HEADER + source, names)
        design: Design = _proven(names)
    except DesignError:
        return None
    accepted: list[PatternSpec] = []
    for each in wanted:
        patterns = names["tab"].patterns
        before = len(patterns)
        try:
            exec(each.source(), names)
            design = _proven(names)
        except DesignError:
            del patterns[before:]
        else:
            source += each.source()
            accepted.append(each)
    return Loaded(spec, HEADER + source + 'design = prove("fuzzed", tab)\n', names, design, accepted)


def _proven(names: dict[str, Any]) -> Design:
    design: Design = names["prove"]("fuzzed", names["tab"])
    return design

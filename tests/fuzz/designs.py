"""Random designs as source text: entities with every form of key part, indexes of every kind, and access patterns."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import partita
from partita import Design, DesignError
from tests.fuzz import forms
from tests.fuzz.forms import FORMS, Form

CONSTANTS = ["A", "B", "AB", "A:", "META", "z", "0", "2025", "p"]


@dataclass(frozen=True)
class Segment:
    """A piece of a template: constant text, then perhaps a field."""

    constant: str
    field: str | None = None


Template = tuple[Segment, ...]


@dataclass(frozen=True)
class KeySpec:
    """The templates of one key; an index also has a name and perhaps a condition."""

    partition: Template
    sort: Template
    index: str | None = None
    sparse: bool = False

    @property
    def fields(self) -> list[str]:
        """The fields of the partition, then those of the sort key, each once."""
        return list(dict.fromkeys(each.field for each in (*self.partition, *self.sort) if each.field is not None))

    @property
    def partition_fields(self) -> list[str]:
        return list(dict.fromkeys(each.field for each in self.partition if each.field is not None))


@dataclass(frozen=True, repr=False)
class EntitySpec:
    name: str
    forms: dict[str, Form] = field(hash=False)
    key: KeySpec
    indexes: tuple[KeySpec, ...] = ()
    unique: str | None = None
    in_key: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return self.name

    def keys(self, index: str | None) -> KeySpec:
        return self.key if index is None else next(each for each in self.indexes if each.index == index)


@dataclass(frozen=True, repr=False)
class PatternSpec:
    """A read: which entities, by which key, how many leading parts are given, what bounds the next, which order."""

    name: str
    entities: tuple[EntitySpec, ...]
    index: str | None
    given: int
    bound: str = ""  # since, until, between, starts_with
    promise: str = ""  # smallest_first, largest_first
    single: bool = False

    def __repr__(self) -> str:
        return self.source()

    @property
    def keys(self) -> KeySpec:
        return self.entities[0].keys(self.index)

    @property
    def free(self) -> str | None:
        """The field that the bounds and the promise are about."""
        left = self.keys.fields[self.given :]
        return left[0] if left else None

    def form(self, name: str) -> Form:
        return self.entities[0].forms[name]

    def source(self) -> str:
        keys = self.keys
        parameters = [(f"a{at}", self.form(name).parameter) for at, name in enumerate(keys.fields[: self.given])]
        call = ", ".join(name for name, _ in parameters)
        bounds = {"since": 1, "until": 1, "between": 2, "starts_with": 1}.get(self.bound, 0)
        if bounds and self.free is not None:
            parameters += [(f"b{at}", self.form(self.free).parameter) for at in range(bounds)]
        signature = ", ".join(f"{name}: {kind}" for name, kind in parameters)
        result = " | ".join(each.name for each in self.entities)
        if self.single:
            return f"@pattern\ndef {self.name}({signature}) -> Item[{result}]: ...\n"
        if len(self.entities) > 1:
            readables = ", ".join(_readable(each, self.index) for each in self.entities)
            read = f"collection({readables})({call})"
        elif self.index is None:
            read = f"query({result}, {call})"
        else:
            read = f"{_readable(self.entities[0], self.index)}.query({call})"
        if bounds:
            read += f".{self.bound}({', '.join(f'b{at}' for at in range(bounds))})"
        if self.promise:
            read += f".{self.promise}({self.free!r})"
        return f"@pattern\ndef {self.name}({signature}) -> Items[{result}]:\n    return {read}\n"


def _readable(entity: EntitySpec, index: str | None) -> str:
    return entity.name if index is None else f"{entity.name}.{index.lower()}"


@dataclass(frozen=True, repr=False)
class DesignSpec:
    entities: tuple[EntitySpec, ...]

    def __repr__(self) -> str:
        return self.source()

    def source(self) -> str:
        used = sorted({keys.index for each in self.entities for keys in each.indexes if keys.index is not None})
        indexes = "".join(f'Index("{name}", "{name}PK", "{name}SK"), ' for name in used)
        lines = [f'tab = Table("tab", pk="PK", sk="SK", indexes=({indexes}))']
        for each in self.entities:
            lines.append(f"class {each.name}(Entity, table=tab, key=({_text(each, each.key)})):")
            for name, form in each.forms.items():
                markers = ["InKey()"] if name in each.in_key else []
                markers += ["Unique()"] if name == each.unique else []
                kind = f"Annotated[{form.type}, {', '.join(markers)}]" if markers else form.type
                lines.append(f"    {name}: {kind}")
            lines.append("    n: int = 0")
            for keys in each.indexes:
                when = ", when=F.n == 0" if keys.sparse else ""
                lines.append(f"    {str(keys.index).lower()} = Keys({keys.index!r}, {_text(each, keys)}{when})")
        return "\n".join(lines) + "\n"


def _text(entity: EntitySpec, keys: KeySpec) -> str:
    return ", ".join(repr(_template(entity, each)) for each in (keys.partition, keys.sort))


def _template(entity: EntitySpec, template: Template) -> str:
    texts = []
    for each in template:
        spec = entity.forms[each.field].spec if each.field is not None else ""
        part = "" if each.field is None else f"{{{each.field}{':' if spec else ''}{spec}}}"
        texts.append(each.constant + part)
    return "#".join(texts)


@st.composite
def _templates(draw: st.DrawFn, fields: list[str], *, least: int = 0) -> Template:
    """Some of the fields in some order, between constants."""
    chosen = draw(st.lists(st.sampled_from(fields), unique=True, min_size=least, max_size=2)) if fields else []
    segments: list[Segment] = []
    for name in chosen:
        if draw(st.booleans()):
            segments.append(Segment(draw(st.sampled_from(CONSTANTS))))
        segments.append(Segment(draw(st.sampled_from(["", "", "", "v", "A:"])), name))
    if not segments or draw(st.integers(0, 4)) == 0:
        segments.append(Segment(draw(st.sampled_from(CONSTANTS))))
    return tuple(segments)


@st.composite
def _entities(draw: st.DrawFn, number: int, shared: Form) -> EntitySpec:
    chosen = {"p": shared}
    for at in range(draw(st.integers(1, 3))):
        chosen[f"f{at}"] = draw(st.sampled_from(FORMS))
    names = list(chosen)
    constant = draw(st.sampled_from(["P", "P", "P", f"E{number}"]))
    key = KeySpec((Segment(constant), Segment("", "p")), draw(_templates(names[1:], least=draw(st.integers(0, 1)))))
    indexes = tuple(
        KeySpec(
            (Segment(draw(st.sampled_from(["S", "T"]))), *draw(_templates(names, least=1))[:2]),
            draw(_templates(names[1:])),
            name,
            draw(st.integers(0, 3)) == 0,
        )
        for name in ("GSI1", "GSI2")
        if draw(st.booleans())
    )
    in_key = frozenset(
        name for name in key.fields if chosen[name].lossless and name != "p" and draw(st.integers(0, 5)) == 0
    )
    unique = draw(st.sampled_from([*names[1:], None, None, None]))
    return EntitySpec(f"E{number}", chosen, key, indexes, unique, in_key)


@st.composite
def designs(draw: st.DrawFn) -> DesignSpec:
    shared = draw(st.sampled_from([forms.BY_NAME["text"], forms.BY_NAME["text"], forms.BY_NAME["uuid"]]))
    return DesignSpec(tuple(draw(_entities(number, shared)) for number in range(draw(st.integers(1, 3)))))


@st.composite
def patterns(draw: st.DrawFn, design: DesignSpec, name: str) -> PatternSpec:
    entity = draw(st.sampled_from(design.entities))
    index = draw(st.sampled_from([None, *(each.index for each in entity.indexes)]))
    keys = entity.keys(index)
    if index is None and draw(st.integers(0, 3)) == 0:
        return PatternSpec(name, (entity,), None, len(keys.fields), single=True)
    given = draw(st.integers(len(keys.partition_fields), len(keys.fields)))
    others = [
        each
        for each in design.entities
        if each is not entity and (index is None or any(keys.index == index for keys in each.indexes))
    ]
    more = draw(st.lists(st.sampled_from(others), unique=True, max_size=2)) if others else []
    bound = promise = ""
    if given < len(keys.fields):
        bound = draw(st.sampled_from(["", "", "", "since", "until", "between", "starts_with"]))
        if bound == "starts_with" and not entity.forms[keys.fields[given]].text:
            bound = "since"
        promise = draw(st.sampled_from(["", "", "smallest_first", "largest_first"]))
    return PatternSpec(name, (entity, *more), index, given, bound, promise)


@dataclass
class Loaded:
    """A design that was accepted, with the patterns that were."""

    spec: DesignSpec
    source: str
    names: dict[str, Any]
    design: Design
    patterns: list[PatternSpec]


def load(spec: DesignSpec, wanted: list[PatternSpec]) -> Loaded | None:
    """The design and those of the patterns that are accepted; None where the design itself is rejected."""
    source = spec.source()
    if _executed(source) is None:
        return None
    accepted: list[PatternSpec] = []
    for each in wanted:
        longer = source + each.source()
        if _executed(longer) is not None:
            source = longer
            accepted.append(each)
    names = _executed(source)
    assert names is not None
    return Loaded(spec, source, names, names["design"], accepted)


def _executed(source: str) -> dict[str, Any] | None:
    names: dict[str, Any] = {"__name__": "fuzzed"}
    exec("from partita import *", names)
    for module in (forms,):
        names |= {name: value for name, value in vars(module).items() if not name.startswith("_")}
    exec("from typing import Annotated, Literal\nfrom datetime import datetime, date", names)
    names["partita"] = partita
    try:
        exec(source + 'design = prove("fuzzed", tab)\n', names)
    except DesignError:
        return None
    return names

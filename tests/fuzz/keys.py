"""Keys of a random design as data: templates, plain attributes, indexes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fuzz.forms import Form


@dataclass(frozen=True)
class Segment:
    """A piece of a template: constant text, then perhaps a field in some form."""

    constant: str
    field: str | None = None
    form: Form | None = None
    optional: bool = False  # the last one, which is left out where its field is None

    def source(self) -> str:
        if self.form is None:
            return self.constant
        mark = "?" if self.optional else ""
        return f"{self.constant}{{{self.field}{mark}{':' if self.form.spec else ''}{self.form.spec}}}"


@dataclass(frozen=True)
class KeyAttribute:
    """An attribute of a key on disk: written by a template, or an attribute of the entity itself."""

    name: str
    template: tuple[Segment, ...] | None = None
    field: str | None = None
    form: Form | None = None  # of a plain attribute

    def source(self, separator: str) -> str:
        return "None" if self.template is None else repr(separator.join(each.source() for each in self.template))

    @property
    def required(self) -> list[str]:
        """The fields without which an item does not have the key."""
        if self.template is None:
            return [] if self.field is None else [self.field]
        return [each.field for each in self.template if each.field is not None and not each.optional]

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
    when: int | None = None  # when=F.n == 0
    view: str = ""  # the view that declares it
    label: str = ""

    @property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        return self.partition + self.sort

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether these keys are the ones of an item, by their `when`."""
        return self.when is None or bool(values["n"] == self.when)

    def has_parts(self, values: Mapping[str, Any]) -> bool:
        """Whether an item has all parts that the templates need."""
        templates = (each for each in self.attributes if each.template is not None)
        return all(values[name] is not None for each in templates for name in each.required)

    def contains(self, values: Mapping[str, Any]) -> bool:
        """Whether an item has all parts that it needs to be in the index."""
        return all(values[name] is not None for each in self.attributes for name in each.required)

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

    def declaration(self, own: "KeySpec", separator: str) -> str:
        """`Keys(...)`; the table's own key attributes have no template here."""
        held = {each.name for each in own.attributes}
        both = [
            [None if each.template is None or each.name in held else each.source(separator) for each in several]
            for several in (self.partition, self.sort)
        ]
        parts = [repr(self.index)]
        for several in both if any(text for texts in both for text in texts) else ():
            if all(text is None for text in several):
                parts.append("None")
            else:
                inner = ", ".join(str(text) for text in several)
                parts.append(inner if len(several) == 1 else f"({inner})")
        if self.when is not None:
            parts.append(f"when=F.n == {self.when}")
        return f"{self.label} = Keys({', '.join(parts)})"


VECTOR_INDEX = "VEC"


@dataclass(frozen=True)
class VectorIndexSpec:
    """The vector index of the table, of the attribute `vec`."""

    partition: bool  # whether a search gives the attribute VECPK
    filters: tuple[str, ...]
    distance: str

    def source(self) -> str:
        pk = f', pk="{VECTOR_INDEX}PK"' if self.partition else ""
        return f'VectorIndex("{VECTOR_INDEX}", "vec"{pk}, filters={self.filters}, distance="{self.distance}")'


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

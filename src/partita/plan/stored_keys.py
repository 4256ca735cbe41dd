"""Which keys items really have, in a table and in each of its indexes.

DynamoDB puts an item into an index as soon as it has all of the index's key attributes, whichever declaration wrote
them. So the proof does not ask what an entity declares for an index but which attributes it writes: through its own
key, through the keys of any index, or as plain attributes. Guards of unique values are items as well.
"""

import enum
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cache
from itertools import product
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

import msgspec

from partita.design.key_languages import SOME_TEXT, Language, literal, meet, sequence, starting_with, texts
from partita.design.key_parts import DayPart, TextPart, UuidPart
from partita.design.key_templates import joined_language
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.open_enum import OpenEnum
from partita.design.separators import HASH
from partita.design.tables import Index
from partita.plan.items import GUARD


class KeyDomain(msgspec.Struct, frozen=True, eq=False):
    """The values that a key attribute can have: texts of a language, or numbers or bytes, any or one of some."""

    type: str = "S"
    languages: tuple[Language, ...] = ()
    values: frozenset[Any] | None = None

    def meet(self, other: "KeyDomain") -> str | None:
        """An example of a value that is in both, or None."""
        if self.type != other.type:
            return None
        if self.type == "S":
            return meet(*self.languages, *other.languages)
        if self.values is None or other.values is None:
            some = self.values or other.values
            return str(min(some, key=str)) if some else "any value"
        shared = self.values & other.values
        return str(min(shared, key=str)) if shared else None


def text_domain(*languages: Language) -> KeyDomain:
    return KeyDomain("S", languages)


class StoredKey(msgspec.Struct, frozen=True, eq=False):
    """A form of key that items of one entity can have in a table or index."""

    model: Model
    name: str  # what such an item is, for error messages
    source: str  # the templates, as they were declared
    domains: Mapping[str, KeyDomain]
    keys: EntityKeys | None = None  # None where nothing declares it


def meeting(one: Mapping[str, KeyDomain], other: Mapping[str, KeyDomain]) -> dict[str, str] | None:
    """A key that is in both, attribute by attribute, or None."""
    found: dict[str, str] = {}
    for name in one:  # the partition first: most keys differ there
        if name not in other:
            continue
        value = one[name].meet(other[name])
        if value is None:
            return None
        found[name] = value
    return found


def attribute_domain(model: Model, attribute: KeyAttribute) -> KeyDomain:
    """The values of a key attribute of an entity."""
    if attribute.template is not None:
        return text_domain(attribute.template.language)
    assert attribute.field is not None
    kind = model.attributes[attribute.field].kind
    listed = listed_values(kind)
    if attribute.type != "S":
        return KeyDomain(attribute.type, values=None if listed is None else frozenset(listed))
    if listed is not None:
        return text_domain(texts(str(value) for value in listed))
    return text_domain(plain_language(kind))


def listed_values(kind: Any) -> tuple[Any, ...] | None:
    """The values of a type that has only a few."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and not issubclass(kind, OpenEnum):
        return tuple(member.value for member in kind)
    return None


def plain_language(kind: Any) -> Language:
    """The texts of a value that is stored as it is."""
    if kind is UUID:
        return UuidPart().language
    if kind is date:
        return DayPart().language
    if kind is datetime:  # other code may write it in another width
        return starting_with(DayPart().language)
    return SOME_TEXT


@cache
def table_keys(model: Model) -> tuple[StoredKey, ...]:
    """The keys of an entity's items in its table: as they are written, in old forms, and those of their guards."""
    return tuple(_table_keys(model))


def _table_keys(model: Model) -> Iterator[StoredKey]:
    for keys in (model.key, *model.old_keys):
        name = model.name if keys is model.key else f"an old key of {model.name}"
        yield StoredKey(model, name, templates_text(keys), _domains(model, keys), keys)
    yield from _guards(model, model.table.key_names)


@cache
def index_keys(model: Model, index: Index) -> tuple[StoredKey, ...]:
    """The keys of an entity's items in an index that they are in."""
    return tuple(_index_keys(model, index))


def _index_keys(model: Model, index: Index) -> Iterator[StoredKey]:
    wanted = index.pk + index.sk
    declared = model.indexes.get(index.name, ())
    for keys in declared:
        yield StoredKey(model, model.name, templates_text(keys), _domains(model, keys), keys)
    if not declared:
        for attributes in product(*(_writers(model, name) for name in wanted)):
            domains = {each.name: attribute_domain(model, each) for each in attributes}
            yield StoredKey(model, model.name, _templates_text(attributes), domains)
    yield from _guards(model, wanted)


def _writers(model: Model, name: str) -> list[KeyAttribute]:
    """How an entity fills an attribute, if it does."""
    every = (model.key, *(keys for several in model.indexes.values() for keys in several))
    found = [each for keys in every for each in keys.attributes if each.name == name]
    if not found:
        stored = (each for each in model.attributes.values() if each.name == name and not each.in_key)
        found = [KeyAttribute(name, None, each.field, each.codec.tag) for each in stored if each.codec.tag in "SNB"]
    distinct = {(each.template, each.field): each for each in found}
    return list(distinct.values())


def _guards(model: Model, wanted: tuple[str, ...]) -> Iterator[StoredKey]:
    """The guards of an entity's unique values, where their attributes are all that is wanted."""
    names = model.table.key_names
    if not set(wanted) <= set(names):
        return
    for unique in model.uniques:
        first = literal(HASH.character.join((GUARD, model.name, unique.name, "")))
        values = joined_language([TextPart(fold=unique.case_insensitive).language] * len(unique.fields), HASH)
        domains = dict.fromkeys(names, text_domain(literal(GUARD))) | {names[0]: text_domain(sequence(first, values))}
        source = HASH.character.join((GUARD, model.name, unique.name, "..."))
        yield StoredKey(model, f"a guard of {model.name}", source, domains)


def _domains(model: Model, keys: EntityKeys) -> dict[str, KeyDomain]:
    return {each.name: attribute_domain(model, each) for each in keys.attributes}


def templates_text(keys: EntityKeys) -> str:
    """The templates of a key, as they were declared."""
    return _templates_text(keys.attributes)


def _templates_text(attributes: tuple[KeyAttribute, ...]) -> str:
    return ", ".join(each.template.source if each.template else f"<{each.name}>" for each in attributes)

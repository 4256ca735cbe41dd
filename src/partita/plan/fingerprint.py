"""The fingerprint of a design: a fact for everything that decides how data is stored, each with its text.

    index to_ship            GSI1PK S | GSI1SK S, ALL
    Order key                CUSTOMER#{customer_id} | ORDER#{placed_at}
    Order in to_ship         STATUS#{status} | {placed_at} when status = OPEN
    Customer.open_orders     count of Order by customer_id when status = OPEN

Facts are compared as text, so the same design has the same ones in every process, and a difference can be read. Facts
of patterns, limits and transitions are not among them: they say nothing about stored data.
"""

import enum
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from partita.design.codecs import Codec, CompressedCodec, ListCodec, MapCodec, NullableCodec, SetCodec, StructCodec
from partita.design.condition_text import condition_text
from partita.design.conditions import Condition
from partita.design.key_parts import KeyPart, TextPart
from partita.design.markers import SumOf
from partita.design.migrations import Migration
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model
from partita.design.separators import HASH, Separator
from partita.design.tables import Index, Table
from partita.plan.design import Counter, Design
from partita.plan.proof.tables import key_types

Facts = Mapping[str, str]
"""The facts of one table, by name, in the order of their names."""


@lru_cache(maxsize=256)
def table_facts(design: Design, table: Table) -> Facts:
    """The facts of one of a design's tables and of the entities in it."""
    found = dict(_facts_of_table(table))
    for model in table.models:
        found |= dict(_facts_of_entity(design, model))
    return dict(sorted(found.items()))


def digest(facts: Facts) -> str:
    """A short text that two fingerprints share only if they are the same."""
    data = msgspec.json.encode(sorted(facts.items()))
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"  # hashlib takes long to import, and nobody forges it


def _facts_of_table(table: Table) -> Iterator[tuple[str, str]]:
    types = key_types(table)
    yield "table key", " | ".join(f"{name} {types.get(name, 'S')}" for name in table.key_names)
    if table.ttl is not None:
        yield "table TTL", table.ttl
    if table.type_attribute is not None:
        yield "table type attribute", f"{table.type_attribute} ({table.type_naming})"
    for index in table.indexes:
        yield f"index {index.name}", _index_text(index, types)


def _index_text(index: Index, types: Mapping[str, str]) -> str:
    keys = [" + ".join(f"{name} {types.get(name, 'S')}" for name in names) for names in (index.pk, index.sk) if names]
    project = index.project if isinstance(index.project, str) else ", ".join(sorted(index.project))
    return f"{' | '.join(keys)}, {project}{', local' if index.local else ''}"


def _facts_of_entity(design: Design, model: Model) -> Iterator[tuple[str, str]]:
    name = model.name
    yield f"{name} key", keys_text(model.key)
    for index, several in model.indexes.items():
        yield f"{name} in {index}", "; ".join(keys_text(each) for each in several)
    for attribute in model.attributes.values():
        yield f"{name}.{attribute.name}", _attribute_text(attribute)
    for migration in model.migrations:
        yield f"{name} converts {migration.new.name}", _migration_text(migration)
    for unique in model.uniques:
        words = ["case-insensitive"] if unique.case_insensitive else []
        fields = [unique.name] if unique.is_former else unique.fields
        yield f"{name} unique {unique.name}", " ".join([", ".join(fields), *words, *_when(unique.when)])
    for counter in _counters(design, model):
        yield f"{name} counts {counter.attribute.name}", counter_text(counter)
    if model.expires is not None:
        after = model.expires.after
        words = [model.expires.at, *([f"+ {after}"] if after else []), *_when(model.expires.when)]
        yield f"{name} expires", " ".join(words)


REMOVED = ", which is removed"


def _migration_text(migration: Migration) -> str:
    """From which attribute, how, and whether that is removed; the text begins with the old attribute."""
    marker = migration.marker
    words = [migration.old.name, f"{_codec_text(migration.old.codec)}"]
    words += [] if marker.member is None else [f"as {marker.member}"]
    words += [] if marker.to is None else [f"by {marker.to.__name__}"]
    return " ".join(words) + (REMOVED if marker.removed else "")


def _counters(design: Design, parent: Model) -> Iterator[Counter]:
    for several in design.counters.values():
        yield from (counter for counter in several if counter.parent is parent)


def counter_text(counter: Counter) -> str:
    """What a counter counts."""
    marker, child = counter.marker, counter.marker.child().__name__
    kind = f"sum of {child}.{marker.amount}" if isinstance(marker, SumOf) else f"number of {child}"
    by = ", ".join(part if part == source else f"{part} = {source}" for part, source in counter.parts.items())
    return " ".join([kind, f"by {by}", *_when(marker.when)])


def keys_text(keys: EntityKeys) -> str:
    """The templates of a key, with the forms of their parts where these are not plain text."""
    return " ".join([" | ".join(map(_key_text, keys.attributes)), *_when(keys.when)])


def _key_text(key: KeyAttribute) -> str:
    if key.template is None:
        return f"{key.name} as it is"
    forms = [f"{part.field}: {form_text(part.form)}" for part in key.template.parts if not _is_plain(part.form)]
    source = f"{key.name} = {key.template.source}"
    return f"{source} ({'; '.join(forms)})" if forms else source


def _is_plain(form: KeyPart | None) -> bool:
    """Whether a part is text as most keys have it; what it escapes depends on the separator."""
    return type(form) is TextPart and form.separator == HASH


def separators_in(keys: str) -> set[str]:
    """The separators of text in keys as the facts say them, other than `#`."""
    return set(re.findall(r"separator '(.)'", keys))


def form_text(form: KeyPart | None) -> str:
    """The form of a part of a key, with everything that decides its text."""
    words = [type(form).__name__.removesuffix("Part").lower()]
    whole: Any = form
    for field in msgspec.structs.fields(whole):
        value = getattr(form, field.name)
        if value == field.default:
            continue
        if isinstance(value, Separator):
            words.append(f"separator '{value.character}'")
        elif isinstance(value, KeyPart):
            words.append(form_text(value))
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            words.append(" < ".join(str(each.value) for each in value) if words[0] == "rankedenum" else "")
        else:
            words.append(f"{field.name} {getattr(value, '__name__', value)}")
    return " ".join(filter(None, words))


def _attribute_text(attribute: Attribute) -> str:
    place = f" in {attribute.index_key or 'the key'}" if attribute.in_key else ""
    return _codec_text(attribute.codec, attribute.kind) + place + ("" if attribute.member.may_be_missing else REQUIRED)


REQUIRED = ", required"


def _codec_text(codec: Codec, kind: Any = None) -> str:
    """The stored form of a value; enums are text or numbers, whatever their members are."""
    if isinstance(codec, NullableCodec):
        return _codec_text(codec.inner)
    if isinstance(codec, CompressedCodec):
        return "compressed"
    if isinstance(codec, ListCodec):
        return f"list of {_codec_text(codec.element)}"
    if isinstance(codec, MapCodec):
        return f"map of {_codec_text(codec.element)}"
    if isinstance(codec, StructCodec):
        members = sorted(codec.members, key=lambda each: each.name)
        return f"{{{', '.join(f'{each.name}: {_codec_text(each.codec)}' for each in members)}}}"
    if isinstance(codec, SetCodec):
        return codec.tag
    simple = isinstance(kind, type) and not issubclass(kind, enum.Enum) and kind.__module__ in ("datetime", "uuid")
    return f"{codec.tag} {kind.__name__}" if simple else codec.tag


def _when(condition: Condition | None) -> list[str]:
    return [] if condition is None else [f"when {condition_text(condition)}"]

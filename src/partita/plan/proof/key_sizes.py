"""The proof that items have keys: the shortest text of a key is not longer than DynamoDB takes.

A key with a long constant, wide numbers or many parts may be too long for every item. Then no item could be written,
and a pattern would find nothing. A key that is too long for some values only is an error of their writes.
"""

from collections.abc import Iterator

from partita.design.key_languages import Language, literal, sequence, texts
from partita.design.key_parts import TextPart
from partita.design.key_templates import joined_language
from partita.design.markers import Unique
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.separators import HASH
from partita.dynamodb import limits
from partita.errors import DesignError
from partita.plan.effects import value_text
from partita.plan.items import GUARD
from partita.plan.stored_keys import attribute_domain, listed_values, plain_language

_SHOWN = 60  # characters of a template in an error


def check_key_sizes(model: Model) -> None:
    """A DesignError for a key of an entity, or of its guards, that is too long for every item."""
    every = (model.key, *model.old_keys, *(keys for several in model.indexes.values() for keys in several))
    for keys in every:
        for attribute, most in _limited(keys):
            for language in attribute_domain(model, attribute).languages:
                _check(keys.where, f"the key {attribute.name!r}{_source(attribute)}", language, most, _TEMPLATE)
    for unique in model.uniques:
        where = f"{model.name}.{unique.name}"
        _check(where, "the key of its guard", _guard_language(model, unique), limits.PARTITION_KEY_BYTES, _GUARD)


_TEMPLATE = "shorten its constants, or the widths of its numbers"
_GUARD = "shorten the names of the entity and its attributes, or make fewer attributes unique"


def _limited(keys: EntityKeys) -> Iterator[tuple[KeyAttribute, int]]:
    """The attributes of a key, each with the bytes that it can have."""
    yield from ((each, limits.PARTITION_KEY_BYTES) for each in keys.partition)
    yield from ((each, limits.SORT_KEY_BYTES) for each in keys.sort)


def _check(where: str, what: str, language: Language, most: int, instead: str) -> None:
    if language.most_needed_bytes <= most:
        return
    fewest = language.fewest_bytes
    if fewest is not None and fewest > most:
        wrong = f"{what} has at least {fewest:,} bytes, and DynamoDB takes {most:,}, so no item could be written"
        raise DesignError(where, wrong, instead)


def _source(attribute: KeyAttribute) -> str:
    source = "" if attribute.template is None else attribute.template.source
    shown = source if len(source) <= _SHOWN else f"{source[:_SHOWN]}..."
    return f" ({shown})" if shown else ""


def _guard_language(model: Model, unique: Unique) -> Language:
    part = TextPart(fold=unique.case_insensitive)
    values = []
    for name in unique.fields:
        kind = model.attributes[name].kind
        listed = listed_values(kind)
        written = plain_language(kind) if listed is None else texts(part.write(value_text(each)) for each in listed)
        values.append(written)
    first = literal(HASH.character.join((GUARD, model.name, unique.name, "")))
    return sequence(first, joined_language(values, HASH))

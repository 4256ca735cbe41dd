"""From a class body to a `Model`; an error names the entity and the attribute."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

import msgspec

from partita.design.argument_checks import hints_of, short_repr
from partita.design.codec_factory import check_set_default, codec_of, markers_of, may_be_none, unwrapped_type
from partita.design.codecs import AttributeMember, Codec, CompressedCodec, Namer, OpenEnumCodec, ScalarCodec, TextCodec
from partita.design.condition_text import condition_text
from partita.design.key_parts import VerbatimPart
from partita.design.key_templates import template
from partita.design.keys import Keys, KeyTemplates
from partita.design.markers import (
    AUTOMATIC,
    Compressed,
    Dimensions,
    Expires,
    InKey,
    Limit,
    Owns,
    StoredAs,
    Unique,
    Untracked,
    Was,
)
from partita.design.migrations import Migration, migration_of
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model, ViewModel, part_types
from partita.design.naming import Naming, naming_name
from partita.design.naming import naming as naming_of
from partita.design.tables import Index, Table, VectorIndex
from partita.design.validate_model import validate_model
from partita.design.vector_values import Vector, VectorCodec
from partita.dynamodb import limits
from partita.errors import DesignError
from partita.quantities import quantity

_SIMPLE = (str, int, float, bool)


def _unique_value(attribute: Attribute, marker: Unique) -> Unique:
    return Unique(
        attribute.field,
        case_insensitive=marker.case_insensitive,
        keep_after_delete=marker.keep_after_delete,
        when=marker.when,
    )


def _former_field(was: "Was[Any, Any] | None", name_on_disk: Namer) -> str | None:
    """The name of a renamed attribute before, in Python; None for one that is converted, or migrated already."""
    if was is None or was.to is not None or was.member is not None or was.removed:
        return None
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", was.name).lower()
    return next((each for each in (was.name, words) if name_on_disk(each) == was.name), was.name)


def build_model(
    cls: Any,
    body: Mapping[str, Any],
    table: Table,
    key: KeyTemplates = None,
    old_keys: Iterable[tuple[str, ...]] = (),
    naming: Naming | None = None,
) -> Model:
    """The model of an entity class."""
    name = cls.__name__
    attributes = _attributes(cls, naming or table.naming)
    own = _table_keys(name, table, attributes, key)
    indexes = _index_keys(name, table, attributes, own, [each for each in body.values() if isinstance(each, Keys)])
    final = _with_key_texts(attributes, own, indexes)
    if any(_has_plain_text(final, each) for each in (own, *(keys for each in indexes.values() for keys in each))):
        own = _table_keys(name, table, final, key)
        indexes = _index_keys(name, table, final, own, [each for each in body.values() if isinstance(each, Keys)])
    built = Model(
        cls=cls,
        table=table,
        attributes=final,
        key=own,
        old_keys=tuple(_table_keys(name, table, attributes, each) for each in old_keys),
        indexes=indexes,
        uniques=tuple(_uniques(name, body, attributes, naming_of(name, naming or table.naming))),
        limits=tuple(each for each in body.values() if isinstance(each, Limit)),
        owns=tuple(each for each in body.values() if isinstance(each, Owns)),
        expires=_expiry(name, [each for each in body.values() if isinstance(each, Expires)]),
        migrations=tuple(_migrations(name, final, naming_of(name, naming or table.naming))),
    )
    validate_model(built)
    return built


def _expiry(name: str, declared: list[Expires]) -> Expires | None:
    if len(declared) > 1:
        raise DesignError(name, f"it has {len(declared)} Expires, but an item has one TTL", "keep one of them")
    return declared[0] if declared else None


def _migrations(name: str, attributes: Mapping[str, Attribute], name_on_disk: Namer) -> Iterator[Migration]:
    members = {each.name: each.member for each in attributes.values() if not each.in_key}
    for attribute in attributes.values():
        marker = attribute.marker(Was)
        if marker is not None:
            where = f"{name}.{attribute.field}"
            yield migration_of(where, marker, attribute.member, attribute.kind, members, name_on_disk)


def build_view(cls: Any, whole: Model) -> ViewModel:
    """The model of a view that an entity inherits."""
    for info in msgspec.structs.fields(cls):
        name = next(each.encode_name for each in msgspec.structs.fields(whole.cls) if each.name == info.name)
        if info.encode_name != name:
            wrong = f"its name is {info.encode_name!r} in the view, and {name!r} in {whole.name}"
            raise DesignError(f"{cls.__name__}.{info.name}", wrong, "give the view the naming of the entity")
    return ViewModel(cls, whole, {info.name: whole.attributes[info.name] for info in msgspec.structs.fields(cls)})


def stored_names(cls: Any) -> tuple[str, ...]:
    """The names on disk of a view's attributes, and what they were before, without those in the key only."""
    hints = hints_of(cls.__name__, cls)
    names = []
    for info in msgspec.structs.fields(cls):
        markers = markers_of(hints[info.name])
        in_key = next((each for each in markers if isinstance(each, InKey)), None)
        if in_key is not None and in_key.index_key is not None:
            names.append(in_key.index_key)
        elif in_key is None:
            names.append(next((each.name for each in markers if isinstance(each, StoredAs)), info.encode_name))
        names += [each.name for each in markers if isinstance(each, Was)]
    return tuple(dict.fromkeys(names))


def _attributes(cls: Any, naming: Naming) -> dict[str, Attribute]:
    hints = hints_of(cls.__name__, cls)
    name_on_disk = naming_of(cls.__name__, naming)
    attributes = {}
    for info in msgspec.structs.fields(cls):
        where = f"{cls.__name__}.{info.name}"
        if info.encode_name != name_on_disk(info.name):
            wrong = f"the name {info.encode_name!r} does not follow the naming {naming_name(naming)!r} of the entity"
            raise DesignError(where, wrong, f"write naming={_quoted(naming)} in the class that declares it")
        hint = hints[info.name]
        markers = markers_of(hint)
        kind, _ = unwrapped_type(hint)
        compressed = _has(markers, Compressed)
        dimensions = next((each for each in markers if isinstance(each, Dimensions)), None)
        if dimensions is not None:
            codec: Codec = _vector(kind, where, dimensions, markers)
        else:
            codec = (
                _compressed(kind, hint, where, name_on_disk) if compressed else codec_of(hint, where, name_on_disk)[0]
            )
        _check_validated(where, hint)
        stored_as: Any = next((marker.name for marker in markers if isinstance(marker, StoredAs)), None)
        if stored_as is not None and not isinstance(stored_as, str):
            wrong = f"StoredAs({short_repr(stored_as)}) is not a name of an attribute"
            raise DesignError(where, wrong, f"use 1 to {limits.ATTRIBUTE_NAME_BYTES} bytes of text")
        member = AttributeMember(
            info.name,
            stored_as or name_on_disk(info.name),
            codec,
            may_be_none(hint, info.default),
            info.default,
            info.default_factory,
        )
        check_set_default(where, member)
        untracked = _has(markers, Untracked, *AUTOMATIC)
        attributes[info.name] = Attribute(member, hint, kind, markers, _has(markers, InKey), untracked)
    return attributes


def _with_key_texts(
    attributes: dict[str, Attribute], own: EntityKeys, indexes: Mapping[str, tuple[EntityKeys, ...]]
) -> dict[str, Attribute]:
    """Text that is part of the table's key, or itself the key of an index, is stored as the key has it."""
    every = [each.field for several in indexes.values() for keys in several for each in keys.attributes]
    every += [each.field for each in attributes.values() if each.index_key is not None]
    found = dict(attributes)
    for field in {*own.fields, *(each for each in every if each is not None)}:
        attribute = attributes[field]
        codec = _codec_in_keys(attribute)
        if codec is not None:
            member = msgspec.structs.replace(attribute.member, codec=codec)
            found[field] = msgspec.structs.replace(attribute, member=member)
    return found


def _codec_in_keys(attribute: Attribute) -> Codec | None:
    """The codec that stores any text as keys have it; None for a type whose values are listed, or are not text."""
    if isinstance(attribute.codec, OpenEnumCodec):
        return OpenEnumCodec(attribute.kind, nfc=True)
    if attribute.kind is str and isinstance(attribute.codec, TextCodec):
        return TextCodec(str, nfc=True)
    return None


def _has_plain_text(attributes: Mapping[str, Attribute], keys: EntityKeys) -> bool:
    """Whether a key has a text as it is that is stored in NFC; the key is then written so, too."""
    parts = (part for each in keys.attributes if each.template is not None for part in each.template.parts)
    return any(
        isinstance(part.form, VerbatimPart) and part.field is not None and attributes[part.field].is_composed
        for part in parts
    )


def _check_validated(where: str, hint: Any) -> None:
    """msgspec reports a type or constraint that it cannot validate, such as a length of a number, with the first value.

    Most types are simple; the others are looked at by building the decoder that would fail later.
    """
    if hint in _SIMPLE:
        return
    try:
        msgspec.json.Decoder(hint)
    except (TypeError, NotImplementedError, UnicodeEncodeError) as error:
        if get_origin(hint) is Annotated and any(isinstance(each, msgspec.Meta) for each in get_args(hint)[1:]):
            wrong = f"its Meta does not suit its type: {error}"
            raise DesignError(where, wrong, "remove the constraint, or change the type") from None
        raise DesignError(where, f"values of its type cannot be validated: {error}", "use another type") from None


def _quoted(naming: Naming) -> str:
    return f'"{naming}"' if isinstance(naming, str) else naming_name(naming)


def _compressed(kind: Any, hint: Any, where: str, name_on_disk: Namer) -> CompressedCodec:
    """The codec of a compressed value; a type that DynamoDB cannot store uncompressed is read compressed only."""
    _check_validated(where, hint)
    if kind is Any:
        return CompressedCodec(kind)
    try:
        return CompressedCodec(kind, codec_of(hint, where, name_on_disk)[0])
    except DesignError:
        return CompressedCodec(kind)


def _vector(kind: Any, where: str, dimensions: Dimensions, markers: Iterable[Any]) -> VectorCodec:
    if kind != Vector:
        wrong = f"Dimensions needs a vector, but it is {getattr(kind, '__name__', kind)}"
        raise DesignError(where, wrong, f"write Annotated[Vector, Dimensions({dimensions.count})]")
    if type(dimensions.count) is not int or not 1 <= dimensions.count <= limits.VECTOR_DIMENSIONS:
        wrong = f"a vector cannot have {dimensions.count!r} dimensions"
        raise DesignError(where, wrong, f"use 1 to {limits.VECTOR_DIMENSIONS}")
    if _has(markers, Compressed, InKey):
        raise DesignError(where, "a vector is stored as a list of numbers", "remove Compressed or InKey")
    element = codec_of(float, where, str)[0]
    assert isinstance(element, ScalarCodec)
    return VectorCodec(element, dimensions.count)


def _has(markers: Iterable[Any], *kinds: type) -> bool:
    return any(isinstance(marker, kinds) for marker in markers)


def _table_keys(name: str, table: Table, attributes: Mapping[str, Attribute], key: KeyTemplates) -> EntityKeys:
    templates = (key,) if isinstance(key, str) else (None,) * len(table.key_names) if key is None else key
    if len(templates) != len(table.key_names):
        raise DesignError(
            name,
            f"{quantity(templates, 'template')} for the key {', '.join(table.key_names)} of table {table.name!r}",
            "write one template for each attribute",
        )
    made = [
        _key_attribute(
            f"{name}.{disk_name}",
            table,
            disk_name,
            source,
            attributes,
            None,
            sorts=at > 0,
            ends_key=at == len(templates) - 1,
        )
        for at, (disk_name, source) in enumerate(zip(table.key_names, templates, strict=True))
    ]
    return EntityKeys(name, None, tuple(made[:1]), tuple(made[1:]))


def _index_keys(
    name: str, table: Table, attributes: Mapping[str, Attribute], own: EntityKeys, declared: list[Keys]
) -> dict[str, tuple[EntityKeys, ...]]:
    """The keys in every index of the entity: those declared, and those whose attributes it has by name."""
    found: dict[str, tuple[EntityKeys, ...]] = {}
    for keys in declared:
        index = table.index(name, keys.index)
        where = f"{name}.{index.name}"
        if isinstance(index, VectorIndex) and not _has_vector(index, attributes):
            wrong = f"it has no vector that is stored as {index.vector!r}"
            raise DesignError(where, wrong, "add one (Annotated[Vector, Dimensions(256)]), or remove its Keys")
        made = EntityKeys(
            name,
            index.name,
            _index_key_attributes(where, table, index.pk, keys.pk, attributes, own, sorts=False),
            _index_key_attributes(where, table, index.sk, keys.sk, attributes, own, sorts=True),
            keys.when,
        )
        several = found.get(index.name, ())
        same = next((each for each in several if _is_same(each, made)), None)  # the keys of two views may be one
        keys.entity_keys[name] = same or made
        found[index.name] = several if same else (*several, made)
    on_disk = {each.name for each in attributes.values() if not each.in_key} | set(table.key_names)
    for index in table.all_indexes:
        if index.name not in found and on_disk.issuperset(index.pk + index.sk) and _has_vector(index, attributes):
            hashed = _index_key_attributes(name, table, index.pk, None, attributes, own, sorts=False)
            found[index.name] = (
                EntityKeys(
                    name,
                    index.name,
                    hashed,
                    _index_key_attributes(name, table, index.sk, None, attributes, own, sorts=True),
                ),
            )
    return found


def _is_same(one: EntityKeys, other: EntityKeys) -> bool:
    """Whether two keys of an entity in an index have the same texts for the same items."""

    def texts(keys: EntityKeys) -> list[str | None]:
        parts = [each.template.source if each.template else each.field for each in keys.attributes]
        return [*parts, None if keys.when is None else condition_text(keys.when)]

    return texts(one) == texts(other)


def _has_vector(index: Index, attributes: Mapping[str, Attribute]) -> bool:
    """Whether items of an entity can be in an index as far as their vectors decide it."""
    if not isinstance(index, VectorIndex):
        return True
    return any(isinstance(each.codec, VectorCodec) and each.name == index.vector for each in attributes.values())


def _index_key_attributes(
    where: str,
    table: Table,
    names: tuple[str, ...],
    declared: KeyTemplates,
    attributes: Mapping[str, Attribute],
    own: EntityKeys,
    *,
    sorts: bool,
) -> tuple[KeyAttribute, ...]:
    templates = (declared,) if isinstance(declared, str) else (None,) * len(names) if declared is None else declared
    if len(templates) != len(names):
        wrong = f"{quantity(templates, 'template')} for the key {', '.join(names)}"
        raise DesignError(where, wrong, "write one template for each attribute")
    return tuple(
        _key_attribute(
            f"{where}.{name}", table, name, source, attributes, own, sorts=sorts, ends_key=sorts and name == names[-1]
        )
        for name, source in zip(names, templates, strict=True)
    )


def _key_attribute(
    where: str,
    table: Table,
    name: str,
    source: str | None,
    attributes: Mapping[str, Attribute],
    own: EntityKeys | None,
    *,
    sorts: bool,
    ends_key: bool,
) -> KeyAttribute:
    of_table = next((each for each in own.attributes if each.name == name), None) if own else None
    if of_table is not None and (source is None or _is_written_so(where, of_table, source)):
        return of_table
    if source is not None:
        if any(each.name == name and not each.in_key for each in attributes.values()):
            raise DesignError(
                where,
                f"an attribute is already stored as {name!r}",
                "leave the template out to use that attribute as the key, or rename it with StoredAs",
            )
        types, separator = part_types(attributes), table.key_separator
        made = template(where, source, types, sorts=sorts, ends_key=ends_key, separator=separator)
        return KeyAttribute(name, made)
    for attribute in attributes.values():
        if attribute.name == name and not attribute.in_key:
            if attribute.codec.tag not in ("S", "N", "B"):
                raise DesignError(
                    where,
                    f"{attribute.field!r} is stored as {attribute.codec.tag}, which cannot be a key",
                    "use text, a number or bytes",
                )
            return KeyAttribute(name, None, attribute.field, attribute.codec.tag)
    wrong = f"the key attribute {name!r} has no template, and no attribute has this name"
    raise DesignError(where, wrong, "write a template for it, or add an attribute of this name")


def _is_written_so(where: str, of_table: KeyAttribute, source: str) -> bool:
    """Whether a template of an index repeats that of the table's own key; an item has one text for an attribute."""
    if of_table.template is None:
        return False
    written = of_table.template.source
    if source == written:
        return True
    wrong = f"it is a key of the table, where its text is {written!r}, not {source!r}"
    raise DesignError(
        where, wrong, f"write None in its place, or give the index an attribute in place of {of_table.name!r}"
    )


def _uniques(
    name: str, body: Mapping[str, Any], attributes: Mapping[str, Attribute], name_on_disk: Namer
) -> Iterable[Unique]:
    for attribute in attributes.values():
        for marker in attribute.markers:
            if isinstance(marker, Unique):
                yield _unique_value(attribute, marker)
                former = _former_field(attribute.marker(Was), name_on_disk)
                if former is not None and former not in attributes:
                    before = _unique_value(attribute, marker)
                    before.name, before.is_former = former, True
                    yield before
    for label, marker in body.items():
        if isinstance(marker, Unique):
            if not marker.fields:
                raise DesignError(f"{name}.{label}", "Unique names no attributes", 'write Unique("country", "number")')
            marker.name = label
            yield marker

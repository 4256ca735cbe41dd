"""Decoding the bytes of items into entities, with a decoder that is generated for each entity from its codecs.

msgspec decodes `{"status": {"S": "OPEN"}}` into a struct of the item's shape, and one generated expression builds the
entity from it, without a dict in between.

Other code may store a value in a key only, where the design has an attribute as well. An item that lacks a required
attribute is completed from its keys, those of indexes included, and decoded again.
"""

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any

import msgspec

from partita.design.codecs import shape_of
from partita.design.codegen import Env, bind
from partita.design.models import EntityKeys, KeyAttribute, Model, ViewModel
from partita.design.own_rules import RULE_ERRORS
from partita.design.tables import Table
from partita.dynamodb.values import Item
from partita.errors import InvalidValue, StoredItemInvalid, place_text
from partita.plan.effects import OWNER
from partita.plan.items import key_of, key_texts
from partita.validation import fault_in

_DECODE_ERRORS = (msgspec.DecodeError, *RULE_ERRORS)


class Decoder:
    """Decodes the items of one entity or view."""

    def __init__(self, of: Model | ViewModel) -> None:
        self._model = of.of if isinstance(of, ViewModel) else of
        self._members = of.members
        self._name = of.name
        extra = self._extra(of)
        shape = shape_of(of.name, of.members, extra)
        self._migrations = self._model.migrations
        self._read = self._read_migrated if self._migrations else msgspec.json.Decoder(shape, strict=False).decode
        self._shape = shape
        self._build = _builder(of, self._model, extra)
        ttl = self._model.table.ttl
        self._ttl = next((name for name, disk_name in extra.items() if disk_name == ttl), None)

    @staticmethod
    def _extra(of: Model | ViewModel) -> dict[str, str]:
        """Attributes that are decoded beside the members: keys that contain values of their own, and the TTL."""
        model = of.of if isinstance(of, ViewModel) else of
        names: list[str] = []
        if any(attribute.in_key and attribute.index_key is None for attribute in of.attributes.values()):
            names += model.table.key_names
        names += dict.fromkeys(each.index_key for each in of.attributes.values() if each.index_key is not None)
        if model.expires is not None and model.table.ttl is not None:
            names.append(model.table.ttl)
        members = {member.name for member in of.members}
        return {f"x{at}": name for at, name in enumerate(names) if name not in members}

    def __call__(self, raw: bytes | msgspec.Raw, now: int | None = None) -> Any:
        """The entity, or None if it has expired at `now`, in seconds since 1970."""
        try:
            shaped = self._read(raw)
            if now is not None and self._expired(shaped, now):
                return None
            return self._build(shaped)
        except _DECODE_ERRORS as error:
            shaped, entity = self._completed(msgspec.json.decode(raw), error)
            return None if now is not None and self._expired(shaped, now) else entity

    def with_expiry(self, raw: bytes | msgspec.Raw) -> tuple[Any, float | None]:
        """The entity, and the second of its expiry or None."""
        try:
            shaped = self._read(raw)
            return self._build(shaped), self._expiry(shaped)
        except _DECODE_ERRORS as error:
            shaped, entity = self._completed(msgspec.json.decode(raw), error)
            return entity, self._expiry(shaped)

    def from_item(self, item: Item) -> Any:
        """The entity of an item that is a dict already."""
        try:
            return self._build(msgspec.convert(self._upgraded(item), self._shape, strict=False))
        except _DECODE_ERRORS as error:
            return self._completed(item, error)[1]

    def _read_migrated(self, raw: bytes | msgspec.Raw) -> Any:
        """The shape of an item whose attributes may be stored as they were before a migration."""
        return msgspec.convert(self._upgraded(msgspec.json.decode(raw)), self._shape, strict=False)

    def _upgraded(self, item: Item) -> Item:
        for migration in self._migrations:
            item = migration.upgraded(item)
        return item

    def _completed(self, item: Item, error: Exception) -> tuple[Any, Any]:
        """The shape and the entity of an item whose keys have the values of attributes that it lacks."""
        lacking = [each for each in self._members if each.name not in item]
        values = _values_in_keys(self._model, item) if lacking else {}
        found: Item = {
            each.name: each.codec.encode(values[each.field]) or {} for each in lacking if each.field in values
        }
        if not found:
            raise self._invalid(item, error) from None
        try:
            shaped = msgspec.convert(self._upgraded({**item, **found}), self._shape, strict=False)
            return shaped, self._build(shaped)
        except _DECODE_ERRORS as again:
            raise self._invalid(item, again) from None

    def _expired(self, shaped: Any, now: int) -> bool:
        expiry = self._expiry(shaped)
        return expiry is not None and expiry <= now

    def _expiry(self, shaped: Any) -> float | None:
        value = getattr(shaped, self._ttl) if self._ttl is not None else None
        return float(value.N) if value is not None and value.N is not None else None

    def _invalid(self, item: Item, error: Exception) -> StoredItemInvalid:
        names = self._model.table.key_names
        stored_key = key_texts({name: item[name] for name in names if name in item})
        parts = _parts_in(self._model, tuple(stored_key.values())) if len(stored_key) == len(names) else None
        return StoredItemInvalid(self._name, stored_key, _reason(error), parts or {})


def _reason(error: Exception) -> str:
    """Why an item cannot be decoded. Every second step of a path is one of DynamoDB's types: `size.M.width.N`."""
    if not isinstance(error, msgspec.ValidationError):
        return str(error)
    path, fault = fault_in(error)
    place = place_text(path[::2])
    if fault.kind == "missing" and len(path) % 2 == 0:
        return f"{place} is not stored as {path[-1]}"
    return f"{place}: {fault}"


@cache
def decoder_of(of: Model | ViewModel) -> Decoder:
    """The decoder of an entity or view."""
    return Decoder(of)


def _builder(of: Model | ViewModel, model: Model, extra: dict[str, str]) -> Callable[[Any], Any]:
    """Compiles `lambda r: Entity(a=r.f0.S, b=...)`."""
    env: Env = {"entity": of.cls, "parts": _parts_reader(model)}
    position = {member.field: at for at, member in enumerate(of.members)}
    places = {disk_name: f"{name}.S" for name, disk_name in extra.items()}
    places |= {member.name: f"f{at}.{member.codec.tag}" for at, member in enumerate(of.members)}
    keys = [places[name] for name in model.table.key_names if name in places]
    index_keys = {disk_name: f"r.{name}" for name, disk_name in extra.items()}
    arguments = []
    lines = []
    for attribute in of.attributes.values():
        if attribute.index_key is not None:
            held = model.index_key_fields[attribute.field]
            local = f"i{index_keys[held.name][2:]}"
            if local not in env:
                env[local] = None
                lines.append(f"{local} = {bind(partial(_index_key_parts, model, held), env)}({index_keys[held.name]})")
            arguments.append(f"{attribute.field}={local}[{attribute.field!r}]")
        elif attribute.in_key:
            arguments.append(f"{attribute.field}=k[{attribute.field!r}]")
        else:
            arguments.append(f"{attribute.field}={attribute.member.decode_expr('r', position[attribute.field], env)}")
    parts = f"k = parts({', '.join(f'r.{place}' for place in keys)})" if "k[" in "".join(arguments) else "k = None"
    source = "\n    ".join(["def build(r):", parts, *lines, f"return entity({', '.join(arguments)})"])
    exec(compile(source, f"<decoder of {of.name}>", "exec"), env)  # noqa: S102 - contains field names alone
    build: Callable[[Any], Any] = env["build"]
    return build


def _index_key_parts(model: Model, held: KeyAttribute, stored: Any) -> dict[str, Any]:
    """The values in an index key, in the format of the design or a foreign one."""
    text = None if stored is None else stored.S
    if text is None:
        raise ValueError(f"the index key {held.name} is missing, which holds values of the entity")
    assert held.template is not None
    found = held.template.parse(text)
    if found is None and (foreign := held.template.parse(text, foreign=True)) is not None:
        found = _settled(model, foreign)
    if found is None:
        raise ValueError(f"{held.name} is {text!r}, which is not a key of {held.template.source}")
    return found


def _parts_reader(model: Model) -> Callable[..., dict[str, Any]]:
    """A function that parses the values in a key, in its current or an old format."""

    def parts(*texts: str) -> dict[str, Any]:
        found = _parts_in(model, texts)
        if found is None:
            raise ValueError(f"the key {' '.join(texts)!r} is not a key of {model.name}")
        return found

    return parts


def _parts_in(model: Model, texts: tuple[str, ...]) -> dict[str, Any] | None:
    """The parts of a key, in the format of the design or a foreign one that is also read."""
    for foreign in (False, True):
        for keys in (model.key, *model.old_keys):
            found = _parsed(keys, texts, foreign=foreign)
            if found is not None:
                return _settled(model, found) if foreign or keys is not model.key else found
    return None


def _settled(model: Model, parts: dict[str, Any]) -> dict[str, Any]:
    """The values of a key of other code in the form in which the store writes them: texts composed."""
    return {field: model.attributes[field].member.settled(value, value) for field, value in parts.items()}


def _values_in_keys(model: Model, item: Item) -> dict[str, Any]:
    """The values in the keys of an item; the key of the table goes before those of indexes."""
    stored = key_texts({name: item[name] for name in model.table.key_names if name in item})
    parts = _parts_in(model, tuple(stored.values())) if len(stored) == len(model.table.key_names) else None
    found = dict(parts or {})
    for keys in (each for several in model.indexes.values() for each in several):
        if all(each.name in item for each in keys.attributes):
            texts = key_texts({each.name: item[each.name] for each in keys.attributes}).values()
            plain = [
                text if key.template is None else key.template.with_padded_numbers(text)
                for key, text in zip(keys.attributes, texts, strict=True)
            ]
            found = (_parsed(keys, tuple(plain), foreign=True) or {}) | found
    return found


def is_old_form(model: Model, key: Item) -> bool:
    """Whether a key has the form of one of the entity's old keys; today's keys may have it too."""
    texts = tuple(key_texts(key).values())
    every = ((keys, foreign) for keys in model.old_keys for foreign in (False, True))
    return any(_parsed(keys, texts, foreign=foreign) is not None for keys, foreign in every)


def is_current_form(model: Model, key: Item) -> bool:
    """Whether a key has the form of the entity's keys of today."""
    return _parsed(model.key, tuple(key_texts(key).values()), foreign=False) is not None


def can_be_of_another(model: Model, key: Item) -> bool:
    """Whether a current key of the entity could also be the old key of another item of it."""
    texts = tuple(key_texts(key).values())
    every = (_parsed(keys, texts, foreign=foreign) for keys in model.old_keys for foreign in (False, True))
    return any(_has_other_key(model, values, key) for values in every if values is not None)


def _has_other_key(model: Model, values: dict[str, Any], key: Item) -> bool:
    try:
        return key_of(model, dict.fromkeys(model.key.fields) | values) != key
    except InvalidValue:
        return False


def _parsed(keys: EntityKeys, texts: tuple[str, ...], *, foreign: bool) -> dict[str, Any] | None:
    """The parts of a key in the format of the design, or if `foreign` in one that is also read."""
    for prefix, text in zip(keys.constant_prefixes, texts, strict=True):  # most keys of others differ in it
        if not text.startswith(prefix):
            return None
    plain = keys.plain_values("\0".join(texts))
    if plain is not None:
        return plain.groupdict()
    found: dict[str, Any] = {}
    for attribute, text in zip(keys.attributes, texts, strict=True):
        if attribute.template is None:
            found.setdefault(attribute.fields[0], text)
            continue
        parts = attribute.template.parse(text, foreign=foreign)
        if parts is None:
            return None
        for name, value in parts.items():
            if found.setdefault(name, value) != value:
                return None
    return found


@cache
def recogniser_of(table: Table) -> "Recogniser":
    """The recogniser of all entities of a table."""
    return recogniser_among(tuple(table.models))


@cache
def recogniser_among(models: tuple[Model, ...]) -> "Recogniser":
    """The recogniser of entities that share a table; it is made once, since msgspec makes a class for it."""
    return Recogniser(models)


class Recogniser:
    """Finds the entity of an item by its key, and decodes it."""

    def __init__(self, models: tuple[Model, ...]) -> None:
        table = models[0].table
        names = {f"x{at}": name for at, name in enumerate(table.key_names)}
        self._read = msgspec.json.Decoder(shape_of("Key", (), names)).decode
        self._held = attrgetter(*names) if len(names) > 1 else lambda found: (found.x0,)
        self._models = models
        self._forms = [  # of keys, the likely ones first
            (model, keys, foreign)
            for foreign in (False, True)
            for old in (False, True)
            for model in models
            for keys in (model.old_keys if old else (model.key,))
        ]

    def model_of(self, raw: bytes | msgspec.Raw) -> Model | None:
        """The model whose key the item has."""
        found = self._read(raw)
        return self._model_of(tuple([each.S or each.N or "" for each in self._held(found)]))

    def model_of_key(self, key: Item) -> Model | None:
        """The model that has such a key."""
        return self._model_of(tuple([str(next(iter(each.values()))) for each in key.values()]))

    def entity_of(self, item: Item) -> Any:
        """The entity of an item that is a dict already; None for a guard, and for a key of no entity."""
        table = self._models[0].table
        whole: Any = item
        held: list[Any] = [whole.get(name) if isinstance(whole, dict) else None for name in table.key_names]
        key = [each for each in held if isinstance(each, dict) and each]
        if len(key) < len(held):
            names = " and ".join(map(repr, table.key_names))
            raise InvalidValue(table.name, f"it is not an item of this table in DynamoDB JSON, with {names}")
        model = None if OWNER in item else self.model_of_key(dict(zip(table.key_names, key, strict=True)))
        return None if model is None else decoder_of(model).from_item(item)

    def _model_of(self, texts: tuple[str, ...]) -> Model | None:
        for model, keys, foreign in self._forms:
            if _parsed(keys, texts, foreign=foreign) is not None:
                return model
        return None

    def decoder(self, raw: bytes | msgspec.Raw) -> Decoder:
        """The decoder of an item; StoredItemInvalid if its key belongs to none of the entities."""
        model = self.model_of(raw)
        if model is None:
            item = msgspec.json.decode(raw)
            stored_key = key_texts({name: item[name] for name in self._models[0].table.key_names})
            names = " or ".join(each.name for each in self._models)
            raise StoredItemInvalid(names, stored_key, "the key belongs to none of them")
        return decoder_of(model)

    def __call__(self, raw: bytes | msgspec.Raw, now: int | None = None) -> Any:
        return self.decoder(raw)(raw, now)

    def with_expiry(self, raw: bytes | msgspec.Raw) -> tuple[Any, float | None]:
        return self.decoder(raw).with_expiry(raw)

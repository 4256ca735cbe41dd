"""An entity as an item: its attributes, its key, and everything that is derived from them.

Derived attributes are index keys, the TTL, and what attributes were before a migration. Each group of them lists the
attributes from which it is derived, so that a change knows which groups to compute again and which values that needs.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, lru_cache, partial
from typing import Any
from uuid import UUID

import msgspec

from partita.design.codecs import AttributeMember, SetCodec
from partita.design.codegen import Env, bind, compile_function
from partita.design.markers import AUTO, Auto
from partita.design.migrations import Migration
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model
from partita.design.own_rules import RULE_ERRORS, rule_fields, values_by_rules
from partita.design.separators import HASH
from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import Fault, InvalidValue, ReservedKey, Step
from partita.plan.key_source import SHORT, missing_source, text_source
from partita.plan.normal_forms import texts_as_written, value_forms
from partita.plan.predicates import design_predicate
from partita.validation import FaultyValue, invalid_value

Values = Mapping[str, Any]

GUARD = "UNIQUE"
"""The constant that the keys of guards begin with."""

GUARD_PREFIX = GUARD + HASH.character
_NATIVE = (bytes, datetime, date, Decimal, UUID)
_NATIVE_OR_AUTO = (*_NATIVE, Auto)


class Derived(msgspec.Struct, frozen=True, eq=False):
    """Attributes that are derived from others: `names` on disk, from `fields`."""

    names: tuple[str, ...]
    fields: frozenset[str]
    alternatives: tuple[EntityKeys, ...]  # empty for the TTL and for a migration
    migration: Migration | None = None


def values_of(model: Model, entity: Any) -> dict[str, Any]:
    """The entity's values by attribute; None in place of AUTO."""
    values: dict[str, Any] = _values_reader(model)(entity)
    return values


@cache
def _values_reader(model: Model) -> Callable[[Any], dict[str, Any]]:
    automatic = _automatic_fields(model)
    read = {field: f"v.{field}" for field in model.attributes}
    read |= {field: f"None if v.{field} is AUTO else v.{field}" for field in automatic}
    fields = ", ".join(f"{field!r}: {expression}" for field, expression in read.items())
    return compile_function(f"values of {model.name}", [f"return {{{fields}}}"], {"AUTO": AUTO})


def validate_entity(model: Model, entity: Any) -> Any:
    """The entity with validated values in the form in which they will be read back, or an InvalidValue."""
    made = _convert(entity, model.cls, model.name, automatic=_automatic_names(model))
    is_changed = False
    for field, member in _settling(model):
        before = getattr(made, field)
        try:
            after = member.settled(before, getattr(entity, field))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise invalid_value(error, model.name, field) from None
        if after is not before:
            setattr(made, field, after)
            is_changed = True
    for migration in model.migrations:
        is_changed = _set_both(model, migration, made) or is_changed
    if is_changed:
        check_own_rules(model, made)  # a reader's entity is built from values in this form
    return made


def check_own_rules(model: Model, entity: Any) -> None:
    """Calls `__post_init__` of an entity again; an InvalidValue where it raises one of the errors of a reader."""
    if not rule_fields(model):
        return
    try:
        entity.__post_init__()
    except RULE_ERRORS as error:
        raise invalid_value(error, model.name) from None


def entity_with(model: Model, values: Values) -> Any:
    """The entity with these values, or an InvalidValue where `__post_init__` rejects them."""
    try:
        return model.cls(**values)
    except RULE_ERRORS as error:
        raise invalid_value(error, model.name) from None


def derived_by_own_rules(model: Model, values: Values) -> dict[str, Any]:
    """The attributes that `__post_init__` gives other values, as it does when the item with these is read."""
    return _changed(model, values, values_of(model, entity_with(model, _as_read(model, values))))


def derived_from_known(model: Model, known: Values) -> dict[str, Any] | None:
    """The same of some values, where `__post_init__` uses no others; None where it does."""
    try:
        found = values_by_rules(model, _as_read(model, known))
    except RULE_ERRORS as error:
        raise invalid_value(error, model.name) from None
    if found is None:
        return None
    return _changed(model, known, {name: None if value is AUTO else value for name, value in found.items()})


def _as_read(model: Model, values: Values) -> dict[str, Any]:
    """The values with AUTO where an entity has it."""
    automatic = _automatic_fields(model)
    return {name: AUTO if value is None and name in automatic else value for name, value in values.items()}


def _changed(model: Model, values: Values, made: Values) -> dict[str, Any]:
    """The values of `made` that differ, validated; what is set automatically is left alone."""
    found: dict[str, Any] = {}
    for name, value in made.items():
        attribute = model.attributes[name]
        if name in model.automatic_fields or (name in values and attribute.codec.same(value, values[name])):
            continue
        if value is None and not attribute.optional and not attribute.member.automatic:
            raise invalid_value(FaultyValue(Fault("null")), model.name, name)
        found[name] = None if value is None else normalize_value(model, attribute, value)
    return found


@cache
def _automatic_fields(model: Model) -> frozenset[str]:
    return frozenset(each.field for each in model.attributes.values() if each.member.automatic)


def _set_both(model: Model, migration: Migration, entity: Any) -> bool:
    """Sets the one of two attributes of a migration that the entity lacks, where it declares both."""
    if not migration.old.field:
        return False
    field, declared = migration.new.field, migration.old.field
    old, new = getattr(entity, declared), getattr(entity, field)
    wanted = migration.old_value(new)
    if wanted is None and old is not None:
        setattr(entity, field, migration.new_value(old, new))
        return True
    if old is not None and not migration.old.codec.same(old, wanted):
        raise InvalidValue(model.name, f"it differs from {field!r}, into which it is converted; set one", declared)
    setattr(entity, declared, wanted)
    return True


@cache
def _automatic_names(model: Model) -> tuple[str, ...]:
    """The names, in JSON, of the attributes that may be AUTO."""
    fields = msgspec.structs.fields(model.cls)
    return tuple(each.encode_name for each in fields if model.attributes[each.name].member.automatic)


@cache
def _settling(model: Model) -> tuple[tuple[str, AttributeMember], ...]:
    """The attributes whose values may be read back in another form."""
    return tuple((field, each.member) for field, each in model.attributes.items() if each.member.settles)


def normalize_value(model: Model, attribute: Attribute, value: Any) -> Any:
    """A validated value of one attribute, in the form in which it will be read back."""
    valid = type(value) is attribute.kind and attribute.field in _unconstrained(model)
    made = value if valid else _convert(value, attribute.hint, model.name, attribute.field)
    return settled(model, attribute, made, value) if attribute.member.settles else made


@cache
def _unconstrained(model: Model) -> frozenset[str]:
    """The attributes of which every value of their type is valid, and cannot be changed by its caller."""
    simple = (str, int, bool, bytes, date, UUID)
    return frozenset(
        each.field
        for each in model.attributes.values()
        if (each.kind in simple or (isinstance(each.kind, type) and issubclass(each.kind, Enum)))
        and not any(each.metas)
    )


def normalize_operand(model: Model, attribute: Attribute, value: Any) -> Any:
    """A value of the attribute's type that need not be within its bounds: an operand of a step or a search."""
    exact = Decimal(value) if attribute.kind is Decimal and type(value) is int else value  # price += 1
    made = _convert(exact, attribute.kind, model.name, attribute.field)
    if made or not isinstance(attribute.codec, SetCodec):  # adding an empty set is adding nothing
        made = settled(model, attribute, made, exact)
    encode_attributes(model, {attribute.field: made})
    return made


def settled(model: Model, attribute: Attribute, value: Any, given: Any) -> Any:
    """A value in the form in which it will be read back: everything in a key, a guard or a comparison has it."""
    try:
        return attribute.member.settled(value, given)
    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise invalid_value(error, model.name, attribute.field) from None


def _convert(value: Any, kind: Any, entity: str, *path: Step, automatic: tuple[str, ...] = ()) -> Any:
    """A validated copy of the value; untyped values keep their own types, and members in `automatic` may be AUTO."""
    try:
        plain = msgspec.to_builtins(value, builtin_types=_NATIVE_OR_AUTO)
        for name in automatic:
            if plain[name] is AUTO:
                del plain[name]  # the copy has the default, which is AUTO
        return msgspec.convert(plain, kind, builtin_types=_NATIVE)
    except RecursionError:
        for name in getattr(value, "__struct_fields__", ()):
            _convert(getattr(value, name), Any, entity, *path, name)
        raise InvalidValue(entity, "it is nested too deeply", *path) from None
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise invalid_value(error, entity, *path) from None


def item_of(model: Model, values: Values) -> Item:
    """The whole item: attributes, key, index keys, TTL, type attribute."""
    item = encode_attributes(model, values)
    item.update(key_of(model, values))
    if model.table.type_attribute and model.table.type_attribute not in item:
        item[model.table.type_attribute] = {"S": model.type_name}
    for group in derivations(model):
        for name, value in derived_attributes(model, group, values, item).items():
            if value is not None:
                item[name] = value
    return item


def encode_attributes(model: Model, values: Values) -> Item:
    """The attributes that are stored under their own names."""
    item: Item = {}
    for member in model.members:
        held = values.get(member.field)
        if held is None:
            continue
        try:
            check = attribute_keys(model).get(member.field)
            written = member.codec.encode(held if check is None else check(held))
        except _ReservedText as error:
            raise ReservedKey(model.name, str(error), member.field) from None
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise invalid_value(error, model.name, member.field) from None
        if written is not None:
            item[member.name] = written
    return item


class _ReservedText(ValueError):
    pass


def encode_fields(model: Model, fields: frozenset[str], values: Values) -> Item:
    """The same as `encode_attributes` for the values of some attributes, faster."""
    try:
        item: Item = _fields_writer(model, fields)(values)
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return encode_attributes(model, {field: values[field] for field in fields})
    return item


@lru_cache(maxsize=4096)
def _fields_writer(model: Model, fields: frozenset[str]) -> Callable[[Values], Item]:
    env: Env = {}
    members = [member for member in model.members if member.field in fields]
    lines = [line for member in members for line in member_source(model, member, env)]
    return compile_function(f"attributes of {model.name}", ["item = {}", *lines, "return item"], env)


def member_source(model: Model, member: AttributeMember, env: Env) -> list[str]:
    """Lines that put an attribute into `item`."""
    value = f"v[{member.field!r}]"
    if member.field in attribute_keys(model):
        value = f"{bind(attribute_keys(model)[member.field], env)}({value})"
    return member.encode_expr(value, env)


def key_text_value(most: int, reserved: str, held: Any) -> Any:
    """The value of an attribute that is itself a key: not empty, not too long, not beginning with what is reserved."""
    text = held.value if isinstance(held, Enum) else held
    if isinstance(text, str | bytes):
        if not text:
            raise ValueError(f"empty {'text' if isinstance(text, str) else 'bytes'} cannot be part of a key")
        if len(text) * 4 > most:
            _check_length(text, most)
        if reserved and isinstance(text, str) and text.startswith(reserved):
            raise _ReservedText(f"keys that begin with {reserved!r} are reserved for the guards of unique values")
    return held


def _check_length(key: str | bytes, most: int) -> None:
    if len(key.encode() if isinstance(key, str) else key) > most:
        raise ValueError(f"the key is longer than {most} bytes")


@cache
def attribute_keys(model: Model) -> dict[str, Callable[[Any], Any]]:
    """The attributes that are themselves keys, each with the check of its value."""
    every = (model.key, *(keys for several in model.indexes.values() for keys in several))
    most = {each.field: limits.PARTITION_KEY_BYTES for keys in every for each in keys.partition}
    most |= {each.field: limits.SORT_KEY_BYTES for keys in every for each in keys.sort}
    guarded = any(each.uniques for each in model.table.models)
    own = [each.field for each in model.key.partition]
    return {
        field: partial(key_text_value, size, GUARD_PREFIX if guarded and field in own else "")
        for field, size in most.items()
        if field is not None
    }


def key_of(model: Model, values: Values) -> Item:
    """The key in the table."""
    try:
        key: Item = _key_writer(model)(values)
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return _key_step_by_step(model, values)
    return key


@cache
def _key_writer(model: Model) -> Callable[[Values], Item]:
    """The compiled function; it may raise any error where `_key_step_by_step` may raise an InvalidValue."""
    env: Env = {}
    lines = [f"if {missing_source(model.key.required_fields)}: raise ValueError('a part of the key is missing')"]
    made = []
    for at, attribute in enumerate(model.key.attributes):
        if attribute.template is None:
            lines.append(f"key{at} = {bind(partial(key_value, model, attribute), env)}(v)")
            made.append(f"{attribute.name!r}: key{at}")
        else:
            lines.append(f"key{at} = {text_source(attribute.template, env)}")
            lines.append(f"if len(key{at}) > {SHORT}: raise ValueError('perhaps too long')")
            made.append(f"{attribute.name!r}: {{'S': key{at}}}")
    return compile_function(f"key of {model.name}", [*lines, f"return {{{', '.join(made)}}}"], env)


def _key_step_by_step(model: Model, values: Values) -> Item:
    key = {}
    for at, attribute in enumerate(model.key.attributes):
        value = key_value(model, attribute, values)
        if value is None:
            raise InvalidValue(model.name, "a part of the key is missing", attribute.name)
        check_key(model, attribute, value.get("S"), limits.SORT_KEY_BYTES if at else limits.PARTITION_KEY_BYTES)
        key[attribute.name] = value
    return key


def check_key(model: Model, attribute: KeyAttribute, text: Any, most: int) -> None:
    """An InvalidValue where the text of a key is longer than DynamoDB allows."""
    try:
        _check_length(text or "", most)
    except ValueError as error:
        raise invalid_value(error, model.name, attribute.name) from None


def key_parts(model: Model, values: Values) -> dict[str, Any]:
    """The values of the key parts by field; errors name an item by them."""
    return {field: values[field] for field in model.key.fields}


def key_in_item(model: Model, item: Item) -> Item:
    """The key of an item."""
    return {name: item[name] for name in model.table.key_names}


def old_keys(model: Model, values: Values) -> Iterator[Item]:
    """The other keys under which the entity may be stored.

    These are the declared `old_keys`, with each of their texts composed or decomposed, and all keys with their times in
    the formats of other code.
    """
    found = [key_of(model, values)]
    for keys in (*model.old_keys, model.key):
        fields = texts_as_written(keys)
        for forms in value_forms(tuple(values[field] for field in fields)):
            for key in _written_by_others(model, keys, {**values, **dict(zip(fields, forms, strict=True))}):
                if key not in found:
                    found.append(key)
                    yield key


def _written_by_others(model: Model, keys: EntityKeys, values: Values) -> Iterator[Item]:
    """A key of the entity, and the same with its times in the formats of other code."""
    try:
        made = {each.name: key_value(model, each, values) for each in keys.attributes}
    except InvalidValue:
        return  # a value that the old key cannot hold was never stored under it
    key = {name: value for name, value in made.items() if value is not None}
    if len(key) < len(made):
        return
    yield key
    for each in keys.attributes:
        for text in each.template.with_other_times(values) if each.template is not None else ():
            yield key | {each.name: {"S": text}}


def key_value(model: Model, attribute: KeyAttribute, values: Values) -> AttributeValue | None:
    if attribute.template is not None:
        text = attribute.template.format(model.name, values)
        return None if text is None else {"S": text}
    assert attribute.field is not None
    held = values[attribute.field]
    if held is None:
        return None
    return encode_attributes(model, {attribute.field: held}).get(attribute.name)


def key_texts(key: Item) -> dict[str, str]:
    """A stored key without DynamoDB's types: `{"PK": "NOTE#n1", "SK": "NOTE"}`."""
    return {name: str(next(iter(value.values()))) for name, value in key.items()}


def key_text(key: Item) -> str:
    """A stored key as one text: its values, separated by spaces."""
    return " ".join(key_texts(key).values())


@cache
def derivations(model: Model) -> tuple[Derived, ...]:
    return tuple(_derivations(model))


def _derivations(model: Model) -> Iterator[Derived]:
    for alternatives in model.indexes.values():
        written = [each for keys in alternatives for each in template_keys(model, keys)]
        fields = {field for each in written for field in each.fields}
        fields |= {field for keys in alternatives if keys.when is not None for field in keys.when.fields}
        if written:
            yield Derived(tuple(dict.fromkeys(each.name for each in written)), frozenset(fields), alternatives)
    if model.expires is not None and model.table.ttl is not None:
        condition = model.expires.when.fields if model.expires.when is not None else ()
        yield Derived((model.table.ttl,), frozenset({model.expires.at, *condition}), ())
    for migration in model.migrations:
        yield Derived((migration.old.name,), frozenset({migration.new.field}), (), migration)


def template_keys(model: Model, keys: EntityKeys) -> list[KeyAttribute]:
    """The key attributes with templates, other than the table's own key."""
    return [each for each in keys.attributes if each.template is not None and each.name not in model.table.key_names]


def derived_attributes(model: Model, group: Derived, values: Values, item: Item) -> dict[str, AttributeValue | None]:
    """The group's attributes, None where absent; conditions are evaluated on `item`, the encoded attributes."""
    try:
        made: dict[str, AttributeValue | None] = _group_writer(model, group)((values, item))
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return derived_step_by_step(model, group, values, item)
    return made


@cache
def _group_writer(model: Model, group: Derived) -> Callable[[tuple[Values, Item]], dict[str, AttributeValue | None]]:
    """The compiled function for the keys of an index with one `Keys`; any other group is computed step by step."""
    if len(group.alternatives) != 1:
        return lambda given: derived_step_by_step(model, group, *given)
    (keys,) = group.alternatives
    env: Env = {}
    written = template_keys(model, keys)
    fields = tuple(dict.fromkeys(field for each in written for field in each.required_fields))
    outside = missing_source(fields)
    if keys.when is not None:
        outside = f"not {bind(design_predicate(model, keys.when), env)}(item) or {outside}"
    lines = ["v, item = v", f"if {outside}: return dict.fromkeys({tuple(each.name for each in written)!r})"]
    for at, each in enumerate(written):
        lines.append(f"key{at} = {text_source(each.template, env)}")
        lines.append(f"if len(key{at}) > {SHORT}: raise ValueError('perhaps too long')")
    made = ", ".join(f"{each.name!r}: {{'S': key{at}}}" for at, each in enumerate(written))
    return compile_function(f"keys of {keys.where}", [*lines, f"return {{{made}}}"], env)


def derived_step_by_step(model: Model, group: Derived, values: Values, item: Item) -> dict[str, AttributeValue | None]:
    """The definition of what the compiled function returns, and the errors that it raises."""
    if group.migration is not None:
        return {group.names[0]: _before_migration(model, group.migration, values)}
    if not group.alternatives:
        return {group.names[0]: expiry_of(model, values, item)}
    absent: dict[str, AttributeValue | None] = dict.fromkeys(group.names)
    for keys in group.alternatives:
        if keys.when is not None and not design_predicate(model, keys.when)(item):
            continue
        made = {each.name: key_value(model, each, values) for each in template_keys(model, keys)}
        if all(value is not None for value in made.values()):
            _check_index_keys(model, keys, made)
            return absent | made
    return absent


def _before_migration(model: Model, migration: Migration, values: Values) -> AttributeValue | None:
    """What is stored for programs that know the attribute as it was before."""
    try:
        return migration.stored_old(values[migration.new.field])
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        raise invalid_value(error, model.name, migration.new.field) from None


def _check_index_keys(model: Model, keys: EntityKeys, made: Mapping[str, AttributeValue | None]) -> None:
    for each in keys.attributes:
        most = limits.PARTITION_KEY_BYTES if each in keys.partition else limits.SORT_KEY_BYTES
        check_key(model, each, (made.get(each.name) or {}).get("S"), most)


def expiry_of(model: Model, values: Values, item: Item) -> AttributeValue | None:
    """The second at which the item expires, if it does."""
    if model.expires is None:
        return None
    at = values[model.expires.at]
    if at is None or (model.expires.when is not None and not design_predicate(model, model.expires.when)(item)):
        return None
    try:
        return {"N": str(int((at + model.expires.after).timestamp()))}
    except OverflowError:
        raise InvalidValue(model.name, "it expires after the year 9999", model.expires.at) from None


def expiry_second(now: datetime) -> AttributeValue:
    """The time in the form of a TTL: an item has expired when its TTL is not greater."""
    return {"N": str(int(now.timestamp()))}

"""Codecs: how a typed value is written in DynamoDB JSON, and the msgspec shape that reads it back.

`encode` returns the attribute value; `encode_expr` is the Python expression that does the same in a compiled writer.
`shape` is the type that msgspec decodes (`{"S": ...}` as a struct with one field) and `decode_expr` the expression
that unwraps it in a compiled decoder, so that an item's bytes become an entity without a dict in between. Shapes hold
decoded values only and can form no reference cycles, so they are created with `gc=False`.

Some values are read back in another form with the same meaning: a time in UTC, a number without trailing zeros.
`normalized` converts a value to that form before it is written, so a written entity equals what a reader gets.
"""

import base64
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import msgspec

from partita.design.codegen import Env, KeyValue, bind, compile_function, nullable, tagged_struct
from partita.design.markers import AUTO, auto
from partita.design.untyped_values import any_value, map_name, nfc_text, number_text, open_number, plain, unicode_text
from partita.dynamodb.values import AttributeValue
from partita.errors import Fault
from partita.validation import FaultyValue

Namer = Callable[[str], str]

_json = msgspec.json.Encoder(decimal_format="number").encode  # or an untyped Decimal would come back as text


def _open_decimal(text: str) -> Any:
    return open_number(Decimal(text))


class Codec:
    """How values of one type are stored; `tag` is DynamoDB's type.

    `encode` returns None for a value that is not stored (an empty set).
    """

    tag: str
    shape: Any
    normalizes = False  # whether `normalized` may change a value
    open = False  # whether it holds untyped values, among which Python takes True and 1 for equal

    def encode(self, value: Any) -> AttributeValue | None:
        raise NotImplementedError

    def normalized(self, value: Any, given: Any) -> Any:
        """The value as it will be read back; `given` is the value before its validation, which still has sets."""
        return value

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values have the same stored form."""
        if one is None or other is None:
            return one is other
        return bool(one == other) and (not self.open or self.encode(one) == self.encode(other))

    def decode_expr(self, value: str, env: Env) -> str:
        """An expression that unwraps the decoded shape named by `value`."""
        raise NotImplementedError

    def encode_expr(self, value: str, env: Env) -> str:
        """An expression that encodes the value named by `value`."""
        return f"{bind(self.encode, env)}({value})"


class ScalarCodec(Codec):
    """S, N, B or BOOL with a value that msgspec decodes as `reads`; `finish` converts it, where that is not enough."""

    def __init__(
        self,
        tag: str,
        reads: Any,
        write: Callable[[Any], Any],
        finish: Callable[[Any], Any] | None = None,
        normalize: Callable[[Any], Any] | None = None,
    ) -> None:
        self.tag = tag
        self.shape = tagged_struct(tag, reads)
        self._write = write
        self._finish = finish
        self._normalize = normalize
        self.normalizes = normalize is not None

    def normalized(self, value: Any, given: Any) -> Any:
        return value if self._normalize is None else self._normalize(value)

    def encode(self, value: Any) -> AttributeValue | None:
        return None if value is None else {self.tag: self._write(value)}

    def encode_expr(self, value: str, env: Env) -> str:
        return f"{{{self.tag!r}: {self._encoded(value, env)}}}"

    def _encoded(self, value: str, env: Env) -> str:
        return f"{bind(self._write, env)}({value})"

    def decode_expr(self, value: str, env: Env) -> str:
        unwrapped = f"{value}.{self.tag}"
        return f"{bind(self._finish, env)}({unwrapped})" if self._finish else unwrapped


class TextCodec(ScalarCodec):
    """Text; ASCII needs no check of its encoding. With `nfc` it is stored normalized, as in a key."""

    def __init__(self, reads: Any, *, nfc: bool = False) -> None:
        super().__init__("S", reads, nfc_text if nfc else unicode_text, normalize=nfc_text if nfc else None)

    def _encoded(self, value: str, env: Env) -> str:
        return f"{value} if {value}.isascii() else {super()._encoded(value, env)}"


class OpenEnumCodec(ScalarCodec):
    """A member of an open enum, or a text without a member; with `nfc` the text is stored normalized, as in a key."""

    def __init__(self, kind: Any, *, nfc: bool = False) -> None:
        def composed(member: Any) -> Any:
            text = nfc_text(member.value)
            return member if text == member.value else kind(text)

        write = nfc_text if nfc else unicode_text
        super().__init__("S", kind, lambda member: write(member.value), normalize=composed if nfc else None)


class SetCodec(Codec):
    """SS, NS or BS; an empty set is not stored, because DynamoDB has no empty sets."""

    def __init__(self, element: ScalarCodec, reads: Any, kind: Any) -> None:
        self.tag = element.tag + "S"
        self.shape = tagged_struct(self.tag, list[reads])
        self.element = element
        self.kind = kind
        self.normalizes = element.normalizes

    def normalized(self, value: Any, given: Any) -> Any:
        return self.kind(self.element.normalized(each, each) for each in value)

    def encode(self, value: Any) -> AttributeValue | None:
        written = sorted(self.element._write(each) for each in value)
        return {self.tag: written} if written else None

    def decode_expr(self, value: str, env: Env) -> str:
        return f"{self.kind.__name__}({value}.{self.tag})"


def _encoded_inside(codec: Codec, value: Any) -> AttributeValue:
    """A value inside a list or map, where an empty set has no place: DynamoDB does not store it."""
    encoded = codec.encode(value)
    if encoded is None:
        raise ValueError("an empty set cannot be stored inside a list or dict; leave it out")
    return encoded


class ListCodec(Codec):
    tag = "L"

    def __init__(self, element: Codec, kind: Any) -> None:
        self.shape = tagged_struct("L", list[element.shape])  # type: ignore[name-defined]
        self.element = element
        self._kind = kind
        self.normalizes = element.normalizes
        self.open = element.open

    def normalized(self, value: Any, given: Any) -> Any:
        return self._kind(map(self.element.normalized, value, given))

    def encode(self, value: Any) -> AttributeValue | None:
        return {"L": [_encoded_inside(self.element, each) for each in value]}

    def decode_expr(self, value: str, env: Env) -> str:
        listed = f"[{self.element.decode_expr('each', env)} for each in {value}.L]"
        return listed if self._kind is list else f"{self._kind.__name__}({listed})"


class MapCodec(Codec):
    tag = "M"

    def __init__(self, element: Codec) -> None:
        self.shape = tagged_struct("M", dict[str, element.shape])  # type: ignore[name-defined]
        self.element = element
        self.normalizes = element.normalizes
        self.open = element.open

    def normalized(self, value: Any, given: Any) -> Any:
        return {name: self.element.normalized(each, given[name]) for name, each in value.items()}

    def encode(self, value: Any) -> AttributeValue | None:
        return {"M": {map_name(name): _encoded_inside(self.element, each) for name, each in value.items()}}

    def decode_expr(self, value: str, env: Env) -> str:
        return f"{{name: {self.element.decode_expr('each', env)} for name, each in {value}.M.items()}}"


class StructCodec(Codec):
    """A nested struct as a map, its fields under their names on disk."""

    tag = "M"

    def __init__(self, kind: type[msgspec.Struct], members: "tuple[AttributeMember, ...]") -> None:
        self.shape = tagged_struct("M", shape_of(kind.__name__, members))
        self._kind = kind
        self.members = members
        self._settling = tuple((member.field, member) for member in members if member.settles)
        self.normalizes = bool(self._settling)
        self.open = any(member.codec.open for member in members)

    def normalized(self, value: Any, given: Any) -> Any:
        given = given if isinstance(given, self._kind) else value
        changed = {}
        for field, member in self._settling:
            before = getattr(value, field)
            if before is None and not member.optional:
                raise FaultyValue(Fault("null"), f"its member {field!r} may not be None")
            after = member.settled(before, getattr(given, field))
            if after is not before:
                changed[field] = after
        return msgspec.structs.replace(value, **changed) if changed else value

    def encode(self, value: Any) -> AttributeValue | None:
        return {"M": self._write(value)}

    @cached_property
    def _write(self) -> Callable[[Any], dict[str, AttributeValue]]:
        """The compiled writer: `def write(v): item = {}; ...; return item`."""
        env: Env = {}
        lines = [line for member in self.members for line in member.encode_expr(f"v.{member.field}", env)]
        return compile_function(f"writer of {self._kind.__name__}", ["item = {}", *lines, "return item"], env)

    def decode_expr(self, value: str, env: Env) -> str:
        inside = f"{value}.M"
        given = ", ".join(f"{m.field}={m.decode_expr(inside, at, env)}" for at, m in enumerate(self.members))
        return f"{bind(self._kind, env)}({given})"


class NullableCodec(Codec):
    """A value inside a list or map that may be NULL."""

    def __init__(self, inner: Codec) -> None:
        self.tag = inner.tag
        self.shape = nullable(inner.shape)
        self.inner = inner
        self.normalizes = inner.normalizes
        self.open = inner.open

    def normalized(self, value: Any, given: Any) -> Any:
        return None if value is None else self.inner.normalized(value, given)

    def encode(self, value: Any) -> AttributeValue | None:
        return {"NULL": True} if value is None else self.inner.encode(value)

    def decode_expr(self, value: str, env: Env) -> str:
        return f"(None if {value}.NULL else {_of_its_type(self.inner, value, 'a value inside', env)})"


class CompressedCodec(Codec):
    """Any value as zlib-compressed JSON in one binary attribute; `uncompressed` is the codec of older, plain values."""

    tag = "B"

    def __init__(self, kind: Any, uncompressed: Codec | None = None) -> None:
        forms: list[Any] = [("B", bytes)]
        if uncompressed is not None:
            forms += [(each.name, each.type) for each in msgspec.structs.fields(uncompressed.shape)]
        either = [(name, form | msgspec.UnsetType, msgspec.UNSET) for name, form in forms]
        self.shape = msgspec.defstruct("CompressedValue", either, gc=False)
        self._uncompressed = uncompressed
        self._decoder = msgspec.json.Decoder(kind, float_hook=_open_decimal)
        self.normalizes = uncompressed is None or uncompressed.normalizes

    def normalized(self, value: Any, given: Any) -> Any:
        return self._decoder.decode(_finite_json(value))

    def encode(self, value: Any) -> AttributeValue | None:
        return {"B": base64.b64encode(zlib.compress(_finite_json(value))).decode()}

    def decode_expr(self, value: str, env: Env) -> str:
        inflated = f"{bind(self._inflate, env)}({value}.B)"
        if self._uncompressed is None:
            return inflated
        return f"({inflated} if {value}.B else {_of_its_type(self._uncompressed, value, 'it', env)})"

    def same(self, one: Any, other: Any) -> bool:
        return bool(_json(one) == _json(other))

    def _inflate(self, stored: bytes) -> Any:
        try:
            return self._decoder.decode(zlib.decompress(stored))
        except zlib.error as error:
            raise ValueError(f"it is not compressed JSON: {error}") from None


def _finite_json(value: Any) -> bytes:
    """The value as JSON, which has no NaN and no infinity: a float among them would become null."""
    text = _json(value)
    if any(mark in text for mark in (b"null", b"NaN", b"Infinity")):
        _check_finite(value)
    return text


def _check_finite(value: Any) -> None:
    if isinstance(value, float | Decimal):
        number_text(value)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _check_finite(getattr(value, name))
    elif isinstance(value, Mapping):
        for each in value.values():
            _check_finite(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            _check_finite(each)


class UntypedCodec(Codec):
    """A value of any type; numbers are read as int or Decimal. `depth` is how deep it is nested."""

    tag = ""
    shape = AttributeValue
    normalizes = True
    open = True

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth

    def encode(self, value: Any) -> AttributeValue | None:
        return any_value(value, self._depth)

    def normalized(self, value: Any, given: Any) -> Any:
        return plain(any_value(given, self._depth))

    def decode_expr(self, value: str, env: Env) -> str:
        return f"{bind(plain, env)}({value})"


def _of_its_type(codec: Codec, value: str, name: str, env: Env) -> str:
    """The expression of a value that raises where another type is stored."""
    if isinstance(codec, CompressedCodec):  # has two stored types, and checks them itself
        return codec.decode_expr(value, env)
    wrong = bind(partial(_raise_wrong_type, name, codec.tag), env)
    return f"({codec.decode_expr(value, env)} if {value}.{codec.tag} is not {bind(msgspec.UNSET, env)} else {wrong}())"


def _raise_wrong_type(name: str, tag: str) -> Any:
    raise ValueError(f"{name} is not stored as {tag}")


class AttributeMember(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A field of an entity or nested struct: its names in Python and on disk, its codec and its default."""

    field: str
    name: str
    codec: Codec
    optional: bool = False
    default: Any = msgspec.field(default_factory=lambda: msgspec.NODEFAULT)
    default_factory: Any = msgspec.field(default_factory=lambda: msgspec.NODEFAULT)

    @property
    def required(self) -> bool:
        return self.default is msgspec.NODEFAULT and self.default_factory is msgspec.NODEFAULT

    @property
    def automatic(self) -> bool:
        """Whether its default is AUTO."""
        return self.default_factory is auto

    @property
    def may_be_missing(self) -> bool:
        return self.optional or not self.required or isinstance(self.codec, SetCodec)

    @property
    def default_when_absent(self) -> Any:
        """The value for an item without the attribute; NODEFAULT where the attribute is required."""
        if self.default_factory is not msgspec.NODEFAULT:
            return self.default_factory()
        if self.default is not msgspec.NODEFAULT or not self.may_be_missing:
            return self.default
        return None if self.optional else self._empty_set

    @property
    def _empty_set(self) -> Any:
        """What is read where a set without a default is absent."""
        assert isinstance(self.codec, SetCodec)
        return self.codec.kind()

    @cached_property
    def settles(self) -> bool:
        """Whether `settled` may change a value."""
        return self.codec.normalizes or self._empty_is_none

    @cached_property
    def _empty_is_none(self) -> bool:
        """An empty set is not stored, and an absent one is read as None."""
        return isinstance(self.codec, SetCodec) and self.default_when_absent is None

    def settled(self, value: Any, given: Any) -> Any:
        """The value as it will be read back; `given` is the value before its validation, which still has sets."""
        if value is AUTO:
            return value
        if value is None:
            if not self.optional:  # an untyped value, since types have been checked
                raise FaultyValue(Fault("null"))
            return value
        if not value and self._empty_is_none:
            return None
        return self.codec.normalized(value, given) if self.codec.normalizes else value

    def decode_expr(self, owner: str, at: int, env: Env) -> str:
        """The expression of the field's value, from the decoded shape of its owner."""
        here = f"{owner}.f{at}"
        if not self.may_be_missing:
            return self.codec.decode_expr(here, env)
        absent = self._absent(env)
        if isinstance(self.codec, UntypedCodec):
            return f"({absent} if {here} is None else {self.codec.decode_expr(here, env)})"
        value = _of_its_type(self.codec, here, self.name, env)
        null = "None" if self.optional else absent
        return f"({absent} if {here} is None else {null} if {here}.NULL else {value})"

    def encode_expr(self, value: str, env: Env) -> list[str]:
        """Lines that put the field into `item`; None is omitted, or NULL where an absent field has another default."""
        item, encoded = f"item[{self.name!r}]", self.codec.encode_expr("held", env)
        if self.optional and self.default_when_absent is not None and not self.automatic:
            return [f"{item} = {{'NULL': True}} if (held := {value}) is None else {encoded}"]
        if isinstance(self.codec, ScalarCodec | StructCodec):
            return [f"if (held := {value}) is not None: {item} = {encoded}"]
        return [f"if (held := {value}) is not None and (encoded := {encoded}) is not None: {item} = encoded"]

    def _absent(self, env: Env) -> str:
        if self.default_factory is not msgspec.NODEFAULT:
            return f"{bind(self.default_factory, env)}()"
        if self.default is not msgspec.NODEFAULT:
            return bind(self.default, env)
        return "None" if self.optional else f"{bind(type(self._empty_set), env)}()"


def shape_of(name: str, members: tuple[AttributeMember, ...], extra: Mapping[str, str] | None = None) -> Any:
    """The struct into which msgspec decodes the map of an object: field `f3` is the fourth member."""
    fields: list[Any] = []
    for at, member in enumerate(members):
        shape = nullable(member.codec.shape) if member.may_be_missing else member.codec.shape
        fields.append((f"f{at}", shape | None, None) if member.may_be_missing else (f"f{at}", shape))
    names = {f"f{at}": member.name for at, member in enumerate(members)}
    for field, disk_name in (extra or {}).items():
        fields.append((field, KeyValue | None, None))
        names[field] = disk_name
    return msgspec.defstruct(f"{name}OnDisk", fields, rename=names, kw_only=True, gc=False)

"""How a typed value is written in DynamoDB JSON, and which msgspec shape reads it back.

A codec has two sides. `encode` makes the attribute value. `shape` and `source` are for a generated decoder: the shape
is the type that msgspec reads (`{"S": ...}` as a struct with one field), the source is the Python expression that
unwraps it, so that an item's bytes become an entity without a dict in between.
"""

import base64
import enum
import types
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from partita.design.errors import DesignError
from partita.design.moments import in_utc, time_text
from partita.wire import limits
from partita.wire.values import AttributeValue

Namer = Callable[[str], str]
Env = dict[str, Any]


class Codec:
    """`tag` is DynamoDB's type; `encode` answers None where there is nothing to store (an empty set)."""

    tag: str
    shape: Any

    def encode(self, value: Any) -> AttributeValue | None:
        raise NotImplementedError

    def source(self, value: str, env: Env) -> str:
        """An expression that unwraps the decoded shape named by `value`."""
        raise NotImplementedError


class Scalar(Codec):
    """One of S, N, B or BOOL holding a value that msgspec reads by itself, perhaps finished by `finish`."""

    def __init__(
        self, tag: str, reads: Any, write: Callable[[Any], Any], finish: Callable[[Any], Any] | None = None
    ) -> None:
        self.tag = tag
        self.shape = _wrapper(tag, reads)
        self._write = write
        self._finish = finish

    def encode(self, value: Any) -> AttributeValue | None:
        return {self.tag: self._write(value)}

    def source(self, value: str, env: Env) -> str:
        unwrapped = f"{value}.{self.tag}"
        return f"{_named(self._finish, env)}({unwrapped})" if self._finish else unwrapped


class SetOf(Codec):
    """SS, NS or BS; an empty set is not stored, because DynamoDB has none."""

    def __init__(self, element: Scalar, reads: Any, kind: Any) -> None:
        self.tag = element.tag + "S"
        self.shape = _wrapper(self.tag, list[reads])
        self._element = element
        self._kind = kind

    def encode(self, value: Any) -> AttributeValue | None:
        written = sorted(self._element._write(each) for each in value)
        return {self.tag: written} if written else None

    def source(self, value: str, env: Env) -> str:
        return f"{self._kind.__name__}({value}.{self.tag})"


class ListOf(Codec):
    tag = "L"

    def __init__(self, element: Codec, kind: Any) -> None:
        self.shape = _wrapper("L", list[element.shape])  # type: ignore[name-defined]
        self._element = element
        self._kind = kind

    def encode(self, value: Any) -> AttributeValue | None:
        return {"L": [self._element.encode(each) or {"NULL": True} for each in value]}

    def source(self, value: str, env: Env) -> str:
        listed = f"[{self._element.source('each', env)} for each in {value}.L]"
        return listed if self._kind is list else f"{self._kind.__name__}({listed})"


class MapOf(Codec):
    tag = "M"

    def __init__(self, element: Codec) -> None:
        self.shape = _wrapper("M", dict[str, element.shape])  # type: ignore[name-defined]
        self._element = element

    def encode(self, value: Any) -> AttributeValue | None:
        return {"M": {name: self._element.encode(each) or {"NULL": True} for name, each in value.items()}}

    def source(self, value: str, env: Env) -> str:
        return f"{{name: {self._element.source('each', env)} for name, each in {value}.M.items()}}"


class StructOf(Codec):
    """A nested struct as a map, its fields under their names on disk."""

    tag = "M"

    def __init__(self, kind: type[msgspec.Struct], members: "tuple[Member, ...]") -> None:
        self.shape = _wrapper("M", shape_of(kind.__name__, members))
        self._kind = kind
        self.members = members

    def encode(self, value: Any) -> AttributeValue | None:
        return {"M": encoded(self.members, value)}

    def source(self, value: str, env: Env) -> str:
        inside = f"{value}.M"
        given = ", ".join(f"{m.field}={m.source(inside, at, env)}" for at, m in enumerate(self.members))
        return f"{_named(self._kind, env)}({given})"


class Nullable(Codec):
    """A value inside a list or map that may be NULL."""

    def __init__(self, inner: Codec) -> None:
        self.tag = inner.tag
        self.shape = nullable(inner.shape)
        self._inner = inner

    def encode(self, value: Any) -> AttributeValue | None:
        return {"NULL": True} if value is None else self._inner.encode(value)

    def source(self, value: str, env: Env) -> str:
        return f"(None if {value}.NULL else {self._inner.source(value, env)})"


class Compressed(Codec):
    """Any value as zlib-compressed JSON in one binary attribute."""

    tag = "B"

    def __init__(self, kind: Any) -> None:
        self.shape = _wrapper("B", bytes)
        self._decoder = msgspec.json.Decoder(kind)

    def encode(self, value: Any) -> AttributeValue | None:
        return {"B": base64.b64encode(zlib.compress(msgspec.json.encode(value))).decode()}

    def source(self, value: str, env: Env) -> str:
        return f"{_named(self._inflate, env)}({value}.B)"

    def _inflate(self, stored: bytes) -> Any:
        return self._decoder.decode(zlib.decompress(stored))


class Anything(Codec):
    """A value whose type the design leaves open: numbers come back as int or Decimal."""

    tag = ""
    shape = AttributeValue

    def encode(self, value: Any) -> AttributeValue | None:
        return any_value(value)

    def source(self, value: str, env: Env) -> str:
        return f"{_named(plain, env)}({value})"


@dataclass(frozen=True, eq=False)
class Member:
    """A field of an entity or nested struct: its names in Python and on disk, and how it is written."""

    field: str
    name: str
    codec: Codec
    optional: bool = False
    default: Any = msgspec.NODEFAULT
    default_factory: Any = msgspec.NODEFAULT

    @property
    def required(self) -> bool:
        return self.default is msgspec.NODEFAULT and self.default_factory is msgspec.NODEFAULT

    @property
    def may_be_missing(self) -> bool:
        return self.optional or not self.required or isinstance(self.codec, SetOf)

    def source(self, owner: str, at: int, env: Env) -> str:
        """The expression of this field's value, given the decoded shape of its owner."""
        here = f"{owner}.f{at}"
        value = self.codec.source(here, env)
        if self.optional:
            value = f"(None if {here}.NULL else {value})"
        if not self.may_be_missing:
            return value
        return f"({self._absent(env)} if {here} is None else {value})"

    def _absent(self, env: Env) -> str:
        if self.default_factory is not msgspec.NODEFAULT:
            return f"{_named(self.default_factory, env)}()"
        if self.default is not msgspec.NODEFAULT:
            return _named(self.default, env)
        return "None" if self.optional else f"{_named(set, env)}()"


def encoded(members: tuple[Member, ...], value: Any) -> dict[str, AttributeValue]:
    """The attributes of an object that are present; absent ones are omitted, never null."""
    item: dict[str, AttributeValue] = {}
    for member in members:
        held = getattr(value, member.field)
        if held is not None and (written := member.codec.encode(held)) is not None:
            item[member.name] = written
    return item


class KeyValue(msgspec.Struct):
    """A key attribute or a TTL beside the members."""

    S: str | None = None
    N: str | None = None


def shape_of(name: str, members: tuple[Member, ...], extra: Mapping[str, str] | None = None) -> Any:
    """The struct that msgspec reads an object's map into: field `f3` is the fourth member."""
    fields: list[Any] = []
    for at, member in enumerate(members):
        shape = nullable(member.codec.shape) if member.optional else member.codec.shape
        fields.append((f"f{at}", shape | None, None) if member.may_be_missing else (f"f{at}", shape))
    names = {f"f{at}": member.name for at, member in enumerate(members)}
    for field, disk_name in (extra or {}).items():
        fields.append((field, KeyValue | None, None))
        names[field] = disk_name
    return msgspec.defstruct(f"{name}OnDisk", fields, rename=names, kw_only=True)


def members_of(kind: type[msgspec.Struct], where: str, naming: Namer) -> tuple[Member, ...]:
    """The members of a nested struct; a name that its class already renames is kept."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        Member(
            info.name,
            info.encode_name if info.encode_name != info.name else naming(info.name),
            *codec_of(hints[info.name], f"{where}.{info.name}", naming),
            default=info.default,
            default_factory=info.default_factory,
        )
        for info in msgspec.structs.fields(kind)
    )


def codec_of(annotation: Any, where: str, naming: Namer) -> tuple[Codec, bool]:
    """The codec of a type, and whether the value may be None."""
    kind, optional = stripped(annotation)
    return _codec(kind, where, naming), optional


def stripped(annotation: Any) -> tuple[Any, bool]:
    """The type without Annotated, NewType and None.

    >>> stripped(Annotated[str | None, "note"])
    (<class 'str'>, True)
    """
    optional = False
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif get_origin(annotation) in (Union, types.UnionType) and type(None) in get_args(annotation):
            optional = True
            annotation = Union[tuple(each for each in get_args(annotation) if each is not type(None))]  # noqa: UP007
        else:
            return annotation, optional


def _codec(kind: Any, where: str, naming: Namer) -> Codec:
    scalar = _scalar(kind)
    if scalar is not None:
        return scalar
    if kind is Any:
        return Anything()
    origin, inner = get_origin(kind), get_args(kind)
    if kind is dict or (origin is dict and inner[1] is Any):
        return MapOf(Anything())
    if origin in (set, frozenset):
        element = _scalar(stripped(inner[0])[0])
        if element is None or element.tag == "BOOL":
            raise DesignError(where, f"a set of {inner[0]} cannot be stored", "use a set of text, numbers or bytes")
        return SetOf(element, _reads(stripped(inner[0])[0]), origin)
    if origin is list or (origin is tuple and inner[-1] is Ellipsis):
        return ListOf(_inside(inner[0], where, naming), origin)
    if origin is dict and inner[0] is str:
        return MapOf(_inside(inner[1], where, naming))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return StructOf(kind, members_of(kind, where, naming))
    raise DesignError(
        where,
        f"{kind} has no form in DynamoDB",
        "use text, numbers, bytes, bool, times, enums, sets, lists, dicts by text or structs",
    )


def _inside(annotation: Any, where: str, naming: Namer) -> Codec:
    codec, optional = codec_of(annotation, where, naming)
    return Nullable(codec) if optional else codec


@cache
def _scalar(kind: Any) -> Scalar | None:
    if kind is bool:
        return Scalar("BOOL", bool, bool)
    if kind in (int, float, Decimal):
        return Scalar("N", kind, number_text)
    if kind is bytes:
        return Scalar("B", bytes, lambda value: base64.b64encode(value).decode())
    if kind is datetime:
        return Scalar("S", datetime, time_text, in_utc)
    if kind is date:
        return Scalar("S", date, date.isoformat)
    if kind is UUID:
        return Scalar("S", UUID, str)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        if all(isinstance(member.value, int) for member in kind):
            return Scalar("N", int, lambda member: str(member.value), kind)
        return Scalar("S", kind, lambda member: member.value)
    if kind is str or (get_origin(kind) is Literal and all(isinstance(value, str) for value in get_args(kind))):
        return Scalar("S", kind, str)
    return None


def _reads(kind: Any) -> Any:
    return int if isinstance(kind, type) and issubclass(kind, enum.IntEnum) else kind


@cache
def _wrapper(tag: str, reads: Any) -> Any:
    return msgspec.defstruct(f"{tag}Value", [(tag, reads)])


@cache
def nullable(shape: Any) -> Any:
    """The shape that also reads `{"NULL": true}`."""
    if not (isinstance(shape, type) and issubclass(shape, msgspec.Struct)):
        return shape
    (info,) = (each for each in msgspec.structs.fields(shape) if each.name != "NULL")
    return msgspec.defstruct(
        f"{info.name}OrNull", [(info.name, info.type | msgspec.UnsetType, msgspec.UNSET), ("NULL", bool, False)]
    )


def number_text(value: Any) -> str:
    """A number as DynamoDB takes it.

    >>> number_text(Decimal("1.50"))
    '1.50'
    """
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise ValueError(f"{value} is not a number that DynamoDB stores")
    digits = number.as_tuple().digits
    if len(digits) > limits.NUMBER_DIGITS and len("".join(map(str, digits)).strip("0")) > limits.NUMBER_DIGITS:
        raise ValueError(f"{value} has more than the {limits.NUMBER_DIGITS} digits that DynamoDB stores")
    if number and not limits.NUMBER_MIN_EXPONENT <= number.adjusted() <= limits.NUMBER_MAX_EXPONENT:
        raise ValueError(f"{value} is larger or smaller than the numbers that DynamoDB stores")
    return str(number)


def any_value(value: Any) -> AttributeValue:
    """Any plain Python value in DynamoDB JSON."""
    if isinstance(value, enum.Enum):
        return any_value(value.value)
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | float | Decimal):
        return {"N": number_text(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"S": time_text(value)}
    if isinstance(value, date):
        return {"S": value.isoformat()}
    if isinstance(value, UUID):
        return {"S": str(value)}
    if isinstance(value, Mapping):
        return {"M": {str(name): any_value(each) for name, each in value.items()}}
    if isinstance(value, set | frozenset) and value:
        (tag,) = {next(iter(any_value(each))) for each in value}
        return {tag + "S": sorted(any_value(each)[tag] for each in value)}
    if isinstance(value, list | tuple):
        return {"L": [any_value(each) for each in value]}
    if isinstance(value, msgspec.Struct):
        return any_value(msgspec.to_builtins(value))
    raise ValueError(f"{value!r} has no form in DynamoDB")


def plain(value: AttributeValue) -> Any:
    """The Python value of an attribute value whose type the design leaves open."""
    ((tag, held),) = value.items()
    if tag == "N":
        return _plain_number(held)
    if tag == "L":
        return [plain(each) for each in held]
    if tag == "M":
        return {name: plain(each) for name, each in held.items()}
    if tag == "B":
        return base64.b64decode(held)
    if tag in ("SS", "NS", "BS"):
        return {plain({tag[0]: each}) for each in held}
    return None if tag == "NULL" else held


def _plain_number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and "." not in text else number


def _named(thing: Any, env: Env) -> str:
    """A name under which the generated code finds `thing`."""
    if thing in (set, frozenset, tuple):
        return str(thing.__name__)
    name = f"k{len(env)}"
    env[name] = thing
    return name

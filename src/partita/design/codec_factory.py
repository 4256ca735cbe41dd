"""The codec of a type, from its annotation."""

import base64
import enum
import types
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import msgspec

from partita.design.argument_checks import check_is_type, hints_of
from partita.design.codecs import (
    AttributeMember,
    Codec,
    ListCodec,
    MapCodec,
    Namer,
    NullableCodec,
    OpenEnumCodec,
    ScalarCodec,
    SetCodec,
    StructCodec,
    TextCodec,
    UntypedCodec,
)
from partita.design.naming import check_distinct
from partita.design.open_enum import OpenEnum
from partita.design.timestamps import in_utc, normalized_time, time_text
from partita.design.untyped_values import normalized_decimal, number_text
from partita.errors import DesignError

Structs = tuple[type[msgspec.Struct], ...]  # around a type


def members_of(
    kind: type[msgspec.Struct], where: str, naming: Namer, around: Structs = ()
) -> tuple[AttributeMember, ...]:
    """The members of a nested struct; a rename by its class has priority over `naming`."""
    hints = hints_of(where, kind)
    members = tuple(
        AttributeMember(
            info.name,
            info.encode_name if info.encode_name != info.name else naming(info.name),
            codec_of(hints[info.name], f"{where}.{info.name}", naming, (*around, kind))[0],
            may_be_none(hints[info.name], info.default),
            info.default,
            info.default_factory,
        )
        for info in msgspec.structs.fields(kind)
    )
    check_distinct(where, {member.field: member.name for member in members})
    for member in members:
        check_set_default(f"{where}.{member.field}", member)
    return members


def check_set_default(where: str, member: AttributeMember) -> None:
    """A DesignError where an empty set, which DynamoDB does not store, would be read as another default."""
    if isinstance(member.codec, SetCodec) and member.default_when_absent:
        wrong = f"DynamoDB stores no empty set, so one would be read as the default {member.default_when_absent!r}"
        raise DesignError(where, wrong, "make the default empty")


def may_be_none(annotation: Any, default: Any) -> bool:
    """Whether a member may be None: by its type, or as an untyped value whose default is None.

    An untyped value with another default, or none, would be read back as that default, or not at all.
    """
    kind, optional = unwrapped_type(annotation)
    return optional or (kind is Any and default is None)


def codec_of(annotation: Any, where: str, naming: Namer, around: Structs = ()) -> tuple[Codec, bool]:
    """The codec of a type, and whether the value may be None."""
    kind, optional = unwrapped_type(annotation)
    return _codec(kind, where, naming, around), optional


def unwrapped_type(annotation: Any) -> tuple[Any, bool]:
    """The type without Annotated, NewType and None.

    >>> unwrapped_type(Annotated[str | None, "note"])
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


def markers_of(annotation: Any) -> tuple[Any, ...]:
    """The markers of an annotation, also those inside `| None` and of a NewType.

    >>> markers_of(Annotated[Annotated[str, "inner"] | None, "outer"])
    ('outer', 'inner')
    """
    if get_origin(annotation) is Annotated:
        inner, *markers = get_args(annotation)
        return (*markers, *markers_of(inner))
    if hasattr(annotation, "__supertype__"):
        return markers_of(annotation.__supertype__)
    if get_origin(annotation) in (Union, types.UnionType) and type(None) in get_args(annotation):
        return tuple(marker for each in get_args(annotation) for marker in markers_of(each))
    return ()


_LEAST_ARGUMENTS: dict[Any, int] = {list: 1, tuple: 1, set: 1, frozenset: 1, dict: 2}


def _codec(kind: Any, where: str, naming: Namer, around: Structs) -> Codec:
    check_is_type(where, kind)
    _check_enum(kind, where)
    scalar = _scalar(kind)
    if scalar is not None:
        return scalar
    if kind is Any:
        return UntypedCodec()
    origin, inner = get_origin(kind), get_args(kind)
    if len(inner) < _LEAST_ARGUMENTS.get(origin, 0):
        raise DesignError(where, f"{kind} does not say what is in it", "write list[str], or dict[str, str]")
    if kind is dict or (origin is dict and inner[1] is Any):
        return MapCodec(UntypedCodec(1))
    if origin in (set, frozenset):
        _check_enum(unwrapped_type(inner[0])[0], where)
        element = _scalar(unwrapped_type(inner[0])[0])
        if element is None or element.tag == "BOOL":
            raise DesignError(where, f"a set of {inner[0]} cannot be stored", "use a set of text, numbers or bytes")
        return SetCodec(element, _reads(unwrapped_type(inner[0])[0]), origin)
    if origin is list or (origin is tuple and inner[-1] is Ellipsis):
        return ListCodec(_inside(inner[0], where, naming, around), origin)
    if origin is dict and inner[0] is str:
        return MapCodec(_inside(inner[1], where, naming, around))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        _check_struct(kind, where, around)
        return StructCodec(kind, members_of(kind, where, naming, around))
    raise DesignError(
        where,
        f"{kind} cannot be stored in DynamoDB",
        "use text, numbers, bytes, bool, times, enums, sets, lists, dicts with text keys, or structs",
    )


def _check_enum(kind: Any, where: str) -> None:
    """The members of an enum are all text or all whole numbers; of others the text could not be read back."""
    if not isinstance(kind, type) or not issubclass(kind, enum.Enum):
        return
    values = [member.value for member in kind]
    if not any(all(isinstance(each, of) for each in values) for of in (str, int)) or any(
        isinstance(each, bool) for each in values
    ):
        wrong = f"{kind.__name__} has members that are neither all text nor all whole numbers"
        raise DesignError(where, wrong, f"give the members of {kind.__name__} texts")
    if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in values):
        wrong = f"{kind.__name__} has members beyond 64 bits, which cannot be validated"
        raise DesignError(where, wrong, "use smaller numbers, or texts")


def _check_struct(kind: type[msgspec.Struct], where: str, around: Structs) -> None:
    if kind in around:
        wrong = f"{kind.__name__} contains itself, and DynamoDB nests values to a limited depth"
        raise DesignError(where, wrong, "use dict[str, Any] for it, or store the inner ones as entities")
    if kind.__struct_config__.array_like:
        wrong = f"{kind.__name__} is written as a list in JSON, and as a map in DynamoDB"
        raise DesignError(where, wrong, f"declare class {kind.__name__} without array_like=True")


def _inside(annotation: Any, where: str, naming: Namer, around: Structs) -> Codec:
    codec, optional = codec_of(annotation, where, naming, around)
    return NullableCodec(codec) if optional else codec


@cache
def _scalar(kind: Any) -> ScalarCodec | None:
    if kind is bool:
        return ScalarCodec("BOOL", bool, bool)
    if kind is Decimal:
        return ScalarCodec("N", Decimal, number_text, normalize=normalized_decimal)
    if kind is float:
        return ScalarCodec("N", float, number_text, normalize=_without_sign_of_zero)
    if kind is int:
        return ScalarCodec("N", int, number_text)
    if kind is bytes:
        return ScalarCodec("B", bytes, lambda value: base64.b64encode(value).decode())
    if kind is datetime:
        return ScalarCodec("S", datetime, time_text, in_utc, normalize=normalized_time)
    if kind is date:
        return ScalarCodec("S", date, date.isoformat)
    if kind is UUID:
        return ScalarCodec("S", UUID, str)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        if all(isinstance(member.value, int) for member in kind):
            return ScalarCodec("N", int, lambda member: str(member.value), kind)
        return OpenEnumCodec(kind) if issubclass(kind, OpenEnum) else ScalarCodec("S", kind, lambda each: each.value)
    if kind is str or (get_origin(kind) is Literal and all(isinstance(value, str) for value in get_args(kind))):
        return TextCodec(kind)
    return None


def _without_sign_of_zero(value: float) -> float:
    return value + 0.0


def _reads(kind: Any) -> Any:
    return int if isinstance(kind, type) and issubclass(kind, enum.IntEnum) else kind

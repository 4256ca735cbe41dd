"""Attributes that were stored otherwise before: which of two stored values is the attribute's, and the other one.

Programs of the earlier design write the old attribute alone. So it decides where an item has it, and the new one is
read in its place if both mean the same. A member of a map is the exception: earlier programs know the map, and what it
has decides. Once the old attribute is being removed, the new one decides wherever an item has it.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, get_args

import msgspec

from partita.design.argument_checks import hints_of
from partita.design.codec_factory import codec_of, unwrapped_type
from partita.design.codecs import AttributeMember, Codec, MapCodec, Namer
from partita.design.codegen import Env, compile_function
from partita.design.markers import Was
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import DesignError


class Migration(msgspec.Struct, frozen=True, eq=False, dict=True):
    """An attribute with the one that it was before.

    `old` is the old attribute's member; its field is that of the entity, if that still declares it, else empty.
    """

    marker: Was[Any, Any]
    new: AttributeMember
    old: AttributeMember

    @property
    def is_rename(self) -> bool:
        return self.marker.to is None

    @property
    def prefers_new(self) -> bool:
        """Whether the new value decides where an item has both."""
        return self.marker.removed or self.marker.member is not None

    # values

    def old_value(self, new: Any) -> Any:
        """The old value that a new one means; None for none."""
        part = self._part(new)
        if part is None or self.marker.back is None:
            return part
        return self.marker.back(part)

    def new_value(self, old: Any, around: Any = None) -> Any:
        """The new value that an old one means; `around` is the map in which it is a member."""
        made = old if old is None or self.marker.to is None else self.marker.to(old)
        member = self.marker.member
        if member is None:
            return made
        others = {name: value for name, value in (around or {}).items() if name != member}
        return others if made is None else {**others, member: made}

    def _part(self, new: Any) -> Any:
        member = self.marker.member
        if member is None or new is None:
            return new
        return new.get(member)

    # stored values

    def upgraded(self, item: Item) -> Item:
        """The item as it would be stored with the new attribute."""
        old, new = _present(item.get(self.old.name)), _present(item.get(self.new.name))
        if old is not None and not self._decides(new, old):
            around = None if new is None else self._read_new(new)
            made = self.new_value(self._read_old(old), around if self.marker.member is not None else None)
            new = old if self.is_rename and self.marker.member is None else self.new.codec.encode(made)
        found = {name: value for name, value in item.items() if name not in (self.old.name, self.new.name)}
        if new is not None:
            found[self.new.name] = new
        if self.old.field and (shown := self.stored_old(None if new is None else self._read_new(new))) is not None:
            found[self.old.name] = shown
        return found

    def _decides(self, new: AttributeValue | None, old: AttributeValue) -> bool:
        """Whether the stored new value is the attribute's, though the item has the old one too."""
        if new is None:
            return False
        if self.prefers_new:
            return self._part(self._read_new(new)) is not None
        return (self.is_rename and new == old) or self.stored_old(self._read_new(new)) == old

    def stored_old(self, new: Any) -> AttributeValue | None:
        """What is stored as the old attribute beside a new value."""
        value = None if self.marker.removed else self.old_value(new)
        return None if value is None else self.old.codec.encode(value)

    @cached_property
    def _read_old(self) -> Callable[[AttributeValue], Any]:
        return _reader(self.old)

    @cached_property
    def _read_new(self) -> Callable[[AttributeValue], Any]:
        return _reader(self.new)


def _present(value: AttributeValue | None) -> AttributeValue | None:
    """The value that is stored, or None, which may also be stored as NULL."""
    return None if value is None or "NULL" in value else value


def _reader(member: AttributeMember) -> Callable[[AttributeValue], Any]:
    """A function from a stored value to the value."""
    env: Env = {}
    read = compile_function(f"value of {member.name}", [f"return {member.codec.decode_expr('v', env)}"], env)
    return lambda stored: read(msgspec.convert(stored, member.codec.shape, strict=False))


def migration_of(
    where: str,
    marker: Was[Any, Any],
    new: AttributeMember,
    kind: Any,
    declared: Mapping[str, AttributeMember],
    naming: Namer,
) -> Migration:
    """The migration of an attribute; `declared` are the entity's attributes by their stored names."""
    held = _member_type(where, marker, new, kind)
    hints = hints_of(where, marker.to, include_extras=False) if marker.to is not None else {}
    given = hints.pop("return", None)
    if given is not None and unwrapped_type(given)[0] != held:
        wrong = f"{_name(marker.to)} returns {_name(given)}, and it is {_name(held)}"
        raise DesignError(where, wrong, "convert the old value to the type of the new one")
    if marker.to is not None and marker.back is None and not marker.removed:
        wrong = f"programs of the earlier design would not see what is written: Was({marker.name!r}) has no back"
        raise DesignError(where, wrong, "write back=..., which converts a new value to the old type")
    old = declared.get(marker.name)
    if old is not None:
        return Migration(marker, new, old)
    if marker.to is None:
        return Migration(marker, new, AttributeMember("", marker.name, _codec_of_member(marker, new), True))
    if not hints:
        wrong = f"the type of {marker.name!r} is not known"
        raise DesignError(where, wrong, "convert it with a function whose parameter has a type: def cents(price: str)")
    codec = codec_of(next(iter(hints.values())), where, naming)[0]
    return Migration(marker, new, AttributeMember("", marker.name, codec, True))


def _codec_of_member(marker: Was[Any, Any], new: AttributeMember) -> Codec:
    return new.codec.element if marker.member is not None and isinstance(new.codec, MapCodec) else new.codec


def _member_type(where: str, marker: Was[Any, Any], new: AttributeMember, kind: Any) -> Any:
    """The type of what the old attribute becomes."""
    if marker.member is None:
        return kind
    if not isinstance(new.codec, MapCodec):
        raise DesignError(where, f"it has no members such as {marker.member!r}", "write member= of a dict only")
    return unwrapped_type(get_args(kind)[1])[0]


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))

"""The attributes on which `__post_init__` of an entity depends: its rules, and what it derives.

A change of one of them can make an entity that `__post_init__` rejects, and that nobody could read again, so such a
change is judged with the values of the others. A change of anything else needs no such read: a counter of views beside
a rule about two dates. The names are found in the code of the method, where it uses `self` for nothing but attributes;
otherwise it may depend on all of them.
"""

import dis
from collections.abc import Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from partita.design.models import Model

_ATTRIBUTE_USES = ("LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR")
RULE_ERRORS = (ValueError, TypeError, KeyError, ArithmeticError)
"""What `__post_init__` may raise to reject an entity, when it is written or read."""

_SEE_ALL = frozenset({"super", "locals", "vars", "eval", "exec", "dir"})


@cache
def rule_fields(model: Model) -> frozenset[str]:
    """The attributes that `__post_init__` may use; none where the entity has no such method."""
    if getattr(model.cls, "__post_init__", None) is None:
        return frozenset()
    named = _named_fields(model)
    return frozenset(model.attributes) if named is None else named


@cache
def _named_fields(model: Model) -> frozenset[str] | None:
    """The attributes that `__post_init__` names; None where it may use others as well."""
    method = getattr(model.cls, "__post_init__", None)
    named = _attributes_of_self(method.__code__) if isinstance(method, FunctionType) else None
    return named if named is not None and named <= model.attributes.keys() else None


def values_by_rules(model: Model, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The known values as `__post_init__` leaves them; None where it asks for one that is not known.

    It runs on an object that has nothing but these values, which is all that such a method can see.
    """
    if _named_fields(model) is None:
        return None
    partly = _Partly()
    partly.__dict__.update(known)
    try:
        model.cls.__post_init__(partly)
    except _Unknown:
        return None
    return None if partly.__dict__.pop(_ASKED, False) else {**partly.__dict__}


_ASKED = "an attribute that is not known"


class _Unknown(BaseException):
    """Not an Exception, which a rule may catch."""


class _Partly:
    """An entity of which some attributes are known."""

    def __getattr__(self, name: str) -> Any:
        self.__dict__[_ASKED] = True
        raise _Unknown(name)


def _attributes_of_self(code: CodeType) -> frozenset[str] | None:
    """The names after `self.` in the code of a method; None where it uses `self` in another way, too.

    >>> class Stay:
    ...     def check(self): return self.begin < self.end
    ...     def hand_on(self): return check(self)
    >>> sorted(_attributes_of_self(Stay.check.__code__)), _attributes_of_self(Stay.hand_on.__code__)
    (['begin', 'end'], None)
    """
    if not code.co_varnames or code.co_cellvars or not _SEE_ALL.isdisjoint(code.co_names):
        return None
    mine = code.co_varnames[0]
    names: set[str] = set()
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    for at, each in enumerate(instructions):
        used = each.argval if isinstance(each.argval, tuple) else (each.argval,)
        if mine not in used or "_FAST" not in each.opname:
            continue
        following = instructions[at + 1] if at + 1 < len(instructions) else each
        if each.opname != "LOAD_FAST" or following.opname not in _ATTRIBUTE_USES:
            return None
        names.add(following.argval)
    return frozenset(names)

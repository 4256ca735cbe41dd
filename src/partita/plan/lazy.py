"""A property that is computed once, without the lock that `functools.cached_property` takes before Python 3.12."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

R = TypeVar("R")


class lazy(Generic[R]):  # noqa: N801 - a decorator, like property
    """The result replaces the property in the instance; two threads may both compute it.

    >>> class Square:
    ...     def __init__(self, side): self.side = side
    ...     @lazy
    ...     def area(self): return self.side**2
    >>> Square(3).area
    9
    """

    def __init__(self, compute: Callable[[Any], R]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[R]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> R: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._compute(instance)
        return found

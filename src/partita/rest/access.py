"""Who may do what, declared beside the operation: `who=myself("user_id") | group("admin")`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from partita.rest.auth.identity import Caller, composed
from partita.rest.problems import Problem

Arguments = Mapping[str, Any]
Allows = Callable[[Caller, Arguments, Any], bool]
Ways = tuple[tuple[str, ...], ...]  # any of these suffices, and each is several things at once


class Who:
    """A rule; `told` is how the documentation says it, and says nothing twice."""

    def __init__(self, told: str, allows: Allows, *, looks: bool = False, strangers: bool = False) -> None:
        """`looks` where the rule is about the thing itself; `strangers` where nobody in particular may pass."""
        self._ways: Ways = ((told,),)
        self.allows = allows
        self.looks = looks
        self.strangers = strangers

    @property
    def told(self) -> str:
        return ", or ".join(" and ".join(way) for way in self._ways)

    @property
    def is_open(self) -> bool:
        """Whether everybody may, whatever it is about."""
        return self.strangers and not self.looks

    def __and__(self, other: "Who") -> "Who":
        found = Who(
            "",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) and other.allows(caller, arguments, thing)
            ),
            looks=self.looks or other.looks,
            strangers=self.strangers and other.strangers,
        )
        found._ways = _least((*mine, *others) for mine in self._ways for others in other._ways)
        return found

    def __or__(self, other: "Who") -> "Who":
        found = Who(
            "",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) or other.allows(caller, arguments, thing)
            ),
            looks=self.looks or other.looks,
            strangers=self.strangers or other.strangers,
        )
        found._ways = _least((*self._ways, *other._ways))
        return found

    def greet(self, caller: Caller, arguments: Arguments) -> None:
        """Refuses whoever can be refused before anything is read."""
        if not self.strangers and caller.id is None:
            raise Problem(401, "unauthorized", f"this is for {self.told}; send a bearer token")
        if not self.looks:
            self.check(caller, arguments)

    def check(self, caller: Caller, arguments: Arguments, thing: Any = None) -> None:
        """Raises 401 where nobody has signed in, 403 where somebody else has."""
        if self.allows(caller, arguments, thing):
            return
        if caller.id is None:
            raise Problem(401, "unauthorized", f"this is for {self.told}; send a bearer token")
        raise Problem(403, "forbidden", f"this is for {self.told}")


def _least(ways: Iterable[tuple[str, ...]]) -> Ways:
    """The ways without those that ask for more than another one does."""
    different = list(dict.fromkeys(tuple(dict.fromkeys(way)) for way in ways))
    return tuple(way for way in different if not any(set(other) < set(way) for other in different))


anyone = Who("anyone", lambda caller, arguments, thing: True, strangers=True)
signed_in = Who("anyone who has signed in", lambda caller, arguments, thing: caller.id is not None)


def group(name: str) -> Who:
    """Members of a group, by the token."""
    return Who(f"the group {name}", lambda caller, arguments, thing: name in caller.groups)


def myself(parameter: str) -> Who:
    """The caller whom the path names."""
    return Who(
        f"the one whom `{parameter}` names",
        lambda caller, arguments, thing: _is(caller, arguments.get(parameter)),
    )


def owner(attribute: str) -> Who:
    """Whoever the thing itself names as its owner."""
    return Who(
        f"its `{attribute}`",
        lambda caller, arguments, thing: _is(caller, getattr(thing, attribute, None)),
        looks=True,
    )


def _is(caller: Caller, name: Any) -> bool:
    return caller.id is not None and isinstance(name, str) and composed(name) == caller.id


def they(told: str, when: Callable[[Any], bool]) -> Who:
    """Somebody of whom the thing that was looked up tells: `they("its members", lambda standing: standing.role)`."""
    return Who(told, lambda caller, arguments, thing: caller.id is not None and when(thing), looks=True)


def shown(told: str, when: Callable[[Any], bool]) -> Who:
    """Anyone, as long as the thing itself is open to everybody: `shown("a published post", is_published)`."""
    return Who(f"anyone, of {told}", lambda caller, arguments, thing: when(thing), looks=True, strangers=True)

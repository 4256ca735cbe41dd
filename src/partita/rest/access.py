"""Who may do what, declared beside the operation: `who=myself("user_id") | group("admin")`."""

from collections.abc import Callable, Mapping
from typing import Any

from partita.rest.identity import Caller
from partita.rest.problems import Problem

Arguments = Mapping[str, Any]
Allows = Callable[[Caller, Arguments, Any], bool]


class Who:
    """A rule; `told` is how the documentation says it."""

    def __init__(self, told: str, allows: Allows, *, looks: bool = False, strangers: bool = False) -> None:
        """`looks` where the rule is about the thing itself; `strangers` where nobody in particular may pass."""
        self.told = told
        self.allows = allows
        self.looks = looks
        self.strangers = strangers

    @property
    def is_open(self) -> bool:
        """Whether everybody may, whatever it is about."""
        return self.strangers and not self.looks

    def __and__(self, other: "Who") -> "Who":
        return Who(
            f"{self.told} and {other.told}",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) and other.allows(caller, arguments, thing)
            ),
            looks=self.looks or other.looks,
            strangers=self.strangers and other.strangers,
        )

    def __or__(self, other: "Who") -> "Who":
        return Who(
            f"{self.told}, or {other.told}",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) or other.allows(caller, arguments, thing)
            ),
            looks=self.looks or other.looks,
            strangers=self.strangers or other.strangers,
        )

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


anyone = Who("anyone", lambda caller, arguments, thing: True, strangers=True)
signed_in = Who("anyone who has signed in", lambda caller, arguments, thing: caller.id is not None)


def group(name: str) -> Who:
    """Members of a group, by the token."""
    return Who(f"the group {name}", lambda caller, arguments, thing: name in caller.groups)


def myself(parameter: str) -> Who:
    """The caller whom the path names."""
    return Who(
        f"the one whom `{parameter}` names",
        lambda caller, arguments, thing: caller.id is not None and arguments.get(parameter) == caller.id,
    )


def owner(attribute: str) -> Who:
    """Whoever the thing itself names as its owner."""
    return Who(
        f"its `{attribute}`",
        lambda caller, arguments, thing: caller.id is not None and getattr(thing, attribute, None) == caller.id,
        looks=True,
    )


def they(told: str, when: Callable[[Any], bool]) -> Who:
    """Somebody of whom the thing that was looked up tells: `they("its members", lambda standing: standing.role)`."""
    return Who(told, lambda caller, arguments, thing: caller.id is not None and when(thing), looks=True)


def shown(told: str, when: Callable[[Any], bool]) -> Who:
    """Anyone, as long as the thing itself is open to everybody: `shown("a published post", is_published)`."""
    return Who(f"anyone, of {told}", lambda caller, arguments, thing: when(thing), looks=True, strangers=True)

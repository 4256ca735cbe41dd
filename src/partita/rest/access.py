"""Who may do what, declared beside the operation: `who=myself("user_id") | group("admin")`."""

from collections.abc import Callable, Mapping
from typing import Any

from partita.rest.identity import Caller
from partita.rest.problems import Problem

Arguments = Mapping[str, Any]


class Who:
    """A rule; `told` is how the documentation says it. `needs` says whether the thing itself must be looked at."""

    def __init__(self, told: str, allows: Callable[[Caller, Arguments, Any], bool], *, looks: bool = False) -> None:
        self.told = told
        self.allows = allows
        self.looks = looks  # the rule is about the entity, so it must be read first
        self.is_open = False

    def __or__(self, other: "Who") -> "Who":
        return Who(
            f"{self.told}, or {other.told}",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) or other.allows(caller, arguments, thing)
            ),
            looks=self.looks or other.looks,
        )

    def check(self, caller: Caller, arguments: Arguments, thing: Any = None) -> None:
        """Raises 401 where nobody has signed in, 403 where somebody else has."""
        if self.is_open or self.allows(caller, arguments, thing):
            return
        if caller.id is None:
            raise Problem(401, "unauthorized", f"this is for {self.told}; send a bearer token")
        raise Problem(403, "forbidden", f"this is for {self.told}")


anyone = Who("anyone", lambda caller, arguments, thing: True)
anyone.is_open = True

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

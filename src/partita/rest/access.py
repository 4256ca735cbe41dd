"""Who may do what, declared beside the operation: `who=myself("user_id") | group("admin")`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from partita.rest.auth.identity import Caller, nfc
from partita.rest.problems import Problem

Arguments = Mapping[str, Any]
Allows = Callable[[Caller, Arguments, Any], bool]
Alternatives = tuple[tuple[str, ...], ...]  # any of these suffices, and each is several things at once


class Rule:
    """A rule; `told` is how the documentation says it, and says nothing twice."""

    def __init__(
        self, description: str, allows: Allows, *, needs_entity: bool = False, anonymous_ok: bool = False
    ) -> None:
        """`looks` where the rule is about the thing itself; `strangers` where nobody in particular may pass."""
        self._alternatives: Alternatives = ((description,),)
        self.groups: frozenset[str] = frozenset()  # the groups of a token that this rule looks for
        self.allows = allows
        self.needs_entity = needs_entity
        self.anonymous_ok = anonymous_ok

    @property
    def description(self) -> str:
        return ", or ".join(" and ".join(way) for way in self._alternatives)

    @property
    def is_open(self) -> bool:
        """Whether everybody may, whatever it is about."""
        return self.anonymous_ok and not self.needs_entity

    def __and__(self, other: "Rule") -> "Rule":
        found = Rule(
            "",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) and other.allows(caller, arguments, thing)
            ),
            needs_entity=self.needs_entity or other.needs_entity,
            anonymous_ok=self.anonymous_ok and other.anonymous_ok,
        )
        found._alternatives = _without_redundant(
            (*mine, *others) for mine in self._alternatives for others in other._alternatives
        )
        found.groups = self.groups | other.groups
        return found

    def __or__(self, other: "Rule") -> "Rule":
        found = Rule(
            "",
            lambda caller, arguments, thing: (
                self.allows(caller, arguments, thing) or other.allows(caller, arguments, thing)
            ),
            needs_entity=self.needs_entity or other.needs_entity,
            anonymous_ok=self.anonymous_ok or other.anonymous_ok,
        )
        found._alternatives = _without_redundant((*self._alternatives, *other._alternatives))
        found.groups = self.groups | other.groups
        return found

    def check_caller(self, caller: Caller, arguments: Arguments) -> None:
        """Refuses whoever can be refused before anything is read."""
        if not self.anonymous_ok and caller.id is None:
            raise Problem(401, "unauthorized", f"this is for {self.description}; send a bearer token")
        if not self.needs_entity:
            self.check(caller, arguments)

    def check(self, caller: Caller, arguments: Arguments, thing: Any = None) -> None:
        """Raises 401 where nobody has signed in, 403 where somebody else has."""
        if self.allows(caller, arguments, thing):
            return
        if caller.id is None:
            raise Problem(401, "unauthorized", f"this is for {self.description}; send a bearer token")
        raise Problem(403, "forbidden", f"this is for {self.description}")


def _without_redundant(ways: Iterable[tuple[str, ...]]) -> Alternatives:
    """The ways without those that ask for more than another one does."""
    different = list(dict.fromkeys(tuple(dict.fromkeys(way)) for way in ways))
    return tuple(way for way in different if not any(set(other) < set(way) for other in different))


anyone = Rule("anyone", lambda caller, arguments, thing: True, anonymous_ok=True)
signed_in = Rule("anyone who has signed in", lambda caller, arguments, thing: caller.id is not None)


def group(name: str) -> Rule:
    """Members of a group, by the token."""
    rule = Rule(f"the group {name}", lambda caller, arguments, thing: name in caller.groups)
    rule.groups = frozenset({name})
    return rule


def caller_is(parameter: str) -> Rule:
    """The caller whom the path names."""
    return Rule(
        f"the one whom `{parameter}` names",
        lambda caller, arguments, thing: _is(caller, arguments.get(parameter)),
    )


def owned_by(attribute: str) -> Rule:
    """Whoever the thing itself names as its owner."""
    return Rule(
        f"its `{attribute}`",
        lambda caller, arguments, thing: _is(caller, getattr(thing, attribute, None)),
        needs_entity=True,
    )


def _is(caller: Caller, name: Any) -> bool:
    return caller.id is not None and isinstance(name, str) and nfc(name) == caller.id


def allowed_if(description: str, when: Callable[[Any], bool]) -> Rule:
    """Somebody of whom the thing that was looked up tells: `they("its members", lambda standing: standing.role)`."""
    return Rule(description, lambda caller, arguments, thing: caller.id is not None and when(thing), needs_entity=True)


def public_if(description: str, when: Callable[[Any], bool]) -> Rule:
    """Anyone, as long as the thing itself is open to everybody: `shown("a published post", is_published)`."""
    return Rule(
        f"anyone, of {description}", lambda caller, arguments, thing: when(thing), needs_entity=True, anonymous_ok=True
    )

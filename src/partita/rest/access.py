"""Access rules, declared beside the operation: `who=caller_is("user_id") | group("admin")`."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from partita.rest.auth.identity import Caller, nfc
from partita.rest.problems import Problem

Arguments = Mapping[str, Any]
Allows = Callable[[Caller, Arguments, Any], bool]
SentName = Callable[[str], str]
Alternatives = tuple[tuple[str, ...], ...]  # one of these suffices; all parts of it are required

_NAME = re.compile(r"`(\w+)`")


class AccessDenied(Problem):
    """A rule does not allow the caller."""

    def __init__(self, caller: Caller, rule: "Rule", sent_name: SentName = str) -> None:
        allowed = f"allowed only for {rule.described(sent_name)}"
        if caller.id is None:
            super().__init__(401, "unauthorized", f"{allowed}; send a bearer token")
        else:
            super().__init__(403, "forbidden", allowed)
        self.caller = caller
        self.rule = rule

    def in_names(self, sent_name: SentName) -> "AccessDenied":
        """The same problem in the names that a client knows."""
        return AccessDenied(self.caller, self.rule, sent_name)


class Rule:
    """Decides whether a caller may use a route; `description` is its text in the documentation."""

    def __init__(
        self, description: str, allows: Allows, *, needs_entity: bool = False, anonymous_ok: bool = False
    ) -> None:
        """`needs_entity`: the rule looks at the entity. `anonymous_ok`: it may allow a caller without a token."""
        self._alternatives: Alternatives = ((description,),)
        self.groups: frozenset[str] = frozenset()  # the groups of a token that this rule looks for
        self.allows = allows
        self.needs_entity = needs_entity
        self.anonymous_ok = anonymous_ok

    @property
    def description(self) -> str:
        return ", or ".join(" and ".join(way) for way in self._alternatives)

    def described(self, sent_name: SentName) -> str:
        """The description, in which `sent_name` gives the names of parameters and attributes."""
        return _NAME.sub(lambda found: f"`{sent_name(found[1])}`", self.description)

    @property
    def is_open(self) -> bool:
        """Whether the rule allows every caller for every entity."""
        return self.anonymous_ok and not self.needs_entity

    def __and__(self, other: "Rule") -> "Rule":
        found = Rule(
            "",
            lambda caller, arguments, entity: (
                self.allows(caller, arguments, entity) and other.allows(caller, arguments, entity)
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
            lambda caller, arguments, entity: (
                self.allows(caller, arguments, entity) or other.allows(caller, arguments, entity)
            ),
            needs_entity=self.needs_entity or other.needs_entity,
            anonymous_ok=self.anonymous_ok or other.anonymous_ok,
        )
        found._alternatives = _without_redundant((*self._alternatives, *other._alternatives))
        found.groups = self.groups | other.groups
        return found

    def check_caller(self, caller: Caller, arguments: Arguments) -> None:
        """Checks the caller as far as this is possible before anything is read; raises 401 or 403."""
        if not self.anonymous_ok and caller.id is None:
            raise AccessDenied(caller, self)
        if not self.needs_entity:
            self.check(caller, arguments)

    def check(self, caller: Caller, arguments: Arguments, entity: Any = None) -> None:
        """Raises 401 for an anonymous caller that the rule does not allow, 403 for any other caller."""
        if not self.allows(caller, arguments, entity):
            raise AccessDenied(caller, self)


def _without_redundant(ways: Iterable[tuple[str, ...]]) -> Alternatives:
    """The alternatives without those that require more than another one."""
    different = list(dict.fromkeys(tuple(dict.fromkeys(way)) for way in ways))
    return tuple(way for way in different if not any(set(other) < set(way) for other in different))


anyone = Rule("anyone", lambda caller, arguments, entity: True, anonymous_ok=True)
signed_in = Rule("signed-in callers", lambda caller, arguments, entity: caller.id is not None)


def group(name: str) -> Rule:
    """Allows callers whose token names the group."""
    rule = Rule(f"the group {name}", lambda caller, arguments, entity: name in caller.groups)
    rule.groups = frozenset({name})
    return rule


def caller_is(parameter: str) -> Rule:
    """Allows the caller whose id is this parameter of the path."""
    return Rule(
        f"the caller named in `{parameter}`",
        lambda caller, arguments, entity: _is(caller, arguments.get(parameter)),
    )


def owned_by(attribute: str) -> Rule:
    """Allows the caller whose id is this attribute of the entity."""
    return Rule(
        f"the caller named in its `{attribute}`",
        lambda caller, arguments, entity: _is(caller, getattr(entity, attribute, None)),
        needs_entity=True,
    )


def _is(caller: Caller, name: Any) -> bool:
    return caller.id is not None and isinstance(name, str) and nfc(name) == caller.id


def allowed_if(description: str, when: Callable[[Any], bool]) -> Rule:
    """Allows signed-in callers while `when(entity)` is true: `allowed_if("its members", lambda found: found.role)`."""
    return Rule(
        description, lambda caller, arguments, entity: caller.id is not None and when(entity), needs_entity=True
    )


def public_if(description: str, when: Callable[[Any], bool]) -> Rule:
    """Allows every caller while `when(entity)` is true: `public_if("a published post", is_published)`."""
    return Rule(
        f"anyone, for {description}",
        lambda caller, arguments, entity: when(entity),
        needs_entity=True,
        anonymous_ok=True,
    )

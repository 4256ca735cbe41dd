"""A design as a REST API: routes from patterns, operations from services, OpenAPI, identity, problem details."""

from partita.rest.access import Who, anyone, group, myself, owner, shown, signed_in
from partita.rest.api import Api
from partita.rest.identity import Caller
from partita.rest.problems import Problem
from partita.rest.tags import IfMatch

__all__ = ["Api", "Caller", "IfMatch", "Problem", "Who", "anyone", "group", "myself", "owner", "shown", "signed_in"]

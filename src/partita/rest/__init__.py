"""A design as a REST API: routes from patterns, operations from services, OpenAPI, identity, problem details."""

from partita.rest.access import Who, anyone, group, myself, owner, signed_in
from partita.rest.identity import Caller
from partita.rest.problems import Problem
from partita.rest.routes import Api

__all__ = ["Api", "Caller", "Problem", "Who", "anyone", "group", "myself", "owner", "signed_in"]

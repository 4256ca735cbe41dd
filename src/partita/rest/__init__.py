"""A design as a REST API: routes from patterns, operations from services, OpenAPI, identity, problem details."""

from partita.rest.access import Who, anyone, group, myself, owner, shown, signed_in, they
from partita.rest.api import Api
from partita.rest.auth.identity import Caller
from partita.rest.etags import IfMatch
from partita.rest.problems import Problem
from partita.rest.routes import PageSize

__all__ = [
    "Api",
    "Caller",
    "IfMatch",
    "PageSize",
    "Problem",
    "Who",
    "anyone",
    "group",
    "myself",
    "owner",
    "shown",
    "signed_in",
    "they",
]

"""A design as a REST API: routes from patterns, operations from services, OpenAPI, identity, problem details."""

from partita.extras import needs

with needs("partita.rest", "rest"):
    from partita.rest.access import Rule, allowed_if, anyone, caller_is, group, owned_by, public_if, signed_in
    from partita.rest.api import Api
    from partita.rest.application import RestApplication
    from partita.rest.auth.dev_issuer import LocalIssuer
    from partita.rest.auth.identity import Caller, Verifier
    from partita.rest.etags import IfMatch
    from partita.rest.hosted_files import HostedFile
    from partita.rest.problems import Problem
    from partita.rest.related import CALLER, Related
    from partita.rest.routes import FoundEntity, PageSize

__all__ = [
    "CALLER",
    "Api",
    "Caller",
    "FoundEntity",
    "HostedFile",
    "IfMatch",
    "LocalIssuer",
    "PageSize",
    "Problem",
    "Related",
    "RestApplication",
    "Rule",
    "Verifier",
    "allowed_if",
    "anyone",
    "caller_is",
    "group",
    "owned_by",
    "public_if",
    "signed_in",
]

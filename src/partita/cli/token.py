"""`partita token`: bearer tokens of the local issuer, whose key is in a file beside the database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from partita.cli.options import Address

if TYPE_CHECKING:
    from partita.rest.api import Api
    from partita.rest.auth.dev_issuer import LocalIssuer


def token(
    subject: str,
    /,
    *groups: str,
    on: Address = "partita.db",
    system: Annotated[str | None, Parameter(name="--for", metavar="SYSTEM")] = None,
    email_verified: bool = True,
) -> None:
    """Print a bearer token of the local issuer, to try an API as any user.

    Parameters
    ----------
    subject
        The user, the sub of the token.
    groups
        The groups of the token, such as admin.
    on
        The file that partita serve uses; the key of the local issuer is in a file beside it.
    system
        The system that the token is for: an installed one, or module or module:attribute of your own. The groups are
        checked against those that its API knows.
    email_verified
        Whether the token says that the e-mail address is verified.
    """
    from partita.cli.design_loader import load_system
    from partita.errors import ConfigurationError

    if not subject:
        raise ConfigurationError("SUBJECT is empty; name the user that the token is for")
    if system is not None:
        _check_groups(load_system(system, "api").api, system, groups)
    file = issuer_file(on)
    if file is None:
        raise ConfigurationError(f"--on {on}: the key exists in the server process only; use the token that it printed")
    if not file.exists():
        raise ConfigurationError(f"{file} does not exist; partita serve --on {on} creates it")
    print(issuer_beside(on).token(subject, groups, email_verified=email_verified))


def groups_of(api: "Api[Any]") -> list[str]:
    """The groups that the rules of an API look for."""
    return sorted({name for route in api.routes for name in route.who.groups})


def _check_groups(api: "Api[Any]", system: str, groups: tuple[str, ...]) -> None:
    from partita.errors import ConfigurationError

    known = groups_of(api)
    for name in groups:
        if name not in known:
            raise ConfigurationError(f"{system} has no group {name!r}; its groups are: {', '.join(known) or 'none'}")


def issuer_beside(address: str) -> "LocalIssuer":
    """The local issuer, whose key is in a file beside the database so that tokens stay valid after a restart."""
    from partita.extras import needs

    with needs("the local issuer of tokens", "rest"):
        from partita.rest.auth.dev_issuer import LocalIssuer

    return LocalIssuer(issuer_file(address))


def issuer_file(address: str) -> Path | None:
    """The file of the local issuer's key; None for data in memory or on a server: the key ends with the process."""
    is_file = address != "memory:" and "://" not in address
    return Path(f"{address}.issuer.pem") if is_file else None

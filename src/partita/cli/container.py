"""The entry point of the container image: `partita engine` and `partita serve`, configured by the environment.

Both listen on every address of the container and keep their data in the volume `/data`. They start only if the
environment has the access keys and the host names of the server:

    PARTITA_ACCESS_KEYS     access keys for DynamoDB's protocol, ID:SECRET, several separated by commas;
    PARTITA_CREDENTIALS     or a file of them, a mounted secret; neither with serve --no-dynamodb
    PARTITA_ALLOWED_HOSTS   the host names of requests, separated by commas; * allows all

Other commands, and everything that is given on the command line, are those of `partita`.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from partita.cli.main import main as partita
from partita.errors import ConfigurationError

DATA = "/data/partita.db"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the container has a network of its own
DEFAULTS: dict[str, dict[tuple[str, str], set[str]]] = {  # an option, and those in place of which it is left out
    "engine": {("--host", EVERY_ADDRESS): {"--host"}, ("--data", DATA): {"--data", "--memory"}},
    "serve": {("--host", EVERY_ADDRESS): {"--host"}, ("--on", DATA): {"--on"}},
}


def arguments(given: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The arguments of `partita` for those of the container; an incomplete environment is a `ConfigurationError`."""
    command, *options = given or ("engine",)
    if command not in DEFAULTS or {"--help", "-h"} & set(options):
        return [command, *options]
    missing = list(_missing(environ, dynamodb="--no-dynamodb" not in options))
    if missing:
        raise ConfigurationError(f"the container does not start without {' and '.join(missing)} in its environment")
    names = {each.partition("=")[0] for each in options}
    defaults = [pair for pair, instead in DEFAULTS[command].items() if names.isdisjoint(instead)]
    return [command, *options, *(word for pair in defaults for word in pair)]


def _missing(environ: Mapping[str, str], *, dynamodb: bool) -> Iterator[str]:
    if dynamodb and not environ.get("PARTITA_ACCESS_KEYS") and not environ.get("PARTITA_CREDENTIALS"):
        yield "credentials (PARTITA_ACCESS_KEYS=ID:SECRET, or PARTITA_CREDENTIALS=FILE)"
    if not environ.get("PARTITA_ALLOWED_HOSTS"):
        yield "the host names that clients use (PARTITA_ALLOWED_HOSTS=api.example.com)"


def main() -> None:
    """Runs `partita` with the arguments for a container."""
    try:
        sys.argv[1:] = arguments(sys.argv[1:], os.environ)
    except ConfigurationError as error:
        print(f"partita: {error}", file=sys.stderr)
        sys.exit(2)
    partita()


if __name__ == "__main__":
    main()

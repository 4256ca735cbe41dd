"""`python -m partita` and the command `partita`."""

import sys

from partita.errors import MissingExtra
from partita.extras import needs


def main() -> None:
    """Runs the command line, or names the extra that it needs."""
    try:
        with needs("the command line", "cli"):
            from partita.cli.main import main as run
    except MissingExtra as missing:
        print(f"partita: {missing}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()

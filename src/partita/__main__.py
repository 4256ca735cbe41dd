"""`python -m partita` and the command `partita`; it names the extra to install where the command line is missing."""

import sys


def main() -> None:
    """Runs the command line."""
    try:
        from partita.cli.main import main as run
    except ModuleNotFoundError as missing:
        if missing.name not in ("cyclopts", "rich"):
            raise
        sys.exit("partita: the command line needs an extra; run pip install 'partita[cli]'")
    run()


if __name__ == "__main__":
    main()

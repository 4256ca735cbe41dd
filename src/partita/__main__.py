"""`python -m partita` is the command `partita`."""

from partita.cli import main

main()

"""Access rules of Checks."""

from partita.rest import group, owned_by

admin = group("admin")
runners = group("runner") | admin  # the processes that run checks
owner = owned_by("user_id")

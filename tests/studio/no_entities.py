"""A design with a table, and nothing in it yet."""

from partita import Table, prove

design = prove("empty", Table("empty", "PK", "SK"))

"""The second design of the shop as a module, as a command names it."""

from tests.evolution.shop import second

design = second(unique=True).design

"""Five systems built on Partita, by name. Their parts are imported on first use."""

from partita import System
from partita_systems import blog, checks, eecar, nbhd, perfectit

SYSTEMS: dict[str, System] = {each.system.name: each.system for each in (blog, checks, eecar, nbhd, perfectit)}

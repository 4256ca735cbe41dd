"""nbhd.city: neighborhoods and their members' sites."""

from pathlib import Path

from partita import System

system = System(
    "nbhd",
    design="partita_systems.nbhd.design:design",
    api="partita_systems.nbhd.api:api",
    seed="partita_systems.nbhd.seed",
    adopt="partita_systems.nbhd.adoption:adopt",
    consumers="partita_systems.nbhd.consumers",
    jobs="partita_systems.nbhd.jobs:jobs",
    demo="partita_systems.nbhd.demo",
    page=Path(__file__).with_name("page.md"),
)

"""EECAR: parts of electric cars, matched to who needs them."""

from pathlib import Path

from partita import System

system = System(
    "eecar",
    design="partita_systems.eecar.design:design",
    api="partita_systems.eecar.api:api",
    seed="partita_systems.eecar.seed",
    adopt="partita_systems.eecar.adoption:adopt",
    consumers="partita_systems.eecar.consumers",
    jobs="partita_systems.eecar.jobs:jobs",
    demo="partita_systems.eecar.demo",
    page=Path(__file__).with_name("page.md"),
)

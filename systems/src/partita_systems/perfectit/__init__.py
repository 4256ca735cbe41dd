"""PerfectIt: how-to cards, votes, comments, collections."""

from pathlib import Path

from partita import System

system = System(
    "perfectit",
    design="partita_systems.perfectit.design:design",
    api="partita_systems.perfectit.api:api",
    seed="partita_systems.perfectit.seed",
    adopt="partita_systems.perfectit.adoption:adopt",
    consumers="partita_systems.perfectit.consumers",
    jobs="partita_systems.perfectit.jobs:jobs",
    demo="partita_systems.perfectit.demo",
    page=Path(__file__).with_name("page.md"),
)

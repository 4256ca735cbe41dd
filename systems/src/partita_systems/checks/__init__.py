"""Checks: whether web pages are up and have the expected content."""

from pathlib import Path

from partita import System

system = System(
    "checks",
    design="partita_systems.checks.design:design",
    api="partita_systems.checks.api:api",
    seed="partita_systems.checks.seed",
    adopt="partita_systems.checks.adoption:adopt",
    consumers="partita_systems.checks.consumers",
    jobs="partita_systems.checks.jobs:jobs",
    demo="partita_systems.checks.demo",
    page=Path(__file__).with_name("page.md"),
)

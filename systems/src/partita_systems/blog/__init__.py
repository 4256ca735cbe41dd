"""Blog: posts, categories, threads."""

from pathlib import Path

from partita import System

system = System(
    "blog",
    design="partita_systems.blog.design:design",
    api="partita_systems.blog.api:api",
    seed="partita_systems.blog.seed",
    adopt="partita_systems.blog.adoption:adopt",
    consumers="partita_systems.blog.consumers",
    demo="partita_systems.blog.demo",
    page=Path(__file__).with_name("page.md"),
)

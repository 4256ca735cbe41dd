"""Each system sends exactly the requests of its golden story; PARTITA_UPDATE=1 writes the golden files."""

from importlib import import_module
from pathlib import Path

import pytest

from partita_systems import SYSTEMS
from tests.systems.story_recorder import check_story


@pytest.mark.parametrize("name", SYSTEMS)
def test_story_sends_the_requests_of_the_golden_file(name: str) -> None:
    story = import_module(f"tests.systems.{name}.story")
    check_story(SYSTEMS[name].design, story.record, Path(__file__).parent / name / "story.txt")

"""The story of Checks is told as the golden file has it."""

from pathlib import Path

from partita_systems.checks.design import design
from tests.systems.checks.story import tell
from tests.systems.story_recorder import check_story


def test_a_day_of_two_pages_that_somebody_watches() -> None:
    check_story(design, tell, Path(__file__).with_name("story.txt"))

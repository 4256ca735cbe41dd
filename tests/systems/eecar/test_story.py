"""The story of EECAR, request by request, is the one that is written down."""

from pathlib import Path

from partita_systems.eecar.design import design
from tests.systems.eecar.story import tell
from tests.systems.story_recorder import check_story


def test_the_story_is_told_as_it_is_written_down() -> None:
    check_story(design, tell, Path(__file__).with_name("story.txt"))

"""A card's life, request by request."""

from pathlib import Path

from partita_systems.perfectit.design import design
from tests.systems.perfectit.story import tell
from tests.systems.story_recorder import check_story


def test_the_story_of_a_card_takes_the_requests_that_it_took() -> None:
    check_story(design, tell, Path(__file__).with_name("story.txt"))

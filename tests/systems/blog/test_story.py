"""The story of the blog is told as the golden file has it."""

from pathlib import Path

from partita_systems.blog.design import design
from tests.systems.blog.story import tell
from tests.systems.story_recorder import check_story


def test_a_day_of_the_blog() -> None:
    check_story(design, tell, Path(__file__).with_name("story.txt"))

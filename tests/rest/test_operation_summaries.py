"""The summaries of operations that come from patterns are sentences."""

import re

import pytest

from partita.rest import caller_is, group, owned_by
from partita.rest.operation_summaries import delete_summary, get_summary, list_summary, noun, patch_summary
from partita_systems import SYSTEMS
from partita_systems.blog import design as blog
from partita_systems.eecar import design as eecar
from partita_systems.perfectit import design as perfectit
from tests.rest import notes_api


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (list_summary(perfectit.cards_by_author), "Cards of one author, a page at a time."),
        (list_summary(perfectit.metrics_between), "Metrics between `since` and `until`, a page at a time."),
        (list_summary(perfectit.root_categories), "Root categories, a page at a time."),
        (get_summary(perfectit.card, perfectit.PerfectionCard), "One perfection card."),
        (get_summary(notes_api.note, notes_api.Note), "A note."),
        (patch_summary(["name"], blog.User), "Change name of a user."),
        (patch_summary(["name", "bio", "avatar_url"], blog.User), "Change name, bio or avatar url of a user."),
        (delete_summary(blog.User), "Delete a user."),
        (noun(eecar.VectorReference), "vector reference"),
    ],
)
def test_summary_is_the_patterns_docstring_or_derived_from_its_name(summary: str, expected: str) -> None:
    assert summary == expected


def test_summary_omits_the_number_of_the_access_pattern() -> None:
    assert list_summary(eecar.most_hit_matches) == "Cached matches, most hits first."


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_summary_is_a_sentence(name: str) -> None:
    for route in SYSTEMS[name].api.routes:
        first = route.about.splitlines()[0]
        assert re.fullmatch(r"[A-Z`].+\.", first), (route.name, first)
        assert not re.search(r" between,|Guard\b", first), (route.name, first)


def test_description_of_a_rule_has_no_repetition() -> None:
    editor, admin = group("EDITOR"), group("ADMIN")
    moderators = editor | admin
    writers = group("AUTHOR") | moderators
    assert (moderators | admin).description == "the group EDITOR, or the group ADMIN"
    assert (admin & admin).description == "the group ADMIN"
    expected = "the caller named in its `author_id` and the group AUTHOR, or the group EDITOR, or the group ADMIN"
    assert (owned_by("author_id") & writers | moderators).description == expected
    both = "the caller named in `user_id` and the group EDITOR, or the caller named in `user_id` and the group ADMIN"
    assert (caller_is("user_id") & moderators).description == both


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_rule_of_a_system_names_a_group_twice(name: str) -> None:
    for route in SYSTEMS[name].api.routes:
        groups = re.findall(r"the group \w+", route.who.description)
        assert len(groups) == len(set(groups)), route.name

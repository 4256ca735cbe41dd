"""A week in nbhd.city, with the requests that it sends."""

from partita import NotUnique
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import LastAdmin
from partita_systems.nbhd.service import Nbhd
from tests.systems.story_recorder import StoryRecorder, counted_ids

ALICE, BORA = "did:plc:alice", "did:plc:bora"


def record(story: StoryRecorder) -> None:
    """Two neighbors, one neighborhood, one site."""
    nbhd = Nbhd(story.db, counted_ids())
    people(story, nbhd)
    home = neighborhood(story, nbhd)
    site(story, nbhd, home)
    farewell(story, nbhd, home)


def people(story: StoryRecorder, nbhd: Nbhd) -> None:
    story("Alice registers: her profile, and a guard for her handle.")
    nbhd.register(ALICE, "alice@bsky.social", "Alice", bio="Community organizer")
    story.advance(minutes=5)
    story("Bora registers as well. The list of users is newest first.")
    nbhd.register(BORA, "bora.bsky.social", "보라")
    story.show([user.display_name for user in story.db(d.users()).first(10)])


def neighborhood(story: StoryRecorder, nbhd: Nbhd) -> str:
    story.advance(hours=1)
    story("Alice creates a neighborhood. One transaction reserves the slug and counts her as the first member.")
    home = nbhd.create_neighborhood(ALICE, "Downtown Collective").neighborhood_id
    story("Bora tries to use the same name. Nothing is written.")
    story.show_error(lambda: nbhd.create_neighborhood(BORA, "Downtown collective"), NotUnique)
    story("She finds the neighborhood by its slug (guard, then neighborhood) and joins it.")
    found = nbhd.find_by_slug("downtown-collective")
    assert found is not None
    nbhd.join(found.neighborhood_id, BORA)
    story("How many members are there, and which neighborhoods is Bora in?")
    story.show(story.db.one(d.neighborhood(home)).member_count)
    story.show([each.name for each in nbhd.neighborhoods_of(BORA).items])
    return home


def site(story: StoryRecorder, nbhd: Nbhd, home: str) -> None:
    story.advance(days=1)
    story("Alice creates a site for the neighborhood. The transaction checks its settings and her membership.")
    blog = nbhd.create_site(ALICE, "My Blog", "blog", "alice", {"author": "Alice"}, neighborhood_id=home)
    story("She builds it. A second build is rejected while the first holds the guard.")
    job = nbhd.start_build(ALICE, blog.site_id)
    story.advance(seconds=1)
    story.show_error(lambda: nbhd.start_build(ALICE, blog.site_id), NotUnique)
    story("The build succeeds, which publishes the site.")
    story.advance(seconds=40)
    nbhd.finish_build(ALICE, job)
    story("The site is found by its subdomain.")
    shown = nbhd.find_by_subdomain("alice")
    assert shown is not None
    story.show(f"{shown.title}, {shown.status}, {shown.public_url}")
    story("Its builds are read from the table. The document's query also reads the site; its filter drops it.")
    story.show([each.status.value for each in story.db(d.builds_of_site(blog.site_id)).first(10)])
    story.show([each.status.value for each in story.db(d.builds_in_index(blog.site_id)).first(10)])
    story("She unpublishes it, and publishes it again.")
    nbhd.unpublish(ALICE, blog.site_id)
    story.show(nbhd.publish(ALICE, blog.site_id).status)
    story("Alice deletes the site: it moves to `DELETED_SITE#`, and its guard gets a time to live.")
    nbhd.delete_site(ALICE, blog.site_id)
    story.show(list(story.db(d.sites_of_user(ALICE))))
    story("The next day she restores it.")
    story.advance(days=1)
    nbhd.restore_site(ALICE, blog.site_id)


def farewell(story: StoryRecorder, nbhd: Nbhd, home: str) -> None:
    story.advance(days=3)
    story("Alice cannot leave: she is the only admin.")
    story.show_error(lambda: nbhd.leave(home, ALICE), LastAdmin)
    story("Bora leaves. Her membership becomes history, and the member count goes down.")
    nbhd.leave(home, BORA)
    story.show(story.db.one(d.neighborhood(home)).member_count)
    story("Alice closes the neighborhood: nobody can join, its memberships become history, its slug is released.")
    nbhd.close(home, ALICE)
    story.show(nbhd.find_by_slug("downtown-collective"))
    story.show([each.did for each in story.db(d.past_members(home))])
    story("Bora deletes her account: it leaves the list at once, and the table after 30 days.")
    nbhd.delete_account(BORA)
    story.show([user.display_name for user in story.db(d.users()).first(10)])
    story("After 30 days her profile is hidden, whether or not DynamoDB has deleted it yet.")
    story.advance(days=30)
    story.show(story.db(d.user(BORA)))
    story("The server purges what is due: her history stays under a pseudonym.")
    story.show(nbhd.purge_due())
    story.show([each.did for each in story.db(d.past_members(home))])

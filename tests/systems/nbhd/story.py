"""A week in nbhd.city, told request by request."""

from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

from partita import NotUnique, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd

ALICE, BORA = "did:plc:alice", "did:plc:bora"


class Narrator(Protocol):
    """Who writes the story down: sentences, what people see, and every request of `db`."""

    db: Store

    def __call__(self, sentence: str) -> None: ...
    def passes(self, **duration: float) -> None: ...
    def shows(self, found: object) -> None: ...


def tell(say: Narrator) -> None:
    """Two neighbors, one neighborhood, one site."""
    numbers = count(1)
    nbhd = Nbhd(say.db, lambda _: next(numbers))
    people(say, nbhd)
    home = neighborhood(say, nbhd)
    site(say, nbhd, home)
    farewell(say, nbhd, home)


def people(say: Narrator, nbhd: Nbhd) -> None:
    say("Alice registers: her profile, and a guard that holds her handle.")
    nbhd.register(ALICE, "alice@bsky.social", "Alice", bio="Community organizer")
    say.passes(minutes=5)
    say("Bora registers as well. The list of users has the newest first.")
    nbhd.register(BORA, "bora.bsky.social", "보라")
    say.shows([user.display_name for user in say.db(d.users()).first(10)])


def neighborhood(say: Narrator, nbhd: Nbhd) -> str:
    say.passes(hours=1)
    say("Alice founds a neighborhood: it counts her as its first member in the transaction that takes the slug.")
    home = nbhd.found(ALICE, "Downtown Collective").id
    say("Bora would like the same name, and is refused. Nothing of hers is written.")
    _refused(say, lambda: nbhd.found(BORA, "Downtown collective"))
    say("So she looks for it by its slug, the guard and then the neighborhood, and joins.")
    found = nbhd.find_by_slug("downtown-collective")
    assert found is not None
    nbhd.join(found.id, BORA)
    say("How many are they now? And where is Bora a member?")
    say.shows(say.db.one(d.neighborhood(home)).member_count)
    say.shows([each.name for each in nbhd.neighborhoods_of(BORA).items])
    return home


def site(say: Narrator, nbhd: Nbhd, home: str) -> None:
    say.passes(days=1)
    say("Alice writes a blog for the neighborhood. Its settings and her membership are checked as it is created.")
    blog = nbhd.create_site(ALICE, "My Blog", "blog", "alice", {"author": "Alice"}, neighborhood_id=home)
    say("She builds it. A second build has to wait: the first holds the guard.")
    job = nbhd.start_build(ALICE, blog.site_id)
    say.passes(seconds=1)
    _refused(say, lambda: nbhd.start_build(ALICE, blog.site_id))
    say("The build ends well, which publishes the site.")
    say.passes(seconds=40)
    nbhd.finish_build(ALICE, job)
    say("Everybody finds it by its subdomain.")
    shown = nbhd.find_by_subdomain("alice")
    assert shown is not None
    say.shows(f"{shown.title}, {shown.status}, {shown.public_url}")
    say("Its builds are read from the table. The document's own query reads the site too, and drops it by its filter.")
    say.shows([each.status.value for each in say.db(d.builds_of_site(blog.site_id)).first(10)])
    say.shows([each.status.value for each in say.db(d.builds_in_index(blog.site_id)).first(10)])
    say("Alice throws the site away: it moves to another shelf, and its guard learns when it will be free.")
    nbhd.delete_site(ALICE, blog.site_id)
    say.shows(list(say.db(d.sites_of_user(ALICE))))
    say("The next day she wants it back.")
    say.passes(days=1)
    nbhd.restore_site(ALICE, blog.site_id)


def farewell(say: Narrator, nbhd: Nbhd, home: str) -> None:
    say.passes(days=3)
    say("Bora leaves. Her membership becomes history, and the neighborhood counts one less.")
    nbhd.leave(home, BORA)
    say.shows(say.db.one(d.neighborhood(home)).member_count)
    say("Alice closes it. It is marked, so that nobody joins any more; she leaves into history; and its slug is free.")
    nbhd.close(home, ALICE)
    say.shows(nbhd.find_by_slug("downtown-collective"))
    say.shows([each.did for each in say.db(d.past_members(home))])
    say("Bora deletes her account: it leaves the list at once, and the table in thirty days.")
    nbhd.delete_account(BORA)
    say.shows([user.display_name for user in say.db(d.users()).first(10)])
    say("After thirty days her profile is hidden, whether or not DynamoDB has come by to delete it.")
    say.passes(days=30)
    say.shows(say.db(d.user(BORA)))


def _refused(say: Narrator, act: Callable[[], Any]) -> None:
    try:
        act()
    except NotUnique as refusal:
        say.shows(refusal)

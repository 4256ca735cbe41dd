"""The document's example of schema versions: `avatar_url` becomes `profile_images.avatar`, in three releases."""

import inspect
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest

from partita import MigrationBlocked, Store, apply_design, plan_migration
from partita.dynamodb.requests import Scan, UpdateItem
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk

BOTH = "Annotated[dict[str, Image] | None, AVATAR]"


def release(name: str, changes: dict[str, str]) -> ModuleType:
    """The design of another release, as its module would be."""
    source = inspect.getsource(d)
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new)
    module = ModuleType(name)
    exec(compile(source, name, "exec"), vars(module))  # noqa: S102 - a copy of our own module
    return module


def first_release() -> ModuleType:
    """Before the migration: two attributes that know nothing of each other."""
    return release("first", {BOTH: "dict[str, Image] | None"})


def last_release() -> ModuleType:
    """After it: the old attribute is no longer declared, and removed from the items."""
    line = "    avatar_url: HttpUrl | None = None  # until the last step of its migration\n"
    return release("last", {line: "", 'member="avatar", to': 'member="avatar", removed=True, to'})


def profile(db: Store, did: str) -> dict[str, Any]:
    return disk(db)[f"USER#{did} PROFILE"]


def store(db: Store, did: str, name: str, value: Any) -> None:
    """Stores an attribute of a profile as code of the first release does, alone."""
    db.backend.call(
        UpdateItem(
            table_name="nbhd-city",
            key={"PK": {"S": f"USER#{did}"}, "SK": {"S": "PROFILE"}},
            update_expression="SET #a = :v",
            expression_attribute_names={"#a": name},
            expression_attribute_values={":v": value},
        )
    )


AVATAR = {"M": {"avatar": {"M": {"url": {"S": "https://cdn/new.jpg"}}}}}


def test_profile_with_either_attribute_shows_one_picture(nbhd: Nbhd, db: Store) -> None:
    store(db, ALICE, "avatar_url", {"S": "https://cdn/old.jpg"})
    store(db, BORA, "profile_images", AVATAR)
    store(db, CHLOE, "avatar_url", {"S": "https://cdn/old.jpg"})
    store(db, CHLOE, "profile_images", AVATAR)
    for did, url in ((ALICE, "https://cdn/old.jpg"), (BORA, "https://cdn/new.jpg"), (CHLOE, "https://cdn/new.jpg")):
        found = db.one(d.user(did))
        (listed,) = [each for each in db(d.users()) if each.did == did]
        for each in (found, listed):
            assert (each.avatar_url, each.profile_images) == (url, {"avatar": d.Image(url=url)})


def test_write_of_either_attribute_sets_both(nbhd: Nbhd, db: Store) -> None:
    with db.change(d.user(ALICE)) as draft:
        draft.avatar_url = "https://cdn/1.jpg"
    assert profile(db, ALICE)["profile_images"] == {"M": {"avatar": {"M": {"url": {"S": "https://cdn/1.jpg"}}}}}
    with db.change(d.user(ALICE)) as draft:
        draft.profile_images = {"avatar": d.Image(url="https://cdn/2.jpg", size="large")}
    assert profile(db, ALICE)["avatar_url"] == {"S": "https://cdn/2.jpg"}


def _interrupted(backend: Any, after: int) -> Any:
    class Interrupted:
        left = after

        def call(self, request: Any) -> Any:
            Interrupted.left -= 1
            if Interrupted.left < 0:
                raise KeyboardInterrupt
            return backend.call(request)

    return Interrupted()


@pytest.mark.parametrize("after", [8, 14, 20, 30])
def test_migration_that_was_stopped_goes_on(nbhd: Nbhd, db: Store, after: int) -> None:
    before = first_release()
    for each in db.backend.call(Scan(table_name="nbhd-city")).items or ():
        assert b"profile_images" not in bytes(each)
    first = Store(db.backend, before.design)
    apply_design(first)  # the data is that of the release before
    for number in range(30):
        first.create(
            before.User(
                did=f"did:plc:{number}",
                bluesky_handle=f"u{number}.x",
                display_name="U",
                avatar_url=f"https://cdn/{number}.jpg",
            )
        )
    (step,) = plan_migration(Store(db.backend, d.design)).steps
    assert (step.action, step.items) == ("convert or fill in User.profile_images", 30)
    seen: list[Any] = []
    with suppress(KeyboardInterrupt):
        apply_design(Store(_interrupted(db.backend, after), d.design), progress=seen.append)
    nbhd.register("did:plc:late", "late.bsky.social", "Late", avatar_url="https://cdn/late.jpg")
    apply_design(Store(db.backend, d.design), progress=seen.append)
    assert seen
    assert not plan_migration(Store(db.backend, d.design)).has_work
    with_images: list[Any] = [each for each in disk(db).values() if "avatar_url" in each]
    assert len(with_images) == 31
    assert all(each["profile_images"]["M"]["avatar"]["M"]["url"] == each["avatar_url"] for each in with_images)


def test_last_step_removes_the_old_attribute_from_every_item(nbhd: Nbhd, db: Store) -> None:
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan", avatar_url="https://cdn/d.jpg")
    last = last_release()
    assert not hasattr(last.User, "avatar_url")
    apply_design(Store(db.backend, last.design))
    assert not any("avatar_url" in each for each in disk(db).values())
    found = Store(db.backend, last.design).one(last.user("did:plc:dan"))
    assert found.profile_images == {"avatar": last.Image(url="https://cdn/d.jpg")}


def test_last_step_before_the_migration_is_refused(nbhd: Nbhd, db: Store) -> None:
    before = first_release()
    apply_design(Store(db.backend, before.design))
    with pytest.raises(MigrationBlocked, match=r"User\.avatar_url was never converted"):
        apply_design(Store(db.backend, last_release().design))

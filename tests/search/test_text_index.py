"""A text index finds what is stored, whatever is written, repeated, or lost on the way."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from partita import (
    ConfigurationError,
    DesignError,
    Entity,
    F,
    InvalidCursor,
    InvalidValue,
    Store,
    Table,
    TextFields,
    TextFile,
    TextIndex,
    connect,
    settle,
)
from partita.consumers.administration import reset
from partita.consumers.batch_runner import BatchRunner, runner_of
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.worker import create_state_tables
from partita.remote.sync_backend import RemoteBackend
from partita.search.opensearch import OpenSearch
from partita.search.text_index import TextPlace
from tests.search import cards
from tests.search.cards import Card, Note, Other, Status, Step
from tests.search.model import ModelIndex
from tests.search.opensearch_stub import StubCluster
from tests.stub_service import serving

Index = TextIndex[Card | Note]


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", cards.design) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


@pytest.fixture(params=["sqlite", "opensearch"])
def place(request: pytest.FixtureRequest) -> Iterator[TextPlace | None]:
    """Beside the data, and OpenSearch as it is documented: both find the same."""
    if request.param == "sqlite":
        yield None
    else:
        with serving(StubCluster().answer) as service:
            yield OpenSearch(service.url, refresh=True)


@pytest.fixture
def search(place: TextPlace | None) -> Index:
    return cards.new_index(place=place)


def found(search: Index, db: Store, text: str, **options: Any) -> list[str]:
    return [_name(each.entity) for each in search.find(db, text, **options)]


def _name(entity: Card | Note) -> str:
    return entity.card_id if isinstance(entity, Card) else entity.note_id


def test_words_of_three_languages_are_found(db: Store, search: Index) -> None:
    db.put(Card(card_id="pt", title="Mesas de carvalho", steps=[Step("Lixar a superfície")]))
    db.put(Card(card_id="en", title="Finish a table", tags=["varnish"]))
    db.put(Card(card_id="ko", title="나사못을 조이기", steps=[Step("M6 볼트")]))
    db.put(Note(note_id="mixed", text="Café 커피 finishing"))
    settle(db, search)
    for text, names in {
        "mesa": ["pt"],
        "lixando superficie": ["pt"],
        "finishes": ["en", "mixed"],
        "fin*": ["en", "mixed"],
        "cafe": ["mixed"],
        "나사못": ["ko"],
        "사못": ["ko"],
        "못": ["ko"],
        "m6볼트": ["ko"],
        "커피 café": ["mixed"],
        '"a table"': ["en"],
        '"table a"': [],
        "varnish finish": ["en"],
        "nothing": [],
    }.items():
        assert sorted(found(search, db, text)) == names, text


def test_word_in_an_attribute_of_more_weight_is_first(db: Store, search: Index) -> None:
    db.put(Card(card_id="step", title="table", steps=[Step("oak")]))
    db.put(Card(card_id="title", title="oak", steps=[Step("table")]))
    for number in range(20):
        db.put(Note(note_id=str(number), text="something else"))
    settle(db, search)
    assert found(search, db, "oak") == ["title", "step"]
    first, second = search.find(db, "oak")
    assert first.score > second.score > 0


def test_phrase_does_not_reach_into_the_next_text(db: Store, search: Index) -> None:
    db.put(Card(card_id="1", title="x", tags=["oak", "table"]))
    settle(db, search)
    assert found(search, db, '"oak table"') == []
    assert found(search, db, "oak table") == ["1"]


def test_changed_and_deleted_items_are_followed(db: Store, search: Index) -> None:
    db.put(Card(card_id="1", title="oak"))
    settle(db, search)
    with db.change(cards.card("1")) as draft:
        draft.title = "pine"
    settle(db, search)
    assert (found(search, db, "oak"), found(search, db, "pine")) == ([], ["1"])
    db.delete(cards.card("1"))
    settle(db, search)
    assert found(search, db, "pine") == []
    assert search.status(db).documents == 0


def test_draft_is_not_indexed_and_leaves_when_it_becomes_one(db: Store, search: Index) -> None:
    db.put(Card(card_id="1", title="oak", status=Status.DRAFT))
    settle(db, search)
    assert search.status(db).documents == 0
    for status, names in ((Status.PUBLISHED, ["1"]), (Status.DRAFT, []), (Status.PUBLISHED, ["1"])):
        with db.change(cards.card("1")) as draft:
            draft.status = status
        settle(db, search)
        assert found(search, db, "oak") == names


def test_item_that_the_index_has_not_noticed_yet_is_left_out(db: Store, search: Index) -> None:
    for name in ("deleted", "draft", "level", "stays"):
        db.put(Card(card_id=name, title="oak"))
    settle(db, search)
    db.delete(cards.card("deleted"))
    with db.change(cards.card("draft")) as draft:
        draft.status = Status.DRAFT
    with db.change(cards.card("level")) as draft:
        draft.level = 9
    assert sorted(found(search, db, "oak")) == ["level", "stays"]
    page = search.find(db, "oak", where=F.level == 1, size=1)
    assert [each.card_id for each in page.entities if isinstance(each, Card)] == ["stays"]


def test_filters_and_entities(db: Store, search: Index) -> None:
    db.put(Card(card_id="1", title="oak", level=1, tags=["wood", "big"]))
    db.put(Card(card_id="2", title="oak", level=2, tags=["wood"]))
    db.put(Note(note_id="3", text="oak", level=2))
    settle(db, search)
    for where, names in (
        (F.level == 2, ["2", "3"]),
        (F.level.is_in(1, 3), ["1"]),
        (F.tags.contains("wood"), ["1", "2"]),
        (F.tags.contains("wood") & (F.level == 2), ["2"]),
        ((F.level == 1) | (F.level == 2), ["1", "2", "3"]),
        (F.status == Status.PUBLISHED, ["1", "2"]),
    ):
        assert sorted(found(search, db, "oak", where=where)) == names
    assert [each.entity.note_id for each in search.find(db, "oak", of=Note)] == ["3"]


def test_filter_that_is_not_declared_is_rejected(db: Store, search: Index) -> None:
    with pytest.raises(
        InvalidValue, match=r"search\.find\.where: title: not declared as filters together \(Card: level"
    ):
        search.find(db, "oak", where=F.title == "x")
    with pytest.raises(InvalidValue, match=r"filtered by ==, is_in and contains"):
        search.find(db, "oak", where=F.level > 1)
    with pytest.raises(DesignError, match=r"'x' is str, but Card\.level is int"):
        search.find(db, "oak", where=F.level == "x")
    with pytest.raises(InvalidValue, match="is not in this index, which has Card, Note"):
        search.find(db, "oak", of=Other)
    with pytest.raises(InvalidValue, match="a page has 1 to 100 matches, not 0"):
        search.find(db, "oak", size=0)


def test_pages_contain_each_match_once(db: Store, search: Index) -> None:
    for number in range(23):
        db.put(Card(card_id=f"{number:02}", title="oak " * (1 + number % 3), steps=[Step("word " * (number % 5))]))
    settle(db, search)
    names, cursor = [], None
    while True:
        page = search.find(db, "oak", size=5, cursor=cursor)
        assert page.total == 23
        names += [_name(each) for each in page.entities]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(names) == [f"{number:02}" for number in range(23)]
    assert names == found(search, db, "oak", size=50)


def test_cursor_is_valid_for_its_search_alone(db: Store, search: Index) -> None:
    for number in range(3):
        db.put(Card(card_id=str(number), title="oak table"))
    settle(db, search)
    cursor = search.find(db, "oak", size=1).cursor
    assert cursor is not None
    where = F.level == 1
    for text, given, filtered in (("table", cursor, None), ("oak", cursor[:-1], None), ("oak", cursor, where)):
        with pytest.raises(InvalidCursor):
            search.find(db, text, size=1, cursor=given, where=filtered)


def test_highlights_are_ranges_and_escaped_html(db: Store, search: Index) -> None:
    db.put(Card(card_id="1", title="<i>Cafés & mesas", steps=[Step("나사못을 " + "filler " * 60 + "a mesa & more")]))
    settle(db, search)
    (match,) = search.find(db, "mesa 나사")
    assert [each.html() for each in match.highlights["title"]] == ["&lt;i&gt;Cafés &amp; <mark>mesas</mark>"]
    (excerpt,) = match.highlights["steps.text"]
    assert excerpt.html().startswith("<mark>나사</mark>못을 filler")
    assert len(excerpt.text) <= 242
    assert "tags" not in match.highlights


def test_stale_and_repeated_changes_do_not_overwrite_newer_ones(db: Store, search: Index) -> None:
    """A runner that lost its lease after it read a page applies it late."""
    stale = runner_of(db, search)
    stale.take_over()
    while stale.step():
        pass
    db.put(Card(card_id="1", title="old"))
    db.put(Card(card_id="2", title="old"))
    assert isinstance(stale, BatchRunner)
    (table,) = stale._tables
    (shard,) = table.shards.open
    records = shard.reader.next_page()
    with db.change(cards.card("1")) as draft:
        draft.title = "new"
    db.delete(cards.card("2"))
    settle(db, search)
    deliveries = [each for record in records if (each := table.recognition.delivery("s", record)) is not None]
    search.open_sink(db).apply_page(deliveries, "s", "", "0" * 40)
    assert found(search, db, "new") == ["1"]
    assert found(search, db, "old") == []
    assert search.status(db).documents == 1


def test_index_that_was_lost_or_is_older_is_built_again(tmp_path: Path) -> None:
    file = tmp_path / "cards.db"
    for number, damage in enumerate(("deleted", "kept", "older", "nothing")):
        search = cards.new_index()
        with connect(str(file), cards.design) as db:
            db.create_tables()
            db.put(Card(card_id=str(number), title="oak"))
            settle(db, search)
            assert len(found(search, db, "oak")) == number + 1
            target = search.target(db.backend)
            target.close()
        path = Path(f"{file}-search.text")
        assert path.is_file()
        if damage == "deleted":
            path.unlink()
        elif damage == "kept":
            (tmp_path / "copy").write_bytes(path.read_bytes())
        elif damage == "older":
            path.write_bytes((tmp_path / "copy").read_bytes())


def test_index_of_another_database_is_built_again(tmp_path: Path) -> None:
    file = tmp_path / "cards.db"
    for name in ("first", "second"):
        search = cards.new_index()
        with connect(str(file), cards.design) as db:
            db.create_tables()
            db.put(Card(card_id=name, title="oak"))
            settle(db, search)
            assert search.status(db).documents == 1
            assert found(search, db, "oak") == [name]
            search.target(db.backend).close()
        for each in tmp_path.glob("cards.db*"):
            if not each.name.endswith(".text"):
                each.unlink()


def test_changed_declaration_is_built_again_while_the_old_build_is_searched(
    db: Store, place: TextPlace | None, tmp_path: Path
) -> None:
    place = place or TextFile(str(tmp_path / "search.text"))
    old = TextIndex("search", TextFields(Card, {"title": 3, "tags": 1}), place=place)
    db.put(Card(card_id="1", title="oaks"))
    settle(db, old)
    new = TextIndex("search", TextFields(Card, {"title": 3}), language="en", place=place)
    runner = runner_of(db, new)
    runner.take_over()
    assert [each.card_id for each in old.find(db, "oaks").entities] == ["1"]
    assert new.status(db).is_building
    while runner.step():
        pass
    assert not new.status(db).is_building
    assert [each.card_id for each in new.find(db, "oak").entities] == ["1"]


def test_wrong_declarations_are_rejected() -> None:
    silent = Table("silent", "PK")

    class Mute(Entity, table=silent, key=("{name}",)):
        name: str

    for declare, message in (
        (lambda: TextFields(Card, {"titel": 1}), "Card has no attribute 'titel'; the attributes are card_id, title"),
        (lambda: TextFields(Card, {"steps.txt": 1}), "has no member 'txt'; its members are text, minutes"),
        (lambda: TextFields(Card, {"level": 1}), "Card.level is int, which has no words"),
        (lambda: TextFields(Card, {"title": 0}), "the weight of 'title' is 0; use a number above 0"),
        (lambda: TextFields(Card, {}), "no attribute is searched"),
        (lambda: TextFields(Card, {"title": 1}, filters=("levle",)), "Card has no attribute 'levle'"),
        (lambda: TextFields(Card, {"title": 1}, filters="level"), r"write filters=\('level',\)"),
        (lambda: TextFields(Card, {"title": 1}, when=F.sttus == 1), "Card has no attribute 'sttus'"),
        (lambda: TextIndex("Search", cards.card_fields()), "the name is not valid; use lower case"),
        (lambda: TextIndex("a", cards.card_fields(), cards.card_fields()), "Card is named twice"),
        (lambda: TextIndex("a", TextFields(Mute, {"name": 1})), "has no stream"),
        (lambda: cards.new_index().on(Card), "it has no handlers; declare a Consumer"),
    ):
        with pytest.raises(DesignError, match=message):
            declare()


def test_remote_data_needs_a_place() -> None:
    with pytest.raises(ConfigurationError, match=r'place=TextFile\("search.text"\)'):
        cards.new_index().target(RemoteBackend("http://127.0.0.1:1"))


# Random documents in three languages, against a plain model.

WORDS = (
    "mesa mesas carvalho finish finishes Finishing café cafe instalação instalações table tables e-mail M6 3.5".split()
)
WORDS += "나사못 나사못을 볼트 못 커피 M6볼트 나사".split()
QUERIES = [
    *WORDS,
    "fin*",
    "mes*",
    "inst*",
    '"mesa carvalho"',
    '"나사못 볼트"',
    "사못",
    "못을",
    "볼",
    "e mail",
    '"finish tables"',
]


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(0, 5)))


class Story:
    """Random writes of cards and notes, and runs of the index that crash, repeat or begin again."""

    def __init__(self, db: Store, index: Index, seed: int) -> None:
        self.rng = random.Random(seed)
        self.db = db
        self.index = index
        self.model = ModelIndex(self.index)
        self.runner = runner_of(db, self.index)
        self.runner.take_over()

    def write(self) -> None:
        rng, name = self.rng, str(self.rng.randint(0, 12))
        if rng.random() < 0.3:
            self.db.put(Note(note_id=f"n{name}", text=_text(rng)))
        elif rng.random() < 0.25:
            self.db.delete(cards.card(name))
        else:
            status = rng.choice([Status.PUBLISHED, Status.PUBLISHED, Status.DRAFT])
            steps = [Step(_text(rng)) for _ in range(rng.randint(0, 2))]
            self.db.put(Card(card_id=name, title=_text(rng), tags=[_text(rng)], steps=steps, status=status))
        if rng.random() < 0.1:
            self.db.put(Other(other_id=name))

    def disturb(self) -> None:
        """A crash between the index and the position, a take-over, a rebuild, or a step."""
        kind = self.rng.choice(["step", "step", "crash", "restart", "rebuild"])
        if kind == "step":
            self.runner.step()
        elif kind == "crash":
            self._crash()
        else:
            if kind == "rebuild":
                reset(ConsumerStore(self.db), "search")
            self.runner = runner_of(self.db, self.index)
            self.runner.take_over()

    def _crash(self) -> None:
        """The index has a page that the position does not have."""
        (table,) = self.runner._tables
        for shard in table.shards.open:
            broken: Any = shard
            broken.move = self._fail
        for scan in table.scans._scans:
            broken = scan
            broken.commit = self._fail
        with suppress(ConnectionError):
            self.runner.step()
        self.runner = runner_of(self.db, self.index)
        self.runner.take_over()

    def _fail(self, *_: Any) -> Any:
        raise ConnectionError("the process ends here")

    def check(self) -> None:
        while self.runner.step():
            pass
        items: dict[str, Any] = {each.card_id: each for each in self.db.scan(Card) if each.status is Status.PUBLISHED}
        items |= {each.note_id: each for each in self.db.scan(Note)}
        self.model.items = items
        assert self.index.status(self.db).documents == len(items)
        for text in [*self.rng.sample(QUERIES, 12), f"{self.rng.choice(WORDS)} {self.rng.choice(WORDS)}"]:
            for complete in (False, True):
                page = self.index.find(self.db, text, size=100, complete=complete)
                assert {_name(each) for each in page.entities} == self.model.matches(text, complete=complete), text
                assert page.total == len(page)
                assert all(each.highlights for each in page)


@pytest.mark.parametrize("seed", range(6))
def test_results_equal_a_plain_model(db: Store, search: Index, seed: int) -> None:
    story = Story(db, search, seed)
    for _ in range(6):
        for _ in range(story.rng.randint(1, 12)):
            story.write()
            if story.rng.random() < 0.3:
                story.disturb()
        story.check()

"""Conditions on changes: each is checked whatever the change is, and is about the entity however it is stored."""

import gc
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from partita import (
    Change,
    Consumer,
    Created,
    Deleted,
    DesignError,
    Entity,
    F,
    HandlerTransaction,
    InKey,
    Item,
    PartitaError,
    Store,
    Table,
    Updated,
    Was,
    connect,
    pattern,
    prove,
    settle,
)
from partita.consumers.change_conditions import checked
from partita.design.conditions import Comparison, Condition
from partita.dynamodb.requests import PutItem

table = Table("papers", "PK", "SK", stream="NEW_AND_OLD_IMAGES")


class Paper(
    Entity,
    table=table,
    key=("PAPER#{paper_id}", "{shelf}#{row:4}"),
    old_keys=[("OLD#{paper_id}", "OLD#{shelf}#{row:4}")],
):
    paper_id: Annotated[str, InKey()]
    shelf: Annotated[str, InKey()]
    row: Annotated[int, InKey()] = 0
    title: Annotated[str, Was("name")] = ""
    pages: int = 0
    tags: frozenset[str] = frozenset()


class Reader(Entity, table=table, key=("READER#{reader}", "READER")):
    reader: str


@pattern
def paper(paper_id: str, shelf: str, row: int) -> Item[Paper]: ...


design = prove("papers", table)

Case = Callable[[Change[Any]], object]


@pytest.fixture
def db() -> Any:
    with connect("memory:", design) as opened:
        opened.create_tables()
        yield opened


def put_old(db: Store) -> None:
    """A paper as a program of an earlier design wrote it: another key, and another name of the title."""
    item = {"PK": {"S": "OLD#p"}, "SK": {"S": "OLD#s#0000"}, "name": {"S": "first"}, "pages": {"N": "1"}}
    db.backend.call(PutItem(table_name=db.table_name("papers"), item=item))


def write_every_kind(db: Store, consumer: Consumer) -> None:
    """Creates, updates and deletes a paper, and the consumer receives each change."""
    db.create(Paper(paper_id="p", shelf="s", title="first", pages=1))
    settle(db, consumer)
    with db.change(paper("p", "s", 0)) as draft:
        draft.pages = 2
    settle(db, consumer)
    db.delete(paper("p", "s", 0))
    settle(db, consumer)


def results_of(db: Store, ask: Case, write: Callable[[Store, Consumer], None] = write_every_kind) -> list[Any]:
    """What the changes of a paper answer, in their order."""
    found: list[Any] = []
    consumer = Consumer("asking")

    @consumer.on(Paper)
    def handle(change: Change[Paper], t: HandlerTransaction) -> None:
        try:
            answer = ask(change)
        except PartitaError as error:
            answer = error
        found.append((type(change), answer))

    write(db, consumer)
    return found


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: F.name == "x", "Paper has no attribute 'name'"),
    (lambda: F.pages == "2", "'2' is str, but Paper.pages is int"),
    (lambda: F.shelf == 1, "1 is int, but Paper.shelf is str"),
    (lambda: F.paper_id == 1, "1 is int, but Paper.paper_id is str"),
    (lambda: F.row > 1, "'row', which is stored in the key only, behind another part"),
    (lambda: F.shelf.size() > 1, "'shelf' is stored in the key only"),
    (lambda: (F.pages == 1) | ~(F.author == "x"), "Paper has no attribute 'author'"),
    (lambda: F.pages == F.page, "Paper has no attribute 'page'"),
    (lambda: F.title.length > 1, "which has no member 'length'"),
    (lambda: F.tags < {"a"}, "which has no order"),
    (lambda: F.pages == F.pages, "is compared with itself"),
    (lambda: None, "None is not a condition; write one with F"),
    (lambda: True, "True is not a condition; write one with F"),
    (lambda: F.pages, "is not a condition; write one with F"),
]


@pytest.mark.parametrize("method", ["became", "stopped"])
@pytest.mark.parametrize(("wrong", "reason"), MISTAKES)
def test_mistake_in_a_condition_is_an_error_of_every_kind_of_change(
    db: Store, method: str, wrong: Callable[[], Any], reason: str
) -> None:
    answers = results_of(db, lambda change: getattr(change, method)(wrong()))
    assert [kind for kind, _ in answers] == [Created, Updated, Deleted]
    for _, error in answers:
        assert type(error) is DesignError, error
        assert str(error).startswith(f"Change[Paper].{method}: ")
        assert reason in str(error)


def test_condition_of_another_entity_of_the_handler_names_the_entity_of_the_change() -> None:
    with pytest.raises(DesignError) as raised:
        checked(Reader, "became", F.pages == 1)
    assert str(raised.value) == "Change[Reader].became: Reader has no attribute 'pages'; the attributes are reader"


@pytest.mark.parametrize(
    "condition",
    [
        F.title == "first",
        F.title.starts_with("fir"),
        F.paper_id == "p",
        F.shelf == "s",
        F.shelf.is_in("r", "s"),
        (F.pages == 1) & (F.title == "first") & (F.shelf >= "s"),
    ],
)
def test_condition_holds_for_an_item_as_an_earlier_design_stored_it(db: Store, condition: Condition) -> None:
    def write(db: Store, consumer: Consumer) -> None:
        put_old(db)
        settle(db, consumer)
        db.delete(paper("p", "s", 0))
        settle(db, consumer)

    became = results_of(db, lambda change: change.became(condition), write)
    assert [(kind, answer is not None) for kind, answer in became] == [(Created, True), (Deleted, False)]
    stopped = results_of(db, lambda change: change.stopped(condition), write)
    assert [(kind, answer is not None) for kind, answer in stopped][-2:] == [(Created, False), (Deleted, True)]


def test_rename_of_a_stored_attribute_is_no_change_of_it(db: Store) -> None:
    def write(db: Store, consumer: Consumer) -> None:
        item = {"PK": {"S": "PAPER#p"}, "SK": {"S": "s#0000"}, "name": {"S": "first"}, "pages": {"N": "1"}}
        db.backend.call(PutItem(table_name=db.table_name("papers"), item=item))
        settle(db, consumer)
        with db.change(paper("p", "s", 0)) as draft:
            draft.title = "first"
            draft.pages = 2
        settle(db, consumer)

    answers = results_of(db, lambda change: change.became(F.title == "first"), write)
    assert [(kind, answer is not None) for kind, answer in answers] == [(Created, True), (Updated, False)]


def test_conditions_of_handlers_are_not_kept() -> None:
    def live() -> int:
        gc.collect()
        return sum(isinstance(each, Comparison) for each in gc.get_objects())

    before = live()
    for _ in range(5000):  # a handler builds a condition for each change
        checked(Paper, "became", F.pages == 1)
    assert live() - before < 2000

"""Cards with what runs beside them: a text index, a consumer that gives up every change, and a job."""

from partita import Change, Consumer, HandlerTransaction, Store
from partita.consumers.batch_runner import runner_of
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.jobs.job import Jobs
from partita.jobs.job_runner import JobRunner
from tests.search import cards
from tests.search.cards import Card, Note

HOSTILE = '<img src=x onerror="alert(3)">'
design = cards.design
words = cards.new_index("words")
mails = Consumer("mails", tries=1)
consumers = [words, mails]
jobs = Jobs("cards")


@mails.on(Card)
def _send_mail(change: Change[Card], t: HandlerTransaction) -> None:
    raise ValueError(f"no {HOSTILE} server")


@jobs.every(hours=1)
def _tidy(db: Store) -> None:
    """Does nothing."""


def fill(db: Store) -> None:
    """A few cards, which the index has read and the consumer has given up."""
    db.create_tables()
    create_state_tables(db)
    JobRunner(db, jobs).create_tables()
    for runner in (runner_of(db, words), ConsumerRunner(db, mails)):
        runner.take_over()
        for number in range(3):
            name = f"{runner.consumer.name}{number}"
            db.create(Card(card_id=name, title=f"Oak table {HOSTILE}", tags=["wood"], level=number))
            db.create(Note(note_id=name, text="The oak has to dry"))
        while runner.step():
            pass
        runner.close()

"""A card's life, told with the requests that it takes."""

from itertools import count
from typing import Protocol

from partita import NotUnique, ReferenceMissing, Store, new_id
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt


class Narrator(Protocol):
    """Who writes the story down: sentences, the store whose requests are shown, and what somebody sees."""

    @property
    def db(self) -> Store: ...
    def __call__(self, sentence: str) -> None: ...
    def passes(self, *, minutes: float = ..., hours: float = ..., days: float = ...) -> None: ...
    def shows(self, found: object) -> None: ...


def tell(say: Narrator) -> None:
    numbers = count(1)
    perfectit = PerfectIt(say.db, lambda prefix, now: new_id(prefix, now, lambda _: next(numbers)))
    ann, ben = _people(say, perfectit)
    card_id = _draft(say, perfectit, ann, ben)
    _votes(say, perfectit, card_id, ann, ben)
    _talk(say, perfectit, card_id, ann, ben)
    _lists(say, perfectit, card_id, ben)
    _end(say, perfectit, card_id, ann)


def _people(say: Narrator, perfectit: PerfectIt) -> tuple[str, str]:
    say("Ann registers. Her name is guarded: nobody else gets it.")
    ann = perfectit.register("Ann", "Ann Abara").user_id
    say("Somebody wants to be ANN.")
    try:
        perfectit.register("ANN", "Not Ann")
    except NotUnique as refusal:
        say.shows(refusal)
    say("Ben registers, and there is a place for what is made of wood.")
    ben = perfectit.register("ben", "Ben Kim").user_id
    perfectit.add_category("woodworking", "Woodworking")
    return ann, ben


def _draft(say: Narrator, perfectit: PerfectIt, ann: str, ben: str) -> str:
    say("Ann begins a card. It is a draft: hers alone, and gone in thirty days if she forgets it.")
    card_id = perfectit.cards.draft(ann, Content(title="Perfect Wood Finish", category="woodworking")).card_id
    say("Ben cannot vote for what is not there yet.")
    try:
        perfectit.votes.on_card(ben, card_id, d.VoteType.UP)
    except ReferenceMissing as refusal:
        say.shows(refusal)
    say.passes(hours=20)
    say("The next morning she adds the steps, and finds it among her drafts.")
    perfectit.cards.edit(card_id, Content(instructions=["Sand.", "Oil.", "Wait a day."], tags=["furniture"]))
    say.shows([each.title for each in say.db(d.drafts_of_author(ann))])
    say("She publishes: the card enters four indexes, gets its terms, is counted by its category, and expires no more.")
    perfectit.cards.publish(card_id)
    return card_id


def _votes(say: Narrator, perfectit: PerfectIt, card_id: str, ann: str, ben: str) -> None:
    say("Ben votes for it. Vote, counts, score, the place among the top voted: one transaction.")
    perfectit.votes.on_card(ben, card_id, d.VoteType.UP)
    say("Ann is not content with her own card. One for, one against: now it is controversial, too.")
    perfectit.votes.on_card(ann, card_id, d.VoteType.DOWN)
    say.shows([(each.title, each.vote_score) for each in perfectit.cards.controversial().items])
    say("She thinks better of it and takes her vote back.")
    perfectit.votes.on_card(ann, card_id, None)
    say("Whoever asks for the top voted finds it, with its score, in one Query.")
    say.shows([(each.title, each.vote_score) for each in say.db(d.top_voted())])


def _talk(say: Narrator, perfectit: PerfectIt, card_id: str, ann: str, ben: str) -> None:
    say.passes(minutes=5)
    say("Ben asks a question; it is accepted only while the card is there for everybody.")
    comment = perfectit.comment(ben, card_id, "Which oil? 기름은 뭐가 좋아요?")
    say("Ann likes the question, and edits the title: old terms go and new ones come in the same transaction.")
    perfectit.votes.on_comment(ann, card_id, comment.created_at, comment.comment_id, d.VoteType.UP)
    perfectit.cards.edit(card_id, Content(title="Perfect Linseed Oil Finish"))
    say.shows([(each.text, each.vote_score) for each in say.db(d.comments_of_card(card_id))])


def _lists(say: Narrator, perfectit: PerfectIt, card_id: str, ben: str) -> None:
    say("Ben keeps the card, and looks into his collection: one Query, one BatchGetItem.")
    later = perfectit.new_collection(ben, "For the workshop").collection_id
    perfectit.collect(ben, later, card_id)
    say.shows([each.title for each in perfectit.collected(later).items])
    say("Somebody searches for linseed oil.")
    say.shows([each.title for each in perfectit.cards.search("linseed oil").items])
    say.passes(days=1)
    say("After midnight nothing is of today, but recent cards walk back a day; the cursor says where to go on.")
    page = perfectit.cards.recent(1)
    say.shows(([each.title for each in page.items], page.cursor))


def _end(say: Narrator, perfectit: PerfectIt, card_id: str, ann: str) -> None:
    say("Ann removes the card. It leaves every list first; then votes, comments and terms go, and the card last.")
    perfectit.cards.remove(card_id)
    say.shows([each.title for each in say.db(d.cards_by_author(ann))])

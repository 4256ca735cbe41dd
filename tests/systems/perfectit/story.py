"""A card from draft to removal, with the requests that it sends."""

from partita import NotUnique
from partita_systems.errors import NotPublished
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from tests.systems.story_recorder import StoryRecorder, counted_ids


def record(story: StoryRecorder) -> None:
    perfectit = PerfectIt(story.db, counted_ids())
    ann, ben = _people(story, perfectit)
    card_id = _draft(story, perfectit, ann, ben)
    _votes(story, perfectit, card_id, ann, ben)
    _comments(story, perfectit, card_id, ann, ben)
    _lists(story, perfectit, card_id, ben)
    _end(story, perfectit, card_id, ann)


def _people(story: StoryRecorder, perfectit: PerfectIt) -> tuple[str, str]:
    story("Ann registers. A guard item keeps her username unique.")
    ann = perfectit.register("Ann", "Ann Abara").user_id
    story("Another person tries to register as ANN.")
    story.show_error(lambda: perfectit.register("ANN", "Not Ann"), NotUnique)
    story("Ben registers, and the category Woodworking is created.")
    ben = perfectit.register("ben", "Ben Kim").user_id
    perfectit.add_category("woodworking", "Woodworking")
    return ann, ben


def _draft(story: StoryRecorder, perfectit: PerfectIt, ann: str, ben: str) -> str:
    story("Ann writes a draft. Only she can see it, and it expires 30 days after its last edit.")
    card_id = perfectit.cards.draft(ann, Content(title="Perfect Wood Finish", category="woodworking")).card_id
    story("Ben tries to vote. A draft has no votes.")
    story.show_error(lambda: perfectit.votes.on_card(ben, card_id, d.VoteType.UP), NotPublished)
    story.advance(hours=20)
    story("The next morning she adds the steps. Her drafts list the card.")
    perfectit.cards.edit(card_id, Content(instructions=["Sand.", "Oil.", "Wait a day."], tags=["furniture"]))
    story.show([each.title for each in story.db(d.drafts_of_author(ann))])
    story("She publishes: the card enters four indexes, gets its search terms, is counted, and no longer expires.")
    perfectit.cards.publish(card_id)
    return card_id


def _votes(story: StoryRecorder, perfectit: PerfectIt, card_id: str, ann: str, ben: str) -> None:
    story("Ben votes for it: vote, counts, score and the key in the index of top cards, in one transaction.")
    perfectit.votes.on_card(ben, card_id, d.VoteType.UP)
    story("Ann votes against her own card. With votes on both sides the card is controversial.")
    perfectit.votes.on_card(ann, card_id, d.VoteType.DOWN)
    story.show([(each.title, each.vote_score) for each in perfectit.cards.controversial().items])
    story("She withdraws her vote.")
    perfectit.votes.on_card(ann, card_id, None)
    story("One Query lists the top voted cards with their scores.")
    story.show([(each.title, each.vote_score) for each in story.db(d.top_voted())])


def _comments(story: StoryRecorder, perfectit: PerfectIt, card_id: str, ann: str, ben: str) -> None:
    story.advance(minutes=5)
    story("Ben comments. The transaction checks that the card is published.")
    comment = perfectit.comment(ben, card_id, "Which oil? 기름은 뭐가 좋아요?")
    story("Ann votes for the comment and edits the title: the search terms change in the same transaction.")
    perfectit.votes.on_comment(ann, card_id, comment.created_at, comment.comment_id, d.VoteType.UP)
    perfectit.cards.edit(card_id, Content(title="Perfect Linseed Oil Finish"))
    story.show([(each.text, each.vote_score) for each in story.db(d.comments_of_card(card_id))])


def _lists(story: StoryRecorder, perfectit: PerfectIt, card_id: str, ben: str) -> None:
    story("Ben adds the card to a collection and opens it: one Query, one BatchGetItem.")
    later = perfectit.new_collection(ben, "For the workshop").collection_id
    perfectit.collect(ben, later, card_id)
    story.show([each.title for each in perfectit.cards_of_collection(later).items])
    story("A search for linseed oil.")
    story.show([each.title for each in perfectit.cards.search("linseed oil").items])
    story.advance(days=1)
    story("The next day has no cards yet. The list of recent cards goes back one day; the cursor contains the day.")
    page = perfectit.cards.recent(1)
    story.show(([each.title for each in page.items], page.cursor))


def _end(story: StoryRecorder, perfectit: PerfectIt, card_id: str, ann: str) -> None:
    story("Ann removes the card: it leaves every list, then its votes, comments and terms are deleted, then the card.")
    perfectit.cards.remove(card_id)
    story.show([each.title for each in story.db(d.cards_by_author(ann))])

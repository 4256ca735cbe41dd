"""Adopting a table that the team's own code filled: what it never wrote is made from what it did.

After the general adoption every vote says what it is about, every entry of a collection whose it is, counts and scores
are those of the votes, and published cards have their terms and how divided their votes are. Each thing is mended in a
transaction of its own under the condition that it is still what was read, so it can be interrupted anywhere.

Drafts come first. They expire thirty days after their last edit, which may long be over: their adoption counts as one.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from partita import Adoption, Get, Store
from partita_systems.perfectit import design as d
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from partita_systems.perfectit.votes import Target, controversy, kind_of


@dataclass
class Counted:
    """The votes for and against one thing."""

    up: int = 0
    down: int = 0


@dataclass
class Stored:
    """What is there, as one walk over the table finds it; of cards and comments only what is compared."""

    kinds: dict[str, d.TargetType] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    categories: set[str] = field(default_factory=set)
    votes: defaultdict[str, Counted] = field(default_factory=lambda: defaultdict(Counted))
    terms: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    divided: dict[str, int] = field(default_factory=dict)


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Bring every item to what the design says and the service keeps."""
    begun = Adoption()
    for card in db.scan(d.PerfectionCard):
        if card.status == d.CardStatus.DRAFT and card.version == 0:
            _keep(db, card, begun)
    done = db.adopt(progress)
    done.rewritten += begun.rewritten
    done.refused += begun.refused
    stored = _walk(db)
    _tell_what_hangs(db, stored, done)
    perfectit = PerfectIt(db)
    for entry in db.scan(d.CardInCollection):
        if entry.user_id is None:
            _name_owner(db, entry, stored, done)
    for vote in db.scan(d.Vote):
        if vote.target_type is None:
            _name_target(db, vote, stored, done)
    progress(done)
    for comment in db.scan(d.Comment):
        call: Get[Target] = d.comment(comment.card_id, comment.created_at, comment.comment_id)
        _recount(perfectit, comment.comment_id, call, comment, stored, done)
    for card in db.scan(d.PerfectionCard):
        _recount(perfectit, card.card_id, d.card(card.card_id), card, stored, done)
        if card.status == d.CardStatus.PUBLISHED:
            _refile(perfectit, card, stored, done)
    progress(done)
    return done


def _walk(db: Store) -> Stored:
    stored = Stored()
    for each in db.scan(d.PerfectionCard, d.Comment, d.Collection, d.Category, d.Vote, d.Term, d.Controversy):
        match each:
            case d.PerfectionCard():
                stored.kinds[each.card_id] = kind_of(each)
            case d.Comment():
                stored.kinds[each.comment_id] = kind_of(each)
            case d.Collection():
                stored.owners[each.collection_id] = each.user_id
            case d.Category():
                stored.categories.add(each.category_id)
            case d.Vote():
                counted = stored.votes[each.target_id]
                counted.up += each.vote_type == d.VoteType.UP
                counted.down += each.vote_type == d.VoteType.DOWN
            case d.Term():
                stored.terms[each.card_id].add(each.term)
            case d.Controversy():
                stored.divided[each.card_id] = each.score
    return stored


def _keep(db: Store, card: d.PerfectionCard, done: Adoption) -> None:
    with done.collecting_errors(f"PerfectionCard {card.card_id}"):
        with db.change(d.card(card.card_id), version=0) as draft:
            draft.difficulty = card.difficulty  # an edit that changes nothing but its time
        done.rewritten += 1


def _tell_what_hangs(db: Store, stored: Stored, done: Adoption) -> None:
    """What refers to something that is not there."""
    for each in db.scan(d.PerfectionCard, d.Comment, d.Category):
        match each:
            case d.PerfectionCard(status=d.CardStatus.PUBLISHED) if each.category:
                if each.category not in stored.categories:
                    done.refused.append(f"PerfectionCard {each.card_id}: there is no category {each.category}")
            case d.Comment() if stored.kinds.get(each.card_id) != d.TargetType.CARD:
                done.refused.append(f"Comment {each.comment_id}: there is no card {each.card_id}")
            case d.Category() if each.parent_id == each.category_id:
                done.refused.append(f"Category {each.category_id}: it is its own parent")
            case d.Category() if each.parent_id != d.ROOT and each.parent_id not in stored.categories:
                done.refused.append(f"Category {each.category_id}: there is no category {each.parent_id}")


def _name_owner(db: Store, entry: d.CardInCollection, stored: Stored, done: Adoption) -> None:
    owner = stored.owners.get(entry.collection_id)
    name = f"CardInCollection {entry.collection_id} {entry.card_id}"
    if owner is None:
        done.refused.append(f"{name}: there is no collection {entry.collection_id}")
        return
    with done.collecting_errors(name):
        with db.change(d.card_in_collection(entry.collection_id, entry.card_id)) as draft:
            draft.user_id = owner
        done.rewritten += 1


def _name_target(db: Store, vote: d.Vote, stored: Stored, done: Adoption) -> None:
    kind = stored.kinds.get(vote.target_id)
    name = f"Vote {vote.user_id} {vote.target_id}"
    if kind is None:
        done.refused.append(f"{name}: there is neither a card nor a comment {vote.target_id}")
        return
    with done.collecting_errors(name):
        with db.change(d.vote(vote.user_id, vote.target_id)) as draft:
            draft.target_type = kind
        done.rewritten += 1


def _recount(
    perfectit: PerfectIt, target_id: str, call: Get[Target], target: Target, stored: Stored, done: Adoption
) -> None:
    """Counts, score and controversy of one target."""
    votes = stored.votes.get(target_id, Counted())
    counts = (target.up_count, target.down_count, target.vote_score)
    wrong = counts != (votes.up, votes.down, votes.up - votes.down)
    divided = stored.divided.get(target_id)
    undivided = isinstance(target, d.PerfectionCard) and (divided or 0) != controversy(votes.up, votes.down)
    if not wrong and not undivided:
        return
    with done.collecting_errors(f"{type(target).__name__} {target_id}"):
        perfectit.votes.recount(target_id, call)
        done.counted += wrong
        done.created += isinstance(target, d.PerfectionCard) and divided is None


def _refile(perfectit: PerfectIt, card: d.PerfectionCard, stored: Stored, done: Adoption) -> None:
    wanted, filed = set(terms_of(card)), stored.terms[card.card_id]
    if wanted == filed:
        return
    with done.collecting_errors(f"PerfectionCard {card.card_id}"):
        perfectit.cards.refile(card.card_id)
        done.created += len(wanted - filed)

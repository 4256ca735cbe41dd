"""Adoption of items that the team's own code stored: the attributes and items that its document lacks.

After the store's own adoption, every vote gets its target type, every collection entry its user, counters and scores
are recounted from the votes, and published cards get their terms and controversy. Each item is changed in its own
transaction on the condition that it is unchanged, so adoption can be interrupted anywhere.

Drafts come first: they expire 30 days after their last edit, which may be long ago, so adoption counts as an edit.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from partita import Adoption, Get, Store
from partita_systems.perfectit import design as d
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.service import PerfectIt
from partita_systems.perfectit.votes import Target, controversy, target_type_of


@dataclass
class VoteCounts:
    """The votes for and against one card or comment."""

    up: int = 0
    down: int = 0


@dataclass
class TableContent:
    """The parts of the table that adoption compares, from one scan."""

    kinds: dict[str, d.TargetType] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    categories: set[str] = field(default_factory=set)
    votes: defaultdict[str, VoteCounts] = field(default_factory=lambda: defaultdict(VoteCounts))
    terms: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    controversies: dict[str, int] = field(default_factory=dict)


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Adopt all items. `refused` lists what cannot be adopted and stays unchanged; a second run has nothing to do."""
    drafts = Adoption()
    for card in db.scan(d.PerfectionCard):
        if card.status == d.CardStatus.DRAFT and card.version == 0:
            _renew_draft(db, card, drafts)
    done = db.adopt(progress)
    done.rewritten += drafts.rewritten
    done.refused += drafts.refused
    stored = _scan(db)
    _report_dangling(db, stored, done)
    perfectit = PerfectIt(db)
    for entry in db.scan(d.CardInCollection):
        if entry.user_id is None:
            _set_owner(db, entry, stored, done)
    for vote in db.scan(d.Vote):
        if vote.target_type is None:
            _set_target_type(db, vote, stored, done)
    progress(done)
    for comment in db.scan(d.Comment):
        call: Get[Target] = d.comment(comment.card_id, comment.created_at, comment.comment_id)
        _recount(perfectit, comment.comment_id, call, comment, stored, done)
    for card in db.scan(d.PerfectionCard):
        _recount(perfectit, card.card_id, d.card(card.card_id), card, stored, done)
        if card.status == d.CardStatus.PUBLISHED:
            _rebuild_terms(perfectit, card, stored, done)
    progress(done)
    return done


def _scan(db: Store) -> TableContent:
    stored = TableContent()
    for each in db.scan(d.PerfectionCard, d.Comment, d.Collection, d.Category, d.Vote, d.Term, d.Controversy):
        match each:
            case d.PerfectionCard():
                stored.kinds[each.card_id] = target_type_of(each)
            case d.Comment():
                stored.kinds[each.comment_id] = target_type_of(each)
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
                stored.controversies[each.card_id] = each.score
    return stored


def _renew_draft(db: Store, card: d.PerfectionCard, done: Adoption) -> None:
    with done.collecting_errors(f"PerfectionCard {card.card_id}"):
        with db.change(d.card(card.card_id), version=0) as draft:
            draft.difficulty = card.difficulty  # changes `updated_at` only
        done.rewritten += 1


def _report_dangling(db: Store, stored: TableContent, done: Adoption) -> None:
    """Report items that refer to items that do not exist."""
    for each in db.scan(d.PerfectionCard, d.Comment, d.Category):
        match each:
            case d.PerfectionCard(status=d.CardStatus.PUBLISHED) if each.category:
                if each.category not in stored.categories:
                    done.refused.append(f"PerfectionCard {each.card_id}: category {each.category} does not exist")
            case d.Comment() if stored.kinds.get(each.card_id) != d.TargetType.CARD:
                done.refused.append(f"Comment {each.comment_id}: card {each.card_id} does not exist")
            case d.Category() if each.parent_id == each.category_id:
                done.refused.append(f"Category {each.category_id}: it is its own parent")
            case d.Category() if each.parent_id != d.ROOT and each.parent_id not in stored.categories:
                done.refused.append(f"Category {each.category_id}: category {each.parent_id} does not exist")


def _set_owner(db: Store, entry: d.CardInCollection, stored: TableContent, done: Adoption) -> None:
    owner = stored.owners.get(entry.collection_id)
    name = f"CardInCollection {entry.collection_id} {entry.card_id}"
    if owner is None:
        done.refused.append(f"{name}: collection {entry.collection_id} does not exist")
        return
    with done.collecting_errors(name):
        with db.change(d.card_in_collection(entry.collection_id, entry.card_id)) as draft:
            draft.user_id = owner
        done.rewritten += 1


def _set_target_type(db: Store, vote: d.Vote, stored: TableContent, done: Adoption) -> None:
    kind = stored.kinds.get(vote.target_id)
    name = f"Vote {vote.user_id} {vote.target_id}"
    if kind is None:
        done.refused.append(f"{name}: no card or comment {vote.target_id} exists")
        return
    with done.collecting_errors(name):
        with db.change(d.vote(vote.user_id, vote.target_id)) as draft:
            draft.target_type = kind
        done.rewritten += 1


def _recount(
    perfectit: PerfectIt, target_id: str, call: Get[Target], target: Target, stored: TableContent, done: Adoption
) -> None:
    """Recount the votes of one card or comment."""
    votes = stored.votes.get(target_id, VoteCounts())
    counts = (target.up_count, target.down_count, target.vote_score)
    wrong = counts != (votes.up, votes.down, votes.up - votes.down)
    score = stored.controversies.get(target_id)
    wrong_controversy = isinstance(target, d.PerfectionCard) and (score or 0) != controversy(votes.up, votes.down)
    if not wrong and not wrong_controversy:
        return
    with done.collecting_errors(f"{type(target).__name__} {target_id}"):
        perfectit.votes.recount(target_id, call)
        done.counted += wrong
        done.created += isinstance(target, d.PerfectionCard) and score is None


def _rebuild_terms(perfectit: PerfectIt, card: d.PerfectionCard, stored: TableContent, done: Adoption) -> None:
    wanted, existing = set(terms_of(card)), stored.terms[card.card_id]
    if wanted == existing:
        return
    with done.collecting_errors(f"PerfectionCard {card.card_id}"):
        perfectit.cards.rebuild_terms(card.card_id)
        done.created += len(wanted - existing)

"""Searches in FTS5: which documents match, ranked by bm25 with the weights of the columns."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import apsw
import msgspec

from partita.search.query_text import Term
from partita.search.text_columns import FILTERS, FORMS, entity_token, word_columns
from partita.search.text_filters import TextSelection
from partita.search.text_target import TextHit, TextHits, TextSearch

MAX_RANKED = 5_000  # documents of a search; of more, the newest are ranked


class Fts5Build(msgspec.Struct, frozen=True):
    """One build of an index: the number in the names of its tables, and the weights of its columns."""

    number: int
    scans: str
    fingerprint: str
    columns: tuple[float, ...]
    is_done: bool


def builds_of(connection: apsw.Connection) -> Iterator[Fts5Build]:
    """The builds, the newest first."""
    for number, scans, fingerprint, columns, is_done in connection.execute("SELECT * FROM builds ORDER BY number DESC"):
        yield Fts5Build(number, scans, fingerprint, tuple(msgspec.json.decode(columns)), bool(is_done))


def visible_build(connection: apsw.Connection) -> Fts5Build | None:
    """The newest build that is done; else the newest one."""
    every = list(builds_of(connection))
    return next((each for each in every if each.is_done), every[0] if every else None)


def search_in(connection: apsw.Connection, build: Fts5Build, search: TextSearch) -> TextHits:
    weights = ", ".join(map(repr, (*build.columns, min(build.columns), 0.0)))
    ranked = (
        f"SELECT rowid AS id, -bm25(text_{build.number}, {weights}) AS score FROM text_{build.number} "
        f"WHERE text_{build.number} MATCH ? ORDER BY rowid DESC LIMIT {MAX_RANKED}"
    )
    match = _match(search, build)
    score, last = search.after or (float("inf"), "0")
    rows: list[Any] = connection.execute(
        f"WITH ranked AS MATERIALIZED ({ranked}), page AS ("
        "SELECT id, score FROM ranked WHERE score < ?2 OR (score = ?2 AND id < ?3) "
        "ORDER BY score DESC, id DESC LIMIT ?4) "
        "SELECT page.score, page.id, entity, tbl, key, (SELECT count(*) FROM ranked) "
        f"FROM page JOIN documents_{build.number} AS d ON d.id = page.id ORDER BY page.score DESC, page.id DESC",
        (match, score, int(last), search.size),
    ).fetchall()
    if not rows and search.after is None:
        return TextHits([], 0)
    total = rows[0][5] if rows else 0
    return TextHits([TextHit(score, str(identity), *rest) for score, identity, *rest, _ in rows], total)


def _match(search: TextSearch, build: Fts5Build) -> str:
    """The query in FTS5's syntax. It consists of tokens of ours, which contain neither quotes nor spaces."""
    words = f"{{{' '.join(word_columns(len(build.columns)))}}}"
    terms = [f"({' OR '.join(map(partial(_term, words), each))})" for each in search.query.terms]
    if search.selections is None:
        return " AND ".join(terms)
    chosen = " OR ".join(map(_selection, search.selections))
    return f"{' AND '.join(terms)} AND ({chosen})"


def _term(words: str, term: Term) -> str:
    phrase = f'"{" ".join(term.tokens)}"'
    if not term.prefix:
        return f"{words} : {phrase}"
    found = f"{words} : {phrase} *"
    return f"{found} OR {{forms}} : {phrase} *" if len(term.tokens) == 1 else found


def _selection(selection: TextSelection) -> str:
    groups = [(entity_token(selection.entity),), *selection.groups]
    parts = [f"({' OR '.join(f'{{filters}} : {chr(34)}{each}{chr(34)}' for each in group)})" for group in groups]
    return f"({' AND '.join(parts)})"


def column_names(count: int) -> str:
    return ", ".join([*word_columns(count), FORMS, FILTERS])

"""Searches in the query language of OpenSearch: the same terms and filters as in FTS5."""

from collections.abc import Sequence
from typing import Any

from partita.search.query_text import Alternatives, Term
from partita.search.text_columns import FILTERS, FORMS, entity_token, word_columns
from partita.search.text_filters import TextSelection
from partita.search.text_target import TextSearch

MAX_COUNTED = 5_000  # documents of a search; more are not counted
MAX_EXPANSIONS = 250  # words that the prefix at the end of a phrase may stand for in a column; default 50, clauses 1024

Query = dict[str, Any]


def search_body(search: TextSearch, weights: Sequence[float]) -> Query:
    """The body of a search request. Scores are sums over terms and columns, by BM25 and the weights."""
    terms: Query = {"must": [_alternatives(each, weights) for each in search.query.terms]}
    if search.selections is not None:
        terms["filter"] = [_any(list(map(_selection, search.selections)))]
    body: Query = {
        "query": {"bool": terms},
        "size": search.size,
        "track_total_hits": MAX_COUNTED,
        "_source": ["entity", "table", "key"],
        "sort": [{"_score": {"order": "desc"}}, {"item": {"order": "desc"}}],
    }
    if search.after is not None:
        body["search_after"] = list(search.after)
    return body


def _alternatives(alternatives: Alternatives, weights: Sequence[float]) -> Query:
    return _any([query for term in alternatives for query in _term(term, weights)])


def _term(term: Term, weights: Sequence[float]) -> list[Query]:
    options: Query
    columns = list(zip(word_columns(len(weights)), weights, strict=True))
    if not term.prefix:
        kind, options = "match_phrase", {"query": " ".join(term.tokens)}
    elif len(term.tokens) == 1:
        columns.append((FORMS, min(weights)))
        kind, options = "prefix", {"value": term.tokens[0]}
    else:
        kind, options = "match_phrase_prefix", {"query": " ".join(term.tokens), "max_expansions": MAX_EXPANSIONS}
    return [{kind: {column: {**options, "boost": weight}}} for column, weight in columns]


def _selection(selection: TextSelection) -> Query:
    groups = [(entity_token(selection.entity),), *selection.groups]
    return {"bool": {"filter": [{"terms": {FILTERS: list(group)}} for group in groups]}}


def _any(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else {"bool": {"should": queries, "minimum_should_match": 1}}

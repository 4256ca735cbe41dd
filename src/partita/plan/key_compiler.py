"""The keys of reads by functions that are compiled once for each read, from arguments to attribute values.

    a get      lambda a: {'PK': {'S': 'ORDER#' + k0(a[0])}}
    a query    lambda a: {':v0': {'S': 'CUSTOMER#' + k0(a[0])}, ':v1': {'S': 'ORDER#'}}

Only keys of templates and arguments are compiled. Other reads (attributes as keys, bounds, shards, a fan-out) use
`range_conditions.key_conditions`, which defines the keys of all reads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from partita.design.codegen import Env, bind
from partita.design.key_parts import ShardPart
from partita.design.reads import ALL_SHARDS, Argument, FanOut
from partita.design.separators import Separator
from partita.dynamodb.values import Item
from partita.plan import key_ranges
from partita.plan.condition_expressions import Expression

KeyWriter = Callable[[tuple[Any, ...]], Item]


class QueryWriter(NamedTuple):
    """A KeyConditionExpression with its names, and the function for its values."""

    text: str
    names: dict[str, str]
    values: KeyWriter


def key_writer(found: key_ranges.KeyRange) -> KeyWriter | None:
    """The writer of a get's key."""
    env: Env = {}
    made = [(fixed.attribute.name, _text(fixed.pieces, fixed.separator, env, whole=True)) for fixed in found.fixed]
    return _compile(made, env)


def query_writer(found: key_ranges.KeyRange) -> QueryWriter | None:
    """The writer of a query's conditions: whole attributes, and at most one prefix without bounds."""
    env: Env = {}
    expression = Expression()
    made: list[tuple[str, str | None]] = []
    texts = []
    for fixed in found.fixed:
        name, placeholder = expression.name(fixed.attribute.name), expression.value({})
        made.append((placeholder, _text(fixed.pieces, fixed.separator, env, whole=found.whole)))
        texts.append(f"{name} = {placeholder}")
    start = found.sort_prefix
    if start is not None:
        if start.attribute.template is None or not start.is_plain_prefix:
            return None
        prefix = _text(start.pieces, start.separator, env, whole=False)
        ending = start.separator.character * bool(start.pieces) + start.constant_prefix
        if start.pieces or start.constant_prefix:
            name, placeholder = expression.name(start.attribute.name), expression.value({})
            made.append((placeholder, None if prefix is None else f"{prefix} + {ending!r}"))
            texts.append(f"begins_with({name}, {placeholder})")
    values = _compile(made, env)
    return None if values is None else QueryWriter(" AND ".join(texts), expression.names, values)


def _text(pieces: tuple[key_ranges.Piece, ...] | None, separator: Separator, env: Env, *, whole: bool) -> str | None:
    """The expression of a key's text; segments without arguments are constants in it."""
    if pieces is None:
        return None
    texts = ["''"]
    for at, piece in enumerate(pieces):
        between, segment = separator.character * bool(at), piece.segment
        if isinstance(piece.value, FanOut) or piece.value is ALL_SHARDS:
            return None
        if isinstance(piece.value, Argument) and segment.form is not None:
            if isinstance(segment.form, ShardPart) and not whole:
                return None
            text = f"{between + segment.constant!r} + {bind(segment.form.write, env)}(a[{piece.value.at}])"
            texts.append(f"('' if a[{piece.value.at}] is None else {text})" if segment.optional else text)
        elif not piece.is_absent:
            text = key_ranges.segment_text(segment, piece.value, whole=whole or piece.whole)
            texts.append(repr(between + text))
    return " + ".join(texts)


def _compile(made: list[tuple[str, str | None]], env: Env) -> KeyWriter | None:
    if any(text is None for _, text in made):
        return None
    members = ", ".join(f"{name!r}: {{'S': {text}}}" for name, text in made)
    writer: KeyWriter = eval(f"lambda a: {{{members}}}", env)  # noqa: S307 - the source comes from the design alone
    return writer

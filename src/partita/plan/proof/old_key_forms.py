"""The proof of old keys: an item under one is never taken for another item of its entity.

parts     today's key holds every part of an old key as a whole
digits    the same digits are the same number in both
texts     a text that only the key holds is the same in both: `a$Sb` is the plain form of that text, and how `a#b` is
          written today. Where the text is an attribute as well, the attribute says which of them it is
forms     other code may have written each text composed or decomposed, so an old key has a bounded number of texts
"""

from partita.design.key_languages import ANY_TEXT, literal, sequence
from partita.design.key_parts import (
    DescendingPart,
    EnumPart,
    KeyPart,
    LiteralPart,
    NumberPart,
    TextPart,
    VerbatimPart,
    descends,
)
from partita.design.key_templates import Segment, joined_language
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.errors import DesignError
from partita.plan.normal_forms import MOST_TEXTS, texts_as_written
from partita.plan.stored_keys import attribute_domain, templates_text, text_domain


def check_old_keys(model: Model) -> None:
    """A DesignError where two items of an entity, one under an old key, could have the same key."""
    _check_parts(model)
    _check_digits(model)
    for old in model.old_keys:
        _check_texts(model, old)
        _check_forms(model, old)


def _check_forms(model: Model, old: EntityKeys) -> None:
    texts = texts_as_written(old)
    if len(texts) > MOST_TEXTS:
        raise DesignError(
            model.name,
            f"an old key ({templates_text(old)}) has {len(texts)} texts; each may have been written composed or "
            f"decomposed, so an item would be looked for under {2 ** len(texts)} keys",
            f"declare at most {MOST_TEXTS} texts, and move the items by a program that reads them all",
        )


def _check_parts(model: Model) -> None:
    """Today's key tells every part of an old key: else two items under old keys would have one key of today."""
    whole = {field for each in model.key.attributes for field in each.whole_fields}
    for old in model.old_keys:
        for attribute in old.attributes:
            missing = next((field for field in attribute.fields if field not in whole), None)
            if missing is not None:
                raise DesignError(
                    f"{model.name}.{missing}",
                    f"an old key holds it ({_source(attribute)}), and the key does not hold it as a whole: "
                    "two items under old keys would have one key",
                    f"write {{{missing}}} in the key, or remove the old key",
                )


def _source(attribute: KeyAttribute) -> str:
    return attribute.name if attribute.template is None else attribute.template.source


def _check_digits(model: Model) -> None:
    """The same digits are the same number in today's key and in an old one, or one item would take another's key."""
    for old in model.old_keys:
        for mine, theirs in zip(model.key.attributes, old.attributes, strict=True):
            if mine.template is None or theirs.template is None:
                continue
            for today, then in zip(mine.template.segments, theirs.template.segments, strict=False):
                if (today.constant, today.field) != (then.constant, then.field):
                    break
                text = _exchanged(today.form, then.form)
                if text is not None:
                    raise DesignError(
                        f"{model.name}.{today.field}",
                        f"{text!r} is one number in the key ({mine.template.source}) and another in an old key "
                        f"({theirs.template.source}): two items would have the same key",
                        "give one of them another constant, or write a sign ({n:+4,desc})",
                    )


def _exchanged(today: KeyPart | None, then: KeyPart | None) -> str | None:
    """The text of a number that is another number in the other form: one form descends, and there is no sign."""
    if today is None or then is None or descends(today) == descends(then):
        return None
    falling, rising = (today, then) if descends(today) else (then, today)
    inner = falling.inner if isinstance(falling, DescendingPart) else falling
    if not isinstance(inner, NumberPart) or inner.signed:
        return None
    text = falling.write(inner.kind(inner.low or 0))
    return text if rising.matches(text) or rising.could_be_foreign(text) else None


def _check_texts(model: Model, old: EntityKeys) -> None:
    verbatim = {
        each.field
        for attribute in old.attributes
        for each in (attribute.template.parts if attribute.template else ())
        if isinstance(each.form, VerbatimPart)
    }
    for at, attribute in enumerate(model.key.attributes):
        for segment in attribute.template.parts if attribute.template else ():
            hidden = segment.field in verbatim and model.attributes[segment.field or ""].in_key
            if hidden and isinstance(segment.form, TextPart | EnumPart | LiteralPart):
                example = _example(model, old, at, segment)
                if example is not None:
                    raise _ambiguous(model, segment, example, attribute, old.attributes[at])


def _ambiguous(model: Model, segment: Segment, text: str, today: KeyAttribute, then: KeyAttribute) -> DesignError:
    return DesignError(
        f"{model.name}.{segment.field}",
        f"{text!r} has one text in the key ({_source(today)}) and another in an old key ({_source(then)}), and no "
        "attribute says which of them an item has: two items would have the same key",
        f"remove InKey from {segment.field!r}, or give one of the keys another constant",
    )


def _example(model: Model, old: EntityKeys, at: int, segment: Segment) -> str | None:
    """A key of both, whose text is escaped in that of today."""
    found: str | None = None
    for number, (mine, theirs) in enumerate(zip(model.key.attributes, old.attributes, strict=True)):
        domain = attribute_domain(model, mine)
        if number == at and mine.template is not None:
            escape = literal(mine.separator.escape)
            escaped = sequence(literal(segment.constant), ANY_TEXT, escape, ANY_TEXT)
            others = [escaped if each is segment else each.language for each in mine.template.segments]
            some = joined_language(others, mine.separator, mine.template.segments[-1].optional)
            domain = text_domain(*domain.languages, some)
        example = domain.meet(attribute_domain(model, theirs))
        if example is None:
            return None
        found = example if number == at else found
    return found

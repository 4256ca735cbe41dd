"""Several consumers that are declared as one object."""

from collections.abc import Iterable

from partita.consumers.consumer import Consumer


class ConsumerGroup:
    """A declaration with several consumers; whatever runs consumers runs them all."""

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        raise NotImplementedError


def consumers_among(values: Iterable[object]) -> list[Consumer]:
    """The consumers among values, with those of groups, each once."""
    found: dict[int, Consumer] = {}
    for each in values:
        if isinstance(each, ConsumerGroup):
            found |= {id(consumer): consumer for consumer in each.consumers}
        elif isinstance(each, Consumer):
            found[id(each)] = each
    return list(found.values())

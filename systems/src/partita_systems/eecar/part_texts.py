"""Parts, needs and queries as texts that are embedded, and their vectors as objects."""

from array import array
from collections.abc import Iterable, Sequence

from partita_systems.eecar import design as d
from partita_systems.eecar.measures import UNITS

MAX_TEXT = 4000  # characters; services limit theirs


def part_text(part: d.Part, spec: d.Spec | None = None, usages: Iterable[d.Usage] = ()) -> str:
    """The name and the category, which are the title, then attributes, measures, usages and the description."""
    attributes = [part.manufacturer, part.model, part.condition.value]
    lines = [f"{part.name} {part.category.value}", " ".join(attributes), " ".join(_spec_words(spec))]
    lines += [f"{each.industry} {each.application} {each.description}" for each in usages]
    return "\n".join(filter(str.strip, [*lines, part.description]))[:MAX_TEXT]


def need_text(need: d.Need) -> str:
    """The application, which is the title, then the industry and the process."""
    preferred = " ".join(need.required_specs.material_preferences)
    lines = [need.target_application, f"{need.industry} {preferred}", need.production_process]
    return "\n".join(filter(str.strip, lines))[:MAX_TEXT]


def _spec_words(spec: d.Spec | None) -> list[str]:
    if spec is None:
        return []
    words = []
    if spec.electrical_props is not None:
        measures = {name: getattr(spec.electrical_props, name) for name in ("voltage", "capacity", "power")}
        words += [f"{value:g} {next(iter(UNITS[name]))}" for name, value in measures.items() if value is not None]
    if spec.material_composition is not None:
        words += [spec.material_composition.primary, *spec.material_composition.secondary]
    return words


def vector_bytes(vector: Sequence[float]) -> bytes:
    """A vector as an object: 32-bit floats, little-endian."""
    numbers = array("f", vector)
    if numbers.itemsize != 4:
        raise AssertionError("a float of C has 32 bits")
    return numbers.tobytes()

"""A strict reader of Prometheus' text format 0.0.4, by the grammar of its documentation ("Exposition formats")."""

import re
from typing import NamedTuple

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'(?P<label>[a-zA-Z_][a-zA-Z0-9_]*)="(?P<value>(?:[^"\\\n]|\\["\\n])*)"'
_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN"
_SAMPLE = re.compile(rf"(?P<name>{_NAME})(?:\{{(?P<labels>.*)\}})? (?P<value>{_NUMBER})")

Labels = tuple[tuple[str, str], ...]


class Family(NamedTuple):
    """A metric as it was read."""

    kind: str
    help_text: str
    samples: dict[Labels, float]


def parsed(text: str) -> dict[str, Family]:
    """The metrics of a text; an assertion fails where it breaks the format or its naming conventions."""
    assert text == "" or text.endswith("\n")
    families: dict[str, Family] = {}
    help_texts: dict[str, str] = {}
    current = ""
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            assert name not in help_texts, f"a second HELP: {line}"
            help_texts[name] = help_text
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert re.fullmatch(_NAME, name), line
            assert name not in families, f"the samples of {name} are not together"
            assert kind in ("counter", "gauge")
            assert name.endswith("_total") == (kind == "counter"), f"{name} is a {kind}"
            families[name] = Family(kind, help_texts[name], {})
            current = name
        else:
            name, labels, value = _sample(line)
            assert name == current, f"{name} is not below its TYPE"
            assert labels not in families[name].samples, f"twice: {line}"
            families[name].samples[labels] = value
    return families


def _sample(line: str) -> tuple[str, Labels, float]:
    match = _SAMPLE.fullmatch(line)
    assert match is not None, line
    rest, labels = match["labels"] or "", []
    while rest:
        label = re.match(_LABEL, rest)
        assert label is not None, line
        labels.append(
            (label["label"], re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), label["value"]))
        )
        rest = rest[label.end() :]
        assert not rest or rest.startswith(","), line
        rest = rest.removeprefix(",")
    return match["name"], tuple(sorted(labels)), float(match["value"])


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def value_of(families: dict[str, Family], name: str, **labels: str) -> float:
    return families[name].samples[tuple(sorted(labels.items()))]

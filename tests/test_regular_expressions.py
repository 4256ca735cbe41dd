"""Every regular expression of the sources takes time in proportion to its input, whatever the input.

Python's engine backtracks: `(a|ab*)*c` takes exponential time, `[0-9]+[0-9]*x` quadratic time, over an input that
almost matches. The expressions are found in the sources, so that a new one is tested too. The inputs repeat short
combinations of the characters that an expression mentions, between a prefix and a suffix.
"""

import ast
import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from partita.design.key_templates import PartType, plain_pattern, template
from partita.design.separators import Separator
from tests.timing import shortest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / "src", ROOT / "systems" / "src"]
CALLS = {"compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer"}
SEARCHES = {"search", "sub", "split", "findall", "finditer"}
NOT_INPUT = {
    "each.regions": "patterns of botocore's own data, over a configured region",
    "self.pattern": "the patterns of constraints, which are found where they are declared",
    "kind.pattern": "of the design, over the empty text",
    'schema.get("pattern", "")': "of the design, over an example that we generate",
    "sentence": "the sentences of validation.py, tested below",
    "f'{re.escape(separator.character)}(?![^{{}}]*}})'": "over a template of the design",
    "re.escape(self.escape) + '(.)'": "of each separator, tested below",
    "f'{self.plain_class}+'": "of each separator, tested below",
    "'\\x00'.join(pieces)": "of keys, tested below",
}
LENGTHS = (16, 20, 25, 31, 39, 49, 61, 76, 95, 3000)  # slowly, since an exponential one would take for ever
MAX_SECONDS = 0.01  # a quadratic one takes 4.5 million steps at the last length, about 50 ms; a linear one 1 ms


class Expression(NamedTuple):
    where: str
    pattern: str
    flags: int
    method: str  # match, fullmatch or search


def expressions() -> Iterator[Expression]:
    for folder in SOURCES:
        for path in sorted(folder.rglob("*.py")):
            source = path.read_text()
            if "re." in source or "pattern=" in source:
                yield from expressions_of(path, path.relative_to(folder), ast.parse(source))


def expressions_of(path: Path, relative: Path, tree: ast.Module) -> Iterator[Expression]:
    module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
    methods = _methods(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        where = f"{relative}:{node.lineno}"
        if _is_re_call(node):
            assert isinstance(node.func, ast.Attribute)
            name = node.func.attr
            pattern = _evaluated(node.args[0], module, where)
            flags = _evaluated(node.args[1], module, where) if name == "compile" and len(node.args) > 1 else 0
            method = methods.get(node.lineno, "match") if name == "compile" else name
            if pattern is not None:
                yield Expression(where, pattern, int(flags), "search" if method in SEARCHES else method)
        for keyword in node.keywords:
            if keyword.arg == "pattern":
                pattern = _evaluated(keyword.value, module, where)
                if pattern is not None:
                    yield Expression(where, pattern, 0, "search")  # msgspec searches


def _is_re_call(node: ast.Call) -> bool:
    func = node.func
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "re"
        and func.attr in CALLS
    )


def _methods(tree: ast.Module) -> dict[int, str]:
    """How the expression compiled in a line is used: `re.compile(...).match`, or by the name it is assigned to."""
    found: dict[int, str] = {}
    names: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call) and _is_re_call(node.value):
            found[node.value.lineno] = node.attr
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_re_call(node.value):
            names |= {target.id: node.value.lineno for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            line = names[node.value.id]
            found[line] = node.attr if found.get(line) not in SEARCHES else found[line]
    return found


def _evaluated(node: ast.expr, module: str, where: str) -> Any:
    text = ast.unparse(node)
    if text in NOT_INPUT or text.replace("'", '"') in NOT_INPUT:
        return None
    if isinstance(node, ast.Constant):
        return _as_text(node.value)
    namespace = vars(importlib.import_module(module))
    try:
        value = eval(compile(ast.Expression(node), where, "eval"), dict(namespace))  # noqa: S307 - our own source
    except NameError as error:
        raise AssertionError(f"{where}: {text} cannot be tested; name the expression in the module") from error
    return _as_text(value)


def _as_text(pattern: Any) -> Any:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


def _alphabet(pattern: str) -> list[str]:
    """A few characters that the expression mentions, and some that it does not."""
    plain = re.sub(r"\(\?P<\w+>|\{[0-9,]+\}|\(\?[a-z:=!<]+", "", pattern)
    mentioned = [each for each in dict.fromkeys(plain) if each not in "()[]{}?*+|^\\"]
    if len(mentioned) > 7:
        mentioned = mentioned[:: -(-len(mentioned) // 7)]
    classes = {r"\d": "1", r"\w": "a", r"\s": " ", "0-9": "1", "a-z": "a", "A-Z": "B", "'": "'", '"': '"', "*": "*"}
    named = [character for name, character in classes.items() if name in pattern]
    return list(dict.fromkeys([*named, *mentioned, "a", "-"]))[:10]


def hostile_inputs(expression: Expression, length: int) -> Iterator[str]:
    characters = _alphabet(expression.pattern)
    words = re.findall(r"[A-Za-z`$]{2,}", expression.pattern)[:3]
    pieces = ["".join(pair) for pair in itertools.product(characters, repeat=2)] + characters + words
    prefixes = ["", *characters[:4], *words]
    for piece, prefix, suffix in itertools.product(pieces, prefixes, ("", "\x01", "\n!")):
        yield prefix + piece * (length // len(piece)) + suffix


def runner(expression: Expression) -> Callable[[str], Any]:
    compiled = re.compile(expression.pattern, expression.flags)
    if expression.method == "search":
        return lambda text: list(compiled.finditer(text))
    return compiled.fullmatch if expression.method == "fullmatch" else compiled.match


def slowest(expression: Expression) -> tuple[float, str]:
    """The time of the slowest input, and the beginning of that input."""
    run = runner(expression)
    worst, shown = 0.0, ""
    for length in LENGTHS:
        for text in hostile_inputs(expression, length):
            took = shortest(partial(run, text), MAX_SECONDS)
            if took > worst:
                worst, shown = took, f"{text[:24]!r}... of {len(text)} characters"
            if worst > MAX_SECONDS:
                return worst, shown
    return worst, shown


def _sentences() -> list[Expression]:
    from partita.validation import _SENTENCES

    return [Expression(f"validation.py: {each[:30]}", each, re.DOTALL, "fullmatch") for each in _SENTENCES]


def _of_separators() -> Iterator[Expression]:
    for character in "#|.~":
        separator = Separator(character)
        plain: Any = separator.is_plain
        yield Expression(f"escape of {character}", separator._escaped.pattern, re.DOTALL, "search")
        yield Expression(f"plain text beside {character}", plain.__self__.pattern, 0, "fullmatch")


def _of_keys() -> Iterator[Expression]:
    types = {name: PartType(str) for name in "abc"}
    for sources in (["U#{a}", "{b}#{c}"], ["{a}#{b}", "{a}#v{c}#{b}"], ["{a}#{b}#{c}#{a}#{b}#{c}"], ["x{a}#x{a}"]):
        pattern = plain_pattern([template("Thing", each, types, sorts=True) for each in sources])
        assert pattern is not None
        yield Expression(f"keys {' '.join(sources)}", pattern.pattern, 0, "fullmatch")


ALL = [*expressions(), *_sentences(), *_of_separators(), *_of_keys()]


@pytest.mark.slow
@pytest.mark.parametrize("expression", ALL, ids=[each.where for each in ALL])
def test_time_grows_with_the_length_of_the_input(expression: Expression) -> None:
    took, shown = slowest(expression)
    assert took <= MAX_SECONDS, f"{expression.pattern} takes {took:.3f} s for {shown}"


def test_expressions_of_every_source_are_found() -> None:
    files = {each.where.partition(":")[0] for each in ALL}
    assert len(ALL) > 50
    assert {"partita/dynamodb/statements/statement_tokens.py", "partita/dynamodb/numbers.py"} <= files


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\s|--[^\n]*|/\*.*?\*/)*SELECT\b",  # exponential over a line of dashes
        r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z",  # quadratic over digits
        r"(\w+\s?)*:",
    ],
)
def test_slow_expression_is_noticed(pattern: str) -> None:
    assert slowest(Expression("", pattern, 0, "match"))[0] > MAX_SECONDS

"""Every argument of a declaration, replaced by values of other types: it is accepted and proven, or a DesignError.

The declarations are the source of `right_declarations`. A mutation replaces one expression of it: an argument of a
call or of a class statement, an annotation, a default, an operand, a decorator or what a body returns. All of them
would take minutes; each run takes some, chosen by a seed.
"""

import ast
import copy
import itertools
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from partita import Consumer, DesignError, Entity, Index, Keys, PartitaError, Table, Was, prove
from partita.design.argument_checks import short_repr
from partita.design.entities import EntityMeta

SOURCE = Path(__file__).with_name("right_declarations.py").read_text()
TREE = ast.parse(SOURCE)
Way = tuple[tuple[str, int | None], ...]


class Plain:
    """A class that no declaration expects."""


class Unreadable:
    """A value whose text cannot be made."""

    def __repr__(self) -> str:
        raise ValueError("no text")


WRONG: dict[str, Any] = {
    "none": None,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "infinite": float("inf"),
    "not_a_number": float("nan"),
    "true": True,
    "empty": "",
    "text": "text",
    "long": "x" * 300,
    "surrogate": "\ud800",
    "bytes": b"x",
    "an_object": object(),
    "a_class": Plain,
    "an_instance": Plain(),
    "a_lambda": lambda: None,
    "an_empty_list": [],
    "a_list": [1],
    "a_nested_list": [[["a"]]],
    "an_empty_dict": {},
    "a_dict": {1: 2},
    "a_set": {1},
    "an_empty_tuple": (),
    "names": ("a", "b"),
}
ARGUMENTS = {ast.Call: "args", ast.Tuple: "elts", ast.List: "elts", ast.Compare: "comparators", ast.Subscript: "slice"}
EVERY_EXPRESSION = (ast.keyword, ast.Dict, ast.arg, ast.BinOp, ast.Return)


def places(node: ast.AST, path: Way = ()) -> Iterator[Way]:
    """The way to every expression that is replaced."""
    for name, value in ast.iter_fields(node):
        several = isinstance(value, list)
        for at, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST) or (isinstance(child, ast.ClassDef) and child.name == "State"):
                continue
            way = (*path, (name, at if several else None))
            if isinstance(child, ast.expr) and is_replaced(node, name):
                yield way
            yield from places(child, way)


def is_replaced(parent: ast.AST, name: str) -> bool:
    if isinstance(parent, EVERY_EXPRESSION) or ARGUMENTS.get(type(parent)) == name:
        return True
    declared = isinstance(parent, ast.AnnAssign) and name in ("value", "annotation")
    return declared or (isinstance(parent, ast.FunctionDef) and name in ("returns", "decorator_list"))


def at(tree: Any, way: Way) -> Any:
    for name, number in way:
        tree = getattr(tree, name)
        if number is not None:
            tree = tree[number]
    return tree


def declare(way: Way, wrong: str) -> None:
    """Runs the declarations with one expression replaced."""
    tree = copy.deepcopy(TREE)
    name, number = way[-1]
    parent, new = at(tree, way[:-1]), ast.copy_location(ast.Name(f"wrong_{wrong}", ast.Load()), at(tree, way))
    if number is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[number] = new
    module = types.ModuleType("declared_wrongly")
    module.__dict__.update({f"wrong_{each}": value for each, value in WRONG.items()})
    sys.modules[module.__name__] = module
    try:
        exec(compile(ast.fix_missing_locations(tree), "declared_wrongly", "exec"), module.__dict__)  # noqa: S102
    finally:
        del sys.modules[module.__name__]


def is_of_python(error: Exception) -> bool:
    """Whether a declaration never reached the library: `None | Desk` is an error of Python."""
    frame = error.__traceback__
    files = []
    while frame is not None:
        files.append(frame.tb_frame.f_code.co_filename)
        frame = frame.tb_next
    return not any("/partita/" in each for each in files)


PLACES = list(places(TREE))


@pytest.mark.parametrize("seed", range(12))
def test_wrong_argument_is_accepted_or_named(seed: int) -> None:
    every = list(itertools.product(PLACES, WRONG))
    for way, wrong in Random(seed).sample(every, 30):
        what = f"{ast.unparse(at(TREE, way[:-1]))}: {ast.unparse(at(TREE, way))} -> {wrong}"
        try:
            declare(way, wrong)
        except DesignError:
            continue
        except PartitaError as error:
            raise AssertionError(what) from error
        except Exception as error:
            if not is_of_python(error):
                raise AssertionError(what) from error


def test_right_declarations_are_proven() -> None:
    import tests.design.right_declarations as right

    assert len(right.design.patterns) == 12


def rejected(**arguments: Any) -> str:
    with pytest.raises(DesignError) as raised:
        EntityMeta("Order", (Entity,), {"__annotations__": {"order": str}, "__module__": __name__}, **arguments)
    return str(raised.value)


def test_unknown_argument_of_a_class_statement_is_named() -> None:
    orders = Table("orders", pk="PK")
    assert rejected(table=orders, key="ORDER#{order}", was="O#{order}") == (
        "Order: it has no argument 'was'; its arguments are table, key, old_keys, naming"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"table": None}, "table=None is not a table"),
        ({"table": "orders"}, "table='orders' is not a table"),
        ({"table": Table}, "is not a table"),
        ({"key": 5}, "key=5 is not a template or a tuple of templates, or None"),
        ({"key": ("ORDER", 5)}, "key=('ORDER', 5) is not a template"),
        ({"key": {"order"}}, "key={'order'} is not a template"),
        ({"key": ""}, "the template is empty"),
        ({"key": ()}, "0 templates for the key PK"),
        ({"old_keys": "O#{order}"}, "old_keys='O#{order}' is not a list of keys"),
        ({"old_keys": None}, "old_keys=None is not a list of keys"),
        ({"old_keys": [5]}, "old_keys=[5] is not a list of keys"),
        ({"naming": 5}, "5 is not a naming"),
        ({"naming": ["camel"]}, "['camel'] is not a naming"),
        ({"naming": lambda: "a"}, "its naming raised TypeError"),
    ],
)
def test_argument_of_a_class_statement_is_checked(arguments: dict[str, Any], said: str) -> None:
    assert said in rejected(**{"table": Table("orders", pk="PK"), "key": "ORDER#{order}", **arguments})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"type_naming": "lower"}, 'type_naming=\'lower\' is not one of its values; use "class", "upper"'),
        ({"stream": "BOTH"}, "stream='BOTH' is not one of its values, or None"),
        ({"stream": True}, "stream=True"),
        ({"recovery_days": 36}, "recovery_days=36 is not a number of days that DynamoDB takes, or None; use 1 to 35"),
        ({"recovery_days": 1.5}, "recovery_days=1.5"),
        ({"separator": ["#"]}, "['#'] cannot separate"),
    ],
)
def test_setting_of_a_table_is_checked(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError) as raised:
        Table("orders", pk="PK", **settings)
    assert said in str(raised.value)


@pytest.mark.parametrize("project", [None, "title", 5, ("title", 5), [object()], {"title"}])
def test_projection_is_checked(project: Any) -> None:
    with pytest.raises(DesignError, match=r'Index GSI1: project=.*; use "ALL", "KEYS_ONLY"'):
        Index("GSI1", "PK", project=project)


def test_value_without_a_text_is_named_by_its_class() -> None:
    assert short_repr(Unreadable()) == "<Unreadable>"
    assert short_repr("x" * 200) == "'" + "x" * 79 + "..."
    with pytest.raises(DesignError, match="Keys: when=<Unreadable> is not a condition, or None; write one with F"):
        Keys("GSI1", when=Unreadable())  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [lambda: 1, lambda one, other: one, 5, "int"])
def test_converter_that_cannot_be_called_with_a_value_is_rejected(function: Any) -> None:
    with pytest.raises(DesignError, match=r"Was: back=.* is not a function of one value, or None"):
        Was("price", to=int, back=function)
    Was("price", to=int, back=str)


def test_name_that_cannot_be_encoded_is_rejected() -> None:
    with pytest.raises(DesignError, match="prove: the name of a design cannot be"):
        prove("shop\ud800", Table("orders", pk="PK"))
    with pytest.raises(DesignError, match="is not a valid name"):
        Consumer("notes\ud800")

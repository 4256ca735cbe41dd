"""Parents and children in one read: the ranges have their items, and nothing else."""

from typing import Any

import pytest

from partita import Entity, Index, Keys, ProofError, Store, Table, collection, connect, prove


def shop(sort: dict[str, str]) -> tuple[Store, dict[str, Any]]:
    """A store of things with these sort keys in the index, and their classes."""
    table = Table("shop", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))
    made: dict[str, Any] = {}
    metaclass: Any = type(Entity)
    for name, template in sort.items():
        body = {
            "__annotations__": {"number": int, "order": str, "line": str},
            "__module__": __name__,
            "by": Keys("GSI1", "ALL", template),
            "line": "x",
        }
        made[name] = metaclass(name, (Entity,), body, table=table, key=(f"{name}#{{number:3}}", name))
    db = connect("memory:", prove("shop", table))
    db.create_tables()
    for cls in made.values():
        for number, order in enumerate(("a", "a b", "a#b", "a!", "ab")):
            db.create(cls(number=number, order=order))
    return db, made


@pytest.mark.parametrize("names", ["PCN", "NCP", "PN", "NP"])
def test_parents_that_write_their_last_part_differently_are_not_read_together(names: str) -> None:
    db, made = shop({"P": "O#{order:escaped}", "C": "O#{order:escaped}#{line}", "N": "O#{order}"})
    read = collection(*(made[each].by for each in names))
    with pytest.raises(ProofError, match=r"write it in different ways.*write \{order:escaped\}"):
        list(db(read("a")))


def test_parents_that_write_their_last_part_alike_are_read_together() -> None:
    for form in ("{order}", "{order:escaped}"):
        db, made = shop({"P": f"O#{form}", "C": "O#{order}#{line}", "N": f"O#{form}"})
        for order in ("a", "a b", "a#b"):
            found = [each.order for each in db(collection(made["P"].by, made["C"].by, made["N"].by)(order))]
            assert found == [order] * 3

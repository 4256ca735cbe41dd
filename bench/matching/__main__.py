"""`python -m bench.matching`: recall@5 of the offline embedder and of plain full text, on all queries.

The queries that an embedder misses are printed by `--misses`, of the tuning half only.
"""

import argparse

from bench.matching import morphemes
from bench.matching.labelled_set import HELD_OUT, LATER, TUNING, labelled_parts, labelled_queries
from bench.matching.recall import Search, by_meaning, by_words, recall, recall_by_group
from bench.matching.terms_in_use import later_glossary
from partita.embeddings import Glossary, OfflineEmbedder

MIN_RECALL, MIN_ADVANTAGE = 0.8, 0.1
WITHOUT_LATER_TERMS = "256 dimensions, without the terms of later queries only"


def searches() -> dict[str, Search]:
    found = {
        "full text": by_words(),
        "offline embedder, 256 dimensions": by_meaning(OfflineEmbedder()),
        "offline embedder, 512 dimensions": by_meaning(OfflineEmbedder(512)),
        WITHOUT_LATER_TERMS: by_meaning(OfflineEmbedder(glossary=later_glossary())),
        "256 dimensions, without the glossary": by_meaning(OfflineEmbedder(glossary=Glossary({}))),
    }
    if morphemes.IS_INSTALLED:
        found |= {
            "full text over morphemes (kiwipiepy)": morphemes.by_morphemes(),
            "256 dimensions, over morphemes": by_meaning(morphemes.MorphemeEmbedder(beside=False)),
            "256 dimensions, over text and morphemes": by_meaning(morphemes.MorphemeEmbedder(beside=True)),
        }
    return found


def table(found: dict[str, Search]) -> str:
    """The recall of each search on both halves and on the later queries, as Markdown."""
    halves = {half: labelled_queries(half) for half in (TUNING, HELD_OUT, LATER)}
    heads = [f"{half} ({len(queries)} queries)" for half, queries in halves.items()]
    lines = [f"| recall@5 | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name, search in found.items():
        values = (f"{recall(search, queries):.3f}" for queries in halves.values())
        lines.append(f"| {name} | {' | '.join(values)} |")
    return "\n".join(lines)


def group_table(found: dict[str, Search]) -> str:
    """The recall on the held-out half by language and trait of the queries, as Markdown."""
    groups = {name: recall_by_group(search, labelled_queries(HELD_OUT)) for name, search in found.items()}
    names = list(next(iter(groups.values())))
    lines = [f"| held-out | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{row[each]:.2f}' for each in names)} |" for name, row in groups.items()]
    return "\n".join(lines)


def print_misses(search: Search) -> None:
    names = {part.id: part.name for part in labelled_parts()}
    for each in labelled_queries(TUNING):
        found = search(each.query)
        if missing := [names[part] for part in each.relevant if part not in found]:
            print(f"{each.query}: not {missing} but {[names[part] for part in found]}")


def main() -> int:
    """Prints the tables; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.matching", description=__doc__)
    parser.add_argument("--misses", action="store_true", help="queries of the tuning half that are not answered")
    options = parser.parse_args()
    found = searches()
    words, meaning = list(found.values())[:2]
    if options.misses:
        print_misses(meaning)
        return 0
    print(f"{table(found)}\n\n{group_table(dict(list(found.items())[:2]))}")
    return (
        0 if all([_is_reached(HELD_OUT, meaning, words), _is_reached(LATER, found[WITHOUT_LATER_TERMS], words)]) else 1
    )


def _is_reached(half: str, meaning: Search, words: Search) -> bool:
    """Prints the recall on a half, and how much more that is than that of full text."""
    measured = recall(meaning, labelled_queries(half))
    advantage = measured - recall(words, labelled_queries(half))
    print(f"\n{half}: {measured:.3f} (target {MIN_RECALL}), {advantage:+.3f} (target {MIN_ADVANTAGE:+})")
    return measured >= MIN_RECALL and advantage >= MIN_ADVANTAGE


if __name__ == "__main__":
    raise SystemExit(main())

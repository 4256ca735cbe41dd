"""Text search: documents a second through the consumer, and the time of a query among 100,000 documents.

A document has a title of 5 words, 3 tags and a text of 12 words, of a vocabulary of 20,000 words in three languages
whose frequencies fall as in natural texts. Each measurement runs in a process of its own. The load of the machine at
the beginning and the end is stated, and the seconds of processor time beside those of the clock.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from itertools import accumulate

from bench.engines import scratch
from bench.report import Section, Target, alone, table
from partita import Entity, Store, Table, TextFields, TextIndex, connect, prove
from partita.consumers.batch_runner import runner_of
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables

RATE = 10_000  # documents a second
MILLISECONDS = 5.0  # of a query, at the median
DOCUMENTS = 100_000
MEMORY, FILE = "in memory", "on a file, power-safe"
VOCABULARY = 20_000
SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo ção ar en is os ing ed".split()

workshop = Table("workshop", "PK", "SK", stream="NEW_AND_OLD_IMAGES")


class Card(Entity, table=workshop, key=("CARD#{card_id}", "CARD")):
    card_id: str
    title: str
    tags: list[str]
    text: str
    level: int


search = TextIndex(
    "search", TextFields(Card, {"title": 3, "tags": 2, "text": 1}, filters=("level",)), language=("pt", "en")
)


class Words:
    """Words whose frequency is that of their rank, as Zipf found it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = [self._word() for _ in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))

    def some(self, count: int) -> list[str]:
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def card(self, number: int) -> Card:
        title, tags, text = self.some(5), self.some(3), self.some(12)
        return Card(
            card_id=f"{number:08}",
            title=" ".join(title),
            tags=tags,
            text=" ".join(text),
            level=self._random.randint(1, 5),
        )

    def _word(self) -> str:
        if self._random.random() < 0.2:
            return "".join(chr(0xAC00 + self._random.randrange(2000)) for _ in range(self._random.randint(2, 4)))
        return "".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4)))


def measured(place: str, documents: int) -> dict[str, float]:
    """The rates of changes and of a scan, and the times of searches."""
    words = Words(7)
    with (
        scratch() as folder,
        connect("memory:" if place == MEMORY else str(folder / "cards.db"), prove("workshop", workshop)) as db,
    ):
        db.create_tables()
        create_state_tables(db)
        runner = runner_of(db, search)
        runner.take_over()
        _drain(runner)
        found: dict[str, list[float]] = {"changes": [], "processor": []}
        step = documents // 5
        for begin in range(0, documents, step):
            db.put_many([words.card(number) for number in range(begin, begin + step)])
            begun, cpu = time.perf_counter(), time.process_time()
            _drain(runner)
            found["changes"].append(step / (time.perf_counter() - begun))
            found["processor"].append(step / (time.process_time() - cpu))
        if search.status(db).documents != documents:
            raise RuntimeError("the index does not have all documents")
        queries = _query_times(db, words)
        return {name: statistics.median(values) for name, values in found.items()} | queries


def _drain(runner: ConsumerRunner) -> None:
    while runner.step():
        pass


def _query_times(db: Store, words: Words) -> dict[str, float]:
    """Milliseconds of queries, with the entities and highlights; the two words are of one title."""
    pairs = [f"{card.title.split()[0]} {card.title.split()[3]}" for card in (words.card(0) for _ in range(300))]
    queries = {"two words": pairs, "one common word": [words._words[0]] * 20, "a prefix": ["ing*", "sas*", "fob*"] * 7}
    found = {}
    for name, texts in queries.items():
        times, processor = [], []
        for text in texts:
            begun, cpu = time.perf_counter(), time.process_time()
            search.find(db, text)
            times.append((time.perf_counter() - begun) * 1000)
            processor.append((time.process_time() - cpu) * 1000)
        found[name] = statistics.median(times)
        found[f"{name}, most"] = max(times)
        found[f"{name}, processor"] = statistics.median(processor)
    return found


def measure(quick: bool) -> Section:
    """Everything, one process after the other."""
    documents = DOCUMENTS // 5 if quick else DOCUMENTS
    before = os.getloadavg()[0]
    found = {place: _in_process(place, documents) for place in (MEMORY, FILE)}
    load = f"The load of the machine was {before:.1f} before and {os.getloadavg()[0]:.1f} after."
    rates = [[place, f"{each['changes']:,.0f}", f"{each['processor']:,.0f}"] for place, each in found.items()]
    names = ("two words", "one common word", "a prefix")
    kinds = ("", ", processor", ", most")
    times = [
        [name, place, *(f"{each[f'{name}{kind}']:.2f}" for kind in kinds)]
        for name in names
        for place, each in found.items()
    ]
    text = "\n\n".join(
        [
            f"Documents of 20 words, through the consumer, {documents:,} of them. {load}",
            table(["documents a second", "by the clock", "by processor time"], rates),
            table(["a query, ms", "where", "median", "processor time", "most"], times),
        ]
    )
    targets = [
        Target(f"documents through the consumer, {place}", found[place]["changes"], RATE, "a second") for place in found
    ]
    targets += [
        Target(
            f"a query of two words among {documents:,}, {place}",
            found[place]["two words"],
            MILLISECONDS,
            "ms",
            below=True,
        )
        for place in found
    ]
    return Section("Text search", text, targets)


def _in_process(place: str, documents: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.words", place, str(documents)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{place} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
    else:
        alone(measure)

"""Demo data: a Brazilian blog with users, categories, posts, comments, likes and bookmarks.

All of it follows from the seed, times and ids included, so that an interrupted run can be repeated.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

from partita import AlreadyExists, NotFound, SeedStep, Store
from partita_systems.blog.service import Blog
from partita_systems.seed_steps import seeded_random, store_at
from partita_systems.service_base import ids_from

OPENED = datetime(2025, 3, 1, 11, tzinfo=UTC)
CATEGORIES = {
    "Música": ["Samba", "Choro", "Forró", "Bossa nova"],
    "Cozinha": ["Doces", "Pães", "Pratos de domingo"],
    "Viagem": ["Litoral", "Sertão", "Cidades históricas"],
    "Tecnologia": ["Bancos de dados", "Programação"],
}
FIRST = "Ana Beatriz Caio Débora Estêvão Flávia Gonçalo Heloísa Inácio João Lúcia Márcio Núbia Otávio".split()
LAST = "Araújo Brandão Conceição Falcão Gonçalves Lourenço Magalhães Nóbrega Simões Tavares".split()
OPENINGS = [
    "O que aprendi sobre",
    "Três dias de",
    "Um guia sincero de",
    "Por que volto sempre a",
    "Pequena história de",
]
SUBJECTS = ["paciência", "pão de queijo", "roda de choro", "praias vazias", "índices e partições", "café da manhã"]
SENTENCES = [
    "Comecei sem saber direito aonde ia chegar, e foi melhor assim.",
    "Minha avó dizia que pressa não combina com coisa boa; levei anos para concordar.",
    "Anotei tudo num caderno que já perdeu a capa ☕.",
    "Não há segredo: há repetição, atenção e um pouco de teimosia.",
    "Quem já tentou sabe que a primeira vez quase nunca dá certo.",
    "No fim da tarde a luz muda, e com ela a vontade de ir embora.",
    "Se você só puder guardar uma coisa deste texto, guarde esta.",
    "Voltei para casa com mais perguntas do que levei.",
]
COMMENTS = [
    "Que texto bonito! 👏",
    "Discordo de quase tudo, mas li até o fim.",
    "Aqui em casa fazemos de outro jeito, e também dá certo.",
    "Isso me lembrou a infância no interior.",
    "Você pode contar mais sobre a última parte?",
    "Salvei para ler outra vez no domingo.",
]
REPLIES = ["Obrigada pela leitura!", "Boa pergunta; respondo no próximo texto.", "Concordo 😄", "É bem por aí."]
TAGS = ["crônica", "receita", "memória", "dicas", "fim de semana", "aprendizado"]


def total(scale: float) -> int:
    """The number of steps."""
    people, posts = _sizes(scale)
    return len(CATEGORIES) + people + posts


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1: 14 users and 20 posts, with comments, likes and bookmarks."""
    people, posts = _sizes(scale)
    yield from (partial(_Seed(random_seed, people).categories, root) for root in CATEGORIES)
    yield from (partial(_Seed(random_seed, people).person, number) for number in range(people))
    yield from (partial(_Seed(random_seed, people).post, number) for number in range(posts))


def _sizes(scale: float) -> tuple[int, int]:
    return max(6, round(14 * scale)), max(1, round(20 * scale))


class _Seed:
    """Every event has a name, which its random choices depend on. A repeated event leaves existing items alone."""

    def __init__(self, seed: int, people: int) -> None:
        self.seed = seed
        self.people = people

    def random(self, event: str) -> Random:
        return seeded_random(self.seed, event)

    def at(self, db: Store, moment: datetime, event: str) -> Blog:
        """The blog at a moment; the first id that it makes is `self.id` of the same event."""
        return Blog(store_at(db, moment), ids_from(self.random(event).getrandbits))

    def id(self, kind: str, moment: datetime, event: str) -> str:
        return ids_from(self.random(event).getrandbits)(kind, moment)

    def user(self, number: int) -> str:
        return f"{self.seed}-{number:05}"

    def categories(self, root: str, db: Store) -> None:
        with suppress(AlreadyExists):
            self.at(db, OPENED, root).categories.add(root)
        for name in CATEGORIES[root]:
            with suppress(AlreadyExists):
                self.at(db, OPENED, name).categories.add(name, self.id("k", OPENED, root))

    def person(self, number: int, db: Store) -> None:
        random = self.random(f"person {number}")
        name = f"{random.choice(FIRST)} {random.choice(LAST)}"
        groups = {0: ["ADMIN"], 1: ["EDITOR"]}.get(number, ["AUTHOR"] if self.writes(number) else [])
        registered = OPENED + timedelta(minutes=random.randrange(60 * 24))
        with suppress(AlreadyExists):
            self.at(db, registered, name).register(self.user(number), name, groups=groups, bio=random.choice(SENTENCES))

    def writes(self, number: int) -> bool:
        return number % 4 == 2

    def post(self, number: int, db: Store) -> None:
        event = f"post {number}"
        random = self.random(f"{event}, what it says")
        moment = OPENED + timedelta(days=1, hours=5 * number, minutes=random.randrange(60))
        subcategory = random.choice([name for names in CATEGORIES.values() for name in names])
        blog = self.at(db, moment, event)
        with suppress(AlreadyExists):
            blog.write(
                self.user(random.choice([each for each in range(self.people) if self.writes(each)])),
                f"{random.choice(OPENINGS)} {random.choice(SUBJECTS)}",
                "\n\n".join(" ".join(random.sample(SENTENCES, 4)) for _ in range(random.randrange(2, 6))),
                subcategory_id=self.id("k", OPENED, subcategory),
                summary=random.choice(SENTENCES),
                tags=random.sample(TAGS, 2),
            )
        post_id = self.id("p", moment, event)
        if number % 6 == 5:
            return  # stays a draft
        blog.publish(post_id)
        self.readers(db, post_id, moment, event, random)

    def readers(self, db: Store, post_id: str, moment: datetime, event: str, random: Random) -> None:
        """Likes, bookmarks and discussions of a post."""
        for user in random.sample(range(self.people), random.randrange(min(self.people, 9))):
            moment += timedelta(minutes=random.randrange(1, 90))
            self.at(db, moment, event).like(self.user(user), post_id)
            if random.random() < 0.4:
                self.at(db, moment, event).bookmark(self.user(user), post_id)
        for number in range(random.randrange(5)):
            moment += timedelta(minutes=random.randrange(1, 90))
            self.discussion(db, post_id, moment, f"{event}, comment {number}")

    def discussion(self, db: Store, post_id: str, moment: datetime, event: str) -> None:
        random = self.random(f"{event}, what is said")
        author, answering = (self.user(each) for each in random.sample(range(self.people), 2))
        with suppress(AlreadyExists):
            self.at(db, moment, event).comments.add(post_id, author, random.choice(COMMENTS))
        comment_id = self.id("c", moment, event)
        for number in range(random.randrange(3)):
            later = moment + timedelta(minutes=20 * (number + 1))
            answer = f"{event}, reply {number}"
            text = random.choice(REPLIES)
            with suppress(AlreadyExists, NotFound):
                self.at(db, later, answer).comments.reply(comment_id, answering, text)
        if random.random() < 0.1:
            with suppress(NotFound):
                self.at(db, moment + timedelta(days=1), event).comments.delete(comment_id)

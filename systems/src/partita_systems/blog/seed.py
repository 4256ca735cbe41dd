"""Demo data: a Brazilian blog with its people, its categories, and what is said under its posts.

Everything follows from the seed: what happens, when, and under which id. So what was interrupted can be done again.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

from partita import AlreadyExists, NotFound, SeedStep, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from partita_systems.seeding import seeded_random, store_at
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
    """How many pieces `pieces` gives."""
    people, posts = _sizes(scale)
    return len(CATEGORIES) + people + posts


def steps(scale: float, random_seed: int) -> Iterator[SeedStep]:
    """At scale 1 fourteen people and twenty posts, with what readers left on them."""
    people, posts = _sizes(scale)
    yield from (partial(_Planting(random_seed, people).categories, root) for root in CATEGORIES)
    yield from (partial(_Planting(random_seed, people).person, number) for number in range(people))
    yield from (partial(_Planting(random_seed, people).post, number) for number in range(posts))


def _sizes(scale: float) -> tuple[int, int]:
    return max(6, round(14 * scale)), max(1, round(20 * scale))


class _Planting:
    """Every event has a name, from which its chance follows; done again, it meets what it has made and lets it be."""

    def __init__(self, seed: int, people: int) -> None:
        self.seed = seed
        self.people = people

    def chance(self, event: str) -> Random:
        return seeded_random(self.seed, event)

    def at(self, db: Store, moment: datetime, event: str) -> Blog:
        """The blog at that moment; the first id that it gives is `self.id` of the same event."""
        return Blog(store_at(db, moment), ids_from(self.chance(event).getrandbits))

    def id(self, kind: str, moment: datetime, event: str) -> str:
        return ids_from(self.chance(event).getrandbits)(kind, moment)

    def user(self, number: int) -> str:
        return f"{self.seed}-{number:05}"

    def categories(self, root: str, db: Store) -> None:
        with suppress(AlreadyExists):
            self.at(db, OPENED, root).categories.add(root)
        for name in CATEGORIES[root]:
            with suppress(AlreadyExists):
                self.at(db, OPENED, name).categories.add(name, self.id("k", OPENED, root))

    def person(self, number: int, db: Store) -> None:
        chance = self.chance(f"person {number}")
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        groups = {0: ["ADMIN"], 1: ["EDITOR"]}.get(number, ["AUTHOR"] if self.writes(number) else [])
        registered = OPENED + timedelta(minutes=chance.randrange(60 * 24))
        with suppress(AlreadyExists):
            self.at(db, registered, name).register(self.user(number), name, groups=groups, bio=chance.choice(SENTENCES))

    def writes(self, number: int) -> bool:
        return number % 4 == 2

    def post(self, number: int, db: Store) -> None:
        event = f"post {number}"
        chance = self.chance(f"{event}, what it says")
        moment = OPENED + timedelta(days=1, hours=5 * number, minutes=chance.randrange(60))
        subcategory = chance.choice([name for names in CATEGORIES.values() for name in names])
        blog = self.at(db, moment, event)
        with suppress(AlreadyExists):
            blog.write(
                self.user(chance.choice([each for each in range(self.people) if self.writes(each)])),
                f"{chance.choice(OPENINGS)} {chance.choice(SUBJECTS)}",
                "\n\n".join(" ".join(chance.sample(SENTENCES, 4)) for _ in range(chance.randrange(2, 6))),
                subcategory_id=self.id("k", OPENED, subcategory),
                summary=chance.choice(SENTENCES),
                tags=chance.sample(TAGS, 2),
            )
        post_id = self.id("p", moment, event)
        if number % 6 == 5:
            return  # it stays a draft
        blog.publish(post_id)
        self.readers(db, post_id, moment, event, chance)

    def readers(self, db: Store, post_id: str, moment: datetime, event: str, chance: Random) -> None:
        """Who liked, kept and discussed it; now and then somebody takes a comment back."""
        for user in chance.sample(range(self.people), chance.randrange(min(self.people, 9))):
            moment += timedelta(minutes=chance.randrange(1, 90))
            self.at(db, moment, event).like(self.user(user), post_id)
            if chance.random() < 0.4:
                self.at(db, moment, event).bookmark(self.user(user), post_id)
        for number in range(chance.randrange(5)):
            moment += timedelta(minutes=chance.randrange(1, 90))
            self.discussion(db, post_id, moment, f"{event}, comment {number}")

    def discussion(self, db: Store, post_id: str, moment: datetime, event: str) -> None:
        chance = self.chance(f"{event}, what is said")
        author, answering = (self.user(each) for each in chance.sample(range(self.people), 2))
        with suppress(AlreadyExists):
            self.at(db, moment, event).threads.comment(post_id, author, chance.choice(COMMENTS))
        comment_id = self.id("c", moment, event)
        for number in range(chance.randrange(3)):
            later = moment + timedelta(minutes=20 * (number + 1))
            answer, notice = f"{event}, reply {number}", f"{event}, notice {number}"
            text = chance.choice(REPLIES)
            with suppress(AlreadyExists, NotFound):
                self.at(db, later, answer).threads.reply(comment_id, answering, text)
            with suppress(AlreadyExists):
                reply_id = self.id("r", later, answer)
                self.at(db, later, notice).notify(author, d.NotificationType.REPLY, answering, post_id, reply_id)
        if chance.random() < 0.1:
            with suppress(NotFound):
                self.at(db, moment + timedelta(days=1), event).threads.delete(comment_id)

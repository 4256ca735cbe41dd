"""The demo of EECAR: a query in Korean and the part that fits it best."""

from urllib.parse import quote

from partita import ConsumerAdministration, NotFound, Store
from partita_systems.eecar import design as d
from partita_systems.eecar import ports
from partita_systems.eecar.consumers import catalogue
from partita_systems.eecar.matching import Wanted
from partita_systems.eecar.service import Eecar

QUERY = "가정용 에너지 저장 장치에 쓸 배터리"


def prepare(db: Store, address: str) -> None:
    """The demo data has parts that wait to be embedded."""


def sight(db: Store, address: str) -> str | None:
    """The best match, once all parts are embedded and nothing is left that would make it stale."""
    if not (_is_embedded(db) and _is_settled(db)):
        return None
    found = Eecar(db).matching.of_query(Wanted(query=QUERY))
    if not found.matched_parts:
        return None
    best = found.matched_parts[0]
    part = db.one(d.part(best.part_id))
    here = f"{address}/api/eecar/matches/{quote(found.query_hash)}"
    return f"{QUERY!r} gives {part.name} ({best.score:.2f}: {best.reason}); all matches are at {here}, with the token"


def _is_embedded(db: Store) -> bool:
    """Whether all parts have vectors of the model that embeds queries; vectors of another are not found."""
    model = ports.embedder().model
    embedded = {each.part_id for each in db.scan(d.VectorReference) if each.embedding_model == model}
    return all(each.part_id in embedded for each in db.scan(d.Part))


def _is_settled(db: Store) -> bool:
    """Whether the catalogue versions, which a match is cached with, follow from all changes so far."""
    try:
        backlog = ConsumerAdministration(db, catalogue.name).status().backlog
    except NotFound:  # it has not run yet
        return False
    return backlog is not None and backlog.records == 0

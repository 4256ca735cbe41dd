"""The demo of EECAR: a query in Korean and the part that fits it best."""

from urllib.parse import quote

from partita import Store
from partita_systems.eecar import design as d
from partita_systems.eecar.matching import Wanted
from partita_systems.eecar.service import Eecar

QUERY = "가정용 에너지 저장 장치에 쓸 중고 배터리"


def prepare(db: Store, address: str) -> None:
    """The demo data has parts that wait to be embedded."""


def sight(db: Store, address: str) -> str | None:
    """The best match, once the parts are embedded."""
    parts, vectors = (sum(1 for _ in db.scan(each)) for each in (d.Part, d.VectorReference))
    if vectors < parts:
        return None
    found = Eecar(db).matching.of_query(Wanted(query=QUERY))
    if not found.matched_parts:
        return None
    best = found.matched_parts[0]
    part = db.one(d.part(best.part_id))
    here = f"{address}/api/eecar/matches/{quote(found.query_hash)}"
    return f"{QUERY!r} gives {part.name} ({best.score:.2f}: {best.reason}); all matches are at {here}, with the token"

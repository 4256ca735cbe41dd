"""Jobs of EECAR: objects that nothing refers to are swept from the archive."""

from datetime import timedelta

from partita import Jobs, Store
from partita_systems.eecar import design as d
from partita_systems.eecar import ports

jobs = Jobs("eecar")

SETTLED = timedelta(hours=1)  # an object is stored before the item that names it


@jobs.every(hours=1)
def sweep_objects(db: Store) -> None:
    """Delete objects of vectors and queries whose item is gone, or names another object."""
    archive = ports.objects()
    for each in archive.list(""):
        if each.modified_at < db.now() - SETTLED and not _is_named(db, each.key):
            archive.delete(each.key)


def _is_named(db: Store, key: str) -> bool:
    match key.split("/"):
        case ["vectors", part_id, _]:
            reference = db(d.vector(part_id), consistent=True)
            return reference is not None and reference.s3_key == key
        case ["queries", name]:
            found = db(d.match(name.removesuffix(".f32")), consistent=True)
            return found is not None and found.query_embedding == key
    return True  # of others who use the same archive

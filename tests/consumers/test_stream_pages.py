"""Pages that several consumers share are kept while somebody reads their shard."""

from partita.consumers.stream_pages import UNREAD_SECONDS, RecordPage, SharedPages
from partita.dynamodb.stream_shapes import Record


def test_pages_of_shards_that_nobody_reads_are_forgotten() -> None:
    now = [0.0]
    pages = SharedPages(lambda: now[0])
    read: list[str] = []

    def page(shard: str) -> RecordPage:
        def request() -> RecordPage:
            read.append(shard)
            return RecordPage([Record()], None)

        return pages.page("stream", shard, "1", request)

    for shard in ("old", "new"):
        page(shard)
    now[0] = UNREAD_SECONDS / 2
    page("new")
    now[0] = UNREAD_SECONDS
    page("new")
    assert (read, len(pages)) == (["old", "new"], 1)

"""OpenTelemetry: a span for each operation of a store, and below it one for each request; sync and async."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from partita import AsyncStore, NotFound, SentRequest, Store, connect, connect_async
from partita.dynamodb.requests import GetItem
from tests.store.clocks import Clock
from tests.store.faults import Faulty, throttled
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, design, note, notes, work


class Traced:
    """A tracer, and the spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("tests")

    def spans(self) -> dict[str, ReadableSpan]:
        """The ended spans by name, in the order of their start; forgets them."""
        ended = sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
        self.exporter.clear()
        return {span.name: span for span in ended}


@pytest.fixture
def traced() -> Traced:
    return Traced()


@pytest.fixture
def db(traced: Traced) -> Iterator[Store]:
    with connect("memory:", design, clock=Clock(), maintain=False, tracer=traced.tracer) as opened:
        opened.create_tables()
        traced.spans()
        yield opened


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def identity(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.span_id
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_operation_is_a_span_above_its_requests(db: Store, traced: Traced) -> None:
    db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
    spans = traced.spans()
    assert list(spans) == ["create Artist", "TransactWriteItems gallery"]
    above, below = spans.values()
    assert (above.kind, below.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert parent(above) is None
    assert parent(below) == identity(above)
    assert attributes(above) == {"partita.operation": "create", "partita.target": "Artist"}


def test_request_has_the_attributes_of_the_semantic_conventions(db: Store, traced: Traced) -> None:
    db.put_many([Note(artist_id="ann", number=number, text="") for number in range(3)])
    traced.spans()
    db(notes("ann")).page(2)
    spans = traced.spans()
    assert list(spans) == ["query notes", "Query gallery"]
    found = attributes(spans["Query gallery"])
    (capacity,) = found.pop("aws.dynamodb.consumed_capacity")
    assert msgspec.json.decode(capacity) == {"TableName": "gallery", "CapacityUnits": 0.5}
    assert found == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "Query",
        "db.collection.name": "gallery",
        "aws.dynamodb.table_names": ("gallery",),
        "aws.dynamodb.limit": 2,
        "aws.dynamodb.count": 2,
        "aws.dynamodb.scanned_count": 2,
    }
    db(artist("ann"), consistent=True)
    assert attributes(traced.spans()["GetItem gallery"])["aws.dynamodb.consistent_read"] is True


def test_failed_operation_and_request_say_what_failed_and_nothing_of_the_item(db: Store, traced: Traced) -> None:
    with pytest.raises(NotFound), db.change(work("top-secret")) as draft:
        draft.views += 1
    above, below = traced.spans().values()
    assert (above.name, attributes(above)["error.type"]) == ("change work", "NotFound")
    assert attributes(below)["error.type"] == "ConditionalCheckFailedException"
    assert attributes(below)["db.response.status_code"] == "ConditionalCheckFailedException"
    for span in (above, below):
        assert span.status.status_code is StatusCode.ERROR
        assert "top-secret" not in span.to_json()
        assert not span.events


def test_each_attempt_is_a_span(traced: Traced) -> None:
    with connect("memory:", maintain=False) as backend:
        Store(backend, design).create_tables()
        faulty = Faulty(backend, GetItem, throttled)
        Store(faulty, design, sleep=lambda _: None, tracer=traced.tracer)(artist("ann"))
    first, second = (span for span in traced.exporter.get_finished_spans() if span.name == "GetItem gallery")
    assert attributes(first)["error.type"] == "ThrottlingException"
    assert "partita.attempt" not in attributes(first)
    assert attributes(second)["partita.attempt"] == 1
    assert parent(first) == parent(second)


def test_operation_is_below_the_span_of_the_caller(db: Store, traced: Traced) -> None:
    with traced.tracer.start_as_current_span("request"):
        db(artist("ann"))
        assert trace.get_current_span().get_span_context().is_valid
    spans = traced.spans()
    assert parent(spans["get artist"]) == identity(spans["request"])
    assert not trace.get_current_span().get_span_context().is_valid


def test_span_of_a_request_is_current_while_it_is_sent(traced: Traced) -> None:
    """So that spans of an HTTP client below have it as their parent."""

    class Instrumented:
        def __init__(self, backend: Any) -> None:
            self.backend = backend

        def call(self, request: Any, /) -> Any:
            with traced.tracer.start_as_current_span("HTTP POST"):
                return self.backend.call(request)

    with connect("memory:", maintain=False) as backend:
        Store(backend, design).create_tables()
        Store(Instrumented(backend), design, tracer=traced.tracer)(artist("ann"))
    spans = traced.spans()
    assert parent(spans["HTTP POST"]) == identity(spans["GetItem gallery"])


def test_tasks_that_run_together_have_their_own_spans(traced: Traced) -> None:
    async def run() -> None:
        db = await connect_async("memory:", design, clock=Clock(), maintain=False, tracer=traced.tracer)
        async with db:
            await db.create_tables()
            await db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
            traced.spans()

            async def add(number: int) -> None:
                with traced.tracer.start_as_current_span(f"task {number}"):
                    await db.create(Work(work_id=f"w{number}", artist_id="ann", title=""))

            await asyncio.gather(*(add(number) for number in range(5)))

    asyncio.run(run())
    ended = traced.exporter.get_finished_spans()
    by_id = {identity(span): span for span in ended}
    for span in ended:
        above = by_id.get(parent(span) or 0)
        if span.name == "TransactWriteItems gallery":
            assert above is not None
            assert above.name == "create Work"
        elif span.name == "create Work":
            assert above is not None
            assert above.name.startswith("task ")
    assert sum(span.name == "create Work" for span in ended) == 5


def test_cancelled_task_ends_its_spans(traced: Traced, caplog: pytest.LogCaptureFixture) -> None:
    class Hanging:
        async def call(self, request: Any, /) -> Any:
            await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.create_task(AsyncStore(Hanging(), design, tracer=traced.tracer).get(artist("ann")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert list(traced.spans()) == ["get artist", "GetItem gallery"]
    assert caplog.records == []


def test_table_names_in_spans_are_those_of_the_backend(traced: Traced) -> None:
    with connect("memory:", design, tracer=traced.tracer, table_names={"gallery": "dev-gallery"}) as db:
        db.create_tables()
        traced.spans()
        db.get_many([note("ann", 1)])
    spans = traced.spans()
    assert list(spans) == ["get_many", "BatchGetItem dev-gallery"]
    assert attributes(spans["BatchGetItem dev-gallery"])["aws.dynamodb.table_names"] == ("dev-gallery",)


def test_true_takes_the_tracer_of_the_global_provider(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.store.tracing.get_tracer", traced.provider.get_tracer)
    with connect("memory:", design, tracer=True) as db:
        db.create_tables()
    assert "create_tables" in traced.spans()


def test_listeners_and_meters_work_beside_a_tracer(db: Store, traced: Traced) -> None:
    heard: list[SentRequest] = []
    listened = db.with_settings(on_call=[heard.append])
    with listened.measure() as used:
        listened(artist("ann"))
    assert (len(heard), used.requests) == (1, 1)
    assert list(traced.spans()) == ["get artist", "GetItem gallery"]


def test_tracer_without_the_extra_is_an_error_that_names_it() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from partita import Entity, Table, connect\n"
        "notes = Table('notes', pk='id')\n"
        "class Note(Entity, table=notes, key=('NOTE#{note_id}',)):\n"
        "    note_id: str\n"
        "connect('memory:', notes).close()\n"
        "try: connect('memory:', notes, tracer=True)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        "MissingExtra tracing needs an extra; run pip install 'partita[otel]' (opentelemetry is missing)"
    )


def test_store_without_a_tracer_imports_no_opentelemetry() -> None:
    script = (
        "import sys\n"
        "from partita import Entity, Table, connect\n"
        "notes = Table('notes', pk='id')\n"
        "class Note(Entity, table=notes, key=('NOTE#{note_id}',)):\n"
        "    note_id: str\n"
        "with connect('memory:', notes) as db: db.create_tables()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

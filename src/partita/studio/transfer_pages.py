"""Export and import of items as lines of JSON, in the format of DynamoDB's own exports: `{"Item": {...}}`."""

from collections.abc import Iterator
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.canonical import checked_item
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, InvalidValue, NotFound, PartitaError, ReferenceMissing
from partita.plan.effects import OWNER
from partita.studio.components import choice, field, grid, heading, hidden, notice, text_area
from partita.studio.markup import Child, Markup, el
from partita.studio.raw_reads import RawRead, answered, belongs, read_of, request_of, row_of
from partita.studio.shell import page
from partita.studio.streaming import Download
from partita.studio.visits import Visit

PAGE_ITEMS = 500
SHOWN_ERRORS = 50
NDJSON = b"application/x-ndjson"


class ImportView(msgspec.Struct, frozen=True):
    """The result of an import; lines are counted from 1."""

    table: str
    done: bool = False
    created: int = 0
    existing: int = 0
    guards: int = 0
    errors: list[tuple[int, str]] = []

    @property
    def status(self) -> int:
        return 422 if self.errors and not self.created else 200


def read_export(visit: Visit) -> Download:
    """Every item of a read, one line each; pages are read while they are sent."""
    read = read_of(visit)
    visit.table(read.table)
    first = request_of(visit, read, None, PAGE_ITEMS)
    assert first is not None
    name = f"{read.table}{'-' + read.index if read.index else ''}{'-' + read.entity if read.entity else ''}.jsonl"
    return Download(name, NDJSON, _lines(visit, read, visit.opened.backend))


def _lines(visit: Visit, read: RawRead, backend: Backend) -> Iterator[bytes]:
    table = visit.table(read.table)
    start: Item | None = None
    while True:
        reply = answered(backend, request_of(visit, read, start, PAGE_ITEMS))
        rows = (raw for raw in reply.items or () if belongs(row_of(table, raw), read.entity))
        yield b"".join(b'{"Item":%b}\n' % bytes(raw) for raw in rows)
        if reply.last_evaluated_key is None:
            return
        start = msgspec.json.decode(reply.last_evaluated_key)


def read_import(visit: Visit) -> ImportView:
    visit.check_writable()
    return ImportView(visit.table(visit.param("table")).name)


def write_import(visit: Visit) -> ImportView:
    """Creates the entity of every line, so that keys, counters and guards are right; others are not changed."""
    table = visit.table(visit.param("table"))
    guards = 0
    errors: dict[int, str] = {}
    waiting: dict[int, Any] = {}
    for number, line in enumerate(visit.param("lines").splitlines(), 1):
        try:
            item = _item(line) if line.strip() else None
            if item is not None and OWNER in item:
                guards += 1  # it is created with its owner
            elif item is not None:
                waiting[number] = _entity(visit, table, item)
        except (PartitaError, DynamoDBError) as error:
            errors[number] = str(error)
    created, existing = _create_all(visit, waiting, errors)
    visit.record("import", [table.name], f"created {created}, existing {existing}, errors {len(errors)}")
    return ImportView(table.name, True, created, existing, guards, sorted(errors.items())[:SHOWN_ERRORS])


def _entity(visit: Visit, table: Table, item: Item) -> Any:
    entity = visit.db.decode_item(table.name, item)
    if entity is None:
        raise InvalidValue(table.name, "no entity of the design explains this item")
    return entity


def _create_all(visit: Visit, waiting: dict[int, Any], errors: dict[int, str]) -> tuple[int, int]:
    """Creates entities, in as many rounds as it takes: one that refers to another waits until the other exists."""
    created = existing = 0
    while waiting:
        failed: dict[int, Any] = {}
        for number, entity in waiting.items():
            try:
                visit.db.create(entity)
                created += 1
                errors.pop(number, None)
            except AlreadyExists:
                existing += 1
                errors.pop(number, None)
            except (NotFound, ReferenceMissing) as error:
                failed[number] = entity
                errors[number] = str(error)
            except (PartitaError, DynamoDBError) as error:
                errors[number] = str(error)
        if len(failed) == len(waiting):
            break
        waiting = failed
    return created, existing


def _item(line: str) -> Item:
    try:
        found = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidValue("import", "the line is not a JSON object") from None
    item = found["Item"] if isinstance(found.get("Item"), dict) and "M" not in found["Item"] else found
    try:
        return checked_item(item)[0]
    except (AttributeError, TypeError, StopIteration):
        raise InvalidValue("import", 'the line is not DynamoDB JSON, such as {"Item": {"PK": {"S": "a"}}}') from None


def render_import(view: ImportView, visit: Visit) -> Markup:
    tables = {each.name: visit.db.table_name(each) for each in visit.design.tables}
    form = el(
        "form",
        hidden(form_token=visit.session.form_token),
        field("table", "Table", choice("table", tables, view.table)),
        field("file", "File", el("input", type="file", id="field-file", data_reads_into="field-lines", hidden=True)),
        field("lines", "Lines of JSON", text_area("lines", "", 10, hint=True), _hint()),
        el("button", "Import", cls="primary"),
        method="post",
        action=visit.url("import"),
        cls="panel stack",
        data_confirm=f"Create these items on {visit.place.address}?",
    )
    about = "Each item is created through the design: guards and counters follow, existing items stay as they are."
    return page(visit, "Import", heading("Import", about), _result(view), form, section="items")


def _hint() -> str:
    return (
        'One item a line, as an export has them: {"Item": {"PK": {"S": "a"}}}. Times of creation, versions and '
        "counters begin anew."
    )


def _result(view: ImportView) -> list[Child]:
    if not view.done:
        return []
    kind = "warn" if view.errors else "good"
    text = f"{view.created:,} created, {view.existing:,} existed already, {view.guards:,} guards left to their owners."
    found: list[Child] = [notice(kind, text)]
    if view.errors:
        rows: list[list[Child]] = [[str(number), message] for number, message in view.errors]
        found.append(grid("Lines that were not imported", ["Line", "Error"], rows, ["end", "wide"]))
    return found

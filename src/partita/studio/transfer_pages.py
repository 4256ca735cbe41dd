"""Export and import of items as lines of JSON, in the format of DynamoDB's own exports: `{"Item": {...}}`."""

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.dynamodb.canonical import checked_item
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.limits import READ_UNIT_BYTES
from partita.dynamodb.requests import DescribeTable
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, InvalidValue, NotFound, PartitaError, ReferenceMissing
from partita.plan.effects import OWNER
from partita.quantities import quantity
from partita.studio.budgets import MeteredBackend
from partita.studio.components import choice, field, grid, heading, hidden, notice, text_area, text_input
from partita.studio.json_input import NotJson, json_input
from partita.studio.markup import Child, Markup, el
from partita.studio.overview import byte_text
from partita.studio.raw_reads import RawRead, answered, belongs, query_of, read_of, request_of, row_of
from partita.studio.shell import page
from partita.studio.streaming import Download, DownloadBroken
from partita.studio.visits import Visit

PAGE_ITEMS = 500
SHOWN_ERRORS = 50
EXPORT_UNITS, MAX_UNITS = 100_000, 10_000_000
EXPORT_SECONDS, MAX_SECONDS = 300, 3600
NDJSON = b"application/x-ndjson"


class ExportView(msgspec.Struct, frozen=True):
    """An export before it runs: the size of the table, what reading all of it costs, and the budget."""

    read: RawRead
    bytes: int
    expected_units: float | None
    """None where the range is not the whole table."""
    units: int
    seconds: int


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


def read_export(visit: Visit) -> ExportView:
    """What an export of everything would cost, before it is read."""
    read = read_of(visit)
    table = visit.table(read.table)
    found = visit.backend.call(DescribeTable(table_name=visit.db.table_name(table))).table
    size = (found.table_size_bytes if found else None) or 0
    units = None if read.is_query or read.index else math.ceil(size / READ_UNIT_BYTES) / 2
    most = max(EXPORT_UNITS, math.ceil((units or 0) * 1.2))
    return ExportView(read, size, units, min(most, MAX_UNITS), EXPORT_SECONDS)


def render_export(view: ExportView, visit: Visit) -> Markup:
    read = view.read
    where = f"{read.index} of {read.table}" if read.index else visit.db.table_name(read.table)
    cost = (
        "The cost depends on the range."
        if view.expected_units is None
        else f"The table has {byte_text(view.bytes)}; reading it costs about {view.expected_units:,g} read units."
    )
    about = 'Lines of JSON as in DynamoDB\'s own exports: {"Item": {...}}. The items are read while they are sent.'
    limits = "An export that needs more than this is broken off, and the browser reports a failed download."
    form = el(
        "form",
        hidden(**{name: str(value) for name, value in query_of(read).items() if value != ""}),
        el("p", cost),
        el(
            "div",
            field("units", "At most, read units", _number("units", view.units, MAX_UNITS)),
            field("seconds", "At most, seconds", _number("seconds", view.seconds, MAX_SECONDS)),
            cls="row",
        ),
        el("p", limits, cls="hint"),
        el("div", el("button", "Download", cls="primary"), cls="buttons"),
        action=visit.url("export", "lines"),
        cls="panel stack",
    )
    return page(visit, "Export", heading(f"Export {where}", about), form, section="items")


def _number(name: str, value: int, most: int) -> Markup:
    return text_input(name, str(value), type="number", min=1, max=most)


def read_lines(visit: Visit) -> Download:
    """Every item of a read, one line each; pages are read while they are sent, within a budget."""
    visit.check_own()
    read = read_of(visit)
    request_of(visit, read, None, PAGE_ITEMS)  # rejects what is not valid before the response begins
    units = visit.number("units", EXPORT_UNITS, 1, MAX_UNITS)
    seconds = visit.number("seconds", EXPORT_SECONDS, 1, MAX_SECONDS)
    name = f"{read.table}{'-' + read.index if read.index else ''}{'-' + read.entity if read.entity else ''}.jsonl"
    return Download(name, NDJSON, _lines(visit, read, MeteredBackend(visit.opened.backend, seconds, units)))


def _lines(visit: Visit, read: RawRead, backend: MeteredBackend) -> Iterator[bytes]:
    """The lines; a last one says where the budget was used up, and the download is broken off."""
    table = visit.table(read.table)
    start: Item | None = None
    while True:
        try:
            reply = answered(backend, request_of(visit, read, start, PAGE_ITEMS))
        except (PartitaError, DynamoDBError) as error:
            yield msgspec.json.encode({"Error": str(error)}) + b"\n"
            raise DownloadBroken(str(error)) from error
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
    for number, line in enumerate(visit.param("lines").split("\n"), 1):
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
        found = json_input(line, dict[str, Any])
    except NotJson:
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
    guards = quantity(view.guards, "guard left to its owner", "guards left to their owners")
    text = f"{view.created:,} created, {view.existing:,} existed already, {guards}."
    found: list[Child] = [notice(kind, text)]
    if view.errors:
        rows: list[list[Child]] = [[str(number), message] for number, message in view.errors]
        found.append(grid("Lines that were not imported", ["Line", "Error"], rows, ["end", "wide"]))
    return found

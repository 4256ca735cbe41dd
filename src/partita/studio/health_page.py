"""Health: tables and their backups, consumers and jobs, and what plan and doctor find when they are asked."""

from datetime import UTC, datetime

import msgspec

from partita.consumers.administration import ConsumerAdministration, ConsumerStatus, known_consumers
from partita.consumers.state import DeadLetter
from partita.design.tables import Table
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DescribeTable
from partita.errors import ConfigurationError, NotFound, PartitaError, StoreError
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration, plan_text
from partita.jobs.job_runner import JobRunner
from partita.quantities import quantity
from partita.recovery.restore_points import RestorePoints, backup_text, restore_points, text
from partita.recovery.restoring import back_up_table, restore_request
from partita.store.store import Store
from partita.studio.budgets import SECONDS, BudgetExceeded, MeteredBackend
from partita.studio.components import (
    choice,
    code_block,
    details,
    empty,
    field,
    grid,
    heading,
    hidden,
    notice,
    text_input,
    used_line,
)
from partita.studio.json_input import InvalidInput
from partita.studio.markup import Child, Markup, el
from partita.studio.overview import byte_text
from partita.studio.shell import page
from partita.studio.visits import WRITE_SECONDS, Redirect, Visit

CHECK_SECONDS = 60.0
CHECK_UNITS = 20_000.0
SHOWN_LETTERS = 50
SHOWN_FINDINGS = 20


class TableHealth(msgspec.Struct, frozen=True):
    """A table: its size, and the moments that it can be restored to.

    `has_backups` is false where the database has no such operations.
    """

    name: str
    status: str
    items: int
    bytes: int
    window: str
    backups: list[str]
    backup_arns: list[str]
    has_backups: bool = True


class LetterView(msgspec.Struct, frozen=True):
    """A change that a consumer has given up."""

    sequence: str
    table: str
    tries: int
    given_up_at: str
    error: str


class ConsumerHealth(msgspec.Struct, frozen=True):
    """A consumer; `problem` says why its state is not known, and `letters` are the oldest of its dead letters."""

    name: str
    state: str
    lag_changes: int | None
    lag_seconds: float
    handled: int
    parked: int
    dead_letters: int
    letters: list[LetterView]
    problem: str = ""


class JobHealth(msgspec.Struct, frozen=True):
    """A job: its schedule, its last run and its next one."""

    name: str
    schedule: str
    state: str
    last_run: str
    outcome: str
    next_run: str


class CheckResult(msgspec.Struct, frozen=True):
    """What plan or doctor found."""

    kind: str
    is_good: bool
    text: str


class HotKeyView(msgspec.Struct, frozen=True):
    """A partition key and its share of the requests in percent: at least, and at most."""

    table: str
    index: str
    key: str
    percent: float
    percent_most: float


class HotKeysView(msgspec.Struct, frozen=True):
    """The keys of this design that requests to this server named most, from a sample."""

    sampled: int
    seconds: float
    keys: list[HotKeyView]


class HealthView(msgspec.Struct, frozen=True):
    """The health of a design's data."""

    tables: list[TableHealth]
    consumers: list[ConsumerHealth]
    jobs: list[JobHealth]
    check: CheckResult | None
    hot_keys: HotKeysView | None = None
    """None where the server does not see the requests: they go to an endpoint."""
    done: str = ""


def read_health(visit: Visit) -> HealthView:
    return HealthView(
        [_table(visit, each) for each in visit.design.tables],
        _all_consumers(visit),
        _jobs(visit),
        _check(visit),
        _hot_keys(visit),
        visit.param("done")[:200],
    )


def _hot_keys(visit: Visit) -> HotKeysView | None:
    if visit.opened.hot_keys is None:
        return None
    found = visit.opened.hot_keys()
    names = {visit.db.table_name(each) for each in visit.design.tables}
    keys = [
        HotKeyView(each.table, each.index, each.key, round(100 * each.share, 1), round(100 * each.share_most, 1))
        for each in found.keys
        if each.table in names
    ]
    return HotKeysView(found.sampled, round(found.seconds, 1), keys)


def _table(visit: Visit, table: Table) -> TableHealth:
    name = visit.db.table_name(table)
    try:
        found = visit.backend.call(DescribeTable(table_name=name)).table
    except DynamoDBError as error:
        return TableHealth(name, error.code, 0, 0, "", [], [])
    try:
        points, has_backups = restore_points(visit.backend, name), True
    except DynamoDBError:
        points, has_backups = RestorePoints(name, None, []), False
    window = "" if points.window is None else f"any second from {text(points.window[0])} to {text(points.window[1])}"
    assert found is not None
    return TableHealth(
        name,
        found.table_status or "",
        found.item_count or 0,
        found.table_size_bytes or 0,
        window,
        [backup_text(each) for each in points.backups],
        [each.backup_arn or "" for each in points.backups],
        has_backups,
    )


def _consumer_names(visit: Visit) -> list[str]:
    names = dict.fromkeys(each.name for each in visit.opened.consumers)
    try:
        known = known_consumers(visit.db)
    except (PartitaError, DynamoDBError):  # no consumer has run here
        known = []
    own = [each for each in known if each in names or len(visit.designs) == 1]
    return [*names, *(each for each in own if each not in names)]


def _all_consumers(visit: Visit) -> list[ConsumerHealth]:
    """Each with a budget of its own, so that the state of one is not lost by the many dead letters of another."""
    names = _consumer_names(visit)
    found = []
    for name in names:
        backend = MeteredBackend(visit.opened.backend, SECONDS / len(names))
        found.append(_consumer(Store(backend, visit.design), name))
        visit.used.add(backend.used)
    return found


def _consumer(db: Store, name: str) -> ConsumerHealth:
    administration = ConsumerAdministration(db, name)
    letters: list[DeadLetter] = []
    try:
        letters = administration.dead_letters(SHOWN_LETTERS)  # before everything is counted, which may be too much
        status = administration.status()
    except (NotFound, ConfigurationError):  # no process has created its tables
        return ConsumerHealth(name, "has not run here", None, 0.0, 0, 0, 0, [])
    except (PartitaError, DynamoDBError) as error:
        shown = [_letter(each) for each in letters]
        return ConsumerHealth(name, "not known", None, 0.0, 0, 0, len(shown), shown, str(error))
    state = "paused" if status.is_paused else "running" if status.is_running else "not running"
    lag = None if status.backlog is None else status.backlog.records
    return ConsumerHealth(
        name,
        state,
        lag,
        _seconds(status),
        status.handled,
        status.parked,
        status.dead_letters,
        [_letter(each) for each in letters],
    )


def _seconds(status: ConsumerStatus) -> float:
    return round(status.lag.total_seconds(), 1)


def _letter(letter: DeadLetter) -> LetterView:
    return LetterView(letter.sequence, letter.table, letter.tries, text(letter.given_up_at), str(letter.error))


def _jobs(visit: Visit) -> list[JobHealth]:
    if visit.opened.jobs is None:
        return []
    try:
        found = JobRunner(visit.db, visit.opened.jobs).status()
    except (PartitaError, DynamoDBError):  # no process has run them here
        return [JobHealth(each.name, str(each.schedule), "has not run here", "", "", "") for each in visit.opened.jobs]
    return [
        JobHealth(
            each.name,
            each.schedule,
            each.status,
            "" if each.last_run is None else text(each.last_run.scheduled_at),
            "" if each.last_run is None else f"{each.last_run.outcome.value} {each.last_run.error or ''}".strip(),
            text(each.next_run),
        )
        for each in found
    ]


def _check(visit: Visit) -> CheckResult | None:
    """Plan and doctor read the data, so they run when they are asked for."""
    kind = visit.param("check")
    if not kind:
        return None
    visit.check_own()
    db = Store(MeteredBackend(visit.opened.backend, CHECK_SECONDS, CHECK_UNITS), visit.design)
    try:
        if kind == "plan":
            plan = plan_migration(db)
            return CheckResult(kind, not plan.has_work, plan_text(plan))
        if kind == "doctor":
            found = diagnose(db)
            lines = [
                line
                for name, several in found.findings.items()
                for line in (f"{len(several):,} {name}:", *(f"  {each}" for each in several[:SHOWN_FINDINGS]))
            ]
            lines.append(f"{quantity(found.items, 'item')}{': nothing is wrong' if found.is_healthy else ''}")
            return CheckResult(kind, found.is_healthy, "\n".join(lines))
    except (StoreError, BudgetExceeded, DynamoDBError) as error:
        return CheckResult(kind, False, str(error))
    raise InvalidInput(f"{kind!r} is not a check; use plan or doctor", "check")


def render_health(view: HealthView, visit: Visit) -> Markup:
    checks = [
        el("a", "Plan", href=visit.url("health", check="plan"), cls="button"),
        el("a", "Doctor", href=visit.url("health", check="doctor"), cls="button"),
    ]
    about = "Plan compares the design with the data, doctor reads every item: both cost read units."
    return page(
        visit,
        "Health",
        heading("Health", about, *checks),
        notice("good", view.done) if view.done else None,
        _check_result(view.check),
        el("h2", "Tables"),
        el("div", [_table_card(each, visit) for each in view.tables], cls="cards wide-cards"),
        el("h2", "Most requested partition keys"),
        _hot_key_table(view.hot_keys, visit),
        el("h2", "Consumers"),
        _consumers(view, visit),
        el("h2", "Jobs"),
        _job_table(view),
        used_line(visit.used),
        section="health",
    )


def _check_result(check: CheckResult | None) -> Markup | None:
    if check is None:
        return None
    good = "nothing to do" if check.kind == "plan" else "nothing is wrong"
    title = good if check.is_good else "findings"
    return el(
        "section",
        notice("good" if check.is_good else "warn", f"{check.kind.capitalize()}: {title}"),
        code_block(check.kind, check.text),
    )


def _table_card(table: TableHealth, visit: Visit) -> Markup:
    size = f"{quantity(table.items, 'item')} · {byte_text(table.bytes)} · {table.status.lower()}"
    writable = visit.place.writable and table.status == "ACTIVE" and table.has_backups
    return el(
        "section",
        el("h3", table.name),
        el("p", size, cls="figure"),
        el(
            "p",
            f"Point-in-time recovery: {table.window}" if table.window else "No point-in-time recovery.",
            cls="faint",
        ),
        el("ul", [el("li", each) for each in table.backups], cls="plain")
        if table.backups
        else el("p", "No backups." if table.has_backups else "This database has no backups.", cls="faint"),
        details("Back up, or restore into a new table", _backup_form(table, visit), _restore_form(table, visit))
        if writable
        else None,
        cls="card",
    )


def _backup_form(table: TableHealth, visit: Visit) -> Markup:
    name = f"backup-{table.name}"
    return el(
        "form",
        hidden(form_token=visit.session.form_token, table=table.name),
        field(name, "Name of the backup", text_input(name, f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}", required=True)),
        el("button", "Back up now"),
        method="post",
        action=visit.url("backup"),
        cls="stack",
    )


def _restore_form(table: TableHealth, visit: Visit) -> Markup:
    options = {"": "Latest state", **dict(zip(table.backup_arns, table.backups, strict=True))}
    target, at, backup = (f"{each}-{table.name}" for each in ("target", "at", "from"))
    return el(
        "form",
        hidden(form_token=visit.session.form_token, table=table.name),
        field(target, "Name of the new table", text_input(target, f"{table.name}-restored", required=True)),
        field(at, "As at (UTC)", text_input(at, "", placeholder="2026-01-31T12:00:00Z"), "Empty for the latest state.")
        if table.window
        else None,
        field(backup, "From", choice(backup, options, "")),
        el("button", "Restore into the new table"),
        method="post",
        action=visit.url("restore"),
        cls="stack",
    )


def _hot_key_table(found: HotKeysView | None, visit: Visit) -> Markup:
    if found is None:
        text = "The requests of other programs go to the endpoint itself. A server on a file or in memory sees them."
        return empty("Not seen from here", text)
    if not found.keys:
        return empty("No requests yet", "One of 64 requests to this server is looked at, for the last minute or two.")
    rows: list[list[Child]] = [
        [
            el("bdi", each.key, cls="value", dir="auto"),
            f"{each.table} {each.index}".strip(),
            f"{each.percent:g} %"
            if each.percent == each.percent_most
            else f"{each.percent:g} to {each.percent_most:g} %",
        ]
        for each in found.keys
    ]
    keys, last = quantity(found.sampled, "key"), quantity(round(found.seconds), "second")
    about = f"Shares of {keys}, from one of 64 requests of the last {last}."
    listed = grid("Most requested partition keys", ["Partition key", "Where", "Share"], rows, ["wide", "", "end"])
    return el("div", el("p", about, cls="faint"), listed)


def _consumers(view: HealthView, visit: Visit) -> Markup:
    if not view.consumers:
        return empty("No consumers", "The design declares none, and none has run on this data.")
    rows: list[list[Child]] = [
        [
            el("strong", each.name),
            each.state,
            "-" if each.lag_changes is None else f"{each.lag_changes:,} ({each.lag_seconds:g} s)",
            "-" if each.problem else f"{each.handled:,}",
            "-" if each.problem else f"{each.parked:,}",
            f"{'at least ' if each.problem and each.letters else ''}{each.dead_letters:,}",
        ]
        for each in view.consumers
    ]
    problems = [notice("warn", f"{each.name}: {each.problem}") for each in view.consumers if each.problem]
    head = ["Consumer", "State", "Lag", "Handled", "Parked", "Dead letters"]
    listed = grid("Consumers", [*head], rows, ["", "", "end", "end", "end", "end"])
    return el("div", listed, problems, [_letters(each, visit) for each in view.consumers if each.letters])


def _letters(consumer: ConsumerHealth, visit: Visit) -> Markup:
    rows: list[list[Child]] = [
        [each.given_up_at, each.table, str(each.tries), el("bdi", each.error), _letter_forms(consumer, each, visit)]
        for each in consumer.letters
    ]
    return el(
        "section",
        el("h3", f"Dead letters of {consumer.name}"),
        el("p", f"The oldest {len(consumer.letters):,}.", cls="faint")
        if consumer.problem or consumer.dead_letters > len(consumer.letters)
        else None,
        grid(
            f"Dead letters of {consumer.name}",
            ["Given up", "Table", "Tries", "Error", "Actions"],
            rows,
            ["", "", "end", "wide", ""],
        ),
    )


def _letter_forms(consumer: ConsumerHealth, letter: LetterView, visit: Visit) -> Child:
    if not visit.place.writable:
        return "-"
    fields = {"consumer": consumer.name, "sequence": letter.sequence}
    return el(
        "div",
        [
            el(
                "form",
                hidden(form_token=visit.session.form_token, action=action, **fields),
                el("button", label, cls=kind, aria_label=f"{label} change {letter.sequence}"),
                method="post",
                action=visit.url("letter"),
                data_confirm=None if action == "retry" else "Forget this change for good?",
            )
            for action, label, kind in (("retry", "Retry", ""), ("drop", "Drop", "danger"))
        ],
        cls="buttons",
    )


def _job_table(view: HealthView) -> Markup:
    if not view.jobs:
        return empty("No jobs", "The design declares none.")
    rows: list[list[Child]] = [
        [
            el("strong", each.name),
            each.schedule,
            each.state,
            each.last_run or "-",
            each.outcome or "-",
            each.next_run or "-",
        ]
        for each in view.jobs
    ]
    return grid("Jobs", ["Job", "Schedule", "State", "Last run", "Outcome", "Next run"], rows)


def _own_table(visit: Visit) -> str:
    name = visit.param("table")
    if name not in [visit.db.table_name(each) for each in visit.design.tables]:
        raise NotFound("Table", {"name": name})
    return name


def write_backup(visit: Visit) -> None:
    """Creates a backup of a table, and waits until it is complete."""
    table = _own_table(visit)
    name = visit.param(f"backup-{table}")
    visit.recorded("backup", [f"{table}: {name}"], lambda: back_up_table(visit.backend, table, name))
    raise Redirect(visit.url("health", done=f"Backup {name} of {table} is complete."))


def write_restore(visit: Visit) -> None:
    """Starts a restore of a table into a new one."""
    table = _own_table(visit)
    target, at = visit.param(f"target-{table}"), visit.param(f"at-{table}").strip()
    moment = None
    if at:
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            raise InvalidInput(f"{at!r} is not a time; write 2026-01-31T12:00:00Z", "at") from None
        moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    points = restore_points(visit.backend, table)
    planned = restore_request(visit.backend, points, target, moment, visit.param(f"from-{table}") or None)
    visit.recorded("restore", [f"{table} into {target}"], lambda: visit.backend.call(planned.request))
    raise Redirect(visit.url("health", done=f"Restoring {table} into {target}, {planned.description}."))


def write_letter(visit: Visit) -> None:
    """Tries a dead letter again, or forgets it."""
    consumer, action = visit.param("consumer"), visit.param("action")
    if consumer not in _consumer_names(visit):
        raise NotFound("Consumer", {"name": consumer})
    backend = MeteredBackend(visit.opened.backend, WRITE_SECONDS, CHECK_UNITS)
    administration = ConsumerAdministration(Store(backend, visit.design), consumer)
    found = [each for each in administration.dead_letters(SHOWN_LETTERS) if each.sequence == visit.param("sequence")]
    if not found or action not in ("retry", "drop"):
        raise NotFound("DeadLetter", {"sequence": visit.param("sequence")})
    change = administration.retry if action == "retry" else administration.drop
    visit.recorded(action, [f"{consumer} {found[0].sequence}"], lambda: change(found[0]))
    raise Redirect(visit.url("health", done=f"The change is {'tried again' if action == 'retry' else 'forgotten'}."))

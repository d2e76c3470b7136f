"""Which SQL text a query name stands for, on this database.

    sql/runs.sql              -- name: claim_runs        every query, per row, in the subset both databases speak
    sql/postgres/runs.sql     -- name: claim_runs        the same name again where this database wants another shape

Behind the name come lines of intent and, where needed, directives:
`-- key: run_id`          what identifies a row of a set-based batch: sent in this order, each once, and known by it;
`-- each: row, claim_for` the statements behind the first take these columns from its answer;
`-- together: id, status` the statement below takes the ids of all rows that have the same status at once, as a list.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from windlass.store import arrays, watching

Dialect = Literal["sqlite", "postgres"]

SQL_FOLDER = Path(__file__).parent / "sql"

RUN = (
    "r.namespace, r.id, r.name, r.version, r.queue, r.priority, r.status, r.available_at, r.token, r.worker, r.poll, "
    "r.attempts, r.recoveries, r.created_at, r.started_at, r.finished_at, r.expires_at, r.held, r.parent, "
    "r.parent_step, r.unmet, r.starts_at, r.retry_of, r.origin, r.begun_at, r.schedule, r.slot, r.scheduled_at, "
    "r.kind, r.ready_at"
)
STEP = (
    "s.namespace, s.run_id, s.step_key, s.attempt, s.kind, s.status, s.step_order, s.token, s.failures, s.input_hash, "
    "s.output, s.failure, s.due_at, s.started_at, s.finished_at, s.awaits, s.detail, s.dropped"
)
MESSAGE = "b.namespace, b.run_id, b.seq, b.kind, b.name, b.id, b.payload, b.payload_hash, b.sent_at, b.taken_by"
GATE = "g.namespace, g.kind, g.name, g.is_paused, g.paused_by, g.note, g.paused_at"
SCHEDULE = (
    "r.namespace, r.name, r.workflow, r.version, r.queue, r.input, r.input_hash, r.timeout_for, r.cron, r.every_for, "
    "r.tz, r.anchor, r.catch_up, r.max_catch_up, r.overlap, r.jitter, r.status, r.declared_in, r.is_declared, "
    "r.revision, r.last_slot, r.available_at, r.error, r.fired, r.skipped, r.dropped, r.paused_by, r.note, "
    "r.paused_at, r.created_at, r.changed_at"
)
GRAPH = (
    "g.namespace, g.id, g.name, g.jobs, g.open, g.completed, g.failed, g.cancelled, g.skipped, g.held, g.is_paused, "
    "g.ending, g.parent, g.schedule, g.created_at"
)
JOB = (
    "j.name, j.is_group, j.is_cleanup, j.group_name, j.matrix, j.position, j.max_parallel, j.fail_fast, j.is_held, "
    "j.timeout_for, j.decided_by"
)
EDGE = "e.job, e.upstream, e.accepts, e.is_group, e.is_resolved"
PIPELINE = (
    "p.namespace, p.name, p.queue, p.revision, p.status, p.issue, p.run_id, p.available_at, p.token, p.worker, p.poll, "
    "p.recoveries, p.seq, p.failures, p.fixes, p.streak, p.retry, p.visibility_for, p.has_fixer, p.is_paused, "
    "p.paused_by, p.note, p.paused_at, p.declared_in, p.is_declared, p.created_at, p.changed_at"
)
HANDLER = (
    "h.namespace, h.pipeline, h.name, h.position, h.spec, h.next_at, h.is_queued, h.wake_at, h.news, h.seen, "
    "h.is_declared, h.state is not null"
)
HANDLER_RUN = (
    "h.namespace, h.id, h.pipeline, h.handler, h.kind, h.retry_of, h.attempt, h.phase, h.status, h.outcome, h.token, "
    "h.worker, h.news, h.reserved, h.title, h.warning, h.failure, h.decided_by, h.note, h.created_at, h.updated_at, "
    "h.ended_at, h.effect"
)
EVENT = (
    "e.topic, e.id, e.seq, e.version, coalesce(e.pinned, e.payload), e.status, e.attempt, e.reserved_by, e.created_by, "
    "e.causes, e.created_at, e.updated_at"
)
EFFECT = (
    "f.namespace, f.subject_kind, f.subject, f.owner, f.step_key, f.attempt, f.name, f.params, f.idempotency_key, "
    "f.status, f.result, f.failure, f.token, f.asked, f.has_reconcile, f.reconcile_after, f.next_at, f.title, "
    "f.resolved_by, f.resolution, f.note, f.created_at, f.updated_at"
)
ITEM = "r.namespace, r.id, r.title, r.status, r.priority, r.data, r.key, r.created_at, r.changed_at, r.ended_at"
TASK = (
    "t.namespace, t.id, t.item_id, t.title, t.status, t.data, t.firing_id, t.created_at, t.ended_at, t.ended_by, t.note"
)
SIGNAL = (
    "s.namespace, s.id, s.key, s.kind, s.subject, s.enters, s.at, s.every_for, s.action, s.payload, s.repeats, "
    "s.status, s.reason, s.fired, s.last_fired_at, s.available_at, s.declared_in, s.is_declared, s.armed_xid, "
    "s.armed_seq, s.changed_by, s.created_at, s.changed_at"
)
FIRING = (
    "f.namespace, f.signal_id, f.cause, f.subject_kind, f.subject_id, f.from_status, f.to_status, f.happened_at, "
    "f.status, f.available_at, f.token, f.worker, f.attempt, f.error, f.depth, f.run_id, f.task_id, f.created_at, "
    "f.ended_at"
)
# An input, with how many of its events are not over, and how many there are.
CAUSED = (
    "(select count(*) from causes c "
    "{probe:events e:namespace = c.namespace, pipeline = c.pipeline, topic = c.topic, id = c.event} "
    "where c.namespace = n.namespace and c.pipeline = n.pipeline and c.input = n.id"
)
INPUT = (
    "n.namespace, n.pipeline, n.id, n.source, n.type, n.external_id, n.title, n.created_at, n.skipped_by, "
    f"n.skipped_at, {CAUSED} and e.status in ('pending', 'reserved')), {CAUSED})"
)
# How many slots of a worker are in use now: runs and pipelines that it holds. What it said itself is as old as its row.
IN_USE = (
    "(select count(*) from runs r where r.namespace = w.namespace and r.worker = w.id) "
    "+ (select count(*) from pipelines p {by_holder} where p.namespace = w.namespace and p.worker = w.id)"
)
# Which runs somebody looks for: what is null asks for nothing. Beside them, a text in an id, a name or a start key.
WANTED = (
    "(cast(:name as text) is null or r.name = :name) and (cast(:queue as text) is null or r.queue = :queue) "
    "and (cast(:created_after as bigint) is null or r.created_at >= :created_after)"
)
WITH_TEXT = (
    f"{WANTED} and (cast(:text as text) is null or lower(r.id) like :text escape '!' or lower(r.name) like :text "
    "escape '!' or lower(p.start_key) like :text escape '!')"
)
# Whether a run is a child of one run. Those that are over stay with the run that this one tries again.
OWN_CHILD = (
    "(r.parent = :parent or (r.finished_at is not null and (select coalesce(f.origin, f.id) from runs f "
    "where f.namespace = r.namespace and f.id = r.parent) = :origin))"
)
CONDITIONS = {"wanted": WANTED, "with_text": WITH_TEXT, "own_child": OWN_CHILD}
COLUMNS = {"run": RUN, "step": STEP, "message": MESSAGE, "gate": GATE, "schedule": SCHEDULE}
COLUMNS |= {"graph": GRAPH, "job": JOB, "edge": EDGE}
COLUMNS |= {"pipeline": PIPELINE, "handler": HANDLER, "handler_run": HANDLER_RUN, "event": EVENT}
COLUMNS |= {"effect": EFFECT, "input": INPUT}
COLUMNS |= {"item": ITEM, "task": TASK, "signal": SIGNAL, "firing": FIRING}
WORDS = COLUMNS | CONDITIONS | {"in_use": IN_USE}
# What the two databases say differently: SQLite, PostgreSQL. Row locks are for those who share a database.
DIFFERENT = {
    "skip_locked": ("", "for no key update of r skip locked"),
    "for_update": ("", "for no key update of r"),
    "for_share": ("", "for share of g"),
    "lock_graph": ("", "for no key update of g"),
    "lock_pipeline": ("", "for no key update of p"),
    "skip_locked_pipeline": ("", "for no key update of p skip locked"),
    "lock_signal": ("", "for no key update of s"),
    "skip_locked_signal": ("", "for no key update of s skip locked"),
    "lock_firing": ("", "for no key update of f"),
    "skip_locked_firing": ("", "for no key update of f skip locked"),
    "skip_locked_cursor": ("", "for no key update of c skip locked"),
    # Without statistics SQLite takes a primary key for as short as any index that begins like it.
    "by_holder": ("indexed by pipelines_held", ""),
    "by_stranded": ("indexed by runs_stranded", ""),
    "by_subject": ("indexed by effects_open", ""),
    "greatest": ("max", "greatest"),
    "least": ("min", "least"),
}
# The lanes in use among those served that are behind no closed gate: from each priority hop to the next lower one along
# the claim index.
LANES = """lanes (queue, name, version, claim_for, priority) as (
    select s.value ->> 0, s.value ->> 1, s.value ->> 2, cast(s.value ->> 3 as bigint),
           (select r.priority from runs r
             where r.namespace = :namespace and r.queue = s.value ->> 0 and r.name = s.value ->> 1
               and r.version = s.value ->> 2 and r.available_at is not null
             order by r.priority desc limit 1)
      from {elements:served} as s
     where not exists (select 1 from closed
                        where closed.kind = 'namespace' or (closed.kind = 'queue' and closed.name = s.value ->> 0)
                           or (closed.kind = 'workflow' and closed.name = s.value ->> 1))
    union all
    select l.queue, l.name, l.version, l.claim_for,
           (select r.priority from runs r
             where r.namespace = :namespace and r.queue = l.queue and r.name = l.name
               and r.version = l.version and r.available_at is not null and r.priority < l.priority
             order by r.priority desc limit 1)
      from lanes l
     where l.priority is not null
)"""
ALIASES = {"effects": "f", "inputs": "n"}  # in {rows:…}, where the first letter is taken
DATABASE_CLOCK = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"

NAME = re.compile(r"^-- name: *(\w+) *$", re.MULTILINE)
DIRECTIVE = re.compile(r"^-- (each|key): *(.+)$", re.MULTILINE)
TOGETHER = re.compile(r"^-- together: *(.+)$", re.MULTILINE)  # of a statement behind the first
COMMENT = re.compile(r"^ *--(?! together: ).*$", re.MULTILINE)
FRAGMENT = re.compile(r"\{(\w+)(?::([^{}]+))?\}")
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")  # neither the second colon of a ::cast, nor in 'paused:approval'
WRITE = re.compile(r"\b(insert\s+into|delete\s+from|update\s+\w+(\s+\w+)?\s+set)\b")


class Statement(Struct, frozen=True):
    text: str
    parameters: tuple[str, ...]  # in the order of their numbers, without `now`
    takes_now: bool  # the clock's value is then the last parameter
    is_write: bool
    together: tuple[str, ...] = ()  # once for all rows: the first as a list, of those that have the others in common
    shared: frozenset[str] = frozenset()  # arrays of a batch that may be one element long: the same for every row
    is_watching: bool = False  # to be sent only where a signal is live


class Query(Struct, frozen=True):
    name: str
    statements: tuple[Statement, ...]
    each: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    one: Statement | None = None  # what does the same for a batch of one row, from plain values

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(name for statement in self.statements for name in statement.parameters) - set(self.each)

    @property
    def is_write(self) -> bool:
        return any(statement.is_write for statement in self.statements)


@functools.cache
def load(dialect: Dialect, *, has_injected_clock: bool = True, folder: Path = SQL_FOLDER) -> Mapping[str, Query]:
    """Read every query. Raises ValueError for a catalogue that contradicts itself: a bug, not a bad database."""
    now = DATABASE_CLOCK if dialect == "postgres" and not has_injected_clock else None
    queries: dict[str, Query] = {}
    for name, body in _sections(folder):
        if name in queries:
            raise ValueError(f"query {name} is defined twice")
        queries[name] = _compile(name, body, dialect, now)
    overlaid: set[str] = set()
    for name, body in _sections(folder / dialect):
        if name not in queries or name in overlaid:
            raise ValueError(
                f"{dialect} overlays {name}, which is {'overlaid twice' if name in overlaid else 'unknown'}"
            )
        overlay, base = _compile(name, body, dialect, now), queries[name]
        if overlay.parameters != base.parameters:
            raise ValueError(f"{name} takes {sorted(base.parameters)}, but on {dialect} {sorted(overlay.parameters)}")
        queries[name] = overlay
        overlaid.add(name)
    several = [name for name, query in queries.items() if dialect == "postgres" and len(query.statements) > 1]
    if several:
        raise ValueError(f"PostgreSQL takes one statement at a time; overlay {', '.join(several)}")
    return queries


def _sections(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.glob("*.sql")):
        _, *parts = NAME.split(file.read_text(encoding="utf-8"))
        yield from zip(parts[::2], parts[1::2], strict=True)


def _compile(name: str, body: str, dialect: Dialect, now: str | None) -> Query:
    directives = {word: _names(names) for word, names in DIRECTIVE.findall(body)}
    key, columns = directives.get("key", ()), arrays.columns_of(body)

    def compiled(shape: arrays.Shape) -> tuple[Statement, ...]:
        def fragment(found: re.Match[str]) -> str:
            if found[1] == "given":
                return shape.given(columns)
            if found[1] == "passed" and columns:
                return shape.passed(found[2].strip(), key=key, counted=columns[0])
            return _fragment(found[1], found[2], dialect, now)

        text = FRAGMENT.sub(fragment, COMMENT.sub("", body))
        shared = frozenset(column.name for column in columns[1:])
        return tuple(_statement(part, dialect, shared) for part in text.split(";") if part.strip())

    statements = compiled(arrays.MANY)
    if not statements:
        raise ValueError(f"query {name} is empty")
    one = compiled(arrays.ONE)[0] if columns else None
    return Query(name, statements, each=directives.get("each", ()), key=key, one=one)


def _names(listed: str) -> tuple[str, ...]:
    return tuple(re.split(r", *", listed.strip()))


def _fragment(word: str, argument: str | None, dialect: Dialect, now: str | None) -> str:
    is_postgres = dialect == "postgres"
    if word in WORDS:
        return FRAGMENT.sub(lambda found: _fragment(found[1], found[2], dialect, now), WORDS[word])
    if word in DIFFERENT:
        return DIFFERENT[word][is_postgres]
    match word:
        case "now":
            return now or (":now::bigint" if is_postgres else ":now")
        case "rows" if argument:
            return _rows(*re.split(r"[.:]", argument), is_postgres=is_postgres)
        case "probe" if argument:
            return _probe(*argument.split(":", 1), is_postgres=is_postgres)
        case "elements" if argument:  # from {elements:served}: a row per element of a JSON array, its column is `value`
            return f"json_array_elements(:{argument}::json)" if is_postgres else f"json_each(:{argument})"
        case "texts" if argument:  # from {texts:w.causes}: the same, of a column, whose elements are text
            return f"json_array_elements_text({argument}::json)" if is_postgres else f"json_each({argument})"
        case "lanes":
            return FRAGMENT.sub(lambda found: _fragment(found[1], found[2], dialect, now), LANES)
    watched = watching.fragment(word, argument or "")
    if watched is not None:
        return watched
    raise ValueError(f"there is no fragment {{{word}}}")


def _rows(table: str, column: str, values: str, within: str = "", *, is_postgres: bool) -> str:
    """`from {rows:runs.id:ids}`: the rows of a namespace by a list of keys, one probe each; its alias is one letter.

    `{rows:edges.job:names:graph}`: and of one graph, where names are known within one; several are told apart by ",".

    Neither `= any(…)` nor `in (…)`: planned on an empty database, PostgreSQL reads the whole namespace for both.
    """
    alias = ALIASES.get(table, table[0])
    known = "".join(f" and {{0}}{name} = :{name}" for name in within.split(",") if name)
    condition = f"namespace = :namespace{known} and {{0}}{column} = i.value"
    if is_postgres:
        probe = f"select * from {table} where {condition.format('')} offset 0"  # noqa: S608 - names from our own files
        return f"unnest(:{values}::text[]) as i (value) cross join lateral ({probe}) as {alias}"
    return f"json_each(:{values}) as i cross join {table} as {alias} on {alias}.{condition.format(alias + '.')}"


def _probe(table: str, conditions: str, *, is_postgres: bool) -> str:
    """`from causes c {probe:events e:topic = c.topic, id = c.event}`: what belongs to each row before it, by its key.

    No plain join: without statistics, both databases may walk the other table for each row, or begin with it.
    """
    name, alias = table.split()
    known = [condition.strip() for condition in conditions.split(",")]
    if is_postgres:
        probe = f"select * from {name} where {' and '.join(known)} offset 0"  # noqa: S608 - names from our own files
        return f"cross join lateral ({probe}) as {alias}"
    return f"cross join {name} as {alias} on {' and '.join(f'{alias}.{condition}' for condition in known)}"


def _statement(text: str, dialect: Dialect, shared: frozenset[str]) -> Statement:
    together = TOGETHER.search(text)
    text = TOGETHER.sub("", text)
    found = dict.fromkeys(PARAMETER.findall(text))
    takes_now = "now" in found
    found.pop("now", None)
    names = tuple(found)
    numbers = {name: number for number, name in enumerate((*names, "now"), start=1)}
    sign = "$" if dialect == "postgres" else "?"
    text = PARAMETER.sub(lambda hit: f"{sign}{numbers[hit[1]]}", text).strip()
    return Statement(
        text=text,
        parameters=names,
        takes_now=takes_now,
        is_write=WRITE.search(text) is not None,
        together=() if together is None else _names(together[1]),
        shared=shared,
        is_watching=watching.is_watching(text),
    )

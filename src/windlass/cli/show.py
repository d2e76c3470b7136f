"""`windlass show`: everything about one run on a page; a graph is drawn, and all else has a page of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import awaited, graph_page, lookup, payloads, records, timeline
from windlass.cli import session as sessions
from windlass.cli.other_pages import has_other_page, write_other_page
from windlass.cli.pipelines import names as pipeline_names
from windlass.cli.pipelines import page as pipeline_page
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, Glyphs, Screen, cut, escape, status_glyph, wrapped
from windlass.cli.waits import in_brief, in_short, summary
from windlass.cli.what_if import told, what_if
from windlass.errors import WrongState
from windlass.model.duration import between, describe, from_instant, moment
from windlass.model.graph import GraphView, JobView
from windlass.model.message import Message
from windlass.model.pipeline_commands import HandlerRunView
from windlass.model.run import CANCELLED_BY, RETRIED_BY, LogEntry, Run, RunKind, RunStatus, RunView
from windlass.model.step import Step, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.lanes import is_interrupted, lanes_of, latest_attempts, span

MAX_RESULTS, MAX_FAILURES = 12, 6
DIM = "bright_black"


class Story(Struct, frozen=True, kw_only=True):
    """What is known about a run."""

    view: RunView
    steps: tuple[Step, ...]
    log: tuple[LogEntry, ...]
    messages: tuple[Message, ...] = ()
    why: str = ""  # it is not running, or who executes it
    brief: str = ""  # the same in a few words
    graph: GraphView | None = None  # the one it is, or belongs to
    jobs: tuple[JobView, ...] = ()  # of that graph
    briefs: dict[str, str] = {}  # what a look behind some of them has found, by their names


@click.command(short_help="Show one run, pipeline, signal or work item on a page.")
@partial(pipeline_names.subject_arguments, metavar="RUN|PIPELINE|SIGNAL|ITEM")
@click.option("--full", "is_full", is_flag=True, help="Cut nothing: every step, whole payloads, the whole log.")
@click.option("--if-fails", type=sessions.Text(), metavar="JOB", help="Of a graph: what would be skipped then?")
@click.option("--runs", "has_runs", is_flag=True, help="Of a pipeline: its last attempts too.")
@shared_options
@click.pass_obj
def show(
    session: Session, /, run: str | None, key: str | None, *, is_full: bool, if_fails: str | None, has_runs: bool
) -> None:
    """Show one run: where it stands and why, its steps on a timeline, results, failures, log.

    RUN is the id of a run or the beginning of it, or GRAPH/JOB. Of a graph its jobs are drawn in layers. Of a PIPELINE
    it is said how it stands, what it waits for, and what it did lately; hrn_… is one attempt of one of its handlers.
    sig_… is a signal, itm_… a work item.
    """
    pipeline_names.check_one_given(run, key=key)
    if run is not None and has_other_page(run):
        if is_full or has_runs or if_fails is not None:
            raise click.UsageError("--full, --runs and --if-fails are for runs, graphs and pipelines.")
        return write_other_page(session, run)
    story = session.read(lambda opened: _look(session, opened, run, key=key, has_runs=has_runs))
    if not isinstance(story, Story):
        if if_fails is not None:
            raise click.UsageError("--if-fails is for graphs.")
        pipeline_page.write(session, story, is_full=is_full)
        return
    if has_runs:
        raise click.UsageError("--runs is for pipelines.")
    if if_fails is not None:
        _write_what_if(session, story, if_fails)
        return
    story = replace(story, why=session.advise(story.why))
    now = session.now()
    if session.is_json:
        session.screen.write_json(_record(story, now=now))
    else:
        parts = list(page(story, now=now, width=session.screen.width, glyphs=session.screen.glyphs, is_full=is_full))
        session.screen.write(_drawn(session.screen, parts))


def _write_what_if(session: Session, story: Story, job: str) -> None:
    screen, run = session.screen, story.view.run
    if run.kind is not RunKind.GRAPH:
        raise WrongState("run", run.id, f"no graph but a {run.kind.value}", wanted="a graph")
    found = what_if(story.jobs, job)
    if session.is_json:
        screen.write_json({"graph": run.id, **found.record})
    else:
        screen.write(_drawn(screen, list(told(job, found, width=screen.width, glyphs=screen.glyphs))))


async def _look(
    session: Session, opened: Opened, run: str | None, *, key: str | None, has_runs: bool
) -> Story | pipeline_page.PipelineStory | HandlerRunView:
    found = await pipeline_page.read(session, opened, run, has_runs=has_runs)
    if isinstance(found, pipeline_names.Meant):
        return await _read(session, opened, found.run, key=key)
    return found


async def _read(session: Session, opened: Opened, run: str | None, *, key: str | None) -> Story:
    namespace, runs = session.namespace, opened.runs
    view = await lookup.find(runs, run, key=key, namespace=namespace)
    steps, log, messages, explanation = await asyncio.gather(
        runs.list_steps(namespace, view.run.id),
        runs.read_log(namespace, view.run.id),
        runs.list_messages(namespace, view.run.id),
        runs.explain_run(namespace, view.run.id),
    )
    graph, jobs = None, tuple[JobView, ...]()
    graph_id = view.run.id if view.run.kind is RunKind.GRAPH else view.run.graph
    if graph_id is not None:
        graph = await opened.graphs.get_graph(namespace, graph_id)
        jobs = await graph_page.read_jobs(opened.graphs, namespace, graph_id)
    looked_at = graph_page.told_first(jobs)[: graph_page.MAX_JOBS] if view.run.kind is RunKind.GRAPH else ()
    briefs = {job.name: await in_brief(runs, job.run, now=session.now()) for job in looked_at}
    # Read again: what happened meanwhile is in the steps and the log, and the run must not be older than they are.
    view = await runs.get_run(namespace, view.run.id)
    brief = await in_brief(runs, view.run, now=session.now())
    return Story(
        view=view,
        steps=steps,
        log=log,
        messages=messages,
        why=explanation.text,
        brief=brief,
        graph=graph,
        jobs=jobs,
        briefs=briefs,
    )


def _drawn(screen: Screen, parts: Sequence[Text]) -> str:
    # Lines are cut to the width where they are made; --full means whole lines, which the terminal may wrap.
    return screen.draw(*(Text("\n").join(parts),), width=max([screen.width, *(part.cell_len for part in parts)]))


def page(story: Story, *, now: Instant, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """The lines of the page, none longer than `width` unless all of everything is wanted."""
    run = story.view.run
    yield from _header(story, now=now, width=width, glyphs=glyphs, is_full=is_full)
    yield from _waits(story, now=now, width=width, glyphs=glyphs, is_full=is_full)
    yield from _graph(story, now=now, width=width, glyphs=glyphs, is_full=is_full)
    if run.kind is not RunKind.GRAPH and (story.steps or run.started_at is not None):
        yield Text()
        lanes = lanes_of(run, steps=story.steps, log=story.log, now=now)
        yield from timeline.draw(lanes, span=span(run, now=now), width=width, glyphs=glyphs, is_full=is_full)
    yield from _outcome(story, width=width, is_full=is_full)
    yield from _results(story.steps, width=width, glyphs=glyphs, is_full=is_full)
    yield from _messages(story.messages, width=width, glyphs=glyphs, is_full=is_full)
    yield from _failures(story, width=width, glyphs=glyphs, is_full=is_full)
    yield from _log(story, width=width, glyphs=glyphs, is_full=is_full)


def _header(story: Story, *, now: Instant, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    view, run = story.view, story.view.run
    style = STATUS_STYLES[run.status]
    first, *rest = payloads.call(run.name, view.input, width=width - 14, is_full=is_full)
    yield (
        Text(f"{status_glyph(run.status, glyphs=glyphs)} {run.status.value}", style=style)
        .append("  ")
        .append(first, style="bold not dim")
    )
    for line in rest:
        yield Text("    " + line)
    facts: list[str] = [run.id]
    if view.key is not None:
        facts.append(f"key {escape(view.key)}")
    if run.queue != "default":
        facts.append(f"queue {escape(run.queue)}")
    if run.version:
        facts.append(f"version {escape(run.version)}")
    if run.priority:
        facts.append(f"priority {run.priority}")
    yield from _listed([*facts, *_relatives(run)], width=width, glyphs=glyphs)
    yield from _listed(_times(run, now=now), width=width, glyphs=glyphs)
    if not run.status.is_terminal:  # how it ended is told below
        yield from _wrapped(escape(story.why), width=width, style="" if run.status is RunStatus.RUNNING else style)


def _graph(story: Story, *, now: Instant, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """The jobs of a graph; of a job what it needs."""
    run, graph = story.view.run, story.graph
    if graph is None:
        return
    if run.kind is not RunKind.GRAPH:
        job = next((job for job in story.jobs if job.name == run.job), None)
        if job is not None and job.needs:
            yield from _title("Needs")
            yield from graph_page.needed(job, story.jobs, width=width, glyphs=glyphs, is_full=is_full)
        return
    yield from _title("Jobs")
    running = sum(job.status is RunStatus.RUNNING for job in story.jobs)
    for line in graph_page.progress_lines(graph.graph, running=running, width=width - 2, glyphs=glyphs):
        yield Text("  ").append_text(line)
    yield Text()
    yield from graph_page.picture(story.jobs, width=width, glyphs=glyphs, is_full=is_full)
    lines = list(graph_page.table(story.jobs, story.briefs, now=now, width=width, glyphs=glyphs, is_full=is_full))
    if lines:
        yield from _title("Not completed")
        yield from lines


def _relatives(run: Run) -> list[str]:
    """The runs this one comes from."""
    facts: list[str] = []
    if run.graph is not None:
        facts.append(f"job {escape(run.job or '')} of graph {run.graph}")
    elif run.parent is not None:
        facts.append(f"child of {run.parent}" + (f" (step {escape(run.parent_step)})" if run.parent_step else ""))
    if run.retry_of is not None:
        facts.append(f"tries {run.retry_of} again")
    if run.schedule is not None:
        facts.append(f"schedule {escape(run.schedule)}" + _slot(run))
    return facts


def _slot(run: Run) -> str:
    """For which time of its schedule it is, and how late it began."""
    if run.slot is None:
        return "" if run.retry_of is not None else ", triggered"
    late = 0 if run.started_at is None else run.started_at - run.slot
    told = f", {describe(Duration(late))} late" if late >= SECOND else ""
    return f" for {from_instant(run.slot):%Y-%m-%d %H:%M:%S} UTC{told}"


def _waits(story: Story, *, now: Instant, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    waiting = awaited.open_waits(story.view.run, story.steps)
    if not waiting:
        return
    yield from _title("Waits for")
    yield from awaited.waits(waiting, now=now, width=width, glyphs=glyphs, is_full=is_full)


def _messages(messages: Sequence[Message], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    if not messages:
        return
    yield from _title(awaited.messages_title(messages))
    yield from awaited.message_lines(messages, width=width, glyphs=glyphs, is_full=is_full)


def _times(run: Run, *, now: Instant) -> list[str]:
    times = [f"{from_instant(run.created_at):%Y-%m-%d %H:%M:%S} UTC, {between(run.created_at, now)} ago"]
    if run.started_at is not None and run.started_at - run.created_at >= SECOND:
        times.append(f"waited {between(run.created_at, run.started_at)}")
    if run.started_at is not None and run.finished_at is not None:
        times.append(f"took {describe(Duration(run.finished_at - run.started_at))}")
    if run.attempts:
        times.append("1 claim" if run.attempts == 1 else f"{run.attempts} claims")
    if run.expires_at is not None and not run.status.is_terminal:
        times.append(f"times out at {moment(run.expires_at, now=now)}, in {between(now, run.expires_at)}")
    if run.is_held:
        times.append("is to be paused")
    return times


def _listed(facts: Sequence[str], *, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Facts side by side, on a new line where they would not fit."""
    line = f"  {facts[0]}"
    for fact in facts[1:]:
        longer = f"{line} {glyphs.dot} {fact}"
        if cell_len(longer) > width:
            yield Text(cut(line, width, glyphs=glyphs), style=DIM)
            line = f"  {fact}"
        else:
            line = longer
    yield Text(cut(line, width, glyphs=glyphs), style=DIM)


def _wrapped(text: str, *, width: int, style: str) -> Iterator[Text]:
    for line in wrapped(text, width=width - 2):
        yield Text(f"  {line}", style=style)


def _outcome(story: Story, *, width: int, is_full: bool) -> Iterator[Text]:
    view = story.view
    if view.run.status is RunStatus.COMPLETED and view.output:
        yield from _title("Result")
        for line in payloads.lines(view.output, width=width - 2, is_full=is_full):
            yield Text(f"  {line}")
    elif view.run.status is RunStatus.SKIPPED:
        yield from _title("Skipped")
        yield from _wrapped(escape(story.why), width=width, style="")
    elif view.run.status is RunStatus.CANCELLED and story.log:
        # A graph that had to clean up ends later than it was cancelled.
        deeds = [entry for entry in story.log if entry.cause == CANCELLED_BY and entry.data is not None]
        is_deed = view.run.kind is not RunKind.GRAPH or story.log[-1].cause in (CANCELLED_BY, RETRIED_BY)
        title, said = awaited.cancelled(story.log[-1] if is_deed or not deeds else deeds[0])
        yield from _title(title)
        for text in said or ([escape(story.why)] if view.run.kind is RunKind.GRAPH else []):
            yield from _wrapped(text, width=width, style="")
    elif view.failure is not None and view.run.status is not RunStatus.PAUSED:
        failure = view.failure
        yield from _title(
            f"Failed: {failure.kind.value}" + (f", in step {escape(failure.step)}" if failure.step else "")
        )
        yield from _wrapped(summary(failure), width=width, style="red")
        for line in payloads.traceback(failure, is_full=is_full):
            yield Text(f"  {line}" if is_full else cut(f"  {line}", width), style=DIM)


def _results(steps: Sequence[Step], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    done = [step for step in steps if step.output is not None and step.output != b"null"]
    if not done:
        return
    yield from _title("Steps returned")
    shown = done if is_full else done[-MAX_RESULTS:]
    if len(done) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(done) - len(shown):,} more (--full)", style=DIM)
    room = min(max(len(escape(step.key)) for step in shown), width // 3)
    for step in shown:
        line = Text(f"  {cut(escape(step.key), room, glyphs=glyphs):{room}}  ", style="green")
        assert step.output is not None
        if is_full:
            yield line.append(
                "\n    ".join(payloads.lines(step.output, width=width - 4, is_full=True)), style="default"
            )
        else:
            yield line.append(payloads.one_line(step.output, width=width - room - 4, glyphs=glyphs), style="default")


def _failures(story: Story, *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    run = story.view.run
    latest = latest_attempts(story.steps)
    broken = [
        step
        for step in story.steps
        if step.status is StepStatus.FAILED or is_interrupted(step, run=run, latest_attempt=latest[step.key])
    ]
    if not broken:
        return
    yield from _title("Attempts that did not succeed")
    shown = broken if is_full else broken[-MAX_FAILURES:]
    if len(broken) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(broken) - len(shown):,} earlier (--full)", style=DIM)
    start = span(run, now=Instant(0))[0]
    for step in shown:
        offset = describe(Duration(max(0, (step.started_at or start) - start)))
        what = "interrupted: its worker went away" if step.failure is None else summary(step.failure)
        style = "magenta" if step.failure is None else "red"
        sign = glyphs.interrupted if step.failure is None else glyphs.failed
        line = f"  {sign} {escape(step.key)} {glyphs.dot} attempt {step.attempt} at +{offset}  {what}"
        yield Text(line if is_full else cut(line, width, glyphs=glyphs), style=style)
        if is_full and step.failure is not None:
            for trace in payloads.traceback(step.failure, is_full=True):
                yield Text(f"      {trace}", style=DIM)


def _log(story: Story, *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    if story.log:
        yield from _title("Log")
        yield from awaited.log_lines(story.log, width=width, glyphs=glyphs, is_full=is_full)


def _title(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold")


def _record(story: Story, *, now: Instant) -> dict[str, object]:
    run, latest = story.view.run, latest_attempts(story.steps)
    failure = story.view.failure
    waits_for = "" if run.status.is_terminal else in_short(run, failure=failure, now=now, brief=story.brief)
    return {
        **records.view(story.view, waits_for=waits_for),
        **_record_of_graph(story, now=now, waits_for=waits_for),
        "steps": [
            records.step(step, is_interrupted=is_interrupted(step, run=run, latest_attempt=latest[step.key]))
            for step in story.steps
        ],
        "messages": [records.message(message) for message in story.messages],
        "log": [records.entry(entry) for entry in story.log],
    }


def _record_of_graph(story: Story, *, now: Instant, waits_for: str) -> dict[str, object]:
    """A graph has its jobs, and a job what is known of it in its graph."""
    run, graph = story.view.run, story.graph
    if graph is None:
        return {}
    if run.kind is RunKind.GRAPH:
        return graph_page.record(graph, story.jobs, story.briefs, now=now)
    own = next((job for job in story.jobs if job.name == run.job), None)
    return {"in_graph": None if own is None else records.job(own, waits_for=waits_for)}

"""T6: a handler did not go well, was given back unfinished, or lost its worker."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.effects import doubt
from windlass.engine.pipeline.reserve import active_run
from windlass.errors import ClaimLost
from windlass.model.pipeline import HandlerRun, HandlerStatus, Pipeline, PipelineStatus
from windlass.model.pipeline_work import FixHandler, StopHandler, Stopped, Task, TaskKind
from windlass.model.time import Duration, Instant
from windlass.rules import effects as effect_rules
from windlass.rules import phases


async def stop_handler(desk: Desk, command: StopHandler) -> Stopped:
    """Status, events, ledger, the pointer to the attempt and what the pipeline waits for are one commit."""
    repeat = desk.book.runs.get(command.run_id)
    found = desk.pipelines.get(command.pipeline)
    if repeat is not None and found is not None and _is_repeat(repeat, command):
        return _told(desk, found, repeat)
    pipeline = desk.held(command.pipeline, token=command.token)
    run = active_run(desk, pipeline, command.run_id, token=command.token)
    decided = phases.stop(
        run, pipeline, phase=command.phase, failure=command.failure, verdict=command.verdict, now=desk.now
    )
    desk.book.put(decided.run)
    effect = desk.effect(run)
    if effect is not None and decided.is_failed:
        by = effect_rules.source(is_found=command.is_found)
        desk.ledger.put(effect_rules.failed(effect, by=by, now=desk.now, failure=command.failure))
    if not decided.keeps_events and run.reserved:
        await desk.tx.reserved.release(desk.namespace, run_id=run.id)
    if effect is not None and decided.is_unknown:
        doubtful = effect_rules.in_doubt(
            effect, failure=command.failure, now=desk.now, is_inside=command.is_inside, is_cut=command.is_cut
        )
        desk.ledger.put(doubtful)
        await doubt(desk, pipeline, doubtful)
    else:
        desk.put(decided.pipeline, cause=decided.run.status.value)
        await desk.release(decided.pipeline)
    return _told(desk, desk.pipelines[pipeline.name], decided.run)


def _is_repeat(run: HandlerRun, command: StopHandler) -> bool:
    is_over = run.status not in (HandlerStatus.ACTIVE, HandlerStatus.COMMITTED, HandlerStatus.CRASHED)
    return is_over and run.token == command.token and run.failure == command.failure


def _told(desk: Desk, pipeline: Pipeline, run: HandlerRun) -> Stopped:
    due = pipeline.available_at if pipeline.status is PipelineStatus.BACKOFF else None
    return Stopped(run=run, pipeline=pipeline, retry_in=None if due is None else Duration(max(0, due - desk.now)))


async def fix_handler(desk: Desk, command: FixHandler) -> Instant:
    """What `on_logic_error` has come to: the attempt is tried again, or a person is needed."""
    if _is_said(desk, command):
        return desk.now
    pipeline = desk.held(command.pipeline, token=command.token)
    run = desk.current(pipeline)
    if run is None or run.id != command.run_id or run.status is not HandlerStatus.FAILED_LOGIC:
        raise ClaimLost(command.run_id, token=command.token)
    if command.note is not None:
        desk.book.put(replace(run, note=command.note, updated_at=desk.now))
    decided = phases.fix(pipeline, is_fixed=command.is_fixed, now=desk.now)
    if decided.status is PipelineStatus.IDLE:
        desk.put(decided, cause="fixed")
        await desk.release(decided)
    else:
        desk.put(decided, cause="given up")
    return desk.now


def _is_said(desk: Desk, command: FixHandler) -> bool:
    """The same call again, which has given the claim back: its answer was lost on its way."""
    found = desk.pipelines.get(command.pipeline)
    run = None if found is None else desk.current(found)
    left_as = (PipelineStatus.IDLE,) if command.is_fixed else (PipelineStatus.ATTENTION, PipelineStatus.IDLE)
    if found is None or found.token != command.token or found.status not in left_as:
        return False
    return run is not None and run.id == command.run_id and run.status is HandlerStatus.FAILED_LOGIC


async def cut_off(desk: Desk, attempts: Attempts, pipeline: Pipeline, *, is_release: bool) -> None:
    """Whoever held a pipeline is gone: its attempt counts as crashed, and what may have happened is in doubt."""
    run = desk.current(pipeline)
    if run is None or run.status is not HandlerStatus.ACTIVE:
        return
    effect = desk.effect(run)
    if is_release and effect is None and phases.is_approved(run):
        desk.book.put(phases.unbegun(run, now=desk.now))
        return
    crashed = phases.crash(run, now=desk.now, is_release=is_release)
    desk.book.put(crashed)
    if effect is not None and effect.status.is_open:
        await attempts.take_over_doubt(pipeline, crashed, effect)
    elif not phases.keeps_events(crashed, effect) and run.reserved:
        await desk.tx.reserved.release(desk.namespace, run_id=run.id)


def crash_loop(desk: Desk, pipeline: Pipeline, *, recoveries: int, silent_for: Duration | None = None) -> Task | None:
    """Nobody holds it from here on. Whoever was about to has only to tell people."""
    attempt = desk.current(pipeline)
    run, held = phases.crash_loop(attempt, pipeline, recoveries=recoveries, now=desk.now, silent_for=silent_for)
    desk.put(held, cause="crash_loop")
    if run is None:
        return None
    desk.book.put(run)
    return Task(
        kind=TaskKind.TELL,
        run_id=run.id,
        handler=run.handler,
        phase=run.phase,
        attempt=run.attempt,
        failure=run.failure,
    )

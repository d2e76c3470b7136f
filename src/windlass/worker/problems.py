"""Whom a worker asks and tells when a pipeline goes wrong: `on_logic_error`, `on_attention`, `on_indeterminate`.

They are called when everything is written, and are never in the way: what they raise is logged. The last two are told
at most once: that a person is needed stands in the row of the pipeline and in the log, and nobody notes who was told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windlass.codec import safe_text
from windlass.define.pipeline_values import Fixed, GiveUp, Problem
from windlass.model.effect import INLINE_FOR
from windlass.model.failure import Failure
from windlass.model.pipeline import HandlerStatus, Issue, Phase, PipelineStatus
from windlass.model.pipeline_work import ReconcileEffect, Stopped, Task
from windlass.model.time import MINUTE, Duration
from windlass.rules.limits import MAX_NOTE

if TYPE_CHECKING:
    from windlass.worker.handling import Handling

LOGGER = logging.getLogger("windlass.worker")

FIXER_FOR = Duration(4 * MINUTE)  # the most that `on_logic_error` may take


async def ask_fixer(handling: Handling, task: Task) -> tuple[bool, str | None]:
    """Has `on_logic_error` put the cause right, and what does it say about that?"""
    fixer = handling.definition.on_logic_error
    if fixer is None:
        return False, None
    await handling.secure()
    problem = _problem(handling, task, status=HandlerStatus.FAILED_LOGIC, failure=task.failure)
    ran = await handling.run(fixer, (problem,), timeout_for=FIXER_FOR)
    if ran.is_timed_out or ran.error is not None:
        kind = "TimeoutError" if ran.is_timed_out or ran.error is None else type(ran.error).__qualname__
        LOGGER.warning("on_logic_error of pipeline %r failed: %s", handling.claimed.name, kind, exc_info=ran.error)
        return False, f"on_logic_error failed: {kind}"
    answer = ran.value
    if isinstance(answer, Fixed | GiveUp):
        return isinstance(answer, Fixed), safe_text(answer.note)[:MAX_NOTE] or None
    if answer is not None:
        told = "on_logic_error of pipeline %r answers with Fixed(), GiveUp() or None, not with %s"
        LOGGER.warning(told, handling.claimed.name, type(answer).__name__)
    return False, None


async def tell(handling: Handling, stopped: Stopped) -> None:
    """A handler stopped: tell whoever wants to hear that a person is needed, if one is."""
    pipeline, run = stopped.pipeline, stopped.run
    if pipeline.status is not PipelineStatus.ATTENTION:
        return
    problem = Problem(
        pipeline=pipeline.name,
        handler=run.handler,
        run_id=run.id,
        phase=run.phase.value,
        status=run.status.value,
        issue=None if pipeline.issue is None else pipeline.issue.value,
        failure=run.failure,
        attempt=run.attempt,
    )
    await _tell(handling, problem)


async def tell_parked(handling: Handling, task: Task) -> None:
    """A person has to approve."""
    status = HandlerStatus.PAUSED_APPROVAL
    problem = _problem(handling, task, status=status, issue=Issue.APPROVAL, phase=Phase.PREPARED)
    await _tell(handling, problem)


async def tell_found(handling: Handling, task: Task, found: ReconcileEffect) -> None:
    """`reconcile` was asked in vain for the last time, or what it found out has failed too often."""
    status, issue = HandlerStatus.PAUSED_RECONCILIATION, Issue.INDETERMINATE
    if found.did_not_happen:
        status, issue = HandlerStatus.PAUSED_TRANSIENT, Issue.EXHAUSTED
    await _tell(handling, _problem(handling, task, status=status, issue=issue, failure=found.failure))


async def tell_unfixed(handling: Handling, task: Task) -> None:
    status = HandlerStatus.FAILED_LOGIC
    await _tell(handling, _problem(handling, task, status=status, issue=Issue.LOGIC, failure=task.failure))


async def tell_crash_loop(handling: Handling, task: Task) -> None:
    """Worker after worker was lost while at it."""
    status = HandlerStatus.CRASHED
    await _tell(handling, _problem(handling, task, status=status, issue=Issue.CRASH_LOOP, failure=task.failure))


def _problem(
    handling: Handling,
    task: Task,
    *,
    status: HandlerStatus,
    issue: Issue | None = None,
    failure: Failure | None = None,
    phase: Phase | None = None,
) -> Problem:
    return Problem(
        pipeline=handling.claimed.name,
        handler=task.handler,
        run_id=task.run_id,
        phase=(phase or task.phase).value,
        status=status.value,
        issue=None if issue is None else issue.value,
        failure=failure,
        attempt=task.attempt,
    )


async def _tell(handling: Handling, problem: Problem) -> None:
    """That of an effect of which nobody knows is told to `on_indeterminate`, where there is one."""
    about = {"pipeline": problem.pipeline, "handler": problem.handler, "run": problem.run_id}
    told = "Pipeline %r needs a person (%s): handler %r stopped in phase %s. See: windlass explain %s"
    LOGGER.warning(told, problem.pipeline, problem.issue, problem.handler, problem.phase, problem.pipeline, extra=about)
    definition = handling.definition
    hook: Callable[..., Any] | None = definition.on_attention
    if problem.issue == Issue.INDETERMINATE and definition.on_indeterminate is not None:
        hook = definition.on_indeterminate
    if hook is None:
        return
    ran = await handling.run(hook, (problem,), timeout_for=INLINE_FOR, is_last=True)
    if ran.is_timed_out or ran.error is not None:
        kind = "TimeoutError" if ran.is_timed_out or ran.error is None else type(ran.error).__qualname__
        name = getattr(hook, "__name__", type(hook).__name__)
        LOGGER.warning("%s of pipeline %r failed: %s", name, problem.pipeline, kind, exc_info=ran.error, extra=about)

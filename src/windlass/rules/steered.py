"""What people may do to a pipeline, as it stands."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.pipeline import (
    EffectOutcome,
    HandlerRun,
    HandlerStatus,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
)
from windlass.model.time import Instant
from windlass.rules.phases import freed

# What a person has to say more about than "go on".
UNDECIDED = {
    Issue.APPROVAL: "Decide: windlass approve {name}, or windlass reject {name}",
    Issue.INDETERMINATE: "Say whether it happened: windlass resolve {name} --happened | --did-not-happen | --skip",
}
STANDING = {  # as people are told elsewhere
    PipelineStatus.RUNNING: "at work",
    PipelineStatus.BACKOFF: "retrying what failed",
    PipelineStatus.RECONCILING: "finding out whether its effect happened",
    PipelineStatus.FIXING: "under repair",
}
UNDONE = (None, EffectOutcome.NONE, EffectOutcome.FAILURE)  # of an attempt: nothing of it has happened outside


def standing(pipeline: Pipeline) -> str:
    """How it stands, in a word or two of a refusal."""
    if not pipeline.is_declared:
        return "no longer declared"
    if pipeline.status is PipelineStatus.ATTENTION and pipeline.issue is not None:
        return f"held ({pipeline.issue.value.replace('_', ' ')})"
    if pipeline.is_paused:
        return "paused"
    return STANDING.get(pipeline.status, pipeline.status.value)


def pause(pipeline: Pipeline, *, now: Instant, by: str | None, note: str | None) -> Pipeline:
    """Let nothing more of it begin."""
    if pipeline.is_paused:
        return pipeline  # whoever paused it first stays named
    paused = replace(pipeline, is_paused=True, paused_by=by, note=note, paused_at=now)
    if pipeline.status is PipelineStatus.RUNNING:
        return paused  # the handler that is at work goes on to its end
    return replace(paused, available_at=None)


def resume(pipeline: Pipeline, *, now: Instant) -> Pipeline:
    """Let it go on. Raises WrongState where something has to be decided first."""
    _check_declared(pipeline)
    resumed = pipeline
    if pipeline.is_paused:
        resumed = replace(pipeline, is_paused=False, paused_by=None, note=None, paused_at=None)
    if pipeline.status is not PipelineStatus.ATTENTION:
        return resumed
    if pipeline.issue in UNDECIDED:
        if pipeline.is_paused:
            return resumed  # it waits for that decision, and for nothing else
        raise _undecided(pipeline)
    return freed(resumed, now=now)


def retry(pipeline: Pipeline, run: HandlerRun | None, *, now: Instant) -> Pipeline:
    """Try what stopped once more, now. Raises WrongState if nothing has, or something has to be decided first."""
    _check_declared(pipeline)
    if pipeline.status is PipelineStatus.ATTENTION and pipeline.issue in UNDECIDED:
        raise _undecided(pipeline)
    if pipeline.status in (PipelineStatus.ATTENTION, PipelineStatus.BACKOFF, PipelineStatus.FIXING):
        return freed(pipeline, now=now)
    if pipeline.status is PipelineStatus.IDLE and run is not None:
        return pipeline  # asked for before: it is about to
    is_idle = pipeline.status is PipelineStatus.IDLE and not pipeline.is_paused
    raise WrongState(
        "Pipeline",
        repr(pipeline.name),
        standing(pipeline),
        wanted="one whose handler has stopped",
        hint=f"To begin its producers now: windlass run-now {pipeline.name}" if is_idle else _why_not(pipeline),
    )


def check_run_now(pipeline: Pipeline, *, has_producers: bool) -> None:
    """Raises WrongState, with the reason, unless nothing of it is at work and nothing holds it."""
    _check_declared(pipeline)
    is_idle = pipeline.status is PipelineStatus.IDLE
    if pipeline.is_paused or not is_idle or pipeline.run_id is not None:
        how = "about to begin" if is_idle and not pipeline.is_paused else standing(pipeline)
        raise WrongState("Pipeline", repr(pipeline.name), how, wanted="an idle one", hint=_why_not(pipeline))
    if not has_producers:
        raise WrongState(
            "Pipeline",
            repr(pipeline.name),
            "without producers",
            wanted="one with a producer",
            hint="Its consumers begin when something is published: windlass publish TOPIC JSON --id ID",
        )


def may_end(pipeline: Pipeline, run: HandlerRun) -> bool:
    """May this attempt be ended, because nobody wants its events any more? Not if its effect has happened.

    Raises WrongState while nobody knows that.
    """
    is_mutating = run.phase is Phase.MUTATING and run.outcome is not EffectOutcome.FAILURE
    if run.status is HandlerStatus.PAUSED_RECONCILIATION or is_mutating:
        is_calling = run.status is HandlerStatus.ACTIVE
        said = f"Say so first: windlass resolve {pipeline.name} --happened | --did-not-happen | --skip"
        raise WrongState(
            "Pipeline",
            repr(pipeline.name),
            "at its effect just now" if is_calling else "in doubt about this",
            wanted="one that knows whether its effect happened",
            hint="Ask again when that is over." if is_calling else said,
        )
    return run.outcome in UNDONE


def ended(pipeline: Pipeline, *, now: Instant) -> Pipeline:
    """Its attempt is ended, and with it the claim of whoever is at it."""
    return replace(freed(pipeline, now=now), run_id=None, worker=None, token=pipeline.token + 1)


def _why_not(pipeline: Pipeline) -> str:
    name = pipeline.name
    if pipeline.is_paused:
        return f"Resume it first: windlass resume {name}"
    match pipeline.status:
        case PipelineStatus.RUNNING:
            return "A handler of it is at work; ask again when that is over."
        case PipelineStatus.BACKOFF:
            return f"What failed is tried again by itself, or now: windlass retry {name}"
        case PipelineStatus.ATTENTION if pipeline.issue is not None and pipeline.issue not in UNDECIDED:
            return f"Put it right, then: windlass resume {name}"
        case PipelineStatus.ATTENTION if pipeline.issue is not None:
            return UNDECIDED[pipeline.issue].format(name=name)
    return f"See: windlass explain {name}"


def _undecided(pipeline: Pipeline) -> WrongState:
    assert pipeline.issue is not None
    return WrongState(
        "Pipeline",
        repr(pipeline.name),
        standing(pipeline),
        wanted="a decision",
        hint=UNDECIDED[pipeline.issue].format(name=pipeline.name),
    )


def _check_declared(pipeline: Pipeline) -> None:
    if not pipeline.is_declared:
        raise WrongState(
            "Pipeline",
            repr(pipeline.name),
            "no longer declared",
            wanted="one that the code declares",
            hint=f"Declare it again in {pipeline.declared_in}, and start a worker.",
        )

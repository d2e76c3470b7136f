"""Which approval is meant, and whether it can still be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.errors import InvalidInput, NotFound, WrongState
from windlass.model.commands import Decide
from windlass.model.message import Decision, DecisionOutcome
from windlass.model.run import Run
from windlass.model.step import Step, StepStatus
from windlass.model.time import Instant
from windlass.rules.steps import is_late

Made = Mapping[str, Decision]  # what was decided, by the key of the approval


def outcome(command: Decide) -> DecisionOutcome:
    return "approved" if command.is_approved else "rejected"


def choose(meant: str | None, command: Decide, run: Run, asked: Sequence[Step], made: Made) -> Step:
    """The approval that is meant: the one named, else the only one that waits, else the last that was decided."""
    if meant is not None:
        named = next((step for step in asked if step.key == meant), None)
        if named is None:
            raise NotFound("Approval", meant, close=[step.key for step in asked])
        return named
    waiting = [step for step in asked if step.status is StepStatus.WAITING and step.key not in made]
    if len(waiting) > 1:
        keys = ", ".join(repr(step.key) for step in waiting)
        raise InvalidInput(
            f"Run {run.id} waits for {len(waiting)} approvals. Say which one with step=: {keys}.",
            reason="ambiguous_approval",
            path="step",
        )
    if waiting:
        _refuse_second_click(command, run, waiting[0], made)
        return waiting[0]
    if not asked:
        raise WrongState("Run", run.id, run.status, wanted="one that waits for an approval")
    return max(asked, key=lambda step: (step.started_at or 0, step.order or 0))


def _refuse_second_click(command: Decide, run: Run, step: Step, made: Made) -> None:
    """Somebody who has decided so before may be asking for that again, and not for the next approval."""
    wanted = outcome(command)
    for key, decision in made.items():
        if (decision.outcome, decision.by) == (wanted, command.by):
            raise InvalidInput(
                f"Approval {key!r} of {run.id} is {wanted} already, "
                f"and {step.key!r} ({step.awaits}) waits now. Say which one with step=: {step.key!r}.",
                reason="ambiguous_approval",
                path="step",
            )


def check_same(command: Decide, run: Run, step: Step, decision: Decision) -> Decision:
    """The decision that was made, if it is the one asked for now."""
    if decision.outcome != outcome(command) or (command.by is not None and decision.by != command.by):
        by = f" by {decision.by}" if decision.by else ""
        raise WrongState("Approval", f"{step.awaits!r} of {run.id}", f"{decision.outcome}{by}", wanted="waiting")
    return decision


def check_open(run: Run, step: Step, *, now: Instant) -> None:
    """Raise WrongState for an approval that nobody waits for any more."""
    if run.status.is_terminal or step.status is not StepStatus.WAITING or is_late(step, now=now):
        raise WrongState("Approval", f"{step.awaits!r} of {run.id}", _standing(run, step), wanted="waiting")


def _standing(run: Run, step: Step) -> str:
    if step.status is StepStatus.WAITING:
        return f"over with its run, which is {run.status.value}" if run.status.is_terminal else "expired"
    return "over"

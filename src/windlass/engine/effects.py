"""Effects as steps of runs: the same ledger, under the lock and the token of the run.

begin ─► in flight ─► the body ─► the step's completion applies the ledger, in one transaction
                         └─ raised, and it may have happened ─► reconcile, then or later ─► a person
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from windlass.answers import Answer
from windlass.engine.audit import Audit
from windlass.engine.graph.lock import lock_graph_of
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.release import lock_claimed
from windlass.engine.resume import let_go_on, tell_of_resumed
from windlass.errors import ClaimLost, InvalidInput, WrongState
from windlass.model.commands import Claim
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.pipeline_commands import ResolveEffect
from windlass.model.pipeline_work import (
    BeginEffect,
    Begun,
    BegunKind,
    FailEffect,
    Reconciled,
    ReconcileEffect,
    Verdict,
)
from windlass.model.run import Deed, Run, RunId, RunStatus
from windlass.model.step import StepStatus
from windlass.model.time import Duration, Instant
from windlass.rules import effects as rules
from windlass.rules.effects import BY_CALL
from windlass.rules.limits import check_note, check_person
from windlass.store.base import Tx

T = TypeVar("T")


def answered(parts: Parts, work: Coroutine[Any, Any, T]) -> Answer[T]:
    """The answer to something that is a transaction of its own."""
    answer: Answer[T] = Answer()

    async def settle() -> None:
        try:
            answer.settle(await work)
        except Exception as error:  # told to whoever asked
            answer.settle(error)

    parts.spawn(settle())
    return answer


async def begin_effect(parts: Parts, command: BeginEffect) -> Begun:
    """May it be called? What it came to before is told, if it was: also by a run that this one tries again."""

    async def begin(tx: Tx) -> Begun:
        run, now = await _claimed(tx, command.namespace, command.run_id, token=command.token)
        effect = await _ledger(tx, command.namespace, command.run_id, command.step_key)
        if effect is None or (effect.status is EffectStatus.FAILED and not rules.is_skipped(effect)):
            attempt = 1 if effect is None else effect.attempt + 1
            ends = now if run.available_at is None else run.available_at
            new = rules.new_effect(command, SubjectKind.RUN, claim_ends=ends, now=now, attempt=attempt)
            await tx.effects.insert([new])
            return Begun(kind=BegunKind.ENTER, idempotency_key=new.idempotency_key, attempt=attempt)
        if effect.status is EffectStatus.IN_FLIGHT and effect.token == command.token:
            rules.check_begin(effect, command)
        begun = rules.begun(effect, token=command.token, now=now)
        if begun.kind is BegunKind.PERSON and effect.status is EffectStatus.IN_FLIGHT:  # the ledger is to say so, too
            await tx.effects.save([rules.in_doubt(effect, failure=None, now=now, is_inside=True)])
        return begun

    return await parts.run_tx("begin_effect", begin)


async def fail_effect(parts: Parts, command: FailEffect) -> Begun:
    """It raised. For certain: the step fails as any step. Else `reconcile` is asked, at once."""

    async def fail(tx: Tx) -> Begun:
        _, now = await _claimed(tx, command.namespace, command.run_id, token=command.token)
        effect = await _open(tx, command.namespace, command.run_id, command.step_key, token=command.token)
        if rules.is_overtaken(effect, attempt=command.attempt):
            return rules.begun(effect, token=command.token, now=now)
        if command.verdict is Verdict.FAILED:
            failed = rules.failed(effect, by=BY_CALL, now=now, failure=command.failure)
            await tx.effects.save([failed])
            return Begun(kind=BegunKind.ENTER, idempotency_key=effect.idempotency_key, attempt=effect.attempt + 1)
        doubtful = rules.in_doubt(
            effect, failure=command.failure, now=now, is_inside=command.is_inside, is_cut=command.is_cut
        )
        await tx.effects.save([doubtful])
        is_asked = doubtful.status is EffectStatus.NEEDS_RECONCILE and not command.is_inside
        if is_asked:
            return Begun(kind=BegunKind.RECONCILE, idempotency_key=effect.idempotency_key, attempt=effect.attempt)
        return rules.begun(doubtful, token=-1, now=now)

    return await parts.run_tx("fail_effect", fail)


async def reconcile_effect(parts: Parts, command: ReconcileEffect) -> Reconciled:
    """What `reconcile` answered. That it happened is written with the completion of the step."""

    async def reconcile(tx: Tx) -> Reconciled:
        _, now = await _claimed(tx, command.namespace, command.run_id, token=command.token)
        effect = await _ledger(tx, command.namespace, command.run_id, command.step_key)
        if effect is None or (effect.status is EffectStatus.APPLIED and command.result is None):
            raise ClaimLost(command.run_id, token=command.token)
        if not effect.status.is_open or effect.attempt != command.attempt:
            return Reconciled()  # the same word again
        knows = command.result is not None or command.did_not_happen
        if not knows and effect.next_at is not None and effect.next_at > now:  # asked at once, behind the call: it
            known = replace(effect, failure=command.failure or effect.failure, updated_at=now)  # counts from then
        else:
            known = rules.answered(
                effect,
                result=command.result,
                did_not_happen=command.did_not_happen,
                failure=command.failure,
                now=now,
            )
        await tx.effects.save([known])
        due = None if known.next_at is None else Duration(known.next_at - now)
        return Reconciled(due_in=due, needs_person=known.status is EffectStatus.INDETERMINATE)

    return await parts.run_tx("reconcile_effect", reconcile)


async def resolve_of_run(parts: Parts, command: ResolveEffect) -> Effect:
    """A person says whether an effect of a run happened; a run that waits for that goes on."""
    by, note = check_person(command.by) or "somebody", check_note(command.note)
    audit = Audit.of_caller("resolve_effect")
    said: list[Effect] = []  # asked again after a lost answer, it is still about this very call

    async def go_on(tx: Tx, run: Run, was: Effect, known: Effect) -> tuple[Effect, Run | None]:
        said[:] = [known]
        await tx.effects.save([known])
        deed = Deed(by=command.by, note=note)
        resumed = await let_go_on(tx, run, deed=deed) if run.status is RunStatus.PAUSED else None
        after = f"{was.name}: {command.resolution.value}"
        await audit.note(tx, command.namespace, subject=run.id, before=was.status, after=after)
        return known, resumed

    async def resolve(tx: Tx) -> tuple[Effect, Run | None]:
        run_id = RunId(command.subject)
        await lock_graph_of(tx, command.namespace, run_id)  # should it be a job, its graph comes first
        run = await tx.runs.lock(command.namespace, id=run_id)
        if run is None:
            raise no_run(run_id)
        if said and await _is_said(tx, said[0]):
            return said[0], None
        effect = await _meant(tx, command)
        is_other = rules.corrects(effect, command.resolution, command.result)
        if is_other and run.status is RunStatus.PAUSED and not await _is_completed(tx, effect):
            known = rules.corrected(effect, result=command.result, by=by, note=note, now=await tx.now())
            return await go_on(tx, run, effect, known)
        is_same = effect.resolution is command.resolution and effect.resolved_by == by and not is_other
        if is_same or (command.attempt is not None and not effect.status.is_open and effect.resolution is not None):
            return effect, None  # the same word again
        now = await tx.now()
        known = rules.resolved(effect, command.resolution, result=command.result, by=by, note=note, now=now)
        return await go_on(tx, run, effect, known)

    effect, resumed = await parts.run_tx("resolve_effect", resolve)
    if resumed is not None:
        tell_of_resumed(parts, [resumed])
    return effect


async def _is_completed(tx: Tx, effect: Effect) -> bool:
    """Has its step taken what it returned?"""
    run_id = RunId(effect.owner)
    steps = (await tx.steps.histories(effect.namespace, [run_id])).get(run_id, [])
    return any(step.key == effect.step_key and step.status is StepStatus.COMPLETED for step in steps)


async def _is_said(tx: Tx, known: Effect) -> bool:
    """Was this written about a call, though the answer was lost? Then it may have been made again since."""
    found = await _ledger(tx, known.namespace, known.owner, known.step_key)
    return found is not None and (found.attempt != known.attempt or found.resolution is known.resolution)


async def _meant(tx: Tx, command: ResolveEffect) -> Effect:
    open = await tx.effects.open(command.namespace, subject=command.subject)
    calls = await tx.effects.calls(command.namespace, owners=[command.subject])
    decided = [item for item in calls if item.resolution is not None and item not in open]
    if command.attempt is not None:
        open = [item for item in open if item.attempt == command.attempt]
        decided = [item for item in decided if item.attempt == command.attempt]
    if command.step is not None:
        open = [item for item in open if item.step_key == command.step]
        decided = [item for item in decided if item.step_key == command.step]
    if len(open) > 1:
        steps = ", ".join(repr(item.step_key) for item in open)
        raise InvalidInput(
            f"Several effects of {command.subject} are open ({steps}): name one with --step.", path="step"
        )
    if not open and not decided:
        raise WrongState(
            "Run",
            command.subject,
            "sure about its effects",
            wanted="one with an effect of which nobody knows whether it happened",
            hint=f"See: windlass explain {command.subject}",
        )
    return open[0] if open else decided[-1]


async def _claimed(tx: Tx, namespace: str, run_id: str, *, token: int) -> tuple[Run, Instant]:
    """The run under this claim, locked. Raises ClaimLost."""
    run = await lock_claimed(tx, Claim(namespace=namespace, run_id=RunId(run_id), token=token))
    return run, await tx.now()


async def _ledger(tx: Tx, namespace: str, run_id: str, step_key: str) -> Effect | None:
    return (await tx.effects.of(namespace, owners=[run_id])).get((run_id, step_key))


async def _open(tx: Tx, namespace: str, run_id: str, step_key: str, *, token: int) -> Effect:
    effect = await _ledger(tx, namespace, run_id, step_key)
    if effect is None:
        raise ClaimLost(run_id, token=token)
    return effect

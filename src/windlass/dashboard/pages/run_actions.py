"""What may be done to a run."""

from __future__ import annotations

from windlass.api.checks import check
from windlass.codec import Codec
from windlass.dashboard.asking import Ask, Redirect, View, chosen
from windlass.errors import InvalidInput
from windlass.model.commands import CancelRun, Decide, PauseRun, ResumeRun, RetryRun
from windlass.model.effect import Resolution
from windlass.model.pipeline_commands import ResolveEffect
from windlass.model.run import RunStatus

RESOLUTIONS = {item.value: item for item in Resolution}
_codec = Codec()


async def cancel(ask: Ask) -> Redirect:
    command = CancelRun(namespace=ask.namespace, run_id=ask.run_id, by=ask.caller.key, note=ask.typed("note"))
    found = await ask.service.control.cancel_run(check(command))
    return _back(ask, "cancelled" if found.is_done else "was-over")


async def retry(ask: Ask) -> Redirect:
    command = RetryRun(namespace=ask.namespace, run_id=ask.run_id, from_step=ask.typed("step"), by=ask.caller.key)
    started = await ask.service.control.retry_run(check(command))
    return Redirect(ask.to("runs", started.run_id), "retried")


async def pause(ask: Ask) -> Redirect:
    command = PauseRun(namespace=ask.namespace, run_id=ask.run_id, by=ask.caller.key, note=ask.typed("note"))
    status = await ask.service.control.pause_run(check(command))
    return _back(ask, "paused" if status is RunStatus.PAUSED else "pausing")


async def resume(ask: Ask) -> Redirect:
    command = ResumeRun(namespace=ask.namespace, run_id=ask.run_id, by=ask.caller.key)
    await ask.service.control.resume_run(check(command))
    return _back(ask, "resumed")


async def approve(ask: Ask) -> Redirect:
    return await _decide(ask, is_approved=True)


async def reject(ask: Ask) -> Redirect:
    return await _decide(ask, is_approved=False)


async def _decide(ask: Ask, *, is_approved: bool) -> Redirect:
    command = Decide(
        namespace=ask.namespace,
        run_id=ask.run_id,
        is_approved=is_approved,
        by=ask.caller.key,
        note=ask.typed("note"),
        step=ask.typed("step"),
    )
    await ask.service.control.decide(check(command))
    return _back(ask, "approved" if is_approved else "rejected")


async def resolve(ask: Ask) -> Redirect:
    await resolve_effect(ask, subject=ask.run_id)
    return _back(ask, "resolved")


async def resolve_effect(ask: Ask, *, subject: str) -> None:
    """What somebody found out about an effect of a run or of a pipeline."""
    resolution = chosen(ask.form, "resolution", RESOLUTIONS, what="answer")
    if resolution is None:
        raise InvalidInput("Say whether it happened.", reason="invalid_form", path="resolution")
    attempt = ask.typed("attempt")
    command = ResolveEffect(
        namespace=ask.namespace,
        subject=subject,
        resolution=resolution,
        result=_result(ask.typed("result")) if resolution is Resolution.HAPPENED else None,
        step=ask.typed("step"),
        by=ask.caller.key,
        note=ask.typed("note"),
        owner=ask.typed("owner"),
        attempt=int(attempt) if attempt and attempt.isdecimal() and len(attempt) < 10 else None,
    )
    await ask.service.pipeline_control.resolve_effect(check(command))


def _result(text: str | None) -> bytes:
    """What a person says the effect returned, as it is stored."""
    if text is None:
        return _codec.encode(None)
    try:
        return _codec.encode(_codec.decode(text.encode()))
    except InvalidInput as refused:
        message = f'What it returned has to be JSON, such as {{"id": 7}}: {refused}'
        raise InvalidInput(message, reason="invalid_form", path="result") from None


def _back(ask: Ask, done: str) -> Redirect:
    return Redirect(ask.to("runs", ask.run_id), done)


VIEWS = tuple(
    View(path=f"/runs/{{run_id}}/{verb}", operation=operation, handler=handler, method="POST")
    for verb, operation, handler in (
        ("cancel", "cancel_run", cancel),
        ("retry", "retry_run", retry),
        ("pause", "pause_run", pause),
        ("resume", "resume_run", resume),
        ("approve", "decide", approve),
        ("reject", "decide", reject),
        ("resolve", "resolve_effect", resolve),
    )
)

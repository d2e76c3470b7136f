"""A program beside the workers: it starts runs and does things to them, with both ends of every question on record.

Killed and started anew, it does the same again: what it was answered before it does not ask a second time, and what got
no answer it asks once more, in the same words. So its story may be told again from the beginning after every crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from tests.lives.journal import Event, Journal, Line
from windlass.app import App
from windlass.client.handle import Handle
from windlass.client.pipelines import NOT_GIVEN, ResolutionLike
from windlass.errors import Rejected
from windlass.model.effect import Effect

Answer = Callable[[], Awaitable[Any]]
Question = tuple[str, str, str]  # what, about which run, under which id
DONE, REPEATED = "done", "repeated"  # what was heard: by this very question, or by one before it


class PipelineClient:
    """What is asked about pipelines."""

    def __init__(self, app: App, journal: Journal, *, lines: Sequence[Line] = ()) -> None:
        """`lines`: what the clients before it have written."""
        self._app, self._journal = app, journal
        answers = (line for line in lines if line.event in (Event.HEARD, Event.DECLINED))
        self._answered: dict[Question, Line] = {(line.what, line.run_id, line.key): line for line in answers}
        self._started = {(line.what, line.key): line.run_id for line in lines if line.event is Event.ACKED}

    async def publish(self, topic: Any, payload: Any, *, id: str) -> None:
        async def publish() -> str:
            return REPEATED if (await self._app.publish(topic, payload, id=id)).is_repeat else DONE

        await self._ask("publish", "", publish, key=id, value=topic.name)

    async def steer(self, what: Literal["pause", "resume", "retry", "run_now"], pipeline: str, *, by: str) -> None:
        """Under one name each person does each of these once."""

        async def steer() -> str:
            await getattr(self._app.pipelines, what)(pipeline, by=by)
            return DONE

        await self._ask(f"{what} of pipeline", pipeline, steer, key=by, who=by)

    async def decide(self, pipeline: str, *, attempt: str, is_approved: bool, by: str) -> None:
        async def decide() -> str:
            say = self._app.pipelines.approve if is_approved else self._app.pipelines.reject
            await say(pipeline, run_id=attempt, by=by)
            return DONE

        await self._ask("decide", pipeline, decide, key=attempt, who=by, value=is_approved)

    async def resolve(self, effect: Effect, resolution: ResolutionLike, *, by: str, result: Any = NOT_GIVEN) -> None:
        async def resolve() -> str:
            step = effect.step_key or None
            await self._app.pipelines.resolve(effect.subject, resolution, result=result, step=step, by=by)
            return DONE

        key = f"{effect.owner} {effect.step_key} {effect.attempt}"
        said = {"value": resolution, "idempotency_key": effect.idempotency_key}
        await self._ask("resolve", effect.subject, resolve, key=key, who=by, **said)

    async def _ask(self, what: str, run_id: str, ask: Answer, *, key: str = "", **fields: Any) -> str | None:
        known = self._answered.get((what, run_id, key))
        if known is not None:
            return known.outcome if known.event is Event.HEARD else None
        fields |= {"what": what, "run_id": run_id, "key": key}
        self._journal.write(Event.TOLD, **fields)
        try:
            outcome: str = await ask()
        except Rejected as error:
            self._journal.write(Event.DECLINED, **fields, outcome=error.code)
            return None
        self._journal.write(Event.HEARD, **fields, outcome=outcome)
        return outcome


class Client(PipelineClient):
    """`await life.client.send(handle, paid, 5, id="m-1")`: every call is one question, asked until it is answered."""

    async def start(self, fn: Callable[..., Any], /, *args: Any, key: str, **options: Any) -> Handle[Any]:
        definition = self._app._registry.find_workflow(fn)
        known = self._started.get((definition.name, key))
        if known is not None:
            return self._app.handle(known)
        fields = {"what": definition.name, "value": list(args), "key": key}
        self._journal.write(Event.ASKED, **fields)
        handle = await self._app.start(fn, *args, key=key, **options)
        self._journal.write(Event.ACKED, **fields, run_id=handle.id)
        return handle

    async def send(self, handle: Handle[Any], event: Any, payload: Any, *, id: str) -> None:
        async def send() -> str:
            return DONE if await handle.send(event, payload, id=id) else REPEATED

        await self._ask("send", handle.id, send, key=id, value=[event.name, payload])

    async def approve(self, handle: Handle[Any], *, by: str, step: str | None = None) -> None:
        async def approve() -> str:
            return (await handle.approve(by=by, step=step)).outcome

        await self._ask("approve", handle.id, approve, who=by, key=step or "")

    async def cancel(self, handle: Handle[Any], *, by: str) -> None:
        async def cancel() -> str:
            return DONE if await handle.cancel(by=by) else REPEATED

        await self._ask("cancel", handle.id, cancel, who=by)

    async def retry(self, handle: Handle[Any], *, by: str, from_step: str | None = None) -> Handle[Any] | None:
        """The new run; None if it was declined."""

        async def retry() -> str:
            return (await handle.retry(by=by, from_step=from_step)).id

        answer = await self._ask("retry", handle.id, retry, key=by, who=by, value=from_step)
        return None if answer is None else self._app.handle(answer)

    async def pause(self, handle: Handle[Any], *, by: str) -> None:
        async def pause() -> str:
            await handle.pause(by=by)
            return DONE

        await self._ask("pause", handle.id, pause, who=by)

    async def resume(self, handle: Handle[Any], *, by: str) -> None:
        async def resume() -> str:
            await handle.resume(by=by)
            return DONE

        await self._ask("resume", handle.id, resume, who=by)

    async def pause_queue(self, queue: str, *, by: str) -> None:
        async def pause() -> str:
            await self._app.pause(queue=queue, by=by)
            return DONE

        await self._ask("pause", "", pause, key=queue, who=by)

    async def resume_queue(self, queue: str, *, by: str) -> None:
        async def resume() -> str:
            await self._app.resume(queue=queue, by=by)
            return DONE

        await self._ask("resume", "", resume, key=queue, who=by)

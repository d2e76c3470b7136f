"""A run that was started by this one: asking something of it is a step like any other."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from windlass.define.child import Child
from windlass.define.current import current_step
from windlass.define.event import Event
from windlass.define.workflow import StepDefinition, WorkflowDefinition
from windlass.errors import WrongState
from windlass.model.commands import CancelRun, SendEvent
from windlass.model.run import RunId

if TYPE_CHECKING:
    from windlass.worker.context import RunContext


class RunChild(Child[Any]):
    def __init__(self, context: RunContext, run_id: str, definition: WorkflowDefinition, key: str) -> None:
        self.id = run_id
        self._context, self._definition, self._key = context, definition, key

    def result(self) -> Coroutine[object, None, Any]:
        return self._context.wait_for_run(RunId(self.id), self._definition, base=f"{self._key}/result")

    def send(self, event: Event[Any], payload: Any, /) -> Coroutine[object, None, None]:
        host = self._context.host
        host.codec.check_arguments((payload,), (event.type,), ("payload",), what=f"Event {event.name!r}")
        stored, hashed = host.codec.encode_hashed(payload)

        async def send() -> None:
            command = SendEvent(
                namespace=host.namespace,
                run_id=RunId(self.id),
                event=event.name,
                id=current_step().idempotency_key,  # sent again after a crash, it is the same event
                payload=stored,
                payload_hash=hashed,
            )
            await host.control.send_event(command)

        asked = (event.name, payload)
        return self._context.own_step(send, asked, base=f"{self._key}/send", raises=(WrongState,))

    def cancel(self) -> Coroutine[object, None, bool]:
        host = self._context.host

        async def cancel() -> bool:
            command = CancelRun(namespace=host.namespace, run_id=RunId(self.id), by=self._context.run_id)
            return (await host.control.cancel_run(command)).is_done

        return self._context.own_step(cancel, (), base=f"{self._key}/cancel")


def own_definition(name: str, function: Any, *, raises: tuple[type[BaseException], ...]) -> StepDefinition:
    """A step of ours inside a run of the user's."""
    return StepDefinition(
        name=name,
        function=function,
        retry=None,
        timeout_for=None,
        visibility_for=None,
        raises=raises,
        return_type=Any,
        declares_return=False,
        is_async=True,
        location="",
    )

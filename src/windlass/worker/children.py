"""A run that was started by this one: asking something of it is a step like any other."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from windlass.define.child import Child
from windlass.define.current import current_step
from windlass.define.event import Event, check_event
from windlass.define.workflow import StepDefinition, WorkflowDefinition
from windlass.errors import WrongState
from windlass.model.commands import CancelRun, Claim, SendEvent
from windlass.model.run import RunId, RunStatus

if TYPE_CHECKING:
    from windlass.worker.asking import Asking


class RunChild(Child[Any]):
    def __init__(self, asking: Asking, run_id: str, definition: WorkflowDefinition, key: str) -> None:
        self.id = run_id
        self._asking, self._definition, self._key = asking, definition, key

    def result(self) -> Coroutine[object, None, Any]:
        call = self._asking.for_result(self.id, self._definition, base=f"{self._key}/result")
        return self._asking.execution.ask(call)

    def send(self, event: Event[Any], payload: Any, /) -> Coroutine[object, None, None]:
        host = self._asking.host
        event = host.registry.find_event(check_event(event, verb="child.send"), verb="child.send")
        host.codec.check_arguments((payload,), (event.type,), ("payload",), what=f"Event {event.name!r}")
        stored, hashed = host.codec.encode_hashed(payload)

        async def send() -> None:
            command = SendEvent(
                namespace=host.namespace,
                run_id=RunId(self.id),
                event=event.name,
                # Sent again after a crash or by a retry, it is the same event; with another payload it is another.
                id=f"{current_step().idempotency_key}/{hashed.hex()}",
                payload=stored,
                payload_hash=hashed,
            )
            await host.work.send_to_child(self._claim(), command)

        definition = _own(f"{self._key}/send", send, raises=(WrongState,))
        return self._asking.execution.ask(self._asking.for_own_step(definition, (event.name, payload)))

    def cancel(self) -> Coroutine[object, None, bool]:
        host, by = self._asking.host, self._asking.execution.claimed.run_id

        async def cancel() -> bool:
            # After a crash it may be asked again, and asked twice a graph would end with its cleanup jobs.
            is_again = self._asking.execution.claimed.attempts > 1
            command = CancelRun(namespace=host.namespace, run_id=RunId(self.id), by=by, is_again=is_again)
            done = await host.work.cancel_child(self._claim(), command)
            # Not only whether this call did it: tried again after a crash, it would say no to its own deed.
            return done.is_done or done.status is RunStatus.CANCELLED

        definition = _own(f"{self._key}/cancel", cancel)
        return self._asking.execution.ask(self._asking.for_own_step(definition, ()))

    def _claim(self) -> Claim:
        claimed = self._asking.execution.claimed
        return Claim(namespace=self._asking.host.namespace, run_id=claimed.run_id, token=claimed.token)


def _own(name: str, function: Any, *, raises: tuple[type[BaseException], ...] = ()) -> StepDefinition:
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

"""Ask: start runs, find them again, pause and resume what they wait behind, say what to do when something happens.

Opens the database at the first await.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import Any, Concatenate, TypeVar, TypeVarTuple, Unpack, overload

from windlass.client.arming import Since, Watchable, arming_command
from windlass.client.calls import Call
from windlass.client.client import Client
from windlass.client.graphs import GraphHandle
from windlass.client.handle import Handle, HeldRun
from windlass.client.inside import refuse_inside_a_workflow
from windlass.client.items import Items
from windlass.client.pipelines import Pipelines
from windlass.client.publishing import Publishing
from windlass.client.schedules import Schedules
from windlass.client.signals import Signal, Signals
from windlass.define.context import Context
from windlass.define.event import Event
from windlass.define.graph import Graph
from windlass.define.input import Input
from windlass.define.options import StartOptions
from windlass.define.registry import Registry
from windlass.define.signal import StateLike
from windlass.define.topic import Topic
from windlass.errors import InvalidInput
from windlass.model.gate import GateKind
from windlass.model.pipeline_commands import Published
from windlass.model.signal import Firing
from windlass.rules.limits import check_name, check_queue

R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Asks:
    """The part of an App that asks. `app.sync` has the same, blocking."""

    _registry: Registry
    _client: Client
    _schedules: Schedules
    _publishing: Publishing
    _pipelines: Pipelines
    _items: Items
    _signals: Signals

    @overload
    async def start(self, graph: Graph, /, *args: Any, **options: Unpack[StartOptions]) -> GraphHandle: ...

    @overload
    async def start(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[StartOptions],
    ) -> Handle[R]: ...

    async def start(self, fn: Callable[..., Any], /, *args: *Ts, **options: Unpack[StartOptions]) -> Handle[Any]:
        """Store a run and return at once. It is executed by whoever serves its queue.

        The same `key` with the same arguments answers with the same run. Raises InvalidInput before anything is stored.
        Example: `handle = await app.start(order, "7", key="order-7", delay="10m")`.
        """
        refuse_inside_a_workflow("start", verb="app.start()")
        definition = self._registry.find_workflow(fn, verb="app.start")
        return await self._client.start(definition, args, options)

    async def start_many(self, calls: Iterable[Call[R]], /) -> list[Handle[R]]:
        """Store many runs, up to 10,000, and return their handles in the same order.

        All are checked before the first is stored; then each stands for itself. Raises InvalidInput, or AlreadyExists
        where a key belongs to other input: it names the positions, and all the others are started.
        Example: `await app.start_many([windlass.call(order, id, key=f"order-{id}") for id in ids])`.
        """
        refuse_inside_a_workflow("start_many", verb="app.start_many()")
        handles: list[Handle[R]] = await self._client.start_many(calls)
        return handles

    @property
    def schedules(self) -> Schedules:
        """The schedules of this App's database: make, list, pause, resume, trigger and delete them."""
        return self._schedules

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines of this App's database: look at them, pause, resume, approve, and resolve effects."""
        return self._pipelines

    @property
    def items(self) -> Items:
        """The work items of this App's database: make and list them, and end their tasks."""
        return self._items

    @property
    def signals(self) -> Signals:
        """The signals of this App's database: hold and list them, and what they have fired."""
        return self._signals

    async def when(
        self,
        subject: Watchable,
        /,
        *,
        enters: StateLike | Collection[StateLike] | None = None,
        start: Callable[[Context, Firing], Coroutine[Any, Any, Any]]
        | Callable[[Context], Coroutine[Any, Any, Any]]
        | Call[Any]
        | None = None,
        send: tuple[HeldRun, Event[T]] | None = None,
        task: str | None = None,
        payload: T | None = None,
        key: str | None = None,
        since: Since = "now",
        repeat: bool = False,
        by: str | None = None,
    ) -> Signal:
        """When something enters a state, or a time has come, do something about it: durably, and once.

        The subject is a handle, an item, a workflow (every run of it, once for each), a pipeline, a `datetime`, or a
        `timedelta` with `repeat=True`. `start` a workflow, with the firing if it takes one, or as `windlass.call` says;
        `send` an event to a run; or add a `task` to the item. What happened before counts only `since="beginning"`.
        The same `key` with the same content answers with the same signal. Raises InvalidInput, NotFound, AlreadyExists.
        Example: `await app.when(handle, enters={"failed", "cancelled"}, start=page)`
        """
        refuse_inside_a_workflow("when", verb="app.when()")
        command = await arming_command(
            self._client._door,
            subject,
            enters=enters,
            start=start,
            send=send,
            task=task,
            payload=payload,
            key=key,
            since=since,
            repeat=repeat,
            by=by,
        )
        return await self._signals._armed(command)

    async def publish(self, topic: Topic[T], payload: T, /, *, id: str, input: Input | None = None) -> Published:
        """Publish from outside of any pipeline: every one that subscribes to the topic has the event then.

        The same `id` again replaces the payload, and is not taken again if it was. `input` says what outside has
        caused it. Raises InvalidInput before anything is sent. Example: `await app.publish(orders, order, id=order.id)`
        """
        refuse_inside_a_workflow("publish", verb="app.publish()")
        return await self._publishing.publish(topic, payload, id=id, input=input)

    async def publish_many(self, topic: Topic[T], items: Iterable[tuple[str, T]], /) -> list[Published]:
        """Publish up to 10,000 events, as pairs of id and payload. All are checked before the first is sent."""
        refuse_inside_a_workflow("publish_many", verb="app.publish_many()")
        return await self._publishing.publish_many(topic, items)

    @overload
    def handle(self, graph: Graph, /, *, key: str) -> GraphHandle: ...

    @overload
    def handle(self, graph: Graph, /, *, run_id: str) -> GraphHandle: ...

    @overload
    def handle(self, fn: Callable[Concatenate[Context, ...], Coroutine[Any, Any, R]], /, *, key: str) -> Handle[R]: ...

    @overload
    def handle(
        self, fn: Callable[Concatenate[Context, ...], Coroutine[Any, Any, R]], /, *, run_id: str
    ) -> Handle[R]: ...

    @overload
    def handle(self, run_id: str, /) -> Handle[Any]: ...

    def handle(self, wanted: Any, /, *, key: str | None = None, run_id: str | None = None) -> Handle[Any]:
        """The handle of a run started before: by its id, or by workflow and key or id. Asks nothing yet.

        Only where the workflow is named, the result has its type, and a graph is held as one.
        """
        if isinstance(wanted, str) and key is None and run_id is None:
            return self._client.handle(wanted)
        if isinstance(wanted, str) or (key is None) == (run_id is None):
            raise InvalidInput(
                "handle() takes a run id, or a workflow and its key or run_id: app.handle(order, key='order-7').",
                reason="invalid_option",
                path="key",
            )
        definition = self._registry.find_workflow(wanted, verb="app.handle")
        if key is not None:
            return self._client.handle_of_key(definition, key)
        return self._client.handle(run_id or "", definition)

    async def pause(
        self,
        *,
        queue: str | None = None,
        workflow: Callable[..., Any] | str | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> None:
        """Let no worker take runs of a queue, or of a workflow, until `resume`. What is executed now goes on.

        Example: `await app.pause(queue="mail", by="ann", note="the server is moved")`.
        """
        refuse_inside_a_workflow("pause", verb="app.pause()")
        kind, name = self._gate("pause", queue, workflow)
        await self._client.set_gate(kind, name, is_paused=True, by=by, note=note)

    async def resume(
        self,
        *,
        queue: str | None = None,
        workflow: Callable[..., Any] | str | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> None:
        """Let workers take runs of a paused queue or workflow again; harmless if it is not paused."""
        refuse_inside_a_workflow("resume", verb="app.resume()")
        kind, name = self._gate("resume", queue, workflow)
        await self._client.set_gate(kind, name, is_paused=False, by=by, note=note)

    def _gate(self, verb: str, queue: str | None, workflow: Callable[..., Any] | str | None) -> tuple[GateKind, str]:
        if (queue is None) == (workflow is None):
            raise InvalidInput(
                f"{verb}() takes a queue or a workflow, {'one of them' if queue is None else 'not both'}: "
                f"app.{verb}(queue='mail') or app.{verb}(workflow=order).",
                reason="invalid_option",
                path="queue",
            )
        if queue is not None:
            return GateKind.QUEUE, check_queue(queue)
        if isinstance(workflow, str):  # of any program: whoever pauses it need not have its code
            return GateKind.WORKFLOW, check_name(workflow, what="workflow name")
        assert workflow is not None
        return GateKind.WORKFLOW, self._registry.find_workflow(workflow, verb=f"app.{verb}").name

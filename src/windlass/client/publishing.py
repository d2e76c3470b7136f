"""Publish from outside of any pipeline, such as from a webhook: everything is checked here, before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from windlass.answers import outcomes
from windlass.api.service import PipelineControl
from windlass.api.service import Pipelines as Service
from windlass.client.entering import enter_new_pipelines
from windlass.client.handle import Door
from windlass.define.input import Input, check_input
from windlass.define.topic import Topic
from windlass.errors import InvalidInput
from windlass.model.pipeline_commands import Publish, Published
from windlass.rules.limits import check_key

LOGGER = logging.getLogger("windlass")

MOST = 10_000


class Publishing:
    """Publishes events to topics, over the door to pipelines.

    Whoever publishes may be there before the first worker. So a pipeline of this program that nobody has entered yet is
    entered before the first event for it; one that is there stays as it is, because that may be of newer code.
    """

    def __init__(
        self,
        door: Door,
        service: Callable[[], Awaitable[Service]],
        *,
        control: Callable[[], Awaitable[PipelineControl]],
        program: str,
    ) -> None:
        self._door, self._service, self._control, self._program = door, service, control, program
        self._entered: set[str] = set()

    async def publish(self, topic: Topic[Any] | str, payload: Any, *, id: str, input: Input | None) -> Published:
        """Raises InvalidInput before anything is sent, NotFound if the topic is not declared."""
        command = self._command(self._find(topic, "app.publish"), payload, id=id, input=input, verb="app.publish")
        await self._door.to_change()
        service = await self._service()
        await self._enter_subscribers(command.topic)
        published = await service.publish(command)
        self._warn_if_lost(command.topic, published)
        return published

    async def publish_many(self, topic: Topic[Any] | str, items: Iterable[tuple[str, Any]]) -> list[Published]:
        """Check all, then publish all together. Raises what the first one met, once every other one is stored."""
        declared = self._find(topic, "app.publish_many")
        commands = [self._read(position, item, declared) for position, item in enumerate(_check_items(items))]
        if not commands:
            return []
        await self._door.to_change()
        service = await self._service()
        await self._enter_subscribers(declared.name)
        answers = await outcomes([service.publish(command) for command in commands])
        refused = next((answer for answer in answers if isinstance(answer, Exception)), None)
        if refused is not None:
            raise refused
        published = [answer for answer in answers if isinstance(answer, Published)]
        self._warn_if_lost(declared.name, published[0])
        return published

    async def _enter_subscribers(self, topic: str) -> None:
        specs = [
            spec
            for spec in self._door.registry.handlers.pipeline_commands()
            if spec.name not in self._entered and any(topic in handler.topics for handler in spec.handlers)
        ]
        if specs:
            namespace = self._door.namespace
            await enter_new_pipelines(await self._control(), specs, namespace=namespace, program=self._program)
            self._entered.update(spec.name for spec in specs)

    def _warn_if_lost(self, topic: str, published: Published) -> None:
        if not published.pipelines:
            told = "Nobody subscribes to topic %r, so this event went nowhere. Start a worker of its consumers first."
            LOGGER.warning(told, topic, extra={"topic": topic})

    def _find(self, topic: Topic[Any] | str, verb: str) -> Topic[Any]:
        return self._door.registry.handlers.find_topic(topic, verb=verb)

    def _read(self, position: int, item: tuple[str, Any], topic: Topic[Any]) -> Publish:
        try:
            id, payload = item
            return self._command(topic, payload, id=id, input=None, verb="app.publish_many")
        except InvalidInput as error:
            where = f"items[{position}]"
            path = f"{where}.{error.path}" if error.path else where
            raise InvalidInput(f"{where}: {error}", reason=error.reason, path=path) from None

    def _command(self, topic: Topic[Any], payload: Any, *, id: str, input: Input | None, verb: str) -> Publish:
        codec, given = self._door.codec, check_input(input, verb=verb)
        codec.check_arguments((payload,), (topic.type,), ("payload",), what=f"Topic {topic.name!r}")
        return Publish(
            namespace=self._door.namespace,
            topic=topic.name,
            id=check_key(id, what="id"),
            payload=codec.encode(payload),
            input=None if given is None else given.new(),
        )


def _check_items(items: object) -> list[tuple[str, Any]]:
    problem, path = "", "items"
    listed: list[Any] = []
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes)):
        problem = "takes a list of ids and payloads"
    else:
        listed = list(items)
        wrong = (place for place, item in enumerate(listed) if not (isinstance(item, tuple) and len(item) == 2))
        place = next(wrong, None)
        if len(listed) > MOST:
            problem = f"takes up to {MOST:,} events and got {len(listed):,}"
        elif place is not None:
            problem, path = f"takes pairs of id and payload, and items[{place}] is none", f"items[{place}]"
    if problem:
        text = f"app.publish_many() {problem}: app.publish_many(orders, [(order.id, order), …])."
        raise InvalidInput(text, reason="too_many" if len(listed) > MOST else "invalid_argument", path=path)
    return listed

"""Play parts of a program in a test: fakes for its steps and workflows, and a count of the bodies entered."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from windlass.define import signature
from windlass.define.current import current_step
from windlass.define.handler_definition import EffectDefinition
from windlass.define.handlers import Handlers
from windlass.define.registry import Registry
from windlass.define.workflow import StepDefinition, WorkflowDefinition
from windlass.errors import InvalidInput


class StandIns:
    """Which function plays which, and how often the body of each step of each run was entered."""

    def __init__(self, *, is_counting: bool = False) -> None:
        self.is_counting = is_counting
        self.entered: Counter[tuple[str, str]] = Counter()  # by run and key
        self._fakes: dict[Any, Callable[..., Any]] = {}

    def add(self, function: Callable[..., Any], fake: Callable[..., Any], *, is_workflow: bool) -> None:
        if not callable(function):
            raise InvalidInput(
                f"replace() takes the function that the workflow calls, not {function!r:.60}.", reason="invalid_step"
            )
        if not callable(fake):
            raise InvalidInput(f"replace() takes a function to play {function!r}, not {fake!r}.", reason="invalid_step")
        if is_workflow and not signature.is_async(fake):
            raise InvalidInput(
                f'{getattr(function, "__name__", function)} is a workflow; what plays it must be "async def" too.',
                reason="invalid_workflow",
            )
        self._fakes[function] = fake

    def playing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Who plays it: the fake, or the function itself. Inside a partial, the function it is about."""
        if isinstance(function, functools.partial):
            playing = self.playing(function.func)
            is_real = playing is function.func
            return function if is_real else functools.partial(playing, *function.args, **function.keywords)
        try:
            return self._fakes.get(function, function)
        except TypeError:  # not hashable
            return function

    def asked(self, effect: EffectDefinition | None) -> EffectDefinition | None:
        """An effect, with whoever is asked whether it happened."""
        if effect is None or effect.reconcile is None:
            return effect
        return replace(effect, reconcile=self.playing(effect.reconcile))

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def enter(*args: Any) -> Any:
            step = current_step()
            self.entered[step.run_id, step.key] += 1
            return function(*args)

        return enter

    def times_entered(self) -> dict[str, int]:
        """By the key of the step; of several runs, the one that entered it most often counts."""
        times: dict[str, int] = {}
        for (_, key), count in self.entered.items():
            times[key] = max(count, times.get(key, 0))
        return times

    def counting(self) -> StandIns:
        """The same cast, with nothing entered yet, and every entrance counted."""
        cast = StandIns(is_counting=True)
        cast._fakes = self._fakes
        return cast


class BorrowedHandlers(Handlers):
    """What is declared about pipelines, in the very place of the lender, and played by stand-ins."""

    __slots__ = ("cast",)  # all else is written where the lender sees it

    def __init__(self, lender: Handlers, cast: StandIns) -> None:
        self.__dict__ = vars(lender)
        self.cast = cast

    def effect_of_name(self, name: str) -> EffectDefinition | None:
        return self.cast.asked(super().effect_of_name(name))


class BorrowedRegistry(Registry):
    """What another registry has declared or will declare, played by stand-ins. The other one does not change."""

    def __init__(self, lender: Registry, cast: StandIns) -> None:
        self.__dict__.update(vars(lender))  # the same tables, so that a later declaration is seen here too
        self.handlers = BorrowedHandlers(lender.handlers, cast)
        self.cast = cast

    def describe_step(self, function: Callable[..., Any], name: str | None = None) -> StepDefinition:
        known = super().describe_step(function, name)
        if known.effect is not None:
            known = replace(known, effect=self.cast.asked(known.effect))
        playing = self.cast.playing(function)
        called = self.cast.counted(playing) if self.cast.is_counting else playing
        return known if called is function else replace(known, function=called, is_async=signature.is_async(playing))

    def workflow_or_none(self, *args: Any, **options: Any) -> WorkflowDefinition | None:
        known = super().workflow_or_none(*args, **options)
        return None if known is None else replace(known, function=self.cast.playing(known.function))

"""Workflows for tests in which it does not matter what the workflow does.

A test declares them: `order = app.workflow(nothing)`, or `nap = app.workflow(name="nap")(sleeps("1h"))` if the name
matters. In one app, two of the same kind need two names, and `nothing` and `echo` can be declared only once each.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from windlass import Context, Event

Program = Callable[..., Coroutine[Any, Any, Any]]


async def nothing(ctx: Context) -> None: ...


async def echo(ctx: Context, value: Any) -> Any:
    return value


def returns(value: Any) -> Program:
    async def answer(ctx: Context) -> Any:
        return value

    return answer


def raises(error: type[Exception], *args: Any) -> Program:
    async def fail(ctx: Context) -> None:
        raise error(*args)

    return fail


def sleeps(duration: str, *, then: Any = None) -> Program:
    async def nap(ctx: Context) -> Any:
        await ctx.sleep(duration)
        return then

    return nap


def steps(body: Callable[..., Any], *args: Any, then: Any = None, **options: Any) -> Program:
    """One step. The run returns its result, or `then`."""

    async def work(ctx: Context) -> Any:
        result = await ctx.step(body, *args, **options)
        return result if then is None else then

    return work


def passes_to(body: Callable[..., Any], **options: Any) -> Program:
    """One step, which gets the argument of the run."""

    async def work(ctx: Context, value: Any) -> Any:
        return await ctx.step(body, value, **options)

    return work


def receives(event: Event[Any], **options: Any) -> Program:
    async def wait(ctx: Context) -> Any:
        return await ctx.receive(event, **options)

    return wait


def asks(title: str, **options: Any) -> Program:
    """One approval. The run returns its outcome."""

    async def ask(ctx: Context) -> str:
        return (await ctx.approval(title, **options)).outcome

    return ask


def runs(child: Any, *args: Any, **options: Any) -> Program:
    async def parent(ctx: Context) -> Any:
        return await ctx.run(child, *args, **options)

    return parent

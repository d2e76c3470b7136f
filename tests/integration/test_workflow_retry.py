"""Is a workflow's `retry=` the whole default of its steps, with what it never retries?"""

from __future__ import annotations

import windlass
from windlass.testing.harness import Harness


async def test_a_step_without_retry_takes_what_its_workflow_never_retries(harness: Harness) -> None:
    bodies: list[str] = []

    def look(name: str) -> str:
        bodies.append(name)
        raise LookupError(name)

    @harness.app.workflow(retry=windlass.Retry(3, never=(LookupError,)))
    async def search(ctx: windlass.Context) -> str:
        try:
            return await ctx.step(look, "key")
        except windlass.StepFailed as failed:
            return failed.type

    assert await harness.run(search) == "LookupError"
    assert bodies == ["key"]


async def test_a_step_with_its_own_retry_ignores_its_workflows(harness: Harness) -> None:
    bodies: list[str] = []

    def look(name: str) -> str:
        bodies.append(name)
        raise LookupError(name)

    @harness.app.workflow(retry=windlass.Retry(3, never=(LookupError,)))
    async def search(ctx: windlass.Context) -> str:
        try:
            return await ctx.step(look, "key", retry=windlass.Retry(2))
        except windlass.StepFailed as failed:
            return failed.type

    assert await harness.run(search) == "LookupError"
    assert bodies == ["key", "key"]

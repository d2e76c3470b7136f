"""Jobs that need other jobs: a release that is linted, tested on several Pythons, checked part by part, and reported.

A job begins when all that it needs is over, and ended as it accepts. One of the tests fails here, so nothing is
published; the report runs all the same, because it says on="always", and so does the job that tidies up.
"""

from __future__ import annotations

import asyncio

import windlass

app = windlass.App()
release = app.graph("release", input=str)  # started with the tag, which jobs read as ctx.input


@release.job
async def lint(ctx: windlass.JobContext) -> list[str]:
    """Answers with the parts that have changed."""
    return ["api", "cli", "docs"]


# One job for every value, two of them at a time.
@release.job(needs=[lint], matrix={"python": ["3.11", "3.12", "3.13"]}, max_parallel=2)
async def test(ctx: windlass.JobContext, python: str) -> int:
    return await ctx.step(run_tests, python)


def run_tests(python: str) -> int:
    if python == "3.13":
        raise windlass.StepError("2 of 40 tests failed", kind="logic")  # a kind that is not tried again
    return 40


# How many jobs there are is known once lint is over: this one returns them.
@release.group(needs=[lint])
async def checks(ctx: windlass.JobContext) -> list[windlass.Spawn]:
    return [release.spawn(check, part, name=f"check-{part}") for part in ctx.needs[lint].output]


@app.workflow
async def check(ctx: windlass.Context, part: str) -> str:
    return f"{part} is fine"


@release.job(needs=[test, checks])
async def publish(ctx: windlass.JobContext) -> str:
    return f"{ctx.input} is out"


@release.job(needs=[windlass.after(test, on="always"), checks, windlass.after(publish, on="always")])
async def report(ctx: windlass.JobContext) -> str:
    tests = ", ".join(f"{need.name} {need.error or need.output}" for need in ctx.needs[test])
    checked = ", ".join(need.output for need in ctx.needs[checks])
    return f"{ctx.input}: {ctx.needs[publish].status}\n  {tests}\n  {checked}"


@release.job(needs=[windlass.after(report, on="always")], cleanup=True)
async def tidy(ctx: windlass.JobContext) -> None:
    """A cleanup job runs even when somebody cancels the graph."""


async def main() -> None:
    print(release.plan())
    async with app, app.worker():
        handle = await app.start(release, "v1.0")
        try:
            await handle.result()
        except windlass.RunFailed as failed:
            print(f"\n{failed.message}\n")
        for job in await handle.jobs():
            why = f", because of {job.skipped_by}" if job.skipped_by else ""
            print(f"{job.name:<12} {job.status}{why}")
        print(f"\n{await handle.output(report)}")


if __name__ == "__main__":
    asyncio.run(main())

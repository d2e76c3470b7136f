"""`windlass retry`: try a run that failed once more, with what it has done; or what stopped in a pipeline."""

from __future__ import annotations

from collections.abc import Callable

import click

from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.pipelines import names
from windlass.cli.pipelines import steer as pipelines
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.values import by_option, person
from windlass.model.commands import RetryRun, Started
from windlass.model.run import Run
from windlass.rules.limits import check_step_reference


@click.command(short_help="Try a run that failed once more, as a new run; or what stopped in a pipeline.")
@names.subject_arguments
@click.option(
    "--from", "from_step", metavar="STEP", type=Text(check_step_reference), help="Do this step and all after it again."
)
@by_option
@shared_options
@click.pass_obj
def retry(session: Session, /, run: str | None, key: str | None, *, from_step: str | None, by: str | None) -> None:
    """Try a run that failed, was cancelled or is paused once more, and print the id of the new run.

    RUN is the id of a run or the beginning of it. The new run keeps the completed steps, except from --from on. Of a
    run that was tried again before, the id of that try is printed. Of a PIPELINE what stopped is tried again, now.
    """
    names.check_one_given(run, key=key)

    async def again(opened: Opened) -> Callable[[], None]:
        meant = await names.meant(opened.pipelines, run, namespace=session.namespace)
        if meant.pipeline is not None:
            if from_step is not None:
                raise click.UsageError("--from is for runs: a pipeline goes on where its effect stands.")
            return await pipelines.retry(session, opened.pipeline_control, meant.pipeline, by=person(by))
        found = (await lookup.find(opened.runs, meant.run, key=key, namespace=session.namespace)).run
        command = RetryRun(namespace=session.namespace, run_id=found.id, from_step=from_step, by=person(by))
        started = await opened.control.retry_run(command)
        return lambda: _tell_run(session, found, started)

    session.change(again)()


def _tell_run(session: Session, found: Run, started: Started) -> None:
    if session.is_json:
        record = {
            "id": started.run_id,
            "workflow": found.name,
            "retry_of": found.id,
            "is_repeat": started.is_repeat,
        }
        session.screen.write_json(record)
        return
    if started.is_repeat:
        session.warn(f"{found.id} was tried again before; nothing new was started.")
    session.screen.write(f"{started.run_id}\n")

"""What becomes of a claimed run whose code is not entered here: it is given back, or waits for a person."""

from __future__ import annotations

from windlass.errors import InvalidInput
from windlass.model.commands import Claim, ClaimedRun, HoldRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.time import Duration
from windlass.worker import mismatch
from windlass.worker.host import Host
from windlass.worker.last_words import NO_DELAY


async def give_back(host: Host, run: ClaimedRun, *, delay_for: Duration = NO_DELAY) -> None:
    await host.work.release_run(
        Claim(namespace=host.namespace, run_id=run.run_id, token=run.token, delay_for=delay_for)
    )


async def hold(host: Host, run: ClaimedRun, error: InvalidInput) -> None:
    """Stored input that does not fit is no fault of the run: it waits until the code, or the key, is put right."""
    disagreement = mismatch.other_arguments(run.run_id, run.name, error)
    reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message=str(disagreement))
    await host.work.hold_run(HoldRun(namespace=host.namespace, run_id=run.run_id, token=run.token, reason=reason))

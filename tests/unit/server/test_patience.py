"""Whoever waits over gRPC may go at any moment, also in the one in which they are answered."""

from __future__ import annotations

import asyncio
import gc

import pytest

from windlass.api.admission import Caller
from windlass.api.grpc.patience import Patience
from windlass.errors import NotFound
from windlass.model.access import Role
from windlass.server.gate import Gate

WORKER = Caller(key="key_1", roles=(Role.WORKER,), operation="claim_runs", namespace="shop")


@pytest.mark.parametrize("turns", range(6))
async def test_a_refusal_of_somebody_who_has_just_gone_is_nobodys_error(
    gate: Gate, caplog: pytest.LogCaptureFixture, turns: int
) -> None:
    """Seen under chaos: a server that was stopped for a while hears of both at once."""
    is_gone = asyncio.Event()

    async def claim() -> None:
        await is_gone.wait()
        raise NotFound("worker", "wrk_1")

    call = asyncio.ensure_future(Patience(gate).patiently(claim(), WORKER))
    await asyncio.sleep(0)
    is_gone.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait({call})
    if not call.cancelled():
        assert isinstance(call.exception(), NotFound)
    del call
    gc.collect()

    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_a_refusal_that_comes_of_being_called_off_is_nobodys_error_either(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    async def claim() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise NotFound("worker", "wrk_1") from None

    call = asyncio.ensure_future(Patience(gate).patiently(claim(), WORKER))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait({call})
    del call
    gc.collect()

    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []

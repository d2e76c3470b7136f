"""Can a worker be cleared away that died while it told what it serves?"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from windlass.testing.mortal import MortalPresence


async def test_a_registration_on_its_way_ends_though_its_worker_has_died() -> None:
    answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    told: list[object] = []

    async def register(command: object) -> None:
        told.append(command)
        await answered

    work: Any = SimpleNamespace(register_worker=register)
    nobody: Any = None
    presence = MortalPresence(work, nobody, on_death=nobody)
    on_its_way = asyncio.ensure_future(presence.register_worker("before"))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    presence.is_dead = True
    answered.set_result(None)
    async with asyncio.timeout(1):
        await on_its_way
        await presence.register_worker("behind")  # type: ignore[arg-type]

    assert told == ["before"]

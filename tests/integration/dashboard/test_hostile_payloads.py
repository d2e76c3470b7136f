"""Can what somebody stored keep a page, and with it the server, from answering?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.dashboard.office import UI, Office, text_of
from tests.programs import echo
from windlass import Context
from windlass.dashboard.payloads import HIDDEN, LONGEST, MASK
from windlass.model.commands import StartRun
from windlass.testing.harness import Harness

PRIME = 2**61 - 1


@pytest.mark.parametrize(
    "text",
    ['"' * 200_000, "\\" * 200_000, '\\"' * 100_000, "://a:" * 40_000, "[" * 200_000, "&password" * 20_000],
    ids=["quotes", "backslashes", "both", "passwords", "brackets", "parameters"],
)
async def test_a_text_made_of_what_masking_looks_for_is_shown(
    memory_harness: Harness, memory_office: Office, text: str
) -> None:
    keep = memory_harness.app.workflow(echo)
    handle = await memory_harness.start(keep, text)
    await handle.result()

    page = await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}")

    assert page.status_code == 200
    assert "This is the beginning." in page.text


@pytest.mark.parametrize(
    "secret",
    [
        {"filler": "x" * LONGEST, "token": "canary"},
        {"token": "canary", "filler": "x" * LONGEST},
        {'\\"': '\\"', "to\\": 1, 'a"token': "canary", "filler": "x" * LONGEST},
        {"at": "https://ann:" + "canary" * 400 + "@x.example/", "filler": "x" * LONGEST},
        {"at": "https://ann:" + "canary" * 400 + "@x.example/"},
        ["https://ann:" + "canary" * LONGEST],
    ],
)
async def test_a_secret_in_it_is_still_masked(memory_harness: Harness, memory_office: Office, secret: Any) -> None:
    @memory_harness.app.workflow
    async def keep(ctx: Context, value: Any) -> None: ...

    handle = await memory_harness.start(keep, secret)
    await handle.result()

    page = await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}")

    assert "canary" not in page.text
    assert HIDDEN in text_of(page) or MASK in page.text or "filler" in page.text


async def test_numbers_that_share_a_hash_are_not_made_a_set_of(memory_harness: Harness, memory_office: Office) -> None:
    items = b",".join(b'{"$int":"%d"}' % (PRIME * number) for number in range(2, 1_102))
    started = await memory_harness.opened.runs.start_run(
        StartRun(
            namespace="default", name="order", version="", queue="default", priority=0, input_hash=bytes(16),
            input=b'{"$tuple":[{"$set":[' + items + b"]}]}",
        )
    )  # fmt: skip

    page = await (await memory_office.signed_in()).get(f"{UI}/runs/{started.run_id}")

    assert page.status_code == 200
    assert "that only the program's own codec can read" in text_of(page)

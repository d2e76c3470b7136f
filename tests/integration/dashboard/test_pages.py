"""What stands on the pages, and what can be done there, with runs of every kind on both databases."""

from __future__ import annotations

import asyncio
import re

import pytest

import windlass
from tests.integration.dashboard.office import UI, Office, act, text_of
from tests.integration.server.site import DEFAULT
from tests.programs import echo, sleeps, steps
from windlass import Context, Firing, Retry
from windlass.dashboard.pages.table import VIEWS
from windlass.dashboard.payloads import MASK
from windlass.model.run import RunStatus
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

TILE, ROW = r"((?:about )?[0-9,]+) ended per minute", r"((?:about )?[0-9,]+) 1 worker "
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">javascript:alert(3)\u202e\x1b[31m'


async def bank(id: str) -> str:
    raise ConnectionError(f"the bank does not answer ({id})")


async def reserve(id: str) -> dict[str, object]:
    return {"shelf": 4, "password": "hunter2-canary", "deep": [{"api_key": "canary-two"}]}


async def page_on_call(ctx: Context, firing: Firing) -> None: ...


class Shop:
    """Workflows that fail, wait, sleep, ask and work."""

    def __init__(self, harness: Harness, *, has_signals: bool = True) -> None:
        app = harness.app

        @app.workflow
        async def refund(ctx: Context, id: str) -> str:
            return await ctx.step(bank, id, retry=Retry(1))

        @app.workflow
        async def order(ctx: Context, id: str) -> str:
            await ctx.step(reserve, id)
            decision = await ctx.approval(f"Ship order {id}?")
            return decision.outcome

        nap = app.workflow(name="nap")(sleeps("1h", then="slept"))

        release = app.graph("release")

        @release.job
        async def lint(ctx: Context) -> None: ...

        @release.job(needs=[lint], matrix={"py": ["3.11", "3.12"]})
        async def test(ctx: Context, py: str) -> None:
            if py == "3.12":
                raise ValueError("12 is broken")

        if has_signals:
            app.on(refund, enters="failed")(page_on_call)

        @app.schedule(cron="0 9 * * *")
        async def nightly(ctx: Context) -> None: ...

        self.refund, self.order, self.nap, self.echo, self.release = refund, order, nap, app.workflow(echo), release
        self.harness = harness

    async def fail(self, id: str = "7", **options: str) -> str:
        handle = await self.harness.start(self.refund, id, **options)
        await self.harness.until(handle, "failed")
        return handle.id


@pytest.fixture
def shop(harness: Harness) -> Shop:
    return Shop(harness)


@pytest.fixture
def memory_shop(memory_harness: Harness) -> Shop:
    return Shop(memory_harness)


async def status_of(harness: Harness, run_id: str) -> RunStatus:
    view = await harness.opened.runs.get_run("default", run_id)  # type: ignore[arg-type]
    return view.run.status


async def test_the_overview_has_the_failure_its_words_and_the_way_out(office: Office, shop: Shop) -> None:
    run_id = await shop.fail(key="refund-7")
    browser = await office.signed_in()

    page = await browser.get(UI)

    assert "Needs attention · 1" in text_of(page)
    assert "refund · refund-7" in text_of(page)
    assert "ConnectionError: the bank does not answer (7)" in text_of(page)
    assert f'action="{UI}/runs/{run_id}/retry"' in page.text
    assert f'href="{UI}/runs/{run_id}"' in page.text


async def test_a_run_that_was_tried_again_needs_nobody(office: Office, shop: Shop, harness: Harness) -> None:
    run_id = await shop.fail()
    browser = await office.signed_in()

    done = await act(browser, f"{UI}/runs/{run_id}/retry")

    assert done.status_code == 303
    where = done.headers["location"]
    assert where.endswith("?done=retried")
    retried = where.split("/")[-1].partition("?")[0]
    assert retried != run_id
    page = await browser.get(where)
    assert "Tried again as this new run" in text_of(page)
    needs = await harness.opened.pages.read_attention("default")
    assert [found.run.id for found in needs.failed if found.run.id == run_id] == []


async def test_an_approval_is_given_on_the_overview(office: Office, shop: Shop, harness: Harness) -> None:
    handle = await harness.start(shop.order, "7")
    await harness.until(handle, "waiting")
    browser = await office.signed_in()
    page = await browser.get(UI)
    assert "Waits for somebody to decide: Ship order 7?" in text_of(page)

    done = await act(browser, f"{UI}/runs/{handle.id}/approve", note="all there")

    assert done.headers["location"] == f"{UI}/runs/{handle.id}?done=approved"
    assert await handle.result() == "approved"
    again = await act(browser, f"{UI}/runs/{handle.id}/reject")
    assert again.status_code == 409
    assert 'href="' in again.text


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [("pause", "sleeping", "paused"), ("cancel", "sleeping", "cancelled"), ("resume", "paused", "sleeping")],
)
async def test_a_run_is_steered(
    office: Office, shop: Shop, harness: Harness, verb: str, before: str, after: str
) -> None:
    handle = await harness.start(shop.nap)
    await harness.until(handle, "sleeping")
    browser = await office.signed_in()
    if before == "paused":
        await act(browser, f"{UI}/runs/{handle.id}/pause")

    done = await act(browser, f"{UI}/runs/{handle.id}/{verb}", note="for a while")

    assert done.status_code == 303
    assert (await status_of(harness, handle.id)).value == after
    assert text_of(await browser.get(done.headers["location"]))


async def test_what_comes_too_late_says_so_and_leads_back(memory_office: Office, memory_shop: Shop) -> None:
    harness = memory_shop.harness
    handle = await harness.start(memory_shop.echo, "x")
    await handle.result()
    browser = await memory_office.signed_in()
    run = f"{UI}/runs/{handle.id}"

    cancelled = await act(browser, f"{run}/cancel")
    refused = [await act(browser, f"{run}/{verb}", back=run) for verb in ("retry", "pause", "resume", "approve")]

    assert cancelled.headers["location"] == f"{run}?done=was-over"
    assert [answer.status_code for answer in refused] == [409] * 4
    assert all(f'href="{run}"' in answer.text and "completed" in text_of(answer) for answer in refused)


async def test_everything_that_comes_from_outside_is_text(memory_office: Office, memory_shop: Shop) -> None:
    harness = memory_shop.harness
    echoed = await harness.start(memory_shop.echo, HOSTILE, key="<script>alert(0)</script>")
    await echoed.result()
    asked = await harness.start(memory_shop.order, HOSTILE)
    await harness.until(asked, "waiting")
    failed = await memory_shop.fail(HOSTILE)
    browser = await memory_office.signed_in()

    for path in ("", "/runs", f"/runs/{echoed.id}", f"/runs/{asked.id}", f"/runs/{failed}"):
        page = await browser.get(UI + path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "alert(1)" in page.text or path == "/runs"
        assert "style=" not in page.text
        assert " onclick" not in page.text


async def test_secrets_are_masked(memory_office: Office, memory_shop: Shop) -> None:
    handle = await memory_shop.harness.start(memory_shop.order, "7")
    await memory_shop.harness.until(handle, "waiting")
    page = await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}")
    assert "shelf" in page.text
    assert page.text.count(MASK) == 2
    assert "canary" not in page.text


async def test_a_large_payload_is_shown_in_part_and_given_whole(memory_office: Office, memory_shop: Shop) -> None:
    handle = await memory_shop.harness.start(memory_shop.echo, "x" * 900_000)
    await handle.result()
    browser = await memory_office.signed_in()

    page = await browser.get(f"{UI}/runs/{handle.id}")
    whole = await browser.get(f"{UI}/runs/{handle.id}/output.json")

    assert len(page.content) < 250_000
    assert "This is the beginning." in page.text
    assert len(whole.content) > 900_000
    assert whole.headers["content-disposition"].startswith("attachment")


async def test_every_page_answers_with_and_without_data(office: Office, shop: Shop, harness: Harness) -> None:
    browser = await office.signed_in(namespace="*")
    plain = [view.path for view in VIEWS if view.method == "GET" and "{" not in view.path]
    empty = {path: await browser.get(UI + path) for path in plain}
    await fill(shop, harness)
    full = {path: await browser.get(UI + path) for path in plain}

    assert {answer.status_code for answer in (*empty.values(), *full.values())} == {200}
    assert "No graphs yet" in text_of(empty["/graphs"])
    assert "release" in text_of(full["/graphs"])
    assert "When a run of 'refund' enters failed" in text_of(full["/signals"])
    assert "nightly" in text_of(full["/schedules"])
    assert "slots" in text_of(full["/workers"])
    assert "default" in text_of(full["/queues"])


async def test_slots_in_use_are_those_of_now(office: Office, harness: Harness) -> None:
    entered, open_gate = asyncio.Event(), asyncio.Event()

    async def stand_still() -> None:
        entered.set()
        await open_gate.wait()

    order = harness.app.workflow(steps(stand_still))
    browser, client = await office.signed_in(), await office.client()
    handle = await harness.start(order)
    await entered.wait()  # and no heartbeat since

    page = text_of(await browser.get(f"{UI}/workers"))
    (worker,) = (await client.get(f"{DEFAULT}/workers")).json()["workers"]

    assert "1 of 100 slots" in page
    assert (worker["active"], worker["slots"]) == (1, 100)
    open_gate.set()
    await handle.result()
    assert "0 of 100 slots" in text_of(await browser.get(f"{UI}/workers"))


async def test_more_than_has_ended_is_only_said_with_about(office: Office, harness: Harness) -> None:
    tick = harness.app.workflow(echo)
    browser, client = await office.signed_in(), await office.client()

    async def told(count: int) -> tuple[str, str, bool]:
        for handle in await harness.app.start_many(windlass.call(tick, number) for number in range(count)):
            await handle.result()
        (queue,) = (await client.get(f"{DEFAULT}/queues")).json()["queues"]
        pages = [text_of(await browser.get(UI + path)) for path in ("", "/queues")]
        found = [re.search(pattern, page) for pattern, page in zip((TILE, ROW), pages, strict=True)]
        overview, table = (match[1] for match in found if match is not None)
        return overview, table, queue["ended_is_estimate"]

    assert await told(1_000) == ("1,000", "1,000", False)
    assert await told(1) == ("about 60,060", "about 60,060", True)  # 1,001 in a second, if not in less


async def fill(shop: Shop, harness: Harness) -> None:
    await shop.fail()
    await harness.start(shop.nap)
    graph = await harness.app.start(shop.release)
    await harness.until(graph, "failed")


async def test_a_graph_is_drawn(office: Office, shop: Shop, harness: Harness) -> None:
    graph = await harness.app.start(shop.release)
    await harness.until(graph, "failed")

    page = await (await office.signed_in()).get(f"{UI}/graphs/{graph.id}")

    assert page.text.count('class="node on-completed"') == 2
    assert page.text.count('class="node on-failed"') == 1
    assert page.text.count('class="edge"') == 2
    assert "3 jobs: 2 completed, 1 failed" in text_of(page)
    assert "ValueError: 12 is broken" in text_of(page)


async def test_the_page_of_a_run_tells_waiting_working_and_failed_apart(
    office: Office, shop: Shop, harness: Harness
) -> None:
    failed = await shop.fail()
    asleep = await harness.start(shop.nap)
    await harness.until(asleep, "sleeping")
    await harness.advance("1m")
    browser = await office.signed_in()

    pages = [await browser.get(f"{UI}/runs/{id}") for id in (failed, asleep.id)]

    assert "bar-failed" in pages[0].text
    assert "bar-slept" in pages[1].text
    assert "Why did it fail?" in pages[0].text
    assert "Why is it not running?" in pages[1].text
    assert "the bank does not answer (7)" in text_of(pages[0])
    assert "Traceback" in pages[0].text


async def test_runs_are_found_by_what_stands_in_the_address(office: Office, shop: Shop, harness: Harness) -> None:
    failed = await shop.fail(key="Refund_100%")
    other = await shop.fail("8", key="Refund_1000")
    handle = await harness.start(shop.echo, "x")
    await handle.result()
    browser = await office.signed_in()

    async def found(**query: str) -> set[str]:
        page = await browser.get(f"{UI}/runs", params=query)
        assert page.status_code == 200
        return {id for id in (failed, other, handle.id) if f"/runs/{id}" in page.text}

    assert await found() == {failed, other, handle.id}
    assert await found(status="failed") == {failed, other}
    assert await found(workflow="echo") == {handle.id}
    assert await found(text="refund_100%") == {failed}  # a sign that means more to a database is a sign here
    assert await found(text="REFUND") == {failed, other}
    assert await found(text=handle.id[-8:].lower()) == {handle.id}
    assert await found(queue="elsewhere") == set()
    assert await found(within="15m", status="completed") == {handle.id}
    await harness.advance("1d")
    assert await found(within="1h", workflow="echo") == set()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs?status=melted", 400),
        ("/runs?within=1y", 400),
        ("/runs?before=run_x", 400),
        ("/runs?workflow=a%00b", 400),
        ("/runs?%ff=1", 400),
        ("/runs?" + "a=1&" * 60, 400),
        ("/graphs?open=ajar", 400),
        ("/graphs?before=x", 400),
        ("/signals?status=x", 400),
        ("/signals?before=x", 400),
        ("/runs/run_x", 400),
        ("/runs/run_" + "0" * 26, 404),
        ("/graphs/run_" + "0" * 26, 404),
        ("/signals/sig_" + "0" * 26, 404),
        ("/pipelines/nothing", 404),
        ("/schedules/nothing", 404),
        ("/pipelines/nothing/inputs/inp_" + "0" * 26, 404),
    ],
)
async def test_a_broken_address_gets_a_page_that_says_so(memory_office: Office, path: str, status: int) -> None:
    answer = await (await memory_office.signed_in()).get(UI + path)
    assert answer.status_code == status, text_of(answer)
    assert 'role="alert"' in answer.text
    assert 'class="button" href="/ui' in answer.text  # the way back


async def test_no_page_is_kept_and_no_page_can_be_framed(memory_office: Office) -> None:
    answer = await (await memory_office.signed_in()).get(UI)
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


class Seal:
    """An encryption that only the program knows."""

    def seal(self, data: bytes, /) -> bytes:
        return b"\x00sealed" + data[::-1]

    def open(self, data: bytes, /) -> bytes:
        return data.removeprefix(b"\x00sealed")[::-1]


async def test_what_is_encrypted_is_shown_as_that_and_the_run_goes_on(clock: FakeClock) -> None:
    async with Harness(clock=clock, codec=Seal()) as harness:
        shop, office = Shop(harness), Office(harness.opened, harness.clock)
        handle = await harness.start(shop.echo, "canary")
        result = await handle.result()

        page = await (await office.signed_in()).get(f"{UI}/runs/{handle.id}")
        await office.close()

    assert result == "canary"
    assert page.status_code == 200
    assert text_of(page).count("bytes that only the program's own codec can read") == 2
    assert "canary" not in page.text
    assert "yranac" not in page.text

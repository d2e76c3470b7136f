"""The dashboard in a real browser over a real server: what a person sees, clicks and is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

import windlass
from tests.programs import sleeps, steps
from windlass import App, Context, Retry
from windlass.dashboard.app import Dashboard
from windlass.dashboard.asking import Desk
from windlass.dashboard.session import LoginLinks
from windlass.embedded import Embedded, in_process
from windlass.model.run import RunStatus
from windlass.model.time import MILLISECOND
from windlass.runtime import SystemClock
from windlass.server.server import Server, ServerOptions

pytestmark = pytest.mark.asyncio(loop_scope="module")  # that of the browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
HOSTILE = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
PAGES = ("", "/runs", "/graphs", "/pipelines", "/signals", "/schedules", "/workers", "/queues", "/namespaces")

# Every piece of text, with its own colour and the nearest ground behind it; the ratio as WCAG computes it.
CONTRAST = """
() => {
  const curve = (part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const channel = (value) => curve(value / 255);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("svg, title") || !element.checkVisibility()) continue;
    const [one, other] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) bad.push(`${walker.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return bad;
}
"""
# What can be reached has a name.
NAMELESS = """
() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary, svg[role=img]")]
  .filter((item) => !(item.textContent.trim() || item.getAttribute("aria-label") || item.title ||
                      item.closest("label") || item.querySelector("img[alt]")))
  .map((item) => item.outerHTML.slice(0, 120))
"""


class Shop:
    """A program with something of every kind in it. `gate` lets the work of `slow` go on."""

    def __init__(self, url: str) -> None:
        self.app = app = App(url)
        self.gate = asyncio.Event()
        self.is_bank_open = False

        async def transfer(id: str) -> str:
            if not self.is_bank_open:
                raise ConnectionError(f"the bank does not answer (refund {id})")
            return f"paid back {id}"

        async def wait() -> str:
            await self.gate.wait()
            return "done"

        @app.workflow
        async def refund(ctx: Context, id: str) -> str:
            return await ctx.step(transfer, id, retry=Retry(1))

        @app.workflow
        async def order(ctx: Context, id: str) -> str:
            return (await ctx.approval(f"Ship order {id}?")).outcome

        slow = app.workflow(name="slow")(steps(wait))
        nap = app.workflow(name="nap")(sleeps("1h"))
        self.go_on = go_on = app.event("go_on", str)

        @app.workflow
        async def parent(ctx: Context) -> str:
            await ctx.receive(go_on)
            await ctx.run(nap)
            return "rested"

        self.refund, self.order, self.slow, self.nap, self.parent = refund, order, slow, nap, parent
        self._declare_others(app)

    def _declare_others(self, app: App) -> None:
        release = app.graph("release")

        @release.job
        async def lint(ctx: Context) -> None: ...

        @release.job(needs=[lint], matrix={"py": ["3.11", "3.14"]})
        async def test(ctx: Context, py: str) -> None: ...

        @app.schedule(cron="0 9 * * *")
        async def nightly(ctx: Context) -> None: ...

        paid = app.topic("order.paid", str)
        payments = app.pipeline("payments")

        @payments.producer(every="1h", publishes=[paid])
        async def poll(ctx: Any, state: Any = None) -> None:
            ctx.publish(paid, "7", id="7")

        @app.effect
        async def charge(order: str) -> str:
            return order

        @payments.consumer(paid, approval=True)
        class Charge(windlass.Consumer[str, str]):
            async def mutate(self, ctx: Any, prepared: Any) -> Any:
                return windlass.Effect(charge, prepared.data, title=f"Charge order {prepared.data}?")

        self.release = release


class Visit:
    """Somebody who is signed in, and the server they look at."""

    def __init__(self, shop: Shop, opened: Embedded, base: str, context: BrowserContext, page: Page) -> None:
        self.shop, self.opened, self.base, self.context, self.page = shop, opened, base, context, page
        self.complaints: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def go(self, path: str) -> None:
        await self.page.goto(f"{self.base}/ui/default{path}")

    async def ask(self, label: str, *, within: Any = None) -> None:
        """Open the question behind a button, and say yes."""
        place = within or self.page.locator("main")
        await place.locator("summary", has_text=label).first.click()
        await place.locator("details[open] form button").first.click()

    async def status(self, run_id: str, status: str) -> None:
        async with asyncio.timeout(20):
            while (await self.opened.runs.get_run("default", run_id)).run.status.value != status:  # type: ignore[arg-type]
                await SystemClock().sleep(20 * MILLISECOND)


@asynccontextmanager
async def visiting(browser: Browser, url: str, **options: Any) -> AsyncIterator[Visit]:
    shop = Shop(url)
    opened = in_process(await shop.app._opening.get())
    clock = SystemClock()
    links = LoginLinks(opened.access, clock=clock, ids=opened.ids)

    def pages(server: Server) -> Any:
        return Dashboard(
            Desk(opened, opened.pages, server.gate, clock=clock, ids=opened.ids, serving=server.health, links=links)
        )

    server = Server(opened, ServerOptions(grpc_port=0, http_port=0), clock=clock, make_dashboard=pages)
    try:
        async with shop.app.worker(), server:
            context = await browser.new_context(**({"viewport": DESKTOP} | options))
            page = await context.new_page()
            await page.goto(f"{server.http_url}/ui/-/login?code={links.make()}")
            try:
                yield Visit(shop, opened, server.http_url, context, page)
            finally:
                shop.gate.set()  # so that the worker has nothing to wait for
                await context.close()
    finally:
        await shop.app.aclose()


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser, tmp_path: Path) -> AsyncIterator[Visit]:
    async with visiting(browser, str(tmp_path / "windlass.db")) as found:
        yield found
        assert found.complaints == []


async def fail(visit: Visit, id: str = "7", **options: Any) -> str:
    handle = await visit.shop.app.start(visit.shop.refund, id, **options)
    await visit.status(handle.id, "failed")
    return handle.id


async def test_from_the_overview_to_the_failed_step_and_back_to_work(visit: Visit) -> None:
    run_id = await fail(visit, key="refund-7")
    page = visit.page
    await visit.go("")
    need = page.locator(".need", has_text="refund-7")
    await expect(need).to_contain_text("ConnectionError: the bank does not answer (refund 7)")
    await expect(need.locator("summary", has_text="Retry")).to_be_visible()

    await need.get_by_role("link").first.click()  # one click: the step, its error, and what can be done

    await expect(page.locator("main")).to_contain_text("transfer")
    await expect(page.locator(".problem")).to_contain_text("the bank does not answer (refund 7)")
    await expect(page.locator("summary", has_text="Retry")).to_be_visible()
    visit.shop.is_bank_open = True
    await visit.ask("Retry")
    await expect(page.locator(".flash")).to_contain_text("Tried again")
    assert run_id not in page.url
    await expect(page.locator("h1 + .pill")).to_contain_text("completed")
    await visit.go("")
    await expect(page.locator(".need", has_text="refund")).to_have_count(0)


async def test_a_page_changes_by_itself(visit: Visit) -> None:
    page = visit.page
    await visit.go("/runs")
    await expect(page.locator("#live")).to_have_text("Live")
    marker = "window.isSame = true"
    await page.evaluate(marker)

    handle = await visit.shop.app.start(visit.shop.slow)
    await expect(page.locator("tr", has_text="slow").locator(".pill")).to_contain_text("running")
    visit.shop.gate.set()
    await handle.result()
    await expect(page.locator("tr", has_text="slow").locator(".pill")).to_contain_text("completed")

    assert await page.evaluate("window.isSame") is True  # nobody has loaded it again


async def test_what_a_page_did_not_have_before_comes_to_it(visit: Visit) -> None:
    page = visit.page
    parent = await visit.shop.app.start(visit.shop.parent)
    await visit.status(parent.id, "waiting")
    await visit.go(f"/runs/{parent.id}")
    await expect(page.locator("#live")).to_have_text("Live")
    await expect(page.locator("[data-part=messages] table")).to_have_count(0)

    await parent.send(visit.shop.go_on, "now")

    await expect(page.locator("[data-part=messages] table")).to_contain_text("go_on")
    await expect(page.locator("[data-part=children] table")).to_contain_text("nap")


async def test_what_somebody_has_focused_opened_and_closed_stays_so(visit: Visit) -> None:
    page = visit.page
    handle = await visit.shop.app.start(visit.shop.slow)
    await visit.status(handle.id, "running")
    await visit.go(f"/runs/{handle.id}")
    await page.locator("#input > summary").click()  # it was open
    await page.locator("#log > summary").click()  # it was not
    button = page.locator("summary", has_text="Cancel")
    await button.focus()
    before = await page.locator("[data-part=facts] time").first.inner_text()

    await expect(page.locator("[data-part=facts] time").first).not_to_have_text(before, timeout=15_000)

    assert await page.locator("#input[open]").count() == 0
    assert await page.locator("#log[open]").count() == 1
    await expect(button).to_be_focused()


async def test_many_pages_of_one_browser_are_open_at_once(visit: Visit) -> None:
    """A browser has six connections to a server: what nobody looks at gives its own back."""
    pages = [await visit.context.new_page() for _ in range(8)]
    for page in pages:
        await page.goto(f"{visit.base}/ui/default/runs", wait_until="domcontentloaded")
        await page.evaluate(
            """() => {
              Object.defineProperty(document, "hidden", { get: () => true });
              document.dispatchEvent(new Event("visibilitychange"));
            }"""  # as where another tab lies in front of it
        )
    await visit.go("/queues")
    await expect(visit.page.locator("#live")).to_have_text("Live")


async def test_what_was_done_is_said_once(visit: Visit) -> None:
    handle = await visit.shop.app.start(visit.shop.nap)
    await visit.status(handle.id, "sleeping")
    await visit.go(f"/runs/{handle.id}")
    await visit.ask("Pause")
    await expect(visit.page.locator(".flash")).to_contain_text("Paused")

    await visit.page.reload()

    await expect(visit.page.locator("h1 + .pill")).to_contain_text("paused")
    await expect(visit.page.locator(".flash")).to_have_count(0)


async def test_a_page_says_that_it_is_not_up_to_date_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, str(tmp_path / "windlass.db")) as visit:  # whose console complains, as it should
        handle = await visit.shop.app.start(visit.shop.slow)
        await visit.status(handle.id, "running")
        await visit.go(f"/runs/{handle.id}")
        await expect(visit.page.locator("#live")).to_have_text("Live")

        await visit.context.set_offline(True)
        await expect(visit.page.locator("#live")).to_have_text("Offline", timeout=15_000)
        visit.shop.gate.set()
        await handle.result()
        await visit.context.set_offline(False)

        await expect(visit.page.locator("#live")).to_have_text("Live", timeout=15_000)
        await expect(visit.page.locator("h1 + .pill")).to_contain_text("completed")


async def test_a_question_that_is_open_is_not_taken_away(visit: Visit) -> None:
    handle = await visit.shop.app.start(visit.shop.order, "7")
    await visit.status(handle.id, "waiting")
    await visit.go("")
    need = visit.page.locator(".need", has_text="Ship order 7?")
    await need.locator("summary", has_text="Approve").click()
    await need.locator("details[open] input[name=note]").fill("all there")
    await fail(visit)
    await visit.page.wait_for_timeout(2_500)  # the page hears of it, and waits

    await expect(need.locator("details[open] input[name=note]")).to_have_value("all there")
    await need.locator("details[open] form button").click()

    assert await handle.result() == "approved"
    log = await visit.opened.runs.read_log("default", handle.id)
    assert any(b"all there" in (entry.data or b"") for entry in log)


async def test_every_action_of_a_run_reaches_the_store(visit: Visit) -> None:
    page = visit.page
    handle = await visit.shop.app.start(visit.shop.nap)
    await visit.status(handle.id, "sleeping")
    await visit.go(f"/runs/{handle.id}")
    for label, status in (("Pause", "paused"), ("Resume", "sleeping"), ("Cancel", "cancelled")):
        await visit.ask(label)
        await expect(page.locator("h1 + .pill")).to_contain_text(status)
        assert (await visit.opened.runs.get_run("default", handle.id)).run.status is RunStatus(status)
    rejected = await visit.shop.app.start(visit.shop.order, "8")
    await visit.status(rejected.id, "waiting")
    await visit.go(f"/runs/{rejected.id}")
    await visit.ask("Reject")
    assert await rejected.result() == "rejected"


async def test_schedules_queues_and_workers_are_steered(visit: Visit) -> None:
    page = visit.page
    await visit.go("/schedules")
    await visit.ask("Run now")
    await expect(page.locator(".flash")).to_contain_text("Started now")
    await expect(page.locator("h1")).to_have_text("nightly")
    await visit.go("/schedules/nightly")
    await visit.ask("Pause")
    await expect(page.locator("h1 + .pill")).to_contain_text("paused")
    await visit.ask("Resume")
    await expect(page.locator("h1 + .pill")).to_contain_text("active")
    await visit.go("/queues")
    await visit.ask("Pause")
    await expect(page.locator("tr", has_text="default").locator(".pill")).to_contain_text("paused")
    await visit.ask("Resume")
    assert all(not gate.is_paused for gate in await visit.opened.control.list_gates("default"))
    await visit.go("/workers")
    await visit.ask("Drain")
    await expect(page.locator(".flash")).to_contain_text("Asked to leave")
    await expect(page.locator("tbody .pill")).to_contain_text("offline")  # it held nothing, and is gone


async def test_a_pipeline_asks_and_goes_on(visit: Visit) -> None:
    page = visit.page
    await visit.go("")
    need = page.locator(".need", has_text="payments")
    await expect(need).to_contain_text("Waiting for you to approve")
    await visit.ask("Approve", within=need)
    await expect(page.locator(".flash")).to_contain_text("Approved")
    await expect(page.locator("main")).to_contain_text("committed")
    await visit.go("/pipelines")
    await expect(page.locator("article")).to_contain_text("Checks every hour")
    await visit.ask("Pause")
    assert (await visit.opened.pipelines.get_pipeline("default", "payments")).view.pipeline.is_paused


async def test_a_signal_is_called_off(visit: Visit) -> None:
    handle = await visit.shop.app.start(visit.shop.nap)
    await visit.shop.app.when(handle, enters="failed", start=visit.shop.nap)
    await visit.go("/signals")
    await visit.page.locator("main table a").first.click()
    await expect(visit.page.locator("h1")).to_contain_text("enters failed")
    await visit.ask("Call off")
    await expect(visit.page.locator("h1 + .pill")).to_contain_text("cancelled")


@pytest.mark.spec("security:S-21")
async def test_nothing_from_outside_runs(visit: Visit) -> None:
    run_id = await fail(visit, HOSTILE, key=HOSTILE[:60])
    asked = await visit.shop.app.start(visit.shop.order, HOSTILE)
    await visit.status(asked.id, "waiting")
    for path in ("", "/runs", f"/runs/{run_id}", f"/runs/{asked.id}"):
        await visit.go(path)
        assert "Windlass" in await visit.page.title()
        assert await visit.page.locator("main script, main img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_is_readable_and_has_names(browser: Browser, tmp_path: Path, scheme: str) -> None:
    async with visiting(browser, str(tmp_path / "windlass.db"), color_scheme=scheme) as visit:
        run_id = await fail(visit)
        graph = await visit.shop.app.start(visit.shop.release)
        await visit.status(graph.id, "completed")
        handle = await visit.shop.app.start(visit.shop.order, "7")
        await visit.status(handle.id, "waiting")
        more = (
            f"/runs/{run_id}",
            f"/runs/{handle.id}",
            f"/graphs/{graph.id}",
            "/pipelines/payments",
            "/schedules/nightly",
        )
        for path in (*PAGES, *more):
            await visit.go(path)
            assert await visit.page.evaluate(CONTRAST) == [], path
            assert await visit.page.evaluate(NAMELESS) == [], path
        assert visit.complaints == []


async def test_every_page_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, str(tmp_path / "windlass.db"), viewport=PHONE, is_mobile=True) as visit:
        run_id = await fail(visit)
        graph = await visit.shop.app.start(visit.shop.release)
        await visit.status(graph.id, "completed")
        for path in (*PAGES, f"/runs/{run_id}", f"/graphs/{graph.id}", "/pipelines/payments"):
            await visit.go(path)
            assert await visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


async def test_without_javascript_everything_can_be_read_and_done(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, str(tmp_path / "windlass.db"), java_script_enabled=False) as visit:
        run_id = await fail(visit)
        await visit.go("")
        await expect(visit.page.locator(".need", has_text="refund")).to_contain_text("the bank does not answer")
        visit.shop.is_bank_open = True
        await visit.ask("Retry", within=visit.page.locator(".need", has_text="refund"))
        await expect(visit.page.locator(".flash")).to_contain_text("Tried again")
        assert run_id not in visit.page.url


async def test_the_keyboard_reaches_and_closes_a_question(visit: Visit) -> None:
    run_id = await fail(visit)
    await visit.go(f"/runs/{run_id}")
    summary = visit.page.locator("summary", has_text="Retry")
    await summary.focus()
    await visit.page.keyboard.press("Enter")
    await expect(visit.page.locator("details.ask[open]")).to_have_count(1)
    await visit.page.keyboard.press("Escape")
    await expect(visit.page.locator("details.ask[open]")).to_have_count(0)
    await expect(summary).to_be_focused()

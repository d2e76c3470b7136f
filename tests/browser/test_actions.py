"""What can be done on a page: by its button, its question and its form, and is it in the store then?"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from msgspec.json import decode
from playwright.async_api import Browser, Locator, Page, Response, Route, expect

import windlass
from tests.browser import test_dashboard
from tests.browser.test_dashboard import DESKTOP, PHONE, Shop, Visit, visiting
from windlass import App, Context, Retry, StepError
from windlass.client.handle import Handle
from windlass.dashboard.pages.table import VIEWS
from windlass.dashboard.session import NOTE
from windlass.errors import NotFound
from windlass.model.access import CreateKey, ListAudit, Role
from windlass.model.effect import Effect
from windlass.model.pipeline import HandlerRun, Pipeline
from windlass.model.pipeline_commands import ListEvents, ListHandlerRuns
from windlass.model.run import RunId
from windlass.model.time import MILLISECOND
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import SystemClock, secret_bytes

pytestmark = pytest.mark.asyncio(loop_scope="module")  # that of the browser
# Every action stands here, under the test that does it; those of this file are seen to do all of theirs.
HERE = {
    "test_a_person_says_what_became_of_the_effect_of_a_run": ("/runs/{run_id}/resolve",),
    "test_a_person_says_what_became_of_the_effect_of_a_pipeline": ("/pipelines/{name}/resolve",),
    "test_a_pipeline_that_was_mended_tries_again": ("/pipelines/{name}/retry",),
    "test_a_pipeline_is_told_no_and_held_and_made_to_look_now": (
        *(f"/pipelines/{{name}}/{verb}" for verb in ("reject", "pause", "resume", "run-now")),
        "/pipelines/{name}/inputs/{input}/skip",
    ),
    "test_a_decision_about_what_is_asked_no_more_comes_too_late": ("/pipelines/{name}/approve",),
    "test_a_signal_is_held_and_let_go_and_called_off": tuple(
        f"/signals/{{signal_id}}/{verb}" for verb in ("pause", "resume", "cancel")
    ),
    "test_a_schedule_is_steered_and_one_that_is_no_longer_declared_is_deleted": tuple(
        f"/schedules/{{name}}/{verb}" for verb in ("pause", "resume", "trigger", "delete")
    ),
    "test_a_queue_is_closed_and_opened_and_a_worker_is_asked_to_leave": (
        *(f"/queues/{{name}}/{verb}" for verb in ("pause", "resume")),
        "/workers/{worker_id}/drain",
    ),
}
IN_TEST_DASHBOARD = {
    "test_every_action_of_a_run_reaches_the_store": tuple(
        f"/runs/{{run_id}}/{verb}" for verb in ("cancel", "pause", "resume", "reject")
    ),
    "test_a_question_that_is_open_is_not_taken_away": ("/runs/{run_id}/approve",),
    "test_from_the_overview_to_the_failed_step_and_back_to_work": ("/runs/{run_id}/retry",),
}

# A question, brought into view: what lies outside of the window, what cuts it off, and what lies above its corners.
CUT = """
(form) => {
  form.scrollIntoView({block: "center", inline: "nearest"});
  const box = form.getBoundingClientRect();
  const found = [];
  const compare = (outer, name) => {
    for (const [side, excess] of [["left", outer.left - box.left], ["top", outer.top - box.top],
                                  ["right", box.right - outer.right], ["bottom", box.bottom - outer.bottom]])
      if (excess > 0.5) found.push(`${side} of ${name} by ${excess.toFixed(1)}`);
  };
  compare({left: 0, top: 0, right: document.documentElement.clientWidth, bottom: innerHeight}, "the window");
  for (let at = form.parentElement; at && at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    if ([style.overflowX, style.overflowY].some((value) => value !== "visible"))
      compare(at.getBoundingClientRect(), at.className || at.tagName);
  }
  for (const x of [box.left + 6, box.right - 6])
    for (const y of [box.top + 6, box.bottom - 6])
      if (!form.contains(document.elementFromPoint(x, y))) found.push(`covered at ${x.toFixed()}, ${y.toFixed()}`);
  return found;
}
"""


async def test_every_action_is_done_by_a_test() -> None:
    actions = sorted(view.path for view in VIEWS if view.method == "POST")
    assert sorted(path for paths in (*HERE.values(), *IN_TEST_DASHBOARD.values()) for path in paths) == actions
    assert [name for name in HERE if name not in globals()] == []
    assert [name for name in IN_TEST_DASHBOARD if not hasattr(test_dashboard, name)] == []


@asynccontextmanager
async def acting(browser: Browser, url: str, test: str) -> AsyncIterator[Visit]:
    """A visit in which all is done that this test is said to do, and nothing goes wrong in the browser."""
    async with visiting(browser, url) as visit:
        done = set[str]()
        visit.context.on("response", lambda answer: done.update(_deed(answer)))
        yield visit
        assert set(HERE.get(test, ())) <= done
        assert visit.complaints == []


def _deed(answer: Response) -> set[str]:
    """The action that this was, if it was one and was done."""
    if answer.request.method != "POST" or answer.status != 303:
        return set()
    path = urlsplit(answer.url).path.removeprefix("/ui/default")
    actions = {view.path for view in VIEWS if view.method == "POST"}
    return {action for action in actions if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", action), path)}


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Visit]:
    async with acting(browser, str(tmp_path / "windlass.db"), request.node.name) as found:
        yield found


def buttons(place: Locator, label: str) -> Locator:
    return place.locator("summary", has_text=re.compile(rf"^\s*{label}\s*$"))


async def answer(page: Page, place: Locator, **fields: str) -> Response:
    """Fill in the question that is open, say yes, and wait for the page that says what has come of it."""
    await page.bring_to_front()
    form = place.locator("details[open] form")
    for name, text in fields.items():
        await form.locator(f"input[name={name}]").fill(text)
    async with page.expect_navigation() as moved:
        await form.locator("button").click()
    found = await moved.value
    assert found is not None
    return found


async def do(visit: Visit, label: str, told: str, within: Locator | None = None, /, **fields: str) -> None:
    """Open the question behind a button and say yes; `told` is what the next page says then."""
    place = within or visit.page.locator("main")
    await buttons(place, label).first.click()
    found = await answer(visit.page, place, **fields)

    assert found.status == 200
    await expect(visit.page.locator(".flash")).to_contain_text(told)


async def until(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await is_true():
            await SystemClock().sleep(20 * MILLISECOND)


async def person(visit: Visit) -> str:
    """By what key the session of this visit is known."""
    (key,) = [key for key in await visit.opened.access.list_keys() if key.note == NOTE]
    return key.id


async def audited(visit: Visit, *subjects: str) -> list[tuple[str, str, str | None]]:
    """What the audit says was done to these, the oldest first; all of it by whoever is signed in here."""
    page = await visit.opened.access.list_audit(ListAudit(namespace="default"))
    entries = [entry for entry in reversed(page.entries) if entry.subject in subjects]
    assert {entry.actor for entry in entries} == {await person(visit)}
    return [(entry.action, entry.subject, entry.after) for entry in entries]


async def row(visit: Visit, name: str) -> Pipeline:
    return (await visit.opened.pipelines.get_pipeline("default", name)).view.pipeline


async def events(visit: Visit, name: str) -> dict[str, str]:
    found = await visit.opened.pipelines.list_events(ListEvents(namespace="default", pipeline=name))
    return {event.id: event.status.value for event in found.events}


async def attempts(visit: Visit, name: str, handler: str) -> list[HandlerRun]:
    """The oldest first."""
    query = ListHandlerRuns(namespace="default", pipeline=name, handler=handler)
    return [*(await visit.opened.pipelines.list_handler_runs(query)).runs][::-1]


async def until_event(visit: Visit, name: str, **wanted: str) -> None:
    async def is_so() -> bool:
        return wanted.items() <= (await events(visit, name)).items()

    await until(is_so)


async def until_asked(visit: Visit, name: str, issue: str) -> None:
    async def is_asking() -> bool:
        try:
            found = await row(visit, name)
        except NotFound:  # it was declared just now
            return False
        return found.status == "attention" and found.issue == issue

    await until(is_asking)


class Bank:
    """It is cut off in the middle of the first call for each order, and answers those behind it."""

    def __init__(self, app: App) -> None:
        self.calls = list[str]()

        @app.effect(name="pay", retry=Retry(3, initial="10ms"))
        async def pay(order: str) -> dict[str, str] | None:
            self.calls.append(order)
            if self.calls.count(order) == 1:
                raise ConnectionError("cut off")
            return {"paid": order}

        self.pay = pay


async def ledger(visit: Visit, handle: Handle[Any]) -> list[Effect]:
    """What is known of the effects of a run, also of those that are settled."""
    store = visit.opened.engine.parts.store
    return list((await store.read("ledger", lambda tx: tx.effects.of("default", owners=[handle.id]))).values())


async def test_a_person_says_what_became_of_the_effect_of_a_run(visit: Visit) -> None:
    app, page = visit.shop.app, visit.page
    bank = Bank(app)

    @app.workflow
    async def buy(ctx: Context, order: str) -> dict[str, str] | None:
        return await ctx.step(bank.pay, order)

    did, did_not, skipped = [await app.start(buy, order) for order in ("did", "did-not", "skipped")]
    for handle in (did, did_not, skipped):
        await visit.status(handle.id, "paused")

    await visit.go(f"/runs/{did.id}")
    await buttons(page.locator("main"), "It happened").click()
    refused = await answer(page, page.locator("main"), result="{paid: by hand")
    assert refused.status == 400
    await expect(page.get_by_role("alert")).to_contain_text("has to be JSON")
    assert [item.status for item in await ledger(visit, did)] == ["indeterminate"]
    visit.complaints.clear()  # the browser notes a page that refuses
    await page.get_by_role("link", name="Back").click()
    await expect(page.locator(".explain")).to_contain_text("nobody knows whether it happened")
    await do(visit, "It happened", "Noted", result='{"paid": "by hand"}', note="it is on the statement")
    await visit.go("")
    need = page.locator(".need", has=page.locator(f'a[href*="{did_not.id}"]'))
    await do(visit, "It did not happen", "Noted", need, note="they know nothing of it")
    await visit.go(f"/runs/{skipped.id}")
    await do(visit, "Skip it", "Noted", note="nobody wants it")

    assert await did.result() == {"paid": "by hand"}
    assert await did_not.result() == {"paid": "did-not"}
    assert await skipped.result() is None
    assert sorted(bank.calls) == ["did", "did-not", "did-not", "skipped"]
    by = await person(visit)
    (known,) = await ledger(visit, did)
    assert (known.status, known.resolution, known.resolved_by) == ("applied", "happened", by)
    assert (decode(known.result or b""), known.note) == ({"paid": "by hand"}, "it is on the statement")
    assert [(item.status, item.attempt) for item in await ledger(visit, did_not)] == [("applied", 2)]
    (known,) = await ledger(visit, skipped)
    assert (known.resolution, known.resolved_by, known.note) == ("skip", by, "nobody wants it")
    assert await visit.opened.pipelines.list_open_effects("default") == ()
    assert await audited(visit, did.id, did_not.id, skipped.id) == [
        ("resolve_effect", did.id, "pay: happened"),
        ("resolve_effect", did_not.id, "pay: did_not_happen"),
        ("resolve_effect", skipped.id, "pay: skip"),
    ]


async def test_a_person_says_what_became_of_the_effect_of_a_pipeline(visit: Visit) -> None:
    app = visit.shop.app
    bank, handed = Bank(app), list[tuple[str, str | None, dict[str, str] | None]]()
    ordered, till = app.topic("ordered", str), app.pipeline("till")

    @till.consumer(ordered)
    class Pay(windlass.Consumer[str, dict[str, str] | None]):
        async def mutate(self, ctx: Any, prepared: Any) -> Any:
            return windlass.Effect(bank.pay, prepared.data)

        async def next(self, ctx: Any, prepared: Any, result: Any) -> None:
            handed.append((prepared.data, prepared.outcome, result))

    for order, label, fields in (
        ("did", "It happened", {"result": '{"paid": "by hand"}', "note": "it is on the statement"}),
        ("did-not", "It did not happen", {"note": "they know nothing of it"}),
        ("skipped", "Skip it", {"note": "nobody wants it"}),
    ):
        await app.publish(ordered, order, id=order)
        await until_asked(visit, "till", "indeterminate")
        await visit.go("/pipelines/till")
        await do(visit, label, "Noted", **fields)
    await until_event(visit, "till", **{"did": "consumed", "did-not": "consumed", "skipped": "skipped"})

    assert [item for item in handed if item[0] == "did"] == [("did", "success", {"paid": "by hand"})]
    assert [item for item in handed if item[0] == "did-not"] == [("did-not", "success", {"paid": "did-not"})]
    assert [item for item in handed if item[0] == "skipped"] == [("skipped", "skipped", None)]
    assert bank.calls == ["did", "did-not", "did-not", "skipped"]
    by = await person(visit)
    decided = [item for item in await attempts(visit, "till", "Pay") if item.decided_by is not None]
    assert {item.decided_by for item in decided} == {by}
    assert {"it is on the statement", "they know nothing of it", "nobody wants it"} == {item.note for item in decided}
    assert await audited(visit, "till") == [
        ("resolve_effect", "till", "pay: happened"),
        ("resolve_effect", "till", "pay: did_not_happen"),
        ("resolve_effect", "till", "pay: skip"),
    ]


async def test_a_pipeline_that_was_mended_tries_again(visit: Visit) -> None:
    app, is_mended, sent = visit.shop.app, asyncio.Event(), list[str]()
    due, bills = app.topic("bill.due", str), app.pipeline("bills")

    @bills.consumer(due)
    async def send(ctx: Any, events: list[windlass.TopicEvent[str]]) -> None:
        if not is_mended.is_set():
            raise StepError("there is no address", kind="logic")
        sent.extend(event.id for event in events)

    await app.publish(due, "7", id="7")
    await until_asked(visit, "bills", "logic")
    await visit.go("/pipelines/bills")
    await expect(visit.page.locator(".problem")).to_contain_text("there is no address")
    is_mended.set()

    await do(visit, "Try again", "It is due now")
    await until_event(visit, "bills", **{"7": "consumed"})

    assert sent == ["7"]
    first, second = await attempts(visit, "bills", "send")
    assert (first.status, second.status, second.retry_of) == ("failed:logic", "committed", first.id)
    assert await audited(visit, "bills") == [("retry_pipeline", "bills", "retried")]


async def test_a_pipeline_is_told_no_and_held_and_made_to_look_now(visit: Visit) -> None:
    app, page = visit.shop.app, visit.page
    inputs = [windlass.Input("stripe", "payment", id, title=f"Payment {id}") for id in ("pi_8", "pi_9")]
    await until_asked(visit, "payments", "approval")
    by = await person(visit)

    await visit.go("/pipelines/payments")
    await do(visit, "Reject", "Rejected", note="he has left")
    await until_event(visit, "payments", **{"7": "skipped"})
    asked, rejected = await attempts(visit, "payments", "Charge")
    assert (asked.decided_by, asked.note, rejected.retry_of) == (by, "he has left", asked.id)
    assert (rejected.status, rejected.outcome) == ("committed", "skipped")
    assert (await visit.opened.pipelines.get_handler_run("default", rejected.id)).effect is None  # it was not called

    await visit.go("/pipelines/payments")
    await do(visit, "Pause", "Paused", note="we count")
    held = await row(visit, "payments")
    assert (held.is_paused, held.paused_by, held.note) == (True, by, "we count")
    for input, id in zip(inputs, ("8", "9"), strict=True):
        await app.publish(app.topic("order.paid", str), id, id=id, input=input)

    await page.reload()
    await do(visit, "Skip", "Skipped", page.locator("tr", has_text="Payment pi_8"), note="a test of theirs")
    await visit.go("/pipelines/payments")
    await page.get_by_role("link", name="Payment pi_9").click()
    await do(visit, "Skip", "Skipped")
    for input in inputs:
        known = (await visit.opened.pipelines.trace_input("default", "payments", input.input_id)).input
        assert (known.status, known.skipped_by, known.pending) == ("skipped", by, 0)
    assert await events(visit, "payments") == {"7": "skipped", "8": "skipped", "9": "skipped"}

    await visit.go("/pipelines/payments")
    await do(visit, "Resume", "Resumed")
    assert not (await row(visit, "payments")).is_paused
    looked = len(await attempts(visit, "payments", "poll"))
    await do(visit, "Run now", "It is due now")

    async def has_looked() -> bool:
        return [item.status.value for item in await attempts(visit, "payments", "poll")] == ["committed"] * (looked + 1)

    await until(has_looked)
    assert await audited(visit, "payments") == [
        ("decide_handler", "payments", "rejected"),
        ("pause_pipeline", "payments", "paused"),
        *(("skip_input", "payments", f"skipped {input.input_id}") for input in inputs),
        ("resume_pipeline", "payments", "resumed"),
        ("run_now", "payments", "run now: poll"),
    ]


async def somebody_else(visit: Visit, browser: Browser) -> Page:
    """Signed in at the same server with a token of their own, in a browser of their own."""
    secret, id = secret_bytes(), visit.opened.ids.key()
    key = CreateKey(id=id, namespace="default", roles=(Role.OPERATOR,), secret_hash=hash_secret(secret))
    await visit.opened.access.create_key(key)
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{visit.base}/ui/-/login")
    await page.locator("input[name=token]").fill(make_token(id, secret))
    async with page.expect_navigation():
        await page.get_by_role("button", name="Sign in").click()
    return page


async def test_a_decision_about_what_is_asked_no_more_comes_too_late(visit: Visit, browser: Browser) -> None:
    app = visit.shop.app
    again, other_word = [await visit.context.new_page() for _ in range(2)]
    other_person = await somebody_else(visit, browser)
    await until_asked(visit, "payments", "approval")
    await app.publish(app.topic("order.paid", str), "8", id="8")
    for shown, label in ((again, "Approve"), (other_word, "Reject"), (other_person, "Approve")):
        await shown.goto(f"{visit.base}/ui/default/pipelines/payments")
        await buttons(shown.locator("main"), label).click()  # about order 7; an open question stays as it is
    await visit.go("/pipelines/payments")

    await do(visit, "Approve", "Approved")
    await until_event(visit, "payments", **{"7": "consumed", "8": "reserved"})
    await until_asked(visit, "payments", "approval")
    for shown in (other_word, other_person):
        refused = await answer(shown, shown.locator("main"))
        assert refused.status == 409
        await expect(shown.get_by_role("alert")).to_contain_text("one that waits for an approval was expected")
        await shown.get_by_role("link", name="Back").click()
        await expect(shown.locator("main")).to_contain_text("payments")
    repeated = await answer(again, again.locator("main"))

    assert repeated.status == 200  # the same word of the same person about the same attempt: it has been done
    assert (await row(visit, "payments")).issue == "approval"
    seven, eight = await attempts(visit, "payments", "Charge")
    assert (seven.status, seven.decided_by) == ("committed", await person(visit))
    assert (eight.status, eight.decided_by, eight.reserved[0].id) == ("paused:approval", None, "8")
    assert await audited(visit, "payments") == [("decide_handler", "payments", "approved")]
    await other_person.context.close()


async def test_a_signal_is_held_and_let_go_and_called_off(visit: Visit) -> None:
    app, nap, page = visit.shop.app, visit.shop.nap, visit.page
    watched = await app.start(nap)
    signal = await app.when(watched, enters="cancelled", start=nap)
    other = await app.when(watched, enters="failed", start=nap)

    await visit.go(f"/signals/{signal.id}")
    await do(visit, "Pause", "What it fires is kept", note="it is Sunday")
    assert await signal.status() == "paused"
    await watched.cancel()
    (kept,) = await signal.firings()
    assert (kept.status, kept.run_id) == ("queued", None)
    await do(visit, "Resume", "Resumed")

    async def has_started() -> bool:
        return [item.status for item in await signal.firings()] == ["done"]

    await until(has_started)
    (done,) = await signal.firings()
    assert done.run_id is not None
    await visit.status(done.run_id, "sleeping")
    assert await signal.status() == "fired"
    await visit.go("/signals")
    await do(visit, "Call off", "Called off", page.locator(f"tr#{other.id}"), note="it cannot fail any more")
    assert await other.status() == "cancelled"
    assert await audited(visit, signal.id, other.id) == [
        ("steer_signal", signal.id, "paused"),
        ("steer_signal", signal.id, "armed"),
        ("steer_signal", other.id, "cancelled"),
    ]


async def test_a_schedule_is_steered_and_one_that_is_no_longer_declared_is_deleted(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(tmp_path / "windlass.db")
    before = Shop(url)  # the same program, as it was

    @before.app.schedule(cron="0 0 1 1 *")
    async def yearly(ctx: Context) -> None: ...

    async def is_declared() -> bool:
        return [item.name for item in await before.app.schedules.list()] == ["nightly", "yearly"]

    async with before.app.worker():
        await until(is_declared)
    await before.app.aclose()

    async with acting(browser, url, request.node.name) as visit:
        schedules, page = visit.opened.schedules, visit.page

        async def is_gone() -> bool:
            return not (await schedules.get_schedule("default", "yearly")).schedule.is_declared

        await until(is_gone)
        nightly = page.locator("#schedule-nightly")
        await visit.go("/schedules")
        await do(visit, "Pause", "Paused", nightly, note="the books are closed")
        held = (await schedules.get_schedule("default", "nightly")).schedule
        assert (held.status, held.paused_by, held.note) == ("paused", await person(visit), "the books are closed")
        assert held.available_at is None
        await do(visit, "Resume", "Resumed")
        going = (await schedules.get_schedule("default", "nightly")).schedule
        assert going.status == "active" and going.available_at is not None
        await visit.go("/schedules")
        await do(visit, "Run now", "Started now", nightly)
        run_id = urlsplit(page.url).path.rpartition("/")[2]
        await visit.status(run_id, "completed")
        run = (await visit.opened.runs.get_run("default", RunId(run_id))).run
        assert (run.schedule, run.slot) == ("nightly", None)

        await visit.go("/schedules")
        await expect(page.locator("#schedule-yearly")).to_contain_text("no longer declared")
        await expect(buttons(nightly, "Delete")).to_have_count(0)
        await do(visit, "Delete", "Deleted", page.locator("#schedule-yearly"))

        assert [item.schedule.name for item in await schedules.list_schedules("default")] == ["nightly"]
        assert await audited(visit, "nightly", "yearly") == [
            ("pause_schedule", "nightly", "paused"),
            ("resume_schedule", "nightly", "active"),
            ("trigger_schedule", "nightly", f"started {run_id}"),
            ("delete_schedule", "yearly", "deleted"),
        ]


async def test_a_queue_is_closed_and_opened_and_a_worker_is_asked_to_leave(visit: Visit) -> None:
    app, shop = visit.shop.app, visit.shop
    by = await person(visit)

    await visit.go("/queues")
    await do(visit, "Pause", "The queue is paused", note="the bank counts")
    (gate,) = [gate for gate in await visit.opened.control.list_gates("default") if gate.is_paused]
    assert (gate.kind, gate.name, gate.paused_by, gate.note) == ("queue", "default", by, "the bank counts")
    handle = await app.start(shop.slow)
    assert (await visit.opened.runs.get_run("default", RunId(handle.id))).run.status == "pending"
    await do(visit, "Resume", "The queue is open again")
    await visit.status(handle.id, "running")
    assert [gate for gate in await visit.opened.control.list_gates("default") if gate.is_paused] == []

    await visit.go("/workers")
    await do(visit, "Drain", "Asked to leave")
    (worker,) = await visit.opened.runs.list_workers("default")
    assert (worker.is_draining, worker.stopped_at) == (True, None)  # it has something to end before
    shop.gate.set()
    assert await handle.result() == "done"

    async def has_left() -> bool:
        return await visit.opened.runs.list_workers("default") == ()

    await until(has_left)
    assert await audited(visit, "queue/default", worker.id) == [
        ("set_gate", "queue/default", "paused"),
        ("set_gate", "queue/default", "open"),
        ("drain_worker", worker.id, "draining"),
    ]


async def cut_off(visit: Visit, path: str) -> list[str]:
    """Open each question of a page, and tell of those of which not everything can be seen."""
    page, found = visit.page, list[str]()
    await visit.go(path)
    summaries = await page.locator("main details.ask > summary").all()
    assert summaries, f"{path} asks nothing"
    for summary in summaries:
        await summary.click()
        cut = await page.locator("details.ask[open] > form").evaluate(CUT)
        found += [f"{path}, {await summary.inner_text()}: {what}" for what in cut]
        await page.keyboard.press("Escape")
    return found


@pytest.mark.parametrize("width", [DESKTOP["width"], 900, PHONE["width"]])
async def test_no_question_is_cut_off_and_no_page_is_wider_than_its_window(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    is_phone = width == PHONE["width"]
    size = PHONE if is_phone else DESKTOP | {"width": width}
    async with visiting(browser, str(tmp_path / "windlass.db"), viewport=size, is_mobile=is_phone) as visit:
        app, found = visit.shop.app, list[str]()
        handle = await app.start(visit.shop.order, "7")
        await visit.status(handle.id, "waiting")
        await app.when(handle, enters="failed", start=visit.shop.nap)
        payment = windlass.Input("stripe", "payment", "pi_8")
        await app.publish(app.topic("order.paid", str), "8", id="8", input=payment)
        await until_asked(visit, "payments", "approval")

        tables = ("/queues", "/schedules", "/signals", "/workers", "/pipelines/payments")
        for path in (*tables, "", f"/runs/{handle.id}", "/pipelines", "/schedules/nightly"):
            found += await cut_off(visit, path)
            assert path not in tables or await visit.page.locator("table details.ask").count() > 0
            scrolls = await visit.page.evaluate("document.documentElement.scrollWidth")
            found += [f"{path}: {scrolls} wide"] if scrolls > width else []

        assert not found, "\n".join(found)
        assert visit.complaints == []


async def test_what_happens_while_a_page_is_on_its_way_is_shown(visit: Visit) -> None:
    page = visit.page

    async def start_first(route: Route) -> None:
        """The page is there, and does not listen yet."""
        handle = await visit.shop.app.start(visit.shop.slow)
        await visit.status(handle.id, "running")
        await route.continue_()

    await page.route("**/live", start_first, times=1)
    await visit.go("/runs")
    await expect(page.locator("#live")).to_have_text("Live")

    await expect(page.locator("tr", has_text="slow")).to_be_visible()  # and not a quarter of a minute later

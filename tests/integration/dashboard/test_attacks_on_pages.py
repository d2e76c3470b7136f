"""Does a page decide about anything but what it showed, tell a secret, or say what nobody can see?"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest
from msgspec import Struct

from tests.conformance.given import WORKER, start
from tests.conformance.given_signals import STARTS, new_item, on_item, watch
from tests.conformance.test_pipelines import prepared
from tests.conformance.test_schedules import put
from tests.conformance.test_workers import registering
from tests.integration.dashboard.office import UI, Office, act, text_of
from tests.integration.pipelines.shop import Shop
from tests.integration.pipelines.till import Order, Till
from tests.integration.server.site import BASE
from tests.lives.pipeline_hands import ORDERS, Hands
from tests.programs import echo
from windlass import Context
from windlass.dashboard.payloads import HIDDEN, MASK
from windlass.engine.engine import Engine
from windlass.errors import InvalidInput
from windlass.model.namespace import CreateNamespace
from windlass.model.page import ListRuns
from windlass.model.pipeline import Reservation
from windlass.model.pipeline_work import ReadEvents, Verdict
from windlass.rules.reservations import MOST_RESERVED
from windlass.testing.harness import Harness

PAYMENTS = f"{UI}/pipelines/payments"
RESOLUTIONS = ("happened", "did_not_happen", "skip")


class Form(Struct, frozen=True):
    """One on a page, with all that it sends along unseen."""

    action: str
    fields: dict[str, str]

    async def send(self, browser: httpx.AsyncClient, **more: str) -> httpx.Response:
        return await browser.post(self.action, data={**self.fields, **more}, headers={"origin": BASE})


def forms_of(page: httpx.Response) -> list[Form]:
    found = re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', page.text, re.DOTALL)
    hidden = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
    return [
        Form(unescape(action), {unescape(name): unescape(value) for name, value in hidden.findall(body)})
        for action, body in found
    ]


async def form_of(browser: httpx.AsyncClient, path: str, verb: str, **fields: str) -> Form:
    """The only one on this page that does this, and says so."""
    forms = forms_of(await browser.get(path))
    (form,) = [it for it in forms if it.action.endswith(f"/{verb}") and fields.items() <= it.fields.items()]
    return form


# Decisions about what is not there any more


async def in_doubt(harness: Harness) -> Till:
    """A pipeline of which nobody knows whether it has paid pay-1, and of which pay-2 is next."""
    till = await Till(harness, has_reconcile=False).deployed()
    till.world.plan(charge=[ConnectionError("reset")] * 9)
    await till.settle("pay-1", "pay-2")
    assert await till.standing() == ("attention", "indeterminate")
    return till


@pytest.mark.spec("security:97")
@pytest.mark.parametrize("path", [PAYMENTS, UI])
@pytest.mark.parametrize("first", RESOLUTIONS)
@pytest.mark.parametrize("second", RESOLUTIONS)
async def test_an_answer_about_one_effect_is_none_about_the_next(
    memory_harness: Harness, memory_office: Office, path: str, first: str, second: str
) -> None:
    till = await in_doubt(memory_harness)
    browser = await memory_office.signed_in()
    once = await form_of(browser, path, "resolve", resolution=first)
    late = await form_of(browser, path, "resolve", resolution=second)

    answer = await once.send(browser)
    await memory_harness.idle()
    before = await till.events(), await till.standing()
    again = await late.send(browser)
    await memory_harness.idle()

    assert answer.status_code == 303
    assert before[1] == ("attention", "indeterminate")  # of the next one
    assert (await till.events(), await till.standing()) == before
    assert again.status_code == (303 if first == second else 409)  # the same word once more is no other one
    assert [run.decided_by is None for run in await till.runs()][-1]


@pytest.mark.spec("security:97")
@pytest.mark.parametrize("path", [PAYMENTS, UI])
@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
async def test_a_yes_or_no_to_one_attempt_is_none_to_the_next(
    memory_harness: Harness, memory_office: Office, path: str, first: str, second: str
) -> None:
    till = await Till(memory_harness, approval=True).deployed()
    await till.settle("pay-1", "pay-2")
    browser = await memory_office.signed_in()
    once, late = await form_of(browser, path, first), await form_of(browser, path, second)

    answer = await once.send(browser)
    await memory_harness.idle()
    again = await late.send(browser)
    await memory_harness.idle()

    assert answer.status_code == 303
    assert again.status_code == (303 if first == second else 409)
    assert await till.standing() == ("attention", "approval")
    assert await till.events() == {
        "pay-1": ("consumed" if first == "approve" else "skipped", 1),
        "pay-2": ("reserved", 1),
    }


@pytest.mark.spec("security:97")
@pytest.mark.parametrize("place", ["", "/runs/{id}"])
@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
async def test_a_yes_or_no_in_a_run_is_none_to_what_it_asks_next(
    memory_harness: Harness, memory_office: Office, place: str, first: str, second: str
) -> None:
    @memory_harness.app.workflow
    async def order(ctx: Context) -> list[str]:
        return [(await ctx.approval(f"Ship part {number}?")).outcome for number in (1, 2)]

    handle = await memory_harness.start(order)
    await memory_harness.idle()
    browser = await memory_office.signed_in()
    path = UI + place.format(id=handle.id)
    once, late = await form_of(browser, path, first), await form_of(browser, path, second)

    await once.send(browser)
    await memory_harness.idle()
    again = await late.send(browser)
    await memory_harness.idle()

    assert again.status_code == (303 if first == second else 409)
    assert "Ship part 2?" in text_of(await browser.get(path))
    assert await handle.status() == "waiting"


@pytest.mark.spec("security:97")
@pytest.mark.parametrize("second", ["happened", "skip"])
async def test_an_answer_about_one_call_of_a_step_is_none_about_the_next(
    memory_harness: Harness, memory_office: Office, second: str
) -> None:
    shop = Shop(memory_harness, has_reconcile=False)
    shop.world.plan(charge=[ConnectionError("reset")] * 9)
    handle = await shop.app.start(shop.buy, "a")
    await memory_harness.until(handle, "paused")
    browser = await memory_office.signed_in()
    path = f"{UI}/runs/{handle.id}"
    once = await form_of(browser, path, "resolve", resolution="did_not_happen")
    late = await form_of(browser, path, "resolve", resolution=second)

    await once.send(browser)
    while await handle.status() != "paused":
        await memory_harness.advance("10s")
    await late.send(browser)
    await memory_harness.idle()

    assert shop.world.count("charge") == 2
    assert await handle.status() == "paused"
    assert "nobody knows whether it happened" in text_of(await browser.get(path))


async def test_what_is_approved_is_what_was_shown(memory_harness: Harness, memory_office: Office) -> None:
    till = await Till(memory_harness, approval=True).deployed()
    await till.settle("pay-1")
    await memory_harness.app.publish(till.orders, Order("pay-1", 1_000_000), id="pay-1")
    browser = await memory_office.signed_in()

    page = await browser.get(PAYMENTS)
    await (await form_of(browser, PAYMENTS, "approve")).send(browser)
    await memory_harness.idle()

    assert "{'id': 'pay-1', 'amount': 7}" in text_of(page)
    assert "1000000" not in page.text
    assert [data for data, _, _ in till.world.handed] == [Order("pay-1", 7)]


async def test_an_overview_does_not_grow_with_what_a_pipeline_holds(
    memory_harness: Harness, memory_office: Office
) -> None:
    hands = Hands(memory_harness.opened.engine, WORKER)
    await hands.declare()
    for number in range(MOST_RESERVED):
        await hands.publish(f"{number}-" + "x" * 150)
    task = await hands.claim()
    assert task is not None
    events = await hands.engine.work.read_events(ReadEvents(**hands._claim, topic=ORDERS, limit=MOST_RESERVED))
    await hands.reserve(task, *[Reservation(topic=ORDERS, id=event.id, version=event.version) for event in events])
    await hands.begin(task, has_reconcile=False)
    await hands.stop(task, verdict=Verdict.UNKNOWN)
    browser = await memory_office.signed_in()

    pages = [await browser.get(path) for path in (UI, f"{UI}/pipelines", PAYMENTS)]

    sizes = [len(page.content) for page in pages]
    assert max(sizes) < 40_000, sizes


async def test_a_form_with_another_attempt_decides_nothing(memory_harness: Harness, memory_office: Office) -> None:
    till = await Till(memory_harness, approval=True).deployed()
    await till.settle("pay-1", "pay-2")
    browser = await memory_office.signed_in()
    form = await form_of(browser, UI, "approve")

    assert form.fields["attempt"] == (await till.runs())[-1].id
    forged = await form.send(browser, attempt="hrn_" + "0" * 26)
    await memory_harness.idle()

    assert forged.status_code == 409
    assert await till.events() == {"pay-1": ("reserved", 1), "pay-2": ("pending", 1)}


async def test_what_an_effect_returned_is_not_dropped_when_it_is_said_again_in_other_words(
    memory_harness: Harness, memory_office: Office
) -> None:
    till = await in_doubt(memory_harness)
    browser = await memory_office.signed_in()
    form = await form_of(browser, PAYMENTS, "resolve", resolution="happened")
    await form.send(browser, result='{"no": 1}')  # which the code behind it cannot read
    await memory_harness.idle()
    assert await till.standing() == ("attention", "logic")

    again = await form.send(browser, result='{"order": "pay-1"}')
    await memory_harness.idle()

    assert again.status_code == 409 or (await till.events())["pay-1"] == ("consumed", 1), again.headers["location"]


# Secrets


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize(
    "value",
    [
        {"deep": [{"apiKey": "canary"}, {"x": {"access_token": "canary"}}]},
        {"PASSWORD": "canary"},
        {"pin_token": {"code": "canary"}},
        {"headers": {"Authorization": "Bearer canary"}},
        {"url": "postgres://ann:canary@db/shop"},
        {"urls": ["redis://:canary@cache", "see https://ann:canary@example.org/x"]},
        {"password": ["canary"] * 20_000},
        {"client_secret": "canary", "pad": "x" * 70_000},
        {"pad": "x" * 70_000, "url": "postgres://ann:canary@db"},
        {"url": "postgres://ann:canary@db", "pad": "x" * 70_000},
        {"api_key": "canary", "pad": "x" * 5_000},
        {"url": "https://ann:canary@example.org", "pad": "x" * 5_000},
    ],
    ids=lambda value: next(iter(value)),
)
async def test_what_sounds_like_a_secret_is_on_no_page(
    memory_harness: Harness, memory_office: Office, value: dict[str, Any]
) -> None:
    async def look_up(value: dict[str, Any]) -> dict[str, Any]:
        return value

    @memory_harness.app.workflow
    async def keep(ctx: Context, value: dict[str, Any]) -> dict[str, Any]:
        found = await ctx.step(look_up, value)
        await ctx.approval("Keep it?", data={"shown": {name: item for name, item in value.items() if name != "pad"}})
        return found

    handle = await memory_harness.start(keep, value)
    await memory_harness.idle()
    browser = await memory_office.signed_in()
    pages = [await browser.get(f"{UI}/runs/{handle.id}"), await browser.get(UI)]
    await act(browser, f"{UI}/runs/{handle.id}/approve")
    await handle.result()
    pages += [await browser.get(f"{UI}/runs/{handle.id}"), await browser.get(f"{UI}/runs")]

    assert all("canary" not in page.text for page in pages)
    assert MASK in pages[0].text or HIDDEN in pages[0].text


@pytest.mark.spec("security:S-28")
async def test_what_only_sounds_like_a_secret_at_first_is_shown(memory_harness: Harness, memory_office: Office) -> None:
    shown = {"total_tokens": 1_234, "cookies_eaten": 5_678, "secretary": "Bob Cratchit", "at": "https://x.example/@ann"}
    keep = memory_harness.app.workflow(echo)
    handle = await memory_harness.start(keep, shown)
    await handle.result()

    page = text_of(await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}"))

    assert all(page.count(str(value)) == 2 for value in shown.values())
    assert MASK not in page


@pytest.mark.spec("security:S-28")
async def test_what_is_kept_of_schedules_signals_and_events_is_masked_as_well(
    memory_harness: Harness, memory_office: Office
) -> None:
    engine: Engine = memory_harness.opened.engine
    secret = {"token": "canary", "shelf": "in sight"}
    payload = memory_harness.app._codec.encode(secret)
    await put(engine, "nightly", input=b"[" + payload + b"]")
    item = await new_item(engine)
    signal = await watch(engine, on_item(item, "done"), STARTS, payload=payload)
    hands = Hands(engine, WORKER)
    await hands.declare()
    await hands.publish("pay-1", payload=payload)
    task = await prepared(hands)
    await hands.begin(task, has_reconcile=False)
    await hands.stop(task, verdict=Verdict.UNKNOWN)
    browser = await memory_office.signed_in()

    paths = ("/schedules/nightly", f"/signals/{signal.id}", "/pipelines/payments")
    pages = [await browser.get(UI + path) for path in paths]

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert all("canary" not in page.text for page in pages)
    assert all("in sight" in page.text and MASK in page.text for page in pages)


# Text that is not what it seems


UNSEEN = "\u202e\x1b\x00\u2066\u200b\x7f\x85\ufeff"
ODD = "safe\u202efdp.exe\x1b[31m\u2066\u200bend"


def unseen_in(page: httpx.Response) -> list[str]:
    return [repr(sign) for sign in UNSEEN if sign in page.text]


@pytest.mark.spec("security:S-21")
async def test_no_page_has_a_sign_that_turns_text_round_or_hides_it(
    memory_harness: Harness, memory_office: Office
) -> None:
    @memory_harness.app.workflow
    async def order(ctx: Context, id: str) -> str:
        return (await ctx.approval(f"Ship {id}?", data={id: id})).outcome

    @memory_harness.app.workflow
    async def refund(ctx: Context, id: str) -> str:
        raise ValueError(f"{id}\x00 does not answer")

    asked, failed = await memory_harness.start(order, ODD), await memory_harness.start(refund, ODD)
    await memory_harness.idle()
    browser = await memory_office.signed_in(namespace="*")
    await act(browser, f"{UI}/runs/{asked.id}/pause", note=ODD)
    await act(browser, f"{UI}/queues/default/pause", note=ODD)
    await memory_harness.opened.work.register_worker(registering(host=ODD))
    await memory_harness.opened.namespaces.create_namespace(CreateNamespace(name="other", note=ODD))
    await new_item(memory_harness.opened.engine, title=ODD)
    paths = ("", "/runs", f"/runs/{asked.id}", f"/runs/{failed.id}", "/queues", "/workers", "/signals", "/namespaces")

    pages = {path: await browser.get(UI + path) for path in paths}

    assert {path: page.status_code for path, page in pages.items()} == dict.fromkeys(paths, 200)
    assert {path: unseen_in(page) for path, page in pages.items()} == {path: [] for path in paths}
    told = {path for path, page in pages.items() if "safe\\u202efdp.exe\\u001b[31m" in page.text}
    assert told == {*paths}


@pytest.mark.spec("security:S-21", "security:94")
@pytest.mark.parametrize("query", ["text", "workflow", "queue", "status", "within", "before", "done", "next"])
async def test_what_stands_in_an_address_is_text(memory_office: Office, query: str) -> None:
    browser = await memory_office.signed_in()
    odd = f'{ODD}"><script>alert(1)</script>'

    answer = await browser.get(f"{UI}/runs", params={query: odd})
    alone = await memory_office.visitor().get(f"{UI}/runs", params={query: odd})

    assert answer.status_code in (200, 400)
    assert alone.status_code == 401
    assert all("<script>alert" not in page.text and unseen_in(page) == [] for page in (answer, alone))


async def test_a_note_with_what_no_database_keeps_is_refused_on_a_page(
    memory_harness: Harness, memory_office: Office
) -> None:
    answer = await act(await memory_office.signed_in(), f"{UI}/queues/default/pause", note="a\x00b")

    assert answer.status_code == 400
    assert "no NUL characters" in text_of(answer)
    assert unseen_in(answer) == []
    assert "data-live" not in answer.text  # its address takes a form, and nobody may ask it for the page again


# Addresses


@pytest.mark.spec("security:94")
@pytest.mark.parametrize(
    "name", ["login", "logout", "static", "live", "namespaces", "runs", "ui", "v1", "null", "__init__", "a.b", "a:b"]
)
async def test_a_namespace_may_have_the_name_of_a_page(memory_office: Office, name: str) -> None:
    await memory_office.opened.namespaces.create_namespace(CreateNamespace(name=name))
    await memory_office.opened.runs.start_run(start(namespace=name))
    (run,) = (await memory_office.opened.runs.list_runs(ListRuns(namespace=name))).runs
    browser = await memory_office.signed_in(namespace="*")

    pages = [await browser.get(f"/ui/{name}{path}") for path in ("", "/", "/runs", f"/runs/{run.id}", "/namespaces")]

    assert [page.status_code for page in pages] == [200] * 5
    assert f"Namespace {name} Sign out" in text_of(pages[0])
    assert all(f"/runs/{run.id}" in page.text for page in pages[2:4])
    assert f'href="/ui/{name.replace(":", "%3A")}"' in pages[4].text


async def test_no_namespace_can_have_the_name_of_what_is_outside_of_all(memory_office: Office) -> None:
    browser = await memory_office.signed_in(namespace="*")

    with pytest.raises(InvalidInput):
        await memory_office.opened.namespaces.create_namespace(CreateNamespace(name="-"))

    assert (await browser.get("/ui/-")).status_code in (400, 403, 404)
    assert (await browser.get("/ui/-/runs")).status_code in (400, 403, 404)


@pytest.mark.parametrize(("path", "where"), [("/ui/", "/ui/default"), ("/ui/default/", ""), (f"{UI}/runs/", "")])
async def test_an_address_may_end_with_a_slash(memory_office: Office, path: str, where: str) -> None:
    answer = await (await memory_office.signed_in()).get(path)

    assert answer.status_code == (303 if where else 200)
    assert answer.headers.get("location", "") == where
    assert (await memory_office.visitor().get(path)).status_code == 401


@pytest.mark.spec("security:94")
@pytest.mark.parametrize(
    "path",
    [
        f"{UI}/runs?%ff=1",
        f"{UI}?%ff=1",
        f"{UI}/?%c3",
        "/ui?a=%ff",
        "/ui/-/login?%ff=1",
        f"{UI}/runs?" + "a=1&" * 60,
        f"{UI}/runs/run_x?%ff",
    ],
)
@pytest.mark.parametrize("is_signed_in", [False, True])
async def test_a_broken_query_gets_a_page(memory_office: Office, path: str, is_signed_in: bool) -> None:
    browser = await memory_office.signed_in() if is_signed_in else memory_office.visitor()

    answer = await browser.get(path)

    assert answer.status_code in (303, 400, 401) if path.startswith("/ui?") else (400, 401)
    assert is_signed_in or answer.headers["content-type"] == "text/html; charset=utf-8"
    assert is_signed_in or ("Sign in" in answer.text and "%ff" not in answer.text)

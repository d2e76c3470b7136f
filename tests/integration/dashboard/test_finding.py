"""Is what somebody looks for found, however old it is, however much there is of it, and whatever they do to find it?"""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.conformance.given import poll
from tests.integration.dashboard.office import UI, Office, act, text_of
from tests.integration.dashboard.test_pages import Shop
from tests.programs import echo
from windlass import Context, JobContext, Spawn
from windlass.engine import pages
from windlass.model.run import RunId
from windlass.model.worker import Served
from windlass.testing.harness import Harness

MANY = 12
LONGEST = pytest.param("k" * 255, id="longest")


@pytest.fixture
def short_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were hundreds of times as many runs."""
    monkeypatch.setattr(pages, "LOOKED_AT", 5)
    monkeypatch.setattr(pages, "LOOKED_AT_FURTHER", 5)


async def bury(shop: Shop) -> None:
    """Many runs that are newer, and over."""
    for _ in range(MANY):
        await (await shop.harness.start(shop.echo, "x")).result()


async def found_by(office: Office, **query: str) -> list[str]:
    page = await (await office.signed_in()).get(f"{UI}/runs", params=query)
    assert page.status_code == 200
    return re.findall(r'<tr id="(run_[0-9A-Z]+)">', page.text)


# Runs


async def test_an_id_is_found_behind_many_newer_runs(office: Office, harness: Harness, short_sighted: None) -> None:
    shop = Shop(harness, has_signals=False)
    handle = await harness.start(shop.echo, "x")
    await handle.result()
    await bury(shop)

    for text in (handle.id, handle.id.lower(), handle.id.upper(), f" {handle.id} "):
        assert await found_by(office, text=text) == [handle.id]
        assert await found_by(office, text=text, status="completed", workflow="echo") == [handle.id]
        assert await found_by(office, text=text, status="failed") == []


@pytest.mark.spec("security:93")
@pytest.mark.parametrize("key", ["Order 7", "' OR 1=1--", "100%_\\!", "Ärger-7", "東京", "run_7", "\u202eodd", LONGEST])
async def test_a_start_key_is_found_behind_many_newer_runs(
    memory_office: Office, memory_harness: Harness, short_sighted: None, key: str
) -> None:
    shop = Shop(memory_harness, has_signals=False)
    handle = await memory_harness.start(shop.echo, "x", key=key)
    await handle.result()
    await bury(shop)

    assert await found_by(memory_office, text=key) == [handle.id]
    assert await found_by(memory_office, text=key[:-1] + "?") == []


# What is typed, and which start keys it is a part of.
TYPED = {
    "Ärger": {"Ärger mit Öl"},
    "mit Öl": {"Ärger mit Öl"},
    "oRDER-7": {"Order-7"},
    "0%": {"100%"},
    "a_": {"a_b"},
    "w!": {"wow!"},
    "k\\s": {"back\\slash"},
    "' OR 1=1--": {"' or 1=1--"},
    "_b": {"a_b"},
    "%": {"100%"},
    "(a+)+$": set(),
    ".*": set(),
}
KEYS = {"axb", "1000", "plain", *(key for keys in TYPED.values() for key in keys)}


@pytest.mark.spec("security:93")
async def test_text_is_looked_for_as_it_is(office: Office, harness: Harness) -> None:
    shop = Shop(harness, has_signals=False)
    keys = {(await harness.start(shop.echo, "x", key=key)).id: key for key in KEYS}

    found = {text: {keys[id] for id in await found_by(office, text=text)} for text in TYPED}

    assert found == TYPED


@pytest.mark.spec("security:93", "security:94")
@pytest.mark.parametrize(("length", "status"), [(201, 200), (8_000, 200), (9_000, 414)])
async def test_a_text_of_any_length_is_looked_for_or_refused(
    memory_office: Office, memory_harness: Harness, length: int, status: int
) -> None:
    answer = await (await memory_office.signed_in()).get(f"{UI}/runs?text={'x' * length}")
    assert answer.status_code == status


async def standing(shop: Shop, status: str) -> str:
    """A run that stands like this."""
    harness = shop.harness
    if status in ("completed", "failed"):
        handle: Any = await harness.start(shop.echo if status == "completed" else shop.refund, "7")
    elif status == "running":
        handle = await harness.app.start(shop.echo, "x", queue="elsewhere")
        await harness.opened.work.claim_runs(poll(7, served=(Served("elsewhere", "echo"),)))
        return str(handle.id)
    elif status == "pending":
        handle = await harness.app.start(shop.echo, "x", queue="nowhere")
    else:
        handle = await harness.start(*((shop.nap,) if status in ("sleeping", "paused") else (shop.order, "7")))
    if status == "paused":
        await harness.until(handle, "sleeping")
        await handle.pause()
    await harness.until(handle, status)
    return str(handle.id)


async def test_what_is_not_over_or_not_well_is_found_behind_many_that_are(
    office: Office, harness: Harness, short_sighted: None
) -> None:
    shop = Shop(harness, has_signals=False)
    statuses = ("sleeping", "waiting", "running", "pending", "paused", "failed")
    ids = {status: await standing(shop, status) for status in statuses}
    await bury(shop)

    for status, id in ids.items():
        assert await found_by(office, status=status) == [id]
        assert await found_by(office, status=status, within="1h") == [id]
        assert await found_by(office, status=status, text=id[-10:].lower()) == [id]
        assert await found_by(office, status=status, workflow="release") == []


async def test_what_lies_further_back_is_found_by_going_on(
    office: Office, harness: Harness, short_sighted: None
) -> None:
    shop = Shop(harness, has_signals=False)
    id = await standing(shop, "completed")
    await bury(shop)
    browser = await office.signed_in()

    page, looks = await browser.get(f"{UI}/runs", params={"text": id[-10:], "status": "completed"}), 1
    while id not in page.text:
        assert "No run matches" in text_of(page)
        (onward,) = re.findall(r'<a href="([^"]+)">Look further back</a>', page.text)
        page, looks = await browser.get(unescape(onward)), looks + 1

    assert looks == 3
    assert f'id="{id}"' in page.text


async def test_every_run_is_on_one_of_the_pages_and_none_on_two(
    memory_office: Office, memory_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "LOOKED_AT", 70)
    shop = Shop(memory_harness, has_signals=False)
    ids = {(await memory_harness.start(shop.echo, "x")).id for _ in range(120)}
    await memory_harness.idle()
    browser = await memory_office.signed_in()

    found: list[str] = []
    path: str | None = f"{UI}/runs?workflow=echo"
    while path:
        page = await browser.get(unescape(path))
        found += re.findall(r'<tr id="(run_[0-9A-Z]+)">', page.text)
        path = next(iter(re.findall(r'href="([^"]+)" rel="next"', page.text)), None)

    assert (len(found), {*found}) == (120, ids)
    assert found == sorted(found, reverse=True)


# One run


async def long_run(harness: Harness, steps: int) -> Any:
    """A run that asks after so many steps."""

    def count(number: int) -> int:
        return number

    @harness.app.workflow
    async def long(ctx: Context) -> str:
        for number in range(steps):
            await ctx.step(count, number, key=str(number))
        await ctx.sleep("1m")
        return (await ctx.approval("Far enough?")).outcome

    handle = await harness.start(long)
    await harness.until(handle, "sleeping")
    await harness.advance("1m")
    assert await handle.status() == "waiting"
    return handle


def attempts_on(page: httpx.Response) -> list[str]:
    return re.findall(r'<tr id="step-(?:count:)?([^"]+)-1">', page.text)


async def test_of_many_attempts_the_latest_are_shown_with_a_way_to_the_earlier_ones(
    memory_office: Office, memory_harness: Harness
) -> None:
    handle = await long_run(memory_harness, 450)
    browser = await memory_office.signed_in()

    shown, path = [], f"{UI}/runs/{handle.id}"
    while path:
        shown.append(await browser.get(path))
        path = unescape(next(iter(re.findall(r'href="([^"]+)" rel="next">Earlier attempts', shown[-1].text)), ""))

    assert [attempts_on(page)[-1] for page in shown] == ["approval", "251", "51"]
    assert [number for page in reversed(shown) for number in attempts_on(page)] == [
        *map(str, range(450)),
        "sleep",
        "approval",
    ]
    assert "Only the latest 200 attempts are shown." in text_of(shown[0])
    assert "The latest 400 attempts are not shown here." in text_of(shown[2])
    assert f'href="{UI}/runs/{handle.id}">Latest attempts' in shown[2].text


async def test_an_approval_behind_many_steps_is_asked_and_given(memory_office: Office, memory_harness: Harness) -> None:
    handle = await long_run(memory_harness, 250)
    browser = await memory_office.signed_in()
    path = f"{UI}/runs/{handle.id}"

    pages = [await browser.get(path), await browser.get(f"{path}?skipped=200")]
    await act(browser, f"{path}/approve", on=path, step="approval")

    assert all(f'action="{path}/approve"' in page.text and "Far enough?" in page.text for page in pages)
    assert await handle.result() == "approved"


@pytest.mark.spec("security:92")
@pytest.mark.parametrize("skipped", ["x", "-1", "1.5", "٣", "1e3", "99999999", "0x1", " 1", "+1"])
async def test_what_is_no_number_of_attempts_is_refused(
    memory_office: Office, memory_harness: Harness, skipped: str
) -> None:
    handle = await long_run(memory_harness, 1)
    browser = await memory_office.signed_in()

    answer = await browser.get(f"{UI}/runs/{handle.id}", params={"skipped": skipped})

    assert answer.status_code == 400
    assert "is no number of attempts" in text_of(answer)


@pytest.mark.parametrize("skipped", ["0", "1", "9999999"])
async def test_any_number_of_attempts_can_be_passed_over(
    memory_office: Office, memory_harness: Harness, skipped: str
) -> None:
    handle = await long_run(memory_harness, 1)

    answer = await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}?skipped={skipped}")

    assert answer.status_code == 200


async def test_what_a_step_returned_is_given_whole_by_its_link(office: Office, harness: Harness) -> None:
    def fetch(key: str) -> dict[str, str]:
        return {"key": key, "text": "ü" * 10_000}

    keys = ("plain", "a/b?c=d&e", "100% «ö»", '"><b>', "x" * 200)

    @harness.app.workflow
    async def keep(ctx: Context) -> int:
        return len([await ctx.step(fetch, key, key=key) for key in keys])

    handle = await harness.start(keep)
    assert await handle.result() == len(keys)
    browser = await office.signed_in()

    page = await browser.get(f"{UI}/runs/{handle.id}")
    links = re.findall(r'<a href="([^"]*step\.json[^"]*)" download>All of it, as JSON', page.text)
    whole = [await browser.get(unescape(link)) for link in links]

    assert len(page.content) < 120_000
    assert sorted(answer.json()["key"] for answer in whole) == sorted(keys)
    assert all(answer.json()["text"] == "ü" * 10_000 for answer in whole)
    assert {answer.headers["content-disposition"] for answer in whole} == {
        f'attachment; filename="{handle.id}-step.json"'
    }


@pytest.mark.spec("security:92")
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?key=nothing&attempt=1", 404),
        ("?key=count:0&attempt=2", 404),
        ("?key=count:0&attempt=x", 404),
        ("?key=count:0", 404),
        ("?key=" + "x" * 2_000, 400),
        ("?key=%00", 400),
        ("?key=approval&attempt=1", 404),
    ],
)
async def test_what_no_step_returned_is_not_found(
    memory_office: Office, memory_harness: Harness, query: str, status: int
) -> None:
    handle = await long_run(memory_harness, 1)

    answer = await (await memory_office.signed_in()).get(f"{UI}/runs/{handle.id}/step.json{query}")

    assert answer.status_code == status
    assert 'role="alert"' in answer.text


# Graphs


async def large_graph(harness: Harness) -> RunId:
    """One group with two matrices beside it, and more jobs than are drawn unfolded."""
    release = harness.app.graph("large")
    shard = harness.app.workflow(name="shard")(echo)

    @release.job(matrix={"py": [str(number) for number in range(20)]})
    async def test(ctx: JobContext, py: str) -> None: ...

    @release.job(needs=[test], matrix={"os": [str(number) for number in range(15)]})
    async def build(ctx: JobContext, os: str) -> None: ...

    @release.group
    async def shards(ctx: JobContext) -> list[Spawn]:
        return [release.spawn(shard, number, name=f"shard-{number}") for number in range(10)]

    graph = await harness.app.start(release)
    await harness.until(graph, "completed")
    return graph.id


def boxes_on(page: httpx.Response) -> int:
    return page.text.count('class="node on-')


@pytest.mark.parametrize(
    ("query", "boxes", "buttons"),
    [
        ("", 3, ["Unfold all"]),
        ("?unfold=test", 22, ["Fold groups", "Unfold all"]),
        ("?unfold=build", 17, ["Fold groups", "Unfold all"]),
        ("?unfold=shards", 13, ["Fold groups", "Unfold all"]),
        ("?unfold=*", 46, ["Fold groups"]),
    ],
)
async def test_one_group_of_a_graph_is_unfolded_or_all_of_them(
    memory_office: Office, memory_harness: Harness, query: str, boxes: int, buttons: list[str]
) -> None:
    path = f"{UI}/graphs/{await large_graph(memory_harness)}"

    page = await (await memory_office.signed_in()).get(path + query)

    assert boxes_on(page) == boxes
    assert re.findall(r'<a class="button" href="[^"]*">((?:Fold|Unfold)[^<]*)</a>', page.text) == buttons
    if not query:
        folded = re.findall(r'<a href="([^"]*\?unfold=[^"]*)" class="node', page.text)
        assert {*folded} == {f"{path}?unfold={name}" for name in ("test", "build", "shards")}


@pytest.mark.parametrize("name", ["nothing", "test-1", "lint", "Test", "**", "<script>"])
async def test_a_group_that_is_not_there_cannot_be_unfolded(
    memory_office: Office, memory_harness: Harness, name: str
) -> None:
    shop = Shop(memory_harness, has_signals=False)
    graph = await memory_harness.app.start(shop.release)
    await memory_harness.until(graph, "failed")

    answer = await (await memory_office.signed_in()).get(f"{UI}/graphs/{graph.id}?unfold={quote(name)}")

    assert answer.status_code == 404
    assert "<script>" not in answer.text


async def test_a_graph_of_few_jobs_is_drawn_whole(memory_office: Office, memory_harness: Harness) -> None:
    shop = Shop(memory_harness, has_signals=False)
    graph = await memory_harness.app.start(shop.release)
    await memory_harness.until(graph, "failed")
    browser = await memory_office.signed_in()

    pages = [await browser.get(f"{UI}/graphs/{graph.id}{query}") for query in ("", "?unfold=test", "?unfold=*")]

    assert [boxes_on(page) for page in pages] == [3, 3, 3]
    assert all("nfold all" not in page.text for page in pages)

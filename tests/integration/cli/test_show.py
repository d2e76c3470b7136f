"""Does `windlass show` find the run that is meant and tell its whole story on a page?"""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import ENDED_WELL, STEPS, a_run, at
from tests.integration.cli.scene import Scene, a_sale, declare_order, going_on
from tests.programs import sleeps, steps
from windlass import Context, Retry
from windlass.cli.show import Story, page
from windlass.cli.terminal import UNICODE
from windlass.codec import Codec
from windlass.model.commands import BeginStep, ClaimRuns, HoldRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import RunView, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Served
from windlass.testing.harness import Harness


def claim_of(harness: Harness) -> ClaimRuns:
    """The claim of a worker that is there for a minute."""
    return ClaimRuns(
        namespace="default",
        worker=WorkerId(harness.opened.ids.worker()),
        poll=1,
        served=(Served("default", "order"),),
        limit=1,
        visibility_for=Duration(60 * SECOND),
        wait_for=Duration(0),
    )


async def one_order(harness: Harness) -> str:
    order = declare_order(harness)
    handle = await harness.start(order, "7", key="order-7")
    await harness.run(order, "7", key="order-7")  # the same one, to its end
    return handle.id


def test_a_completed_run_is_told_on_one_page() -> None:
    view = RunView(run=a_run(attempts=3), key="order-7", input=b'{"$tuple":["7"]}', output=b'"order 7 done"')
    story = Story(view=view, steps=tuple(STEPS), log=tuple(ENDED_WELL))

    lines = page(story, now=at(140), width=80, glyphs=UNICODE, is_full=False)

    assert [line.plain.rstrip() for line in lines] == GOLDEN.splitlines()


GOLDEN = """\
✓ completed  order('7')
  run_01KDVQ0000000000000000000A · key order-7
  2026-01-01 12:00:00 UTC, 2 min 20 s ago · took 20 s · 3 claims

             ╷0           ╷5 s         ╷10 s        ╷15 s
 ✓ order     ━━━━━━━━━━━━━··········━━━━━━░░░░░░░░░░░░░░░━━━━━━━━  20 s
 ✓  reserve  █████                                                 2 s
 ✓  charge        ▒▒▒▒▒▒▒✗··········██████                         9 s, 2 tries
 ✓  sleep                                 ░░░░░░░░░░░░░░░          6 s
 ✓  ship                                                 ████████  3 s
   █ worked   ▒✗ failed   · waits   ░ sleeps   ━ claimed

Result
  'order 7 done'

Steps returned
  reserve  {'shelf': 'B-12'}
  charge   'ch_778'

Attempts that did not succeed
  ✗ charge · attempt 1 at +2 s  ConnectionError: gateway timed out

Log
  12:00:00.000          +0 s  new → running          dispatch
  12:00:05.000          +5 s  running → pending      step
  12:00:09.000          +4 s  pending → running      claim
  12:00:11.000          +2 s  running → sleeping     sleep
  12:00:17.000          +6 s  sleeping → running     claim
  12:00:20.000          +3 s  running → completed    finish
"""


def test_a_run_is_found_by_id_by_its_beginning_and_by_key(scene: Scene) -> None:
    run_id = scene.play(one_order)

    found = [
        scene.json("show", run_id),
        scene.json("show", run_id[:12]),
        scene.json("show", run_id.removeprefix("run_")[:5]),
        scene.json("show", "--key", "order-7"),
    ]

    assert {story["id"] for story in found} == {run_id}


def test_a_beginning_that_fits_several_runs_names_them(scene: Scene) -> None:
    async def two(harness: Harness) -> list[str]:
        order = declare_order(harness)
        return [(await harness.start(order, str(number), delay="1h")).id for number in range(2)]

    ids = scene.play(two)

    result = scene.run("show", ids[0][:9])

    assert result.exit_code == 1
    assert all(run_id in result.stderr for run_id in ids)
    assert scene.json("show", ids[0])["id"] == ids[0]


def test_a_beginning_finds_also_the_last_of_all_ids_that_begin_like_it(scene: Scene) -> None:
    async def until_one_ends_with_the_last_letter(harness: Harness) -> str:
        order = declare_order(harness)
        while True:
            handle = await harness.start(order, "7", delay="1h")
            if handle.id.endswith("Z"):
                return handle.id

    run_id = scene.play(until_one_ends_with_the_last_letter, has_worker=False)

    assert scene.json("show", run_id[:-1])["id"] == run_id


@pytest.mark.parametrize(
    ("args", "exit_code"),
    [
        (["run_ZZZZ"], 1),
        (["run_ZZZZZZZZZZZZZZZZZZZZZZZZZZ"], 1),
        (["--key", "nobody"], 1),
        ([], 2),
        (["run_0", "--key", "order-7"], 2),
        (["run_"], 2),
        (["run_0il"], 2),
        (["run 0"], 2),
        (["run_" + "0" * 27], 2),
        (["--key", ""], 2),
        (["--key", "bad\udcff"], 2),
        (["bad\udcff"], 2),
    ],
)
def test_a_run_that_is_not_there_is_one_line(scene: Scene, args: list[str], exit_code: int) -> None:
    scene.play(one_order)

    result = scene.run("show", *args)

    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (exit_code, "", 1)


def test_json_tells_the_same_story(scene: Scene) -> None:
    run_id = scene.play(one_order)

    story = scene.json("show", run_id)

    assert (story["input"], story["output"], story["key"]) == ({"$tuple": ["7"]}, "order 7 done", "order-7")
    steps = {(step["key"], step["attempt"]): step for step in story["steps"]}
    assert {name: step["status"] for name, step in steps.items()} == {
        ("reserve", 1): "completed",
        ("charge", 1): "failed",
        ("charge", 2): "failed",
        ("charge", 3): "completed",
        ("sleep", 1): "completed",
        ("ship", 1): "completed",
    }
    assert steps["reserve", 1]["output"] == {"order": "7", "shelf": "B-12"}
    assert steps["reserve", 1]["finished_at"] == "2026-01-01T00:00:00.000000Z"
    assert steps["charge", 1]["failure"]["message"] == "gateway timed out"
    assert [entry["to"] for entry in story["log"]][-1] == "completed"


def test_a_sleeping_run_says_until_when(scene: Scene) -> None:
    async def nap(harness: Harness) -> str:
        nap = harness.app.workflow(name="nap")(sleeps("3m"))
        handle = await harness.start(nap)
        await harness.idle()
        harness.clock.advance("30s")
        return handle.id

    shown = scene.shown("show", scene.play(nap))

    assert "☾ sleeping  nap()" in shown
    assert "It has slept since 00:00:00 UTC (30 s) and holds no worker; it goes on at" in shown
    assert "2 min 30 s left" in shown


def test_a_run_between_two_attempts_says_when_and_after_what(scene: Scene) -> None:
    async def retry(harness: Harness) -> str:
        async def charge() -> None:
            raise ConnectionError("gateway timed out")

        pay = harness.app.workflow(steps(charge, retry=Retry(9, initial="60s", factor=1)))
        handle = await harness.start(pay)
        await harness.idle()
        return handle.id

    shown = " ".join(scene.shown("show", scene.play(retry)).split())

    assert "Step 'charge' failed in attempt 1 with ConnectionError: gateway timed out. It holds no worker;" in shown
    assert "the step is tried again at 00:0" in shown
    assert "✗ charge · attempt 1 at +0 s ConnectionError: gateway timed out" in shown


def test_a_run_nobody_serves_says_what_to_start(scene: Scene) -> None:
    async def unserved(harness: Harness) -> str:
        return (await harness.start(declare_order(harness), "7", queue="slow")).id

    run_id = scene.play(unserved, has_worker=False)
    scene.clock.advance("40s")

    shown = " ".join(scene.shown("show", run_id).split())

    assert "It has been due for 40 s. No live worker runs 'order'. Start one: " in shown
    assert "windlass --url shop.db worker MODULE:APP --queue slow" in shown


def test_a_failed_run_shows_its_error_and_the_end_of_the_traceback(scene: Scene) -> None:
    async def fail(harness: Harness) -> str:
        def ship(id: str) -> None:
            raise KeyError(f"no stock of {id}")

        @harness.app.workflow
        async def order(ctx: Context, id: str) -> None:
            await ctx.step(ship, id, retry=Retry(1))

        handle = await harness.start(order, "7")
        await harness.idle()
        return handle.id

    shown = scene.shown("show", scene.play(fail))

    assert "✗ failed  order('7')" in shown
    assert "\nFailed: transient, in step ship\n  KeyError: 'no stock of 7'\n" in shown
    assert 'raise KeyError(f"no stock of {id}")' in shown
    assert shown.count("Traceback (most recent call last)") == 0


def test_a_paused_run_says_why_and_resume_lets_it_go_on(scene: Scene) -> None:
    async def hold(harness: Harness) -> str:
        order = declare_order(harness)
        handle = await harness.start(order, "7")
        (claimed,) = await harness.opened.work.claim_runs(claim_of(harness))
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="The code changed under it.")
        held = HoldRun(namespace="default", run_id=claimed.run_id, token=claimed.token, reason=reason)
        await harness.opened.work.hold_run(held)
        return handle.id

    run_id = scene.play(hold, has_worker=False)

    shown = " ".join(scene.shown("show", run_id).split())
    assert f"(0 s): The code changed under it. Then: windlass --url shop.db resume {run_id}" in shown
    assert "ReplayMismatch: The code changed under it." in scene.shown("runs")
    assert scene.shown("resume", run_id[:10]) == f"{run_id} (order) goes on; it is pending.\n"
    assert scene.json("show", run_id)["status"] == "pending"
    assert scene.json("show", run_id)["failure"] is None


def test_a_run_whose_worker_died_says_who_held_it_and_when_it_is_taken_over(scene: Scene) -> None:
    async def die(harness: Harness) -> str:
        handle = await harness.start(declare_order(harness), "7")
        await harness.opened.work.claim_runs(claim_of(harness))
        return handle.id

    run_id = scene.play(die, has_worker=False)

    shown = " ".join(scene.shown("show", run_id).split())
    assert "which has stopped, has held it since 00:00:00 UTC (0 s); its claim lasts until 00:01:00 UTC" in shown

    scene.clock.advance("90s")
    assert "its claim ended at 00:01:00 UTC, 30 s ago" in " ".join(scene.shown("show", run_id).split())
    assert "claim ran out 30 s ago" in scene.shown("runs")


def test_resuming_a_run_that_is_not_paused_is_refused(scene: Scene) -> None:
    run_id = scene.play(one_order)

    result = scene.run("resume", run_id)

    assert result.exit_code == 1
    assert result.stderr == f"windlass: run {run_id} is completed; paused was expected.\n"


def test_large_payloads_are_cut_and_full_cuts_nothing(scene: Scene) -> None:
    async def large(harness: Harness) -> str:
        def pages() -> list[str]:
            return [f"page {number} " + "x" * 500 for number in range(100)]

        @harness.app.workflow
        async def book(ctx: Context, text: str) -> list[str]:
            return await ctx.step(pages)

        handle = await harness.start(book, "y" * 5_000)
        await harness.idle()
        return handle.id

    run_id = scene.play(large)
    short, full = scene.shown("show", run_id), scene.shown("show", run_id, "--full")

    assert len(short) < 20_000
    assert "more lines (--full)" in short
    assert "page 99" not in short
    assert "y" * 5_000 in full
    assert all(f"page {number} " + "x" * 500 in full for number in range(100))


def test_no_line_of_a_page_is_longer_than_the_terminal(scene: Scene) -> None:
    run_id = scene.play(one_order)

    for columns in (60, 80, 132):
        lines = scene.shown("show", run_id, COLUMNS=str(columns)).splitlines()
        assert max(map(len, lines)) <= columns


def test_a_payload_sealed_by_the_program_is_not_read(scene: Scene) -> None:
    class Backwards:
        def seal(self, data: bytes, /) -> bytes:
            return b"\xff" + data[::-1]

        def open(self, data: bytes, /) -> bytes:
            return data[1:][::-1]

    run_id = scene.play(one_order, codec=Codec(hook=Backwards()))

    shown, story = scene.shown("show", run_id), scene.json("show", run_id)

    assert "bytes that only the program's own codec can read" in shown
    assert "B-12" not in shown
    assert list(story["output"]) == ["$sealed"]


def test_an_attempt_whose_worker_died_is_shown_as_interrupted(scene: Scene) -> None:
    async def die_and_recover(harness: Harness) -> str:
        handle = await harness.start(declare_order(harness), "7")
        work = harness.opened.work
        for attempt in (1, 2):
            (claimed,) = await work.claim_runs(claim_of(harness))
            begun = BeginStep(
                namespace="default",
                run_id=claimed.run_id,
                token=claimed.token,
                key="reserve",
                kind=StepKind.STEP,
                attempt=attempt,
                failures=0,
                input_hash=b"",
            )
            await work.begin_step(begun)
            harness.clock.advance("90s" if attempt == 1 else "30s")  # the first claim ends after a minute
        return handle.id

    run_id = scene.play(die_and_recover, has_worker=False)

    shown, story = scene.shown("show", run_id), scene.json("show", run_id)

    assert [step["status"] for step in story["steps"]] == ["interrupted", "running"]
    assert re.search(r"^ ▶  reserve  ╍+↯▓+▶  2 min, 2 tries$", shown, re.MULTILINE)
    assert "↯ reserve · attempt 1 at +0 s  interrupted: its worker went away" in shown


def test_a_run_that_waits_says_for_what_and_what_a_person_has_to_know(scene: Scene) -> None:
    run_id = scene.play(a_sale)
    scene.clock.advance("5s")
    assert "\nWaits for\n  event 'paid' · step receive/paid · for 5 s\n" in scene.shown("show", run_id)

    scene.shown("send", run_id, "paid", "12")
    scene.shown("send", run_id, "note", '"ring twice"')
    scene.play(going_on)
    asked = scene.shown("show", run_id)
    assert "\nWaits for\n  approval 'Ship 7?' · step approval · for 0 s\n      {'id': '7', 'amount': 12}\n" in asked
    assert asked.split("\nMessages: 1 received, 1 unread\n")[1].startswith(
        "  00:00:05  received  event paid  12\n  00:00:05  unread    event note  'ring twice'\n"
    )

    scene.shown("approve", run_id, "--by", "ann", "--note", "paid in full, and the shelf is not empty any more")
    scene.play(going_on)
    parent = scene.json("show", run_id)
    (child,) = [step["awaits"] for step in parent["steps"] if step["kind"] == "child"]
    shown = scene.shown("show", run_id)
    assert f"\nWaits for\n  child {child} · step pack · for 0 s\n" in shown
    assert "approve by ann (approval) paid in full, and the shelf is not empty any more" in " ".join(shown.split())
    assert f"child of {run_id} (step pack)" in scene.shown("show", child)
    assert (scene.json("show", child)["parent"], parent["parent"]) == (run_id, None)


def test_who_did_what_is_told_whole_and_within_the_width(scene: Scene) -> None:
    run_id = scene.play(a_sale)
    scene.shown("pause", run_id, "--by", "a person with quite a long name", "--note", "a reason " * 20)
    new_id = scene.shown("retry", run_id, "--by", "ann").strip()

    for columns in (60, 80):
        old, new = (scene.shown("show", id, COLUMNS=str(columns)) for id in (run_id, new_id))
        assert max(map(len, (old + new).splitlines())) <= columns
        assert f"retry by ann ({new_id})" in " ".join(old.split())
        assert f"retry by ann ({run_id})" in " ".join(new.split())
        assert "pause by a person with quite a long name: a reason a reason" in " ".join(old.split())


def test_a_run_with_a_time_out_says_when(scene: Scene) -> None:
    async def limited(harness: Harness) -> str:
        return (await harness.start(declare_order(harness), "7", delay="1h", timeout="2h")).id

    run_id = scene.play(limited, has_worker=False)

    assert "times out at 03:00:00 UTC, in 3 h" in scene.shown("show", run_id)
    assert scene.json("show", run_id)["expires_at"] == "2026-01-01T03:00:00.000000Z"


def test_many_waits_and_messages_are_cut_and_full_cuts_nothing(scene: Scene) -> None:
    async def many(harness: Harness) -> str:
        @harness.app.workflow
        async def child(ctx: Context, number: int) -> None:
            await ctx.sleep("1h")

        @harness.app.workflow
        async def parent(ctx: Context) -> None:
            await ctx.map(child, list(range(9)))

        handle = await harness.start(parent)
        await harness.idle()
        return handle.id

    run_id = scene.play(many)
    for number in range(11):
        scene.shown("send", run_id, "note", str(number))

    short, full = scene.shown("show", run_id), scene.shown("show", run_id, "--full")

    assert (short.count("  child run_"), short.count("  unread ")) == (6, 8)
    assert "  … 3 more (--full)\n" in short
    assert "  … 3 earlier (--full)\n" in short
    assert (full.count("  child run_"), full.count("  unread ")) == (9, 11)


def test_a_log_that_cannot_be_read_does_not_hide_the_run() -> None:
    log = tuple(replace(entry, data=b"\xff") for entry in ENDED_WELL)
    story = Story(view=RunView(run=a_run(), input=b"null"), steps=(), log=log)

    lines = [line.plain for line in page(story, now=at(20), width=80, glyphs=UNICODE, is_full=False)]

    assert lines[-1].endswith("running → completed    finish")

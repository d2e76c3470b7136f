"""Does every example run as it stands, as a program of its own in an empty folder?"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from windlass.testing import Harness

EXAMPLES = ROOT / "examples"
PATIENCE = 60.0  # seconds; the slowest sleeps for ten

FAN_OUT = """\
counted clock
counted dog
counted march
counted sea
counted whale
words: 36
never more than 2 at once: True
"""
FAN_OUT_AGAIN = """\
words: 36
never more than 2 at once: True
"""
RETRIES = """\
order 7
order 7 uploaded
declined: no funds
logic StepError: not a number {'text': 'seven'}
attempts: {'fetch': 3, 'upload': 2, 'charge': 1, 'parse': 1}
"""
PARALLEL = """\
south for 20
['engine reserved', 'wheels reserved']
"""
CHARGED = """\
paid with charge-1
asked 2 times, charged 1 time
"""
TESTED = """\
passed: the second reminder helps
passed: nothing is sent before its time
passed: every step is on record
"""
REPORTED = """\
Thu 01 Jan 09:00: 36 orders
Fri 02 Jan 09:00: 37 orders
Mon 05 Jan 09:00: 40 orders
Tue 06 Jan 09:00: 41 orders
Wed 07 Jan 09:00: 42 orders
at 09:00 on Monday through Friday (Europe/Rome): fired 5 times, next Thu 08 Jan 09:00
"""
RELEASED = """\
release: 8 jobs, 14 edges, 5 layers
  1  lint
  2  checks (a group)            needs lint
     test ×3 [3.11, 3.12, 3.13]  needs lint
  3  publish                     needs test, checks
  4  report                      needs test (always), checks, publish (always)
  5  tidy (cleanup)              needs report (always)

1 of 11 jobs failed: test[3.13] (StepError: 2 of 40 tests failed). 1 skipped.

lint         completed
test[3.11]   completed
test[3.12]   completed
test[3.13]   failed
checks       completed
publish      skipped, because of test[3.13]
report       completed
tidy         completed
check-api    completed
check-cli    completed
check-docs   completed

v1.0: skipped
  test[3.11] 40, test[3.12] 40, test[3.13] StepError: 2 of 40 tests failed
  api is fine, cli is fine, docs is fine
"""
WRITTEN = """\
row 1 is written: Invoice 7
row 2 is written: Invoice 8
row 3 is written: Reminder
"""
SHEET = """\
1,ann@example.org,Invoice 7
2,bob@example.org,Invoice 8
3,ann@example.org,Reminder
"""
PAID = """\
order 1: the provider took 500 cents, and does not answer
ann reads: 'Charge' failed: Declined: no funds. Deploy a fix, or try it again: windlass retry payments
order 3: the provider took 500 cents, and does not answer
ann reads: finding out whether 'charge' happened
order 1: paid with charge-1
order 3: paid with charge-2
2 charges for 2 orders that were paid
"""
PAGED = """\
the card of order 7 was declined
run went from running to failed
ann knows
"""
TRIED = {"order", "fan_out", "retries", "parallel", "idempotent_charge", "testing_a_workflow", "nightly_report"}
TRIED |= {"release", "inbox", "payments", "on_call"}
TRIED_ELSEWHERE = {"web_starlette", "web_fastapi"}  # test_lifespan.py

# Nobody tells anybody anything, in whatever process this is found.
WITHOUT_HINTS = """
from windlass.notify.local import Hub
Hub.is_suppressed = property(lambda hub: True, lambda hub, value: None)
"""

# An example whose second pause of a second does not end: on a machine that has much else to do, a second may be over
# before we have killed it.
STANDING_STILL = """
import runpy, sys, time
sleep, pauses = time.sleep, [1]
time.sleep = lambda seconds: sleep(seconds if seconds != 1 else pauses.pop() if pauses else 3600)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}


def run(name: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """The example in a process of its own, with no setting of ours around it but these."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=folder,
        env=environment() | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def lines_of(text: str) -> list[str]:
    """Items of a fan-out end in any order."""
    return sorted(text.splitlines())


def test_every_example_is_tried_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == TRIED | TRIED_ELSEWHERE


def test_the_order_of_the_readme_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-u", str(EXAMPLES / "order.py")]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        printed = first.stdout.readline()
        until_asleep(tmp_path)
        first.kill()

    done = run("order", tmp_path)

    assert (printed, done.stdout, done.returncode) == ("packed 7\n", "shipped 7\norder 7 done\n", 0)


def until_asleep(folder: Path) -> None:
    """The run of the example is parked: killing its process finds nothing to break."""
    command = [sys.executable, "-m", "windlass", "show", "--key", "order-7", "--json"]
    deadline = time.monotonic() + PATIENCE
    status = ""
    while status != "sleeping":
        assert time.monotonic() < deadline, status
        shown = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)
        status = json.loads(shown.stdout)["status"]


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("retries", RETRIES),
        ("parallel", PARALLEL),
        ("testing_a_workflow", TESTED),
        ("nightly_report", REPORTED),
    ],
)
def test_an_example_prints_what_it_promises(name: str, printed: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_the_release_reports_and_tidies_up_though_a_test_has_failed(tmp_path: Path) -> None:
    done = run("release", tmp_path)

    assert (done.returncode, done.stdout) == (0, RELEASED)
    (line,) = done.stderr.splitlines()
    assert "('release.test', job 'test[3.13]' of run_" in line
    assert line.endswith(") failed: StepError in step 'run_tests'")


@pytest.mark.spec("signals:17")
@pytest.mark.parametrize("by", ["hint", "tick"])
def test_who_is_on_call_is_paged_by_a_hint_alone_and_by_the_tick_alone(tmp_path: Path, by: str) -> None:
    """The order fails in another process. Without a tick the hint must do it, and without hints the tick."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_HINTS if by == "tick" else "", encoding="utf-8")
    seconds = "3600" if by == "hint" else "0.2"

    done = run(
        "on_call",
        tmp_path,
        PYTHONPATH=str(tmp_path),
        WINDLASS_COORDINATOR_INTERVAL_SECS=seconds,
        WINDLASS_WORKER_POLL_INTERVAL_SECS=seconds,
    )

    assert done.returncode == 0, done.stderr
    assert lines_of(done.stdout) == lines_of(PAGED)
    (line,) = done.stderr.splitlines()
    assert line.endswith("('order') failed: StepError in step 'charge'")


def test_the_fan_out_counts_every_book_once_however_often_it_is_run(tmp_path: Path) -> None:
    first, second = run("fan_out", tmp_path), run("fan_out", tmp_path)

    assert (first.returncode, lines_of(first.stdout), first.stderr) == (0, lines_of(FAN_OUT), "")
    assert (second.returncode, second.stdout, second.stderr) == (0, FAN_OUT_AGAIN, "")


def test_the_charge_is_asked_for_twice_and_made_once_when_the_program_dies_in_between(tmp_path: Path) -> None:
    first, second = run("idempotent_charge", tmp_path), run("idempotent_charge", tmp_path)

    assert (first.returncode, first.stdout, first.stderr) == (9, "", "")
    assert (second.returncode, second.stdout) == (0, CHARGED)
    (line,) = second.stderr.splitlines()  # it noticed what had become of the first
    assert line.endswith("is dead; what it held that can be claimed again: 1.")


def test_the_inbox_writes_no_row_twice_when_it_is_killed_behind_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STANDING_STILL, str(EXAMPLES / "inbox.py")]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        printed = [first.stdout.readline() for _ in range(2)]
        first.kill()  # the second row is there, and nobody notes it

    done = run("inbox", tmp_path)

    assert (printed, done.returncode) == (WRITTEN.splitlines(keepends=True)[:2], 0)
    found, written, counted, explained = done.stdout.splitlines()
    assert (found, written) == ("row 2 is there already: Invoice 8", "row 3 is written: Reminder")
    assert (counted, (tmp_path / "sheet.csv").read_text()) == ("3 rows for 3 messages", SHEET)
    assert "'Digest' looked at the 3 events that wait in 'row.added'" in explained
    assert "09:00:00 UTC" in explained
    assert done.stderr.rstrip().endswith("is dead; what it held that can be claimed again: 1.")


async def test_the_inbox_sends_one_digest_at_nine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = runpy.run_path(str(EXAMPLES / "inbox.py"))

    async with Harness(app=inbox["app"]) as harness:  # begins at midnight
        await harness.idle()
        await harness.advance("8h59m")
        assert capfd.readouterr().out == WRITTEN
        await harness.advance("1m")
        assert capfd.readouterr().out == "digest: Invoice 7, Invoice 8, Reminder\n"
        await harness.advance("2d")
        assert capfd.readouterr().out == ""


def test_the_payments_are_charged_once_whatever_the_provider_answers(tmp_path: Path) -> None:
    first, second = run("payments", tmp_path), run("payments", tmp_path)

    printed = "".join(line.partition("; next look")[0].rstrip("\n") + "\n" for line in first.stdout.splitlines())
    assert (first.returncode, printed) == (0, PAID)
    (line,) = first.stderr.splitlines()
    assert line.startswith("Pipeline 'payments' needs a person (logic): handler 'Charge' stopped")
    assert (second.returncode, second.stdout, second.stderr) == (0, PAID.splitlines(keepends=True)[-1], "")

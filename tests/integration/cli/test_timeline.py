"""Does the drawing tell work, failure, waiting, sleep and interruption apart, at their places and within its width?"""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.integration.cli.samples import ENDED_WELL, FAILURE, STEPS, a_log, a_run, a_step, at
from windlass.cli.terminal import ASCII, UNICODE, Glyphs
from windlass.cli.timeline import draw
from windlass.model.run import LogEntry, Run, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import DAY, SECOND
from windlass.rules.lanes import Bar, Lane, Mark, is_interrupted, lanes_of, span


def drawn(
    run: Run, steps: list[Step], log: list[LogEntry], *, now: float = 20, glyphs: Glyphs = UNICODE, width: int = 80
) -> str:
    lanes = lanes_of(run, steps=steps, log=log, now=at(now))
    lines = draw(lanes, span=span(run, now=at(now)), width=width, glyphs=glyphs)
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines)


def test_work_failure_backoff_and_sleep_have_signs_of_their_own() -> None:
    assert drawn(a_run(), STEPS, ENDED_WELL).splitlines() == [
        "             ╷0           ╷5 s         ╷10 s        ╷15 s",
        " ✓ order     ━━━━━━━━━━━━━··········━━━━━━░░░░░░░░░░░░░░░━━━━━━━━  20 s",
        " ✓  reserve  █████                                                 2 s",
        " ✓  charge        ▒▒▒▒▒▒▒✗··········██████                         9 s, 2 tries",
        " ✓  sleep                                 ░░░░░░░░░░░░░░░          6 s",
        " ✓  ship                                                 ████████  3 s",
        "   █ worked   ▒✗ failed   · waits   ░ sleeps   ━ claimed",
    ]


def test_a_terminal_without_unicode_gets_the_same_picture_in_ascii() -> None:
    picture = drawn(a_run(), STEPS, ENDED_WELL, glyphs=ASCII)

    assert picture.isascii()
    assert picture.splitlines()[:4] == [
        "             '0           '5 s         '10 s        '15 s",
        " + order     =============..........======---------------========  20 s",
        " +  reserve  #####                                                 2 s",
        " +  charge        %%%%%%%x..........######                         9 s, 2 tries",
    ]


def test_an_attempt_whose_worker_died_is_shown_as_interrupted_until_the_run_was_taken_over() -> None:
    steps = [a_step("work", 0, 4), a_step("long", 4, None, token=1), a_step("long", 12, 20, attempt=2)]
    log = a_log((0, "running", "dispatch"), (12, "running", "recover"), (20, "completed", "finish"))

    assert drawn(a_run(), steps, log).splitlines() == [
        "          ╷0            ╷5 s         ╷10 s         ╷15 s",
        " ✓ order  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━↯━━━━━━━━━━━━━━━━━━━━━  20 s",
        " ✓  work  ███████████                                             4 s",
        " ✓  long             ╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍↯██████████████████████  16 s, 2 tries",
        "   █ worked   ╍↯ interrupted   ━ claimed",
    ]


def test_a_body_at_work_reaches_to_now() -> None:
    steps = [a_step("work", 0, 4), a_step("long", 4, None)]

    assert drawn(a_run(RunStatus.RUNNING, end=None), steps, a_log((0, "running", "dispatch"))).splitlines() == [
        "          ╷0              ╷5 s            ╷10 s          ╷15 s",
        " ▶ order  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  20 s",
        " ✓  work  █████████████                                                    4 s",
        " ▶  long               ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▶  16 s",
        "   █ worked   ▓▶ works   ━ claimed",
    ]


def test_a_sleep_ends_where_it_was_due_and_the_rest_is_waiting() -> None:
    asleep = a_step("sleep", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(10))
    log = a_log(
        (0, "running", "dispatch"), (1, "sleeping", "sleep"), (10, "running", "claim"), (10, "paused", "mismatch")
    )

    assert drawn(a_run(RunStatus.PAUSED, end=None), [asleep], log).splitlines() == [
        "           ╷0             ╷5 s           ╷10 s          ╷15 s",
        " ‖ order   ━━━░░░░░░░░░░░░░░░░░░░░░░░░░░░‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖  20 s",
        " ☾  sleep  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░······························  is due",
        "   · waits   ░ sleeps   ‖ paused   ━ claimed",
    ]


def test_a_moment_in_the_queue_is_not_drawn() -> None:
    late = a_step("sleep", 0, 10.01, kind=StepKind.SLEEP, due_at=at(10))

    assert "·" not in drawn(a_run(), [late], a_log((0, "running", "dispatch"), (20, "completed", "finish")))


@pytest.mark.parametrize(
    ("step", "note"),
    [
        (a_step("nap", 4, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(200)), "3 min left"),
        (a_step("charge", 0, 4, status=StepStatus.FAILED, failure=FAILURE, due_at=at(24)), "in 4 s"),
        (a_step("charge", 0, 4, status=StepStatus.FAILED, failure=FAILURE), "4 s"),
        (a_step("charge", 0, None, token=1), "interrupted"),
    ],
)
def test_behind_its_bar_stands_what_is_left_or_how_long_it_took(step: Step, note: str) -> None:
    lanes = lanes_of(
        a_run(RunStatus.PENDING, end=None), steps=[step], log=a_log((0, "running", "dispatch")), now=at(20)
    )

    assert lanes[1].note == note


def test_a_label_in_wide_letters_keeps_the_bars_aligned() -> None:
    steps = [a_step("a", 0, 10), a_step("最後の手順", 0, 10)]

    _, _, narrow, wide, _ = drawn(a_run(), steps, a_log((0, "running", "dispatch"))).splitlines()

    assert cell_len(narrow.partition("█")[0]) == cell_len(wide.partition("█")[0])


def test_attempts_stay_visible_side_by_side_on_an_axis_of_days() -> None:
    steps = [
        a_step("charge", 0, 1, status=StepStatus.FAILED, failure=FAILURE, due_at=at(2)),
        a_step("charge", 2, 3, attempt=2),
        a_step("sleep", 3, 2 * DAY // SECOND, kind=StepKind.SLEEP),
    ]
    run = a_run(end=2 * DAY / SECOND)

    picture = drawn(run, steps, a_log((0, "running", "dispatch")), now=3 * DAY / SECOND).splitlines()

    assert picture[2].startswith(" ✓  charge  ✗█")
    assert "╷1 d" in picture[0]


def test_what_lies_before_or_behind_the_axis_is_drawn_at_its_edge() -> None:
    lane = Lane(label="odd", sign="completed", bars=(Bar(-50, -40, Mark.WORKED), Bar(500, 600, Mark.FAILED)), note="")

    line = draw([lane], span=(0, 100), width=60, glyphs=UNICODE)[1].plain

    assert line.count("█") == line.count("✗") == 1
    assert line.index("█") < line.index("✗")


@pytest.mark.parametrize("length", [1, 999, 1_000_000, 77 * SECOND, 5 * 3_600 * SECOND, 400 * DAY, 9_000 * DAY])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_axis_has_marks_and_fits(length: int, width: int) -> None:
    lane = Lane(label="step" * 20, sign="completed", bars=(Bar(0, length, Mark.WORKED),), note="12 min 30 s, 999 tries")

    lines = draw([lane], span=(0, length), width=width, glyphs=UNICODE)

    assert all(line.cell_len <= width for line in lines)
    assert lines[0].plain.count("╷") in range(1, width // 9 + 2)


def test_of_very_many_steps_the_first_and_the_last_are_drawn() -> None:
    steps = [a_step(f"work#{number}", number / 100, (number + 1) / 100) for number in range(1, 1_001)]

    lines = drawn(a_run(), steps, a_log((0, "running", "dispatch"))).splitlines()

    assert len(lines) == 43
    assert "… 961 more steps (--full)" in lines[13]
    assert (lines[2].split()[1], lines[12].split()[1], lines[14].split()[1], lines[-2].split()[1]) == (
        "work#1",
        "work#11",
        "work#973",
        "work#1000",
    )


@pytest.mark.parametrize(
    ("run", "step", "latest", "expected"),
    [
        (a_run(RunStatus.RUNNING, end=None), a_step("a", 0, None), 1, False),
        (a_run(RunStatus.RUNNING, end=None), a_step("a", 0, None), 2, True),
        (a_run(RunStatus.RUNNING, end=None), a_step("a", 0, None, token=1), 1, True),
        (a_run(RunStatus.PENDING, end=None), a_step("a", 0, None), 1, True),
        (a_run(RunStatus.FAILED), a_step("a", 0, None), 1, True),
        (a_run(RunStatus.FAILED), a_step("a", 0, 1, token=1), 2, False),
    ],
)
def test_only_a_body_left_without_a_result_is_interrupted(run: Run, step: Step, latest: int, expected: bool) -> None:
    assert is_interrupted(step, run=run, latest_attempt=latest) is expected


def test_waits_for_others_have_a_sign_of_their_own_and_a_late_one_ends_with_a_failure() -> None:
    steps = [
        a_step("receive/paid", 0, 5, kind=StepKind.EVENT, awaits="paid", output=b"12"),
        a_step("pack", 5, 10, kind=StepKind.CHILD, awaits="run_1", status=StepStatus.FAILED, failure=FAILURE),
        a_step("later", 10, 10, kind=StepKind.START, awaits="run_2", output=b'"run_2"'),
        a_step("approval", 10, None, kind=StepKind.APPROVAL, awaits="Ship?", status=StepStatus.WAITING, due_at=at(80)),
    ]
    log = a_log((0, "running", "dispatch"), (0, "waiting", "event"), (10, "running", "claim"), (10, "waiting", "event"))

    assert drawn(a_run(RunStatus.WAITING, end=None), steps, log).splitlines() == WAITED.splitlines()


WAITED = """\
                  ╷0          ╷5 s         ╷10 s       ╷15 s
 … order          ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  20 s
 ✓  receive/paid  ┄┄┄┄┄┄┄┄┄┄┄┄                                       5 s
 ✗  pack                      ┄┄┄┄┄┄┄┄┄┄┄┄┄✗                         5 s
 ✓  later                                  █                         0 s
 …  approval                               ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  1 min left
   █ worked   ▒✗ failed   ┄ awaits   ━ claimed
"""


def test_a_wait_that_was_given_up_is_not_shown_as_open() -> None:
    given_up = a_step("receive/paid", 0, None, kind=StepKind.EVENT, status=StepStatus.WAITING, is_dropped=True)
    log = a_log((0, "running", "dispatch"), (20, "completed", "finish"))

    (line,) = [line for line in drawn(a_run(), [given_up], log).splitlines() if "receive/paid" in line]

    assert line.startswith(" »  receive/paid  ┄")
    assert line.endswith("  given up")


def test_what_a_person_does_meanwhile_is_not_taken_for_the_end_of_an_attempt() -> None:
    steps = [a_step("long", 0, None, token=1), a_step("long", 15, 20, attempt=2)]
    changes = (0, "running", "dispatch"), (5, "running", "approve"), (15, "running", "recover"), (20, "completed", "x")

    (line,) = [line for line in drawn(a_run(), steps, a_log(*changes)).splitlines() if "long" in line]

    assert line.count("╍") > 2 * line.count("█")

"""Can a page about a pipeline be read on a narrow terminal, a wide one, and one that knows only ASCII?"""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.integration.cli.pipeline_samples import (
    CHARGE,
    POLL,
    RUN,
    TIMED_OUT,
    WORKER,
    a_handler,
    a_pipeline,
    a_view,
    an_attempt,
    an_effect,
    committed,
    needing,
)
from tests.integration.cli.samples import at
from windlass.cli.pipelines import inputs, listing, page
from windlass.cli.session import Session
from windlass.cli.terminal import Screen
from windlass.model.effect import EffectStatus
from windlass.model.pipeline import (
    EventRow,
    EventStatus,
    HandlerRunId,
    HandlerStatus,
    Input,
    InputId,
    InputStatus,
    Issue,
    Phase,
    PipelineStatus,
    Reservation,
)
from windlass.model.pipeline_commands import HandlerRunPage, HandlerRunView, PipelineDetail, PipelineView, Trace
from windlass.rules.pipeline_words import summary
from windlass.testing.clock import FakeClock

SECOND_RUN = HandlerRunId(RUN[:-1] + "B")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class PlainTerminal(Terminal):
    encoding = "ascii"


def a_session(monkeypatch: pytest.MonkeyPatch, terminal: Terminal, *, columns: int) -> Session:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    clock = FakeClock()
    clock.advance(timedelta(microseconds=at(0) - clock.now()))
    session = Session(clock=clock)
    session._screen = Screen(terminal)
    return session


def details(*views: PipelineView) -> list[PipelineDetail]:
    return [PipelineDetail(view=view, summary=summary(view)) for view in views]


def busy() -> PipelineView:
    handlers = (a_handler(POLL), a_handler(CHARGE, pending=12))
    lately = (committed("Charged order 7", ago=180),)
    return a_view(a_pipeline(name="orders"), inputs_pending=3, handlers=handlers, activity=lately)


def listed(monkeypatch: pytest.MonkeyPatch, columns: int) -> list[str]:
    session = a_session(monkeypatch, Terminal(), columns=columns)
    return listing.drawn(session, details(busy(), needing(Issue.APPROVAL))).splitlines()


def test_where_there_is_room_the_issue_stands_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert listed(monkeypatch, 110) == [
        "name      status             schedule                next check  pending",
        "orders    · Idle             Checks every 5 minutes  in 5 min    3 inputs pending, 12 events waiting",
        "payments  ! Needs attention  Checks every 5 minutes",
        "payments: Waiting for you to approve: charge. Decide: windlass approve payments, or windlass reject payments",
    ]


def test_where_there_is_much_room_it_is_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, row = listed(monkeypatch, 200)
    assert head.endswith("pending                              issue")
    assert row.endswith(
        "  Waiting for you to approve: charge. Decide: windlass approve payments, or windlass reject payments"
    )


def test_where_there_is_little_room_each_has_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = listed(monkeypatch, 80)
    assert max(map(len, lines)) <= 80
    assert lines == [
        "orders    · Idle",
        "          Checks every 5 minutes · next in 5 min · 3 inputs pending, 12 events",
        "          waiting",
        "payments  ! Needs attention",
        "          Checks every 5 minutes",
        "          Waiting for you to approve: charge. Decide: windlass approve payments,",
        "          or windlass reject payments",
    ]


def shown(
    monkeypatch: pytest.MonkeyPatch, story: PipelineView | HandlerRunView, *, attempts: Iterable[object] = ()
) -> list[str]:
    terminal = Terminal()
    session = a_session(monkeypatch, terminal, columns=80)
    if isinstance(story, HandlerRunView):
        page.write(session, story, is_full=False)
    else:
        (detail,) = details(story)
        runs = HandlerRunPage(runs=tuple(attempts), next=None) if attempts else None  # type: ignore[arg-type]
        page.write(session, page.PipelineStory(detail=detail, attempts=runs), is_full=False)
    return terminal.getvalue().splitlines()


def test_an_idle_pipeline_says_what_its_handlers_wait_for_and_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = (
        an_attempt(failure=TIMED_OUT, attempt=2, status=HandlerStatus.PAUSED_TRANSIENT),
        committed("Charged order 7", ago=100),
    )
    assert shown(monkeypatch, busy(), attempts=attempts) == [
        "· Idle  orders",
        "  Checks every 5 minutes · next check in 5 min · 3 inputs pending, 12 events",
        "  waiting · 1 worker · declared in shop:app",
        "",
        "Handlers",
        "  name    begins            next               pending          last run",
        "  poll    every 5 minutes   in 5 min                            none yet",
        "  charge  events in orders  at the next event  12, since 2 min  none yet",
        "",
        "Lately",
        "  Charged order 7 · 3 min ago",
        "",
        "Attempts",
        f"  {RUN}  charge  paused:transient at preparing, attempt 2, 30 s ago",
        "    TimeoutError: gateway timed out",
        f"  {RUN}  charge  committed, 30 s ago",
        "    Charged order 7",
    ]


def test_how_a_handler_ended_last_is_not_cut_where_there_is_too_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    last = replace(a_handler(CHARGE, pending=12), last_run=committed("Charged order 7", ago=100))
    lines = shown(monkeypatch, a_view(a_pipeline(name="orders"), handlers=(last,)))
    start = lines.index("Handlers") + 1
    assert lines[start : start + 3] == [
        "  name    begins         next               pending          last run",
        "  charge  events in      at the next event  12, since 2 min  committed 1 min ago",
        "          orders",
    ]


def test_what_is_at_work_is_told_with_its_phase_and_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    running = a_pipeline(PipelineStatus.RUNNING, worker=WORKER, available_at=at(240))
    run = an_attempt(phase=Phase.MUTATING, title="Charge Ann", reserved=(Reservation(topic="orders", id="7"),))
    lines = shown(monkeypatch, a_view(running, run=run, effect=an_effect()))
    assert lines[3:8] == [
        "At work",
        f"  charge  mutating  active  {RUN}, began 30 s ago",
        "    Charge Ann",
        "    holds orders 7",
        "    effect charge_card  in_flight  key payments:7",
    ]


def test_what_stopped_holds_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, needing(Issue.LOGIC, failure=TIMED_OUT))
    assert f"    more: windlass show {RUN}" in lines
    assert lines[-2:] == [
        "  poll    every 5 minutes   held           none yet",
        "  charge  events in orders  held           none yet",
    ]


def an_event(topic: str, id: str, status: EventStatus, *, by: HandlerRunId | None = None) -> EventRow:
    return EventRow(
        topic=topic,
        id=id,
        seq=1,
        version=1,
        payload=b'{"order":7}',
        status=status,
        attempt=1,
        reserved_by=None,
        created_by=by,
        causes=(),
        created_at=at(-60),
        updated_at=at(-60),
    )


TAKEN = (Reservation(topic="orders", id="7"),)
ATTEMPTS = (
    an_attempt(status=HandlerStatus.PAUSED_TRANSIENT, failure=TIMED_OUT, reserved=TAKEN),
    committed(
        "Charged order 7",
        ago=20,
        id=SECOND_RUN,
        attempt=2,
        reserved=(*TAKEN, Reservation(topic="orders", id="7b")),
    ),
)
TRACE = Trace(
    input=Input(
        namespace="default",
        pipeline="payments",
        id=InputId("inp_01KDVDBVT8KQH3MRRN39RRBDJA"),
        source="imap",
        type="email",
        external_id="<7@x>",
        title="Order 7 of Ann",
        status=InputStatus.PENDING,
        pending=1,
        events=3,
        created_at=at(-60),
    ),
    events=(
        an_event("orders", "7", EventStatus.CONSUMED),
        an_event("orders", "7b", EventStatus.CONSUMED),
        an_event("receipts", "7", EventStatus.PENDING, by=SECOND_RUN),
    ),
    runs=ATTEMPTS,
    effects=(an_effect(EffectStatus.APPLIED, owner=SECOND_RUN),),
)


def test_what_became_of_an_input_is_drawn_as_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    inputs._write_trace(a_session(monkeypatch, terminal, columns=90), TRACE)
    assert terminal.getvalue().splitlines() == [
        "pending  Order 7 of Ann",
        "  inp_01KDVDBVT8KQH3MRRN39RRBDJA · imap email <7@x> · 1 min ago · 2 of 3 done",
        "  ├─ orders 7  consumed  {'order': 7}",
        f"  │  ├─ charge  paused:transient  {RUN}",
        "  │  │  └─ TimeoutError: gateway timed out",
        f"  │  └─ charge  committed  Charged order 7  {SECOND_RUN}, attempt 2",
        "  │     ├─ effect charge_card  applied  key payments:7",
        "  │     └─ receipts 7  pending  {'order': 7}",
        "  └─ orders 7b  consumed  {'order': 7}",
        f"     └─ charge  with it, above ({SECOND_RUN})",
    ]


def test_a_tree_of_signs_that_every_terminal_has(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = PlainTerminal()
    inputs._write_trace(a_session(monkeypatch, terminal, columns=90), TRACE)
    assert terminal.getvalue().isascii()
    assert "  |  `- charge  committed" in terminal.getvalue()


def test_an_attempt_has_what_it_was_given_and_what_it_led_to(monkeypatch: pytest.MonkeyPatch) -> None:
    view = HandlerRunView(
        run=replace(ATTEMPTS[0], phase=Phase.MUTATING),
        data=b'{"order":7}',
        result=None,
        effect=an_effect(EffectStatus.INDETERMINATE, asked=2),
        events=(an_event("orders", "7", EventStatus.RESERVED),),
        published=(),
        chain=(RUN, SECOND_RUN),
    )
    lines = shown(monkeypatch, view)
    assert lines[:3] == [
        "paused:transient  charge of payments",
        f"  {RUN} · consumer, attempt 1 · phase mutating",
        f"  2026-01-01 11:59:30 UTC, 30 s ago · {WORKER}",
    ]
    assert "  orders 7  reserved  {'order': 7}" in lines
    assert "  effect charge_card  indeterminate  key payments:7" in lines
    assert lines[-3:] == ["Attempts, the first above", f"  1  {RUN}  this one", f"  2  {SECOND_RUN}"]

"""Does the rule behind `explain` tell apart what a run waits for, and whoever or whatever stands in front of it?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import FAILURE, a_log, a_run, a_step, at
from tests.unit.rules.test_explain import HOLDER, a_worker, told
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import FailureKind
from windlass.model.gate import Gate, GateKind
from windlass.model.message import Message, MessageKind
from windlass.model.run import Deed, LogEntry, RunId, RunStatus, RunView
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Instant
from windlass.rules.explain import Facts, explain
from windlass.rules.explain.waiting import clause_about

RUN = a_run().id


def a_wait(kind: StepKind, awaits: str, *, key: str | None = None, **changes: Any) -> Step:
    status = changes.pop("status", StepStatus.WAITING)
    return a_step(key or f"{kind.value}/{awaits}", 0, None, kind=kind, status=status, awaits=awaits, **changes)


def an_event(name: str, **changes: Any) -> Step:
    return a_wait(StepKind.EVENT, name, **changes)


def a_gate(kind: GateKind = GateKind.QUEUE, name: str = "default") -> Gate:
    return Gate(namespace="default", kind=kind, name=name, is_paused=True, paused_by="ann", paused_at=at(5))


def sent(*names: str) -> tuple[Message, ...]:
    return tuple(
        Message(
            namespace="default",
            run_id=RUN,
            seq=number,
            kind=MessageKind.EVENT,
            name=name,
            id=str(number),
            payload=b"1",
            payload_hash=b"",
            sent_at=at(1),
        )
        for number, name in enumerate(names)
    )


def a_deed(log: list[LogEntry], number: int, **deed: Any) -> None:
    log[number] = replace(log[number], data=msgspec.json.encode(Deed(**deed)))


# Which thing


def test_what_the_code_has_given_up_is_not_waited_for() -> None:
    found = told(
        RunStatus.WAITING,
        steps=(an_event("replied", is_dropped=True), an_event("paid"), an_event("old", status=StepStatus.COMPLETED)),
    )

    assert (found.code, found.brief) == (Situation.WAITING_FOR_EVENT, "event 'paid'")
    assert "'replied'" not in found.text


def test_a_wait_says_since_when_it_began_however_often_the_run_was_parked_since() -> None:
    found = told(RunStatus.WAITING, steps=(a_step("a", 0, 1), an_event("paid", started_at=at(-50))))

    assert found.text.startswith("It has waited since 11:59:10 UTC (1 min) for event 'paid'")
    assert found.since == at(-50)


def test_a_deadline_behind_the_end_of_the_run_says_which_comes_first() -> None:
    found = told(RunStatus.WAITING, steps=(an_event("paid", due_at=at(90)),), available_at=at(60), expires_at=at(60))

    assert "goes on at 12:01:30 UTC, in 1 min 20 s: with the default" in found.text
    assert "It must end by 12:01:00 UTC (50 s left), which is before that: then it fails. Send 'paid'" in found.text
    assert found.until == at(60)


def test_two_branches_that_wait_for_one_event_wait_for_one_thing() -> None:
    steps = (an_event("paid", key="a", due_at=at(90)), an_event("paid", key="b", due_at=at(60)))

    found = told(RunStatus.WAITING, steps=steps, available_at=at(60))

    assert (found.code, found.until) == (Situation.WAITING_FOR_EVENT, at(60))
    assert "goes on at 12:01:00 UTC, in 50 s:" in found.text


def test_a_back_off_beside_an_event_is_named_too() -> None:
    failed = a_step("charge", 0, 1, status=StepStatus.FAILED, failure=FAILURE, due_at=at(60))

    found = told(RunStatus.WAITING, steps=(failed, an_event("paid")), available_at=at(60))

    assert found.code is Situation.WAITING_FOR_SEVERAL
    assert "for event 'paid' and another attempt of step 'charge' at 12:01:00 UTC at once" in found.text


@pytest.mark.parametrize("available_at", [None, at(90)])
def test_an_attempt_for_which_the_run_was_not_parked_is_not_waited_for(available_at: Instant | None) -> None:
    given_up = a_step("charge", 0, 1, status=StepStatus.FAILED, failure=FAILURE, due_at=at(60))

    found = told(RunStatus.WAITING, steps=(given_up, an_event("paid", due_at=available_at)), available_at=available_at)

    assert found.code is Situation.WAITING_FOR_EVENT


def test_more_than_three_things_are_counted() -> None:
    found = told(RunStatus.WAITING, steps=tuple(an_event(name) for name in "abcdef"))

    assert "for event 'a', event 'b', event 'c' and 3 more at once" in found.text
    assert found.text.count("windlass send") == 3
    assert found.brief == "event 'a', event 'b', event 'c', …"


def test_names_that_a_shell_would_read_are_quoted_in_what_is_to_be_typed() -> None:
    approvals = tuple(a_wait(StepKind.APPROVAL, title, key=title) for title in ("it's so", "or not"))

    found = told(RunStatus.WAITING, steps=approvals)

    assert f"""windlass approve {RUN} --step 'it'"'"'s so', and""" in found.text
    assert found.text.endswith(f"windlass approve {RUN} --step 'or not'")


def test_an_unread_event_is_no_news_to_a_run_that_waits_for_a_person() -> None:
    person = a_wait(StepKind.APPROVAL, "Ship it?")

    found = told(RunStatus.WAITING, steps=(person,), known={"unread": sent("paid")})

    assert "unread" not in found.text


# Children


def children(count: int, *, ended: int = 0) -> tuple[tuple[Step, ...], dict[str, Any]]:
    ids = [RunId(f"run_{number:026}") for number in range(count)]
    keys = ["resize" if number == 0 else f"resize#{number + 1}" for number in range(count)]
    steps = tuple(a_wait(StepKind.CHILD, id, key=key) for id, key in zip(ids, keys, strict=True))
    statuses = {id: RunStatus.COMPLETED if number < ended else RunStatus.RUNNING for number, id in enumerate(ids)}
    return steps, {"children": statuses}


def test_a_thousand_children_are_one_thing() -> None:
    steps, known = children(1_000, ended=3)

    found = told(RunStatus.WAITING, steps=steps[::-1], known=known)

    assert "for 997 of 1,000 children of 'resize'; the first of them, run_00000000000000000000000003." in found.text
    assert (found.code, found.brief) == (Situation.WAITING_FOR_CHILD, "997 children")
    assert found.text.endswith("windlass explain run_00000000000000000000000003")


def test_children_that_ended_before_count_among_all() -> None:
    steps, known = children(3)
    done = replace(steps[0], status=StepStatus.COMPLETED)

    found = told(RunStatus.WAITING, steps=(done, *steps[1:]), known=known)

    assert "for 2 of 3 children of 'resize'" in found.text


def test_the_last_child_of_a_map_is_one_of_all() -> None:
    steps, known = children(4, ended=3)

    found = told(RunStatus.WAITING, steps=steps, known=known)

    assert "for 1 of 4 children of 'resize'" in found.text
    assert found.brief == "1 child"


def test_children_of_two_maps_are_two_things() -> None:
    steps, known = children(2)
    others = tuple(a_wait(StepKind.CHILD, f"run_X{number}", key=f"mail:{number}") for number in range(3))

    found = told(RunStatus.WAITING, steps=(*steps, *others), known=known)

    assert "for 2 children of 'resize' and 3 children of 'mail' at once" in found.text


# Where a child stands


def stands(status: RunStatus, *, known: dict[str, Any] | None = None, **run: Any) -> Facts:
    facts = Facts(
        view=RunView(run=a_run(status, **{"end": None, **run})),
        steps=(),
        log=tuple(a_log((0, status.value, "claim"))),
        workers=(),
        now=at(10),
    )
    return replace(facts, **(known or {}))


HERE, FULL = a_worker(seen_at=at(10)), a_worker(seen_at=at(10), active=2)
HELD: dict[str, Any] = {"worker": HOLDER, "available_at": at(300)}


@pytest.mark.parametrize(
    ("facts", "clause"),
    [
        (stands(RunStatus.PENDING, available_at=at(9)), "waits for a worker, and none that is alive runs it"),
        (stands(RunStatus.PENDING, available_at=at(9), known={"workers": (HERE,)}), "waits for a worker"),
        (
            stands(RunStatus.PENDING, available_at=at(9), known={"workers": (FULL,)}),
            "waits for a worker with a free slot",
        ),
        (
            stands(RunStatus.PENDING, available_at=at(9), queue="slow", known={"workers": (HERE,)}),
            "waits for a worker in queue 'slow', and there is none",
        ),
        (
            stands(RunStatus.PENDING, available_at=at(9), version="2", known={"workers": (HERE,)}),
            "waits for a worker of version '2', and there is none",
        ),
        (
            stands(RunStatus.PENDING, available_at=at(9), known={"gates": (a_gate(),)}),
            "waits because queue 'default' is paused",
        ),
        (
            stands(RunStatus.PENDING, available_at=at(9), expires_at=at(9)),
            "has passed its time-out and waits for a worker to end it",
        ),
        (stands(RunStatus.PENDING, available_at=at(60), attempts=0), "starts at 12:01:00 UTC"),
        (stands(RunStatus.PENDING, available_at=at(60)), "goes on at 12:01:00 UTC"),
        (
            stands(
                RunStatus.PENDING,
                available_at=at(60),
                known={"steps": (a_step("pay", 0, 1, status=StepStatus.FAILED, failure=FAILURE, due_at=at(60)),)},
            ),
            "tries step 'pay' again at 12:01:00 UTC",
        ),
        (
            stands(
                RunStatus.SLEEPING,
                available_at=at(60),
                known={"steps": (a_step("s", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(60)),)},
            ),
            "sleeps until 12:01:00 UTC",
        ),
        (
            stands(RunStatus.PENDING, available_at=at(60), known={"log": tuple(a_log((0, "pending", "death")))}),
            "was taken from dead workers and goes on at 12:01:00 UTC",
        ),
        (stands(RunStatus.WAITING), "waits for what it needs"),
        (
            stands(RunStatus.WAITING, known={"steps": (an_event("paid"), a_wait(StepKind.CHILD, "run_X", key="mail"))}),
            "waits for event 'paid' and its child run_X ('mail')",
        ),
        (stands(RunStatus.RUNNING, **HELD), "is held by a worker that has stopped"),
        (stands(RunStatus.RUNNING, **HELD, known={"workers": (HERE,)}), "is at work"),
        (
            stands(RunStatus.RUNNING, **HELD, known={"workers": (a_worker(seen_at=at(-60)),)}),
            "is held by a worker that has gone silent",
        ),
        (
            stands(RunStatus.RUNNING, worker=HOLDER, available_at=at(9), known={"workers": (HERE,)}),
            "waits for a worker to take it over",
        ),
        (stands(RunStatus.RUNNING, **HELD, is_held=True), "is to be paused"),
        (stands(RunStatus.PAUSED), "is paused"),
        (
            stands(RunStatus.PAUSED, known={"view": RunView(run=a_run(RunStatus.PAUSED, end=None), failure=FAILURE)}),
            "is paused because the code changed under it",
        ),
        (stands(RunStatus.COMPLETED), "has completed"),
        (stands(RunStatus.CANCELLED), "was cancelled"),
        (stands(RunStatus.SKIPPED), "was skipped"),
        (stands(RunStatus.FAILED), "has failed"),
    ],
)
def test_where_a_child_stands_is_one_clause(facts: Facts, clause: str) -> None:
    assert clause_about(facts, explain(facts)) == clause


# What stands in front


def test_a_closed_gate_and_a_time_out_that_has_passed_are_both_told() -> None:
    found = told(RunStatus.PENDING, available_at=at(8), expires_at=at(8), known={"gates": (a_gate(),)}, workers=(HERE,))

    assert found.code is Situation.GATE_CLOSED
    assert "Its time-out passed at 12:00:08 UTC, 2 s ago" in found.text
    assert found.text.endswith("Let queue 'default' go on: windlass resume --queue default")


@pytest.mark.parametrize("status", [RunStatus.WAITING, RunStatus.SLEEPING, RunStatus.PAUSED])
def test_whoever_waits_behind_a_closed_gate_says_so(status: RunStatus) -> None:
    sleep = a_step("s", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(60))
    waits = an_event("paid") if status is RunStatus.WAITING else sleep

    found = told(status, steps=(waits,), available_at=at(60), known={"gates": (a_gate(GateKind.WORKFLOW, "order"),)})

    assert found.code is not Situation.GATE_CLOSED
    assert "Workflow 'order' has been paused by ann since 12:00:05 UTC (5 s), and no worker takes it" in found.text
    assert found.text.endswith("et workflow 'order' go on: windlass resume --workflow order")


def test_a_run_at_work_is_not_kept_by_a_gate() -> None:
    found = told(RunStatus.RUNNING, **HELD, workers=(HERE,), known={"gates": (a_gate(),)})

    assert (found.code, "paused" in found.text) == (Situation.HELD, False)


def test_gates_of_others_are_not_mentioned() -> None:
    gates = (a_gate(GateKind.QUEUE, "slow"), a_gate(GateKind.WORKFLOW, "refund"))

    assert told(RunStatus.PENDING, available_at=at(9), workers=(HERE,), known={"gates": gates}).code is Situation.DUE


# People


def explained(status: RunStatus, log: list[LogEntry], **run: Any) -> Explanation:
    return told(status, known={"log": tuple(log)}, **run)


def test_a_run_paused_while_it_was_at_work_names_who_asked_for_it_and_when_it_came_to_be() -> None:
    log = a_log((0, "running", "dispatch"), (2, "running", "pause"), (6, "paused", "pause"))
    a_deed(log, 1, by="ann", note="stock")

    found = explained(RunStatus.PAUSED, log)

    assert found.text.startswith('It has been paused by ann since 12:00:06 UTC (4 s): "stock". ')


def test_a_claim_that_ended_before_the_run_came_to_be_paused() -> None:
    log = a_log((0, "running", "dispatch"), (2, "running", "pause"))
    a_deed(log, 1, by="ann")

    found = explained(RunStatus.RUNNING, log, worker=HOLDER, available_at=at(9), is_held=True)

    assert found.code is Situation.NO_WORKER
    assert (
        "ann asked at 12:00:02 UTC, 8 s ago, for it to be paused: nothing new of it is begun, and it is paused by the "
        "worker that takes it. No live worker" in found.text
    )


def test_a_deed_that_changes_nothing_is_not_since_when_a_run_stands_where_it_does() -> None:
    log = a_log((0, "running", "dispatch"), (4, "running", "pause"), (5, "running", "resume"))

    found = explained(RunStatus.RUNNING, log, **HELD, workers=(HERE,))

    assert (found.code, found.since) == (Situation.HELD, at(0))


def test_a_deed_that_cannot_be_read_names_nobody() -> None:
    log = a_log((0, "pending", "start"), (4, "cancelled", "cancel"))
    log[1] = replace(log[1], data=b"{not json")

    found = explained(RunStatus.CANCELLED, log, end=4)

    assert found.text == "It was cancelled at 12:00:04 UTC, 6 s ago."


def test_a_long_note_is_cut() -> None:
    log = a_log((0, "paused", "pause"))
    a_deed(log, 0, by="ann", note="x" * 2_000)

    assert len(explained(RunStatus.PAUSED, log).text) < 500


def test_a_mismatch_says_when_the_run_must_end() -> None:
    reason = replace(FAILURE, type="ReplayMismatch", message=f'Restore it and "windlass resume {RUN}".')

    found = told(RunStatus.PAUSED, failure=reason, expires_at=at(70))

    assert found.code is Situation.MISMATCH
    assert found.text.endswith(f'"windlass resume {RUN}". It must end by 12:01:10 UTC (1 min left).')


def test_a_run_in_doubt_about_an_effect_is_not_said_to_have_changed() -> None:
    reason = replace(FAILURE, kind=FailureKind.INDETERMINATE, message="Nobody knows whether 'charge' happened.")

    found = told(RunStatus.PAUSED, failure=reason)

    assert found.code is Situation.INDETERMINATE
    assert f"windlass resolve {RUN}" in found.text


def test_a_step_that_took_too_long_is_not_the_time_out_of_its_run() -> None:
    late = replace(FAILURE, kind=FailureKind.TIMEOUT, type="TimeoutError", step="charge")

    assert told(RunStatus.FAILED, end=5, failure=late, expires_at=at(60)).code is Situation.FAILED

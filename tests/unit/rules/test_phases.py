"""Is an attempt that stopped followed as the specification says, for every way in which it can have stopped?

Every combination there is, against an oracle that knows the tables of the specification and nothing of the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.integration.cli.pipeline_samples import a_pipeline, an_attempt, an_effect
from tests.integration.cli.samples import at
from windlass.model.effect import Effect, EffectStatus
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.model.pipeline import (
    CONSUMER_PHASES,
    PRODUCER_PHASES,
    EffectOutcome,
    HandlerKind,
    HandlerRun,
    HandlerStatus,
    Issue,
    Phase,
    PipelineStatus,
)
from windlass.model.pipeline_work import Verdict
from windlass.rules import phases
from windlass.rules.phases import Beginning
from windlass.rules.pipelines import outdated

NOW = at(0)
OUTCOMES = (None, *EffectOutcome)
LEDGERS = (None, *EffectStatus)
VERDICTS = (None, *Verdict)
EVERY_PHASE = (Phase.EXECUTING, *CONSUMER_PHASES)  # in their order
PHASES_OF = {HandlerKind.PRODUCER: PRODUCER_PHASES, HandlerKind.CONSUMER: CONSUMER_PHASES}
OVER = (HandlerStatus.COMMITTED, HandlerStatus.ACTIVE)  # nothing follows these
OPEN = frozenset({EffectStatus.IN_FLIGHT, EffectStatus.NEEDS_RECONCILE, EffectStatus.INDETERMINATE})


class Case(NamedTuple):
    """An attempt as it stood when something happened to it."""

    kind: HandlerKind
    phase: Phase
    status: HandlerStatus
    outcome: EffectOutcome | None
    ledger: EffectStatus | None
    has_failure: bool = True

    @property
    def run(self) -> HandlerRun:
        return attempt(self.kind, self.phase, self.status, self.outcome, has_failure=self.has_failure)

    @property
    def effect(self) -> Effect | None:
        return None if self.ledger is None else an_effect(self.ledger)

    @property
    def can_be(self) -> bool:
        """Do phase, outcome and ledger agree, as the commits that write them make them?"""
        if self.kind is HandlerKind.PRODUCER:
            return self.outcome is None and self.ledger is None
        match self.phase:
            case Phase.PREPARING | Phase.PREPARED:
                return self.outcome is None and self.ledger is None
            case Phase.MUTATING if self.outcome is EffectOutcome.FAILURE:
                return self.ledger is EffectStatus.FAILED
            case Phase.MUTATING:
                return self.outcome is None and self.ledger in OPEN
        wanted = {  # the ledger of an attempt that goes on behind an effect may be that of the one before it
            EffectOutcome.SUCCESS: (EffectStatus.APPLIED, None),
            EffectOutcome.SKIPPED: (EffectStatus.FAILED, None),
            EffectOutcome.NONE: (None,),
        }
        return self.outcome in wanted and self.ledger in wanted[self.outcome]


def attempt(
    kind: HandlerKind,
    phase: Phase,
    status: HandlerStatus,
    outcome: EffectOutcome | None,
    *,
    has_failure: bool = False,
) -> HandlerRun:
    handler = "poll" if kind is HandlerKind.PRODUCER else "charge"
    failure = failed(FailureKind.TRANSIENT) if has_failure else None
    return an_attempt(handler, phase=phase, status=status, outcome=outcome, failure=failure)


def failed(kind: FailureKind) -> Failure:
    return Failure(kind=kind, type="Planned", message="as planned")


def every_case() -> Iterator[Case]:
    for kind, phase, status, outcome, ledger, has_failure in product(
        HandlerKind, EVERY_PHASE, HandlerStatus, OUTCOMES, LEDGERS, (True, False)
    ):
        if phase in PHASES_OF[kind]:
            yield Case(kind, phase, status, outcome, ledger, has_failure)


def place(phase: Phase) -> int:
    return EVERY_PHASE.index(phase)


# The oracle: what follows an attempt that has stopped (§1.10, C12, C13, C14, C17)


def followed(case: Case) -> Beginning:
    """The table of phase resets, by row."""
    if case.kind is HandlerKind.PRODUCER:
        return Beginning.FRESH  # free to be relaunched at any time
    if case.ledger in OPEN:
        return Beginning.RECONCILE  # no new attempt until it is known; tested before anything else (C14)
    if case.phase in (Phase.MUTATED, Phase.EMITTING):
        return Beginning.EMIT
    if case.status is HandlerStatus.PAUSED_APPROVAL and not case.has_failure:
        return Beginning.AGAIN  # the gate: the person approved this payload, so the same attempt goes on (C12 b)
    if case.status is HandlerStatus.PAUSED_APPROVAL and case.outcome is EffectOutcome.FAILURE:
        return Beginning.REMUTATE  # refused for certain, and put right (C12 c)
    return Beginning.FRESH


@pytest.mark.spec("invariants:I-37", "invariants:I-38", "invariants:I-39", "pipelines:71", "pipelines:72")
@pytest.mark.spec("pipelines:73", "pipelines:74", "pipelines:75", "pipelines:76")
def test_every_attempt_that_stopped_is_followed_as_the_table_says() -> None:
    cases = [case for case in every_case() if case.can_be and case.status not in OVER]
    cases = [case for case in cases if case.phase is not Phase.COMMITTED]

    wrong = [case for case in cases if phases.beginning(case.run, case.effect) is not followed(case)]

    assert wrong == []
    assert len(cases) > 100
    assert {followed(case) for case in cases} == set(Beginning)


@pytest.mark.spec("invariants:I-38")
def test_what_has_happened_is_never_called_again_whatever_else_a_row_says() -> None:
    """Also of rows that contradict themselves: the word of the ledger, or of the attempt, is enough."""
    harmless = (Beginning.EMIT, Beginning.RECONCILE)
    happened = [
        case
        for case in every_case()
        if case.kind is HandlerKind.CONSUMER
        and (case.outcome is EffectOutcome.SUCCESS or case.ledger is EffectStatus.APPLIED)
    ]

    wrong = [case for case in happened if phases.beginning(case.run, case.effect) not in harmless]

    assert wrong == []
    assert len(happened) > 500


@pytest.mark.spec("invariants:I-39", "pipelines:81", "pipelines:90")
def test_what_may_have_happened_is_never_begun_anew_and_keeps_its_events() -> None:
    doubtful = [case for case in every_case() if case.kind is HandlerKind.CONSUMER and case.ledger in OPEN]

    for case in doubtful:
        assert phases.beginning(case.run, case.effect) is Beginning.RECONCILE, case
        assert phases.keeps_events(case.run, case.effect), case
    assert len(doubtful) > 500


def test_events_are_kept_for_whoever_goes_on_and_released_for_whoever_begins_anew() -> None:
    for case in every_case():
        is_fresh = phases.beginning(case.run, case.effect) is Beginning.FRESH
        assert phases.keeps_events(case.run, case.effect) is not is_fresh, case


# The oracle: how an attempt stops (§1.10, §1.11, C13, C16)

STATUSES = {
    FailureKind.TRANSIENT: HandlerStatus.PAUSED_TRANSIENT,
    FailureKind.TIMEOUT: HandlerStatus.PAUSED_TRANSIENT,
    FailureKind.LOGIC: HandlerStatus.FAILED_LOGIC,
    FailureKind.DRIFT: HandlerStatus.FAILED_LOGIC,
    FailureKind.AUTH: HandlerStatus.PAUSED_APPROVAL,
    FailureKind.PERMISSION: HandlerStatus.PAUSED_APPROVAL,
    FailureKind.INTERNAL: HandlerStatus.FAILED_INTERNAL,
    FailureKind.CRASH_LOOP: HandlerStatus.FAILED_INTERNAL,
    FailureKind.INDETERMINATE: HandlerStatus.FAILED_LOGIC,  # of something that is no effect: whoever said it is wrong
}


class Stopping(NamedTuple):
    case: Case
    said_at: Phase  # where whoever executed it says that it stopped
    failure: FailureKind
    verdict: Verdict | None

    @property
    def is_unknown(self) -> bool:
        return self.case.phase is Phase.MUTATING and self.verdict is not Verdict.FAILED

    @property
    def is_definite(self) -> bool:
        return self.case.phase is Phase.MUTATING and self.verdict is Verdict.FAILED

    @property
    def goes_on(self) -> bool:
        """Did it pass the place of the effect, whether there was one or not?"""
        if self.case.phase in (Phase.MUTATED, Phase.EMITTING):
            return True
        return self.case.phase is Phase.PREPARED and self.said_at is Phase.EMITTING

    @property
    def status(self) -> HandlerStatus:
        return HandlerStatus.PAUSED_RECONCILIATION if self.is_unknown else STATUSES[self.failure]

    @property
    def phase(self) -> Phase:
        return Phase.EMITTING if self.goes_on and self.said_at is Phase.EMITTING else self.case.phase

    @property
    def outcome(self) -> EffectOutcome | None:
        if self.is_definite:
            return EffectOutcome.FAILURE
        return EffectOutcome.NONE if self.goes_on and self.case.outcome is None else self.case.outcome

    @property
    def keeps_events(self) -> bool:
        is_refused = self.failure in (FailureKind.AUTH, FailureKind.PERMISSION)
        return self.is_unknown or self.goes_on or (self.is_definite and is_refused)

    @property
    def ledger(self) -> EffectStatus | None:
        """As it stands after the same commit."""
        if self.is_unknown:
            return EffectStatus.NEEDS_RECONCILE
        return EffectStatus.FAILED if self.is_definite else self.case.ledger


def every_stop() -> Iterator[Stopping]:
    at_work = [
        case
        for case in every_case()
        if case.can_be
        and not case.has_failure
        and case.status is HandlerStatus.ACTIVE
        and case.phase is not Phase.COMMITTED
        and case.outcome is not EffectOutcome.FAILURE
    ]
    for case, said_at, failure, verdict in product(at_work, EVERY_PHASE, FailureKind, VERDICTS):
        is_of_kind = said_at in PHASES_OF[case.kind] and said_at is not Phase.COMMITTED
        if is_of_kind and (place(said_at) >= place(case.phase) or case.phase is Phase.MUTATED):
            yield Stopping(case, said_at, failure, verdict)


def stopped(stop: Stopping) -> phases.Stop:
    return phases.stop(
        stop.case.run,
        a_pipeline(PipelineStatus.RUNNING),
        phase=stop.said_at,
        failure=failed(stop.failure),
        verdict=stop.verdict,
        now=NOW,
    )


@pytest.mark.spec("invariants:I-37", "invariants:I-39", "pipelines:62", "pipelines:64", "pipelines:65")
def test_every_attempt_stops_as_the_tables_say() -> None:
    stops = list(every_stop())

    wrong = []
    for stop in stops:
        found = stopped(stop)
        told = (found.run.status, found.run.phase, found.run.outcome, found.keeps_events)
        if told != (stop.status, stop.phase, stop.outcome, stop.keeps_events):
            wrong.append((stop, told))

    assert wrong == []
    assert len(stops) > 500


@pytest.mark.spec("invariants:I-38", "invariants:I-39")
def test_what_a_stop_keeps_is_what_the_next_attempt_needs() -> None:
    """Two rules that must never disagree: one decides about the events, the other, later, who follows."""
    for stop in every_stop():
        found = stopped(stop)
        effect = None if stop.ledger is None else an_effect(stop.ledger)
        assert found.keeps_events is phases.keeps_events(found.run, effect), stop
        assert found.keeps_events is (phases.beginning(found.run, effect) is not Beginning.FRESH), stop


def test_the_ledger_is_told_what_the_stop_means_for_it() -> None:
    for stop in every_stop():
        found = stopped(stop)
        assert (found.is_unknown, found.is_failed) == (stop.is_unknown, stop.is_definite), stop


@pytest.mark.spec("invariants:I-37")
def test_no_stop_takes_an_attempt_back_whatever_it_is_told() -> None:
    """Every combination there is, sound or not."""
    count = 0
    cases = [case for case in every_case() if case.ledger is None and not case.has_failure]  # a stop asks for neither
    for case, said_at, failure, verdict in product(cases, EVERY_PHASE, FailureKind, VERDICTS):
        found = phases.stop(
            case.run, a_pipeline(), phase=said_at, failure=failed(failure), verdict=verdict, now=NOW
        ).run
        assert place(found.phase) >= place(case.phase), (case, said_at, failure, verdict)
        if case.outcome is EffectOutcome.SUCCESS and case.phase is not Phase.MUTATING:
            assert found.outcome is EffectOutcome.SUCCESS, (case, said_at, failure, verdict)
        count += 1
    assert count > 10_000


@pytest.mark.spec("invariants:I-37", "pipelines:60")
@pytest.mark.parametrize("is_release", [True, False])
def test_a_crash_changes_nothing_but_the_status(is_release: bool) -> None:
    for case in every_case():
        found = phases.crash(case.run, now=NOW, is_release=is_release)
        same = replace(case.run, status=HandlerStatus.CRASHED, failure=found.failure, updated_at=NOW, ended_at=NOW)
        assert found == same, case


@pytest.mark.spec("pipelines:87", "pipelines:89", "pipelines:90", "pipelines:91", "invariants:I-39")
def test_every_attempt_that_crashed_is_followed_by_what_it_had_come_to() -> None:
    at_work = [
        case
        for case in every_case()
        if case.can_be and case.status is HandlerStatus.ACTIVE and case.phase is not Phase.COMMITTED
    ]
    for case in at_work:
        crashed = phases.crash(case.run, now=NOW, is_release=False)
        if case.kind is HandlerKind.CONSUMER and case.ledger in OPEN:
            wanted = Beginning.RECONCILE
        elif case.phase in (Phase.MUTATED, Phase.EMITTING):
            wanted = Beginning.EMIT
        else:
            wanted = Beginning.FRESH
        assert phases.beginning(crashed, case.effect) is wanted, case


# What a person, or `reconcile`, says about it


@pytest.mark.spec("invariants:I-37", "invariants:I-38")
def test_what_is_said_about_an_effect_moves_the_phase_forward_or_not_at_all() -> None:
    for status in HandlerStatus:
        run = attempt(HandlerKind.CONSUMER, Phase.MUTATING, status, None, has_failure=True)
        happened = phases.happened(run, now=NOW, by="ann")
        skipped = phases.skipped(run, now=NOW, by="ann", note=None)
        not_happened = phases.did_not_happen(run, now=NOW, by="ann")

        assert {happened.status, skipped.status, not_happened.status} == {status}
        assert (happened.phase, happened.outcome) == (Phase.MUTATED, EffectOutcome.SUCCESS)
        assert (skipped.phase, skipped.outcome) == (Phase.MUTATED, EffectOutcome.SKIPPED)
        assert (not_happened.phase, not_happened.outcome) == (Phase.MUTATING, EffectOutcome.FAILURE)
        assert phases.beginning(happened, an_effect(EffectStatus.APPLIED)) is Beginning.EMIT
        assert phases.beginning(skipped, an_effect(EffectStatus.FAILED)) is Beginning.EMIT


def test_what_did_not_happen_begins_anew_once_somebody_knows() -> None:
    doubtful = attempt(HandlerKind.CONSUMER, Phase.MUTATING, HandlerStatus.PAUSED_RECONCILIATION, None)
    known = phases.did_not_happen(replace(doubtful, failure=failed(FailureKind.TIMEOUT)), now=NOW)

    assert phases.beginning(known, an_effect(EffectStatus.FAILED)) is Beginning.FRESH


# Where the pipeline stands then


def held(
    kind: FailureKind, *, failures: int = 0, fixes: int = 0, has_fixer: bool = False, poll: int = 0
) -> phases.Stop:
    pipeline = a_pipeline(PipelineStatus.RUNNING, failures=failures, fixes=fixes, has_fixer=has_fixer, poll=poll)
    run = attempt(HandlerKind.CONSUMER, Phase.PREPARING, HandlerStatus.ACTIVE, None)
    return phases.stop(run, pipeline, phase=Phase.PREPARING, failure=failed(kind), verdict=None, now=NOW)


@pytest.mark.spec("pipelines:77", "pipelines:98", "pipelines:111")
@pytest.mark.parametrize("kind", [FailureKind.TRANSIENT, FailureKind.TIMEOUT])
def test_what_passes_by_itself_is_tried_five_times_and_then_needs_a_person(kind: FailureKind) -> None:
    for failures in range(5):
        found = held(kind, failures=failures).pipeline
        assert (found.status, found.failures) == (PipelineStatus.BACKOFF, failures + 1)

    last = held(kind, failures=5).pipeline
    assert (last.status, last.issue, last.available_at) == (PipelineStatus.ATTENTION, Issue.EXHAUSTED, None)


@pytest.mark.spec("pipelines:78", "pipelines:101", "pipelines:108")
def test_a_mistake_in_the_code_is_fixed_twice_before_a_person_is_asked() -> None:
    for fixes in range(2):
        assert held(FailureKind.LOGIC, fixes=fixes, has_fixer=True).pipeline.status is PipelineStatus.FIXING

    third = held(FailureKind.LOGIC, fixes=2, has_fixer=True).pipeline
    nobody = held(FailureKind.LOGIC).pipeline
    assert (third.status, third.issue, third.fixes) == (PipelineStatus.ATTENTION, Issue.LOGIC, 0)
    assert (nobody.status, nobody.issue) == (PipelineStatus.ATTENTION, Issue.LOGIC)


@pytest.mark.spec("pipelines:79", "pipelines:80", "pipelines:82", "pipelines:99", "pipelines:102", "pipelines:109")
@pytest.mark.parametrize(
    ("kind", "issue"),
    [
        (FailureKind.AUTH, Issue.AUTH),
        (FailureKind.PERMISSION, Issue.PERMISSION),
        (FailureKind.INTERNAL, Issue.INTERNAL),
        (FailureKind.CRASH_LOOP, Issue.INTERNAL),
    ],
)
@pytest.mark.parametrize("has_fixer", [True, False])
def test_what_only_a_person_can_put_right_holds_the_pipeline(kind: FailureKind, issue: Issue, has_fixer: bool) -> None:
    found = held(kind, has_fixer=has_fixer).pipeline

    assert (found.status, found.issue, found.worker, found.available_at) == (
        PipelineStatus.ATTENTION,
        issue,
        None,
        None,
    )


def test_what_is_put_right_counts_from_the_start_again() -> None:
    pipeline = a_pipeline(PipelineStatus.ATTENTION, issue=Issue.EXHAUSTED, failures=6, recoveries=3)

    found = phases.freed(pipeline, now=NOW)

    assert (found.status, found.issue, found.failures, found.recoveries) == (PipelineStatus.IDLE, None, 0, 0)


# Repairs, and workers that are lost


@pytest.mark.parametrize("before", PipelineStatus)
@pytest.mark.parametrize("has_fixer", [True, False])
def test_on_logic_error_is_asked_until_it_has_answered(before: PipelineStatus, has_fixer: bool) -> None:
    pipeline = a_pipeline(PipelineStatus.RUNNING, has_fixer=has_fixer)
    is_open = has_fixer and before in (PipelineStatus.FIXING, PipelineStatus.RUNNING)

    for status in HandlerStatus:
        found = phases.is_unfixed(pipeline, an_attempt(status=status), before=before)
        assert found == (is_open and status is HandlerStatus.FAILED_LOGIC)


def test_what_is_given_back_while_it_is_repaired_is_tried_only_behind_the_repair() -> None:
    pipeline = a_pipeline(PipelineStatus.RUNNING, has_fixer=True)
    failed, crashed = an_attempt(status=HandlerStatus.FAILED_LOGIC), an_attempt(status=HandlerStatus.CRASHED)

    assert phases.unfixed(pipeline, failed, before=PipelineStatus.RUNNING).status is PipelineStatus.FIXING
    assert phases.unfixed(pipeline, failed, before=PipelineStatus.IDLE) == pipeline
    assert phases.unfixed(pipeline, crashed, before=PipelineStatus.RUNNING) == pipeline


def test_what_was_being_repaired_under_other_code_is_tried_with_the_new_one_first() -> None:
    failed = an_attempt(status=HandlerStatus.FAILED_LOGIC)
    overtaken = a_pipeline(PipelineStatus.RUNNING, has_fixer=True, poll=outdated(3))
    waiting = a_pipeline(PipelineStatus.FIXING, has_fixer=True, poll=outdated(3))  # nobody was at it

    assert phases.unfixed(overtaken, failed, before=PipelineStatus.RUNNING) == overtaken
    assert phases.stood(overtaken) is PipelineStatus.IDLE
    assert phases.stood(replace(overtaken, poll=3)) is PipelineStatus.RUNNING
    assert phases.stood(waiting) is PipelineStatus.FIXING


@pytest.mark.parametrize("kind", FailureKind)
@pytest.mark.parametrize("has_fixer", [True, False])
def test_what_new_code_has_overtaken_is_tried_with_it_before_anybody_is_asked(
    kind: FailureKind, has_fixer: bool
) -> None:
    found, usual = held(kind, has_fixer=has_fixer, poll=outdated(3)), held(kind, has_fixer=has_fixer)

    assert (found.run, found.keeps_events) == (usual.run, usual.keeps_events)
    if usual.run.status is HandlerStatus.FAILED_LOGIC:
        assert (found.pipeline.status, found.pipeline.issue, found.pipeline.fixes) == (PipelineStatus.IDLE, None, 0)
    else:
        assert found.pipeline == replace(usual.pipeline, poll=outdated(3))


@pytest.mark.parametrize(("is_fixed", "poll"), [(True, 3), (True, outdated(3)), (False, outdated(0))])
def test_what_is_fixed_or_has_other_code_by_now_is_tried_again(is_fixed: bool, poll: int) -> None:
    pipeline = a_pipeline(PipelineStatus.RUNNING, fixes=1, recoveries=2, poll=poll)
    found = phases.fix(pipeline, is_fixed=is_fixed, now=NOW)

    assert (found.status, found.fixes, found.recoveries, found.changed_at) == (PipelineStatus.IDLE, 2, 0, NOW)


def test_what_is_given_up_needs_a_person() -> None:
    found = phases.fix(a_pipeline(PipelineStatus.RUNNING, fixes=1, poll=3), is_fixed=False, now=NOW)

    assert (found.status, found.issue, found.fixes) == (PipelineStatus.ATTENTION, Issue.LOGIC, 0)


def test_whoever_takes_its_workers_down_is_named_and_needs_a_person() -> None:
    pipeline, run = a_pipeline(PipelineStatus.RUNNING), an_attempt(status=HandlerStatus.CRASHED)

    blamed, held = phases.crash_loop(run, pipeline, recoveries=4, now=NOW)
    nobody, alone = phases.crash_loop(None, pipeline, recoveries=4, now=NOW)

    assert (held.status, held.issue, held.available_at) == (PipelineStatus.ATTENTION, Issue.CRASH_LOOP, None)
    message = "Workers were lost 4 times in a row in handler 'charge', at preparing."
    assert blamed is not None
    assert blamed.failure == Failure(
        kind=FailureKind.CRASH_LOOP, type="CrashLoop", message=message, reason=FailureReason.WORKER_LOST
    )
    assert (blamed.status, blamed.updated_at) == (HandlerStatus.CRASHED, NOW)
    assert (nobody, alone) == (None, held)

"""Is every command from outside checked, field by field, before anything is written?"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api.checks import check
from windlass.errors import InvalidInput
from windlass.model import access, commands, feed, graph, namespace, page, schedule_commands
from windlass.model.access import CreateKey, ListAudit, Role
from windlass.model.commands import (
    BeginStep,
    CancelRun,
    Claim,
    ClaimRuns,
    CompleteStep,
    Decide,
    FailStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    LookAtClaims,
    OpenWait,
    PauseRun,
    RegisterWorker,
    ResumeRun,
    RetryRun,
    SendEvent,
    SetGate,
    StartChild,
    StartRun,
    Suspend,
    WaitStep,
)
from windlass.model.failure import Failure, FailureKind, Unretrieved
from windlass.model.feed import ReadFeed
from windlass.model.gate import GateKind
from windlass.model.graph import AddJobs, ListGraphs, ListJobs, Need, NewJob, ReadNeeds
from windlass.model.namespace import CreateNamespace
from windlass.model.page import ListRuns
from windlass.model.retry import DEFAULT_RETRY, RetryPolicy
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.step import StepKind
from windlass.model.time import DAY, MINUTE, Duration
from windlass.model.worker import Served

RUN, WORKER = RunId("run_" + "0" * 26), WorkerId("wrk_" + "0" * 26)
HASH = bytes(16)
HELD: dict[str, Any] = {"namespace": "shop", "run_id": RUN, "token": 1}
STEP: dict[str, Any] = {**HELD, "key": "pack#2", "kind": StepKind.STEP, "input_hash": HASH}
FAILURE = Failure(kind=FailureKind.LOGIC, type="ValueError", message="no")
START = StartRun(
    namespace="shop", name="order", version="", queue="mail", priority=0, input=b"[]", input_hash=HASH, key="k"
)
FAIL = FailStep(**STEP, attempt=1, order=0, failures=0, failure=FAILURE, retry=DEFAULT_RETRY, ran_for=Duration(5))
WAIT = WaitStep(**(STEP | {"kind": StepKind.CHILD}), child=StartChild(command=START))
TOLD = Unretrieved(token=1, failure=FAILURE, place=" at order.py:17")
SCHEDULE = PutSchedule(
    namespace="shop", name="nightly", workflow="order", version="", queue="mail", input=b"[]", input_hash=HASH,
    timeout_for=None, timing=Timing(cron="0 9 * * *"), catch_up=CatchUp.LATEST, max_catch_up=1, overlap=Overlap.SKIP,
    jitter=Duration(0),
)  # fmt: skip
LINT = NewJob(name="lint", workflow="release.lint")
TEST = NewJob(
    name="test[3.11-linux]", workflow="release.test", queue="mail", matrix="test", max_parallel=2, timeout_for=MINUTE,
    needs=(Need(upstream="lint", accepts=(RunStatus.COMPLETED, RunStatus.SKIPPED)), Need(upstream="shards")),
)  # fmt: skip
GOOD: list[Any] = [
    START,
    SendEvent(namespace="shop", run_id=RUN, event="paid", id="m", payload=b"1", payload_hash=HASH),
    Decide(namespace="shop", run_id=RUN, is_approved=True, by="ann", note="two\nlines", step="ask#2"),
    CancelRun(namespace="shop", run_id=RUN),
    PauseRun(namespace="shop", run_id=RUN),
    ResumeRun(namespace="shop", run_id=RUN),
    RetryRun(namespace="shop", run_id=RUN, from_step="pack"),
    SetGate(namespace="shop", kind=GateKind.QUEUE, name="mail", is_paused=True),
    ListRuns(namespace="shop", name="order", before=RUN),
    RegisterWorker(namespace="shop", id=WORKER, host="h", pid=1, served=(Served("mail", "order"),), slots=5),
    Heartbeat(namespace="shop", id=WORKER, active=0, completed=0, failed=0),
    ClaimRuns(
        namespace="shop", worker=WORKER, poll=1, served=(Served("mail", "order", "2"),), limit=10,
        visibility_for=MINUTE, visibilities={"order": MINUTE}, wait_for=Duration(0),
    ),
    BeginStep(**STEP, attempt=1, failures=0),
    CompleteStep(**STEP, attempt=1, order=0, failures=0, output=b"1", ran_for=Duration(1)),
    Suspend(
        **HELD, failures=(FAIL,), waits=(WAIT,), open=(OpenWait(key="a", order=1),), dropped=("b",), unretrieved=TOLD
    ),
    FinishRun(**HELD, status=RunStatus.COMPLETED, output=b"1"),
    HoldRun(**HELD, reason=FAILURE),
    Claim(**HELD, visibility_for=MINUTE),
    LookAtClaims(namespace="shop", claims=((RUN, 1),)),
    SCHEDULE,
    Declare(namespace="shop", program="p", schedules=(SCHEDULE,), kept={"order": DAY, "other": None}),
    PauseSchedule(namespace="shop", name="nightly", note="x"),
    ResumeSchedule(namespace="shop", name="nightly"),
    TriggerSchedule(namespace="shop", name="nightly"),
    DeleteSchedule(namespace="shop", name="nightly"),
    ReadFeed(namespace="shop", cursor="now"),
    CreateNamespace(name="shop"),
    CreateKey(id="key_" + "0" * 26, namespace="shop", roles=(Role.WORKER,), secret_hash=bytes(32), queues=("mail",)),
    ListAudit(namespace="*"),
    AddJobs(**HELD, jobs=(LINT, TEST)),
    ReadNeeds(namespace="shop", claims=((RUN, 1),)),
    ListGraphs(namespace="shop", name="release", before=RUN),
    ListJobs(namespace="shop", graph=RUN),
]  # fmt: skip
# What is made inside, is an answer, or is part of another command.
NOT_SENT = {
    "ProbeWorkers", "Started", "Probed", "Heartbeaten", "ClaimedRun", "StartChild", "WaitStep", "OpenWait", "FailStep",
    "Verdict", "Registration", "Settled", "Suspended", "Outcome", "ClaimState", "Sent", "Cancelled", "Namespace",
    "NamespacePage", "RunPage", "FeedEntry", "FeedPage", "Key", "Actor", "AuditEntry", "AuditPage", "Need", "NewJob",
    "Added", "Edge", "Graph", "JobState", "JobView", "JobPage", "GraphView", "GraphPage", "Met", "NeedsOf",
}  # fmt: skip


def test_every_command_that_may_come_is_checked() -> None:
    modules = (access, commands, feed, graph, namespace, page, schedule_commands)
    known = {
        name
        for module in modules
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, msgspec.Struct) and cls.__module__ == module.__name__
    }

    assert known - {type(command).__name__ for command in GOOD} - NOT_SENT - {"SendToChild", "CancelChild"} == set()


@pytest.mark.parametrize("command", GOOD, ids=lambda command: type(command).__name__)
def test_a_good_one_passes_unchanged(command: Any) -> None:
    assert check(command) is command


@pytest.mark.parametrize("command", GOOD, ids=lambda command: type(command).__name__)
def test_a_namespace_that_cannot_be_is_refused(command: Any) -> None:
    field = "name" if isinstance(command, CreateNamespace) else "namespace"
    if isinstance(command, CreateKey):
        return  # the engine looks at it: it may be "*"
    for wrong in ("", " ", "a/b", "..", "x" * 201, "a\0b", "\ud800", "a\u202eb", "a\nb"):
        with pytest.raises(InvalidInput):
            check(replace(command, **{field: wrong}))


def test_names_come_back_composed() -> None:
    checked = check(replace(START, name="cafe\u0301", queue="cafe\u0301"))

    assert (checked.name, checked.queue) == ("caf\u00e9", "caf\u00e9")


BIG = b"x" * (3 * 1024 * 1024 + 1)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        (START, {"run_id": "run_1"}), (START, {"priority": 11}), (START, {"priority": True}), (START, {"input": BIG}),
        (START, {"input_hash": b""}), (START, {"key": ""}), (START, {"key": "k" * 256}), (START, {"key": "a\0"}),
        (START, {"delay_for": -1}), (START, {"delay_for": 10**18}), (START, {"at": -1}), (START, {"at": 10**18}),
        (START, {"timeout_for": 0}), (START, {"delay_for": 1, "at": 1}), (START, {"version": "v" * 201}),
        (START, {"version": "a\0"}), (GOOD[1], {"event": ""}), (GOOD[1], {"id": " "}), (GOOD[1], {"payload": BIG}),
        (GOOD[1], {"payload_hash": b"1"}), (GOOD[2], {"by": "b" * 256}), (GOOD[2], {"note": "n" * 2_001}),
        (GOOD[2], {"step": ""}), (GOOD[3], {"run_id": "x"}), (GOOD[3], {"note": "\ud800"}),
        (GOOD[6], {"from_step": ""}),
        (GOOD[7], {"name": "a b"}), (GOOD[8], {"limit": 0}), (GOOD[8], {"limit": 501}), (GOOD[8], {"before": "'"}),
        (GOOD[8], {"parent": "x"}), (GOOD[8], {"queue": ""}), (GOOD[9], {"id": "wrk_1"}),
        (GOOD[9], {"host": "h" * 256}),
        (GOOD[9], {"slots": 0}), (GOOD[9], {"slots": 10_001}), (GOOD[9], {"pid": -1}),
        (GOOD[9], {"served": (Served("mail", "order"),) * 1_001}), (GOOD[9], {"served": (Served("", "order"),)}),
        (GOOD[10], {"active": -1}), (GOOD[10], {"completed": 2**63}), (GOOD[11], {"limit": 0}),
        (GOOD[11], {"limit": -1}), (GOOD[11], {"limit": 10**9}), (GOOD[11], {"poll": -1}), (GOOD[11], {"wait_for": -1}),
        (GOOD[11], {"visibility_for": 0}), (GOOD[11], {"visibility_for": 2 * DAY}),
        (GOOD[11], {"visibilities": {"order": 1}}), (GOOD[11], {"served": (Served("q", "n"),) * 1_001}),
        (GOOD[12], {"token": 0}), (GOOD[12], {"token": -1}), (GOOD[12], {"token": 2**63}), (GOOD[12], {"key": ""}),
        (GOOD[12], {"key": "k" * 601}), (GOOD[12], {"attempt": 0}), (GOOD[12], {"failures": -1}),
        (GOOD[12], {"input_hash": b"hash"}), (GOOD[13], {"output": BIG}), (GOOD[13], {"order": -1}),
        (GOOD[13], {"ran_for": -1}), (GOOD[13], {"renew_for": Duration(1)}), (GOOD[14], {"dropped": ("",)}),
        (GOOD[14], {"open": (OpenWait(key="", order=1),)}), (GOOD[14], {"dropped": ("a",) * 10_001}),
        (GOOD[14], {"failures": (replace(FAIL, token=2),)}), (GOOD[14], {"waits": (replace(WAIT, namespace="other"),)}),
        (GOOD[14], {"waits": (replace(WAIT, child=StartChild(command=replace(START, namespace="other"))),)}),
        (GOOD[14], {"waits": (replace(WAIT, child=StartChild(command=replace(START, name="a/b"))),)}),
        (GOOD[14], {"waits": (replace(WAIT, due_for=Duration(-1)),)}),
        (GOOD[14], {"failures": (replace(FAIL, retry=RetryPolicy(max_attempts=0)),)}),
        (GOOD[14], {"failures": (replace(FAIL, failure=replace(FAILURE, message="m" * 65_537)),)}),
        (GOOD[14], {"failures": (replace(FAIL, failure=replace(FAILURE, message="a\0")),)}),
        (GOOD[14], {"unretrieved": replace(TOLD, token=2)}), (GOOD[14], {"unretrieved": replace(TOLD, place="a\0")}),
        (GOOD[14], {"unretrieved": replace(TOLD, failure=replace(FAILURE, type="\ud800"))}),
        (GOOD[15], {"status": RunStatus.PENDING}), (GOOD[15], {"status": RunStatus.FAILED}),
        (GOOD[15], {"failure": FAILURE}), (GOOD[15], {"output": BIG}), (GOOD[15], {"parent": "x"}),
        (GOOD[15], {"result_hash": b"1"}), (GOOD[16], {"reason": replace(FAILURE, type="\ud800")}),
        (GOOD[17], {"visibility_for": 1}), (GOOD[17], {"delay_for": -1}), (GOOD[18], {"claims": ((RUN, 0),)}),
        (GOOD[18], {"claims": (("x", 1),)}), (GOOD[18], {"claims": ((RUN, 1),) * 10_001}),
        (SCHEDULE, {"timing": Timing()}), (SCHEDULE, {"jitter": -1}), (SCHEDULE, {"max_catch_up": 0}),
        (SCHEDULE, {"timing": Timing(every=Duration(1))}), (SCHEDULE, {"timeout_for": 0}), (SCHEDULE, {"input": BIG}),
        (GOOD[20], {"program": ""}), (GOOD[20], {"kept": {"a/b": None}}), (GOOD[20], {"kept": {"order": 1}}),
        (GOOD[20], {"schedules": (replace(SCHEDULE, namespace="other"),)}), (GOOD[21], {"name": ""}),
        (GOOD[23], {"run_id": "x"}), (GOOD[25], {"limit": 0}), (GOOD[25], {"limit": 501}),
        (GOOD[25], {"cursor": "c" * 501}), (GOOD[25], {"subject_id": "\0"}), (GOOD[26], {"note": "n" * 2_001}),
        (GOOD[27], {"queues": ("",)}), (GOOD[27], {"expires_for": 0}), (GOOD[28], {"before": -1}),
        (GOOD[28], {"limit": 501}), (GOOD[29], {"token": 0}), (GOOD[29], {"run_id": "x"}), (GOOD[29], {"output": BIG}),
        (GOOD[29], {"jobs": (replace(LINT, name=""),)}), (GOOD[29], {"jobs": (replace(LINT, name="a/b"),)}),
        (GOOD[29], {"jobs": (replace(LINT, name="a[b\n]"),)}), (GOOD[29], {"jobs": (replace(LINT, name="x" * 201),)}),
        (GOOD[29], {"jobs": (replace(LINT, workflow="a b"),)}), (GOOD[29], {"jobs": (replace(LINT, queue=""),)}),
        (GOOD[29], {"jobs": (replace(LINT, version="a\0"),)}), (GOOD[29], {"jobs": (replace(LINT, priority=11),)}),
        (GOOD[29], {"jobs": (replace(LINT, input=BIG),)}), (GOOD[29], {"jobs": (replace(LINT, timeout_for=0),)}),
        (GOOD[29], {"jobs": (replace(TEST, matrix="\0"),)}), (GOOD[29], {"jobs": (replace(TEST, max_parallel=0),)}),
        (GOOD[29], {"jobs": (replace(TEST, needs=(Need(upstream="a\0"),)),)}),
        (GOOD[30], {"claims": (("x", 1),)}), (GOOD[30], {"claims": ((RUN, 0),)}),
        (GOOD[30], {"claims": ((RUN, 1),) * 10_001}), (GOOD[31], {"limit": 0}), (GOOD[31], {"limit": 501}),
        (GOOD[31], {"before": "x"}), (GOOD[31], {"name": ""}), (GOOD[32], {"graph": "x"}), (GOOD[32], {"after": -2}),
        (GOOD[32], {"after": 2**31}), (GOOD[32], {"limit": 501}),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else type(value).__name__,
)  # fmt: skip
@pytest.mark.spec("security:83", "security:86", "security:87", "security:S-13")
def test_a_value_that_cannot_be_is_refused_with_its_path(command: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(replace(command, **changes))

    assert refused.value.path
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "accepts", [(), (RunStatus.RUNNING,), (RunStatus.COMPLETED, RunStatus.WAITING)], ids=["none", "open", "one of two"]
)
@pytest.mark.spec("security:68")
def test_a_need_accepts_ends_and_at_least_one(accepts: Any) -> None:
    job = replace(TEST, needs=(Need(upstream="lint", accepts=accepts),))

    with pytest.raises(InvalidInput, match=r"Job 'test\[3.11-linux\]': .*'lint'") as refused:
        check(AddJobs(**HELD, jobs=(LINT, job)))

    assert refused.value.reason == "invalid_needs"


@pytest.mark.parametrize(
    "jobs",
    [(LINT,) * 10_001, (replace(LINT, needs=(Need(upstream="a"),) * 100_001),)],
    ids=["jobs", "needs"],
)
@pytest.mark.spec("security:66")
def test_a_graph_without_end_is_refused_before_its_jobs_are_looked_at(jobs: Any) -> None:
    with pytest.raises(InvalidInput, match="A graph has at most 10") as refused:
        check(AddJobs(**HELD, jobs=jobs))

    assert refused.value.reason == "too_many"


def test_names_of_jobs_come_back_composed_wherever_they_stand_and_ends_in_one_order() -> None:
    ends = (RunStatus.SKIPPED, RunStatus.COMPLETED, RunStatus.SKIPPED)
    cafe = replace(LINT, name="cafe\u0301", workflow="shop.cafe\u0301")
    job = replace(TEST, needs=(Need(upstream="cafe\u0301", accepts=ends),))

    first, second = check(AddJobs(**HELD, jobs=(cafe, job))).jobs

    assert (first.name, first.workflow) == ("caf\u00e9", "shop.caf\u00e9")
    assert second.needs == (Need(upstream="caf\u00e9", accepts=(RunStatus.COMPLETED, RunStatus.SKIPPED)),)


def test_what_nobody_may_send_is_refused() -> None:
    with pytest.raises(InvalidInput):
        check(WAIT)

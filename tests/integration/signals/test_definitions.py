"""What may stand in `@app.on` and `app.when`, and what is refused before anything is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import windlass
from tests.programs import nothing
from windlass.model.run import RunId, RunStatus
from windlass.model.signal import Action, ActionKind, DeclaredSignal, Trigger, TriggerKind
from windlass.rules.firing_inputs import NO_ARGUMENTS
from windlass.settings import Settings

NINE = datetime(2026, 12, 1, 9, tzinfo=UTC)


@pytest.fixture
async def app() -> AsyncIterator[windlass.App]:
    async with windlass.App(":memory:", settings=Settings()) as app:
        yield app


def declared(app: windlass.App) -> tuple[DeclaredSignal, ...]:
    return app._registry.signals.commands()


def order_of(app: windlass.App) -> Any:
    @app.workflow
    async def order(ctx: windlass.Context, id: str) -> str:
        return id

    return order


# Declared in code


def test_a_function_below_on_is_a_workflow_and_a_signal_of_its_name(app: windlass.App) -> None:
    order = order_of(app)

    @app.on(order, enters={"failed", RunStatus.CANCELLED}, queue="on-call", timeout="1m")
    async def page(ctx: windlass.Context, firing: windlass.Firing) -> None: ...

    assert declared(app) == (
        DeclaredSignal(
            name="page",
            trigger=Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("cancelled", "failed")),
            action=Action(kind=ActionKind.START, workflow="page", queue="on-call", timeout_for=60_000_000),  # type: ignore[arg-type]
            repeats=False,
        ),
    )
    assert app._registry.find_workflow(page).queue == "on-call"


def test_what_is_watched_may_be_a_graph_a_job_a_pipeline_or_every_item(app: windlass.App) -> None:
    release, payments = app.graph("release"), app.pipeline("payments")

    @release.job
    async def lint(ctx: windlass.JobContext) -> None: ...

    subjects: list[Any] = [release, lint, payments, windlass.Item, app.items, app.sync.items]
    for number, subject in enumerate(subjects):
        states = {payments: "attention"}.get(subject, "failed")

        @app.on(subject, enters=states, name=f"signal-{number}", repeat=True)  # type: ignore[arg-type]
        async def page(ctx: windlass.Context) -> None: ...

    assert [(item.trigger.kind.name, item.trigger.subject) for item in declared(app)] == [
        ("WORKFLOW", "release"),
        ("WORKFLOW", "release.lint"),
        ("PIPELINE", "payments"),
        ("ITEM", "*"),
        ("ITEM", "*"),
        ("ITEM", "*"),
    ]
    assert {item.repeats for item in declared(app)} == {True}


def test_a_workflow_below_on_stays_what_it_is(app: windlass.App) -> None:
    order = order_of(app)

    @app.on(order, enters="failed")
    @app.on(order, enters="cancelled", name="page-cancelled")
    @app.workflow(queue="on-call", name="ring", version="2")
    async def page(ctx: windlass.Context, firing: windlass.Firing | None = None) -> None: ...

    assert [(item.name, item.action.workflow, item.action.queue, item.action.version) for item in declared(app)] == [
        ("page-cancelled", "ring", "on-call", "2"),
        ("ring", "ring", "on-call", "2"),
    ]


def test_a_function_that_takes_nothing_is_started_with_nothing(app: windlass.App) -> None:
    @app.on(order_of(app), enters="failed")
    async def tidy(ctx: windlass.Context) -> None: ...

    @app.on(tidy, enters="failed")
    async def page(ctx: windlass.Context, firing) -> None: ...  # type: ignore[no-untyped-def]

    assert [item.action.input for item in declared(app)] == [NO_ARGUMENTS, None]


def test_a_cell_that_runs_again_replaces_its_signal(app: windlass.App) -> None:
    order = order_of(app)

    def cell(enters: Any) -> None:
        @app.on(order, enters=enters)
        async def page(ctx: windlass.Context, firing: windlass.Firing) -> None: ...

    cell("failed")
    cell("completed")

    assert [item.trigger.to for item in declared(app)] == [("completed",)]


def test_two_signals_of_one_name_are_refused(app: windlass.App) -> None:
    order = order_of(app)

    with pytest.raises(windlass.AlreadyExists, match=r"Signal 'page' is declared twice: .* Give one of them name=."):

        @app.on(order, enters="failed")
        @app.on(order, enters="completed")
        async def page(ctx: windlass.Context, firing: windlass.Firing) -> None: ...


@pytest.mark.parametrize("enters", ["faild", ["failed", "faild"], {"faild"}])
def test_a_state_that_does_not_exist_is_refused_with_those_that_do(app: windlass.App, enters: Any) -> None:
    with pytest.raises(
        windlass.InvalidInput, match=r"enters 'faild': states are waiting, .*Did you mean 'failed'"
    ) as no:
        app.on(order_of(app), enters=enters)

    assert (no.value.reason, no.value.path) == ("invalid_trigger", "enters")


@pytest.mark.parametrize(
    ("subject", "enters", "said"),
    [
        (windlass.Item, "completed", "states are backlog, ready, doing"),
        (windlass.Item, (), "it is empty; states are backlog"),
        (windlass.Item, 7, "enters takes a state or several, not 7"),
        (windlass.Item, [7], r"enters takes a state or several, not \[7\]"),
        ("order", "failed", "app.on takes a workflow, a graph, a job, a pipeline, or windlass.Item .*not 'order'"),
        (NINE, "failed", "For one run, one item or a time: await app.when"),
    ],
)
def test_what_cannot_be_declared_is_refused(app: windlass.App, subject: Any, enters: Any, said: str) -> None:
    with pytest.raises(windlass.InvalidInput, match=said):
        app.on(subject, enters=enters)


def test_a_function_that_is_no_workflow_cannot_be_watched(app: windlass.App) -> None:
    async def fetch() -> None: ...

    with pytest.raises(windlass.NotFound, match=r"Declare fetch .* with @app.workflow"):
        app.on(fetch, enters="failed")

    with pytest.raises(windlass.InvalidInput, match="the function, not its result"):
        app.on(fetch(), enters="failed")  # type: ignore[arg-type]


def test_a_function_that_wants_something_else_than_a_firing_is_refused(app: windlass.App) -> None:
    order = order_of(app)

    with pytest.raises(
        windlass.InvalidInput, match=r"'page' .* takes id, and a signal hands over the firing: .*nothing"
    ):

        @app.on(order, enters="failed")
        async def page(ctx: windlass.Context, id: str) -> None: ...

    with pytest.raises(windlass.InvalidInput, match="takes firing, id, and a signal hands over the firing"):

        @app.on(order, enters="failed")
        async def call(ctx: windlass.Context, firing: windlass.Firing, id: str) -> None: ...

    with pytest.raises(windlass.InvalidInput, match='must be "async def"'):

        @app.on(order, enters="failed")  # type: ignore[type-var]
        def plain(ctx: windlass.Context) -> None: ...


def test_options_of_a_workflow_that_is_one_stand_where_it_is_declared(app: windlass.App) -> None:
    with pytest.raises(windlass.InvalidInput, match="declared with options of its own: give queue there"):

        @app.on(order_of(app), enters="failed", queue="on-call")
        @app.workflow
        async def page(ctx: windlass.Context) -> None: ...


def test_a_function_that_is_several_jobs_says_which(app: windlass.App) -> None:
    async def lint(ctx: windlass.JobContext) -> None: ...

    for name in ("release", "nightly"):
        app.graph(name).job(lint)

    with pytest.raises(windlass.InvalidInput, match=r"several jobs, nightly\.lint, release\.lint, and app\.on\(\)"):
        app.on(lint, enters="failed")


# Asked for


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"enters": "faild"}, "enters 'faild': states are"),
        ({}, "it is empty; states are"),
        ({"enters": "failed", "since": "today"}, "since must be 'now' or 'beginning', not 'today'"),
        ({"enters": "failed", "repeat": "no"}, "True or False was expected"),
        ({"enters": "failed", "task": "Look"}, "only a signal on a work item records a task"),
        ({"enters": "failed", "key": ""}, "key"),
        ({"enters": "failed", "payload": object()}, "is an object"),
    ],
)
async def test_what_when_cannot_take_is_refused(app: windlass.App, options: Any, said: str) -> None:
    handle = await app.start(order_of(app), "7")

    with pytest.raises(windlass.InvalidInput, match=said):
        await app.when(handle, **options)

    assert await app.signals.list() == []


@pytest.mark.parametrize(
    ("subject", "options", "said"),
    [
        (NINE, {"enters": "failed"}, "A time enters no state"),
        (NINE.replace(tzinfo=None), {}, "timezone required"),
        (NINE.replace(year=2100), {}, "more than 10 years ahead"),
        (NINE, {"repeat": True}, "a point in time comes once"),
        (timedelta(hours=1), {}, r"when\(timedelta\(hours=1\), repeat=True\)"),
        (timedelta(milliseconds=1), {"repeat": True}, "from 1 s to 10 years"),
        ("run_01", {"enters": "failed"}, r"not 'run_01'\. Of a run by its id: app\.handle"),
        (7, {"enters": "failed"}, "a datetime or a timedelta, not 7"),
    ],
)
async def test_a_subject_that_cannot_be_watched_is_refused(
    app: windlass.App, subject: Any, options: Any, said: str
) -> None:
    with pytest.raises(windlass.InvalidInput, match=said):
        await app.when(subject, **options)


async def test_when_does_one_thing(app: windlass.App) -> None:
    item = await app.items.create("Move the server")
    page = app.workflow(nothing)

    with pytest.raises(windlass.InvalidInput, match="when\\(\\) does one thing, and got start and task"):
        await app.when(item, enters="done", start=page, task="Look")


async def test_what_is_started_takes_a_firing_or_has_arguments_of_its_own(app: windlass.App) -> None:
    order = order_of(app)
    handle = await app.start(order, "7")

    with pytest.raises(windlass.InvalidInput, match=r"takes id, .* start=windlass\.call\(order, …\)"):
        await app.when(handle, enters="failed", start=order)
    with pytest.raises(windlass.InvalidInput, match="needs 'id'"):
        await app.when(handle, enters="failed", start=windlass.call(order))
    with pytest.raises(windlass.InvalidInput, match="keeps queue, timeout of a call, and not 'key'"):
        await app.when(handle, enters="failed", start=windlass.call(order, "8", key="k"))
    with pytest.raises(windlass.InvalidInput, match="has arguments of its own"):
        await app.when(handle, enters="failed", start=windlass.call(order, "8"), payload=1)
    signal = await app.when(handle, enters="failed", start=windlass.call(order, "8", queue="slow"))

    assert (await signal.info()).does == "start 'order' in queue 'slow'"


async def test_what_is_sent_is_of_the_type_of_its_event(app: windlass.App) -> None:
    order, replied = order_of(app), app.event("replied", str)
    handle = await app.start(order, "7")

    with pytest.raises(windlass.InvalidInput, match="Event 'replied'"):
        await app.when(handle, enters="failed", send=(handle, replied), payload=7)
    with pytest.raises(windlass.InvalidInput, match=r"Give it a payload, or declare it for firings: app.event"):
        await app.when(handle, enters="failed", send=(handle, replied))
    with pytest.raises(
        windlass.InvalidInput, match=r"send takes a handle and an event, not .*send=\(handle, replied\)"
    ):
        await app.when(handle, enters="failed", send=handle)  # type: ignore[arg-type]
    missing = app.handle(RunId("run_" + "0" * 26))
    with pytest.raises(windlass.NotFound):
        await app.when(handle, enters="failed", send=(missing, replied), payload="no")
    signal = await app.when(handle, enters="failed", send=(handle, replied), payload="failed")

    assert (await signal.info()).payload == "failed"
    with pytest.raises(windlass.InvalidInput, match="belongs to the event"):
        await signal.update(payload="other")


async def test_a_run_that_does_not_exist_cannot_be_watched(app: windlass.App) -> None:
    order = order_of(app)

    with pytest.raises(windlass.NotFound):
        await app.when(app.handle(RunId("run_" + "0" * 26)), enters="failed")
    with pytest.raises(windlass.NotFound):
        await app.when(app.handle(order, key="order-7"), enters="failed")
    with pytest.raises(windlass.NotFound):
        await app.when(app.pipeline("payments"), enters="attention")


async def test_states_and_ends_of_items_are_refused_with_those_that_exist(app: windlass.App) -> None:
    item = await app.items.create("Move the server")

    with pytest.raises(windlass.InvalidInput, match=r"to must be one of 'backlog', 'ready'.*not 'dooing'"):
        await item.move("dooing")  # type: ignore[arg-type]
    with pytest.raises(windlass.InvalidInput, match="status must be one of"):
        await app.items.list(status="todo")  # type: ignore[arg-type]
    with pytest.raises(windlass.WrongState, match="It may become ready"):
        await item.move("done")
    with pytest.raises(windlass.InvalidInput, match="title"):
        await app.items.create("")

"""Is everything that can be no schedule refused at every public door, in one clear line, with nothing written?"""

from __future__ import annotations

import logging
import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.scene import Scene
from tests.integration.conftest import OpenHarness
from tests.integration.timetable import Timetable, declare
from windlass import AlreadyExists, App, Context, InvalidInput, NotFound, WrongState
from windlass.model.schedule import Timing
from windlass.model.schedule_commands import Declare
from windlass.store.base import Tx
from windlass.testing.harness import Harness

FORM = "accepted are a timedelta, seconds as a number, or text such as"
NO_INTERVAL = "an interval from 1 s to 10 years was expected"
NO_ZONE = "an IANA time zone such as 'America/New_York' was expected"
FIELDS = "expected are five fields"


def bad(told: str, **options: Any) -> Any:
    """Options that make no schedule, and a part of what is said about them."""
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())[:60]
    return pytest.param(options, told, id=shown)


DURATIONS = [
    *(bad(f"Invalid every {value!r}: {FORM}", every=value) for value in (-1, "5", "5 m", "1h-5m", "1_0s", "", " 1h")),
    bad(f"Invalid every '\\uff11\\uff10s': {FORM}", every="１０s"),
    bad(f"Invalid every nan: {FORM}", every=math.nan),
    bad(f"Invalid every inf: {FORM}", every=math.inf),
    bad("Invalid every '999999999999w': ", every="999999999999w"),
    bad(f"Invalid every of type bytes: {FORM}", every=b"1h"),
    bad(f"Invalid jitter '-5s': {FORM}", every="1h", jitter="-5s"),
    bad("jitter must be between 0 and 1 h, not 2 h.", every="1h", jitter="2h"),
    bad("jitter must be between 0 and 1 d, not 1 d 1 h.", cron="0 9 * * *", jitter="25h"),
    bad(f"Invalid every True: {FORM}", every=True),
    bad(f"Invalid jitter True: {FORM}", every="1h", jitter=True),
    bad(f"Invalid every 0 s: {NO_INTERVAL}", every=0),
    bad(f"Invalid every 0 s: {NO_INTERVAL}", every="0s"),
    bad(f"Invalid every 0.001 s: {NO_INTERVAL}", every="1ms"),
    bad(f"Invalid every datetime.timedelta(days=-1): {FORM}", every=timedelta(days=-1)),
    bad("Invalid every '36525d': ", every="36525d"),  # a century
]
CRONS = [
    bad(f"Invalid cron '': it has 0 fields; {FIELDS}", cron=""),
    bad(f"Invalid cron '* * * *': it has 4 fields; {FIELDS}", cron="* * * *"),
    bad(f"it has 6 fields; {FIELDS}", cron="0 0 9 * * *"),
    bad(f"it has 7 fields; {FIELDS}", cron="0 0 9 * * * 2026"),
    bad("minute '60' is out of range; accepted are 0 to 59", cron="60 * * * *"),
    bad("hour '24' is out of range; accepted are 0 to 23", cron="* 24 * * *"),
    bad("day of month '0' is out of range; accepted are 1 to 31", cron="* * 0 * *"),
    bad("day of month '32' is out of range", cron="* * 32 * *"),
    bad("month '13' is out of range; accepted are 1 to 12 or JAN to DEC", cron="* * * 13 *"),
    bad("day of week '8' is out of range; accepted are 0 to 7 or SUN to SAT", cron="* * * * 8"),
    bad("Invalid cron 7: text was expected", cron=7),
    bad("it never fires: no date has such a day", cron="0 0 30 2 *"),
    bad("it never fires", cron="0 0 31 4,6,9,11 *"),
    bad("minute '*/0' has a step out of range", cron="*/0 * * * *"),
    bad("minute '5-1' goes backwards", cron="5-1 * * * *"),
    bad("minute '' is not understood", cron="1,,2 * * * *"),
    bad("minute '*-5' is not understood", cron="*-5 * * * *"),
    bad("minute 'A' is not understood", cron="a b c d e"),
    bad("month 'JANUARY' is not understood", cron="0 0 1 JANUARY *"),
    bad("no tabs or line breaks", cron="0\t9 * * *"),
    bad("no tabs or line breaks", cron="0 9 * * *\n"),
    bad("only plain letters, digits", cron="0 9 * * *\x00"),
    bad("only plain letters, digits", cron="\x1b[31m0 9 * * *"),
    bad("this macro is not known; accepted are @hourly", cron="@reboot"),
    bad("(18000 characters): it is too long, max 200 characters.", cron="* * * * *" * 2_000),
    bad("it is too long", cron=",".join(["0-59/1"] * 1_000) + " * * * *"),
]
ZONES = [
    *(bad(f"Unknown tz {key!r}: {NO_ZONE}", cron="@daily", tz=key) for key in ("Mars/Phobos", "../../x", "")),
    bad(f"Unknown tz '+02:00': {NO_ZONE}", cron="@daily", tz="+02:00"),
    bad("Did you mean 'Europe/Rome'?", cron="@daily", tz="europe/rome"),
    bad("Did you mean 'Europe/Rome'?", cron="@daily", tz="Rome"),
    bad("(10000 characters)", cron="@daily", tz="x" * 10_000),
    bad("Unknown tz None", cron="@daily", tz=None),
    bad("Unknown tz 'Mars'", every="1h", tz="Mars"),
]
POLICIES = [
    bad("Invalid max_catch_up -1: an integer from 1 to 10,000", every="1h", max_catch_up=-1),
    bad("Invalid max_catch_up 0: an integer from 1 to 10,000", every="1h", max_catch_up=0),
    bad("Invalid max_catch_up 1000000000: an integer", every="1h", catch_up="all", max_catch_up=10**9),
    bad("Invalid max_catch_up True: an integer", every="1h", max_catch_up=True),
    bad("catch_up must be one of 'none', 'latest', 'all', not 'some'.", every="1h", catch_up="some"),
    bad("catch_up must be one of 'none', 'latest', 'all', not None.", every="1h", catch_up=None),
    bad("not 'Skip'. Did you mean 'skip'?", every="1h", overlap="Skip"),
    bad("A schedule takes cron or every, and neither was given: ", tz="Europe/Rome"),
    bad("A schedule takes cron or every, and both were given: ", cron="@daily", every="1d"),
]
NAMES = [
    bad("Invalid schedule name '': it is empty.", every="1h", name=""),
    bad("Invalid schedule name 'a\\nb': allowed characters are", every="1h", name="a\nb"),
    bad("(201 characters): max 200 characters.", every="1h", name="x" * 201),
    bad("Invalid schedule name 7: text was expected.", every="1h", name=7),
]
EVERYTHING = [*DURATIONS, *CRONS, *ZONES, *POLICIES, *NAMES]
IN_PYTHON = [*EVERYTHING, bad("Invalid max_catch_up '5': an integer", every="1h", max_catch_up="5")]


def assert_one_line(text: str, told: str) -> None:
    assert told in text
    assert len(text) < 500
    assert text.isprintable()


@pytest.mark.spec("security:46", "security:47", "security:52", "security:53", "security:54")
@pytest.mark.spec("security:55", "security:58", "security:60", "security:61")
@pytest.mark.parametrize(("options", "told"), IN_PYTHON)
def test_a_declaration_is_refused_where_it_is_written(options: dict[str, Any], told: str) -> None:
    app = App("sqlite:///:memory:")

    async def clean(ctx: Context) -> None: ...

    with pytest.raises(InvalidInput) as refused:
        app.schedule(**options)(clean)

    assert_one_line(str(refused.value), told)
    assert app._registry.schedule_commands(namespace="default", codec=app._codec) == ()


@pytest.mark.spec("security:46", "security:47", "security:52", "security:53", "security:54")
@pytest.mark.spec("security:55", "security:58", "security:60", "security:61")
@pytest.mark.parametrize(("options", "told"), IN_PYTHON)
async def test_one_that_is_made_by_a_program_is_refused_and_nothing_is_written(
    options: dict[str, Any], told: str
) -> None:
    async with Harness(has_worker=False) as harness:
        _, clean = declare(harness)

        with pytest.raises(InvalidInput) as refused:
            await harness.app.schedules.create(clean, **options)

        assert_one_line(str(refused.value), told)
        assert await harness.app.schedules.list() == []


TYPED = [case for case in EVERYTHING if all(isinstance(value, str) for value in case.values[0].values())]
AS_TYPED = {  # the command line has a word of its own about these
    "A schedule takes cron or every, ": "Give --cron ",
    "catch_up must be one of": "'some' is not one of",
    "not 'Skip'.": "'Skip' is not one of",
    "Invalid every": "every",
    "Invalid jitter": "--jitter",
}


@pytest.mark.spec("security:46", "security:47", "security:52", "security:53", "security:54")
@pytest.mark.spec("security:55", "security:58", "security:60", "security:61")
@pytest.mark.parametrize(("options", "told"), TYPED)
def test_one_that_is_typed_is_refused_before_a_database_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = dict(options)
    words = [f"--{key.replace('_', '-')}={value}" for key, value in given.items() if key != "name"]

    refused = Scene("shop.db").refused(
        "schedules", "create", given.get("name", "nightly"), "clean", *words, exit_code=2
    )

    shown = next((typed for begin, typed in AS_TYPED.items() if told.startswith(begin)), told)
    assert_one_line(refused, shown)
    assert list(tmp_path.iterdir()) == []


# Arguments and options


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("abc", "args takes a tuple of arguments, not 'abc': args=('abc',)."),
        (b"abc", "args takes a tuple of arguments, not b'abc'"),
        (7, "args takes a tuple of arguments, not 7: args=(7,)."),
        (None, "args takes a tuple of arguments, not None"),
        ({"region": "eu"}, "args takes a tuple of arguments, not {'region': 'eu'}"),
        ((), "Workflow 'report' needs 'region' (str) and got no arguments"),
        (("eu", "us"), "Workflow 'report' takes 1 argument and got 2"),
        ((7,), "Workflow 'report': Expected str, got int at $.region."),
        ((object(),), "Workflow 'report': $.region is an object."),
    ],
)
def test_arguments_that_the_workflow_does_not_take_are_refused_where_they_are_written(args: Any, told: str) -> None:
    app = App("sqlite:///:memory:")

    async def report(ctx: Context, region: str) -> None: ...

    with pytest.raises(InvalidInput) as refused:
        app.schedule(every="1h", args=args)(report)

    assert_one_line(str(refused.value), told)
    assert app._registry.schedule_commands(namespace="default", codec=app._codec) == ()


async def test_an_option_that_there_is_not_is_refused_with_the_one_that_was_meant() -> None:
    async with Harness(has_worker=False) as harness:
        report, _ = declare(harness)
        create: Any = harness.app.schedules.create

        with pytest.raises(InvalidInput, match=r"schedules.create\(\) has no option 'crom'. Did you mean 'cron'\? Opt"):
            await create(report, "eu", crom="@daily")
        with pytest.raises(InvalidInput, match=r"go by position: app.schedules.create\(report, 'eu'\)"):
            await create(report, region="eu", cron="@daily")
        with pytest.raises(TypeError, match="'crom'"):
            harness.app.schedule(crom="@daily")  # type: ignore[call-arg]

        assert await harness.app.schedules.list() == []


# Names


def test_two_declarations_of_one_name_are_refused_with_both_places() -> None:
    app = App("sqlite:///:memory:")

    @app.schedule(every="1h", name="nightly")
    async def report(ctx: Context) -> None: ...

    with pytest.raises(AlreadyExists) as refused:

        @app.schedule(every="2h", name="nightly")
        async def clean(ctx: Context) -> None: ...

    assert_one_line(str(refused.value), "'nightly' is declared twice: at test_bad_schedules.py:")
    (kept,) = app._registry.schedule_commands(namespace="default", codec=app._codec)
    assert kept.workflow == "report"


def test_two_times_of_one_function_need_names() -> None:
    app = App("sqlite:///:memory:")

    @app.schedule(every="1h")
    async def report(ctx: Context) -> None: ...

    with pytest.raises(AlreadyExists, match="'report' is declared twice"):
        app.schedule(every="2h")(report)


@pytest.mark.parametrize("verb", ["get", "pause", "resume", "trigger", "delete"])
async def test_an_unknown_name_is_refused_with_those_that_look_alike(open_shared: OpenHarness, verb: str) -> None:
    harness = await open_shared(has_worker=False)
    report, _ = declare(harness)
    await harness.app.schedules.create(report, "eu", name="nightly", every="1h")

    with pytest.raises(NotFound) as refused:
        await getattr(harness.app.schedules, verb)("nightyl")

    assert str(refused.value) == "Schedule 'nightyl' does not exist. Did you mean 'nightly'?"


async def test_one_that_is_declared_no_longer_cannot_be_resumed(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    report, _ = declare(harness)
    harness.app.schedule(every="1h", args=("eu",), name="nightly")(report)
    await harness.app._declare(harness.opened)
    gone = Declare(namespace="default", program=harness.app._program, schedules=(), kept={})
    await harness.opened.schedules.declare(gone)
    before = await harness.app.schedules.get("nightly")

    with pytest.raises(WrongState) as refused:
        await harness.app.schedules.resume("nightly")

    assert str(refused.value) == (
        f"Schedule nightly is paused, because it is no longer declared in {harness.app._program}; one that is declared "
        "was expected. Declare it there again, or delete it."
    )
    assert await harness.app.schedules.get("nightly") == before


async def test_one_that_is_declared_in_code_cannot_be_made_by_hand(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    report, _ = declare(harness)
    harness.app.schedule(every="1h", args=("eu",), name="nightly")(report)
    await harness.app._declare(harness.opened)
    before = await harness.app.schedules.get("nightly")

    for may_replace in (False, True):
        with pytest.raises(AlreadyExists, match="Change it there, or use another name"):
            await harness.app.schedules.create(report, "us", name="nightly", every="1h", replace=may_replace)

    assert await harness.app.schedules.get("nightly") == before


# What is accepted, and has its limits


@pytest.mark.spec("security:61")
@pytest.mark.parametrize(("catch_up", "missed"), [("none", 0), ("latest", 0), ("all", 100)])
async def test_ten_years_of_every_second_are_caught_up_with_as_far_as_the_schedule_says(
    caplog: pytest.LogCaptureFixture, catch_up: Any, missed: int
) -> None:
    async with Harness(has_worker=False) as harness:
        table = Timetable(harness)
        _, clean = declare(harness)
        await table.schedules.create(clean, every="1s", catch_up=catch_up, overlap="allow")

        with caplog.at_level(logging.WARNING):
            fired = await table.fire(after="3650d")

        assert fired == max(1, missed)  # the last of all is on time
        assert f": {3650 * 24 * 3600 - fired} times are dropped" in caplog.text
        assert await table.fire() == 0
        assert await table.fire(after="1s") == 1


async def test_one_row_that_cannot_be_read_does_not_hide_the_others(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    table = Timetable(harness)
    report, clean = declare(harness)
    await table.schedules.create(report, "eu", name="nightly", cron="0 9 * * *")
    await table.schedules.create(clean, every="1h")

    async def damage(tx: Tx) -> None:
        was = await tx.schedules.load("default", "nightly")
        assert was is not None
        await tx.schedules.save(replace(was, timing=Timing(cron="0 25 * * *", tz="Mars/Phobos")), was=was)

    await harness.opened.engine.parts.run_tx("damage", damage)

    before = await table.schedules.list()
    await table.fire(after="9h")
    after = await table.schedules.list()

    assert [item.name for item in before] == [item.name for item in after] == ["clean", "nightly"]
    assert [item.times for item in after] == ["every hour", "0 25 * * * (Mars/Phobos)"]
    assert after[0].fired == 1
    assert (after[1].why or "").startswith("put aside, because its times cannot be computed: ")

"""What a worker makes of the input of a run that a signal has started, whatever its code takes by now."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import windlass
from tests.unit.rules.test_firing_inputs import Backwards, row
from windlass.codec import Codec
from windlass.define.workflow import WorkflowDefinition
from windlass.model.commands import ClaimedRun
from windlass.rules.firing_inputs import NO_ARGUMENTS, firing_input
from windlass.settings import Settings
from windlass.worker.arguments import read_arguments

PLAIN, SEALED = Codec(), Codec(hook=Backwards())


def definition_of(function: Any) -> WorkflowDefinition:
    app = windlass.App(":memory:", settings=Settings())
    app.workflow(function)
    return app._registry.find_workflow(function)


def read(function: Any, input: bytes, codec: Codec) -> tuple[Any, ...]:
    return read_arguments(cast("ClaimedRun", SimpleNamespace(input=input)), definition_of(function), codec)


async def typed(ctx: windlass.Context, firing: windlass.Firing) -> None: ...
async def untyped(ctx, firing) -> None: ...  # type: ignore[no-untyped-def]
async def optional(ctx: windlass.Context, firing: windlass.Firing | None = None, count: int = 3) -> None: ...
async def nothing(ctx: windlass.Context) -> None: ...
async def as_dict(ctx: windlass.Context, data: dict[str, Any]) -> None: ...
async def number(ctx: windlass.Context, count: int) -> None: ...


@pytest.mark.parametrize("codec", [PLAIN, SEALED], ids=["plain", "sealed"])
@pytest.mark.parametrize("function", [typed, untyped, optional])
def test_the_firing_arrives_whatever_the_program_seals(function: Any, codec: Codec) -> None:
    (firing,) = read(function, firing_input(row(), codec.encode({"why": 7})), codec)

    assert isinstance(firing, windlass.Firing)
    assert firing.payload == {"why": 7}


@pytest.mark.parametrize("codec", [PLAIN, SEALED], ids=["plain", "sealed"])
def test_who_takes_nothing_is_given_nothing(codec: Codec) -> None:
    assert read(nothing, NO_ARGUMENTS, codec) == ()
    assert read(nothing, codec.encode(()), codec) == ()
    assert read(optional, NO_ARGUMENTS, codec) == ()


def test_code_that_takes_no_firing_any_more_is_told_so() -> None:
    with pytest.raises(windlass.InvalidInput, match="started by a signal, with a firing, and takes none now"):
        read(number, firing_input(row(), None), SEALED)
    with pytest.raises(windlass.InvalidInput):
        read(number, firing_input(row(), None), PLAIN)
    with pytest.raises(windlass.InvalidInput):
        read(nothing, firing_input(row(), None), PLAIN)


def test_an_object_that_only_looks_alike_stays_what_it_is() -> None:
    assert read(as_dict, PLAIN.encode(({"firing_id": "x"},)), PLAIN) == ({"firing_id": "x"},)
    assert read(untyped, PLAIN.encode(({"firing_id": "x"},)), PLAIN) == ({"firing_id": "x"},)
    (given,) = read(as_dict, firing_input(row(), None), PLAIN)
    assert given["to_status"] == "failed"


def test_a_firing_that_somebody_started_it_with_by_hand_is_one() -> None:
    (firing,) = read(typed, firing_input(row(), None), PLAIN)

    assert read(typed, PLAIN.encode((firing,)), PLAIN) == (firing,)
    assert read(typed, SEALED.encode((firing,)), SEALED) == (firing,)

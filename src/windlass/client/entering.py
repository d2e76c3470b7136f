"""Enter what the code of a program declares: its schedules, how long runs are kept, its pipelines and signals."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from windlass.api.service import PipelineControl, Schedules
from windlass.api.signal_service import Signals
from windlass.codec import Codec
from windlass.define.registry import Registry
from windlass.errors import Forbidden
from windlass.model.pipeline import PipelineSpec
from windlass.model.pipeline_commands import DeclarePipelines
from windlass.model.schedule_commands import Declare
from windlass.model.signal import DeclareSignals

HINT = "Use a key with the role operator too (windlass keys create --role worker --role operator)."

log = logging.getLogger("windlass")


async def enter_schedules(
    schedules: Schedules, registry: Registry, *, namespace: str, program: str, codec: Codec
) -> None:
    commands = registry.schedule_commands(namespace=namespace, codec=codec)
    kept = registry.kept()
    try:
        await schedules.declare(Declare(namespace=namespace, program=program, schedules=commands, kept=kept))
    except Forbidden:  # what a key of a worker may not do need not keep it from working
        if commands or any(kept.values()):
            log.warning("This key may not declare schedules: those of this program stay as they are. %s", HINT)


async def enter_pipelines(control: PipelineControl, registry: Registry, *, namespace: str, program: str) -> None:
    for name in registry.handlers.empty:
        log.warning(
            "Pipeline %r has no handlers, so nothing is entered. Declare one: @%s.consumer(orders).", name, name
        )
    specs = registry.handlers.pipeline_commands()
    try:
        await control.declare_pipelines(DeclarePipelines(namespace=namespace, program=program, pipelines=specs))
    except Forbidden:
        if specs:
            log.warning("This key may not declare pipelines: those of this program stay as they are. %s", HINT)


async def enter_signals(signals: Signals, registry: Registry, *, namespace: str, program: str) -> None:
    declared = registry.signals.commands()
    try:
        await signals.declare_signals(DeclareSignals(namespace=namespace, program=program, signals=declared))
    except Forbidden:
        if declared:
            log.warning("This key may not declare signals: those of this program stay as they are. %s", HINT)


async def enter_new_pipelines(
    control: PipelineControl, specs: Sequence[PipelineSpec], *, namespace: str, program: str
) -> None:
    """Those of these that nobody has entered before."""
    command = DeclarePipelines(namespace=namespace, program=program, pipelines=tuple(specs), only_new=True)
    try:
        await control.declare_pipelines(command)
    except Forbidden:  # a key of a client only publishes; whoever executes the pipelines enters them
        log.info("This key may not declare pipelines: those that nobody has entered yet are not there.")

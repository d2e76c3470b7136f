"""Enter what the code of a program says about its pipelines."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.pipeline.desk import SUBJECT, Desk, open_desk
from windlass.engine.pipeline.waking import wake_all
from windlass.model.gate import GateKind
from windlass.model.pipeline import Handler, Pipeline, PipelineSpec, PipelineStatus
from windlass.model.pipeline_commands import DeclarePipelines
from windlass.rules import declared as rules
from windlass.rules.phases import freed
from windlass.store.base import Tx
from windlass.store.queries.gates import NewGate
from windlass.store.queries.log import NewLogEntry

LOGGER = logging.getLogger("windlass.coordinator")

News = tuple[int, str, str]  # a level of the log, the pipeline that it is about, and what is said


async def declare_pipelines(parts: Parts, command: DeclarePipelines) -> None:
    """One transaction: what the program says now, and what it says no more."""
    audit, news = Audit.of_caller("declare_pipelines"), list[News]()

    async def enter_all(tx: Tx) -> set[tuple[str, str]]:
        news.clear()
        known = [] if command.only_new else await tx.pipelines.of_program(command.namespace, command.program)
        said = {spec.name: spec for spec in command.pipelines}
        if command.only_new:
            there, _ = await tx.pipelines.lock(command.namespace, names=said)
            said = {name: spec for name, spec in said.items() if name not in there}
        if not said and not known:
            return set()
        queues = {spec.queue for spec in said.values()}
        gates = [(GateKind.NAMESPACE, command.namespace), *((GateKind.QUEUE, queue) for queue in queues)]
        await tx.gates.enter([NewGate(command.namespace, kind, name) for kind, name in gates])
        await _insert_missing(tx, command, [spec for name, spec in sorted(said.items()) if name not in known], news)
        desk = await open_desk(tx, command.namespace, names=[*said, *known])
        for name in sorted(desk.pipelines):
            if name in said:
                news.extend(await _change(desk, said[name], program=command.program))
            else:
                news.extend(await _take_back(desk, name, program=command.program))
        await desk.save()
        if news:
            changed = ", ".join(sorted({name for _, name, _ in news}))
            await audit.note(tx, command.namespace, subject=command.program, after=f"changed {changed}")
        return desk.woken

    wake_all(parts, await parts.run_tx("declare_pipelines", enter_all))
    for level, name, text in news:
        LOGGER.log(level, text, extra={"namespace": command.namespace, "pipeline": name})


async def _insert_missing(tx: Tx, command: DeclarePipelines, specs: list[PipelineSpec], news: list[News]) -> None:
    now = await tx.now()
    for spec in specs:
        new = rules.new_pipeline(command.namespace, spec, program=command.program, now=now)
        if await tx.pipelines.insert(new):  # else another program has it
            news.append((logging.INFO, spec.name, f"Pipeline {spec.name!r} is new."))
            await tx.log.append(
                [
                    NewLogEntry(
                        namespace=command.namespace,
                        subject_kind=SUBJECT,
                        subject_id=spec.name,
                        from_status=None,
                        to_status=PipelineStatus.IDLE,
                        cause="create",
                    )
                ]
            )


async def _change(desk: Desk, spec: PipelineSpec, *, program: str) -> list[News]:
    was = desk.pipelines[spec.name]
    known = await desk.roster.of(spec.name)
    handlers = rules.declared_handlers(desk.namespace, spec, known, now=desk.now)
    pipeline = rules.redefined(was, spec, program=program)
    before = {handler.name: handler for handler in known}
    if pipeline == was and before == {handler.name: handler for handler in handlers}:
        return []  # a mere restart; by name, since what is gone has the place of another
    await desk.tx.pipelines.redefine(pipeline)
    await desk.tx.handlers.put(handlers)
    await desk.tx.handlers.enter_topics(desk.namespace, pipeline=spec.name, handlers=handlers)
    desk.roster.declare(spec.name, handlers)
    desk.put(await _settled(desk, pipeline, handlers, before=before))
    if desk.pipelines[spec.name].status is not PipelineStatus.RUNNING:
        await desk.release(desk.pipelines[spec.name])
    return _news(was, pipeline, is_new=not known)


async def _settled(desk: Desk, pipeline: Pipeline, handlers: list[Handler], *, before: dict[str, Handler]) -> Pipeline:
    """Code that is new may be what it was waiting for; code that is gone may be what it was waiting with."""
    run = desk.current(pipeline)
    changed = rules.changed_handlers(handlers, before=before)
    gone = frozenset(item.name for item in handlers if not item.is_declared)
    if rules.is_fix(pipeline, run, changed=changed):
        return freed(replace(pipeline, fixes=0), now=desk.now)
    return rules.without_lost(pipeline, run, gone=gone, now=desk.now)


def _news(was: Pipeline, now: Pipeline, *, is_new: bool) -> list[News]:
    if is_new:
        return []  # said already
    if was.is_declared and was.declared_in != now.declared_in:
        told = f"Pipeline {now.name!r} was declared in {was.declared_in}, and is now in {now.declared_in}."
        return [(logging.WARNING, now.name, f"{told} If both are in use, rename one of them.")]
    what = "has changed" if was.is_declared else "is declared again"
    return [(logging.INFO, now.name, f"Pipeline {now.name!r} {what}.")]


async def _take_back(desk: Desk, name: str, *, program: str) -> list[News]:
    was = desk.pipelines[name]
    if was.declared_in != program or not was.is_declared:
        return []
    gone = replace(was, is_declared=False)
    await desk.tx.pipelines.redefine(gone)
    desk.put(gone, cause="undeclared")
    if gone.status is not PipelineStatus.RUNNING:
        await desk.release(gone)
    told = f"Pipeline {name!r} is no longer declared in {program}, and begins nothing. Declare it again to go on."
    return [(logging.WARNING, name, told)]

"""How rows about pipelines, events and effects become values, and values rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import asdict

from windlass.errors import StoreRefused
from windlass.model.effect import Effect, EffectStatus, Resolution, SubjectKind
from windlass.model.pipeline import (
    EffectOutcome,
    EventRow,
    EventStatus,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerSpec,
    HandlerStatus,
    InputId,
    InputRow,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
    Reservation,
)
from windlass.model.retry import RetryPolicy
from windlass.store.rows import Known, Row, failure_from_bytes, failure_to_bytes

PIPELINE_STATUS, ISSUE, PHASE, STATUS = Known(PipelineStatus), Known(Issue), Known(Phase), Known(HandlerStatus)
KIND, OUTCOME, EVENT_STATUS = Known(HandlerKind), Known(EffectOutcome), Known(EventStatus)
EFFECT_STATUS, SUBJECT_KIND, RESOLUTION = Known(EffectStatus), Known(SubjectKind), Known(Resolution)

_encode, _decode = msgspec.json.encode, msgspec.json.decode


@lru_cache(maxsize=4_096)
def _policy(data: bytes) -> RetryPolicy:
    policy: RetryPolicy = _read(data, RetryPolicy)
    return policy


@lru_cache(maxsize=16_384)
def _spec(data: bytes) -> HandlerSpec:
    spec: HandlerSpec = _read(data, HandlerSpec)
    return spec


def _read(data: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreRefused(f"The database holds a value that cannot be read ({error}). See: windlass doctor") from None


@lru_cache(maxsize=4_096)
def policy_to_bytes(policy: RetryPolicy) -> bytes:
    return _encode(policy)


def spec_to_bytes(spec: HandlerSpec) -> bytes:
    return _encode(spec)


def pipeline_from_row(row: Row) -> Pipeline:
    return Pipeline(
        namespace=row[0],
        name=row[1],
        queue=row[2],
        revision=row[3],
        status=PIPELINE_STATUS[row[4]],
        issue=None if row[5] is None else ISSUE[row[5]],
        run_id=row[6],
        available_at=row[7],
        token=row[8],
        worker=row[9],
        poll=row[10],
        recoveries=row[11],
        seq=row[12],
        failures=row[13],
        fixes=row[14],
        streak=row[15],
        retry=_policy(bytes(row[16])),
        visibility_for=row[17],
        has_fixer=bool(row[18]),
        is_paused=bool(row[19]),
        paused_by=row[20],
        note=row[21],
        paused_at=row[22],
        declared_in=row[23],
        is_declared=bool(row[24]),
        created_at=row[25],
        changed_at=row[26],
    )


def handler_from_row(row: Row) -> Handler:
    return Handler(
        namespace=row[0],
        pipeline=row[1],
        name=row[2],
        position=row[3],
        spec=_spec(bytes(row[4])),
        next_at=row[5],
        is_queued=bool(row[6]),
        wake_at=row[7],
        news=row[8],
        seen=row[9],
        is_declared=bool(row[10]),
        has_state=bool(row[11]),
    )


def handler_run_from_row(row: Row) -> HandlerRun:
    return HandlerRun(
        namespace=row[0],
        id=row[1],
        pipeline=row[2],
        handler=row[3],
        kind=KIND[row[4]],
        retry_of=row[5],
        attempt=row[6],
        phase=PHASE[row[7]],
        status=STATUS[row[8]],
        outcome=None if row[9] is None else OUTCOME[row[9]],
        token=row[10],
        worker=row[11],
        news=row[12],
        reserved=_reserved(row[13]),
        title=row[14],
        warning=row[15],
        failure=failure_from_bytes(row[16]),
        decided_by=row[17],
        note=row[18],
        created_at=row[19],
        updated_at=row[20],
        ended_at=row[21],
        effect=row[22],
    )


def _reserved(text: str | None) -> tuple[Reservation, ...]:
    if text is None:
        return ()
    return tuple(Reservation(topic=topic, id=id, version=version) for topic, id, version in _decode(text))


def _reserved_to_text(reserved: Sequence[Reservation]) -> str | None:
    return _encode([(item.topic, item.id, item.version) for item in reserved]).decode() if reserved else None


def event_from_row(row: Row) -> EventRow:
    return EventRow(
        topic=row[0],
        id=row[1],
        seq=row[2],
        version=row[3],
        payload=row[4],
        status=EVENT_STATUS[row[5]],
        attempt=row[6],
        reserved_by=row[7],
        created_by=row[8],
        causes=causes_from_text(row[9]),
        created_at=row[10],
        updated_at=row[11],
    )


def causes_from_text(text: str | None) -> tuple[InputId, ...]:
    return () if text is None else tuple(_decode(text))


def causes_to_text(causes: Sequence[InputId]) -> str | None:
    return _encode(list(causes)).decode() if causes else None


def effect_from_row(row: Row) -> Effect:
    return Effect(
        namespace=row[0],
        subject_kind=SUBJECT_KIND[row[1]],
        subject=row[2],
        owner=row[3],
        step_key=row[4],
        attempt=row[5],
        name=row[6],
        params=row[7],
        idempotency_key=row[8],
        status=EFFECT_STATUS[row[9]],
        result=row[10],
        failure=failure_from_bytes(row[11]),
        token=row[12],
        asked=row[13],
        has_reconcile=bool(row[14]),
        reconcile_after=row[15],
        next_at=row[16],
        title=row[17],
        resolved_by=row[18],
        resolution=None if row[19] is None else RESOLUTION[row[19]],
        note=row[20],
        created_at=row[21],
        updated_at=row[22],
    )


def input_from_row(row: Row) -> InputRow:
    return InputRow(
        namespace=row[0],
        pipeline=row[1],
        id=row[2],
        source=row[3],
        type=row[4],
        external_id=row[5],
        title=row[6],
        created_at=row[7],
        skipped_by=row[8],
        skipped_at=row[9],
        pending=row[10],
        events=row[11],
    )


class PipelineValues:
    """A pipeline as its columns, read one by one."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.__dict__ = asdict(pipeline)
        self.retry = policy_to_bytes(pipeline.retry)
        self.has_fixer, self.is_paused = int(pipeline.has_fixer), int(pipeline.is_paused)
        self.is_declared = int(pipeline.is_declared)


class HandlerValues:
    def __init__(self, handler: Handler) -> None:
        self.__dict__ = asdict(handler)
        self.spec = spec_to_bytes(handler.spec)
        self.is_queued, self.is_declared = int(handler.is_queued), int(handler.is_declared)


class HandlerRunValues:
    def __init__(self, run: HandlerRun, data: bytes | None, result: bytes | None) -> None:
        self.__dict__ = asdict(run)
        self.data, self.result = data, result
        self.reserved, self.failure = _reserved_to_text(run.reserved), failure_to_bytes(run.failure)


class EffectValues:
    def __init__(self, effect: Effect, *, was_owner: str) -> None:
        self.__dict__ = asdict(effect)
        self.failure, self.has_reconcile = failure_to_bytes(effect.failure), int(effect.has_reconcile)
        self.was_owner = was_owner

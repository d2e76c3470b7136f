"""Pipelines that stand in every way, and the statements that spoil them: one for each rule."""

from __future__ import annotations

from msgspec import Struct

import windlass

PAYMENTS = "name = 'payments'"  # nobody knows whether its effect happened
LATER = "name = 'later'"  # tried again after a while
SETTLED = "name = 'settled'"  # everything is done
GATED = "name = 'gated'"  # waits for a person


def run_of(pipeline: str) -> str:
    return f"(select run_id from pipelines where {pipeline})"


def committed() -> str:
    return "(select min(id) from handler_runs where pipeline = 'settled' and handler = 'Charge')"


# rule: statements that break it
BROKEN: dict[str, str] = {
    "a pipeline goes by an attempt that does not exist": f"update pipelines set run_id = 'hrn_unknown' where {LATER}",
    "a pipeline goes by an attempt that is committed": f"update pipelines set run_id = {committed()} where {SETTLED}",
    "a pipeline is at work or waits, and has no attempt": f"update pipelines set run_id = null where {LATER}",
    "a pipeline waits for something else than its attempt": f"update pipelines set status = 'fixing' where {LATER}",
    "a running pipeline has no holder": f"update pipelines set status = 'running' where {LATER}",
    "a pipeline that nobody executes has a holder": f"update pipelines set worker = 'wrk_1' where {LATER}",
    "a pipeline has an issue and needs nobody, or the other way round": (
        f"update pipelines set issue = 'logic' where {LATER}"
    ),
    "a pipeline that begins nothing is due": f"update pipelines set is_paused = 1 where {LATER}",
    "two attempts of a pipeline are active": (
        "update handler_runs set status = 'active', ended_at = null where pipeline = 'later'"
    ),
    "an active attempt is not the one its pipeline goes by": (
        f"update handler_runs set status = 'active', ended_at = null where id = {run_of(LATER)}"
    ),
    "phase and status of an attempt disagree": (f"update handler_runs set status = 'crashed' where id = {committed()}"),
    "phase and outcome of an attempt disagree": f"update handler_runs set outcome = null where id = {committed()}",
    "an attempt was written under a token nobody had": f"update handler_runs set token = 99 where id = {run_of(LATER)}",
    "an attempt was followed twice": (
        f"drop index handler_runs_retry; update handler_runs set retry_of = {committed()}"
    ),
    "an attempt does not follow the one it names": (
        f"update handler_runs set attempt = attempt + 1 where id = {run_of(LATER)}"
    ),
    "an event is reserved by nobody who goes on with it": "update pipelines set run_id = null where name = 'payments'",
    "an attempt is committed and its events are still reserved": (
        "update events set status = 'reserved' where status = 'consumed'"
    ),
    "an attempt that begins anew has kept its events": (
        f"update events set status = 'reserved', reserved_by = {run_of(LATER)} where pipeline = 'later'"
    ),
    "an event is over without a committed attempt": (
        "update events set status = 'consumed' where status = 'reserved' and pipeline = 'payments'"
    ),
    "a pending event belongs to an attempt": (
        "update events set status = 'pending' where status = 'reserved' and pipeline = 'payments'"
    ),
    "an event was published by an attempt that is not committed": (
        f"update events set created_by = {run_of(LATER)} where pipeline = 'later'"
    ),
    "an event is numbered beyond its pipeline": "update pipelines set seq = 0",
    "a handler has heard of events that do not exist": "update handlers set news = 99",
    "a row belongs to no pipeline": f"delete from pipelines where {SETTLED}",
    "nobody goes on with an effect that may have happened": (
        f"update pipelines set run_id = {committed()} where {PAYMENTS}"
    ),
    "the ledger and an attempt disagree": (
        "update effects set status = 'in_flight', result = null, resolved_by = null where status = 'applied'"
    ),
    "an attempt is at an effect that the ledger does not know": "delete from effects",
    "the ledger of an effect contradicts itself": "update effects set resolved_by = null where status = 'applied'",
    "the log ends elsewhere than the pipeline": f"update pipelines set status = 'idle', issue = null where {GATED}",
}


class Order(Struct, frozen=True):
    id: str


def declare_pipelines(app: windlass.App) -> windlass.Topic[Order]:
    """One that is done with everything, one that waits, one in doubt, and one whose effect has to be approved."""
    orders, receipts = app.topic("order.paid", Order), app.topic("receipt", str)

    @app.effect
    async def charge(order: Order) -> str:
        return f"receipt of {order.id}"

    @app.effect
    async def vanish(order: Order) -> str:
        raise ConnectionError("reset")

    @app.pipeline("settled").consumer(orders, publishes=[receipts])
    class Charge(windlass.Consumer[Order, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> windlass.Effect[str]:
            return windlass.Effect(charge, prepared.data)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: str | None) -> None:
            ctx.publish(receipts, result or "", id=prepared.data.id)

    @app.pipeline("audit").consumer(receipts)
    async def read(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None: ...

    @app.pipeline("payments").consumer(orders)
    class Pay(windlass.Consumer[Order, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> windlass.Effect[str]:
            return windlass.Effect(vanish, prepared.data)

    @app.pipeline("gated").consumer(orders, approval=True)
    class Ask(windlass.Consumer[Order, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> windlass.Effect[str]:
            return windlass.Effect(charge, prepared.data)

    @app.pipeline("later").consumer(orders)
    class Later(windlass.Consumer[Order, str]):
        async def prepare(self, ctx: windlass.PrepareContext, state: object) -> windlass.Reserve:
            raise windlass.StepError("not now", kind="transient")

    return orders

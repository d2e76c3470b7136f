"""A web app that asks a person before it refunds: run it with `uvicorn web_fastapi:web`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import windlass

app = windlass.App()


class Refund(BaseModel):
    order: str
    cents: int


def pay_back(refund: Refund) -> str:
    return f"{refund.cents} cents paid back for order {refund.order}"


@app.workflow
async def refund(ctx: windlass.Context, wanted: Refund) -> str:
    if wanted.cents > 1_000:
        decision = await ctx.approval(f"Refund {wanted.cents} cents?", timeout="2d")
        if decision.outcome != "approved":
            return f"refund for order {wanted.order} {decision.outcome}"
    return await ctx.step(pay_back, wanted)


@asynccontextmanager
async def lifespan(web: FastAPI) -> AsyncIterator[None]:
    async with app.lifespan(web):  # beside whatever else the web app opens and closes
        yield


web = FastAPI(lifespan=lifespan)


@web.post("/refunds", status_code=202)
async def ask(wanted: Refund) -> dict[str, str]:
    handle = await app.start(refund, wanted, key=f"refund-{wanted.order}")
    return {"run": handle.id}


@web.post("/refunds/{order}/approve")
async def approve(order: str, by: str) -> dict[str, str]:
    handle = app.handle(refund, key=f"refund-{order}")
    try:
        decision = await handle.approve(by=by)
    except windlass.NotFound as error:
        raise HTTPException(404, "no such refund") from error
    except windlass.WrongState as error:
        raise HTTPException(409, str(error)) from error
    return {"outcome": decision.outcome}


@web.get("/refunds/{order}/result")
async def result(order: str) -> dict[str, str]:
    return {"result": await app.handle(refund, key=f"refund-{order}").result(timeout="20s")}

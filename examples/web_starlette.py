"""A web app that takes orders and executes them itself: run it with `uvicorn web_starlette:web`."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import windlass

app = windlass.App()


def pack(id: str) -> str:
    return f"order {id} packed"


@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    packed = await ctx.step(pack, id)
    await ctx.sleep("1s")
    return f"{packed} and shipped"


async def accept(request: Request) -> JSONResponse:
    id = request.path_params["id"]
    handle = await app.start(order, id, key=f"order-{id}")  # asked twice, it is the same run
    return JSONResponse({"run": handle.id}, status_code=202)


async def look(request: Request) -> JSONResponse:
    handle = app.handle(order, key=f"order-{request.path_params['id']}")
    try:
        return JSONResponse({"status": await handle.status()})
    except windlass.NotFound:
        return JSONResponse({"detail": "no such order"}, status_code=404)


async def wait(request: Request) -> JSONResponse:
    handle = app.handle(order, key=f"order-{request.path_params['id']}")
    try:
        return JSONResponse({"result": await handle.result(timeout="20s")})
    except windlass.ResultTimeout:
        return JSONResponse({"detail": "not yet"}, status_code=504)


web = Starlette(
    lifespan=app.lifespan,  # opens the database and runs a worker for as long as the web app lives
    routes=[
        Route("/orders/{id}", accept, methods=["POST"]),
        Route("/orders/{id}", look),
        Route("/orders/{id}/result", wait),
    ],
)

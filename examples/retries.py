"""How a step fails: tried again, failed for good, or raised as itself.

| what the step raises            | what happens                                                            |
|---------------------------------|-------------------------------------------------------------------------|
| ConnectionError, most others    | transient: tried again by its `Retry`                                   |
| StepError(kind=…, retry_after=) | the kind decides whether it is tried again, `retry_after` says when     |
| TypeError, AssertionError, …    | a mistake in the code: never tried again, StepFailed at once            |
| what is listed in `raises=`     | an answer, not an accident: never tried again, raised as itself         |
"""

from __future__ import annotations

import windlass

app = windlass.App()
attempts = {"fetch": 0, "upload": 0, "charge": 0, "parse": 0}


class CardDeclined(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def fetch(order: str) -> str:
    attempts["fetch"] += 1
    if attempts["fetch"] < 3:
        raise ConnectionError("the shop does not answer")
    return f"order {order}"


def upload(document: str) -> str:
    attempts["upload"] += 1
    if attempts["upload"] == 1:
        raise windlass.StepError("too many requests", kind="transient", retry_after="50ms")
    return f"{document} uploaded"


@app.step(raises=(CardDeclined,))
def charge(amount: int) -> str:
    attempts["charge"] += 1
    raise CardDeclined("no funds")


def parse(text: str) -> int:
    attempts["parse"] += 1
    raise windlass.StepError("not a number", kind="logic", data={"text": text})


@app.workflow(retry=windlass.Retry(3, initial="20ms"))  # the default of its steps
async def order(ctx: windlass.Context, id: str) -> list[str]:
    lines = [await ctx.step(fetch, id)]
    lines.append(await ctx.step(upload, lines[0], retry=windlass.Retry(5, initial="1h", max_delay="2h")))
    try:
        await ctx.step(charge, 42)
    except CardDeclined as declined:
        lines.append(f"declined: {declined.reason}")
    try:
        await ctx.step(parse, "seven")
    except windlass.StepFailed as failed:
        lines.append(f"{failed.kind} {failed.type}: {failed.message} {failed.data}")
    return lines


if __name__ == "__main__":
    for line in app.run(order, "7"):
        print(line)
    print("attempts:", attempts)

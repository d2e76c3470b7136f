"""From a mailbox to a spreadsheet, and a digest at nine every morning. Kill this program, and run it again.

A producer polls the mailbox, a consumer appends a row for every message, and another one sends a digest of the rows
once a day. Each row takes a second, so there is time for kill -9 in the worst moment: the row is written, and nobody
has noted that. The next run looks into the spreadsheet, finds the row, and goes on behind it: no row is there twice.

It ends when all rows are there. `windlass worker inbox:app` goes on, and sends the digest at nine.
"""

from __future__ import annotations

import asyncio
import csv
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import windlass


@dataclass
class Message:
    number: int
    sender: str
    subject: str


@dataclass
class Row:
    line: int
    subject: str


MAILBOX = [  # on the other side of the network, in earnest
    Message(1, "ann@example.org", "Invoice 7"),
    Message(2, "bob@example.org", "Invoice 8"),
    Message(3, "ann@example.org", "Reminder"),
]
SHEET = Path("sheet.csv")

app = windlass.App("inbox.db")
received, added = app.topic("email.received", Message), app.topic("row.added", Row)
inbox = app.pipeline("inbox")


# What it returns is its next state: stored together with what it published, or not at all.
@inbox.producer(every="5m", publishes=[received])
async def poll(ctx: windlass.ProducerContext, cursor: int | None) -> int:
    for message in MAILBOX[cursor or 0 :]:
        id = str(message.number)
        ctx.publish(received, message, id=id, input=ctx.input("imap", "message", id, title=message.subject))
    return len(MAILBOX)


def read_lines() -> list[list[str]]:
    return list(csv.reader(SHEET.read_text().splitlines())) if SHEET.exists() else []


def find_row(message: Message) -> windlass.Happened[Row] | windlass.DidNotHappen:
    """Asked when nobody knows whether the row was written."""
    for line, cells in enumerate(read_lines(), start=1):
        if cells[0] == str(message.number):
            print(f"row {line} is there already: {message.subject}")
            return windlass.Happened(Row(line, message.subject))
    return windlass.DidNotHappen()


@app.effect(reconcile=find_row)
def append_row(message: Message) -> Row:
    with SHEET.open("a", newline="") as sheet:
        csv.writer(sheet).writerow([message.number, message.sender, message.subject])
    line = len(read_lines())
    print(f"row {line} is written: {message.subject}", flush=True)
    time.sleep(1)  # kill -9 here: the row is there, and nobody has noted it
    return Row(line, message.subject)


@inbox.consumer(received, publishes=[added])
class AddRow(windlass.Consumer[Message, Row]):
    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Message]) -> windlass.Effect[Row]:
        return windlass.Effect(append_row, prepared.data, title=f"Add {prepared.data.subject!r}")

    async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[Message], row: Row | None) -> None:
        if row is not None:
            ctx.publish(added, row, id=str(row.line))


@app.effect
def send_digest(subjects: list[str]) -> None:
    print(f"digest: {', '.join(subjects)}")


@inbox.consumer(added)
class Digest(windlass.Consumer[list[str], None]):
    async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
        last_nine = (ctx.now() - timedelta(hours=9)).replace(hour=9, minute=0, second=0, microsecond=0)
        next_nine = last_nine + timedelta(days=1)
        rows = [event for event in await ctx.peek(added, limit=1000) if event.created_at < last_nine]
        if not rows:
            return windlass.Idle(wake_at=next_nine)
        return windlass.Reserve(rows, data=[event.payload.subject for event in rows], wake_at=next_nine)

    async def mutate(
        self, ctx: windlass.MutateContext, prepared: windlass.Prepared[list[str]]
    ) -> windlass.Effect[None]:
        return windlass.Effect(send_digest, prepared.data, title=f"Send a digest of {len(prepared.data)}")


async def main() -> None:
    async with app, app.worker():
        while True:
            runs = await app.pipelines.runs(inbox, handler="AddRow")
            is_idle = (await app.pipelines.get(inbox)).status == "Idle"
            if is_idle and sum(run.status == "committed" for run in runs) == len(MAILBOX):
                break
            await asyncio.sleep(0.1)
        print(f"{len(read_lines())} rows for {len(MAILBOX)} messages")
        print(await app.pipelines.explain(inbox))


if __name__ == "__main__":
    asyncio.run(main())

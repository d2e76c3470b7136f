"""Every command there is, with something to type behind its name: what only reads, and what changes something."""

from __future__ import annotations

from collections.abc import Iterator

import click

RUN, ITEM, SIGNAL, WORKER = f"run_{0:026}", f"itm_{0:026}", f"sig_{0:026}", f"wrk_{0:026}"
KEY, TASK = f"key_{0:026}", f"tsk_{0:026}"
# Every command stands in one of these, with what is typed behind its name.
READING = {
    "runs": [],
    "show": [RUN],
    "explain": [RUN],
    "graphs": [],
    "pipelines": [],
    "topics": [],
    "inputs": ["mail"],
    "schedules": [],
    "schedules show": ["daily"],
    "items": [],
    "items show": [ITEM],
    "signals": [],
    "signals show": [SIGNAL],
    "firings": [],
    "queues": [],
    "workers": [],
    "namespaces": [],
    "namespaces list": [],
    "keys": [],
    "keys list": [],
    "audit": [],
}
LOOKING = {"doctor": [], "migrate": ["--check"]}  # which have a word of their own for what is behind
CHANGING = {
    "start": ["shop:app", "order", "7"],
    "publish": ["orders", '"7"', "--id", "1"],
    "run-now": ["mail"],
    "schedules create": ["daily", "order", "--every", "1h"],
    "schedules pause": ["daily"],
    "schedules resume": ["daily"],
    "schedules trigger": ["daily"],
    "schedules delete": ["daily", "--yes"],
    "items create": ["Move the server"],
    "items move": [ITEM, "ready"],
    "items task": [ITEM, "Call Ann"],
    "items end-task": [TASK, "completed"],
    "items delete": [ITEM, "--yes"],
    "signals create": ["--every", "1h", "--start", "order"],
    "signals update": [SIGNAL, "--repeat"],
    "signals pause": [SIGNAL],
    "signals resume": [SIGNAL],
    "signals cancel": [SIGNAL],
    "signals delete": [SIGNAL, "--yes"],
    "workers drain": [WORKER],
    "send": [RUN, "paid", "7"],
    "approve": [RUN],
    "reject": [RUN],
    "resolve": [RUN, "--happened"],
    "skip": ["mail", "--input", "in-1"],
    "cancel": [RUN],
    "retry": [RUN],
    "pause": [RUN],
    "resume": [RUN],
    "namespaces create": ["shop"],
    "namespaces delete": ["shop", "--yes"],
    "namespaces disable": ["shop"],
    "namespaces enable": ["shop"],
    "keys create": ["--role", "viewer"],
    "keys revoke": [KEY],
    "migrate": [],
}
SERVING = {"worker": ["shop:app"], "server": [], "dev": ["shop:app"]}
ELSEWHERE = {"bench", "demo", "schedules preview"}  # which touch no database of the user


def every_command(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    for name in command.commands:
        yield from every_command(command.commands[name], (*path, name))
    if command.invoke_without_command:
        yield " ".join(path)

"""Who asks from inside a workflow would ask again at every replay: it is refused, with what to write instead."""

from __future__ import annotations

from windlass.define.current import RUN
from windlass.errors import NotAllowed

IN_A_STEP = "or do it in a step."
OF_A_CHILD = f"of a child that ctx.start() gave, {IN_A_STEP}"
INSTEAD = {
    "start": f"Use ctx.start(child, …) or ctx.run(child, …), {IN_A_STEP}",
    "start_many": f"Use ctx.map(child, …), {IN_A_STEP}",
    "result": f"Use ctx.run(child, …), or child.result() {OF_A_CHILD}",
    "send": f"Use child.send() {OF_A_CHILD}",
    "cancel": f"Use child.cancel() {OF_A_CHILD}",
}


def refuse_inside_a_workflow(name: str, *, verb: str) -> None:
    """Raise NotAllowed where the code of a workflow runs. `name` is what is asked, `verb` how it was called."""
    if RUN.get(None) is not None:
        instead = INSTEAD.get(name, "Do it in a step.")
        raise NotAllowed(f"{verb} inside a workflow would do this again at every replay. {instead}")

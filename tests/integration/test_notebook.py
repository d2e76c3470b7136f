"""Is an App at home in a notebook: cells that run again, a loop that is already there?"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import AsyncIterator
from textwrap import dedent
from typing import Any

import pytest

from windlass import AlreadyExists, App, InvalidInput, NotAllowed
from windlass.settings import Settings

ORDER = """
    @app.workflow
    async def order(ctx: windlass.Context, id: str) -> str:
        return await ctx.step(pack, id)
"""
PACK = """
    @app.step
    def pack(id: str) -> str:
        return f"{id} in a WRAPPING"
"""


class Notebook:
    """Executes cells as IPython does: in one namespace called __main__, on a loop that runs, `await` allowed on top."""

    def __init__(self, app: App) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "app": app}
        self._numbers = itertools.count(1)

    async def run(self, cell: str) -> None:
        name = f"<ipython-input-{next(self._numbers)}>"
        code = compile(dedent(cell), name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        waiting = eval(code, self.names)
        if inspect.isawaitable(waiting):
            await waiting

    async def message_of(self, cell: str) -> str:
        with pytest.raises((AlreadyExists, InvalidInput, NotAllowed)) as refused:
            await self.run(cell)
        return str(refused.value)


@pytest.fixture
async def notebook(url: str, give_up: None) -> AsyncIterator[Notebook]:
    app = App(url, settings=Settings())
    notebook = Notebook(app)
    await notebook.run("import dataclasses, windlass")
    yield notebook
    await app.aclose()


async def test_a_cell_that_runs_again_replaces_workflow_and_step(notebook: Notebook) -> None:
    await notebook.run(PACK.replace("WRAPPING", "box"))
    await notebook.run(ORDER)
    await notebook.run(
        """
        worker = app.worker()
        await worker.__aenter__()
        first = await (await app.start(order, "7")).result()
        """
    )

    await notebook.run(PACK.replace("WRAPPING", "bag"))
    await notebook.run(ORDER.replace("await ctx", "'again ' + await ctx"))
    await notebook.run(
        """
        second = await (await app.start(order, "7")).result()
        await worker.__aexit__(None, None, None)
        """
    )

    assert (notebook.names["first"], notebook.names["second"]) == ("7 in a box", "again 7 in a bag")


async def test_a_class_that_is_made_anew_is_the_type_of_the_event_again(notebook: Notebook) -> None:
    cell = """
        @dataclasses.dataclass
        class Reply:
            text: str

        replied = app.event("replied", Reply)
        all_replied = app.event("all_replied", list[Reply])

        @app.workflow
        async def ask(ctx: windlass.Context) -> str:
            replies = await ctx.receive(all_replied)
            assert isinstance(replies[0], Reply)
            return (await ctx.receive(replied)).text + replies[0].text
    """
    for _ in range(2):
        await notebook.run(cell)
        await notebook.run(
            """
            async with app.worker():
                handle = await app.start(ask)
                await handle.send(replied, Reply("yes"))
                await handle.send("all_replied", [Reply("!")])
                answer = await handle.result()
            """
        )
        assert notebook.names.pop("answer") == "yes!"


@pytest.mark.parametrize(
    ("first", "second"), [("str", "int"), ("list[str]", "list[int]"), ("str", "str | None"), ("list[str]", "str")]
)
async def test_another_type_under_the_name_of_an_event_is_refused(notebook: Notebook, first: str, second: str) -> None:
    await notebook.run(f"app.event('replied', {first})")
    await notebook.run(f"app.event('replied', {first})")

    text = await notebook.message_of(f"app.event('replied', {second})")

    assert text.startswith("Event 'replied' is declared twice: as Event('replied', ")
    assert text.endswith("Rename one.")


async def test_another_function_under_the_name_is_refused_with_both_cells(notebook: Notebook) -> None:
    await notebook.run(PACK)
    await notebook.run(ORDER)

    text = await notebook.message_of(
        ORDER.replace("@app.workflow", "@app.workflow(name='order')").replace(" order(", " other(")
    )

    assert text == (
        "Workflow 'order' is declared twice: at <ipython-input-3>:2 and, as another function, at <ipython-input-4>:2. "
        "Rename one, or give it name=."
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            "app.run(order, '7', key='order-7')",
            "app.run() starts an event loop and one is already running (Jupyter, FastAPI?). "
            "Use: handle = await app.start(order, '7', key='order-7').",
        ),
        (
            "app.serve()",
            "app.serve() starts an event loop and one is already running (Jupyter, FastAPI?). "
            'Use: "async with app.worker():".',
        ),
        (
            "app.sync.start(order, '7')",
            "app.sync.start() blocks, and an event loop runs here (Jupyter, FastAPI?). Use: await app.start(…).",
        ),
    ],
)
async def test_what_would_need_a_loop_of_its_own_names_the_way(notebook: Notebook, call: str, text: str) -> None:
    await notebook.run(PACK)
    await notebook.run(ORDER)

    assert await notebook.message_of(call) == text
    await notebook.run("handle = await app.start(order, '7')")


async def test_a_lambda_in_a_cell_says_which_one(notebook: Notebook) -> None:
    assert await notebook.message_of("app.workflow(lambda ctx: None)") == (
        'A workflow is a function written with "async def", and this is a lambda (<ipython-input-2>:1).'
    )

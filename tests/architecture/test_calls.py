"""Does time, chance and waiting come from the adapters only?"""

from __future__ import annotations

import pytest

from tests.architecture.calls import forbidden_calls
from tests.architecture.source import PACKAGE, File, python_files


def test_nothing_reaches_around_the_adapters() -> None:
    assert [complaint for file in python_files(PACKAGE) for complaint in forbidden_calls(file)] == []


def sample(text: str, *, path: str = "src/windlass/engine/sample.py") -> list[str]:
    return forbidden_calls(File(path, text))


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.time()",
        "import time as t\nt.monotonic()",
        "from time import time as seconds\nseconds()",
        "from time import monotonic_ns\nfield(default_factory=monotonic_ns)",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.utcnow()",
        "from datetime import datetime as moment, UTC\nmoment.now(UTC)",
        "from datetime import date\ndate.today()",
        "import random\nrandom.random()",
        "from random import choice\nchoice([1])",
        "import random\nrandom.Random()",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid1\nuuid1()",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)",
        "from asyncio import sleep\nasync def f(n):\n    await sleep(n)",
        "import threading\nthreading.Timer(1, print)",
        "import asyncio\nasyncio.get_running_loop().call_later(1, print)",
        "def f(self):\n    self._loop.call_at(1, print)",
        "def f():\n    import time\n    return time.time()",
    ],
)
def test_each_way_around_is_found(text: str) -> None:
    assert len(sample(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(self):\n    self._clock.call_later(1, print)",
        "def f(clock):\n    clock.call_later(1, print)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)",
        "from datetime import datetime, UTC\ndatetime.fromtimestamp(0, UTC)",
        "import random\ndef f(rng: random.Random): ...",
        "import random\nrandom.Random('run_1')",
        "def f(self):\n    return self.time.time()",
        "def time(): ...\ntime()",
        "import asyncio\nasyncio.tasks.sleep.__code__",
    ],
)
def test_what_looks_alike_is_allowed(text: str) -> None:
    assert sample(text) == []


def test_adapters_may() -> None:
    text = "import time\ntime.time()"

    assert sample(text, path="src/windlass/runtime.py") == []
    assert sample(text, path="src/windlass/testing/clock.py") == []
    assert sample(text, path="src/windlass/testing_tools.py") != []

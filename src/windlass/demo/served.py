"""What the workers of the demo are started with: `windlass worker windlass.demo.served:app`, in the demo's folder.

A worker ends with the demo, also if the demo itself is killed: its input is a pipe whose other end dies with it.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from windlass.app import App
from windlass.demo.journal import FILE, Journal
from windlass.demo.shop import Bodies, open_shop
from windlass.demo.workers import PACE
from windlass.runtime import SystemClock


def _end_with_the_demo() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


_clock, _pace = SystemClock(), float(os.environ.get(PACE, "1"))
_journal = Journal(Path(FILE), clock=_clock)
app = App()
open_shop(app, bodies=Bodies(Path(), journal=_journal, clock=_clock, pace=_pace), pace=_pace)
threading.Thread(target=_end_with_the_demo, daemon=True).start()

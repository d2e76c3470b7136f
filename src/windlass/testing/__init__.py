"""Test workflows: a harness with a clock that the test moves, fakes for steps, and crashes wherever they may happen.

With pytest, take the fixture `windlass_harness`. Databases for tests are in `windlass.testing.postgres`.
"""

from windlass.testing.clock import FakeClock
from windlass.testing.crash_everywhere import CrashReport, NotCrashSafe
from windlass.testing.errors import CrashNeverCame, Stuck
from windlass.testing.harness import Harness
from windlass.testing.mortal import CrashPoint

__all__ = ["Harness", "FakeClock", "CrashReport", "CrashPoint", "NotCrashSafe", "CrashNeverCame", "Stuck"]

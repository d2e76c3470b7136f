"""What a test is told by its harness when it waits in vain."""

from __future__ import annotations

from windlass.errors import WindlassError

PATIENCE = 20.0  # real seconds before a test that makes no progress is called stuck
LOOK_EVERY = 0.001


class Stuck(WindlassError):
    """The test waited for something that did not come; the message says what was still going on."""

    code = "stuck"


class CrashNeverCame(AssertionError):
    """A crash was asked for, and the run never came to that place."""

"""Tests often run as root, who is refused by no mode of a file; a program that is begun like this is."""

from __future__ import annotations

import ctypes

DROP_FROM_BOUNDING_SET, IGNORE_MODES = 24, 1  # of <sys/prctl.h> and <linux/capability.h>


def obeys_modes() -> None:
    """The next program of this process begins without that privilege. Hand it over as `preexec_fn`."""
    ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, IGNORE_MODES, 0, 0, 0)

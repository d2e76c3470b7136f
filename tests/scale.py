"""How much the tests that prove by numbers try: 1 for `make test`, 10 for `make torture`."""

from __future__ import annotations

import os

SCALE = int(os.environ.get("WINDLASS_TEST_SCALE", "1"))

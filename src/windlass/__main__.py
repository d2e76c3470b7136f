"""What `python -m windlass` does: the same as the command `windlass`."""

from __future__ import annotations

from windlass.cli.main import main

main()

"""What the worker process serves that is watched while it idles: `windlass worker bench.served:app --url URL`."""

from __future__ import annotations

from bench.load import nothing
from windlass.app import App

app = App()
app.workflow(nothing)

"""Where a case is measured: one database, opened as any program opens it, and asked whether its commits are durable."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from windlass.app import App
from windlass.bench import durable
from windlass.bench.raw import Bare, PostgresBare, SqliteBare
from windlass.settings import Settings, parse_url


class Site:
    def __init__(self, url: str) -> None:
        self.url, self.location = url, parse_url(url)
        self.durability: dict[str, str] = {}

    def app(self) -> App:
        """With the defaults, whatever this machine or folder has set: figures are there to be compared."""
        return App(self.url, settings=Settings())

    @asynccontextmanager
    async def opened(self, app: App) -> AsyncIterator[None]:
        """Keep the app open for the block. Raises BenchFailed if its commits are not durable."""
        async with app:
            self.durability = await durable.read_back(app)
            durable.demand(self.durability)
            yield

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[Bare]:
        """The same database without Windlass. Raises BenchFailed if its commits are not durable."""
        target = self.location.target
        bare: Bare = SqliteBare(target) if self.location.kind == "sqlite" else PostgresBare(target)
        try:
            settings = await bare.open()
            durable.demand(settings)
            self.durability = self.durability or settings
            yield bare
        finally:
            await bare.close()

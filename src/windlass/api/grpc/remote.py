"""A server as clients, workers and the command line see it: the same doors as a database of one's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import grpc

from windlass.api.grpc.channel import Channel, Target
from windlass.api.grpc.remote_graphs import RemoteGraphs
from windlass.api.grpc.remote_others import (
    RemoteAccess,
    RemoteAdmin,
    RemoteFeed,
    RemoteNamespaces,
    RemoteSchedules,
)
from windlass.api.grpc.remote_pipelines import RemotePipelineControl, RemotePipelines
from windlass.api.grpc.remote_runs import RemoteControl, RemoteRuns
from windlass.api.grpc.remote_signals import RemoteItems, RemoteSignals
from windlass.api.grpc.remote_work import RemoteWork
from windlass.api.service import (
    Access,
    Admin,
    Control,
    Feed,
    Graphs,
    Items,
    Namespaces,
    PipelineControl,
    Pipelines,
    Runs,
    Schedules,
    Signals,
    Work,
)
from windlass.errors import InvalidInput
from windlass.runtime import Clock, Ids


class Remote:
    """All doors of a server. `coordinated` does nothing here: servers look after their database themselves."""

    def __init__(self, targets: Sequence[Target], *, token: str | None, clock: Clock, ids: Ids) -> None:
        self._channel = Channel(targets, token=token, clock=clock)
        self._runs = RemoteRuns(self._channel, clock=clock, ids=ids)
        self._work = RemoteWork(self._channel, clock=clock)
        self._pipelines = RemotePipelines(self._channel)
        self.runs: Runs = self._runs
        self.control: Control = RemoteControl(self._channel)
        self.schedules: Schedules = RemoteSchedules(self._channel, ids=ids)
        self.graphs: Graphs = RemoteGraphs(self._channel)
        self.pipelines: Pipelines = self._pipelines
        self.pipeline_control: PipelineControl = RemotePipelineControl(self._channel)
        self.items: Items = RemoteItems(self._channel, ids=ids)
        self.signals: Signals = RemoteSignals(self._channel, ids=ids)
        self.work: Work = self._work
        self.feed: Feed = RemoteFeed(self._channel, clock=clock)
        self.namespaces: Namespaces = RemoteNamespaces(self._channel)
        self.access: Access = RemoteAccess(self._channel)
        self.admin: Admin = RemoteAdmin(self._channel)
        self.ids = ids

    @contextlib.asynccontextmanager
    async def coordinated(self) -> AsyncIterator[None]:
        yield

    async def close(self) -> None:
        await self._work.close()
        await self._runs.starts.close()
        await self._pipelines.published.close()
        await self._channel.close()


def make_target(host: str, port: int, *, is_tls: bool, authority: Path | None) -> Target:
    """Raises InvalidInput if the certificate of the authority cannot be read."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not is_tls:
        return Target(address, None)
    return Target(address, grpc.ssl_channel_credentials(_certificate(authority)))


def _certificate(path: Path | None) -> bytes | None:
    if path is None:
        return None  # those that the system trusts
    try:
        return path.read_bytes()
    except OSError as error:
        text = f"The certificate of the authority (tls_ca) cannot be read: {path}: {error.strerror}."
        raise InvalidInput(text, reason="invalid_config", path="tls_ca") from None

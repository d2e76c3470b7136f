"""Which signal is meant; and is it one?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from windlass.api.signal_service import Signals
from windlass.cli.ids import IdKind
from windlass.cli.session import Text
from windlass.model.signal import ListSignals, SignalId, SignalView

Command = TypeVar("Command", bound=Callable[..., Any])

SIGNAL = IdKind(prefix="sig_", noun="signal")


def signal_argument(command: Command) -> Command:
    return click.argument("signal", metavar="SIGNAL", type=Text(SIGNAL.check))(command)


def is_signal(text: str | None) -> bool:
    """May a command that takes other things too be about a signal?"""
    return text is not None and SIGNAL.is_meant(text)


async def find_signal_id(signals: Signals, text: str, *, namespace: str) -> SignalId:
    async def list_before(id: str | None, limit: int) -> Sequence[str]:
        page = await signals.list_signals(ListSignals(namespace=namespace, before=id, limit=limit))
        return [signal.id for signal in page.signals]

    return SignalId(await SIGNAL.find(text, list_before=list_before))


async def find_signal(signals: Signals, text: str, *, namespace: str) -> SignalView:
    """Raises NotFound."""
    return await signals.get_signal(namespace, await find_signal_id(signals, text, namespace=namespace))

"""Signals: what they watch, what they do then, and what has come of it. Work items stand beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from windlass.api.checks import check
from windlass.dashboard import first
from windlass.dashboard.asking import Ask, Page, Redirect, View, chosen, queried
from windlass.dashboard.payloads import payload
from windlass.model.item import ListItems
from windlass.model.signal import (
    ListFirings,
    ListSignals,
    Signal,
    SignalId,
    SignalStatus,
    SignalVerb,
    SteerSignal,
)
from windlass.rules.explain.words import capital
from windlass.rules.signal_words import in_words

KINDS = {name: name for name in ("run", "workflow", "pipeline", "item", "time")}
MOST_ITEMS = 20


async def show_all(ask: Ask) -> Page:
    filters = {name: ask.query.get(name, "") for name in ("status", "kind")}
    before = ask.query.get("before")
    found = await ask.service.signals.list_signals(
        check(
            ListSignals(
                namespace=ask.namespace,
                status=chosen(filters, "status", {status.value: status for status in SignalStatus}, what="status"),
                subject_kind=chosen(filters, "kind", KINDS, what="kind"),
                before=before or None,
            )
        )
    )
    items = await ask.service.items.list_items(ListItems(namespace=ask.namespace, limit=MOST_ITEMS))
    values = {
        "title": "Signals",
        "place": "signals",
        "signals": [{"signal": signal, "text": _text(signal)} for signal in found.signals],
        "items": items.items,
        "filters": filters,
        "is_filtered": any(filters.values()) or bool(before),
        "statuses": [status.value for status in SignalStatus],
        "kinds": list(KINDS),
        "first_signal": first.SIGNAL,
        "next": None if found.next is None else ask.to("signals") + queried({**filters, "before": found.next}),
    }
    return Page("signals.html", values)


def _text(signal: Signal) -> str:
    return capital(in_words(signal))


async def show(ask: Ask) -> Page:
    view = await ask.service.signals.get_signal(ask.namespace, _id(ask))
    signal = view.signal
    firings = await ask.service.signals.list_firings(ListFirings(namespace=ask.namespace, signal_id=signal.id))
    values = {
        "title": "Signal",
        "place": "signals",
        "view": view,
        "signal": signal,
        "text": _text(signal),
        "explanation": await ask.service.signals.explain_signal(ask.namespace, signal.id),
        "payload": payload(signal.payload),
        "subject": _subject(ask, signal),
        "firings": firings.firings,
    }
    return Page("signal.html", values)


def _subject(ask: Ask, signal: Signal) -> str:
    """Where to look at what it watches."""
    trigger = signal.trigger
    match trigger.kind.subject_kind:
        case "run":
            return ask.to("runs", trigger.subject)
        case "pipeline":
            return ask.to("pipelines", trigger.subject)
        case "workflow":
            return ask.to("runs", workflow=trigger.subject)
        case _:
            return ""


def _id(ask: Ask) -> SignalId:
    return SignalId(ask.path["signal_id"])


def _steering(verb: SignalVerb, done: str) -> Callable[[Ask], Awaitable[Redirect]]:
    async def steer(ask: Ask) -> Redirect:
        command = SteerSignal(
            namespace=ask.namespace, signal_id=_id(ask), verb=verb, by=ask.caller.key, note=ask.typed("note")
        )
        await ask.service.signals.steer_signal(check(command))
        return Redirect(ask.to("signals", _id(ask)), done)

    return steer


SIGNAL = "/signals/{signal_id}"
VIEWS = (
    View(path="/signals", operation="list_signals", handler=show_all),
    View(path=SIGNAL, operation="get_signal", handler=show),
    *(
        View(path=f"{SIGNAL}/{verb.value}", operation="steer_signal", handler=_steering(verb, done), method="POST")
        for verb, done in (
            (SignalVerb.PAUSE, "signal-paused"),
            (SignalVerb.RESUME, "resumed"),
            (SignalVerb.CANCEL, "signal-cancelled"),
        )
    ),
)

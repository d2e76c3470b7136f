"""How times, counts and states are written on pages: filters of the templates."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from windlass.model.duration import between, describe, from_instant
from windlass.model.time import DAY, Duration, Instant

# What an action did, as the page after it says. Only these can be shown: the name stands in the address.
DONE = {
    "cancelled": "Cancelled. What was running is told to stop.",
    "was-over": "Nothing was cancelled: it was over already.",
    "retried": "Tried again as this new run. Steps that were completed are kept.",
    "paused": "Paused. It goes on when somebody resumes it.",
    "pausing": "It will pause as soon as what it is doing now has ended.",
    "resumed": "Resumed.",
    "approved": "Approved. It goes on.",
    "rejected": "Rejected. It is told of that.",
    "resolved": "Noted. It goes on from there.",
    "triggered": "Started now. This is its run.",
    "due-now": "It is due now, and begins as soon as a worker is free.",
    "draining": "Asked to leave. It takes nothing new, and goes once what it holds is done.",
    "skipped": "Skipped. The rest of it will not be done.",
    "deleted": "Deleted.",
    "signal-paused": "Paused. What it fires is kept until it is resumed.",
    "signal-cancelled": "Called off. It will not fire.",
    "queue-paused": "The queue is paused: nothing in it is claimed until it is resumed.",
    "queue-resumed": "The queue is open again.",
}

SIGNS = {
    "completed": "✓", "done": "✓", "committed": "✓", "consumed": "✓", "applied": "✓", "fired": "✓",
    "failed": "✕", "running": "▶", "Running": "▶", "reserved": "▶", "pending": "…", "queued": "…",
    "waiting": "◔", "sleeping": "☾", "paused": "‖", "cancelled": "⊘", "skipped": "↷", "superseded": "↷",
    "Needs attention": "!", "silent": "!", "lost": "!", "late": "!", "blocked": "!", "broken": "!", "undeclared": "!",
    "indeterminate": "?", "retry": "↻", "interrupted": "!",
}  # fmt: skip
LOUD = frozenset({"Needs attention", "silent", "lost", "late", "blocked", "broken", "undeclared", "indeterminate"})

# A command up to a comma, or the id of a run.
MENTIONED = re.compile(r"\bwindlass(?: (?!or |and )[^\s,]*[^\s,.:;])+|(?P<run>\brun_[0-9A-Z]{26}\b)")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
LINK, CODE = Markup('<a href="{1}">{0}</a>'), Markup("<code>{0}</code>")


def exact(instant: Instant) -> str:
    return from_instant(instant).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def ago(instant: Instant | None, now: Instant) -> Markup:
    """A time as one reads it, with the exact one behind it."""
    if instant is None:
        return Markup("–")
    text = f"{between(instant, now)} ago" if instant <= now else f"in {between(now, instant)}"
    if instant <= now and now - instant < 1_000_000:
        text = "just now"
    if abs(now - instant) > 30 * DAY:
        text = from_instant(instant).strftime("%Y-%m-%d")
    written = from_instant(instant).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(written, exact(instant), text)


def last_name(type: str) -> str:
    """Of an exception: what people call it."""
    return type.rpartition(".")[2]


def plain(value: object) -> object:
    """Text as it is read: what would turn it round, move the cursor or hide is written out."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value) if type(value) is str else value


def said(text: str, link: Callable[[str], str]) -> Markup:
    """Sentences about something: runs in them are links, and what can be typed looks like it."""
    text, parts, end = str(plain(text)), [], 0
    for found in MENTIONED.finditer(text):
        shown = LINK.format(found[0], link(found[0])) if found["run"] else CODE.format(found[0])
        parts += [escape(text[end : found.start()]), shown]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def span(duration: int | None) -> str:
    return "–" if duration is None else describe(Duration(duration))


def status(value: object) -> Markup:
    """A state as a pill: its sign, its word, and a colour that says no more than these."""
    word = str(plain(getattr(value, "value", value)))
    style = "loud" if word in LOUD else word.lower().replace(" ", "-").replace(":", "-")
    return Markup('<span class="pill is-{}"><i aria-hidden="true">{}</i>{}</span>').format(
        style, SIGNS.get(word, "•"), word.replace("_", " ")
    )


def short(text: object, length: int = 160) -> str:
    """One line of it."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024 or unit == "MiB":
            return f"{count:,} bytes" if unit == "bytes" else f"{count:,.1f} {unit}"
        count = count / 1024  # type: ignore[assignment]
    raise AssertionError(unit)

"""From a template to bytes. Everything is escaped; nothing runs that is not a file of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from msgspec import Struct

from windlass.dashboard import words
from windlass.dashboard.asking import LOGIN, LOGOUT, OUTSIDE, ROOT, Ask, Page
from windlass.dashboard.session import form_token

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
REFERRING, NOT_REFERRING = (b"referrer-policy", b"same-origin"), (b"referrer-policy", b"no-referrer")
KINDS = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
TITLES = {
    400: "That cannot be read",
    401: "Sign in",
    403: "Not allowed",
    404: "Not found",
    409: "That is not possible now",
    429: "Too much at once",
    503: "Not available just now",
}
NAVIGATION = (
    ("overview", "Overview", ()),
    ("runs", "Runs", ("runs",)),
    ("graphs", "Graphs", ("graphs",)),
    ("pipelines", "Pipelines", ("pipelines",)),
    ("signals", "Signals", ("signals",)),
    ("schedules", "Schedules", ("schedules",)),
    ("workers", "Workers", ("workers",)),
    ("queues", "Queues", ("queues",)),
)


class Static(Struct, frozen=True):
    content: bytes
    kind: str


@cache
def static(name: str) -> Static | None:
    if name not in KINDS:
        return None
    return Static(files("windlass.dashboard").joinpath("static", name).read_bytes(), KINDS[name])


@cache
def static_url(name: str) -> str:
    """It changes with what the file says, so a browser may keep it."""
    found = static(name)
    assert found is not None
    return f"{OUTSIDE}/static/{name}?v={sha256(found.content).hexdigest()[:12]}"


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("windlass.dashboard"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=words.plain,
    )
    made.filters.update(span=words.span, status=words.status, short=words.short, size=words.size, exact=words.exact)
    made.filters.update(last_name=words.last_name)
    return made


async def render(page: Page, ask: Ask | None) -> bytes:
    """In a thread: while a large page is laid out, whoever else shares this process goes on."""
    template, values = _templates().get_template(page.template), {**_shared(ask), **page.values}
    return (await asyncio.to_thread(template.render, values)).encode(errors="backslashreplace")


def _shared(ask: Ask | None) -> Mapping[str, Any]:
    common = {"root": ROOT, "login": LOGIN, "logout": LOGOUT, "static": static_url}
    if ask is None:
        return {**common, "ask": None, "done": "", "place": ""}
    return {
        **common,
        "ask": ask,
        "now": ask.now,
        "to": ask.to,
        "may": ask.may,
        "csrf": form_token(ask.token),
        "said": lambda text: words.said(text, lambda id: ask.to("runs", id)),
        "ago": lambda instant: words.ago(instant, ask.now),
        "done": words.DONE.get(ask.query.get("done", ""), ""),
        "navigation": [(place, label, ask.to(*parts)) for place, label, parts in NAVIGATION],
        "place": "",
        "every": 15_000,
    }


def not_found() -> dict[str, str]:
    text = "There is no page under this address. It may have been mistyped, or what it showed was removed."
    return {"title": TITLES[404], "text": text, "back": ROOT}

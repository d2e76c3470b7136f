"""Does twice the text take more than two and a half times the work, in anything that reads what a client stores?"""

from __future__ import annotations

import ast
import importlib
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property.regex_steps import MOST_STEPS, Matcher, TooManySteps, literals
from tests.property.work import work_of
from windlass import logs
from windlass.cli import payloads as cli_payloads
from windlass.cli import records, terminal
from windlass.cli.session import Session
from windlass.cli.values import Json, Value
from windlass.codec import Codec, safe_text
from windlass.dashboard import payloads as pages
from windlass.dashboard import words
from windlass.dashboard.answer import inside
from windlass.model.duration import to_duration
from windlass.model.failure import Failure, FailureKind
from windlass.rules import api_keys, cron, feed, firing_inputs, graphs, layout, limits, long_steps, matrix
from windlass.server.http import guard, plain, telling
from windlass.worker import failures

SOURCE = Path(pages.__file__).parents[1]
MOST = 2.5
LEAST_WORK = 300.0  # below it a few lines more or less decide
# Their own SQL, a test, a demonstration, what a person sets: nothing that a client stores.
NOT_READING = ("store", "testing", "demo", "bench", "v1", "settings_values.py", "settings_url.py")
# What reads a text from end to end has one of these in it.
READERS = frozenset(
    {"sub", "finditer", "findall", "splitlines", "isprintable", "loads", "normalize", "translate", "traverse"}
)
SEARCHED = re.compile(r"\b(\w+)\.(?:search|sub|finditer|findall|split|subn)\(")
# Words that mean something to one of the functions, and what makes searches begin again.
PIECES = (
    '"', "\\", '\\"', "{", "[", "]", "}", ",", ":", '"a":', "://", "://a:", "@", "&", "?", "password", "&password",
    "wl_", "\x1b[31m", "\u202e", "\u0301", "\u0323", "\u0301\u0323", "世", " ", "\n", "\t", "\0", ".", "..", "#1", "*/",
    "1", "1h", "windlass ", "windlass --a '", " - at `", '{"$set":[', '{"$int":"', "[[", "a", "A", "%", "%41", "'",
    "run_",
)  # fmt: skip
_codec = Codec()


def _listed(text: str) -> bytes:
    """As an item of a JSON list, which it may break out of."""
    return f'["x","{text}"]'.encode(errors="replace")


def _quoted(text: str) -> bytes:
    return _codec.encode([text.replace("\0", "")] * 3)


def _record(name: str, text: str) -> logging.LogRecord:
    error = ValueError(text)
    return logging.LogRecord(name, logging.INFO, "", 1, text, (), (ValueError, error, None))


def _failure(text: str) -> Failure:
    return Failure(kind=FailureKind.LOGIC, type="E", message=text, traceback=text)


def _typed(text: str) -> Value | None:
    try:
        return Json().convert(text, None, None)
    except click.BadParameter:
        return None


SCANS: dict[str, Callable[[str], Any]] = {
    "codec.decode": lambda text: _codec.decode(_listed(text)),
    "codec.decode: its own": lambda text: _codec.decode(_quoted(text)),
    "codec.decode: typed": lambda text: _codec.decode(_quoted(text), list[str]),
    "codec.encode": lambda text: _codec.encode({text: [text, (text,)]}),
    "codec.check_arguments": lambda text: _codec.check_arguments(
        ({text: {text}},), (dict[str, set[str]],), ("a",), what=""
    ),
    "codec.safe_text": safe_text,
    "dashboard.payloads: whole": lambda text: pages.payload(_quoted(text[: pages.LONGEST // 20])),  # else it is cut
    "dashboard.payloads: cut": lambda text: pages.payload(_listed(text), size=10**6),
    "dashboard.payloads: names": pages.is_secret,
    "dashboard.words: plain": words.plain,
    "dashboard.words: said": lambda text: words.said(text, lambda id: id),
    "dashboard.words: short": words.short,
    "dashboard.answer": lambda text: inside("/ui/" + text),
    "logs: plain": lambda text: logs.PlainFormatter().format(_record("shop", text)),
    "logs: json": lambda text: logs.JsonFormatter().format(_record("shop", text)),
    "logs: ours": lambda text: logs.PlainFormatter().format(_record("windlass.worker", text)),
    "logs: asyncio": lambda text: logs.PlainFormatter().format(_record("asyncio", "result=" + text)),
    "cli.terminal: cut": lambda text: terminal.cut(text, 80),
    "cli.terminal: wrapped": lambda text: terminal.wrapped(text, width=80),
    "cli.terminal: escape": terminal.escape,
    "cli.session: advise": lambda text: Session().advise(text),
    "cli.payloads: lines": lambda text: cli_payloads.lines(_quoted(text), width=80),
    "cli.payloads: all lines": lambda text: cli_payloads.lines(_quoted(text), width=80, is_full=True),
    "cli.payloads: call": lambda text: cli_payloads.call(text, _codec.encode((text.replace("\0", ""),)), width=80),
    "cli.payloads: traceback": lambda text: cli_payloads.traceback(_failure(text)),
    "cli.records: payload": lambda text: records.payload(_listed(text)),
    "cli.values: json": lambda text: _typed(text.replace("\0", "")),
    "worker.failures: traceback": lambda text: failures.traceback_text(ValueError(text)),
    "server.http.plain: body": lambda text: plain.read_json(_listed(text)),
    "server.http.plain: refusal": plain._refused,
    "server.http.plain: query": lambda text: plain.read_query(text.encode(errors="replace"), None),
    "server.http.telling": lambda text: telling.payload(_listed(text)),
    "server.http.guard": lambda text: guard.check_target(b"/" + text.encode(errors="replace"), b""),
    "rules.limits: name": lambda text: limits.check_name(text),
    "rules.limits: key": lambda text: limits.check_key(text),
    "rules.limits: note": lambda text: limits.check_note(text, longest=10**6),
    "rules.cron": cron.check_cron,
    "rules.graphs: label": lambda text: graphs.check_job_name(f"a[{text}]"),
    "rules.matrix": lambda text: matrix._check_value(text, "a"),
    "rules.layout": lambda text: layout._by_name(text),
    "rules.long_steps": long_steps.first_key,
    "rules.feed: cursor": lambda text: feed.read_cursor("f1." + text, namespace="default"),
    "rules.firing_inputs": lambda text: firing_inputs.payload_hash(_listed(text)),
    "rules.api_keys": api_keys.harmless,
    "model.duration": to_duration,
}
# Modules with a reader in them that no text of a client comes to.
OTHERS = {
    "cli/signals/listing.py": "ids inside of the sentences of rules/signal_words.py",
    "cli/stage.py": "frames of a demonstration, which this program draws",
    "cli/verdict.py": "what the judge of the demonstration says",
    "define/signature.py": "annotations in a program",
    "rules/checkup.py": "the version that a database says it has",
    "rules/slots.py": "cron expressions in words, at most 200 characters long",
    "codec_types.py": "annotations in a program",
    "rules/pretty.py": "behind cli.payloads and dashboard.payloads",
}


def sources() -> dict[str, str]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.split("/")[0] not in NOT_READING:
            found[name] = path.read_text(encoding="utf-8")
    return found


SOURCES = sources()


def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Every expression a module holds, and whether it looks for its text anywhere in another, not only at one place."""
    searched = {name for text in SOURCES.values() for name in SEARCHED.findall(text)}
    found: dict[str, tuple[re.Pattern[Any], bool]] = {}
    for name, text in SOURCES.items():
        if ".compile" in text:
            module = importlib.import_module("windlass." + name.removesuffix(".py").replace("/", "."))
            for key, value in vars(module).items():
                if isinstance(value, re.Pattern) and module.__name__.endswith(name[:-3].replace("/", ".")):
                    found[f"{name}: {key}"] = value, key in searched
    return found


PATTERNS = patterns()


def steps(pattern: re.Pattern[Any], text: str, *, is_searched: bool) -> int:
    matcher = Matcher(pattern)
    with suppress(TooManySteps):
        if is_searched:
            matcher.search_all(text)
        else:
            matcher.match_whole(text)
    return matcher.steps


def worst_ratio(pattern: re.Pattern[Any], *, is_searched: bool) -> tuple[float, str]:
    """Of all texts that repeat one or two of the pieces an expression is made of."""
    own = literals(pattern)
    pieces = list(dict.fromkeys([*(piece for piece in own if len(piece) > 1), *own, " ", "0", "\n"]))[:10]
    pumps = [*pieces, *(one + other for one in pieces for other in pieces if one != other)]
    worst = 0.0, ""
    for pump in pumps:
        for begin in ("", pieces[0], *own[:1]):
            once, twice = (steps(pattern, begin + pump * count + "!", is_searched=is_searched) for count in (24, 48))
            ratio = inf if twice > MOST_STEPS else twice / max(once, LEAST_WORK)
            worst = max(worst, (ratio, f"{begin!r} + {pump!r} × n"))
    return worst


@pytest.mark.parametrize("name", PATTERNS)
def test_a_regular_expression_reads_a_text_once(name: str) -> None:
    pattern, is_searched = PATTERNS[name]

    ratio, text = worst_ratio(pattern, is_searched=is_searched)

    assert ratio <= MOST, f"{name} takes {ratio:.1f} times the steps for twice the text: {text}"


@pytest.mark.parametrize(
    "pattern",
    [
        r'"((?:[^"\\]|\\.)++)"\s*:',  # of the masking that froze a server
        r"([?&][a-z_]*password[a-z_]*=)[^\s&]*",
        r"(?:[\w<>]+\.)+(?=\w)",
        r"a*ab",
        r"(a|aa)+$",
    ],
)
def test_an_expression_that_reads_it_many_times_is_found(pattern: str) -> None:
    ratio, _ = worst_ratio(re.compile(pattern), is_searched=True)

    assert ratio > MOST


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(PATTERNS)), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_steps_are_those_of_the_expression_itself(name: str, text: str) -> None:
    pattern = PATTERNS[name][0]
    own = re.compile(
        pattern.pattern.decode() if isinstance(pattern.pattern, bytes) else pattern.pattern, pattern.flags & ~re.UNICODE
    )

    found = Matcher(own).match_all(text)

    matches = [found.span() for found in own.finditer(text)]
    assert [span for span in found if span[0] != span[1]] == [span for span in matches if span[0] != span[1]]


@pytest.mark.parametrize("name", SCANS)
@settings(deadline=None, max_examples=15)
@given(
    st.sampled_from(["", *PIECES]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join),
    st.sampled_from(["", *PIECES]),
)
@example("", '\\"', "")
@example("&", "password", "")
@example("a", "\u0301\u0323", "")
@example("", "[", "")
def test_twice_the_text_is_at_most_two_and_a_half_times_the_work(name: str, begin: str, pump: str, end: str) -> None:
    scan = SCANS[name]
    work_of(lambda: scan(begin + pump + end))  # what is done once, for all calls

    once, twice = (work_of(lambda count=count: scan(begin + pump * count + end)) for count in (600, 1_200))  # type: ignore[misc]

    assert twice <= MOST * max(once, LEAST_WORK), f"{once:,.0f} and then {twice:,.0f}"


def test_work_that_grows_with_the_square_is_found() -> None:
    def scan(text: str) -> int:
        return sum(text.find("z", at) for at in range(len(text)))

    once, twice = (work_of(lambda count=count: scan("a" * count)) for count in (1_000, 2_000))  # type: ignore[misc]

    assert twice > MOST * once


def test_every_module_that_reads_texts_is_asked() -> None:
    reading = {
        name
        for name, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        if (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in READERS
    }
    asked = {scan.partition(":")[0].partition(".decode")[0].replace(".", "/") for scan in SCANS}

    def is_asked(name: str) -> bool:
        module = name.removesuffix(".py")
        return any(module in (scan, scan.rpartition("/")[0]) for scan in asked)

    assert {name for name in reading if not is_asked(name)} == OTHERS.keys()

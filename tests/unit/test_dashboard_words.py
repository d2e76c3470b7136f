"""Is what pages say plain text with its links, are their pictures true, and is a secret known by its name?"""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup

from windlass.codec import Codec
from windlass.dashboard import chart, graph_picture, payloads, words
from windlass.model.graph import Edge, JobState, JobView
from windlass.model.overview import Minute
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Instant

RUN = "run_" + "0" * 25 + "A"
NOW = Instant(1_767_225_600_000_000 + 30 * SECOND)  # 2026-01-01T00:00:30Z


def link(id: str) -> str:
    return f"/to/{id}"


# Sentences


def test_a_run_in_a_sentence_is_a_link() -> None:
    assert words.said(f"It waits for {RUN}.", link) == f'It waits for <a href="/to/{RUN}">{RUN}</a>.'


@pytest.mark.parametrize("text", [f"x{RUN}", f"{RUN}0", RUN.lower(), RUN[:-1], "run_"])
def test_what_only_looks_like_a_run_is_none(text: str) -> None:
    assert words.said(text, link) == text


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Start one: windlass worker MODULE:APP", "windlass worker MODULE:APP"),
        ("Type windlass dev app:app, then wait.", "windlass dev app:app"),
        ("See: windlass explain payments.", "windlass explain payments"),
        ("windlass resume a or windlass cancel a", "windlass resume a"),
        ("windlass pause a and windlass resume a", "windlass resume a"),
    ],
)
def test_what_can_be_typed_looks_like_it(text: str, command: str) -> None:
    assert f"<code>{command}</code>" in words.said(text, link)


def test_a_command_about_a_run_stays_one_piece() -> None:
    assert words.said(f"windlass resume {RUN}", link) == f"<code>windlass resume {RUN}</code>"


@pytest.mark.spec("security:S-21")
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "windlass <img src=x> <b>",
        f'<a href="{RUN}">{RUN}</a>',
        "windlass resume {0} {1.__class__}",
        "%s %(x)s {} {0.__class__}",
    ],
)
def test_nothing_in_a_sentence_is_markup(text: str) -> None:
    found = words.said(text, link)

    kept = found.replace("<code>", "").replace("</code>", "").replace(f'<a href="/to/{RUN}">', "").replace("</a>", "")
    assert isinstance(found, Markup)
    assert "<" not in kept
    assert Markup(kept).unescape() == text


def test_an_address_is_escaped_in_its_link() -> None:
    assert 'href="/&#34;&gt;"' in words.said(RUN, lambda id: '/">')


# Text


@pytest.mark.spec("security:S-21")
@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("nul\x00", "nul\\u0000"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\ufeffzero\u200bwidth", "\\ufeffzero\\u200bwidth"),
        ("\x85\u2028", "\\u0085\\u2028"),
        ("line\nand\ttab", "line\nand\ttab"),
        ("Ärger 東京 🙂", "Ärger 東京 🙂"),
    ],
)
def test_what_would_turn_text_round_or_hide_it_is_written_out(text: str, plain: str) -> None:
    assert words.plain(text) == plain
    assert words.said(text, link) == plain


@pytest.mark.parametrize("value", [None, 7, 1.5, ("\x1b",), Markup("<b>\u202e</b>")])
def test_what_is_no_text_is_left_as_it_is(value: object) -> None:
    assert words.plain(value) is value


@pytest.mark.parametrize(
    ("text", "length", "line"),
    [
        ("  two\n lines\t here ", 160, "two lines here"),
        ("x" * 160, 160, "x" * 160),
        ("x" * 161, 160, "x" * 159 + "…"),
        ("", 160, ""),
        (7, 160, "7"),
    ],
)
def test_one_line_of_a_text(text: object, length: int, line: str) -> None:
    assert words.short(text, length) == line


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (0, "just now"),
        (-SECOND + 1, "just now"),
        (-5 * MINUTE, "5 min ago"),
        (-2 * HOUR, "2 h ago"),
        (-40 * DAY, "2025-11-22"),
        (SECOND // 2, "in 500 ms"),
        (10 * SECOND, "in 10 s"),
        (40 * DAY, "2026-02-10"),
    ],
)
def test_a_time_is_said_as_people_say_it_with_the_exact_one_behind(offset: int, text: str) -> None:
    found = words.ago(Instant(NOW + offset), NOW)

    assert found.startswith('<time datetime="20')
    assert ' UTC">' in found
    assert found.endswith(f">{text}</time>")


def test_no_time_is_a_dash() -> None:
    assert words.ago(None, NOW) == "–"


@pytest.mark.parametrize(
    ("status", "pill"),
    [
        ("failed", '<span class="pill is-failed"><i aria-hidden="true">✕</i>failed</span>'),
        ("Needs attention", '<span class="pill is-loud"><i aria-hidden="true">!</i>Needs attention</span>'),
        (RunStatus.SLEEPING, '<span class="pill is-sleeping"><i aria-hidden="true">☾</i>sleeping</span>'),
        ('"><b>', '<span class="pill is-&#34;&gt;&lt;b&gt;"><i aria-hidden="true">•</i>&#34;&gt;&lt;b&gt;</span>'),
    ],
)
def test_a_state_has_a_sign_a_word_and_a_colour(status: object, pill: str) -> None:
    assert words.status(status) == pill


# The last hour


def minute(ago: int, *, ended: int = 1, failed: int = 0, **changes: Any) -> Minute:
    """So many minutes before the one that is not over."""
    values = {"started": ended, "took_sum": ended * SECOND, "took_max": SECOND, **changes}
    return Minute(minute=Instant(NOW // MINUTE * MINUTE - ago * MINUTE), ended=ended, failed=failed, **values)


@pytest.mark.parametrize("minutes", [[], [minute(61)], [minute(0)], [minute(-60)]])
def test_where_nothing_has_ended_in_the_hour_nothing_is_drawn(minutes: list[Minute]) -> None:
    assert chart.ended(minutes, now=NOW)["has_any"] is False
    assert chart.took(minutes, now=NOW)["has_any"] is False


def test_a_bar_is_as_tall_as_what_ended_and_red_above_what_ended_well() -> None:
    found = chart.ended([minute(60, ended=10, failed=4), minute(1, ended=20)], now=NOW)

    first_bar, last_bar = found["bars"]
    assert (first_bar["x"], last_bar["x"]) == (0, 590)
    assert (last_bar["good"], last_bar["bad"]) == (96, 0)
    assert (first_bar["good"], first_bar["bad"]) == (28.8, 19.2)
    assert first_bar["bad_y"] + first_bar["bad"] == pytest.approx(first_bar["good_y"])
    assert first_bar["good_y"] + first_bar["good"] == pytest.approx(100)
    assert first_bar["title"] == "23:00 UTC: 10 ended, 4 of them failed"
    assert found["label"] == "30 ended, 4 of them failed; at most 20 in a minute"


def test_a_minute_that_comes_twice_counts_together() -> None:
    (bar,) = chart.ended([minute(5, ended=1), minute(5, ended=2, failed=1)], now=NOW)["bars"]
    assert "3 ended, 1 of them failed" in bar["title"]


def test_a_minute_in_which_nothing_ended_breaks_the_line() -> None:
    found = chart.took([minute(place) for place in (30, 29, 28, 10, 9)], now=NOW)

    assert [line.count(",") for line in found["means"]] == [5, 4]  # half a minute more at both ends
    assert found["means"] == found["longest"]


def test_a_single_minute_is_a_line_too() -> None:
    (line,) = chart.took([minute(60)], now=NOW)["means"]
    assert line == "0.0,4.0 5.0,4.0 10.0,4.0"


def test_what_ended_without_a_beginning_took_no_time_and_draws_no_line() -> None:
    never = minute(5, ended=7, started=0, took_sum=0, took_max=0)
    assert chart.took([never], now=NOW)["has_any"] is False
    assert chart.ended([never], now=NOW)["has_any"] is True


def test_runs_that_took_no_time_at_all_are_drawn() -> None:
    found = chart.took([minute(5, took_sum=0, took_max=0)], now=NOW)
    assert found["means"] == ["550.0,100.0 555.0,100.0 560.0,100.0"]


def test_the_label_says_the_mean_and_the_longest() -> None:
    minutes = [minute(5, ended=2, took_sum=6 * SECOND, took_max=5 * SECOND), minute(2, took_sum=0, took_max=0)]
    assert chart.took(minutes, now=NOW)["label"] == ("On average 2 s, at most 5 s (dashed: the longest of each minute)")


# Secrets


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize(
    "name",
    [
        "password", "PASSWORD", "dbPassword", "user_password", "passwd", "secret", "clientSecret", "apiKey", "api_key",
        "API-KEY", "APIKey", "api key", "access_token", "refreshToken", "token", "pin_token", "token2", "Authorization",
        "Proxy-Authorization", "Set-Cookie", "credentials", "private_key", "SECRET_KEY", "aws_secret_access_key",
        "bearer", "basic-auth", "passphrase",
    ],
)  # fmt: skip
def test_a_name_that_sounds_like_a_secret_is_one(name: str) -> None:
    assert payloads.is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "total_tokens", "tokens", "cookies_eaten", "secretary", "author", "authority", "key", "keys", "primary_key",
        "monkey", "passenger", "tokenizer", "pass", "compass", "", "東京",
    ],
)  # fmt: skip
def test_a_name_that_only_begins_like_a_secret_is_none(name: str) -> None:
    assert not payloads.is_secret(name)


def shown(value: object) -> str:
    """As it stands on a page."""
    found = payloads.payload(Codec().encode(value))
    assert found is not None
    return found.text


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize(
    "value",
    [
        "postgres://ann:canary@db",
        "redis://:canary@cache and mysql://bob:canary@db/x",
        ["https://ann:canary@example.org"],
        ("https://ann:canary@example.org",),
        {"https://ann:canary@example.org"},
        frozenset({"https://ann:canary@example.org"}),
        {"https://ann:canary@example.org": 1},
        "postgres://ann:p@canary@db",
        f"postgres://ann:canary{'x' * 300}@db",
        {"a": {"b": [{"password": {"c": "canary"}}]}},
        {"token": b"canary"},
        {"secrets": ("canary",)},
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_secret_is_masked_wherever_it_stands(value: object) -> None:
    assert "canary" not in shown(value)


@pytest.mark.parametrize(
    "value", ["https://example.org/@ann", "12:30@noon", "ann@example.org", "https://example.org:80/a@b", "a://b:c"]
)
def test_what_is_no_password_in_an_address_is_shown(value: str) -> None:
    assert shown(value) == repr(value)


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize("size", [payloads.LONGEST, 4 * 1024])
@pytest.mark.parametrize(
    "name", ["password", "apiKey", 'new\nline "quoted" token', "x" * 190 + " token", "x" * 250 + " token"],
    ids=["plain", "camel", "escaped", "long", "longer"],
)  # fmt: skip
def test_what_is_cut_shows_nothing_under_a_name_that_sounds_like_a_secret(size: int, name: str) -> None:
    data = Codec().encode({"first": 1, name: "canary", "pad": "x" * size})

    found = payloads.payload(data[:size], size=len(data))

    assert found is not None
    assert found.is_cut
    assert "canary" not in found.text


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize("behind", range(0, 16, 3))
def test_a_password_is_not_shown_up_to_where_its_address_is_cut(behind: int) -> None:
    data = Codec().encode({"pad": "x" * 1_000, "url": "postgres://ann:canary-canary@db", "rest": "x" * 9_000})
    cut = data.index(b"canary") + 6 + behind

    found = payloads.payload(data[:cut], size=len(data))

    assert found is not None
    assert "canary" not in found.text


# Graphs


def job(name: str, status: str = "completed", *needs: str, **changes: Any) -> JobView:
    run = Run(
        namespace="default", id=RunId(f"run_{name}"), name=name, version="", queue="default", priority=0,
        status=RunStatus(status), available_at=None, token=1, worker=None, poll=1, attempts=1, recoveries=0,
        created_at=Instant(0), started_at=None, finished_at=None,
    )  # fmt: skip
    edges = tuple(Edge(job=name, upstream=upstream) for upstream in needs)
    return JobView(state=JobState(run=run, name=name, **changes), needs=edges)


def draw(jobs: list[JobView], fold: dict[str, str]) -> dict[str, Any]:
    return graph_picture.draw(jobs, fold=fold, link=lambda id: f"/runs/{id}", unfold=lambda name: f"?unfold={name}")


JOBS = [
    job("lint"),
    job("test-1", "completed", "lint", matrix="test"),
    job("test-2", "running", "lint", matrix="test"),
    job("test-3", "failed", "lint", matrix="test"),
    job("report", "waiting", "test-1", "test-2", "test-3"),
]


def test_what_is_folded_is_one_box_that_counts_its_jobs_and_stands_as_the_worst_of_them() -> None:
    found = draw(JOBS, graph_picture.folds(JOBS))

    boxes = {node["label"]: node for node in found["nodes"]}
    assert set(boxes) == {"lint", "test", "report"}
    assert (boxes["test"]["status"], boxes["test"]["url"]) == ("failed", "?unfold=test")
    assert boxes["test"]["title"] == "test: 3 jobs · 1 failed, 1 running, 1 completed"
    assert boxes["lint"]["url"] == "/runs/run_lint"
    assert len(found["edges"]) == 2


def test_what_is_not_folded_has_a_box_for_every_job() -> None:
    found = draw(JOBS, {})

    assert found["nodes"][0]["title"] == "lint: completed"
    assert (len(found["nodes"]), len(found["edges"]), found["hidden"]) == (5, 6, 0)


def test_a_generator_is_in_the_box_of_its_group() -> None:
    jobs = [job("shards", "completed", is_group=True), job("a", "completed", group="shards"), job("b", group="shards")]

    (box,) = draw(jobs, graph_picture.folds(jobs))["nodes"]

    assert (box["title"], box["url"]) == ("shards: 2 jobs · 2 completed", "?unfold=shards")


def test_a_generator_that_failed_is_seen_in_the_box_of_its_group() -> None:
    jobs = [job("shards", "failed", is_group=True), job("a", group="shards")]

    (box,) = draw(jobs, graph_picture.folds(jobs))["nodes"]

    assert (box["status"], box["title"]) == ("failed", "shards: 1 jobs · 1 completed")


def test_a_generator_without_members_leads_to_its_run() -> None:
    (box,) = draw([job("shards", "failed", is_group=True)], {})["nodes"]
    assert (box["status"], box["url"]) == ("failed", "/runs/run_shards")


def test_a_long_name_is_cut_in_its_box_and_whole_behind_it() -> None:
    (box,) = draw([job("n" * 60)], {})["nodes"]
    assert len(box["label"]) == graph_picture.LONGEST_LABEL
    assert box["title"].startswith("n" * 60)


def test_no_picture_has_more_boxes_than_a_browser_can_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_picture, "MOST_BOXES", 3)
    found = draw(JOBS, {})
    assert (len(found["nodes"]), found["hidden"]) == (3, 2)


def test_a_graph_without_jobs_is_an_empty_picture() -> None:
    found = draw([], {})
    assert (found["nodes"], found["edges"], found["hidden"]) == ([], [], 0)

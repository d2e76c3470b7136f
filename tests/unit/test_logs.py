"""How a process of ours writes its log: in lines that cannot be forged, with nothing in them that is not for them."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from windlass.errors import InvalidInput, RunFailed, Unavailable
from windlass.logs import FIELDS, FORMATS, LONGEST, LogFormat, LogLevel, configured

SECRET = "hunter2"
NASTY = "a\r\n2026-11-16 08:00:00,123 INFO windlass  forged \x1b[2J\x00\x7f\x85\u2028\u202e\ud800 ü"


@pytest.fixture
def logger() -> logging.Logger:
    return logging.getLogger("shop.orders")


def lines(format: LogFormat, write: Callable[[], object], *, level: LogLevel = "debug") -> list[str]:
    stream, root = io.StringIO(), logging.getLogger()
    others, root.handlers = root.handlers, []  # those of pytest raise what ours has to survive
    try:
        with configured(format, level, stream):
            write()
    finally:
        root.handlers = others
    text = stream.getvalue()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


def one_object(write: Callable[[], object]) -> dict[str, Any]:
    (line,) = lines("json", write)
    assert line.isascii() and line.isprintable()
    found: dict[str, Any] = json.loads(line)
    return found


def fail_with(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as raised:
        return raised


def test_plain_is_one_line_with_time_level_and_logger(logger: logging.Logger) -> None:
    (line,) = lines("plain", lambda: logger.info("packed %s of %d", "order", 7))

    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO shop\.orders  packed order of 7", line)


def test_json_is_one_object_with_the_time_in_utc(logger: logging.Logger) -> None:
    record = logger.makeRecord(logger.name, logging.WARNING, __file__, 1, "packed %s", ("order",), None)
    record.created = 1_794_816_000.123456

    assert one_object(lambda: logger.handle(record)) == {
        "at": "2026-11-16T08:00:00.123456Z",
        "level": "warning",
        "logger": "shop.orders",
        "message": "packed order",
    }


@pytest.mark.parametrize("format", ["plain", "json"])
def test_what_is_below_the_level_is_left_out(format: LogFormat, logger: logging.Logger) -> None:
    def write() -> None:
        logger.debug("one")
        logger.info("two")
        logger.warning("three")

    assert len(lines(format, write, level="debug")) == 3
    assert len(lines(format, write, level="info")) == 2
    assert len(lines(format, write, level="warning")) == 1
    assert lines(format, write, level="error") == []


def test_what_was_set_up_is_taken_down_again() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))

    with configured("json", "debug", io.StringIO()):
        assert root.level == logging.DEBUG
    assert (root.level, list(root.handlers)) == before


def test_json_takes_the_known_fields_of_extra_and_nothing_else(logger: logging.Logger) -> None:
    known = {name: f"the {name}" for name in FIELDS} | {"count": 3}

    found = one_object(lambda: logger.info("x", extra=known | {"payload": SECRET, "run_id": "run_1"}))

    assert {name: found[name] for name in FIELDS} == known
    assert found.keys() == {"at", "level", "logger", "message", *FIELDS}


@pytest.mark.parametrize("value", [{"card": SECRET}, [SECRET], object(), "", None, True, 1.5, float("nan"), -(10**19)])
def test_a_field_holds_a_text_or_a_number_and_no_object(value: Any, logger: logging.Logger) -> None:
    found = one_object(lambda: logger.info("x", extra={"run": value}))

    assert found.keys() == {"at", "level", "logger", "message"}


def test_a_text_cannot_pass_for_another_plain_record(logger: logging.Logger) -> None:
    def write() -> None:
        logger.info("%s", NASTY)
        logger.error("failed", exc_info=fail_with(ValueError(NASTY)))
        logging.getLogger(NASTY).info("x")

    written = lines("plain", write)

    assert all(line.isprintable() for line in written)
    assert len([line for line in written if not line.startswith("    ")]) == 3
    assert written[0].endswith(
        r"a\r\n2026-11-16 08:00:00,123 INFO windlass  forged \x1b[2J\x00\x7f\x85\u2028\u202e\ud800 ü"
    )


def test_a_text_cannot_pass_for_another_object_and_comes_back_whole(logger: logging.Logger) -> None:
    found = one_object(lambda: logger.info("%s", NASTY, extra={"run": NASTY}, exc_info=fail_with(ValueError(NASTY))))

    assert (found["message"], found["run"]) == (NASTY, NASTY)
    assert NASTY in found["exception"]


@pytest.mark.parametrize("format", ["plain", "json"])
def test_what_a_program_logs_itself_has_its_traceback_with_the_text(format: LogFormat) -> None:
    def write() -> None:
        error = fail_with(ValueError("no such order"))
        logging.getLogger("windlass.run").error("failed: %s", error, exc_info=error)

    text = "\n".join(lines(format, write))

    assert "failed: no such order" in text
    assert "ValueError: no such order" in text
    assert "in fail_with" in text


@pytest.mark.parametrize("format", ["plain", "json"])
@pytest.mark.parametrize("name", ["windlass", "windlass.worker", "windlass.engine", "asyncio"])
def test_what_we_log_names_an_exception_by_its_type_and_its_lines(format: LogFormat, name: str) -> None:
    cause = fail_with(KeyError(SECRET))
    error = ValueError(SECRET)
    error.__cause__ = cause
    error.add_note(SECRET)
    group = ExceptionGroup(SECRET, [error, RunFailed("Broken", SECRET, subject="Run run_1")])

    def write() -> None:
        logger = logging.getLogger(name)
        logger.error("failed: %s %r", error, error, exc_info=fail_with(error))
        logger.error("failed", exc_info=fail_with(group))
        logger.error(error)

    written = lines(format, write)

    assert SECRET not in "\n".join(written)
    assert "failed: ValueError ValueError" in written[0]
    text = "\n".join(written)
    assert text.index("KeyError") < text.rindex("ValueError")
    assert "ExceptionGroup" in text and "RunFailed" in text
    assert "test_logs.py" in text and "in fail_with" in text


@pytest.mark.parametrize("format", ["plain", "json"])
@pytest.mark.parametrize("error", [Unavailable("shop.db is busy."), InvalidInput("queue 'a b' holds a space.")])
def test_what_we_log_quotes_our_own_errors(format: LogFormat, error: Exception) -> None:
    def write() -> None:
        logging.getLogger("windlass.worker").warning("Worker cannot claim: %s", error)

    assert f"Worker cannot claim: {error}" in lines(format, write)[0]


@pytest.mark.parametrize("format", ["plain", "json"])
def test_a_task_that_asyncio_complains_about_is_shown_without_its_outcome(format: LogFormat) -> None:
    def write() -> None:
        logger = logging.getLogger("asyncio")
        logger.error(f"Task exception was never retrieved\nfuture: <Task finished exception=ValueError('{SECRET}')>")
        logger.warning("Executing <Task finished coro=<f()> result='%s'> took 0.2 seconds", SECRET)

    first, second = lines(format, write)

    assert SECRET not in first + second
    assert "Task exception was never retrieved" in first
    assert "Executing <Task finished coro=<f()> " in second


@pytest.mark.parametrize("format", ["plain", "json"])
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@db/shop",
        f"postgresql://me:a@{SECRET}@db/shop",
        f"postgresql://:{SECRET}@db/shop",
        f"postgresql://db/shop?password={SECRET}&sslmode=require",
        f"postgresql://db/shop?sslmode=require&sslpassword={SECRET}",
        f"redis://:{SECRET}@cache:6379/0",
    ],
)
def test_the_password_of_a_url_is_left_out_of_every_line(format: LogFormat, url: str, logger: logging.Logger) -> None:
    def write() -> None:
        logger.info("using %s, as told", url, extra={"queue": url})
        logger.error("failed", exc_info=fail_with(ValueError(url)))

    written = "\n".join(lines(format, write))

    assert SECRET not in written
    assert "***" in written and " as told" in written


def test_a_url_without_a_password_is_left_as_it_is(logger: logging.Logger) -> None:
    text = "http://host:8080/users/@me and postgresql://me@db:5433/shop?sslmode=require, a:b@c"

    assert one_object(lambda: logger.info(text))["message"] == text


def test_long_messages_and_exceptions_are_cut(logger: logging.Logger) -> None:
    found = one_object(
        lambda: logger.info("%s", "x" * 100_000, extra={"run": "y" * 100_000}, exc_info=ValueError("z" * 100_000))
    )

    assert len(found["message"]) == LONGEST
    assert len(found["run"]) == LONGEST
    assert len(found["exception"]) <= LONGEST + 10


def test_exceptions_without_end_are_cut(logger: logging.Logger) -> None:
    first = ValueError("first")
    second = ValueError("second")
    first.__cause__, second.__cause__ = second, first

    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        else:
            logger.exception("deep", exc_info=RecursionError("deep"))
            raise first

    def write() -> None:
        try:
            deep(500)
        except ValueError as error:
            logging.getLogger("windlass.worker").error("deep", exc_info=error)
            logger.error("deep", exc_info=error)

    assert all(len(line) < 3 * LONGEST for line in lines("json", write))


class Broken(Unavailable):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize("format", ["plain", "json"])
def test_a_record_that_cannot_be_filled_in_is_written_all_the_same(
    format: LogFormat, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    def write() -> None:
        logger.info("%d orders", SECRET)
        logger.info("%s", Broken())
        logger.info(Broken())
        logger.error("failed", exc_info=fail_with(Broken()))
        logging.getLogger("windlass.worker").error("failed %s", Broken(), exc_info=fail_with(Broken()))

    written = "\n".join(lines(format, write))

    assert "%d orders (not filled in: TypeError)" in written
    assert "%s (not filled in: RuntimeError)" in written
    assert SECRET not in written
    assert capsys.readouterr().err == ""


def test_a_stack_is_written_if_it_was_asked_for(logger: logging.Logger) -> None:
    found = one_object(lambda: logger.info("x", stack_info=True))

    assert "in test_a_stack_is_written_if_it_was_asked_for" in found["exception"]


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize("format", FORMATS)
def test_the_secret_of_a_token_is_left_out_of_every_line(format: LogFormat) -> None:
    token = "wl_" + "0" * 26 + "_" + "hunter2-" * 5 + "abc"
    stream = io.StringIO()

    with configured(format, "info", stream):
        logging.getLogger("somebody").warning("sent %s twice: Bearer %s.", token, token)

    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("wl_" + "0" * 26 + "_***") == 2

"""What anybody can cause is a line a second, and says how many it stands for."""

from __future__ import annotations

import logging

import pytest

from windlass.api import log_rate
from windlass.api.log_rate import OneLineASecond
from windlass.testing.clock import FakeClock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(log_rate, "REAL_CLOCK", clock)
    return clock


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("of the test")
    logger.parent = logging.getLogger()
    return logger


def test_there_is_one_line_a_second_and_it_says_how_many_there_were(
    clock: FakeClock, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    logger.addFilter(OneLineASecond())

    for number in range(5):
        logger.warning("no %d", number)
    clock.advance("1s")
    logger.warning("no 5")
    clock.advance("1s")
    logger.warning("no 6")

    assert caplog.messages == ["no 0", "no 5 (and 4 like it since)", "no 6"]


def test_an_exception_is_a_part_of_the_line(
    clock: FakeClock, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    logger.addFilter(OneLineASecond())

    try:
        raise ValueError("not text")
    except ValueError:
        logger.exception("refused")

    assert caplog.text.count("\n") == 1
    assert caplog.messages == ["refused: not text"]


def test_what_is_worse_than_it_limits_is_always_written(
    clock: FakeClock, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    logger.addFilter(OneLineASecond(worst=logging.WARNING))

    for _ in range(3):
        logger.warning("nobody's")
        logger.error("ours")

    assert caplog.messages == ["nobody's", "ours", "ours", "ours"]

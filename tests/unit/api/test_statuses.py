"""Does every error have its status, and tells none more than it may?"""

from __future__ import annotations

from collections.abc import Iterator

from windlass import errors
from windlass.api.statuses import HTTP_STATUS, INTERNAL, http_status, path_of, reason_of
from windlass.errors import Forbidden, InvalidInput, NotFound, WindlassError


def every_class(cls: type[WindlassError]) -> Iterator[type[WindlassError]]:
    yield cls
    for below in cls.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from every_class(below)


def test_every_error_has_a_status_and_every_status_an_error() -> None:
    codes = {cls.code for cls in every_class(WindlassError)}

    assert codes | {INTERNAL} == set(HTTP_STATUS)
    assert all(400 <= status < 600 for status in HTTP_STATUS.values())


def test_only_what_is_ours_is_a_failure_of_the_server() -> None:
    ours = {code for code, status in HTTP_STATUS.items() if status >= 500}

    assert ours == {INTERNAL, "windlass", "unavailable", "store_refused", "result_timeout", "wait_timeout"}


def test_an_error_of_a_new_class_is_ours() -> None:
    class Brand(WindlassError):
        code = "brand_new"

    assert http_status(Brand("x")) == 500
    assert http_status(NotFound("run", "x")) == 404


def test_reason_and_path_are_those_of_the_error() -> None:
    refused = InvalidInput("no", reason="invalid_name", path="queue")

    assert (reason_of(refused), path_of(refused)) == ("invalid_name", "queue")
    assert (reason_of(Forbidden("no")), path_of(Forbidden("no"))) == ("forbidden", "")

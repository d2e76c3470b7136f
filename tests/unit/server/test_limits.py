"""How many connections there may be: what the files allow, and never all of them."""

from __future__ import annotations

import pytest

from windlass.server.limits import MOST, Limits, limits_for


@pytest.mark.parametrize("files", [16, 64, 256, 512, 1_024, 4_096, 65_536, 1_048_576])
def test_connections_never_take_all_files(files: int) -> None:
    limits = limits_for(files)

    together = limits.grpc + limits.known + limits.strangers
    assert min(limits.grpc, limits.known, limits.strangers) >= 1
    assert files - together >= min(256, files // 2)


def test_more_files_are_more_connections_up_to_what_memory_allows() -> None:
    assert limits_for(1_024) == Limits(grpc=256, known=256, strangers=256)
    assert limits_for(1_048_576) == Limits(grpc=MOST, known=MOST, strangers=MOST // 2)

"""What cannot be asked about pipelines is refused before anything is looked up."""

from __future__ import annotations

from typing import Any

import pytest

from windlass import App, InvalidInput
from windlass.settings import Settings


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        (lambda pipelines: pipelines.runs("payments", handler=5), "handler"),
        (lambda pipelines: pipelines.runs("payments", handler="a b"), "handler"),
        (lambda pipelines: pipelines.reject("payments", release="no"), "release"),
        (lambda pipelines: pipelines.reject("payments", release=None), "release"),
    ],
)
async def test_what_cannot_be_asked_of_pipelines_is_refused(ask: Any, path: str) -> None:
    async with App("sqlite:///:memory:", settings=Settings()) as app:
        with pytest.raises(InvalidInput) as caught:
            await ask(app.pipelines)

    assert caught.value.path == path
    assert "\n" not in str(caught.value)

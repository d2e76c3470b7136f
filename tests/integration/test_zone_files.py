"""Do zones come from where we say, whatever the machine has?"""

from __future__ import annotations

import zoneinfo
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

from windlass.rules.zones import load_zone


def test_the_files_of_the_machine_are_not_looked_at(tmp_path: Path) -> None:
    # A machine on which Rome lies in Tokyo.
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Rome").write_bytes(files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes())
    zoneinfo.reset_tzpath([str(tmp_path)])
    try:
        zoneinfo.ZoneInfo.clear_cache()
        there = datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Rome")).utcoffset()
        here = datetime(2026, 1, 1, tzinfo=load_zone("Europe/Rome")).utcoffset()
    finally:
        zoneinfo.reset_tzpath()
        zoneinfo.ZoneInfo.clear_cache()

    assert (there, here) == (timedelta(hours=9), timedelta(hours=1))

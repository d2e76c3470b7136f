"""Is damage that opening a file does not show found by the checks, or told in one line where it is met?

SQLite keeps no checksum of its pages: a byte of a value that changed on the disk is a different value, and nobody can
know. What is counted here as unnoticed is exactly that. A journal has checksums; from the first frame that fails its
own, SQLite takes it for the torn end of a write, so what remains is an earlier state, whole.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path

import apsw
import pytest

import windlass
from tests.faults.shop import Client, Notes, declare_order, look_at_file
from tests.invariants.evidence import Snapshot
from tests.scale import SCALE
from windlass.errors import StoreRefused
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries
from windlass.store.sqlite.store import SqliteStore

RUNS = 60
FLIPS = 150 * SCALE
JOURNAL_FLIPS = 15 * SCALE
PAGE, FRAME_HEADER, JOURNAL_HEADER = 4096, 24, 32
SOUND, REFUSED, FOUND, UNNOTICED = "harmless", "refused", "found by the checks", "a changed value"


async def fill(path: Path) -> None:
    app = windlass.App(path)
    client = Client(app, Notes(SystemClock()))
    async with app, app.worker():
        for number in range(RUNS):
            assert await client.start(number)
        assert await client.results(seconds=60) == RUNS
        for end in ("", "-wal"):  # as a crash would leave them now
            shutil.copy(f"{path}{end}", f"{path}.crashed{end}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with finished runs, closed in order, and one whose last writes stand in its journal."""
    folder = tmp_path_factory.mktemp("damage")
    asyncio.run(fill(folder / "windlass.db"))
    return folder


def copied(folder: Path, source: str, target: Path) -> Path:
    path = target / "windlass.db"
    for end in ("", "-wal", "-shm"):
        (target / f"windlass.db{end}").unlink(missing_ok=True)
        if (folder / f"{source}{end}").exists():
            shutil.copy(folder / f"{source}{end}", f"{path}{end}")
    return path


def flip(path: Path, offset: int, *, bits: int = 0xFF) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ bits]))


def without_time(snapshot: Snapshot) -> Snapshot:
    return Snapshot(**{name: getattr(snapshot, name) for name in Snapshot.__struct_fields__} | {"at": 0})


async def checked(path: Path) -> list[object]:
    """What the checks find, without reading a single value."""

    async def check(tx: Tx) -> list[object]:
        checks = CheckQueries(tx.connection)
        return [*await checks.damage(), *await checks.inconsistencies()]

    store = SqliteStore(str(path), clock=SystemClock())
    await store.open()
    try:
        return await store.read("check", check)
    finally:
        await store.close()


async def outcome(path: Path, original: Snapshot) -> str:
    """What becomes of a damaged file. Whatever is raised and is not ours fails the test."""
    try:
        if await checked(path):
            return FOUND
        found = await look_at_file(path)
    except StoreRefused as refusal:
        # One line that names the file or, about a single row, what to do.
        assert "\n" not in str(refusal) and (str(path) in str(refusal) or "windlass doctor" in str(refusal))
        return REFUSED
    return SOUND if without_time(found) == without_time(original) else UNNOTICED


@pytest.mark.spec("invariants:I-62", "invariants:I-65")
async def test_a_damaged_page_is_refused_or_found(folder: Path, memory: Path, figures: list[str]) -> None:
    """The head of every page: what kind it is, how many cells it has, where they are."""
    original = await look_at_file(copied(folder, "windlass.db", memory))
    pages = (folder / "windlass.db").stat().st_size // PAGE
    outcomes: dict[tuple[int, int], str] = {}
    for page in range(1, pages):
        for place in (0, 4, 5):
            path = copied(folder, "windlass.db", memory)
            flip(path, page * PAGE + place)
            outcomes[page, place] = await outcome(path, original)

    counted = Counter(outcomes.values())
    figures.append(
        f"{'sqlite':10}  damaged heads of pages: {counted[REFUSED]} refused and {counted[FOUND]} found, "
        f"of {len(outcomes)}"
    )
    assert pages > 10
    assert {at: what for at, what in outcomes.items() if what not in (REFUSED, FOUND)} == {}


@pytest.mark.spec("invariants:I-65")
async def test_a_flipped_byte_anywhere_ends_in_a_clear_error_or_in_a_changed_value_and_never_in_a_traceback(
    folder: Path, memory: Path, figures: list[str]
) -> None:
    chance = random.Random("flips")
    original = await look_at_file(copied(folder, "windlass.db", memory))
    size = (folder / "windlass.db").stat().st_size
    counted: Counter[str] = Counter()
    for number in range(FLIPS):
        path = copied(folder, "windlass.db", memory)
        offset = number % 100 if number < 100 else chance.randrange(size)  # every byte of the header, then anywhere
        flip(path, offset, bits=chance.randrange(1, 256))
        counted[await outcome(path, original)] += 1

    figures.append(
        f"{'sqlite':10}  flipped bytes: "
        + ", ".join(f"{counted[what]} {what}" for what in (REFUSED, FOUND, SOUND, UNNOTICED))
        + f", of {FLIPS}"
    )
    assert counted[REFUSED] and counted[FOUND]


@pytest.mark.spec("invariants:I-65")
async def test_a_damaged_journal_is_not_refused_and_opens_as_an_earlier_state_that_is_whole(
    folder: Path, memory: Path, figures: list[str]
) -> None:
    chance = random.Random("journal")
    size = (folder / "windlass.db.crashed-wal").stat().st_size
    frames = (size - JOURNAL_HEADER) // (PAGE + FRAME_HEADER)
    whole = await look_at_file(copied(folder, "windlass.db.crashed", memory))
    seen = []
    for number in range(JOURNAL_FLIPS):
        path = copied(folder, "windlass.db.crashed", memory)
        frame = frames * number // JOURNAL_FLIPS
        flip(Path(f"{path}-wal"), JOURNAL_HEADER + frame * (PAGE + FRAME_HEADER) + chance.randrange(PAGE))
        found = await look_at_file(path)
        assert (found.damage, found.inconsistencies) == ((), ())
        assert found.log == whole.log[: len(found.log)]
        seen.append(len(found.log))

    assert seen == sorted(seen)
    assert len(whole.rows) == RUNS and seen[0] < len(whole.log)
    figures.append(
        f"{'sqlite':10}  damaged journals: {JOURNAL_FLIPS} of {JOURNAL_FLIPS} opened as an earlier whole state"
    )


@pytest.mark.spec("invariants:I-62")
async def test_damage_met_in_the_middle_of_work_is_one_line(
    folder: Path, memory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = copied(folder, "windlass.db", memory)
    database = apsw.Connection(str(path))
    roots = dict(database.execute("select name, rootpage from sqlite_schema where type = 'table'"))
    database.close()
    app = windlass.App(path)
    order = declare_order(app, Notes(SystemClock()))

    for place in (0, 3, 5):
        flip(path, (int(roots["payloads"]) - 1) * PAGE + place)
    async with app:
        with pytest.raises(StoreRefused, match="is damaged") as refusal:
            await app.start(order, "new", key="new")

    assert "\n" not in str(refusal.value)
    assert [record for record in caplog.records if record.exc_info] == []

"""Locks of workers on files beside the database. The system frees one when its process ends, and not before.

    windlass.db                     the database
    windlass.db-wrk_01J….lock       held by that worker for as long as its process lives

A free lock proves death: a process that is only stopped, or silent, still holds it. A file that is missing proves
nothing, so it is removed only by whoever leaves in order, and by whoever has given back what a dead worker held.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress

from windlass.model.run import WorkerId
from windlass.model.worker import LockKind

if sys.platform != "win32":  # there a dead worker is noticed when its claims run out
    import fcntl

LOGGER = logging.getLogger("windlass.store")

_open_files: set[int] = set()


def _close_in_child() -> None:
    """A lock belongs to every process that has the file open; a child must not keep its parent's alive."""
    for file in _open_files:
        with suppress(OSError):
            os.close(file)
    _open_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class FileLocks:
    def __init__(self, database: str | None) -> None:
        """For the database at that path; none: it lives in memory and is nobody else's."""
        if sys.platform == "win32":
            database = None
        # Once and whole: the lock must be found again from another folder, and under another name of the file.
        self._database = None if database is None else os.path.realpath(database)
        self._held: dict[WorkerId, int] = {}

    async def take(self, worker: WorkerId) -> LockKind | None:
        if self._database is None:
            return None
        if worker not in self._held:
            try:
                file = os.open(self._path(worker), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                self._lock(worker, file)
            except OSError as error:
                LOGGER.warning("Worker %s has no lock (%s): its death will be noticed late.", worker, error.strerror)
                return None
        return LockKind.FILE

    async def seize(self, worker: WorkerId) -> bool:
        if self._database is None or worker in self._held or os.sep in worker:
            return False  # an id comes from the database, and names a file of ours or none
        try:
            file = os.open(self._path(worker), os.O_RDWR | os.O_CLOEXEC)
            self._lock(worker, file)
        except OSError:  # held, or gone
            return False
        if self._is_removed(worker, file):  # between the two, by another who was faster
            await self.release(worker, for_good=False)
            return False
        return True

    async def release(self, worker: WorkerId, *, for_good: bool) -> None:
        file = self._held.pop(worker, None)
        if file is None:
            return
        if for_good:
            with suppress(OSError):
                os.unlink(self._path(worker))
        _open_files.discard(file)
        os.close(file)

    async def close(self) -> None:
        for worker in tuple(self._held):
            await self.release(worker, for_good=True)

    def kill(self) -> None:
        """What the system does for a process that dies: the locks are free, the files stay."""
        while self._held:
            _, file = self._held.popitem()
            _open_files.discard(file)
            os.close(file)

    def _lock(self, worker: WorkerId, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise
        self._held[worker] = file
        _open_files.add(file)

    def _is_removed(self, worker: WorkerId, file: int) -> bool:
        try:
            return os.stat(self._path(worker)).st_ino != os.fstat(file).st_ino
        except FileNotFoundError:
            return True

    def _path(self, worker: WorkerId) -> str:
        return f"{self._database}-{worker}.lock"

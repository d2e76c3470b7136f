"""Locks of workers on files beside the database. The system frees one when its process ends, and not before.

    windlass.db                     the database
    windlass.db-wrk_01J….lock       held by that worker for as long as its process lives

A free lock proves death: a process that is only stopped, or silent, still holds it. A file that is missing proves
nothing, so it is removed only by whoever has said goodbye, and by whoever has given back what a dead worker held.
"""

from __future__ import annotations

import glob
import logging
import os
import stat
import sys
import threading
from collections.abc import Collection
from contextlib import suppress
from weakref import WeakSet

from windlass.model.run import WorkerId
from windlass.model.worker import LockKind

if sys.platform != "win32":  # there a dead worker is noticed when its claims run out
    import fcntl

LOGGER = logging.getLogger("windlass.store")

# A lock belongs to every process that has the file open, and a child has all that its parent had at the fork. So no
# fork may fall between opening a file and knowing of it, and a child closes what it was given.
_forking = threading.RLock()  # a signal that forks may come at any moment
_instances: WeakSet[FileLocks] = WeakSet()


def _close_in_child() -> None:
    for locks in _instances:
        locks.kill()
    _forking.release()


if sys.platform != "win32":
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_in_child)


class FileLocks:
    def __init__(self, database: str | None) -> None:
        """For the database at that path; none: it lives in memory and is nobody else's."""
        if sys.platform == "win32":
            database = None
        # Once and whole: the lock must be found again from another folder, and under another name of the file.
        self._database = None if database is None else os.path.realpath(database)
        self._held: dict[WorkerId, int] = {}
        _instances.add(self)

    async def take(self, worker: WorkerId) -> LockKind | None:
        if self._database is None:
            return None
        if worker in self._held and self._is_removed(worker):  # by hand, or by a sweep between its making and its lock
            await self.release(worker, for_good=False)
        if worker not in self._held:
            try:
                self._lock(worker, os.O_CREAT | os.O_RDWR)
            except OSError as error:
                LOGGER.info("Worker %s has no lock yet (%s).", worker, error.strerror)
                return None
        return LockKind.FILE

    async def free(self, workers: Collection[WorkerId]) -> list[WorkerId]:
        return list(workers)  # to try is as cheap as to ask

    async def is_held(self, worker: WorkerId) -> bool:
        if worker in self._held:
            return True
        if self._database is None:
            return False
        if await self.seize(worker):
            await self.release(worker, for_good=False)
            return False
        return self._exists(worker)

    async def seize(self, worker: WorkerId) -> bool:
        if self._database is None or worker in self._held or os.sep in worker or "\0" in worker:
            return False  # an id comes from the database, and names a file of ours or none
        try:
            self._lock(worker, os.O_RDONLY)
        except OSError:  # held, or gone
            return False
        if self._is_removed(worker):  # between the two, by another who was faster
            await self.release(worker, for_good=False)
            return False
        return True

    async def release(self, worker: WorkerId, *, for_good: bool) -> None:
        if worker not in self._held:
            return
        if for_good:
            with suppress(OSError):
                os.unlink(self._path(worker))
        with _forking:
            os.close(self._held.pop(worker))

    async def sweep(self, known: Collection[WorkerId]) -> None:
        """Remove what workers left behind that nobody knows: they died before their row was there, or after it went."""
        if self._database is None:
            return
        start, end = len(self._database) + 1, -len(".lock")
        for path in glob.glob(f"{glob.escape(self._database)}-wrk_*.lock"):
            worker = WorkerId(path[start:end])
            if worker not in known and await self.seize(worker):
                await self.release(worker, for_good=True)

    async def close(self) -> None:
        """Let go of everything. What was not said goodbye to leaves its file: somebody must be able to find it free."""
        self.kill()

    def kill(self) -> None:
        """What the system does for a process that dies: the locks are free, the files stay."""
        with _forking:
            while self._held:
                _, file = self._held.popitem()
                with suppress(OSError):
                    os.close(file)

    def _lock(self, worker: WorkerId, flags: int) -> None:
        with _forking:
            file = os.open(self._path(worker), flags | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if flags & os.O_CREAT:  # whoever may open the database may see that its worker is dead
                    os.fchmod(file, stat.S_IMODE(os.stat(self._database or "").st_mode))
            except BaseException:
                os.close(file)
                raise
            self._held[worker] = file

    def _exists(self, worker: WorkerId) -> bool:
        return os.path.exists(self._path(worker))

    def _is_removed(self, worker: WorkerId) -> bool:
        try:
            return os.stat(self._path(worker)).st_ino != os.fstat(self._held[worker]).st_ino
        except FileNotFoundError:
            return True

    def _path(self, worker: WorkerId) -> str:
        return f"{self._database}-{worker}.lock"

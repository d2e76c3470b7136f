"""How many connections a server may hold: as many as the limit of open files allows, which is raised first."""

from __future__ import annotations

import sys
from contextlib import suppress

from msgspec import Struct

if sys.platform != "win32":
    import resource

MOST = 2_000  # of each kind: beyond that their memory counts, and not their files
KEPT = 256  # files for the database and the log, and for connections that are not counted yet
UNLIMITED = 65_536  # as good as none; macOS says that there is no limit and takes less
FALLBACK = 10_240


class Limits(Struct, frozen=True, kw_only=True):
    grpc: int
    known: int  # of HTTP, on which a key was accepted
    strangers: int  # of HTTP, on which none was yet


def raise_open_files() -> int:
    """Raise the limit of open files as far as the system lets this process, and say what it is."""
    if sys.platform == "win32":  # which has no such limit
        return UNLIMITED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    for wanted in (highest, FALLBACK):
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def limits_for(files: int) -> Limits:
    share = max(1, (files - min(KEPT, files // 2)) // 3)
    return Limits(grpc=min(MOST, share), known=min(MOST, share), strangers=min(MOST // 2, share))

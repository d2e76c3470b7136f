"""What users write about edges: a job, its name, or `after(job, on=…)` for other ends than the good one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeAlias, cast

from windlass.define.options import shorten
from windlass.errors import InvalidInput
from windlass.model.graph import COMPLETED_ONLY, EVERY_END, POLICIES, Accepted, Need, NeedPolicy, accepted
from windlass.rules.graphs import check_job_name

End: TypeAlias = Literal["completed", "failed", "cancelled", "skipped"]
Policy: TypeAlias = Literal["completed", "failed", "skipped", "always"]
EndsLike: TypeAlias = Policy | Collection[End]

IF_FAILED: dict[str, Accepted] = {"skip": COMPLETED_ONLY, "run": EVERY_END}


class After:
    """A need, and the ends that are accepted: what `windlass.after()` gives."""

    __slots__ = ("accepts", "job")

    def __init__(self, job: object, accepts: Accepted) -> None:
        self.job, self.accepts = job, accepts

    def __repr__(self) -> str:
        name = self.job if isinstance(self.job, str) else getattr(self.job, "__name__", self.job)
        ends = say(self.accepts)
        shown = repr(ends) if ends in POLICIES else "{" + ", ".join(repr(str(end)) for end in self.accepts) + "}"
        return f"after({name}, on={shown})"


NeedLike: TypeAlias = Callable[..., Any] | str | After


def after(
    job: Callable[..., Any] | str,
    /,
    *,
    on: EndsLike | None = None,
    if_failed: Literal["skip", "run"] | None = None,
) -> After:
    """A need that accepts other ends than "completed": `needs=[windlass.after(test, on="always")]`.

    `on` is "completed", "failed" (time-outs among them), "skipped" (and completed), "always", or a set of statuses.
    `if_failed` says the same in two words: "skip" is "completed", "run" is "always".
    """
    given: object = job
    if isinstance(given, After):
        raise InvalidInput("after() takes a job or its name, not another after().", reason="invalid_needs", path="job")
    if on is not None and if_failed is not None:
        raise InvalidInput("after() takes on or if_failed, not both.", reason="invalid_needs", path="if_failed")
    if if_failed is not None:
        return After(job, _chosen(if_failed, IF_FAILED, what="if_failed"))
    return After(job, COMPLETED_ONLY if on is None else _read_ends(on))


def say(accepts: Accepted) -> str:
    """A set of ends as people write it."""
    named = (policy.value for policy, ends in POLICIES.items() if ends == accepts)
    return next(named, " or ".join(accepts))


def read_needs(needs: object, *, name_of: Callable[[object], str]) -> tuple[Need, ...]:
    """The edges of one job, by name. Raises InvalidInput; `name_of` says which job something stands for."""
    found: dict[str, Need] = {}
    for item in _listed(needs):
        wanted, accepts = (item.job, item.accepts) if isinstance(item, After) else (item, COMPLETED_ONLY)
        name = check_job_name(wanted) if isinstance(wanted, str) else name_of(wanted)
        known = found.setdefault(name, Need(upstream=name, accepts=accepts))
        if known.accepts != accepts:
            raise InvalidInput(
                f"needs names {name!r} twice, once on {say(known.accepts)!r} and once on {say(accepts)!r}. "
                "Say it once, with all ends that are accepted.",
                reason="conflicting_edge",
                path="needs",
            )
    return tuple(found.values())


def _listed(needs: object) -> Sequence[object]:
    """Text is a sequence too, and its letters are never meant."""
    if isinstance(needs, (list, tuple)):
        return cast("Sequence[object]", needs)
    name = repr(needs) if isinstance(needs, (str, After)) else getattr(needs, "__name__", None)
    shown = name or "lint"
    raise InvalidInput(
        f"needs takes a list of jobs, not {shown if name else shorten(needs)}: needs=[{shown}].",
        reason="invalid_needs",
        path="needs",
    )


def _read_ends(on: object) -> Accepted:
    if isinstance(on, str):
        return _chosen(on, {policy.value: ends for policy, ends in POLICIES.items()}, what="on")
    if not isinstance(on, (set, frozenset, list, tuple)):
        raise _refuse_ends(f"on takes {_choices(NeedPolicy)} or a set of statuses, not {shorten(on)}.")
    ends = cast("Collection[object]", on)
    if not ends:
        raise _refuse_ends(f"on is empty, so the job could never begin. Statuses: {', '.join(EVERY_END)}.")
    known: dict[str, Accepted] = {status.value: (status,) for status in EVERY_END}
    return accepted(status for end in ends for status in _chosen(end, known, what="status in on"))


def _chosen(value: object, known: dict[str, Accepted], *, what: str) -> Accepted:
    if isinstance(value, str) and value in known:
        return known[value]
    close = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise _refuse_ends(f"Unknown {what} {shorten(value)}: it is {_choices(known)}.{hint}")


def _choices(known: Collection[str] | type[NeedPolicy]) -> str:
    *first, last = [repr(str(choice)) for choice in known]
    return f"{', '.join(first)} or {last}"


def _refuse_ends(text: str) -> InvalidInput:
    return InvalidInput(text, reason="invalid_needs", path="on")

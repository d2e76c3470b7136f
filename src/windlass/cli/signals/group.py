"""`windlass signals`: which there are; and below it, what is done about them."""

from __future__ import annotations

import shlex

import click

from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.groups import ListingGroup
from windlass.cli.items.names import ITEM, find_item_id
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.signals import listing
from windlass.cli.signals.create import create
from windlass.cli.signals.show import show
from windlass.cli.signals.steer import cancel, delete, pause, resume
from windlass.cli.signals.update import update
from windlass.cli.signals.watching import ANY_ITEM
from windlass.model.signal import ANY, SUBJECT_KINDS, ListSignals, SignalStatus
from windlass.rules.limits import check_name, check_signal_id

KINDS = sorted(set(SUBJECT_KINDS.values()))
NAMED = ("pipeline", "workflow")  # what has a name and no id


def _check_subject(text: str) -> str:
    """An id, the beginning of one, or a name."""
    return text if text in ANY_ITEM or text.startswith(lookup.RUN.prefix) else check_name(text, what="subject")


@click.group(
    cls=ListingGroup, invoke_without_command=True, short_help="List signals; create, pause, resume or cancel one."
)
@click.option("--status", type=click.Choice([status.value for status in SignalStatus]), help="Only these.")
@click.option(
    "--subject", type=Text(_check_subject), metavar="SUBJECT",
    help='Only those that watch this run, item, pipeline or workflow; "any" is every item.',
)  # fmt: skip
@click.option("--kind", type=click.Choice(KINDS), help="Only those that watch such a thing.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@click.option("--before", type=Text(check_signal_id), metavar="SIGNAL", help="Only signals older than this one.")
@shared_options
@click.pass_context
def signals(
    ctx: click.Context,
    /,
    *,
    status: str | None,
    subject: str | None,
    kind: str | None,
    limit: int,
    before: str | None,
) -> None:
    """List signals, the newest first: what each watches and does, how often it has fired, and what waits or failed."""
    if ctx.invoked_subcommand is not None:
        return
    session = ctx.ensure_object(Session)
    if kind == "time" and subject is not None:
        raise click.UsageError("A time has no subject: leave --subject out.")

    async def read(opened: Opened) -> listing.Listing:
        queries = [
            ListSignals(
                namespace=session.namespace,
                subject_kind=subject_kind,
                subject=watched,
                status=None if status is None else SignalStatus(status),
                before=before,
                limit=limit,
            )
            for subject_kind, watched in await _subjects(session, opened, subject, kind=kind)
        ]
        return await listing.read(opened.signals, queries)

    found = session.read(read)
    if session.is_json:
        session.screen.write_json(listing.record(found))
        return
    given = {"status": status, "subject": subject, "kind": kind}
    filters = "".join(f"--{name} {shlex.quote(value)} " for name, value in given.items() if value is not None)
    session.screen.write(listing.drawn(session, found, filters=filters, is_first=before is None))


async def _subjects(
    session: Session, opened: Opened, subject: str | None, *, kind: str | None
) -> list[tuple[str | None, str | None]]:
    """What a word may mean: an id is of one kind, a name may be that of a pipeline and of a workflow."""
    if subject is None:
        return [(kind, None)]
    namespace = session.namespace
    if kind == "item" or (kind is None and (subject in ANY_ITEM or ITEM.is_meant(subject))):
        if subject in ANY_ITEM:
            return [("item", ANY)]
        return [("item", await find_item_id(opened.items, ITEM.check(subject), namespace=namespace))]
    if kind == "run" or (kind is None and subject.startswith(lookup.RUN.prefix)):
        run = await lookup.find(opened.runs, lookup.check_meant(subject), key=None, namespace=namespace)
        return [("run", run.run.id)]
    return [(named, subject) for named in NAMED if kind in (None, named)]


for command in (show, create, update, pause, resume, cancel, delete):
    signals.add_command(command)

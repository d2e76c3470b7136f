"""`windlass keys`: who may come in over the network, and for what; make one, or take it back."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text as Line

from windlass.api.service import Access
from windlass.assembly import Opened
from windlass.cli import records
from windlass.cli.ids import ID_LENGTH, SHOWN_CANDIDATES
from windlass.cli.lookup import shortest
from windlass.cli.runs import age
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import UNLIMITED, Glyphs, cut, escape
from windlass.cli.values import Span, by_option, note_option, person
from windlass.errors import InvalidInput, NotFound
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Key, Role
from windlass.model.duration import between, to_duration
from windlass.model.time import Instant
from windlass.rules.access import hash_secret, make_token
from windlass.rules.api_keys import Standing, describe_key, standing
from windlass.rules.limits import check_queue
from windlass.runtime import secret_bytes

DIM = "bright_black"
STYLES = {Standing.LIVE: "green", Standing.EXPIRED: "yellow", Standing.REVOKED: DIM}
PREFIX = re.compile("key_[0-9A-HJKMNP-TV-Z]{1,26}")
WIDE = 160  # from here on there is room for whole ids
PADDING = 2
SHORTEST_NOTE = 10

NONE_YET = (
    "No keys yet, so nobody comes in over the network. Make one:",
    "  for a worker:             windlass keys create --role worker",
    "  for a program that asks:  windlass keys create --role client",
    "  for yourself:             windlass keys create --role admin --namespace '*'",
)


@click.group(invoke_without_command=True, short_help="List API keys; make one, revoke one.")
@shared_options
@click.pass_context
def keys(ctx: click.Context, /) -> None:
    """List the keys with which programs and people come in over the network, the newest first.

    Of every namespace, unless --namespace names one. The secrets are kept nowhere, so they cannot be shown again.
    """
    if ctx.invoked_subcommand is None:
        _list(ctx.ensure_object(Session))


@keys.command(name="list", short_help="List keys: what `windlass keys` does.")
@shared_options
@click.pass_obj
def list_keys(session: Session, /) -> None:
    """List keys, the newest first: of every namespace, unless --namespace names one."""
    _list(session)


@keys.command(short_help="Make a key, and show its token once.")
@click.option(
    "--role", "roles", type=click.Choice([role.value for role in Role]), multiple=True, required=True,
    help="What it allows; may be given several times.",
)  # fmt: skip
@click.option(
    "--queue", "queues", type=Text(check_queue), multiple=True,
    help="The only queue its workers may serve; may be given several times.",
)  # fmt: skip
@click.option("--expires", type=Span(allow_zero=False), help='After how long it ends: "90d".  [default: never]')
@by_option
@note_option
@shared_options
@click.pass_obj
def create(
    session: Session,
    /,
    *,
    roles: tuple[str, ...],
    queues: tuple[str, ...],
    expires: str | None,
    by: str | None,
    note: str | None,
) -> None:
    """Make a key and print its token, this once: only a hash of it is kept.

    It is good for one namespace; --namespace '*' makes one that is good for all of them. The token alone goes to the
    standard output.
    """
    secret = secret_bytes()

    async def make(opened: Opened) -> tuple[Key, str]:
        command = CreateKey(
            id=opened.ids.key(),
            namespace=session.wide_namespace or session.namespace,
            roles=tuple(map(Role, roles)),
            secret_hash=hash_secret(secret),
            queues=queues,
            note=note,
            expires_for=None if expires is None else to_duration(expires),
            by=person(by),
        )
        return await opened.access.create_key(command), make_token(command.id, secret)

    key, token = session.change(make)
    if session.is_json:
        session.screen.write_json({**records.key(key, now=session.now()), "token": token})
        return
    lasts = "It does not expire." if key.expires_at is None else f"It expires in {_left(key, now=session.now())}."
    click.echo(f"Key {key.id}: {escape(describe_key(key))}. {lasts} This is its token, shown only now:", err=True)
    session.screen.write(f"{token}\n")
    click.echo("Give it to whoever is to use it, as WINDLASS_TOKEN in their environment.", err=True)


@keys.command(short_help="Let nobody in with a key any more.")
@click.argument("key", metavar="KEY", type=Text(lambda text: check_prefix(text)))
@by_option
@shared_options
@click.pass_obj
def revoke(session: Session, /, key: str, *, by: str | None) -> None:
    """Let nobody in with this key any more. It cannot be taken back; make a new key instead.

    KEY is the id of a key or the beginning of it.
    """

    async def end(opened: Opened) -> tuple[Key, Key]:
        before = await _meant(opened.access, key)
        return before, await opened.access.revoke_key(before.id, person(by))

    before, after = session.change(end)
    if session.is_json:
        session.screen.write_json(records.key(after, now=session.now()))
        return
    what = "is revoked: a server that has let it in ends that within seconds"
    if before.revoked_at is not None:
        what = f"was revoked {between(before.revoked_at, session.now())} ago"
    session.screen.write(session.screen.draw_whole(Line(f"{after.id} ({escape(describe_key(after))}) {what}.")))


def check_prefix(text: str) -> str:
    """The beginning of a key's id; "key_" itself may be left out. Never says what it refuses: it may be a token."""
    prefix = text if text.startswith("key_") else f"key_{text}"
    if PREFIX.fullmatch(prefix) is None:
        raise InvalidInput(
            'This is no id of a key: "key_" and 26 digits and capital letters, or the beginning of that. '
            "A token stays where it is; see the ids: windlass keys",
            reason="invalid_id",
            path="KEY",
        )
    return prefix


async def _meant(access: Access, prefix: str) -> Key:
    found = [key for key in await access.list_keys() if key.id.startswith(prefix)]
    if not found:
        name = "key" if len(prefix) == ID_LENGTH else "key that begins with"
        raise NotFound(name, prefix, hint="See which there are: windlass keys")
    if len(found) > 1:
        names = ", ".join(key.id for key in found[:SHOWN_CANDIDATES]) + (", …" if len(found) > SHOWN_CANDIDATES else "")
        raise InvalidInput(
            f"Several keys begin with {prefix!r}: {names}. Write more of the id.", reason="ambiguous_id", path="KEY"
        )
    return found[0]


def _list(session: Session) -> None:
    found = session.read(lambda opened: opened.access.list_keys(session.wide_namespace))
    if session.is_json:
        session.screen.write_json({"keys": [records.key(item, now=session.now()) for item in found]})
        return
    screen = session.screen
    if not found:
        lines: Sequence[str] = NONE_YET
        if session.wide_namespace is not None:
            lines = (f"No key is made for namespace {session.wide_namespace!r} alone. All there are: windlass keys",)
            session.given_namespace = None  # which the advice is to leave out
        screen.write(screen.draw_whole(*(Line(escape(session.advise(line)), style=DIM) for line in lines)))
        return
    width = screen.width if screen.is_terminal else UNLIMITED
    screen.write(screen.draw(table(found, now=session.now(), width=width, glyphs=screen.glyphs), width=UNLIMITED))


def table(found: Sequence[Key], *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per key. Where there is little room, ids are as long as it takes to tell them apart."""
    length = None if width >= WIDE else shortest([key.id for key in found])
    columns: dict[str, list[Line]] = {
        "id": [Line(key.id[:length]) for key in found],
        "status": [Line(standing(key, now=now).value, style=STYLES[standing(key, now=now)]) for key in found],
        "roles": [Line(", ".join(key.roles), style="bold") for key in found],
        "namespace": [Line("all" if key.namespace == EVERY_NAMESPACE else escape(key.namespace)) for key in found],
        "queues": [Line(escape(", ".join(key.queues))) for key in found],
        "made": [Line(age(key.created_at, now=now), style=DIM) for key in found],
        "left": [Line(_left(key, now=now)) for key in found],
        "note": [Line(escape(" ".join((key.note or "").split()))) for key in found],
    }
    columns = {header: cells for header, cells in columns.items() if any(cells)}
    if "note" in columns:
        others = sum(
            max(len(header), *(cell.cell_len for cell in cells)) + PADDING
            for header, cells in columns.items()
            if header != "note"
        )
        room = max(width - others, SHORTEST_NOTE)
        columns["note"] = [Line(cut(cell.plain, room, glyphs=glyphs)) for cell in columns["note"]]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in ("made", "left") else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _left(key: Key, *, now: Instant) -> str:
    if key.expires_at is None or standing(key, now=now) is not Standing.LIVE:
        return ""
    return age(now, now=key.expires_at)

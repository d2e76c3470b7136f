"""Routes for those who look after tenants, keys and the server itself."""

from __future__ import annotations

from importlib.metadata import version

from windlass.api.checks import check
from windlass.model.access import EVERY_NAMESPACE, CreateKey, ListAudit
from windlass.model.duration import to_duration
from windlass.model.namespace import CreateNamespace
from windlass.rules.limits import check_key_id, check_namespace, check_person
from windlass.server.http import asked, telling, told, told_of_server
from windlass.server.http.calls import NAMESPACE, Call, Kind, Row

NAMESPACES = "/v1/namespaces"
KEYS = "/v1/keys"


async def list_namespaces(call: Call) -> told_of_server.NamespacesAnswer:
    after = None if call.query.after is None else check_namespace(call.query.after, what="after")
    page = await call.service.namespaces.list_namespaces(after, call.query.limit)
    found = [telling.namespace(namespace) for namespace in page.namespaces]
    return told_of_server.NamespacesAnswer(namespaces=found, next=page.next)


async def create_namespace(call: Call) -> told_of_server.NamespaceDetail:
    command = check(CreateNamespace(name=call.body.name, note=call.body.note))
    return telling.namespace(await call.service.namespaces.create_namespace(command))


async def get_namespace(call: Call) -> told_of_server.NamespaceDetail:
    return telling.namespace(await call.service.namespaces.get_namespace(call.namespace))


async def enable_namespace(call: Call) -> told_of_server.NamespaceDetail:
    return telling.namespace(await call.service.namespaces.set_enabled(_named(call), is_enabled=True))


async def disable_namespace(call: Call) -> told_of_server.NamespaceDetail:
    return telling.namespace(await call.service.namespaces.set_enabled(_named(call), is_enabled=False))


async def delete_namespace(call: Call) -> told.DoneAnswer:
    await call.service.namespaces.delete_namespace(_named(call))
    return told.DoneAnswer(is_done=True)


def _named(call: Call) -> str:
    return check_namespace(call.path["namespace"])


async def list_keys(call: Call) -> told_of_server.KeysAnswer:
    namespace = call.query.namespace
    if namespace is not None and namespace != EVERY_NAMESPACE:
        namespace = check_namespace(namespace)
    keys = await call.service.access.list_keys(namespace)
    return told_of_server.KeysAnswer(keys=[telling.key(key) for key in keys])


async def create_key(call: Call) -> told_of_server.KeyDetail:
    wanted: asked.KeyRequest = call.body
    namespace = wanted.namespace
    command = CreateKey(
        id=check_key_id(wanted.id),
        namespace=namespace if namespace == EVERY_NAMESPACE else check_namespace(namespace),
        roles=tuple(dict.fromkeys(wanted.roles)),
        secret_hash=bytes.fromhex(wanted.secret_sha256),
        queues=tuple(wanted.queues),
        note=wanted.note,
        expires_for=None if wanted.expires_secs is None else to_duration(wanted.expires_secs, what="expires_secs"),
        by=wanted.by,
    )
    return telling.key(await call.service.access.create_key(check(command)))


async def revoke_key(call: Call) -> told_of_server.KeyDetail:
    id = check_key_id(call.path["key_id"])
    return telling.key(await call.service.access.revoke_key(id, by=check_person(call.body.by)))


async def list_audit(call: Call) -> told.AuditAnswer:
    query = ListAudit(namespace=call.namespace, before=call.query.before, limit=call.query.limit)
    page = await call.service.access.list_audit(check(query))
    return told.AuditAnswer(entries=[telling.audit(entry) for entry in page.entries], next=page.next)


async def check_up(call: Call) -> told_of_server.CheckupAnswer:
    return telling.checkup(await call.service.admin.check_up())


async def server_info(call: Call) -> told_of_server.ServerAnswer:
    caller = call.caller
    return told_of_server.ServerAnswer(
        version=version("windlass"), key=caller.key, namespace=caller.namespace, roles=list(caller.roles)
    )


ROWS = (
    Row(
        method="GET",
        path=NAMESPACES,
        operation="list_namespaces",
        summary="Namespaces by name, page by page.",
        handler=list_namespaces,
        query=asked.NamespacesQuery,
        answer=told_of_server.NamespacesAnswer,
    ),
    Row(
        method="POST",
        path=NAMESPACES,
        operation="create_namespace",
        summary="Create a namespace.",
        handler=create_namespace,
        body=asked.NamespaceRequest,
        answer=told_of_server.NamespaceDetail,
    ),
    Row(
        method="GET",
        path=NAMESPACE,
        operation="get_namespace",
        op="namespaces.get",
        summary="A namespace.",
        handler=get_namespace,
        answer=told_of_server.NamespaceDetail,
    ),
    Row(
        method="DELETE",
        path=NAMESPACE,
        operation="delete_namespace",
        summary="Delete a namespace that is disabled and has nothing but its log in it.",
        handler=delete_namespace,
        answer=told.DoneAnswer,
    ),
    Row(
        method="POST",
        path=f"{NAMESPACE}/enable",
        operation="set_enabled",
        id="enable_namespace",
        summary="Let runs be started, claimed and fired in it again.",
        handler=enable_namespace,
        body=asked.NothingRequest,
        answer=told_of_server.NamespaceDetail,
    ),
    Row(
        method="POST",
        path=f"{NAMESPACE}/disable",
        operation="set_enabled",
        id="disable_namespace",
        summary="Nothing is started, claimed or fired in it until it is enabled. What is in it stays.",
        handler=disable_namespace,
        body=asked.NothingRequest,
        answer=told_of_server.NamespaceDetail,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/audit",
        operation="list_audit",
        op="audit.list",
        summary='What callers from outside did, the newest first. Of namespace "*": what belongs to none.',
        handler=list_audit,
        query=asked.AuditQuery,
        answer=told.AuditAnswer,
    ),
    Row(
        method="GET",
        path=KEYS,
        operation="list_keys",
        summary="Keys, the newest first, revoked ones too.",
        handler=list_keys,
        query=asked.KeysQuery,
        answer=told_of_server.KeysAnswer,
    ),
    Row(
        method="POST",
        path=KEYS,
        operation="create_key",
        summary="Enter a key. Whoever asks has made its secret, and sends the hash.",
        handler=create_key,
        body=asked.KeyRequest,
        answer=told_of_server.KeyDetail,
    ),
    Row(
        method="POST",
        path=f"{KEYS}/{{key_id}}/revoke",
        operation="revoke_key",
        summary="From now on nobody gets in with it.",
        handler=revoke_key,
        body=asked.PersonRequest,
        answer=told_of_server.KeyDetail,
    ),
    Row(
        method="GET",
        path="/v1/checkup",
        operation="check_up",
        summary="Look whether the database is in order. Reads whole tables.",
        handler=check_up,
        answer=told_of_server.CheckupAnswer,
    ),
    Row(
        method="GET",
        path="/v1/server",
        operation="server_info",
        op="server.info",
        summary="Which server this is, and who asks.",
        handler=server_info,
        answer=told_of_server.ServerAnswer,
    ),
    Row(
        method="GET",
        path="/metrics",
        operation="read_metrics",
        summary="Counters of this server, as Prometheus reads them.",
        kind=Kind.TEXT,
    ),
    Row(
        method="GET",
        path="/openapi.json",
        operation="server_info",
        id="read_openapi",
        summary="This document.",
        kind=Kind.DOCUMENT,
    ),
    Row(
        method="GET",
        path="/v1/socket/schema",
        operation="server_info",
        id="read_socket_schema",
        summary="JSON schemas of the frames of the WebSocket.",
        kind=Kind.DOCUMENT,
    ),
    Row(
        method="GET",
        path="/healthz",
        operation=None,
        id="healthz",
        summary="The process lives.",
        answer=told_of_server.HealthAnswer,
    ),
    Row(
        method="GET",
        path="/readyz",
        operation=None,
        id="readyz",
        summary="The server can be asked: its database answers.",
        answer=told_of_server.HealthAnswer,
    ),
)

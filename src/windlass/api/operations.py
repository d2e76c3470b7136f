"""Everything that can be asked from outside, and who may ask it: the one table behind every door.

A method of gRPC, a route of HTTP and a message of the WebSocket each name one of these, and the gate asks this table.
What stands in none of its rows cannot be reached.
"""

from __future__ import annotations

from msgspec import Struct

from windlass.model.access import Role

READERS = frozenset({Role.VIEWER, Role.CLIENT, Role.OPERATOR, Role.ADMIN})
CALLERS = frozenset({Role.CLIENT, Role.OPERATOR, Role.ADMIN})
OPERATORS = frozenset({Role.OPERATOR, Role.ADMIN})
WORKERS = frozenset({Role.WORKER, Role.ADMIN})
ADMINS = frozenset({Role.ADMIN})
EVERYONE = frozenset(Role)


class Operation(Struct, frozen=True):
    name: str
    roles: frozenset[Role]
    changes: bool = False  # something in a namespace: refused while that is disabled
    of_namespace: bool = True  # false: about all of them, so only a key for all of them will do


_ROWS = (
    # runs
    Operation("start_runs", CALLERS, changes=True),
    Operation("get_run", READERS),
    Operation("find_run", READERS),
    Operation("list_runs", READERS),
    Operation("list_steps", READERS),
    Operation("list_messages", READERS),
    Operation("read_log", READERS),
    Operation("explain_run", READERS),
    Operation("wait_for_result", READERS),
    Operation("list_workers", READERS),
    Operation("list_queues", READERS),
    # control
    Operation("send_event", CALLERS, changes=True),
    Operation("decide", CALLERS, changes=True),
    Operation("cancel_run", CALLERS, changes=True),
    Operation("retry_run", CALLERS, changes=True),
    Operation("pause_run", CALLERS, changes=True),
    Operation("resume_run", CALLERS, changes=True),
    Operation("set_gate", OPERATORS, changes=True),
    Operation("list_gates", READERS),
    Operation("drain_worker", OPERATORS, changes=True),
    Operation("move_cursor", OPERATORS, changes=True),
    Operation("drop_cursor", OPERATORS, changes=True),
    # schedules
    Operation("declare", OPERATORS, changes=True),
    Operation("put_schedule", OPERATORS, changes=True),
    Operation("get_schedule", READERS),
    Operation("list_schedules", READERS),
    Operation("read_schedule_log", READERS),
    Operation("pause_schedule", OPERATORS, changes=True),
    Operation("resume_schedule", OPERATORS, changes=True),
    Operation("trigger_schedule", OPERATORS, changes=True),
    Operation("delete_schedule", OPERATORS, changes=True),
    # graphs, which are started and steered as runs
    Operation("list_graphs", READERS),
    Operation("get_graph", READERS),
    Operation("list_jobs", READERS),
    # pipelines
    Operation("publish", CALLERS, changes=True),
    Operation("list_pipelines", READERS),
    Operation("get_pipeline", READERS),
    Operation("list_handler_runs", READERS),
    Operation("get_handler_run", READERS),
    Operation("list_topics", READERS),
    Operation("list_events", READERS),
    Operation("list_inputs", READERS),
    Operation("trace_input", READERS),
    Operation("explain_pipeline", READERS),
    Operation("list_open_effects", READERS),
    Operation("declare_pipelines", OPERATORS, changes=True),
    Operation("pause_pipeline", OPERATORS, changes=True),
    Operation("resume_pipeline", OPERATORS, changes=True),
    Operation("run_now", OPERATORS, changes=True),
    Operation("retry_pipeline", OPERATORS, changes=True),
    Operation("decide_handler", CALLERS, changes=True),
    Operation("resolve_effect", CALLERS, changes=True),
    Operation("skip_input", OPERATORS, changes=True),
    # work items and signals
    Operation("create_item", CALLERS, changes=True),
    Operation("get_item", READERS),
    Operation("list_items", READERS),
    Operation("read_item_log", READERS),
    Operation("transition_item", CALLERS, changes=True),
    Operation("delete_item", CALLERS, changes=True),
    Operation("add_task", CALLERS, changes=True),
    Operation("end_task", CALLERS, changes=True),
    Operation("create_signal", CALLERS, changes=True),
    Operation("get_signal", READERS),
    Operation("list_signals", READERS),
    Operation("read_signal_log", READERS),
    Operation("update_signal", CALLERS, changes=True),
    Operation("steer_signal", CALLERS, changes=True),
    Operation("delete_signal", CALLERS, changes=True),
    Operation("declare_signals", OPERATORS, changes=True),
    Operation("list_firings", READERS),
    Operation("explain_signal", READERS),
    Operation("follow_signals", OPERATORS),
    # work
    Operation("claim_pipelines", WORKERS, changes=True),
    Operation("read_events", WORKERS),
    Operation("reserve_events", WORKERS),
    Operation("begin_effect", WORKERS),
    Operation("apply_effect", WORKERS),
    Operation("commit_handler", WORKERS),
    Operation("stop_handler", WORKERS),
    Operation("reconcile_effect", WORKERS),
    Operation("fail_effect", WORKERS),
    Operation("fix_handler", WORKERS),
    Operation("renew_pipeline", WORKERS),
    Operation("release_pipeline", WORKERS),
    Operation("register_worker", WORKERS, changes=True),
    Operation("heartbeat", WORKERS),
    Operation("drain_self", WORKERS),
    Operation("deregister_worker", WORKERS),  # and what a worker gives back is given back, whatever is disabled
    Operation("listen", WORKERS),
    Operation("read_history", WORKERS),
    Operation("claim_runs", WORKERS, changes=True),
    Operation("begin_steps", WORKERS),
    Operation("complete_steps", WORKERS),
    Operation("suspend_run", WORKERS),
    Operation("finish_runs", WORKERS),
    Operation("hold_run", WORKERS),
    Operation("release_run", WORKERS),
    Operation("renew_claim", WORKERS),
    Operation("renew_claims", WORKERS),
    Operation("look_at_claims", WORKERS),
    Operation("send_to_child", WORKERS),
    Operation("cancel_child", WORKERS),
    Operation("add_jobs", WORKERS),
    Operation("read_needs", WORKERS),
    # what happens
    Operation("read_feed", READERS),
    # tenants and keys
    Operation("get_namespace", READERS),
    Operation("list_namespaces", READERS, of_namespace=False),
    Operation("create_namespace", ADMINS, of_namespace=False),
    Operation("set_enabled", ADMINS, of_namespace=False),
    Operation("delete_namespace", ADMINS, of_namespace=False),
    Operation("create_key", ADMINS, of_namespace=False),
    Operation("list_keys", ADMINS, of_namespace=False),
    Operation("revoke_key", ADMINS, of_namespace=False),
    Operation("list_audit", OPERATORS),
    # the server itself
    Operation("check_up", ADMINS, of_namespace=False),
    Operation("read_metrics", READERS, of_namespace=False),
    Operation("server_info", EVERYONE),
    Operation("reflect", EVERYONE),
)

OPERATIONS = {row.name: row for row in _ROWS}

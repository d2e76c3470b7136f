"""Which invariants are checked, by which function; and what two databases must agree on.

`judge(evidence)` is every complaint of every checker, each under its number: an empty list is the pass condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.invariants import (
    claims,
    control,
    graphs,
    piped_rows,
    pipelines,
    retention,
    runs,
    schedules,
    signals,
    steps,
    waits,
)
from tests.invariants.evidence import Evidence, PipedRows, Snapshot, WatchedRows
from tests.invariants.retention import with_the_removed
from windlass.model.step import StepKind


def database_is_sound(evidence: Evidence) -> list[str]:
    """I-65: the files are whole, and no row contradicts another."""
    return [
        *(f"life {snapshot.life}: {text}" for snapshot in evidence.snapshots for text in snapshot.damage),
        *(
            f"life {snapshot.life}: {item.rule}: {item.subject}"
            for snapshot in evidence.snapshots
            for item in snapshot.inconsistencies
        ),
    ]


CHECKERS: Mapping[str, Callable[[Evidence], list[str]]] = {
    "I-01": steps.completed_steps_are_never_run_again,
    "I-02": steps.steps_complete_once,
    "I-03": steps.every_execution_is_explained,
    "I-04": steps.final_failures_are_never_run_again,
    "I-05": steps.mismatches_change_nothing,
    "I-06": steps.replays_see_the_same_values,
    "I-07": steps.sleeps_are_slept_once,
    "I-08": runs.accepted_runs_end_or_say_what_they_wait_for,
    "I-09": runs.terminal_is_absorbing,
    "I-10": runs.statuses_form_a_path,
    "I-11": runs.inputs_never_change,
    "I-12": runs.acknowledged_runs_survive,
    "I-13": control.cancelled_once_and_nothing_after,
    "I-14": waits.children_are_created_once_and_awaited,
    "I-15": runs.attempts_are_counted,
    "I-16": steps.retries_keep_to_their_policy,
    "I-17": claims.tokens_only_grow,
    "I-18": claims.old_tokens_write_nothing,
    "I-19": claims.lost_claims_are_dropped,
    "I-20": claims.only_the_holder_renews,
    "I-21": claims.claims_end_by_the_stores_clock,
    "I-23": claims.claims_go_by_priority,
    "I-24": control.nothing_is_claimed_behind_a_closed_gate,
    "I-25": claims.graceful_stops_leave_nothing_behind,
    "I-26": graphs.jobs_begin_when_their_needs_are_over,
    "I-27": graphs.jobs_are_dispatched_once,
    "I-28": graphs.skips_follow_from_the_ends_of_others,
    "I-29": graphs.no_job_is_stuck,
    "I-30": graphs.accepted_graphs_can_be_worked_through,
    "I-31": graphs.unresolved_groups_are_not_empty_ones,
    "I-32": graphs.jobs_are_given_what_their_upstreams_left,
    "graphs": graphs.graphs_end_with_their_last_job,
    "I-33": pipelines.published_events_are_kept,
    "I-34": pipelines.events_are_consumed_once,
    "I-35": pipelines.reservations_belong_to_whoever_holds_the_pipeline,
    "I-37": pipelines.phases_only_go_forward,
    "I-38": pipelines.effects_are_called_once,
    "I-39": pipelines.ledger_and_attempts_agree,
    "doubt": pipelines.nobody_asks_while_somebody_may_be_inside,
    "I-41": pipelines.pipelines_end_at_rest,
    "I-44": pipelines.pipelines_form_a_path,
    "I-45": pipelines.states_advance_with_events,
    "I-33 by rows": piped_rows.events_are_replaced_and_never_reset,
    "I-36 by rows": piped_rows.what_is_reserved_is_what_was_chosen,
    "I-37 by rows": piped_rows.attempts_that_are_over_stay_so,
    "I-39 by rows": piped_rows.no_effect_is_begun_again_that_may_have_happened,
    "I-40 by rows": piped_rows.only_committed_attempts_have_published,
    "I-41 by rows": piped_rows.what_is_free_is_looked_at_in_time,
    "I-42 by rows": piped_rows.nothing_begins_without_a_reason,
    "I-43 by rows": piped_rows.wakes_are_replaced_by_their_consumer,
    "I-44 by rows": piped_rows.one_attempt_is_active,
    "I-45 by rows": piped_rows.times_of_producers_move_with_their_runs,
    "I-46": signals.one_firing_for_each_cause,
    "I-47": signals.firings_are_done_and_announced_together,
    "I-48": signals.once_is_once,
    "I-49": signals.nothing_that_counts_is_skipped,
    "effects of signals": signals.effects_and_firings_agree,
    "examined log": signals.the_log_is_examined_forward,
    "tokens of firings": signals.old_tokens_change_no_firing,
    "fired and lost": signals.nothing_fired_is_lost,
    "I-50": schedules.slots_are_fired_once,
    "I-51": schedules.every_slot_is_accounted_for,
    "I-52": schedules.slots_are_those_of_the_definition,
    "I-53": schedules.nothing_is_fired_that_is_over,
    "I-54": schedules.runs_overlap_where_they_may,
    "I-55": schedules.slots_follow_each_other_whatever_the_clock_does,
    "I-64": retention.only_what_is_over_and_old_is_removed,
    "retries": control.retries_create_one_run,
    "I-57": control.deeds_are_done_once,
    "events": waits.events_are_received_once,
    "I-65": database_is_sound,
}


def judge(evidence: Evidence) -> list[str]:
    whole = with_the_removed(evidence) if evidence.keep_for is not None or evidence.limits else evidence
    return [
        f"{number} {complaint}"
        for number, check in CHECKERS.items()
        for complaint in check(evidence if number == "I-64" else whole)
    ]


def stores_agree(one: Snapshot, other: Snapshot) -> list[str]:
    """I-60: the same story leaves the same behind on every database, names and numbers of rows aside."""
    left, right = normalised(one), normalised(other)
    return [
        f"{what}: {left.get(what)!r} on one, {right.get(what)!r} on the other"
        for what in sorted(left.keys() | right.keys())
        if left.get(what) != right.get(what)
    ]


def normalised(snapshot: Snapshot) -> dict[str, Any]:
    """Everything observable, with ids and workers replaced by their place, and the log numbered by run."""
    names: dict[str, str] = {}
    # A start key outlives its run, and still names it.
    for place, run_id in enumerate(sorted({*snapshot.runs, *(key.run_id for key in snapshot.keys)}), start=1):
        names[run_id] = f"run {place}"
    for place, run_id in enumerate(sorted(snapshot.piped.runs), start=1):
        names[run_id] = f"attempt {place}"
    for place, worker in enumerate(sorted(worker.id for worker in snapshot.workers), start=1):
        names[worker] = f"worker {place}"
    names |= _names_of_watched(snapshot)
    found: dict[str, Any] = {}
    for row in snapshot.rows:
        found[names[row.run.id]] = plain = _plain(row, names)
        plain["run"]["poll"] = 0  # how often a worker asked is its own affair
    for payload in snapshot.payload_rows:
        found[f"{names.get(payload.run_id, payload.run_id)} payload"] = _plain(payload, names)
    for step in snapshot.steps:
        found[f"{names.get(step.run_id, step.run_id)} {step.key} {step.attempt}"] = plain = _plain(step, names)
        if step.kind is StepKind.CHILD and snapshot.runs[step.awaits or ""].parent_step != step.key:
            plain["input_hash"] = ""  # of a child that was started before: made of its id
    for run_id, entries in snapshot.histories.items():
        for place, entry in enumerate(entries):
            found[f"{names.get(run_id, run_id)} log {place}"] = _plain(entry, names) | {"seq": place}
    return found | _beside_runs(snapshot, names)


def _beside_runs(snapshot: Snapshot, names: Mapping[str, str]) -> dict[str, Any]:
    keys = {f"key {key.key}": _plain(key, names) for key in snapshot.keys}
    messages = {
        f"{names.get(message.run_id, message.run_id)} message {message.seq}": _plain(message, names)
        for message in snapshot.messages
    }
    gates = {f"gate {gate.kind} {gate.name}": _plain(gate, names) for gate in snapshot.gates}
    schedules = {f"schedule {schedule.name}": _plain(schedule, names) for schedule in snapshot.schedules}
    unlike = {"host": "", "pid": 0, "lock": ""}
    workers = {names[worker.id]: _plain(worker, names) | unlike for worker in snapshot.workers}
    graphs = {f"graph {names[graph.id]}": _plain(graph, names) for graph in snapshot.graphs}
    jobs = {f"job {names[row.graph]} {row.job.name}": _plain(row.job, names) for row in snapshot.job_rows}
    for job in jobs.values():
        job["run"] = names.get(job["run"]["id"], "")  # it stands by itself
    edges = {
        f"edge {names[row.graph]} {row.edge.job} {row.edge.upstream}": _plain(row.edge, names)
        for row in snapshot.edge_rows
    }
    return (
        keys
        | messages
        | gates
        | schedules
        | workers
        | graphs
        | jobs
        | edges
        | _in_pipelines(snapshot.piped, names)
        | _watched(snapshot.watched, names)
    )


def _in_pipelines(piped: PipedRows, names: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pipeline in piped.pipelines.values():
        found[f"pipeline {pipeline.name}"] = _plain(pipeline, names) | {"poll": 0}
    for handler in piped.handlers:
        found[f"handler {handler.handler.pipeline} {handler.handler.name}"] = _plain(handler, names)
    for row in piped.run_rows:
        found[names[row.run.id]] = _plain(row, names)
    for event in piped.event_rows:
        found[f"event {event.pipeline} {event.event.seq}"] = _plain(event, names)
    for effect in piped.effects:
        place = f"effect {names.get(effect.owner, effect.owner)} {effect.step_key} {effect.attempt}"
        found[place] = _plain(effect, names)
    return found | {f"cause {cause}": True for cause in piped.causes}


def _names_of_watched(snapshot: Snapshot) -> dict[str, str]:
    """Causes are numbers of the log, which differ: firings are known by their order. What was deleted is still told of.

    The id of a firing begins with that of its signal, and is to be found before it.
    """
    watched = snapshot.watched
    firings = {*watched.firings, *(task.firing_id for task in watched.tasks if task.firing_id is not None)}
    names: dict[str, str] = {}
    for place, id in enumerate(sorted(firings, key=lambda id: (id.partition(".")[0], int(id.partition(".")[2])))):
        names[id] = f"firing {place + 1}"
    names |= {row.id: f"task {place}" for place, row in enumerate(watched.tasks, start=1)}
    rows: dict[str, set[str]] = {"item": {row.id for row in watched.items}, "signal": {*watched.signals}}
    for kind, ids in rows.items():
        told = {entry.subject_id for entry in snapshot.log if entry.subject_kind == kind}
        names |= {id: f"{kind} {place}" for place, id in enumerate(sorted(told | ids), start=1)}
    return names


def _watched(watched: WatchedRows, names: Mapping[str, str]) -> dict[str, Any]:
    found = {names[item.id]: _plain(item, names) for item in watched.items}
    found |= {names[task.id]: _plain(task, names) for task in watched.tasks}
    for signal in watched.signal_rows:
        found[names[signal.id]] = _plain(signal, names) | {"armed_xid": 0, "armed_seq": 0}
    for firing in watched.firing_rows:
        cause = firing.cause if firing.subject_kind == "time" else ""
        found[names[firing.id]] = _plain(firing, names) | {"cause": cause, "worker": ""}
    return found


def _plain(row: Any, names: Mapping[str, str]) -> dict[str, Any]:
    plain = msgspec.to_builtins(row, builtin_types=(bytes,))
    renamed: dict[str, Any] = _renamed(plain, names)
    return renamed


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items() if key != "traceback"}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, bytes):  # the id of a child is the result of the step that started it
        return _renamed(value.decode("latin-1"), names)
    if not isinstance(value, str):
        return value
    for id, name in names.items():  # also inside messages
        value = value.replace(id, name)
    return value

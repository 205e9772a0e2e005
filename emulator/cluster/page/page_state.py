"""The state that the live page shows, from a cluster's status. Pure.

Lists of the status that change in parts are objects here, by the name of each part, so that a change of one is a small
delta (`state_deltas`). Numbers that change without a meaning for a reader are left out: the metrics, and the requests
that wait in purgatories.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

PARTITIONS_MAX: Final = 200
FAULTS_MAX: Final = 64
"""Faults shown: all in force, then the newest that were healed."""
NODE_FIELDS: Final = (
    "alive", "paused", "answered", "incarnation", "az", "roles", "is_controller", "controller_epoch", "controller",
    "session", "ensemble", "quorum", "workloads", "groups", "hardware", "queued",
)  # fmt: skip
QUORUM_FIELDS: Final = ("state", "epoch", "leader", "voters", "broker_state", "fenced")


def page_state(
    status: Mapping[str, Any],
    run_id: str,
    logs: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    story: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The state of the page.

    `status`: as `faultline status --json` prints it. `logs`: {partition: {node: its newest batches}}. `story`: see
    `story_steps`.
    """
    cluster = status["cluster"]
    places = list(status["partitions"])
    return {
        "run": {
            "id": run_id, "name": cluster["name"], "directory": cluster["run"], "kafka": cluster["kafka"],
            "speed": cluster["speed"], "engine": cluster["engine"], "ready": cluster["ready"],
            "lacking": cluster["lacking"], "partitions": len(places),
        },
        "nodes": {name: _node(node) for name, node in status["nodes"].items()},
        "partitions": {place: dict(status["partitions"][place]) for place in places[:PARTITIONS_MAX]},
        "links": {f"{link['from']} {link['to']}": link for link in status["links"]},
        "faults": {fault["id"]: fault for fault in _faults(status["faults"])},
        "logs": {place: dict(nodes) for place, nodes in logs.items()},
        "findings": [dict(finding) for finding in findings],
        "story": list(story),
    }  # fmt: skip


def replicas_in(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(partition, node) of every replica that a broker reports."""
    return [(place, node) for place, nodes in status["partitions"].items() for node in nodes]


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: node[name] for name in NODE_FIELDS}
    if shown["quorum"] is not None:
        shown["quorum"] = {name: shown["quorum"][name] for name in QUORUM_FIELDS}
    if shown["ensemble"] is not None:
        shown["ensemble"] = {name: shown["ensemble"][name] for name in ("role", "serving", "epoch")}
    threads = [one for one in node["waiting"] if one["since_ms"] >= 0.0]
    shown["waiting"] = [f"{one['does']} waits for {one['waits_for']}" for one in threads[:4]]
    return shown


def _faults(faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lasting = [fault for fault in faults if fault["healed_ms"] is None]
    ended = [fault for fault in faults if fault["healed_ms"] is not None]
    room = max(0, FAULTS_MAX - len(lasting))
    return [*ended[len(ended) - min(room, len(ended)) :], *lasting[-FAULTS_MAX:]]

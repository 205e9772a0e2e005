"""A consumer dies: the text of that scenario, and when others have its partitions. Pure.

The group's coordinator waits `session.timeout.ms` for a heartbeat, then it lets the others join again
(GroupCoordinator.onExpireHeartbeat).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.advice_workload import RATE, started, text_of_steps
from emulator.judging.advice.single_faults import MARGIN_S, Step
from protocol.events import GroupMemberChanged, MachineFault

HEAD: Final = "# Written by faultline plan timeouts; play it with the settings under test.\n"
TOPIC: Final = "shared"
GROUP: Final = "readers"
STEADY_S: Final = 12
"""Time in which a new group has joined.

Its first rebalance waits 3 s; members that come later join in another one.
"""
PARTITIONS_OF_A_MEMBER: Final = 2


def takeover_text(
    cluster: Cluster, version: str, replicas: int, left_open: Mapping[str, Any], session_timeout_ms: int
) -> str:
    """The scenario. The client of the last AZ dies; the session's end is waited for."""
    settings = {**cluster.settings, **left_open}
    steps = _steps(cluster, version, replicas, session_timeout_ms)
    return HEAD + text_of_steps("consumer-dies", "a consumer of a group dies", version, cluster, settings, steps)


def _steps(cluster: Cluster, version: str, replicas: int, session_timeout_ms: int) -> Iterator[Step]:
    clients = cluster.names("client")
    holders = list(cluster.holders(replicas))
    yield from started(cluster)
    yield {"create-topic": {"topic": TOPIC, "assignment": [holders] * PARTITIONS_OF_A_MEMBER * len(clients)}}
    load = {"name": "members", "topic": TOPIC, "rate": RATE, "group": GROUP, "client_version": version}
    yield {"workload": {**load, "consumer_settings": {"auto.offset.reset": "earliest"}}}
    yield {"sleep": STEADY_S}
    yield {"kill": clients[-1]}
    yield {"sleep": session_timeout_ms / 1000.0 + MARGIN_S}
    yield {"start": clients[-1]}
    yield {"stop-workload": {"limit_s": 60}}
    yield {"settle": {"quiet_s": 1, "limit_s": 20}}


class Takeover(msgspec.Struct, frozen=True):
    """Outcome of a run with a candidate.

    `waited_ms`: from the consumer's death until others have all its partitions; None: they never had them, or it had
    none, which `why` says.
    """

    session_timeout_ms: int
    waited_ms: float | None
    why: str = ""


def takeover_of(session_timeout_ms: int, entries: Iterable[tuple[Any, ...]]) -> Takeover:
    """The takeover in the entries of a simulated run's trace."""
    held: dict[str, set[str]] = {}
    left: set[str] | None = None
    dead, died_ms = "", 0.0
    for node, _, _, _, at_ms, event in entries:
        match event:
            case MachineFault(what="kill", target=target):
                left, dead, died_ms = {*held.get(target, ())}, target, at_ms
                if not left:
                    return Takeover(session_timeout_ms, None, f"{target} had no partition when it died")
            case GroupMemberChanged(change="assigned", partitions=partitions):
                named = {*filter(None, partitions.split(","))}
                held.setdefault(node, set()).update(named)
                if left is not None and node != dead:
                    left -= named
                    if not left:
                        return Takeover(session_timeout_ms, round(at_ms - died_ms, 1))
            case GroupMemberChanged(change="revoked" | "lost", partitions=partitions):
                held.get(node, set()).difference_update(partitions.split(","))
            case _:
                pass
    return Takeover(session_timeout_ms, None, f"no other consumer has {', '.join(sorted(left or ()))}")

"""Machines started again: a broker until it is registered, and hints for the client."""

from collections.abc import Iterable
from typing import Any, Final

import trio

from emulator.cluster import control_requests as r
from emulator.cluster.machine_faults import last_word
from emulator.cluster.player_mailbox import PlayerMailbox
from emulator.machines.node.restarts import Roster
from emulator.runs.run_limits import session_timeout_ms
from emulator.topology import Node
from emulator.worlds.network.node_supervisor import Cluster
from protocol.events.fault_events import START_REFUSED
from protocol.kinds import ExitKind

REGISTERED_S: Final = 1.0
"""Time that `start` waits for a broker's registration by default."""
ANSWERING_S: Final = r.WAIT_S - REGISTERED_S
WITHOUT_WAIT: Final = (
    r.Ready, r.Down, r.Status, r.LinkFault, r.Heal, r.DescribeTopic, r.StartWorkload, r.WorkloadStatus,
)  # fmt: skip
"""Requests of commands that have no --wait."""
LONGER: Final = "--wait SECONDS waits longer, over HTTP wait_s=SECONDS"
SHOWN: Final = "faultline status shows what becomes of it"


class Returning:
    """Brokers that were started a moment ago."""

    def __init__(self, cluster: Cluster, mailbox: PlayerMailbox, roster: Roster) -> None:
        self._cluster = cluster
        self._mailbox = mailbox
        self._roster = roster
        self._refused: set[tuple[str, int]] = set()
        """(node, incarnation) that the session of an earlier incarnation kept from registering."""

    async def until_registered(self, started: list[dict[str, Any]], limit_s: float) -> None:
        """Set `registered` in each machine's result, and `next` if it is not registered yet.

        Raises Died.

        A broker whose last session has not expired yet dies, as Kafka's does.
        """
        brokers = {node.name: node for node in self._roster.spec.topology.with_role("broker")}
        died: list[str] = []
        async with trio.open_nursery() as nursery:
            for each in started:
                if each["node"] in brokers:
                    nursery.start_soon(self._until_registered, brokers[each["node"]], each, limit_s, died)
        if died:
            raise r.Died("; ".join(sorted(died)))

    async def _until_registered(self, node: Node, done: dict[str, Any], limit_s: float, died: list[str]) -> None:
        def ended() -> bool:
            return any(end.node == node.name and end.at_ms >= done["asked_ms"] for end in self._cluster.exits)

        done["registered"] = False
        with trio.move_on_after(limit_s):
            await self._mailbox.until(lambda: ended() or not self._registered(node))  # that is its last incarnation's
            await self._mailbox.until(lambda: ended() or self._registered(node))
            done["registered"] = self._registered(node)
        if ended():
            self._cluster.note(START_REFUSED, node.name)
            died.append(f"{node.name} started, and ended by itself: {self._why(node)}")
        elif not done["registered"]:
            done["next"] = f"{SHOWN} ({LONGER})"

    def _registered(self, node: Node) -> bool:
        return node.number in self._mailbox.player.seen.live

    def _why(self, node: Node) -> str:
        """Reason of its last end; if an earlier session caused it, the time of the next start."""
        stopped = last_word(self._cluster, node.name)
        why = stopped.reason
        if stopped.kind != ExitKind.STILL_REGISTERED:
            return why
        last = next(end for end in reversed(self._cluster.exits) if end.node == node.name)
        self._refused.add((node.name, last.incarnation))
        expires = self._expires(node)
        return f"{why}; " + (f"{expires}: then " if expires else "that is over now: ") + f"faultline start {node.name}"

    def _expires(self, node: Node) -> str:
        """Text about the expiry of its last registered incarnation's session; "" if none is left."""
        lives = [e for e in self._cluster.exits if e.node == node.name and (e.node, e.incarnation) not in self._refused]
        if not self._registered(node) or not lives:
            return ""
        spec, cluster = self._roster.spec, self._cluster
        expired_ms = lives[-1].at_ms + session_timeout_ms(spec, node.name) + spec.tick_time_ms
        left_s = max(0.0, expired_ms - cluster.now_ms()) / 1000.0 / cluster.clock.speed
        return f"it expires within {left_s:.1f} s, if the ensemble has a quorum"

    def not_ended(self, ask: r.ControlRequest, wait_s: float, starting: Iterable[str]) -> str:
        """Message of a request that takes longer than its client waits.

        `starting`: nodes being started.
        """
        so_far = f"not ended after {wait_s:g} s; it goes on"
        if isinstance(ask, WITHOUT_WAIT):
            return so_far
        if not isinstance(ask, r.Machine):
            return f"{so_far} ({LONGER})"
        text = f"{so_far}: {SHOWN} ({LONGER})"
        if ask.fault == "start":
            names = set(starting)
            brokers = [node for node in self._roster.spec.topology.with_role("broker") if node.name in names]
            for node in brokers:
                if expires := self._expires(node):
                    text += (
                        f"; {node.name} may exit because its earlier session has not expired: {expires}, "
                        f"then faultline start {node.name}"
                    )
        return text

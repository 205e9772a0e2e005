"""Protocol faults of a live cluster: from a request to a rule, and its hits.

They are rules beside those on links (`live_link_faults`), which list and heal them, too.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import trio

from emulator.cluster import control_requests as r
from emulator.cluster.control_requests import NotThere, Refused
from emulator.cluster.live_link_faults import FaultLife, LinkFaults
from emulator.cluster.name_suggestions import machines_meant, nearest, with_nodes
from emulator.worlds.network.node_supervisor import Cluster
from protocol.errors import ErrorCode, error_name
from protocol.numbers import number_in
from protocol.protocol_faults import ANSWERABLE, KAFKA_APIS, PROTOCOL_FAULT, ProtocolFault

LOOK_S: Final = 0.05
"""Interval between two looks at the counts of hits."""
ANSWERING_S: Final = 0.2
"""Time kept for the answer, of a wait for hits."""
NO_LISTENER: Final = "the brokers have no Kafka listener; start the cluster with: faultline up --kafka"


class ProtocolFaults:
    """`node_of`: the node that a target such as `leader:t-0` means now."""

    def __init__(self, cluster: Cluster, links: LinkFaults, node_of: Callable[[str], str]) -> None:
        self._cluster = cluster
        self._links = links
        self._node_of = node_of

    async def add(self, ask: r.AddProtocolFault) -> dict[str, Any]:
        """Put a fault in force. Raises Refused."""
        if not self._cluster.engine.kafka:
            raise Refused(NO_LISTENER)
        fault = ProtocolFault(
            ask.action, tuple(nearest("API", api, KAFKA_APIS) for api in ask.apis), tuple(ask.client_ids),
            self._brokers(ask.nodes), _error_of(ask), ask.delay_ms, ask.times, ask.skip,
        )  # fmt: skip
        if (ask.action == "delay") != (ask.delay_ms > 0):
            raise Refused("delay_ms: belongs to the action delay, which needs it; give both or none")
        for api in fault.apis if ask.action == "error" else ():
            if api not in ANSWERABLE:
                raise Refused(f"{api}: has no response with an error here; those that have: {', '.join(ANSWERABLE)}")
        return await self._links.apply_protocol_fault(text_of(fault), fault)

    async def status(self, ask: r.ProtocolFaultStatus, until_s: float) -> dict[str, Any]:
        """The faults in force and their hits. `reached`: all have `wait_hits`. Raises Refused."""
        until_s -= ANSWERING_S
        while True:
            await self._links.report()  # asks the brokers for their counts
            entries = [_entry(life) for life in self._chosen(ask.fault)]
            reached = all(one["hits"] >= ask.wait_hits for one in entries)
            if reached or trio.current_time() >= until_s:
                return {"protocol_faults": entries, "reached": reached}
            await trio.sleep(LOOK_S)

    async def remove(self, ask: r.RemoveProtocolFault) -> dict[str, Any]:
        """Remove a fault, or all. Raises Refused."""
        names = [life.rule.rule for life in self._chosen(ask.fault)]
        return await self._links.heal(names) if names else {"healed": [], "in_force": []}

    def _chosen(self, name: str) -> list[FaultLife]:
        lives = self._links.of_listeners()
        found = [life for life in lives if name in ("", life.rule.rule)]
        if name and not found:
            there = ", ".join(life.rule.rule for life in lives) or "none"
            raise NotThere(f"no protocol fault {name!r} is in force; in force: {there}")
        return found

    def _brokers(self, words: Sequence[str]) -> tuple[str, ...]:
        named, _ = with_nodes(words, self._node_of)
        brokers = {node.name for node in self._cluster.topology.with_role("broker")}
        meant = machines_meant(self._cluster.topology, named)
        for name, itself in meant.items():
            if itself and name not in brokers:
                raise Refused(f"{name}: is no broker; protocol faults are at {', '.join(sorted(brokers))}")
        return tuple(name for name in meant if name in brokers)


def _error_of(ask: r.AddProtocolFault) -> int:
    """Code of a name or a number. Raises Refused."""
    if (ask.action == "error") != bool(ask.error):
        raise Refused("error: belongs to the action error, which needs it; give both or none")
    if not ask.error:
        return 0
    number = number_in(ask.error.removeprefix("-"))
    known = {code.name: code for code in ErrorCode if code != ErrorCode.NONE}
    if number is None:
        return known[nearest("error", ask.error, known)]
    if (code := -number if ask.error.startswith("-") else number) not in known.values():
        raise NotThere(f"no error {ask.error}; faultline has the codes of docs/errors.md")
    return code


def text_of(fault: ProtocolFault) -> str:
    """A rule's text: `protocol-fault close of Fetch, clients app, 3 times`."""
    parts = [PROTOCOL_FAULT, fault.action]
    if fault.action == "error":
        parts.append(error_name(fault.error))
    if fault.action == "delay":
        parts.append(f"{fault.delay_ms:g}ms")
    text = f"{' '.join(parts)} of {', '.join(fault.apis)}"
    text += f", clients {', '.join(fault.client_ids)}" if fault.client_ids else ""
    text += f", at {', '.join(fault.nodes)}" if fault.nodes else ""
    text += f", after {fault.skip}" if fault.skip else ""
    return text + (f", {fault.times} times" if fault.times > 1 else "" if fault.times else ", always")


def _entry(life: FaultLife) -> dict[str, Any]:
    fault = life.rule.protocol
    assert fault is not None
    hits = {name: count for name, count in sorted(life.frames_stopped.items()) if count}
    return {
        "id": life.rule.rule,
        "rule": life.rule.what,
        "action": fault.action,
        "apis": list(fault.apis),
        "client_ids": list(fault.client_ids),
        "nodes": list(fault.nodes),
        "error": error_name(fault.error) if fault.error else "",
        "delay_ms": fault.delay_ms,
        "times": fault.times,
        "skip": fault.skip,
        "hits": sum(hits.values()),
        "hits_by_node": hits,
        "asked_ms": round(life.requested_ms, 3),
    }

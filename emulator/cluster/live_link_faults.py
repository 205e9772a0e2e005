"""Faults on the links of a live cluster: from a request to a rule, and each rule's history.

No rule is expected to stop traffic here: a user may cut an idle link, and an audit does not call that unknown.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from emulator.cluster.cluster_status import LinkFault
from emulator.cluster.control_requests import NotThere, Refused
from emulator.cluster.name_suggestions import node_named, places_in, with_nodes
from emulator.faults.link_fault_kinds import AnyLinkFault, RuleError, ends_of, with_ends
from emulator.faults.link_rule_building import UnknownWord, rule_of
from emulator.faults.targets import joined, target_in
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import ClusterError
from protocol.link_rules import LinkRule
from protocol.protocol_faults import PROTOCOL_FAULT, ProtocolFault

RULES_MAX: Final = 64
"""Limit of rules in force at a time."""
HEALED_KEPT: Final = 64
"""Limit of healed rules kept for reports; the oldest are forgotten."""


class FaultLife(msgspec.Struct):
    """One rule from its command to its heal.

    `places`: nodes, AZs and targets that the command named. `in_force_ms`, `healed_ms`: {node: time}, of the nodes that
    ran and were not paused; others apply the present rules when they return. `frames_stopped`: {node: count so far}.
    """

    rule: LinkRule
    places: tuple[str, ...]
    requested_ms: float
    in_force_ms: dict[str, float] = {}
    heal_requested_ms: float | None = None
    healed_ms: dict[str, float] = {}
    frames_stopped: dict[str, int] = {}

    def report(self, speed: float, running: Sequence[str]) -> dict[str, Any]:
        """The fields of verdict.json, and details. `..._after_ms`: real time since the command."""
        ends = {*self.in_force_ms, *self.healed_ms} if self.rule.protocol is not None else {*self.rule.a, *self.rule.b}
        at_ends = {name: at for name, at in self.in_force_ms.items() if name in ends}
        healed = {name: at for name, at in self.healed_ms.items() if name in ends}
        entry: dict[str, Any] = {
            "id": self.rule.rule,
            "rule": self.rule.what,
            "asked_ms": round(self.requested_ms, 3),
            "in_force_ms": _latest(at_ends),
            "healed_ms": _latest(healed) if self.heal_requested_ms is not None else None,
            "frames_stopped": sum(self.frames_stopped.values()),
            "took_effect": bool(at_ends),
            "healed": None if self.heal_requested_ms is None else True,
            "ends": [
                {
                    "nodes": list(nodes),
                    "in_force_ms": _latest({name: at_ends[name] for name in nodes if name in at_ends}),
                    "in_force_after_ms": _after(at_ends, nodes, self.requested_ms, speed),
                    "not_yet": [name for name in nodes if name not in at_ends and name not in running],
                    "frames_stopped": sum(self.frames_stopped.get(name, 0) for name in nodes),
                }
                for nodes in (self.rule.a, self.rule.b)
            ],
        }
        if self.heal_requested_ms is not None:
            entry["healed_after_ms"] = _after(healed, tuple(healed), self.heal_requested_ms, speed)
        return entry


def _latest(at: dict[str, float]) -> float | None:
    return round(max(at.values()), 3) if at else None


def _after(at: dict[str, float], nodes: Sequence[str], requested_ms: float, speed: float) -> float | None:
    """Real ms from the command until the last of these nodes."""
    times = [at[name] for name in nodes if name in at]
    return round((max(times) - requested_ms) / speed, 3) if times else None


class LinkFaults:
    """The rules of one cluster, those in force and the last that were healed.

    `node_of`: the node that a target such as `leader:t-0` means now."""

    def __init__(self, cluster: Cluster, node_of: Callable[[str], str]) -> None:
        self._cluster = cluster
        self._node_of = node_of
        self._count = 0
        self._lives: dict[str, FaultLife] = {}

    async def apply(self, fault: AnyLinkFault) -> dict[str, Any]:
        """Put one fault in force. Raises Refused."""
        rule_id = f"rule-{self._count + 1}"
        targets: dict[str, str] = {}
        links = with_ends(fault.links, lambda end: node_named(end, self._node_of, targets))
        meant = msgspec.structs.replace(fault, links=links, expects_traffic=False)
        try:
            rule = rule_of(self._cluster.topology, rule_id, meant)
        except UnknownWord as error:
            raise NotThere(str(error)) from error
        except RuleError as error:
            raise Refused(str(error)) from error
        places = self._places(ends_of(fault.links), ends_of(links))
        return await self._put_in_force(rule, places) | ({"targets": targets} if targets else {})

    async def apply_protocol_fault(self, what: str, fault: ProtocolFault) -> dict[str, Any]:
        """Put a fault of the Kafka listeners in force. Raises Refused."""
        rule = LinkRule(
            f"rule-{self._count + 1}", what, PROTOCOL_FAULT, expects_traffic=False, protocol=fault,
        )  # fmt: skip
        return await self._put_in_force(rule, ())

    async def _put_in_force(self, rule: LinkRule, places: tuple[str, ...]) -> dict[str, Any]:
        in_force = [life for life in self._lives.values() if life.heal_requested_ms is None]
        if len(in_force) >= RULES_MAX:
            raise Refused(f"{RULES_MAX} rules are in force, no more at a time: heal some")
        for life in in_force:
            if same(life.rule, rule):
                raise Refused(f"{life.rule.rule} does that already: {life.rule.what}")
        self._count += 1
        life = self._lives[rule.rule] = FaultLife(rule, places, self._cluster.now_ms())
        report = await self._cluster.apply(rule)
        life.in_force_ms = dict(report.in_force_ms)
        return await self._result("applied", [life])

    def _places(self, *several: Sequence[str]) -> tuple[str, ...]:
        """Targets in canonical form, nodes and AZs that the words name, each once."""
        parts = [part for words in several for part in joined(words)]
        named = (target_in(part) or "".join(places_in(self._cluster.topology, [part])) for part in parts)
        return tuple(dict.fromkeys(filter(None, named)))

    async def heal(self, words: Sequence[str], kind: str = "") -> dict[str, Any]:
        """Lift the rules at these places, or a named rule; without words all (of `kind`).

        Raises Refused.
        """
        chosen = self._chosen(words, kind)
        requested_ms = self._cluster.now_ms()
        for life in chosen:
            life.heal_requested_ms = requested_ms
        for life in chosen:
            try:
                (report,) = await self._cluster.heal(life.rule.rule)
            except ClusterError:
                continue  # not in force yet, or another request heals it
            life.healed_ms = dict(report.healed_ms)
            life.frames_stopped.update(report.frames_stopped)
        self._forget()
        return await self._result("healed", chosen)

    def of_listeners(self) -> list[FaultLife]:
        """Protocol faults in force, in the order of their commands."""
        return [
            life
            for life in self._lives.values()
            if life.rule.protocol is not None and life.heal_requested_ms is None
        ]

    async def report(self) -> list[dict[str, Any]]:
        """Every fault in force and the last that were healed, in the order of their commands."""
        counts = await self._cluster.frames_stopped()
        for rule_id, life in self._lives.items():
            if life.heal_requested_ms is None:
                life.frames_stopped.update(counts.get(rule_id, {}))
        running = self._cluster.running()
        return [life.report(self._cluster.clock.speed, running) for life in self._lives.values()]

    def seen(self) -> list[LinkFault]:
        """The same, as a status has them."""
        return [
            LinkFault(
                life.rule,
                life.requested_ms,
                _latest(life.in_force_ms),
                None if life.heal_requested_ms is None else _latest(life.healed_ms) or life.heal_requested_ms,
                sum(life.frames_stopped.values()),
            )
            for life in self._lives.values()
        ]

    def _chosen(self, words: Sequence[str], kind: str) -> list[FaultLife]:
        lives = [
            life
            for life in self._lives.values()
            if life.heal_requested_ms is None and kind in ("", life.rule.kind)
        ]
        wanted = [word for word in joined(words) if word != "->"]
        if not wanted or [word.lower() for word in wanted] == ["all"]:
            return lives
        places = self._places(wanted)
        if len(places) == len(set(map(str.lower, wanted))):
            found = [life for life in lives if set(places) <= set(life.places)]
            if not found and any(map(target_in, wanted)):  # no command named it so: the node of the moment is meant
                found = [life for life in lives if {*with_nodes(wanted, self._node_of)[0]} <= set(life.places)]
        else:
            found = [life for life in lives if life.rule.rule in [word.lower() for word in wanted]]
        if not found:
            there = "; ".join(f"{life.rule.rule} {life.rule.what}" for life in lives) or "none"
            raise NotThere(f"no {kind or 'rule'} on {' '.join(wanted)} is in force; in force: {there}")
        return found

    def _forget(self) -> None:
        healed = [rule_id for rule_id, life in self._lives.items() if life.heal_requested_ms is not None]
        for rule_id in healed[: max(0, len(healed) - HEALED_KEPT)]:
            del self._lives[rule_id]

    async def _result(self, what: str, lives: list[FaultLife]) -> dict[str, Any]:
        """The result of a command, and everything in force with its counts so far."""
        entries = {entry["id"]: entry for entry in await self.report()}
        ids = [life.rule.rule for life in lives]
        return {
            what: [entries[rule_id] for rule_id in ids if rule_id in entries],
            "in_force": [entry for entry in entries.values() if entry["healed"] is None],
            "now_ms": round(self._cluster.now_ms(), 3),
        }


def same(left: LinkRule, right: LinkRule) -> bool:
    """Whether two rules are the same fault."""
    return msgspec.structs.replace(left, rule="") == msgspec.structs.replace(right, rule="")

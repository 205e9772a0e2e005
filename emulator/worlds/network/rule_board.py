"""The rules in force in one run, and requests to every running node."""

import contextlib
import math
from collections.abc import Callable, Mapping

import msgspec
import trio

from emulator.worlds.network.engine import LinkDriver
from emulator.worlds.network.reports import AppliedReport, ClusterError, HealReport
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.supervision import ControlConnection, NodeGone, Supervised
from protocol.link_rules import KERNEL, LinkRule
from protocol.messages.control import (
    ApplyRuleRequest,
    ApplyRuleResponse,
    HealRuleRequest,
    HealRuleResponse,
    RuleCountsRequest,
    RuleCountsResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.status_messages import NodeStatus, StatusRequest, StatusResponse

STATUS_LIMIT_S = 1.0
"""Limit in real seconds for a node's status.

An answer takes a step's work, unless the machine is overloaded.
"""


class RuleBoard:
    """Reaches processes through their control connections, in-process shells directly.

    `nodes`: the processes; `shells`: those in this process. `driver`: stops the frames in their place.

    One change at a time: a node that starts or goes on meanwhile sees the rules before the change or after it.
    """

    def __init__(
        self,
        nodes: Mapping[str, Supervised],
        shells: Mapping[str, NodeShell],
        now_ms: Callable[[], float],
        driver: LinkDriver | None = None,
    ) -> None:
        self.rules: dict[str, LinkRule] = {}
        self._nodes = nodes
        self._shells = shells
        self._now_ms = now_ms
        self._driver = driver
        self._changing = trio.Lock()

    def unchanging(self) -> trio.Lock:
        """While this is held, no rule comes or goes."""
        return self._changing

    async def apply(self, rule: LinkRule) -> AppliedReport:
        """Put a rule in force everywhere; return when every running node has confirmed it."""
        requested_ms = self._now_ms()
        async with self._changing:
            if rule.rule in self.rules:
                raise ClusterError(f"there is a rule {rule.rule} already: {self.rules[rule.rule].what}")
            if self._driver is not None and rule.protocol is None:
                rule = msgspec.structs.replace(rule, driver=KERNEL)
                await self._driver.apply(rule)
            self.rules[rule.rule] = rule
            answers = await self.tell_all(ApplyRuleRequest(rule=rule))
            in_force_ms = {name: shell.apply(rule) for name, shell in self._shells.items()}
        for name, answer in answers.items():
            assert isinstance(answer, ApplyRuleResponse)
            in_force_ms[name] = answer.in_force_ms
        return AppliedReport(rule.rule, requested_ms, in_force_ms)

    async def heal(self, rule_id: str | None = None) -> list[HealReport]:
        """Lift a rule, or all (None). Raises ClusterError for a rule that is not in force."""
        if rule_id is not None and rule_id not in self.rules:
            there = ", ".join(self.rules) or "none"
            raise ClusterError(f"no rule {rule_id} is in force; in force: {there}")
        return [await self._heal(it) for it in ([rule_id] if rule_id is not None else list(self.rules))]

    async def frames_stopped(self) -> dict[str, dict[str, int]]:
        """{rule: {node: stopped frames and SYNs}} of running nodes that answer within a second."""
        counts: dict[str, dict[str, int]] = {}
        answers = await self.tell_all(RuleCountsRequest(), within_s=STATUS_LIMIT_S)
        here = {name: shell.links.frames_stopped for name, shell in self._shells.items()}
        for name, answer in answers.items():
            assert isinstance(answer, RuleCountsResponse)
            here[name] = answer.frames_stopped
        for name, stopped in here.items():
            for rule_id, count in stopped.items():
                counts.setdefault(rule_id, {})[name] = count
        if self._driver is not None:
            for rule_id in self._of_driver():
                counts[rule_id] = counts.get(rule_id, {}) | await self._driver.dropped(rule_id)
        return counts

    def _of_driver(self) -> list[str]:
        """Rules in force that the driver enforces: all but protocol faults."""
        return [rule_id for rule_id, rule in self.rules.items() if rule.protocol is None]

    async def _heal(self, rule_id: str) -> HealReport:
        requested_ms = self._now_ms()
        async with self._changing:
            by_driver = self._driver is not None and rule_id in self._of_driver()
            dropped = await self._driver.heal(rule_id) if self._driver is not None and by_driver else {}
            del self.rules[rule_id]
            answers = await self.ask_all(
                lambda name: HealRuleRequest(rule=rule_id, packets_dropped=dropped.get(name, 0))
            )
            healed_ms = {name: shell.heal(rule_id)[0] for name, shell in self._shells.items()}
        stopped = {name: shell.links.frames_stopped.get(rule_id, 0) for name, shell in self._shells.items()}
        for name, answer in answers.items():
            assert isinstance(answer, HealRuleResponse)
            healed_ms[name] = answer.healed_ms
            stopped[name] = answer.frames_stopped
        return HealReport(rule_id, requested_ms, healed_ms, stopped)

    async def statuses(self) -> dict[str, NodeStatus]:
        """Each node's own view; those that take longer than a second are left out."""
        answers: dict[str, Message] = await self.tell_all(StatusRequest(), within_s=STATUS_LIMIT_S)
        answers |= {name: StatusResponse(status=shell.status()) for name, shell in self._shells.items()}
        statuses: dict[str, NodeStatus] = {}
        for name, answer in answers.items():
            assert isinstance(answer, StatusResponse)
            if answer.status is not None:
                statuses[name] = answer.status
        return statuses

    async def tell_all(self, message: Message, within_s: float = math.inf) -> dict[str, Message]:
        """Answers of all nodes that run and are not paused.

        One that dies or takes longer is left out.
        """
        return await self.ask_all(lambda name: message, within_s)

    async def ask_all(self, message_for: Callable[[str], Message], within_s: float = math.inf) -> dict[str, Message]:
        """Like `tell_all`, with a message for each."""
        answers: dict[str, Message] = {}

        async def tell(name: str, control: ControlConnection) -> None:
            try:
                answers[name] = await control.request(message_for(name))
            except NodeGone:
                return

        async with trio.open_nursery() as nursery:
            nursery.cancel_scope.deadline = trio.current_time() + within_s
            for name, node in self._nodes.items():
                if node.control is not None and not node.halted:
                    nursery.start_soon(tell, name, node.control)
        return answers

    async def catch_up(self, node: Supervised) -> None:
        """Send a resumed node the rules that changed while it was paused."""
        async with self._changing:
            if node.control is not None:
                with contextlib.suppress(NodeGone):
                    await self._catch_up(node.control)

    async def _catch_up(self, control: ControlConnection) -> None:
        counts = await control.request(RuleCountsRequest())
        assert isinstance(counts, RuleCountsResponse)
        for rule_id in counts.frames_stopped:
            if rule_id not in self.rules:
                await control.request(HealRuleRequest(rule=rule_id))
        for rule in self.rules.values():
            await control.request(ApplyRuleRequest(rule=rule))

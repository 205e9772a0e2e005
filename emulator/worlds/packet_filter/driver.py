"""Puts cuts in force, and lifts them, in the network namespaces of the nodes' machines."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import trio

from emulator.worlds.network.agent import NODE_PORT
from emulator.worlds.network.reports import ClusterError, only
from emulator.worlds.packet_filter.filter_rules import require_possible, table_name, table_text
from protocol.link_rules import LinkRule

TOOL_LIMIT_S: Final = 10.0


class Namespace(msgspec.Struct, frozen=True):
    """`path`: of the network namespace (/proc/PID/ns/net, /run/netns/NAME).

    `addresses`: without the control network's.
    """

    path: str
    addresses: tuple[str, ...]


class KernelLinks:
    """Driver of kernel cuts. `look`: {node: its namespace} as they are now.

    A machine that was started again has a new one. May raise ClusterError.
    """

    def __init__(self, look: Callable[[], Mapping[str, Namespace]]) -> None:
        self._look = look
        self._namespaces = dict(look())
        self._tables: dict[str, dict[str, str]] = {}
        """{rule: {node: its table}}."""
        self._outdated = False
        """Whether machines were started since the last `look`.

        A look at a container engine takes a tenth of a second or two.
        """
        self._changing = trio.Lock()

    def require_possible(self, rule: LinkRule) -> None:
        """Raises RuleError."""
        require_possible(rule)

    async def apply(self, rule: LinkRule) -> None:
        """Put a rule in force at all ends at once, or at none. Raises ClusterError."""
        async with self._changing:
            if self._outdated:
                await self._look_again()
            await self._apply(rule)

    async def _apply(self, rule: LinkRule) -> None:
        addresses = {node: there.addresses for node, there in self._namespaces.items()}
        texts = {node: table_text(rule, node, addresses, NODE_PORT) for node in self._namespaces}
        self._tables[rule.rule] = {node: text for node, text in texts.items() if text}
        try:
            await self._everywhere(rule.rule, lambda node: (("-f", "-"), _without(rule.rule) + texts[node]))
        except ClusterError:
            for node in self._tables.pop(rule.rule):
                with contextlib.suppress(ClusterError):  # a node that refused the table has none
                    await self._nft(node, ("-f", "-"), _without(rule.rule))
            raise

    async def heal(self, rule_id: str) -> dict[str, int]:
        """Lift a rule; {node: packets dropped there}. Raises ClusterError."""
        dropped = await self.dropped(rule_id)
        await self._everywhere(rule_id, lambda node: (("-f", "-"), _without(rule_id)))
        self._tables.pop(rule_id, None)
        return dropped

    async def dropped(self, rule_id: str) -> dict[str, int]:
        """{node: packets dropped there so far}. Raises ClusterError."""
        listed = await self._everywhere(
            rule_id, lambda node: (("-j", "list", "table", "ip", table_name(rule_id)), "")
        )
        return {node: packets_in(msgspec.json.decode(text)) for node, text in listed.items()}

    async def _everywhere(self, rule_id: str, order: Callable[[str], tuple[Sequence[str], str]]) -> dict[str, bytes]:
        """{node: output of nft}, for (words, input) at all ends of a rule at once.

        A machine that is gone has no tables any more, and is left out.
        """
        printed: dict[str, bytes] = {}

        async def one(node: str) -> None:
            if await trio.Path(self._namespaces[node].path).exists():
                printed[node] = await self._nft(node, *order(node))

        try:
            async with trio.open_nursery() as nursery:
                for node in self._tables.get(rule_id, {}):
                    nursery.start_soon(one, node)
        except BaseExceptionGroup as errors:
            raise only(errors) from None
        return printed

    async def returned(self, node: str) -> None:
        """Before the node's next incarnation: put the rules into a machine that was started again."""
        async with self._changing:
            if not self._tables:
                self._outdated = True
                return
            known = self._namespaces
            await self._look_again()
            if node in self._namespaces and self._namespaces[node] != known.get(node):
                for tables in self._tables.values():
                    if node in tables:
                        await self._nft(node, ("-f", "-"), tables[node])

    async def _look_again(self) -> None:
        self._outdated = False
        self._namespaces = dict(await trio.to_thread.run_sync(self._look))

    async def _nft(self, node: str, words: Sequence[str], text: str) -> bytes:
        there = self._namespaces[node]
        command = ["nsenter", f"--net={there.path}", "nft", *words]
        with trio.move_on_after(TOOL_LIMIT_S):
            done = await trio.run_process(
                command, stdin=text.encode(), capture_stdout=True, capture_stderr=True, check=False
            )
            if done.returncode != 0:
                errors = done.stderr.decode().strip().splitlines()
                raise ClusterError(f"{node}: the packet filter refused: {errors[0] if errors else done.returncode}")
            return done.stdout
        raise ClusterError(f"{node}: the packet filter did not answer within {TOOL_LIMIT_S:g} s")


def _without(rule_id: str) -> str:
    """Commands that remove a rule's table, whether or not there is one."""
    name = table_name(rule_id)
    return f"add table ip {name}\ndelete table ip {name}\n"


def packets_in(listed: Mapping[str, Any]) -> int:
    """Sum of the counters in the output of `nft -j list table`."""
    rules = (entry["rule"] for entry in listed["nftables"] if "rule" in entry)
    counters = (part["counter"] for rule in rules for part in rule["expr"] if "counter" in part)
    return sum(counter["packets"] for counter in counters)

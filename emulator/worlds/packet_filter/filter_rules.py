"""A cut as rules of nftables, one table for each rule and node."""

from collections.abc import Iterable, Mapping
from typing import Final

from emulator.faults.link_fault_kinds import RuleError
from protocol.link_rules import LinkRule
from protocol.purposes import BROKER_PORT

PREFIX: Final = "faultline_"


def require_possible(rule: LinkRule) -> None:
    """Raises RuleError: packets have addresses and ports, no purposes and no APIs."""
    nodes = "; use --driver nodes"
    if rule.kind != "cut":
        raise RuleError(f"the kernel driver makes cuts only, not {rule.kind}{nodes}")
    if rule.client_ids:
        raise RuleError(f"the kernel driver cannot select by client.id ({', '.join(rule.client_ids)}){nodes}")
    if rule.apis:
        raise RuleError(f"the kernel driver cannot select by API ({', '.join(rule.apis)}){nodes}")
    if rule.purposes not in ((), BROKER_PORT):
        raise RuleError(f"the kernel driver cannot select by purpose ({', '.join(rule.purposes)}){nodes}")
    if rule.recovery != "rto":
        raise RuleError(f"after a cut by the kernel TCP recovers by itself: no recovery {rule.recovery}")


def table_name(rule_id: str) -> str:
    return PREFIX + "".join(c if c.isalnum() else "_" for c in rule_id)


def table_text(rule: LinkRule, node: str, addresses: Mapping[str, Iterable[str]], port: int) -> str:
    """The table for one end of the rule, "" if it is no end.

    `addresses`: {node: all but those on the control network}; `port`: the port of every node.

    Both ways: nothing leaves for the others, nothing comes from them. One way: only from `a` to `b`. Opened by `a`: of
    that, only the packets to the nodes' port.
    """
    out: list[str] = []
    back: list[str] = []
    if node in rule.a:
        out += _all(rule.b, addresses)
    if node in rule.b:
        back += _all(rule.a, addresses)
    if not (rule.one_way or rule.opened_by_a):
        if node in rule.a:
            back += _all(rule.b, addresses)
        if node in rule.b:
            out += _all(rule.a, addresses)
    if not out and not back:
        return ""
    dialled = f" tcp dport {port}" if rule.opened_by_a else ""
    chains = [
        f"  chain {hook} {{\n    type filter hook {hook} priority 0; policy accept;\n"
        f"    ip {side} {{ {', '.join(hosts)} }}{dialled} counter drop\n  }}\n"
        for hook, side, hosts in (("output", "daddr", out), ("input", "saddr", back))
        if hosts
    ]
    return f"table ip {table_name(rule.rule)} {{\n{''.join(chains)}}}\n"


def _all(nodes: Iterable[str], addresses: Mapping[str, Iterable[str]]) -> list[str]:
    return sorted({address for node in nodes for address in addresses.get(node, ())})

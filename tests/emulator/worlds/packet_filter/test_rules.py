"""A cut as the packet filter's rules."""

import pytest

from emulator.faults.link_fault_kinds import RuleError
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import three_azs
from emulator.worlds.packet_filter.filter_rules import require_possible, table_text
from protocol.link_rules import LinkRule

TOPOLOGY = three_azs()
ADDRESSES = {node.name: (f"10.0.0.{number}",) for number, node in enumerate(TOPOLOGY.nodes, start=1)}
PORT = 9092


def rule(text: str) -> LinkRule:
    parsed = rule_of(TOPOLOGY, "rule-1", parse(text.split()))
    return parsed


def texts(command: str) -> dict[str, str]:
    made = {node: table_text(rule(command), node, ADDRESSES, PORT) for node in ADDRESSES}
    return {node: text for node, text in made.items() if text}


def test_a_cut_both_ways_stops_what_leaves_and_what_comes_at_both_ends() -> None:
    assert texts("cut broker-0 session-1") == {
        "broker-0": (
            "table ip faultline_rule_1 {\n"
            "  chain output {\n    type filter hook output priority 0; policy accept;\n"
            "    ip daddr { 10.0.0.5 } counter drop\n  }\n"
            "  chain input {\n    type filter hook input priority 0; policy accept;\n"
            "    ip saddr { 10.0.0.5 } counter drop\n  }\n"
            "}\n"
        ),
        "session-1": (
            "table ip faultline_rule_1 {\n"
            "  chain output {\n    type filter hook output priority 0; policy accept;\n"
            "    ip daddr { 10.0.0.1 } counter drop\n  }\n"
            "  chain input {\n    type filter hook input priority 0; policy accept;\n"
            "    ip saddr { 10.0.0.1 } counter drop\n  }\n"
            "}\n"
        ),
    }


def test_an_az_is_cut_from_the_others_and_stays_whole() -> None:
    made = texts("cut az-0")
    assert set(made) == {node.name for node in TOPOLOGY.nodes if node.az}
    inside = ADDRESSES["session-0"][0]
    assert inside not in made["broker-0"]
    assert inside in made["broker-1"]


def test_one_way_stops_that_way_only() -> None:
    made = texts("cut broker-0 -> broker-1")
    assert "hook output" in made["broker-0"] and "hook input" not in made["broker-0"]
    assert "hook input" in made["broker-1"] and "hook output" not in made["broker-1"]


def test_connections_opened_by_one_side_are_distinguished_by_the_port_they_dial() -> None:
    made = texts("cut opened_by broker-0 to broker-1")
    assert "ip daddr { 10.0.0.2 } tcp dport 9092 counter drop" in made["broker-0"]
    assert "ip saddr { 10.0.0.1 } tcp dport 9092 counter drop" in made["broker-1"]
    assert "hook input" not in made["broker-0"]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("delay az-0 100", "makes cuts only, not delay"),
        ("hold az-0", "makes cuts only, not hold"),
        ("reset az-0", "makes cuts only, not reset; use --driver nodes"),
        ("cut az-0 --only fetch", "cannot select by API .Fetch"),
        ("cut az-0 --client-id orders", "cannot select by client.id .orders"),
        ("cut az-0 --only fetcher", "cannot select by purpose .fetcher"),
        ("cut az-0 --recovery instant", "TCP recovers by itself"),
    ],
)
def test_what_packets_do_not_show_is_refused(command: str, complaint: str) -> None:
    with pytest.raises(RuleError, match=complaint):
        require_possible(rule(command))


@pytest.mark.parametrize("command", ["cut az-0", "cut broker-0 broker-1", "cut broker-0 -> session-2"])
def test_what_packets_show_is_possible(command: str) -> None:
    require_possible(rule(command))

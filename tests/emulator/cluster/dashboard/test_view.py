"""The view: what a person must see is in it, in every state, and it fits."""

import io
import re

import msgspec
import pytest
from rich.console import Console

from emulator.cluster.cluster_status import ClusterStatus, FindingView, as_json
from emulator.cluster.dashboard.view import BANNER, view
from tests.emulator.cluster.dashboard.pictured import (
    LEADER_AND_CONTROLLER,
    SIX,
    TWO_LEADERS,
    drawn,
    later,
    played,
    status,
)
from tests.simulated.cluster import BEGIN


def line(text: str, start: str) -> str:
    """The one line that begins so."""
    (found,) = [one for one in text.splitlines() if one.strip().startswith(start)]
    return " ".join(found.split())


def row(text: str, node: str) -> str:
    """The row of a node in the first partition that has it."""
    return next(" ".join(it.split()) for it in text.splitlines() if re.search(rf"^(\S+)?\s+{node} +(★ )?(\d|-)", it))


@pytest.fixture(scope="module")
def healthy() -> ClusterStatus:
    return status(played(BEGIN + "  - sleep: 2\n"))


@pytest.fixture(scope="module")
def dual() -> ClusterStatus:
    return status(played(LEADER_AND_CONTROLLER), "cut az-0")


@pytest.fixture(scope="module")
def six() -> ClusterStatus:
    return status(played(SIX, topology="{brokers: 6}"), "cut az-0", name="six-brokers")


def elected(dual: ClusterStatus) -> str:
    """The new controller of the other two: a race."""
    (reported,) = {dual.nodes[name].controller for name in ("broker-1", "broker-2")}
    return reported


def test_a_healthy_cluster(healthy: ClusterStatus) -> None:
    text = drawn(healthy)
    assert "DUAL" not in text
    assert "✂" not in text
    assert line(text, "faultline three-az").startswith("faultline three-az 9 nodes")
    assert row(text, "broker-0").startswith("t-0 broker-0 ★ 0 0 0,1,2 2 2")
    assert row(text, "broker-1").startswith("broker-1 0 0 0,1,2 2 2")
    assert "controller b2 b2 b2" in " ".join(text.split())
    assert "ActiveControllerCount 0 0 1" in " ".join(text.split())


def test_two_leaders_and_two_controllers_stand_out(dual: ClusterStatus) -> None:
    text = drawn(dual)
    assert line(text, "DUAL CONTROLLER") == f"DUAL CONTROLLER broker-0 (epoch 1) and {elected(dual)} (epoch 2)"
    assert line(text, "DUAL LEADER") == "DUAL LEADER of t-0 broker-0 (epoch 0) and broker-1 (epoch 2)"
    assert row(text, "broker-0").startswith("t-0 broker-0 ★ 0 0 0,1,2 2 5 blocked")
    assert row(text, "broker-1").startswith("broker-1 ★ 1 2 1,2 3 3")
    other = elected(dual).replace("roker-", "")
    assert f"controller b0 {other} {other}" in " ".join(text.split()), "each has its own idea of it"
    assert line(text, "✂ cut az-0") == "✂ cut az-0 for 12.3 s, 48 frames stopped"
    console = Console(width=100, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False)
    style = console.get_style(BANNER)
    segments = [piece for one in console.render_lines(view(dual, 100, 35)) for piece in one]
    assert any("DUAL LEADER" in piece.text and piece.style == style for piece in segments)


def test_a_cut_link_is_cut_on_the_map(dual: ClusterStatus) -> None:
    lines = drawn(dual).splitlines()
    (beside,) = [it for it in lines if re.search(r"│╌+ ✂ ╌+│", it)]
    assert re.search(r"✂ .*│ ● client-1 +│━+│", beside), "az-0 from az-1, and az-1 to az-2 is open"
    assert any(re.search(r"╰╌+ ✂ cut ╌+╯", it) for it in lines), "az-0 from az-2"


def test_one_way_is_an_arrow_with_the_other_way_open(healthy: ClusterStatus) -> None:
    text = drawn(status(played(BEGIN), "cut az-0 -> az-1", "delay az-2 -> az-0 50ms 10ms", "loss az-1 az-2 5%"))
    assert re.search(r"│╌+ ✂ ╌+▶│", text)
    assert re.search(r"│◀━+│", text)
    assert "open ▶ ◀ 50±10ms" in text
    assert "5% lost" in text


def test_the_dead_the_paused_and_the_silent_are_distinguished(healthy: ClusterStatus) -> None:
    cluster = played(BEGIN + "  - kill: 1\n  - sleep: 8\n")
    cluster.world.nodes["broker-2"].paused = True
    reported = status(cluster)
    reported.nodes["session-0"].answered = False
    text = drawn(reported)
    assert line(text, "faultline").startswith("faultline three-az 9 nodes, 1 dead, 1 paused, 1 without an answer")
    assert re.search(r"✕ broker-1 +dead", text)
    assert re.search(r"‖ broker-2 +paused", text)
    assert re.search(r"○ session-0 +no answer", text)
    assert row(text, "broker-1").startswith("broker-1 - - - - - dead")
    assert row(text, "broker-2").startswith("broker-2 - - - - - paused")


def test_clients_get_their_rates_since_the_last_look(healthy: ClusterStatus) -> None:
    assert "✓ 480 ✗ 0 ? 0 ↓ 460" in drawn(healthy), "the first look has totals"
    after = later(healthy, 500.0, acked=24, failed=3, unknown=1, read=22)
    assert drawn(after, before=healthy).count("✓ 48 ✗ 6 ? 2 ↓ 44 /s") == 3
    restarted = later(healthy, 500.0, acked=-470)
    restarted.nodes["client-0"].incarnation += 1
    assert "✓ 20 " in drawn(restarted, before=healthy), "another life counts from its beginning"


def test_the_interesting_partitions_come_first(six: ClusterStatus) -> None:
    text = drawn(six, 100, 35)
    order = re.findall(r"^((?:orders|pay)-\d)", text, re.MULTILINE)
    assert order[:4] == ["orders-0", "orders-3", "pay-0", "pay-3"]
    assert re.search(rf"and {12 - len(order)} more partitions, \d+ of them not in order", text)
    assert len(re.findall(r"^((?:orders|pay)-\d)", drawn(six, 100, None), re.MULTILINE)) == 12


def test_more_contradictions_than_lines_are_counted(six: ClusterStatus) -> None:
    assert "and 2 more partitions with two leaders" in drawn(six)


def test_a_narrow_terminal_has_the_figures_as_words(dual: ClusterStatus) -> None:
    text = drawn(dual, 80, 24)
    assert line(text, "controller:").startswith(
        f"controller: broker-0 epoch 1 (known to b0); {elected(dual)} epoch 2 (known to b1, b2)"
    )
    assert "sessions: broker-0 disconnected · UnderReplicatedPartitions b1=1" in text


@pytest.mark.parametrize("width", [60, 80, 99, 100, 140, 220])
@pytest.mark.parametrize("height", [24, 35, 60])
def test_it_fits(healthy: ClusterStatus, dual: ClusterStatus, six: ClusterStatus, width: int, height: int) -> None:
    faults = ["delay az-0 -> az-1 50ms 10ms", "loss az-1 az-2 5%", "cut broker-0 broker-2", "hold az-2 -> az-0"]
    many = status(played(TWO_LEADERS), *faults)
    for reported in (healthy, dual, six, many, later(six, 500.0, acked=1_000_000, failed=50_000)):
        lines = drawn(reported, width, height, healthy).splitlines()
        assert len(lines) <= height
        assert max(map(len, lines)) <= width


def test_a_cluster_without_events_yet() -> None:
    reported = status(played("  - sleep: 1\n"))
    for node in reported.nodes.values():
        node.alive, node.answered, node.incarnation = False, False, 0
    text = drawn(ClusterStatus(0.0, reported.nodes))
    assert "no partition yet" in text
    assert line(text, "faultline").startswith("faultline 9 nodes, 9 not started")
    assert "no node has an AZ" in drawn(ClusterStatus(0.0, {}))


def test_five_azs_have_their_links_as_words() -> None:
    reported = status(played(BEGIN, topology="{brokers: 5, azs: 5}"), "cut az-0 -> az-3")
    text = drawn(reported)
    assert "az-0 ✂ cut ▶ az-3" in text
    assert text.count("╭─ az-") == 5


def test_json_is_as_good_as_the_status(dual: ClusterStatus) -> None:
    console = Console(width=100, file=io.StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(view(as_json(dual), 100, 35))
    assert capture.get() == drawn(dual)


def test_a_follows_findings_stand_below_the_faults_violations_first(dual: ClusterStatus) -> None:
    assert "leader-change" not in drawn(dual)
    reported = [
        FindingView(12_046.2, "dual-leader", "t-0", True, True, "broker-0 (epoch 0) goes on leading"),
        *(FindingView(13_000.0 + n, "leader-change", f"u-{n}", False, False, "broker-1 leads") for n in range(5)),
    ]
    text = drawn(msgspec.structs.replace(dual, findings=reported))
    lines = [one.strip() for one in text.splitlines() if one.strip().startswith(("✗ 1", "· 1"))]
    assert lines == [
        "✗ 12.0 s dual-leader  lasts  t-0: broker-0 (epoch 0) goes on leading",
        "· 13.0 s leader-change  u-4: broker-1 leads",
        "· 13.0 s leader-change  u-3: broker-1 leads",
    ]
    assert len(drawn(msgspec.structs.replace(dual, findings=reported), height=24).splitlines()) <= 24

"""Machines in network namespaces, cut by the kernel: real packets.

Skipped without the right to make them.
"""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import three_azs
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.packet_filter import namespaces as subject
from emulator.worlds.packet_filter.driver import KernelLinks, Namespace, packets_in
from emulator.worlds.packet_filter.namespaces import NETNS_DIR, NamespaceMachines, remove_abandoned
from emulator.worlds.packet_filter.rights import missing
from protocol.link_rules import LinkRule

TOPOLOGY = three_azs()
needs_rights = pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
pytestmark = [pytest.mark.network, needs_rights]


@pytest.fixture(scope="module")
def machines() -> Iterator[NamespaceMachines]:
    with NamespaceMachines(TOPOLOGY, "token") as made:
        yield made


DIAL = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9092), timeout=0.5)
except ConnectionRefusedError:
    pass
except TimeoutError:
    sys.exit(1)
"""
"""A port without a listener: a reachable machine refuses connections."""


def reaches(machines: NamespaceMachines, source: str, target: str) -> bool:
    """True if a packet from the source's namespace reaches the target's data address and back."""
    there = machines.namespaces()
    dial = [sys.executable, "-I", "-c", DIAL, there[target].addresses[0]]
    return subprocess.run(["nsenter", f"--net={there[source].path}", *dial], check=False).returncode == 0


def cut(text: str, name: str) -> LinkRule:
    rule = rule_of(TOPOLOGY, name, parse(text.split()))
    return rule


@pytest.mark.trio
async def test_a_cut_stops_packets_until_it_is_healed(machines: NamespaceMachines) -> None:
    links = KernelLinks(machines.namespaces)
    assert await trio.to_thread.run_sync(reaches, machines, "broker-0", "broker-1")
    await links.apply(cut("cut az-0", "rule-a"))
    assert not await trio.to_thread.run_sync(reaches, machines, "broker-0", "broker-1")
    assert await trio.to_thread.run_sync(reaches, machines, "broker-0", "session-0")
    assert await trio.to_thread.run_sync(reaches, machines, "broker-1", "broker-2")
    assert (await links.dropped("rule-a"))["broker-0"] > 0
    assert (await links.heal("rule-a"))["broker-0"] > 0
    assert await trio.to_thread.run_sync(reaches, machines, "broker-0", "broker-1")


@pytest.mark.trio
async def test_two_cuts_are_two(machines: NamespaceMachines) -> None:
    links = KernelLinks(machines.namespaces)
    await links.apply(cut("cut broker-0 broker-1", "rule-b"))
    await links.apply(cut("cut az-0 az-1", "rule-c"))
    await links.heal("rule-b")
    assert not await trio.to_thread.run_sync(reaches, machines, "broker-0", "broker-1")
    await links.heal("rule-c")
    assert await trio.to_thread.run_sync(reaches, machines, "broker-0", "broker-1")


@pytest.mark.trio
async def test_a_cut_that_is_refused_at_one_end_is_made_at_none(machines: NamespaceMachines) -> None:
    def look() -> dict[str, Namespace]:
        """One of them is no network namespace."""
        return machines.namespaces() | {"broker-1": Namespace("/proc/self/ns/uts", ("10.0.0.1",))}

    with pytest.raises(ClusterError, match="broker-1: the packet filter refused"):
        await KernelLinks(look).apply(cut("cut broker-0 az-1", "rule-d"))
    listed = await trio.run_process(
        ["nsenter", f"--net={machines.namespaces()['broker-0'].path}", "nft", "list", "tables"], capture_stdout=True
    )
    assert listed.stdout == b""


@pytest.mark.trio
async def test_a_machine_that_is_gone_has_taken_its_rules_along(machines: NamespaceMachines) -> None:
    there = machines.namespaces()
    links = KernelLinks(lambda: there)
    await links.apply(cut("cut broker-0 az-1", "rule-e"))
    links._namespaces = there | {"broker-1": Namespace("/run/netns/gone", there["broker-1"].addresses)}
    healed = await links.heal("rule-e")
    assert "broker-0" in healed and "broker-1" not in healed
    links._namespaces = there
    assert await links.dropped("rule-e") == {}
    assert await trio.to_thread.run_sync(reaches, machines, "broker-0", "session-1")
    await trio.run_process(
        ["nsenter", f"--net={there['broker-1'].path}", "nft", "delete", "table", "ip", "faultline_rule_e"]
    )


@pytest.mark.trio
async def test_a_machine_that_returns_takes_the_rules_in_force(machines: NamespaceMachines) -> None:
    there = machines.namespaces()
    seen = [there | {"broker-1": Namespace("/run/netns/gone", there["broker-1"].addresses)}, there]
    links = KernelLinks(lambda: seen[0])
    await links.apply(cut("cut broker-1 broker-2", "rule-f"))
    listing = ["nsenter", f"--net={there['broker-1'].path}", "nft", "list", "tables"]
    assert (await trio.run_process(listing, capture_stdout=True)).stdout == b""
    del seen[0]
    await links.returned("broker-1")
    assert (await trio.run_process(listing, capture_stdout=True)).stdout == b"table ip faultline_rule_f\n"
    await links.heal("rule-f")
    assert (await trio.run_process(listing, capture_stdout=True)).stdout == b""


def test_two_clusters_side_by_side_and_nothing_left(machines: NamespaceMachines) -> None:
    with NamespaceMachines(TOPOLOGY, "token") as other:
        assert other.number != machines.number
        assert reaches(other, "broker-0", "broker-2")
    assert not [name for name in subject._names() if name.startswith(f"faultline-{other.number}-")]
    assert (NETNS_DIR / f"faultline-{machines.number}-hub").exists()


def test_what_a_killed_supervisor_left_is_removed(machines: NamespaceMachines) -> None:
    left = f"faultline-{subject.CLUSTERS_MAX + 1}-broker-0"
    subprocess.run(["ip", "netns", "add", left], check=True)
    remove_abandoned()
    assert not (NETNS_DIR / left).exists()
    assert (NETNS_DIR / f"faultline-{machines.number}-broker-0").exists()


def test_a_foreign_removal_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that was killed as it ended has an `ip` that goes on."""
    names = [f"faultline-{subject.CLUSTERS_MAX + 1}-broker-{number}" for number in range(3)]
    for name in names:
        subprocess.run(["ip", "netns", "add", name], check=True)
    # Another suite on this machine may remove them first, so they are not looked for.
    monkeypatch.setattr(subject, "abandoned", lambda: names)
    for name in names[:2]:
        subprocess.run(["ip", "netns", "delete", name], check=False)
    remove_abandoned()
    assert not any((NETNS_DIR / name).exists() for name in names)


def test_what_the_kernel_does_not_remove_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "faultline-251-hub").write_text("")
    monkeypatch.setattr(subject, "NETNS_DIR", tmp_path)  # the `ip` command looks elsewhere
    with pytest.raises(subject.NamespaceError, match="faultline-251-hub"):
        subject._remove(["faultline-251-hub"])


def test_a_number_is_released_while_no_process_takes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the file of who takes it next would be removed with it."""
    machines = NamespaceMachines(TOPOLOGY, "token")
    locked = []
    real = subject._owner_file

    def file_of(number: int) -> Path:
        with subject.LOCK_FILE.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked.append(False)
            except BlockingIOError:
                locked.append(True)
        return real(number)

    with machines:
        monkeypatch.setattr(subject, "_owner_file", file_of)
    assert locked == [True]
    assert not real(machines.number).exists()


def test_counters_of_all_chains_are_added_up() -> None:
    rules = [{"rule": {"expr": [{"match": {}}, {"counter": {"packets": n}}, {"drop": None}]}} for n in (3, 4)]
    assert packets_in({"nftables": [{"metainfo": {}}, {"table": {}}, *rules]}) == 7

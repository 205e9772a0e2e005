"""Generated frames and requests: decoders, every kind of machine, and real processes."""

from pathlib import Path

import pytest
import trio

from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import prepared
from emulator.cluster.ending import end
from emulator.cluster.launch import launch
from protocol.conversations import AcceptsMessages
from tests.attack.simulated_victims import Victims
from tests.emulator.cluster.http.samples import SAMPLES
from verification.attack.__main__ import over_sockets
from verification.attack.hostile_frames import Frames, decoded
from verification.attack.hostile_requests import TOKEN, Requests, answered

FRAMES = 90_000
REQUESTS = 1_500


def test_frames_are_understood_or_refused_and_nothing_else_comes_of_them() -> None:
    frames = decoded(Frames(1), FRAMES)
    assert frames.total() == FRAMES
    assert all(frames[what] > 1_000 for what in ("no frame", "out of place", "heard"))


def test_every_request_is_answered_or_closed_and_none_is_a_bug(capfd: pytest.CaptureFixture[str]) -> None:
    valid = [sample.ask for sample in SAMPLES if sample.ask is not None]
    came = trio.run(answered, Requests(7, TOKEN, valid), REQUESTS)
    assert capfd.readouterr().err == "" and came["500"] == 0
    assert all(came[status] > 10 for status in ("200", "201", "400", "401", "403", "404")), came


@pytest.mark.parametrize("seed", [2, 3, 15, 1039])
def test_no_machine_breaks_by_messages_of_a_peer_with_the_token(seed: int) -> None:
    """Well-formed messages of every type, to every kind of node and for every purpose.

    The peer also answers the nodes' requests. A node may end with a reason, as it does when ZooKeeper reports another
    registration; no machine raises.
    """
    victims = Victims(seed, [])
    assert all(isinstance(node.machine, AcceptsMessages) for node in victims.world.nodes.values())
    victims.attack(250)
    assert victims.said > 50 and victims.refused > 20


@pytest.mark.network
def test_a_real_cluster_stands_and_others_notice_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = tmp_path / "attacked"
    prepared(UpOptions(name="attacked", speed=1.0, out=run))
    found = launch(run)
    try:
        came = trio.run(over_sockets, found, 2_000, 300, 1)
    finally:
        ended = end(found)
    assert came["problems"] == [] and came["processes_ended"] == 0
    output = came["said_over_sockets"]
    assert set(output) == {"requests", "frames without the token", "frames with the token"}
    assert sum(output.values()) >= 2_000
    assert came["beside_written_and_read"] >= 3
    assert "Traceback" not in (run / "supervisor.log").read_text(), ended

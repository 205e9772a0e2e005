"""The machine of KRaft's recordings: starts, elections, and frames of ended processes."""

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from emulator.packaged import GOLDEN
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import Played, play
from emulator.scenario.recording import ACTIVE_CONTROLLER as ACTIVE
from emulator.worlds.simulated.latencies import KRAFT, Latencies


@cache
def played(folder: str, seed: int, latencies: Latencies = KRAFT) -> Played:
    return play(resolve(find_scenario(str(GOLDEN / folder / "1.json"))), seed, latencies=latencies)


def leaders(of: Played) -> list[dict[str, Any]]:
    views: Any = of.observations.quorum_views
    return [view for view in views if view.get("leader") is not None]


@pytest.mark.parametrize(
    ("folder", "first"), [("kraft-clean-election-waits@4.4", 2), ("kraft-az-isolated-leader-combined@3.9", 0)]
)
def test_the_first_controller_wins_the_first_election(folder: str, first: int) -> None:
    assert {leaders(played(folder, seed))[0]["controller"] for seed in (1, 2)} == {first}


def test_the_recorder_killed_the_first_controller_if_the_script_requires_another() -> None:
    """Controller 0 leads first, and 2 is required."""
    run = played("kraft-az-isolated-leader@4.4", 1)
    assert leaders(run)[0]["controller"] == 0
    restarted = {node for node, life, *_ in run.world.trace.entries if life > 1}
    assert "controller-0" in restarted
    active = next(entry for entry in run.observations.timeline if entry["saw" if "saw" in entry else "do"] == ACTIVE)
    assert active["controller"] == 2


def test_a_starting_broker_refuses_connections_until_it_is_unfenced() -> None:
    """From 3.5 on its port is bound when it begins to serve.

    Each look at a broker comes 12 s after the order to start it.
    """
    begins_ms, unfenced_after_ms = 10_800.0, 1_800.0
    slow = replace(
        KRAFT, start_ms=(begins_ms, begins_ms), start_extra_mean_ms=0.0,
        first_heartbeat_ms=(unfenced_after_ms, unfenced_after_ms),
    )  # fmt: skip
    run = played("kraft-last-replica-standing@4.4", 1, slow)
    orders = [entry for entry in run.observations.timeline if entry.get("do") == "start" and "broker" in entry]
    looks = [entry for entry in run.observations.timeline if entry.get("saw") == "metadata" and entry.get("error")]
    assert {entry["error"] for entry in looks} == {"ConnectionRefusedError"}
    again = orders[3]
    begun_s = min(
        at_ms / 1000.0 for node, life, _, _, at_ms, _ in run.world.trace.entries if (node, life) == ("broker-0", 2)
    )
    look = next(one for one in looks if one["broker"] == again["broker"] and one["t"] > again["t"])
    assert begun_s < look["t"], "the process is there"


def test_followers_of_a_lost_leader_split_their_votes() -> None:
    """Until 3.9 the next epoch has no leader.

    Each follower ends its fetch before the other's request for a vote comes.
    """
    before, after = leaders(played("kraft-az-isolated-leader-and-controller@3.9", 1))[:2]
    assert after["epoch"] - before["epoch"] >= 2


def test_brokers_that_start_together_delay_each_other() -> None:
    """Starts of three combined nodes."""
    folder = "kraft-controlled-shutdown-combined@4.4"

    def first_ms(latencies: Latencies) -> float:
        return min(
            entry[4] for entry in played(folder, 1, latencies).world.trace.entries if entry[0].startswith("broker-")
        )

    delay_ms = 5_000.0
    together = replace(KRAFT, start_together_ms=(delay_ms, delay_ms))
    alone = replace(KRAFT, start_together_ms=(1e-9, 1e-9))
    assert first_ms(together) - first_ms(alone) == pytest.approx(delay_ms, abs=1.0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_dead_brokers_heartbeat_passes_after_the_heal(share: float) -> None:
    """The controller unfences broker 1, which was cut off, then killed.

    Its kernel sends the last heartbeat again.
    """
    changes: Any = played("kraft-random-605@4.4", 1, replace(KRAFT, outliving_share=share)).observations
    of_broker = [one["what"] for one in changes.broker_registrations if one["broker"] == 1]
    first_life = of_broker[: of_broker.index("registered", 1)]
    assert first_life == ["registered", "unfenced", "fenced", *(["unfenced", "fenced"] if share else [])]

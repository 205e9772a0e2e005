"""Variations by seed in the simulated world."""

from emulator.worlds.simulated.latencies import CALM
from emulator.worlds.simulated.latency_model import Draws


def test_which_of_two_brokers_started_together_is_there_first_is_a_race() -> None:
    apart_ms = []
    for seed in range(200):
        draws = Draws(seed)
        low, high = CALM.start_ms
        assert low <= draws.takes_ms("broker-0", "start_ms") <= high
        apart_ms.append(draws.start_extra_ms("broker-0") - draws.start_extra_ms("broker-1"))
    assert 80 < sum(apart > 0 for apart in apart_ms) < 120
    assert 80 < sum(abs(apart) < 139 for apart in apart_ms) < 120, "the median of the recordings"


def test_a_session_server_may_come_too_late_to_be_chosen() -> None:
    late = sum(Draws(seed).session_start_ms("session-2") > CALM.session_start_ms for seed in range(1000))
    assert 30 < late < 70

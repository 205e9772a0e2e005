"""Variations by seed in the simulated world."""

from emulator.worlds.simulated.latencies import CALM, KRAFT
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


def test_most_skewed_durations_are_short() -> None:
    """Recorded: half of the cuts took at most 0.11 s, one in ten more than 0.35 s.

    Each has two such durations.
    """
    low, high = KRAFT.link_fault_ms
    drawn = sorted(Draws(seed, KRAFT).takes_ms("", "link_fault_ms") for seed in range(400))
    assert low <= drawn[0] and drawn[-1] <= high
    assert 40 < drawn[200] < 75, "the geometric mean of the bounds"


def test_few_timers_of_a_recorded_machine_meet_a_hiccup() -> None:
    """Recorded: no-op records half a second apart, half of them at most 1 ms late.

    One in fifty is more than 20 ms late.
    """
    draws = Draws(1, KRAFT)
    late_ms = sorted(draws.timer_ms("controller-0", ("no-op",)) for _ in range(2_000))
    assert late_ms[1_000] < 1.0
    assert 10 < sum(late > 10.0 for late in late_ms) < 80 and late_ms[-1] <= KRAFT.hiccup_max_ms

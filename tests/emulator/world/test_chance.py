"""What a seed varies in the simulated world."""

from emulator.world.simulated.chance import CALM, Draws


def test_which_of_two_brokers_started_together_is_there_first_is_a_race() -> None:
    firsts = set()
    for seed in range(20):
        draws = Draws(seed)
        one, other = draws.start_ms("broker-0"), draws.start_ms("broker-1")
        low, high = CALM.start_ms
        assert low <= one <= high
        firsts.add(one < other)
    assert firsts == {True, False}


def test_the_same_seed_draws_the_same() -> None:
    def some(draws: Draws) -> list[float]:
        return [draws.start_ms("broker-0"), draws.frame_ms("broker-0", "broker-1"), draws.timer_ms("broker-0", ("t",))]

    assert some(Draws(7)) == some(Draws(7))
